//! What was changed since an installation.

use std::fmt;

use proctor_model::Digest;

use super::config::ProjectConfig;
use super::manifest::{ManagedFile, Manifest};
use super::{io_error, mcp};
use crate::MANAGED_DIRECTORY;
use crate::error::InstallError;
use crate::links::Integration;
use crate::tree::{Entry, ReadError, Tree};

/// Bytes of a managed file; a longer one is not what was installed.
const FILE_LIMIT: u64 = 64 << 20;

/// A managed file, link or MCP entry that is not as it was installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Modified {
    /// Relative to the project; an MCP entry as `file:collection.id`, a setting that no longer fits
    /// as its key in `.cratis/ai.json`.
    pub path: String,
    /// What is different.
    pub kind: Change,
}

/// How a managed path differs from what was installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// Other content, or no regular file.
    Modified,
    /// Nothing is there.
    Missing,
    /// The content as it was installed, but with `\r\n` line ends: usually git's `core.autocrlf`.
    LineEndingsOnly,
    /// A link with another target, or no link.
    LinkChanged,
    /// An MCP entry that was edited or removed.
    McpEntryChanged,
    /// An MCP server is registered, and disabled or without its directory.
    McpSettingDiffers,
}

impl Change {
    /// One or two words for a list.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Modified => "modified",
            Self::Missing => "missing",
            Self::LineEndingsOnly => "line endings only",
            Self::LinkChanged => "link changed",
            Self::McpEntryChanged => "MCP entry changed",
            Self::McpSettingDiffers => "MCP setting differs",
        }
    }
}

impl Modified {
    /// The path as the installation manifest lists it: managed files relative to `.cratis/ai`.
    pub fn listed(&self) -> &str {
        self.path
            .strip_prefix(MANAGED_DIRECTORY)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(&self.path)
    }
}

impl fmt::Display for Modified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path, self.kind.as_str())
    }
}

/// Everything of `manifest` that differs, in byte order of the path.
pub(super) fn check(
    tree: &Tree,
    config: Option<&ProjectConfig>,
    manifest: &Manifest,
) -> Result<Vec<Modified>, InstallError> {
    let mut modified = files_and_links(tree, manifest)?;
    let (edited, settings) = mcp::drift(tree, config, manifest)?;
    let with = |kind| move |path| Modified { path, kind };
    modified.extend(edited.into_iter().map(with(Change::McpEntryChanged)));
    modified.extend(settings.into_iter().map(with(Change::McpSettingDiffers)));
    modified.sort();
    Ok(modified)
}

/// The files and links of `manifest` that differ, in byte order of the path.
pub(super) fn files_and_links(
    tree: &Tree,
    manifest: &Manifest,
) -> Result<Vec<Modified>, InstallError> {
    let mut modified = Vec::new();
    for file in &manifest.files {
        let path = format!("{MANAGED_DIRECTORY}/{}", file.destination);
        if let Some(kind) = file_change(tree, &path, file)? {
            modified.push(Modified { path, kind });
        }
    }
    for link in &manifest.integrations {
        let entry = tree.entry(&link.path);
        let entry = entry.map_err(|source| io_error("read", tree.at(&link.path), source))?;
        if let Some(kind) = link_change(&entry, link) {
            modified.push(Modified { path: link.path.clone(), kind });
        }
    }
    modified.sort();
    Ok(modified)
}

fn file_change(
    tree: &Tree,
    path: &str,
    file: &ManagedFile,
) -> Result<Option<Change>, InstallError> {
    let bytes = match tree.read(path, FILE_LIMIT) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Some(Change::Missing)),
        Err(ReadError::NotRegular(_) | ReadError::TooLong(_)) => return Ok(Some(Change::Modified)),
        Err(ReadError::Io(source)) => return Err(io_error("read", tree.at(path), source)),
    };
    if Digest::of(&bytes).upper_hex() == file.hash {
        return Ok(None);
    }
    let folded = fold_line_ends(&bytes);
    let same = folded.is_some_and(|folded| Digest::of(&folded).upper_hex() == file.hash);
    Ok(Some(if same { Change::LineEndingsOnly } else { Change::Modified }))
}

fn link_change(entry: &Entry, link: &Integration) -> Option<Change> {
    match entry {
        Entry::Link { target, .. } if *target == link.target => None,
        Entry::Absent => Some(Change::Missing),
        _ => Some(Change::LinkChanged),
    }
}

/// The content with `\n` for each `\r\n`; `None` when there is none.
fn fold_line_ends(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut folded = Vec::with_capacity(bytes.len());
    for (index, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(index + 1) != Some(&b'\n') {
            folded.push(byte);
        }
    }
    (folded.len() < bytes.len()).then_some(folded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pairs_are_folded() {
        assert_eq!(fold_line_ends(b"a\r\nb\r\n").unwrap(), b"a\nb\n");
        assert_eq!(fold_line_ends(b"\r\r\n\r").unwrap(), b"\r\n\r");
        assert_eq!(fold_line_ends(b"a\rb\n"), None);
    }

    #[test]
    fn listed_paths_are_those_of_the_manifest() {
        let listed =
            |path: &str| Modified { path: path.into(), kind: Change::Missing }.listed().to_owned();
        assert_eq!(listed(".cratis/ai/rules/a.md"), "rules/a.md");
        assert_eq!(listed(".cratis/aid"), ".cratis/aid");
        assert_eq!(listed("AGENTS.md"), "AGENTS.md");
    }
}
