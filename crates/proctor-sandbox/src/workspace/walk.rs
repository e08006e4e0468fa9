//! Going through a tree that somebody hostile has built.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt};
use std::path::Path;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, OpenHow, ResolveFlag, openat, openat2, readlinkat};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};

use super::shut::{self, For, Lent};

/// The longest path below the root that is gone into. Longer ones can be made, and no program can
/// name what is there at one stroke.
pub(crate) const LONGEST_PATH: usize = 4_000;

pub(crate) const FOLDER: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC).union(OFlag::O_RDONLY);

/// One entry of a tree.
pub(crate) struct Entry<'a> {
    /// The folder that holds it.
    pub(crate) folder: BorrowedFd<'a>,
    /// Its name there.
    pub(crate) name: &'a CStr,
    /// Its path below the root.
    pub(crate) path: &'a [u8],
    /// What it is.
    pub(crate) stat: FileStat,
}

/// The kinds of entries that matter here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Link,
    /// A character device 0/0: in an overlay's upper folder, what is below is deleted.
    Whiteout,
    Fifo,
    Socket,
    BlockDevice,
    CharDevice,
}

impl Kind {
    pub(crate) fn of(stat: &FileStat) -> Self {
        match SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits()) {
            SFlag::S_IFDIR => Self::Folder,
            SFlag::S_IFLNK => Self::Link,
            SFlag::S_IFIFO => Self::Fifo,
            SFlag::S_IFSOCK => Self::Socket,
            SFlag::S_IFBLK => Self::BlockDevice,
            SFlag::S_IFCHR if stat.st_rdev == 0 => Self::Whiteout,
            SFlag::S_IFCHR => Self::CharDevice,
            _ => Self::File,
        }
    }
}

impl Entry<'_> {
    pub(crate) fn kind(&self) -> Kind {
        Kind::of(&self.stat)
    }

    /// Permission bits, set-ID bits and the sticky bit.
    pub(crate) fn mode(&self) -> u32 {
        self.stat.st_mode & 0o7777
    }

    /// Opens it for reading, if it is still a file: nothing else is ever opened.
    pub(crate) fn open_file(&self) -> nix::Result<OwnedFd> {
        open_beneath(self.folder, self.name, OFlag::O_RDONLY | OFlag::O_NONBLOCK)
    }

    pub(crate) fn open_folder(&self) -> nix::Result<OwnedFd> {
        openat(self.folder, self.name, FOLDER, Mode::empty())
    }

    /// Where a link leads.
    pub(crate) fn link_target(&self) -> nix::Result<Vec<u8>> {
        readlinkat(self.folder, self.name).map(OsStringExt::into_vec)
    }
}

/// Opens what a path without links means below a folder, and nothing elsewhere.
pub(crate) fn open_beneath(
    folder: BorrowedFd<'_>,
    path: &CStr,
    flags: OFlag,
) -> nix::Result<OwnedFd> {
    let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
    let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW).resolve(resolve);
    loop {
        match openat2(folder, path, how) {
            // Something was renamed meanwhile, somewhere.
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            result => return result,
        }
    }
}

/// Opens a folder of ours, to walk below it.
pub(crate) fn open_root(path: &Path) -> nix::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
    shut::open_folder(AT_FDCWD, &path, For::Reading).map(|(folder, _)| folder)
}

/// What a visitor wants of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// To be shown what is in it, if it is a folder.
    Enter,
    /// To pass it over.
    Pass,
}

/// What was not gone into.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Skipped {
    /// Folders that lie too deep.
    pub(crate) deep: u64,
    /// Folders that may not be read.
    pub(crate) closed: u64,
}

/// Shows `visit` everything below `root`: folders before what is in them, the entries of a folder
/// in the order of their names. No link is followed, and one folder is open at a time. What its owner
/// has shut is open meanwhile, and shown with the mode that it had.
pub(crate) fn walk(
    root: BorrowedFd<'_>,
    visit: &mut dyn FnMut(&Entry<'_>) -> io::Result<Next>,
) -> io::Result<Skipped> {
    let mut opened = Vec::new();
    let result = walk_opening(root, Some(&mut opened), visit);
    // From the inside out, as one is reached through the other.
    for (path, mode) in opened.into_iter().rev() {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY;
        if let Ok(folder) = CString::new(path)
            .map_err(|_| Errno::EINVAL)
            .and_then(|path| open_beneath(root, &path, flags))
        {
            let _ = shut::set_mode(&folder, mode);
        }
    }
    result
}

/// Walks, and opens what is shut when it is to note in `opened` which folders those were.
fn walk_opening(
    root: BorrowedFd<'_>,
    mut opened: Option<&mut Vec<(Vec<u8>, Mode)>>,
    visit: &mut dyn FnMut(&Entry<'_>) -> io::Result<Next>,
) -> io::Result<Skipped> {
    let mut skipped = Skipped::default();
    let mut left: Vec<Vec<u8>> = vec![Vec::new()];
    while let Some(path) = left.pop() {
        let folder = match open_to_list(root, &path) {
            Ok(folder) => folder,
            Err(Errno::EACCES) if !path.is_empty() => {
                skipped.closed += 1;
                continue;
            }
            Err(errno) => return Err(errno.into()),
        };
        let mut folders = Vec::new();
        for name in names(&folder)? {
            let stat = match fstatat(&folder, name.as_c_str(), AtFlags::AT_SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::ENOENT) => continue,
                Err(errno) => return Err(errno.into()),
            };
            let path = join(&path, name.to_bytes());
            let entry = Entry { folder: folder.as_fd(), name: &name, path: &path, stat };
            let lent =
                opened.as_ref().and_then(|_| Lent::open(&folder, &name, &stat, For::Reading));
            let next = visit(&entry);
            let is_folder = entry.kind() == Kind::Folder;
            match (lent, &mut opened) {
                (Some(lent), Some(opened)) if is_folder => opened.push((path.clone(), lent.mode())),
                (Some(lent), _) => lent.shut(),
                (None, _) => {}
            }
            if next? == Next::Enter && is_folder {
                if path.len() > LONGEST_PATH {
                    skipped.deep += 1;
                } else {
                    folders.push(path);
                }
            }
        }
        left.extend(folders.into_iter().rev());
    }
    Ok(skipped)
}

fn open_to_list(root: BorrowedFd<'_>, path: &[u8]) -> nix::Result<OwnedFd> {
    if path.is_empty() {
        return openat(root, c".", FOLDER, Mode::empty());
    }
    let path = CString::new(path).map_err(|_| Errno::EINVAL)?;
    open_beneath(root, &path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)
}

fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

fn names(folder: &OwnedFd) -> nix::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::openat(folder, c".", FOLDER, Mode::empty())?.iter() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The bytes that a tree below `root` takes on the disk, up to about `most`: then it is not walked
/// further. What is hard to read does not count, and what is shut only when `opens` says so: whoever
/// is at work there could notice.
pub(crate) fn disk_use(root: BorrowedFd<'_>, most: u64, opens: bool) -> u64 {
    const BLOCK: u64 = 512;
    let mut bytes = 0_u64;
    let mut count = |entry: &Entry<'_>| {
        bytes = bytes.saturating_add(u64::try_from(entry.stat.st_blocks).unwrap_or(0) * BLOCK);
        if bytes > most { Err(io::ErrorKind::QuotaExceeded.into()) } else { Ok(Next::Enter) }
    };
    let _ = if opens { walk(root, &mut count) } else { walk_opening(root, None, &mut count) };
    bytes
}

/// Whether an error means that a file system cannot do something, and not that it failed.
pub(crate) fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EOPNOTSUPP | libc::EXDEV | libc::EINVAL | libc::ENOTTY | libc::ENOSYS)
    )
}
