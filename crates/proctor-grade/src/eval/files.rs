//! The working directory that a runner left, as assertions see it.

use camino::Utf8Path;

use super::assertion::Files;
use crate::workspace::{Limits, Other, Selection, Workspace, WorkspaceError};

/// The largest file that an assertion reads: 1 MiB.
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// A working directory. Nothing outside of it is ever looked at, wherever links lead.
#[derive(Debug, Clone)]
pub struct WorkDir(Workspace);

impl WorkDir {
    /// The folder at `path`; `None` when there is none.
    pub fn open(path: &Utf8Path) -> Option<Self> {
        let limits = Limits { file_bytes: MAX_FILE_BYTES, ..Limits::default() };
        path.is_dir().then(|| Self(Workspace::with_limits(path, limits)))
    }

    fn find(&self, path: &str) -> Result<Selection, String> {
        let path = clean(path).ok_or("leaves the working directory")?;
        self.0.find(&path).map_err(|error| reason(&error))
    }
}

impl Files for WorkDir {
    /// Directories count; a link counts when it leads to something.
    fn exists(&self, path: &str) -> Result<bool, String> {
        let found = self.find(path)?;
        let is_broken = |(_, other): &(String, Other)| *other == Other::BrokenLink;
        Ok(!found.files.is_empty() || !found.others.iter().all(is_broken))
    }

    /// Bytes that are not UTF-8 stand as U+FFFD.
    fn text(&self, path: &str) -> Result<String, String> {
        let found = self.find(path)?;
        if let Some((_, other)) = found.others.first() {
            return Err(format!("is {other}, not a file"));
        }
        let file = found.files.first().ok_or("is not there")?;
        self.0.read(file).map_err(|error| reason(&error))
    }
}

/// The path without empty, `.` and `..` segments, as text; `None` when it leaves the folder.
fn clean(path: &str) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    (!path.starts_with('/') && !names.is_empty()).then(|| names.join("/"))
}

/// A reason that completes "`path` ...".
fn reason(error: &WorkspaceError) -> String {
    match error {
        WorkspaceError::Escape { .. } => "leads out of the working directory".to_owned(),
        WorkspaceError::Loop { .. } => "is a link that never arrives".to_owned(),
        WorkspaceError::TooLarge { limit, .. } => {
            format!("is larger than {limit} bytes, the most that an assertion reads")
        }
        WorkspaceError::Changed { .. } => "changed while it was looked at".to_owned(),
        WorkspaceError::Io { source, .. } => format!("cannot be read: {source}"),
        error => format!("cannot be looked at: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn work_dir() -> (tempfile::TempDir, WorkDir) {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap().join("w");
        fs::create_dir_all(root.join("node_modules/a")).unwrap();
        fs::write(temp.path().join("secret"), "s").unwrap();
        fs::write(root.join("log"), "ok\n").unwrap();
        fs::write(root.join(r"a\b"), "slash").unwrap();
        fs::write(root.join("node_modules/a/x"), "x").unwrap();
        fs::write(root.join("limit"), vec![b'a'; 1024 * 1024]).unwrap();
        fs::write(root.join("large"), vec![b'a'; 1024 * 1024 + 1]).unwrap();
        for (link, target) in [
            ("inside", "log"),
            ("out", "../secret"),
            ("far", "/etc"),
            ("broken", "gone"),
            ("loop", "loop"),
        ] {
            symlink(target, root.join(link)).unwrap();
        }
        let opened = WorkDir::open(&root).unwrap();
        (temp, opened)
    }

    #[test]
    fn presence() {
        let (_temp, files) = work_dir();
        for (path, expected) in [
            ("log", Ok(true)),
            ("./node_modules//a/../a/x", Ok(true)),
            ("node_modules", Ok(true)),
            ("inside", Ok(true)),
            (r"a\b", Ok(true)),
            ("gone", Ok(false)),
            ("log/x", Ok(false)),
            ("broken", Ok(false)),
            ("loop", Ok(false)),
            ("out", Err("leads out of the working directory")),
            ("far/passwd", Err("leads out of the working directory")),
            ("../secret", Err("leaves the working directory")),
            ("/etc/passwd", Err("leaves the working directory")),
            (".", Err("leaves the working directory")),
        ] {
            assert_eq!(files.exists(path), expected.map_err(str::to_owned), "{path}");
        }
    }

    #[test]
    fn texts() {
        let (_temp, files) = work_dir();
        assert_eq!(files.text("inside").unwrap(), "ok\n");
        assert_eq!(files.text("limit").unwrap().len(), 1024 * 1024);
        for (path, expected) in [
            ("large", "is larger than 1048576 bytes, the most that an assertion reads"),
            ("node_modules", "is a directory, not a file"),
            ("broken", "is a broken link, not a file"),
            ("gone", "is not there"),
            ("out", "leads out of the working directory"),
        ] {
            assert_eq!(files.text(path).unwrap_err(), expected, "{path}");
        }
    }

    #[test]
    fn only_a_folder_is_one() {
        assert!(WorkDir::open("/dev/null".into()).is_none());
    }
}
