//! Digests of skills and of their cases.
//!
//! Two schemes: a stream of files for the question whether a result still holds, and the tree of
//! length-prefixed leaves of ai-rulez's lock file, on which usage logs join.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Digest;
use proctor_model::digest::DigestStream;

use super::walk::{Entry, is_junk, is_no_material, walk};
use super::{EVALS_NAME, SKILL_FILE};
use crate::read_file::open;

/// Why something has no digest.
#[derive(Debug, thiserror::Error)]
pub enum DigestError {
    /// It cannot be listed or read.
    #[error("{path} cannot be read for its digest: {source}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// The cause.
        source: io::Error,
    },
    /// It was written to while it was read.
    #[error("{path} changed while its digest was computed; run again")]
    Changed {
        /// The file.
        path: String,
    },
    /// Its name cannot stand in the lock file.
    #[error("{path} has a name that the lock digest cannot hold: {reason}")]
    Name {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl DigestError {
    fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Unreadable { path: path.to_string_lossy().into_owned(), source }
    }
}

/// `sha256:` and the digest of a skill: every file below its folder but for its own `evals` folder,
/// so that editing a case does not make the skill look edited.
pub fn skill_digest(folder: &Utf8Path) -> Result<String, DigestError> {
    let mut stream = Digest::stream();
    let root = folder.as_std_path();
    let entries = walk(root, |candidate| {
        is_junk(candidate.name)
            || (candidate.is_top
                && candidate.is_directory
                && candidate.name == EVALS_NAME.as_bytes())
    });
    let entries = entries.map_err(|source| DigestError::unreadable(root, source))?;
    add_root(&mut stream, 0, root, &entries)?;
    Ok(text(&stream.finish()))
}

/// `sha256:` and the digest of all eval material: every file below the eval folders of a skill, in
/// their order. Results of runs and `node_modules` are no material.
pub fn cases_digest(folders: &[Utf8PathBuf]) -> Result<String, DigestError> {
    let mut stream = Digest::stream();
    for (index, folder) in folders.iter().enumerate() {
        let root = folder.as_std_path();
        let entries = walk(root, is_no_material);
        let entries = entries.map_err(|source| DigestError::unreadable(root, source))?;
        add_root(&mut stream, index, root, &entries)?;
    }
    Ok(text(&stream.finish()))
}

/// `sha256:` and the digest of a set of skills, given with their digests in any order.
pub fn set_digest<'a>(skills: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let sorted: BTreeMap<&str, &str> = skills.into_iter().collect();
    let mut stream = Digest::stream();
    for (id, digest) in sorted {
        stream.update(format!("{id}\0{digest}\n").as_bytes());
    }
    text(&stream.finish())
}

fn text(digest: &Digest) -> String {
    format!("sha256:{digest}")
}

/// `root i\n`, then `path NUL length NUL bytes` of each file; of a link, where it leads counts.
fn add_root(
    stream: &mut DigestStream,
    index: usize,
    root: &Path,
    entries: &[Entry],
) -> Result<(), DigestError> {
    stream.update(format!("root {index}\n").as_bytes());
    for entry in entries {
        let path = entry.path(root);
        stream.update(&entry.relative);
        if entry.is_link {
            let target = fs::read_link(&path);
            let target = target.map_err(|source| DigestError::unreadable(&path, source))?;
            let target = [b"-> ", target.as_os_str().as_bytes()].concat();
            stream.update(format!("\0{}\0", target.len()).as_bytes());
            stream.update(&target);
        } else {
            add_file(stream, &path)?;
        }
    }
    Ok(())
}

/// Reads in pieces: a fixture may be larger than the memory.
fn add_file(stream: &mut DigestStream, path: &Path) -> Result<(), DigestError> {
    let (mut file, length) = open_file(path)?;
    stream.update(format!("\0{length}\0").as_bytes());
    let mut buffer = [0; 16 * 1024];
    let mut left = length;
    loop {
        let count = file.read(&mut buffer).map_err(|e| DigestError::unreadable(path, e))?;
        left = match left.checked_sub(count as u64) {
            Some(left) if count > 0 || left == 0 => left,
            _ => return Err(DigestError::Changed { path: path.to_string_lossy().into_owned() }),
        };
        if count == 0 {
            return Ok(());
        }
        stream.update(buffer.get(..count).unwrap_or_default());
    }
}

fn open_file(path: &Path) -> Result<(fs::File, u64), DigestError> {
    open(path)
        .map_err(|diagnostic| DigestError::unreadable(path, io::Error::other(diagnostic.message)))
}

/// The folders of a skill that the lock file counts as part of it.
const RESOURCES: [&str; 3] = ["references", "scripts", "assets"];

/// Files in which `CRLF` counts as `LF`, by their endings.
const TEXT_ENDINGS: [&str; 10] =
    ["md", "markdown", "mdc", "mdx", "txt", "toml", "yaml", "yml", "json", "jsonc"];

/// `sha256:` and the digest that the lock file gives a skill, scheme `ai-rulez/skill/v1`:
/// `SKILL.md` and the regular files below `references`, `scripts` and `assets`.
pub fn lock_digest(folder: &Utf8Path) -> Result<String, DigestError> {
    let root = folder.as_std_path();
    let skill = Entry { relative: SKILL_FILE.as_bytes().to_vec(), is_link: false };
    let mut files = vec![skill];
    for name in RESOURCES {
        let resources = root.join(name);
        let is_folder = fs::symlink_metadata(&resources).is_ok_and(|metadata| metadata.is_dir());
        if !is_folder {
            continue;
        }
        let entries = walk(&resources, |_| false);
        let entries = entries.map_err(|source| DigestError::unreadable(&resources, source))?;
        files.extend(entries.into_iter().filter(|entry| !entry.is_link).map(|entry| Entry {
            relative: [name.as_bytes(), b"/", &entry.relative].concat(),
            is_link: false,
        }));
    }
    files.sort_unstable();
    let leaves = files.iter().map(|file| lock_leaf(root, file)).collect::<Result<Vec<_>, _>>()?;
    Ok(text(&tree("skill", &leaves)))
}

fn tree(kind: &str, leaves: &[Digest]) -> Digest {
    let mut stream = Digest::stream();
    prefixed(&mut stream, format!("ai-rulez/{kind}/v1").as_bytes());
    stream.update(&(leaves.len() as u64).to_be_bytes());
    for leaf in leaves {
        stream.update(leaf.as_bytes());
    }
    stream.finish()
}

fn lock_leaf(root: &Path, entry: &Entry) -> Result<Digest, DigestError> {
    if entry.relative.contains(&b'\\') {
        return Err(DigestError::Name { path: entry.shown(), reason: "it contains a backslash" });
    }
    let path = entry.path(root);
    let (mut file, _) = open_file(&path)?;
    let mut data = Vec::new();
    file.read_to_end(&mut data).map_err(|e| DigestError::unreadable(&path, e))?;
    let metadata = file.metadata().map_err(|e| DigestError::unreadable(&path, e))?;
    let executable = metadata.permissions().mode() & 0o111 != 0;
    let mode = if executable { "100755" } else { "100644" };
    Ok(leaf(&entry.relative, mode, &data))
}

fn leaf(path: &[u8], mode: &str, data: &[u8]) -> Digest {
    let ending = Path::new(std::ffi::OsStr::from_bytes(path)).extension();
    let is_text = ending
        .and_then(|ending| ending.to_str())
        .is_some_and(|ending| TEXT_ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)));
    let mut stream = Digest::stream();
    prefixed(&mut stream, b"ai-rulez/file/v1");
    prefixed(&mut stream, path);
    prefixed(&mut stream, mode.as_bytes());
    if is_text {
        prefixed(&mut stream, &with_line_feeds(data));
    } else {
        prefixed(&mut stream, data);
    }
    stream.finish()
}

fn prefixed(stream: &mut DigestStream, bytes: &[u8]) {
    stream.update(&(bytes.len() as u64).to_be_bytes());
    stream.update(bytes);
}

/// `CRLF` becomes `LF`; a lone `CR` stays.
fn with_line_feeds(data: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(data.len());
    let mut bytes = data.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\r' || bytes.peek() != Some(&b'\n') {
            text.push(byte);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors that the owner of the scheme publishes.
    #[test]
    fn leaves_and_trees_have_the_published_digests() {
        let leaf = |path: &str, mode: &str, data: &[u8]| leaf(path.as_bytes(), mode, data);
        assert_eq!(
            leaf("SKILL.md", "100644", b"# Title\nbody\n").to_string(),
            "cbac10c14a090ab0301ad17b0013e8c960c5960d5574dcabf38867b98987c621"
        );
        let script = |mode| {
            [
                leaf("SKILL.md", "100644", b"---\nname: deploy\n---\nDeploy.\n"),
                leaf("assets/logo.bin", "100644", b"\x00\x01\r\n\x02"),
                leaf("scripts/run.sh", mode, b"#!/bin/sh\necho hi\n"),
            ]
        };
        let run = |data: &[u8]| [leaf("run.sh", "100755", data)];
        let style = |data: &[u8]| [leaf("style.md", "100644", data)];
        for (kind, leaves, expected) in [
            (
                "rule",
                &style(b"# Style\n")[..],
                "f9c0b1ef53a34e543828ff3459f4f117e08edc2976c22a3ee32d0a65ee212c9c",
            ),
            (
                "rule",
                &style(b"# Style\r\n"),
                "f9c0b1ef53a34e543828ff3459f4f117e08edc2976c22a3ee32d0a65ee212c9c",
            ),
            (
                "context",
                &[leaf("empty.md", "100644", b"")],
                "6e09fc1d734e8a2db85a25265407b4e78e44e45e712d4f60d2682c121f95c40b",
            ),
            ("rule", &[], "c36b2dc178586a67dfcf7bc1e18ab82e0aa267eb5c5a7d7cba0a6ee7b062ec26"),
            (
                "skill",
                &script("100755"),
                "262d721306783b4c3b554a1345253c266f6f991733dad6a347e1b55d5e57ac05",
            ),
            (
                "skill",
                &script("100644"),
                "aea011299a41f59be23cee1a602ab3c03fb3e60aa6ce4dc31f947255925d5c73",
            ),
            (
                "skill",
                &run(b"echo hi\n"),
                "d7aec0e55512be14e8c20554ee6da9911881211fec26eec3927bb18b21212b54",
            ),
            (
                "skill",
                &run(b"echo hi\r\n"),
                "5b9fcff355356346b64a0f8146b7c65b765f377d1deddf29318ef9e686e7ee92",
            ),
        ] {
            assert_eq!(tree(kind, leaves).to_string(), expected);
        }
    }

    #[test]
    fn a_lone_carriage_return_stays() {
        assert_eq!(with_line_feeds(b"a\r\nb\rc\r"), b"a\nb\rc\r");
    }

    #[test]
    fn sets_do_not_depend_on_their_order() {
        let expected = "sha256:05878fd06a4a698c95eed3c31e9d9942cff0d173ac35e95a0b8fabdeecdc5d05";
        assert_eq!(set_digest([("b", "sha256:22"), ("a", "sha256:11")]), expected);
    }
}
