//! Removal of trees that somebody hostile has built.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, SFlag, fchmodat, fstat, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::sys;

const FOLDER: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_RDONLY);

/// Removes `path`, whatever it is, with everything in it, as far as the system lets us. What is not
/// there needs no removal. What cannot be removed stays, with the folders around it, and the first
/// reason is returned when everything else is gone.
///
/// No link is followed. Folders are given the permissions that removal needs. Depth costs neither
/// stack nor descriptors nor long paths: one folder is open at a time, and `..` leads back from it.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let name = CString::new(name.as_bytes())?;
    let parent = openat(AT_FDCWD, parent, FOLDER, Mode::empty())?;
    remove_tree_at(parent, &name)
}

/// The same of what is called `name` in an open folder.
pub(crate) fn remove_tree_at(parent: OwnedFd, name: &CStr) -> io::Result<()> {
    let mut removal = Removal { failure: None };
    removal.remove(parent, name.to_owned())?;
    match removal.failure {
        None => Ok(()),
        Some(errno) => Err(errno.into()),
    }
}

/// A folder that is being emptied.
struct Level {
    /// Its name in the folder above.
    name: CString,
    /// The folder above, to be sure that `..` still leads there.
    above: (u64, u64),
    /// Its own folders that are still to be removed.
    left: Vec<CString>,
}

struct Removal {
    failure: Option<Errno>,
}

impl Removal {
    fn remove(&mut self, parent: OwnedFd, name: CString) -> nix::Result<()> {
        let mut here = parent;
        let mut levels: Vec<Level> = Vec::new();
        let mut next = self.unlink(&here, name);
        loop {
            if let Some(name) = next {
                match open_for_removal(&here, &name) {
                    Ok(folder) => {
                        let above = identity(&fstat(&here)?);
                        here = folder;
                        let left = self.unlink_all(&here);
                        levels.push(Level { name, above, left });
                    }
                    Err(errno) => self.fail(errno),
                }
            }
            let Some(level) = levels.last_mut() else { return Ok(()) };
            next = level.left.pop();
            if next.is_none()
                && let Some(level) = levels.pop()
            {
                here = openat(&here, c"..", FOLDER, Mode::empty())?;
                if identity(&fstat(&here)?) != level.above {
                    // Somebody moved it away while we were in it.
                    return Err(Errno::ESTALE);
                }
                let removed = unlinkat(&here, level.name.as_c_str(), UnlinkatFlags::RemoveDir);
                removed.unwrap_or_else(|errno| self.fail(errno));
            }
        }
    }

    /// Removes everything in a folder but its folders, and returns those.
    fn unlink_all(&mut self, folder: &OwnedFd) -> Vec<CString> {
        // The names are collected first, as removing while listing may skip some.
        let names = names(folder).unwrap_or_else(|errno| {
            self.fail(errno);
            Vec::new()
        });
        names.into_iter().filter_map(|name| self.unlink(folder, name)).collect()
    }

    /// Removes what is no folder; returns the name of what is one.
    fn unlink(&mut self, folder: &OwnedFd, name: CString) -> Option<CString> {
        match unlinkat(folder, name.as_c_str(), UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(Errno::ENOENT) => None,
            // Linux and POSIX say it in different ways.
            Err(Errno::EISDIR | Errno::EPERM) if is_folder(folder, &name) => Some(name),
            Err(Errno::EPERM) if clear_marks(folder, &name) => {
                let again = unlinkat(folder, name.as_c_str(), UnlinkatFlags::NoRemoveDir);
                again.unwrap_or_else(|errno| self.fail(errno));
                None
            }
            Err(errno) => {
                self.fail(errno);
                None
            }
        }
    }

    fn fail(&mut self, errno: Errno) {
        self.failure.get_or_insert(errno);
    }
}

fn identity(stat: &FileStat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

fn is_folder(parent: impl AsFd, name: &CStr) -> bool {
    fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| stat.st_mode & SFlag::S_IFMT.bits() == SFlag::S_IFDIR.bits())
}

/// Opens a folder with the permission to list it and to remove from it.
fn open_for_removal(parent: &OwnedFd, name: &CStr) -> nix::Result<OwnedFd> {
    let make_usable = || fchmodat(parent, name, Mode::S_IRWXU, FchmodatFlags::FollowSymlink);
    // Whoever does not own it cannot change it, and may still be able to remove it.
    if is_folder(parent, name) && make_usable() == Err(Errno::EPERM) && clear_marks(parent, name) {
        let _ = make_usable();
    }
    openat(parent, name, FOLDER, Mode::empty())
}

/// Says whether it did.
fn clear_marks(parent: &OwnedFd, name: &CStr) -> bool {
    // Not to wait for a writer of a named pipe.
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    openat(parent, name, flags, Mode::empty())
        .is_ok_and(|file| sys::clear_marks(file.as_fd()).is_ok())
}

fn names(folder: &OwnedFd) -> nix::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::openat(folder, c".", FOLDER, Mode::empty())?.iter() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            names.push(entry.file_name().to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

    use std::ffi::OsStr;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::process::Command;

    use super::*;

    fn lock(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
    }

    #[test]
    fn nothing_file_and_link_are_removed_as_they_are() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("x");
        remove_tree(&path).unwrap();
        fs::write(&path, "").unwrap();
        remove_tree(&path).unwrap();
        let kept = temp.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        symlink(&kept, &path).unwrap();
        remove_tree(&path).unwrap();
        assert!(kept.join("file").exists());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn links_lead_nowhere() {
        let temp = tempfile::tempdir().unwrap();
        let kept = temp.path().join("kept");
        fs::create_dir(&kept).unwrap();
        fs::write(kept.join("file"), "").unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir(&tree).unwrap();
        symlink(&kept, tree.join("absolute")).unwrap();
        symlink("../kept", tree.join("relative")).unwrap();
        symlink("..", tree.join("up")).unwrap();
        remove_tree(&tree).unwrap();
        assert!(kept.join("file").exists());
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    }

    #[test]
    fn locked_folders_are_opened() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::write(tree.join("a/b/file"), "").unwrap();
        for path in ["a/b/c", "a/b", "a", ""] {
            lock(&tree.join(path));
        }
        remove_tree(&tree).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn names_may_be_anything() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir(&tree).unwrap();
        for name in [&b"\xFF\xFE"[..], b"a\nb", b"-rf", b" ", b"*", b"0", b"1"] {
            let folder = tree.join(OsStr::from_bytes(name));
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join(OsStr::from_bytes(name)), "").unwrap();
        }
        remove_tree(&tree).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn immutable_files_and_folders_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join("folder")).unwrap();
        fs::write(tree.join("folder/file"), "").unwrap();
        fs::write(tree.join("appended"), "").unwrap();
        let mark = |how: &str, name: &str| {
            let status = Command::new("chattr").arg(how).arg(tree.join(name)).status();
            status.is_ok_and(|status| status.success())
        };
        if !(mark("+i", "folder/file") && mark("+i", "folder") && mark("+a", "appended")) {
            eprintln!("skipped: no chattr, or not allowed");
            return;
        }
        assert!(fs::remove_file(tree.join("folder/file")).is_err());
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
    }

    #[test]
    fn depth_does_not_matter() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        // Built from the inside out, as the whole path is far longer than a path may be.
        fs::create_dir(&tree).unwrap();
        let (next, inner) = (temp.path().join("next"), "d".repeat(100));
        for _ in 0..1_200 {
            fs::create_dir(&next).unwrap();
            fs::rename(&tree, next.join(&inner)).unwrap();
            fs::rename(&next, &tree).unwrap();
        }
        remove_tree(&tree).unwrap();
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_removed_does_not_keep_the_rest() {
        let temp = tempfile::tempdir().unwrap();
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join("a/b")).unwrap();
        fs::write(tree.join("a/b/file"), "").unwrap();
        let mut removal = Removal { failure: None };
        let folder = openat(AT_FDCWD, &tree, FOLDER, Mode::empty()).unwrap();
        removal.fail(Errno::EACCES);
        removal.remove(folder, c"a".to_owned()).unwrap();
        assert_eq!(removal.failure, Some(Errno::EACCES));
        assert_eq!(fs::read_dir(&tree).unwrap().count(), 0);
        let error = remove_tree(Path::new("/proc/version")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }
}
