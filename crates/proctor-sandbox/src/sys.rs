//! The few system calls for which there is no safe wrapper that serves.
#![expect(unsafe_code, reason = "each block says why it is sound")]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use nix::libc;

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
