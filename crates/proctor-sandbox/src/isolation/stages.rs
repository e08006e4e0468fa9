//! The processes that make a sandbox and hold it.
//!
//! Proctor starts `EXE __launch outer ...`, which takes a user and a mount namespace of its own,
//! has Proctor write who is who there, mounts the workspace's overlay, and becomes bubblewrap.
//! Bubblewrap makes the other namespaces and the file tree, and starts `EXE __launch hold` as the
//! first process in them. That one waits for orders. When its socket closes, which also the death
//! of Proctor brings, it ends, and the kernel with it every process of the sandbox and all mounts.

use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_dumpable;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::stat::Mode;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{chdir, dup2_stderr, dup2_stdout, execv, mkdir};

use crate::control::Control;
use crate::sys;
use crate::tree;
use crate::workspace::system;

/// The words after `__launch` by which these are asked for.
pub(crate) const OUTER: &str = "outer";
pub(crate) const HOLD: &str = "hold";

/// What the stages and Proctor say to each other.
pub(crate) mod word {
    /// The outer stage has its namespaces, and waits for its maps.
    pub(crate) const APART: &str = "apart";
    /// They are written.
    pub(crate) const MAPPED: &str = "mapped";
    /// The first process inside is there.
    pub(crate) const READY: &str = "ready";
    /// Stop everything, and say `STOPPED` or `RUNNING`.
    pub(crate) const STOP: &str = "stop";
    /// Everything stands still.
    pub(crate) const STOPPED: &str = "stopped";
    /// Something does not stand still.
    pub(crate) const RUNNING: &str = "running";
    /// Let everything go on.
    pub(crate) const GO_ON: &str = "go-on";
    /// Something failed: which step, and `errno(3)`.
    pub(crate) const FAILED: &str = "failed";
}

/// How long everything may take to stand still.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// In place of the folder of an overlay: what is written there is forgotten, so it may take memory.
pub(crate) const FORGOTTEN: &str = "-";
/// How much memory, as `tmpfs(5)` has it.
const FORGOTTEN_SIZE: &str = "size=512m,mode=755";

/// Becomes bubblewrap, or says why not and returns. `args`: for each overlay the folder that has its
/// upper folder and that in which it works, its options, and where it goes; two dashes; bubblewrap,
/// and its arguments.
pub(crate) fn outer(args: &[OsString]) -> i32 {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else { return 1 };
    let control = Control::from_fd(control);
    if let Err((step, errno)) = outer_steps(args, &control) {
        control.say(&format!("{} {} {}", word::FAILED, errno as i32, step));
    }
    1
}

fn outer_steps(args: &[OsString], control: &Control) -> Result<(), (&'static str, Errno)> {
    let at = args.iter().position(|arg| arg == "--");
    let (overlays, program) = at.map_or((args, &[][..]), |at| (&args[..at], &args[at + 1..]));
    let [program, rest @ ..] = program else {
        return Err(("read its arguments", Errno::EINVAL));
    };
    sys::close_on_exec();
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
        .map_err(|errno| ("make a user namespace", errno))?;
    control.say(word::APART);
    if control.hear().as_deref() != Some(word::MAPPED) {
        return Err(("be mapped", Errno::EPIPE));
    }
    let nothing: Option<&str> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing)
        .map_err(|errno| ("make its mounts private", errno))?;
    for part in overlays.chunks_exact(3) {
        if let [folder, options, target] = part {
            if folder == FORGOTTEN {
                memory(target).map_err(|errno| ("mount a file system in memory", errno))?;
            } else {
                chdir(folder.as_os_str()).map_err(|errno| ("enter its folder", errno))?;
            }
            overlay(options, target).map_err(|errno| ("mount an overlay", errno))?;
        }
    }
    chdir("/").map_err(|errno| ("leave its folder", errno))?;
    let text = |text: &OsString| CString::new(text.as_bytes()).map_err(|_| ("run", Errno::EINVAL));
    let mut words = vec![text(program)?];
    for arg in rest {
        words.push(text(arg)?);
    }
    match execv(&words[0], &words) {
        Err(errno) => Err(("start bubblewrap", errno)),
        Ok(never) => match never {},
    }
}

/// Goes into a new file system in memory, which is mounted at `target` and hidden there afterwards
/// by the overlay that it is for.
fn memory(target: &OsStr) -> nix::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), target, Some("tmpfs"), flags, Some(FORGOTTEN_SIZE))?;
    chdir(target)?;
    for name in [system::UPPER, system::WORK] {
        mkdir(name, Mode::from_bits_truncate(0o755))?;
    }
    Ok(())
}

/// Mounts an overlay in this user namespace, where its marks are of the `user.` kind.
fn overlay(options: &OsStr, target: &OsStr) -> nix::Result<()> {
    let with = |more: &str| {
        let options = [options.as_bytes(), more.as_bytes()].concat();
        mount(
            Some("overlay"),
            Path::new(target),
            Some("overlay"),
            MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
            Some(OsStr::from_bytes(&options)),
        )
    };
    // After a crash of the machine a trial is run anew, so nothing need wait for the disk
    // (Linux 5.10).
    with(",userxattr,volatile").or_else(|_| with(",userxattr"))
}

/// The options of an overlay over `lowers`, the uppermost first; `upper` and `work` are the names
/// of its other folders.
pub(crate) fn overlay_options(lowers: &[impl AsRef<Path>], upper: &str, work: &str) -> OsString {
    let mut options = b"lowerdir=".to_vec();
    for (index, lower) in lowers.iter().enumerate() {
        if index > 0 {
            options.push(b':');
        }
        for byte in lower.as_ref().as_os_str().as_bytes() {
            if matches!(byte, b'\\' | b':' | b',') {
                options.push(b'\\');
            }
            options.push(*byte);
        }
    }
    options.extend_from_slice(format!(",upperdir={upper},workdir={work}").as_bytes());
    OsStr::from_bytes(&options).to_owned()
}

/// Is the first process of a sandbox until its socket closes.
pub(crate) fn hold() -> i32 {
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else { return 1 };
    let control = Control::from_fd(control);
    match hold_steps(&control) {
        Ok(()) => 0,
        Err(errno) => {
            control.say(&format!("{} {} hold the sandbox", word::FAILED, errno as i32));
            1
        }
    }
}

fn hold_steps(control: &Control) -> nix::Result<()> {
    let _ = set_dumpable(false);
    sys::close_on_exec();
    SigSet::all().thread_set_mask()?;
    let mut wanted = SigSet::empty();
    wanted.add(Signal::SIGCHLD);
    let signals = SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    if let Ok(null) = fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
    }
    control.say(word::READY);
    loop {
        let mut fds = [
            PollFd::new(control.as_fd(), PollFlags::POLLIN),
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
        ];
        let _ = poll(&mut fds, PollTimeout::NONE);
        let spoken = fds[0].any().unwrap_or(false);
        while let Ok(Some(_)) = signals.read_signal() {}
        reap();
        if spoken {
            match control.hear().as_deref() {
                Some(word::STOP) => {
                    control.say(if stop_all() { word::STOPPED } else { word::RUNNING });
                }
                Some(word::GO_ON) => {
                    let _ = sys::signal_all(Signal::SIGCONT);
                }
                _ => return Ok(()),
            }
        }
    }
}

fn reap() {
    while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
        if status == WaitStatus::StillAlive {
            return;
        }
    }
}

/// Stops every process of the sandbox but this one. Says whether all of them stand still.
fn stop_all() -> bool {
    let give_up = Instant::now() + STOP_LIMIT;
    loop {
        // No fork can get away: one that is under way begins anew when it finds a signal.
        let _ = sys::signal_all(Signal::SIGSTOP);
        reap();
        if tree::all_stand_still() {
            return true;
        }
        if Instant::now() > give_up {
            let _ = sys::signal_all(Signal::SIGCONT);
            return false;
        }
        // Nothing tells us; it takes microseconds.
        thread::sleep(Duration::from_micros(200));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_paths_are_escaped() {
        let options = overlay_options(&["/a:b", "/c,d\\e"], "u", "w");
        assert_eq!(options, "lowerdir=/a\\:b:/c\\,d\\\\e,upperdir=u,workdir=w");
    }
}
