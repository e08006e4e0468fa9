//! Digests of skills and of their cases.
//!
//! Two schemes: a stream of files for the question whether a result still holds, and the tree of
//! length-prefixed leaves of ai-rulez's lock file, on which usage logs join.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek};
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

fn add_file(stream: &mut DigestStream, path: &Path) -> Result<(), DigestError> {
    let (file, length) = open_file(path)?;
    stream.update(format!("\0{length}\0").as_bytes());
    in_pieces(file, length, path, |piece| stream.update(piece))
}

/// Reads a file in pieces, since a fixture may be larger than the memory. It must have the length
/// that it was opened with.
fn in_pieces(
    mut file: impl Read,
    length: u64,
    path: &Path,
    mut take: impl FnMut(&[u8]),
) -> Result<(), DigestError> {
    let mut buffer = [0; 8 * 1024];
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
        take(buffer.get(..count).unwrap_or_default());
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
    let (file, length) = open_file(&path)?;
    let metadata = file.metadata().map_err(|e| DigestError::unreadable(&path, e))?;
    let executable = metadata.permissions().mode() & 0o111 != 0;
    let mode = if executable { "100755" } else { "100644" };
    leaf(&entry.relative, mode, file, length, &path)
}

fn leaf(
    relative: &[u8],
    mode: &str,
    mut data: impl Read + Seek,
    length: u64,
    path: &Path,
) -> Result<Digest, DigestError> {
    let mut stream = Digest::stream();
    prefixed(&mut stream, b"ai-rulez/file/v1");
    prefixed(&mut stream, relative);
    prefixed(&mut stream, mode.as_bytes());
    if is_text(relative) {
        // The length stands before the text, so the text is read twice.
        let mut normalized = 0_u64;
        let mut lines = LineFeeds::default();
        in_pieces(&mut data, length, path, |piece| {
            lines.feed(piece, |text| normalized += text.len() as u64);
        })?;
        lines.finish(|text| normalized += text.len() as u64);
        data.rewind().map_err(|e| DigestError::unreadable(path, e))?;
        stream.update(&normalized.to_be_bytes());
        let mut lines = LineFeeds::default();
        in_pieces(&mut data, length, path, |piece| {
            lines.feed(piece, |text| stream.update(text));
        })?;
        lines.finish(|text| stream.update(text));
    } else {
        stream.update(&length.to_be_bytes());
        in_pieces(&mut data, length, path, |piece| stream.update(piece))?;
    }
    Ok(stream.finish())
}

fn is_text(path: &[u8]) -> bool {
    let ending = Path::new(OsStr::from_bytes(path)).extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| TEXT_ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

fn prefixed(stream: &mut DigestStream, bytes: &[u8]) {
    stream.update(&(bytes.len() as u64).to_be_bytes());
    stream.update(bytes);
}

/// Turns `CRLF` into `LF` in a text that comes in pieces; a lone `CR` stays.
#[derive(Default)]
struct LineFeeds {
    /// Whether a piece ended with a `CR` of which it is not known yet whether it stays.
    held: bool,
}

impl LineFeeds {
    fn feed(&mut self, piece: &[u8], mut take: impl FnMut(&[u8])) {
        let mut rest = piece;
        if self.held && !rest.is_empty() {
            self.held = false;
            if !rest.starts_with(b"\n") {
                take(b"\r");
            }
        }
        while let Some(at) = rest.iter().position(|byte| *byte == b'\r') {
            let (before, from) = rest.split_at(at);
            take(before);
            let after = from.get(1..).unwrap_or_default();
            match after.first() {
                None => self.held = true,
                Some(b'\n') => {}
                Some(_) => take(b"\r"),
            }
            rest = after;
        }
        take(rest);
    }

    fn finish(self, take: impl FnOnce(&[u8])) {
        if self.held {
            take(b"\r");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// The vectors that the owner of the scheme publishes.
    #[test]
    fn leaves_and_trees_have_the_published_digests() {
        let leaf_of = |path: &str, mode: &str, data: &[u8]| {
            let length = data.len() as u64;
            leaf(path.as_bytes(), mode, Cursor::new(data), length, Path::new("x")).unwrap()
        };
        assert_eq!(
            leaf_of("SKILL.md", "100644", b"# Title\nbody\n").to_string(),
            "cbac10c14a090ab0301ad17b0013e8c960c5960d5574dcabf38867b98987c621"
        );
        let script = |mode| {
            [
                leaf_of("SKILL.md", "100644", b"---\nname: deploy\n---\nDeploy.\n"),
                leaf_of("assets/logo.bin", "100644", b"\x00\x01\r\n\x02"),
                leaf_of("scripts/run.sh", mode, b"#!/bin/sh\necho hi\n"),
            ]
        };
        let run = |data: &[u8]| [leaf_of("run.sh", "100755", data)];
        let style = |data: &[u8]| [leaf_of("style.md", "100644", data)];
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
                &[leaf_of("empty.md", "100644", b"")],
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
    fn a_lone_carriage_return_stays_however_the_text_is_cut() {
        let text = b"a\r\nb\rc\r\r\n\r";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut out = Vec::new();
                let mut lines = LineFeeds::default();
                for piece in [&text[..first], &text[first..second], &text[second..]] {
                    lines.feed(piece, |text| out.extend_from_slice(text));
                }
                lines.finish(|text| out.extend_from_slice(text));
                assert_eq!(out, b"a\nb\rc\r\n\r", "{first} {second}");
            }
        }
    }

    #[test]
    fn a_file_that_grows_or_shrinks_has_no_digest() {
        for length in [2, 4] {
            let found = in_pieces(Cursor::new(b"abc"), length, Path::new("x"), |_| {});
            assert!(matches!(found, Err(DigestError::Changed { .. })), "{length}");
        }
        in_pieces(Cursor::new(b"abc"), 3, Path::new("x"), |_| {}).unwrap();
    }

    #[test]
    fn sets_do_not_depend_on_their_order() {
        let expected = "sha256:05878fd06a4a698c95eed3c31e9d9942cff0d173ac35e95a0b8fabdeecdc5d05";
        assert_eq!(set_digest([("b", "sha256:22"), ("a", "sha256:11")]), expected);
    }
}
