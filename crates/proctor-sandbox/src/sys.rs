//! The few system calls for which there is no safe wrapper that serves.
#![expect(unsafe_code, reason = "each block says why it is sound")]

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use nix::libc;
use nix::sys::signal::Signal;

/// How a child process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Code(i32),
    Signal(i32),
}

/// A child that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) pid: i32,
    pub(crate) exit: Exit,
}

/// A child of this process that has ended, without waiting for one; `None` when all are alive, and
/// `ECHILD` when there is none. With `reap` it is gone afterwards, otherwise it stays to be reaped,
/// and its number cannot be given to another process meanwhile.
///
/// `nix::sys::wait` fails on a child that died by a real-time signal, and does not say which.
pub(crate) fn ended_child(reap: bool) -> io::Result<Option<Ended>> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let keep = if reap { 0 } else { libc::WNOWAIT };
    // SAFETY: `info` is valid for writes of a `siginfo_t`, and the other arguments are plain flags.
    let result = unsafe {
        libc::waitid(libc::P_ALL, 0, info.as_mut_ptr(), libc::WEXITED | libc::WNOHANG | keep)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeroes is a valid `siginfo_t`, and on success `waitid` has either written the
    // fields of a SIGCHLD or left `si_pid` zero.
    let (pid, status, code) = unsafe {
        let info = info.assume_init();
        (info.si_pid(), info.si_status(), info.si_code)
    };
    if pid == 0 {
        return Ok(None);
    }
    let exit = if code == libc::CLD_EXITED { Exit::Code(status) } else { Exit::Signal(status) };
    Ok(Some(Ended { pid, exit }))
}

/// Makes this process hear of its children's ends, even if its parent chose to ignore those of its
/// own: an ignored SIGCHLD is inherited, and children then vanish without a word.
pub(crate) fn hear_of_children() {
    // SAFETY: no handler is installed, and SIG_DFL is valid for this signal.
    let _ = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Whether this process ignores a signal. Who starts a program can ask for that (`nohup`), and then
/// a handler of ours would undo it.
pub fn is_ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action nothing is changed; `action` is valid for writes of one.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all zeroes is a valid `sigaction` (SIG_DFL), and on success it has been written.
    result == 0 && unsafe { action.assume_init() }.sa_sigaction == libc::SIG_IGN
}

/// Lets no file but the first three pass to the program: what Proctor's own parent forgot to close
/// is not meant for an agent. Systems too old for the call (Linux 5.11) let them pass.
pub(crate) fn close_on_exec() {
    let first: libc::c_uint = 3;
    // SAFETY: the call only sets a flag on descriptors of this process; none is closed.
    let _ = unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
}

/// Lets a file be changed and removed again that was marked immutable or append-only. Only an agent
/// with root's powers can have done it, and then so can we.
pub(crate) fn clear_marks(file: BorrowedFd<'_>) -> io::Result<()> {
    const IMMUTABLE: libc::c_int = 0x10;
    const APPEND_ONLY: libc::c_int = 0x20;
    let mut marks: libc::c_int = 0;
    // SAFETY: the descriptor is open, and both calls take a pointer to an `int` (`ioctl_iflags(2)`;
    // the `long` in their definition is a mistake that is kept).
    let result = unsafe {
        match libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut marks) {
            0 => {
                marks &= !(IMMUTABLE | APPEND_ONLY);
                libc::ioctl(file.as_raw_fd(), libc::FS_IOC_SETFLAGS, &raw const marks)
            }
            failed => failed,
        }
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an extended attribute of an open file into `value`, and says how long it is; `None` when
/// there is none of that name, or the file system has no such thing.
pub(crate) fn attribute(
    file: BorrowedFd<'_>,
    name: &CStr,
    value: &mut [u8],
) -> io::Result<Option<usize>> {
    // SAFETY: `name` ends with a zero, and `value` is valid for writes of its length.
    let length = unsafe {
        libc::fgetxattr(file.as_raw_fd(), name.as_ptr(), value.as_mut_ptr().cast(), value.len())
    };
    match usize::try_from(length) {
        Ok(length) => Ok(Some(length)),
        Err(_) => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::ENODATA | libc::ENOTSUP)) => {
                Ok(None)
            }
            error => Err(error),
        },
    }
}

/// Sets an extended attribute of an open file.
pub(crate) fn set_attribute(file: BorrowedFd<'_>, name: &CStr, value: &[u8]) -> io::Result<()> {
    // SAFETY: `name` ends with a zero, and `value` is valid for reads of its length.
    let result = unsafe {
        let (bytes, length) = (value.as_ptr().cast(), value.len());
        libc::fsetxattr(file.as_raw_fd(), name.as_ptr(), bytes, length, 0)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes `to` share the content of `from`, on file systems that can.
pub(crate) fn share_content(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open, and the call takes the other one as a plain number.
    let result = unsafe { libc::ioctl(to.as_raw_fd(), libc::FICLONE, from.as_raw_fd()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A descriptor that means a process whatever becomes of its number.
pub(crate) fn process_descriptor(pid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two plain numbers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match i32::try_from(fd) {
        // SAFETY: the descriptor is new, and nobody else has it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes it impossible, for this process and all that it starts, to get a capability that is not in
/// `kept`, a set of bits by the numbers of `capabilities(7)`.
pub(crate) fn bound_capabilities(kept: u64) -> io::Result<()> {
    for capability in 0..64_u64 {
        if kept & (1 << capability) == 0 {
            // SAFETY: the call takes plain numbers.
            let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
            if result != 0 {
                match io::Error::last_os_error() {
                    // Beyond the last one that the kernel knows.
                    error if error.raw_os_error() == Some(libc::EINVAL) => break,
                    error => return Err(error),
                }
            }
        }
    }
    Ok(())
}

/// Has the capabilities of `kept` and no others; what this process starts has none, unless it is
/// root.
pub(crate) fn set_capabilities(kept: u64) -> io::Result<()> {
    /// `capget(2)`.
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;

    let half = |shift: u32| u32::try_from((kept >> shift) & 0xFFFF_FFFF).unwrap_or(0);
    let data =
        [0, 32].map(half).map(|kept| Data { effective: kept, permitted: kept, inheritable: 0 });
    let header = Header { version: VERSION_3, pid: 0 };
    // SAFETY: the structures are those of version 3, which takes two of `Data`, and live through
    // the call.
    let result = unsafe { libc::syscall(libc::SYS_capset, &raw const header, data.as_ptr()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes a descriptor that this process was started with. Each may be taken once.
pub(crate) fn inherited(fd: RawFd) -> OwnedFd {
    // SAFETY: by the agreement between who starts this executable and this form of it, the
    // descriptor is open, and nothing else in the process knows of it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Sends a signal to every process that this one may signal, but itself and, in its own process
/// namespace, the first one.
pub(crate) fn signal_all(signal: Signal) -> nix::Result<()> {
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(-1), signal)
}

/// The version of Landlock that the kernel has, if it has it and lets us use it.
pub(crate) fn landlock_version() -> Option<u32> {
    const VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: with this flag the call takes no structure, and returns a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, VERSION) };
    u32::try_from(version).ok().filter(|version| *version > 0)
}
