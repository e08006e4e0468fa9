//! What its owner has shut even for itself.
//!
//! Root reads and changes it all the same. Where Proctor is not root, it and the agent are one user
//! to the kernel: what an agent has shut is Proctor's own, and the owner's bits are lent for as long
//! as somebody looks. Otherwise an agent could end its own trial with `chmod 0`, or keep its work out
//! of what is compared, kept and tested again.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::{FchmodatFlags, FileStat, Mode, SFlag, fchmodat, fstat};
use nix::unistd::geteuid;

/// What a folder is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    /// To see what is in it.
    Reading,
    /// To put something there as well.
    Writing,
}

/// An entry whose owner has got bits that it had taken from itself.
#[derive(Debug)]
pub(super) struct Lent {
    entry: OwnedFd,
    mode: Mode,
}

impl Lent {
    /// Opens `name` in a folder for its owner. `None` when it is open, or not ours.
    pub(super) fn open(
        folder: impl AsFd,
        name: &CStr,
        stat: &FileStat,
        purpose: For,
    ) -> Option<Self> {
        if missing(stat, purpose).is_empty() {
            return None;
        }
        let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let entry = openat(folder, name, flags, Mode::empty()).ok()?;
        Self::of(entry, purpose).ok().flatten()
    }

    /// The same of an entry that is open for anything.
    pub(super) fn of(entry: OwnedFd, purpose: For) -> nix::Result<Option<Self>> {
        let stat = fstat(&entry)?;
        let missing = missing(&stat, purpose);
        if missing.is_empty() {
            return Ok(None);
        }
        let mode = Mode::from_bits_truncate(stat.st_mode & 0o7777);
        set_mode(&entry, mode | missing)?;
        Ok(Some(Self { entry, mode }))
    }

    /// The mode that it had.
    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    /// Gives it back its mode.
    pub(super) fn shut(self) {
        // What cannot be shut again stays open for its owner, who could have opened it.
        let _ = set_mode(&self.entry, self.mode);
    }
}

/// Changes the mode of an entry that may be open for nothing else.
pub(super) fn set_mode(entry: &OwnedFd, mode: Mode) -> nix::Result<()> {
    let path = format!("/proc/self/fd/{}", entry.as_raw_fd());
    fchmodat(AT_FDCWD, path.as_str(), mode, FchmodatFlags::FollowSymlink)
}

/// The bits that Proctor lacks as the owner of a file or folder.
fn missing(stat: &FileStat, purpose: For) -> Mode {
    let kind = SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits());
    let wanted = match (kind, purpose) {
        (SFlag::S_IFREG, _) => Mode::S_IRUSR,
        (SFlag::S_IFDIR, For::Reading) => Mode::S_IRUSR | Mode::S_IXUSR,
        (SFlag::S_IFDIR, For::Writing) => Mode::S_IRWXU,
        _ => return Mode::empty(),
    };
    let user = geteuid();
    if user.is_root() || user.as_raw() != stat.st_uid {
        return Mode::empty();
    }
    wanted - Mode::from_bits_truncate(stat.st_mode & 0o7777)
}

/// Opens a folder; of one that was shut the mode that it had is returned.
pub(super) fn open_folder(
    folder: impl AsFd,
    name: &CStr,
    purpose: For,
) -> nix::Result<(OwnedFd, Option<Mode>)> {
    let handle = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let lent = if geteuid().is_root() {
        None
    } else {
        Lent::of(openat(&folder, name, handle, Mode::empty())?, purpose)?
    };
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    Ok((openat(folder, name, flags, Mode::empty())?, lent.map(|lent| lent.mode())))
}
