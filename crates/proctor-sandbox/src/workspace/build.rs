//! Writing a tree, entry by entry, with every detail that an overlay's upper folder has.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat};
use nix::sys::stat::{
    FchmodatFlags, FileStat, Mode, SFlag, UtimensatFlags, fchmod, fchmodat, fstat, futimens,
    mkdirat, mknodat, utimensat,
};
use nix::sys::time::TimeSpec;
use nix::unistd::{Gid, Uid, fchown, fchownat, geteuid, linkat, symlinkat};

use super::layer::{OPAQUE, is_opaque};
use super::walk::{Entry, FOLDER, Kind, Next, is_unsupported, open_beneath, open_root, walk};
use crate::sys;

/// What an entry has beside its content.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    pub(super) mode: u32,
    pub(super) owner: u32,
    pub(super) group: u32,
    pub(super) modified: (i64, i64),
}

impl Meta {
    pub(super) fn of(entry: &Entry<'_>) -> Self {
        Self::from_stat(&entry.stat)
    }

    pub(super) fn of_folder(folder: BorrowedFd<'_>) -> nix::Result<Self> {
        Ok(Self::from_stat(&fstat(folder)?))
    }

    fn from_stat(stat: &FileStat) -> Self {
        Self {
            mode: stat.st_mode & 0o7777,
            owner: stat.st_uid,
            group: stat.st_gid,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
        }
    }

    fn mode(self) -> Mode {
        Mode::from_bits_truncate(self.mode)
    }

    fn time(self) -> TimeSpec {
        TimeSpec::new(self.modified.0, self.modified.1)
    }
}

/// Writes below one folder. No link is followed, so that what an archive says stays below it.
pub(super) struct Builder<'a> {
    root: BorrowedFd<'a>,
    /// The folder of the last entry, which is usually that of the next.
    parent: Option<(Vec<u8>, OwnedFd)>,
    /// Folders get their modes and times last, from the inside out.
    folders: Vec<(Vec<u8>, Meta)>,
    /// Only root can give files away.
    owners: bool,
    /// Whether content can be shared on this file system, as far as is known.
    shares: bool,
}

impl<'a> Builder<'a> {
    pub(super) fn new(root: BorrowedFd<'a>) -> Self {
        let owners = geteuid().is_root();
        Self { root, parent: None, folders: Vec::new(), owners, shares: true }
    }

    /// Opens the folder of `path` and splits off the name.
    fn enter(&mut self, path: &[u8]) -> io::Result<CString> {
        let (folder, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (&path[..at], &path[at + 1..]),
            None => (&[][..], path),
        };
        if matches!(name, b"" | b"." | b"..") {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if self.parent.as_ref().is_none_or(|(open, _)| open != folder) {
            let opened = if folder.is_empty() {
                openat(self.root, c".", FOLDER, Mode::empty())?
            } else {
                let path = CString::new(folder)?;
                open_beneath(self.root, &path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?
            };
            self.parent = Some((folder.to_vec(), opened));
        }
        Ok(CString::new(name)?)
    }

    fn here(&self) -> io::Result<BorrowedFd<'_>> {
        self.parent.as_ref().map(|(_, fd)| fd.as_fd()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    pub(super) fn folder(&mut self, path: &[u8], meta: Meta, opaque: bool) -> io::Result<()> {
        let name = self.enter(path)?;
        mkdirat(self.here()?, name.as_c_str(), Mode::S_IRWXU)?;
        if opaque {
            let folder = openat(self.here()?, name.as_c_str(), FOLDER, Mode::empty())?;
            sys::set_attribute(folder.as_fd(), OPAQUE, b"y")?;
        }
        self.folders.push((path.to_vec(), meta));
        Ok(())
    }

    pub(super) fn link(&mut self, path: &[u8], target: &[u8], meta: Meta) -> io::Result<()> {
        use std::os::unix::ffi::OsStrExt as _;
        let name = self.enter(path)?;
        let here = self.here()?;
        symlinkat(std::ffi::OsStr::from_bytes(target), here, name.as_c_str())?;
        self.give(here, &name, meta)?;
        let time = meta.time();
        Ok(utimensat(here, name.as_c_str(), &time, &time, UtimensatFlags::NoFollowSymlink)?)
    }

    /// A second name for a file that was written.
    pub(super) fn hard_link(&mut self, path: &[u8], first: &[u8]) -> io::Result<()> {
        let from = self.enter(first)?;
        let folder = self.here()?.try_clone_to_owned()?;
        let name = self.enter(path)?;
        Ok(linkat(&folder, from.as_c_str(), self.here()?, name.as_c_str(), AtFlags::empty())?)
    }

    /// A whiteout, pipe, socket or device. Devices other than whiteouts need root.
    pub(super) fn special(
        &mut self,
        path: &[u8],
        kind: SFlag,
        device: u64,
        meta: Meta,
    ) -> io::Result<()> {
        let name = self.enter(path)?;
        let here = self.here()?;
        mknodat(here, name.as_c_str(), kind, Mode::from_bits_truncate(meta.mode & 0o777), device)?;
        self.give(here, &name, meta)?;
        Ok(fchmodat(here, name.as_c_str(), meta.mode(), FchmodatFlags::FollowSymlink)?)
    }

    /// A file, whose content `write` gives.
    pub(super) fn file(
        &mut self,
        path: &[u8],
        meta: Meta,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = self.enter(path)?;
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let file = openat(self.here()?, name.as_c_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR)?;
        let mut file = File::from(file);
        write(&mut file)?;
        if self.owners {
            fchown(&file, Some(Uid::from_raw(meta.owner)), Some(Gid::from_raw(meta.group)))?;
        }
        fchmod(&file, meta.mode())?;
        Ok(futimens(&file, &meta.time(), &meta.time())?)
    }

    fn give(&self, folder: BorrowedFd<'_>, name: &CString, meta: Meta) -> io::Result<()> {
        if self.owners {
            let (owner, group) = (Uid::from_raw(meta.owner), Gid::from_raw(meta.group));
            let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
            fchownat(folder, name.as_c_str(), Some(owner), Some(group), flags)?;
        }
        Ok(())
    }

    /// Gives folders what could not be given while they were filled, and the root what it is to
    /// have.
    pub(super) fn finish(mut self, root: Option<Meta>) -> io::Result<()> {
        self.parent = None;
        for (path, meta) in std::mem::take(&mut self.folders).into_iter().rev() {
            let path = CString::new(path)?;
            let folder = open_beneath(self.root, &path, OFlag::O_RDONLY | OFlag::O_DIRECTORY)?;
            self.dress(folder.as_fd(), meta)?;
        }
        root.map_or(Ok(()), |meta| self.dress(self.root, meta))
    }

    /// Gives an open folder owner, mode and time.
    fn dress(&self, folder: BorrowedFd<'_>, meta: Meta) -> io::Result<()> {
        if self.owners {
            fchown(folder, Some(Uid::from_raw(meta.owner)), Some(Gid::from_raw(meta.group)))?;
        }
        fchmod(folder, meta.mode())?;
        Ok(futimens(folder, &meta.time(), &meta.time())?)
    }

    /// A folder that is there already.
    pub(super) fn adopt(&mut self, path: &[u8], meta: Meta) {
        self.folders.push((path.to_vec(), meta));
    }

    /// Forgets which folder was used last; something else has removed entries.
    pub(super) fn forget(&mut self) {
        self.parent = None;
    }

    /// Copies one entry from elsewhere; `seen` has the files with more than one name.
    pub(super) fn copy(
        &mut self,
        entry: &Entry<'_>,
        seen: &mut BTreeMap<(u64, u64), Vec<u8>>,
    ) -> io::Result<Next> {
        let meta = Meta::of(entry);
        let stat = &entry.stat;
        match entry.kind() {
            Kind::Folder => self.folder(entry.path, meta, is_opaque(entry)?)?,
            Kind::Link => self.link(entry.path, &entry.link_target()?, meta)?,
            Kind::File => {
                let identity = (stat.st_dev, stat.st_ino);
                if let Some(first) = seen.get(&identity) {
                    self.hard_link(entry.path, first)?;
                } else {
                    let from = File::from(entry.open_file()?);
                    let mut shares = self.shares;
                    self.file(entry.path, meta, |to| copy_content(from, to, &mut shares))?;
                    self.shares = shares;
                    if stat.st_nlink > 1 {
                        seen.insert(identity, entry.path.to_vec());
                    }
                }
            }
            _ => {
                let kind = SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits());
                self.special(entry.path, kind, stat.st_rdev, meta)?;
            }
        }
        Ok(Next::Enter)
    }
}

fn copy_content(mut from: File, to: &mut File, shares: &mut bool) -> io::Result<()> {
    if *shares {
        match sys::share_content(from.as_fd(), to.as_fd()) {
            Ok(()) => return Ok(()),
            Err(error) if is_unsupported(&error) => *shares = false,
            Err(error) => return Err(error),
        }
    }
    io::copy(&mut from, to).map(|_| ())
}

/// Copies everything below `from` into the empty folder `to`, and what `from` itself has: modes,
/// owners where that is possible, times, links, hard links, and the marks of overlays. Content is
/// shared where the file system can.
pub(super) fn copy_tree(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    let mut builder = Builder::new(to);
    let mut seen = BTreeMap::new();
    walk(from, &mut |entry| builder.copy(entry, &mut seen))?;
    builder.finish(Some(Meta::of_folder(from)?))
}

/// Gives one folder the owner, mode and time of another.
pub(super) fn dress_like(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    Builder::new(to).finish(Some(Meta::of_folder(from)?))
}

/// Makes a folder for a layer, with nothing in it.
pub(super) fn make_folder(path: &std::path::Path) -> nix::Result<OwnedFd> {
    match mkdirat(AT_FDCWD, path, Mode::S_IRWXU) {
        Ok(()) | Err(Errno::EEXIST) => open_root(path),
        Err(errno) => Err(errno),
    }
}
