//! What an importer may read.

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

use camino::Utf8Path;

use super::MAX_INPUT_BYTES;
use crate::read_file::open;

/// What lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, or something that is neither.
    Other,
}

/// What links may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Nothing on the way may be a link.
    Refused,
    /// They may lead to a file inside the folder of the scenario.
    Inside,
}

/// A folder of files that somebody else wrote. Paths are relative, with `/` between names, clean,
/// and empty for the folder itself.
pub trait Files {
    /// What lies at a path; `None` for nothing.
    fn entry(&self, path: &str) -> Option<Entry>;

    /// The names in a folder, sorted. Names that are not UTF-8 are left out.
    fn names(&self, folder: &str) -> Result<Vec<String>, String>;

    /// The bytes of a regular file of at most [`MAX_INPUT_BYTES`] at `path` below `folder`, or why
    /// there are none.
    fn read(&self, folder: &str, path: &str, links: Links) -> Result<Vec<u8>, String>;
}

/// How many bytes all files of an import may hold together: a short suite could name a long file any
/// number of times.
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;

/// Files of which no more than [`MAX_TOTAL_BYTES`] are read.
pub(super) struct Counted<'a> {
    files: &'a dyn Files,
    left: &'a Cell<u64>,
}

impl<'a> Counted<'a> {
    pub(super) fn new(files: &'a dyn Files, left: &'a Cell<u64>) -> Self {
        Self { files, left }
    }

    /// What [`Self::new`] begins with.
    pub(super) fn all() -> Cell<u64> {
        Cell::new(MAX_TOTAL_BYTES)
    }
}

impl Files for Counted<'_> {
    fn entry(&self, path: &str) -> Option<Entry> {
        self.files.entry(path)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        self.files.names(folder)
    }

    fn read(&self, folder: &str, path: &str, links: Links) -> Result<Vec<u8>, String> {
        let bytes = self.files.read(folder, path, links)?;
        let left = self.left.get().checked_sub(bytes.len() as u64);
        let left = left.ok_or_else(|| {
            format!("is one too many: an import reads at most {MAX_TOTAL_BYTES} bytes (64 MiB)")
        })?;
        self.left.set(left);
        Ok(bytes)
    }
}

/// How many names of one folder are looked at.
const MAX_NAMES: usize = 10_000;

/// A folder on disk.
#[derive(Debug)]
pub struct FolderFiles {
    root: PathBuf,
}

impl FolderFiles {
    /// The folder, which may itself be a link.
    pub fn new(root: &Utf8Path) -> std::io::Result<Self> {
        Ok(Self { root: fs::canonicalize(root)? })
    }
}

impl Files for FolderFiles {
    fn entry(&self, path: &str) -> Option<Entry> {
        let kind = fs::symlink_metadata(self.root.join(path)).ok()?.file_type();
        Some(match kind {
            kind if kind.is_file() => Entry::File,
            kind if kind.is_dir() => Entry::Folder,
            _ => Entry::Other,
        })
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, String> {
        let listing = fs::read_dir(self.root.join(folder));
        let mut names = Vec::new();
        for entry in listing.map_err(|error| format!("cannot be listed: {error}"))? {
            let entry = entry.map_err(|error| format!("cannot be listed: {error}"))?;
            if names.len() == MAX_NAMES {
                return Err(format!("holds more than {MAX_NAMES} files and folders"));
            }
            names.extend(entry.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read(&self, folder: &str, path: &str, links: Links) -> Result<Vec<u8>, String> {
        let bound = self.root.join(folder);
        let path = bound.join(path);
        let real = fs::canonicalize(&path).map_err(|error| format!("cannot be read: {error}"))?;
        if links == Links::Refused && real != path {
            return Err("is not a regular file of its own: links are refused".to_owned());
        }
        if !real.starts_with(&bound) {
            return Err("leads out of the folder of its scenario through a link".to_owned());
        }
        let (file, length) = open(&real).map_err(|diagnostic| diagnostic.message)?;
        let mut bytes = Vec::new();
        if length <= MAX_INPUT_BYTES {
            // One byte more than allowed tells a file that grew.
            let read = file.take(MAX_INPUT_BYTES + 1).read_to_end(&mut bytes);
            read.map_err(|error| format!("cannot be read: {error}"))?;
        }
        let length = length.max(bytes.len() as u64);
        if length > MAX_INPUT_BYTES {
            return Err(format!(
                "is {length} bytes long; the limit is {MAX_INPUT_BYTES} bytes (2 MiB)"
            ));
        }
        Ok(bytes)
    }
}
