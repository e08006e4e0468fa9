//! What lies below a folder, in an order that no file system decides.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// How many files and folders are looked at below one folder.
pub(super) const MAX_ENTRIES: usize = 100_000;

/// A regular file or a link below the walked folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// The path below the walked folder, with `/` between names. First, so that it orders entries.
    pub(super) relative: Vec<u8>,
    /// Whether it is a link rather than a file; links are never followed.
    pub(super) is_link: bool,
}

impl Entry {
    /// Its place on disk.
    pub(super) fn path(&self, root: &Path) -> PathBuf {
        root.join(OsStr::from_bytes(&self.relative))
    }

    /// The last name of its path.
    pub(super) fn name(&self) -> &[u8] {
        self.relative.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    /// The path for a message.
    pub(super) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.relative).into_owned()
    }
}

/// A file or folder that a walk may leave out.
pub(super) struct Candidate<'a> {
    pub(super) name: &'a [u8],
    pub(super) is_directory: bool,
    /// Whether it lies directly in the walked folder.
    pub(super) is_top: bool,
}

/// Regular files and links below `root`, which may itself be a link, by the bytes of their paths.
/// Pipes, sockets and devices are passed over.
pub(super) fn walk(
    root: &Path,
    leave_out: impl Fn(&Candidate<'_>) -> bool,
) -> io::Result<Vec<Entry>> {
    let mut found = Vec::new();
    let mut folders: Vec<Vec<u8>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let mut prefix = folder.clone();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        for entry in fs::read_dir(root.join(OsStr::from_bytes(&folder)))? {
            let entry = entry?;
            seen += 1;
            if seen > MAX_ENTRIES {
                let message = format!("more than {MAX_ENTRIES} files and folders");
                return Err(io::Error::other(message));
            }
            let kind = entry.file_type()?;
            let name = entry.file_name().into_vec();
            let candidate =
                Candidate { name: &name, is_directory: kind.is_dir(), is_top: folder.is_empty() };
            if leave_out(&candidate) {
                continue;
            }
            let relative = [prefix.as_slice(), &name].concat();
            if kind.is_dir() {
                folders.push(relative);
            } else if kind.is_file() || kind.is_symlink() {
                found.push(Entry { relative, is_link: kind.is_symlink() });
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Files that operating systems drop into folders.
pub(super) fn is_junk(name: &[u8]) -> bool {
    matches!(name, b".DS_Store" | b"Thumbs.db" | b"desktop.ini") || name.starts_with(b"._")
}

/// What lies in an eval folder and is no eval material.
pub(super) fn is_no_material(candidate: &Candidate<'_>) -> bool {
    is_junk(candidate.name)
        || (candidate.is_directory && matches!(candidate.name, b"results" | b"node_modules"))
}
