//! `manifest.json`: the digests of the files of a finished trial.

use std::fs::File;
use std::io::{self, Read as _};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Digest;
use serde::{Deserialize, Serialize};

use super::RunError;

/// The name of the file.
pub(super) const MANIFEST: &str = "manifest.json";
/// The version of [`Manifest`].
const MANIFEST_VERSION: u32 = 1;
/// Folders in one another beyond which nothing is listed.
const DEEPEST: usize = 32;

/// The files of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    manifest_version: u32,
    /// By path, in byte order.
    pub(super) files: Vec<Listed>,
}

/// A file of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Listed {
    /// Relative to the folder of the trial.
    pub(super) path: String,
    /// Bytes.
    pub(super) size: u64,
    /// `sha256:` and the digest of its content.
    pub(super) digest: String,
}

/// Takes the digests of all files of a trial, but for the manifest itself.
pub(super) fn of_trial(folder: &Utf8Path, relative: &str) -> Result<Manifest, RunError> {
    let mut files = Vec::new();
    for path in files_of(folder, relative)? {
        let full = folder.join(&path);
        let (size, digest) = digest_of(&full).map_err(RunError::io(&full))?;
        files.push(Listed { path, size, digest });
    }
    Ok(Manifest { manifest_version: MANIFEST_VERSION, files })
}

/// The files of a trial, in byte order. Repetitions that lie below the first one are not its own.
pub(super) fn files_of(folder: &Utf8Path, relative: &str) -> Result<Vec<String>, RunError> {
    let mut found = Vec::new();
    let mut left = vec![(folder.to_owned(), String::new(), 0)];
    while let Some((at, prefix, depth)) = left.pop() {
        for entry in at.read_dir_utf8().map_err(RunError::io(&at))? {
            let entry = entry.map_err(RunError::io(&at))?;
            let kind = entry.file_type().map_err(RunError::io(&at))?;
            let name = entry.file_name();
            let is_repetition = prefix.is_empty() && is_repetition(relative, name);
            let path = format!("{prefix}{name}");
            if kind.is_dir() {
                if depth < DEEPEST && !is_repetition {
                    left.push((entry.path().to_owned(), format!("{path}/"), depth + 1));
                }
            } else if path != MANIFEST {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Whether an entry of the folder of a trial is another repetition of its variant.
pub(super) fn is_repetition(relative: &str, name: &str) -> bool {
    let is_first = relative.matches('/').count() == 1;
    is_first && name.bytes().all(|digit| digit.is_ascii_digit())
}

/// The size and the digest of a regular file, which is not held in memory. No link is followed.
pub(super) fn digest_of(path: &Utf8PathBuf) -> io::Result<(u64, String)> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut file = File::open(path)?;
    let mut digest = Digest::stream();
    let (mut buffer, mut size) = (vec![0; 64 << 10], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((size, format!("sha256:{}", digest.finish()))),
            read => {
                size += read as u64;
                digest.update(buffer.get(..read).unwrap_or_default());
            }
        }
    }
}
