//! Reading and looking at a project's files without ever following a link.
//!
//! Every path is relative to a root, with `/`. The root itself may be reached through links: it is
//! the directory that the user chose. Nothing below it may.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};

use camino::{Utf8Path, Utf8PathBuf};
use nix::libc::{ELOOP, O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK};

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Nothing.
    Absent,
    /// A regular file; its permission bits and inode.
    File { mode: u32, inode: u64 },
    /// A link; its target as it is written (lossily, when it is not UTF-8) and inode.
    Link { target: String, inode: u64 },
    /// A directory.
    Directory,
    /// A device, pipe or socket.
    Other,
    /// A parent, named here, is no directory, so nothing can stand at the path.
    Blocked(String),
}

/// Why a path in a file that we read is refused. Displays as a fragment that completes "`path` ...".
pub(crate) fn path_offence(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        return Some("is empty");
    }
    if path.starts_with('/') {
        return Some("is absolute");
    }
    if path.contains(|char: char| char == '\\' || char.is_control()) {
        return Some("holds a backslash or a control character");
    }
    if path.len() > 4096 {
        return Some("is longer than 4096 bytes");
    }
    match path.split('/').find(|segment| matches!(*segment, "" | "." | "..")) {
        Some("..") => Some("leaves its directory"),
        Some(_) => Some("has an empty or `.` segment"),
        None => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Dir {
    Real,
    Absent,
    Blocked(String),
}

/// The files below a root. Directories are looked at once: the tree must not change underneath,
/// except through [`Tree::made_directory`].
pub(crate) struct Tree {
    root: Utf8PathBuf,
    dirs: RefCell<BTreeMap<String, Dir>>,
}

impl Tree {
    pub(crate) fn new(root: &Utf8Path) -> Self {
        Self { root: root.to_owned(), dirs: RefCell::default() }
    }

    /// The path on disk.
    pub(crate) fn at(&self, relative: &str) -> Utf8PathBuf {
        self.root.join(relative)
    }

    /// What stands at `relative`.
    pub(crate) fn entry(&self, relative: &str) -> io::Result<Entry> {
        match self.dir(parent(relative))? {
            Dir::Real => look(&self.at(relative)),
            Dir::Absent => Ok(Entry::Absent),
            Dir::Blocked(by) => Ok(Entry::Blocked(by)),
        }
    }

    /// The directories that have to be made before something can be put at `relative`, outermost
    /// first, or the path that is in the way.
    pub(crate) fn missing_parents(
        &self,
        relative: &str,
    ) -> io::Result<Result<Vec<String>, String>> {
        let mut missing = Vec::new();
        let mut dir = parent(relative);
        loop {
            match self.dir(dir)? {
                Dir::Real => break,
                Dir::Blocked(by) => return Ok(Err(by)),
                Dir::Absent => missing.push(dir.to_owned()),
            }
            dir = parent(dir);
        }
        missing.reverse();
        Ok(Ok(missing))
    }

    /// Notes that a directory is there now.
    pub(crate) fn made_directory(&self, relative: &str) {
        self.dirs.borrow_mut().insert(relative.to_owned(), Dir::Real);
    }

    fn dir(&self, relative: &str) -> io::Result<Dir> {
        if relative.is_empty() {
            return Ok(Dir::Real);
        }
        if let Some(known) = self.dirs.borrow().get(relative) {
            return Ok(known.clone());
        }
        let state = match self.dir(parent(relative))? {
            Dir::Real => match look(&self.at(relative))? {
                Entry::Directory => Dir::Real,
                Entry::Absent => Dir::Absent,
                _ => Dir::Blocked(relative.to_owned()),
            },
            other => other,
        };
        self.dirs.borrow_mut().insert(relative.to_owned(), state.clone());
        Ok(state)
    }

    /// Reads a regular file of at most `limit` bytes; `None` when nothing is there.
    pub(crate) fn read(&self, relative: &str, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
        match self.entry(relative)? {
            Entry::Absent => Ok(None),
            Entry::File { .. } => read_regular(&self.at(relative), limit).map(Some),
            Entry::Blocked(by) => Err(ReadError::NotRegular(self.at(&by))),
            _ => Err(ReadError::NotRegular(self.at(relative))),
        }
    }
}

/// Why a file was not read.
#[derive(Debug)]
pub(crate) enum ReadError {
    Io(io::Error),
    /// A link, a directory, a device.
    NotRegular(Utf8PathBuf),
    /// Longer than the limit, which is given.
    TooLong(u64),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads a regular file; a link as the last part of the path is not followed.
pub(crate) fn read_regular(path: &Utf8Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    // Non-blocking: a pipe put there meanwhile must not hold us up.
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        .open(path)
        .map_err(|error| match error.raw_os_error() {
            Some(ELOOP) => ReadError::NotRegular(path.to_owned()),
            _ => ReadError::Io(error),
        })?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ReadError::NotRegular(path.to_owned()));
    }
    if metadata.len() > limit {
        return Err(ReadError::TooLong(limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(ReadError::TooLong(limit)) } else { Ok(bytes) }
}

/// What stands at a path on disk; the last part is not followed.
pub(crate) fn look(path: &Utf8Path) -> io::Result<Entry> {
    let metadata = match std::fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entry::Absent),
        Err(error) => return Err(error),
    };
    let kind = metadata.file_type();
    Ok(if kind.is_file() {
        Entry::File { mode: metadata.mode() & 0o7777, inode: metadata.ino() }
    } else if kind.is_symlink() {
        let target = std::fs::read_link(path)?.to_string_lossy().into_owned();
        Entry::Link { target, inode: metadata.ino() }
    } else if kind.is_dir() {
        Entry::Directory
    } else {
        Entry::Other
    })
}

/// The directory part of a relative path; empty for the root.
pub(crate) fn parent(relative: &str) -> &str {
    relative.rfind('/').map_or("", |slash| &relative[..slash])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn temp() -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::new(Utf8Path::from_path(dir.path()).unwrap());
        (dir, tree)
    }

    #[test]
    fn hostile_paths_are_named() {
        for bad in ["", "/etc/passwd", "a/../b", "..", "a//b", "./a", "a/.", "a\\b", "a\0b", "a/"] {
            assert!(path_offence(bad).is_some(), "{bad:?}");
        }
        for good in ["a", ".a", "a..b/c", "a/...", "é/ b"] {
            assert_eq!(path_offence(good), None, "{good:?}");
        }
    }

    #[test]
    fn nothing_is_seen_through_a_link() {
        let (dir, tree) = temp();
        std::fs::create_dir(dir.path().join("real")).unwrap();
        std::fs::write(dir.path().join("real/file"), "x").unwrap();
        symlink("real", dir.path().join("linked")).unwrap();
        assert!(matches!(tree.entry("real/file").unwrap(), Entry::File { .. }));
        assert_eq!(tree.entry("linked/file").unwrap(), Entry::Blocked("linked".into()));
        assert_eq!(tree.missing_parents("linked/a/b").unwrap(), Err("linked".into()));
        assert_eq!(
            tree.missing_parents("real/a/b/c").unwrap(),
            Ok(vec!["real/a".into(), "real/a/b".into()])
        );
        assert!(matches!(tree.read("linked/file", 9), Err(ReadError::NotRegular(_))));
    }

    #[test]
    fn long_files_pipes_and_links_are_not_read() {
        let (dir, tree) = temp();
        std::fs::write(dir.path().join("long"), "12345").unwrap();
        symlink("long", dir.path().join("link")).unwrap();
        nix::unistd::mkfifo(&dir.path().join("pipe"), nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(matches!(tree.read("long", 4), Err(ReadError::TooLong(4))));
        assert_eq!(tree.read("long", 5).unwrap().unwrap(), b"12345");
        assert!(matches!(tree.read("link", 9), Err(ReadError::NotRegular(_))));
        assert!(matches!(tree.read("pipe", 9), Err(ReadError::NotRegular(_))));
        assert!(read_regular(&tree.at("pipe"), 9).is_err());
        assert!(tree.read("none", 9).unwrap().is_none());
    }
}
