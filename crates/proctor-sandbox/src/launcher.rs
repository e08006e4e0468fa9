//! The process between Proctor and a program: it holds the program's whole tree together.
//!
//! It is the product's own binary, started as `EXE __launch [--stdin FILE] [--room DIR] [--files N]
//! [--in WORD]... [--cwd DIR] -- PROGRAM ARGS...` with a control socket as its standard input. See
//! the [crate] documentation for what it is for. The other forms belong to sandboxes: see
//! [`isolation`].

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, fcntl};
use nix::libc::STDIN_FILENO;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, dup2_stderr, dup2_stdout, getpid, setsid};

use crate::control::{Control, Order, Report};
use crate::files;
use crate::isolation;
use crate::isolation::entry::{ENTER, Entry, HOLDER_FD, STATUS_FD};
use crate::rooms::ROOM_VARIABLE;
use crate::sys::{self, Exit};
use crate::tree::{self, SWEEP_LIMIT, Survivor};

/// The first argument by which a launcher is asked for.
pub const ARGUMENT: &str = "__launch";
pub(crate) const STDIN: &str = "--stdin";
pub(crate) const ROOM: &str = "--room";
pub(crate) const FILES: &str = "--files";
pub(crate) const IN: &str = "--in";
pub(crate) const CWD: &str = "--cwd";

/// A fork storm leaves thousands; the report names this many.
const NAMED_SURVIVORS: usize = 1_000;

/// Is the launcher, until its tree is dead; returns the process's exit code. `args` are what follows
/// [`ARGUMENT`]. To be called first of all in `main`, while the process has one thread.
pub fn main(args: &[OsString]) -> i32 {
    if let Some(code) = isolation::forms(args) {
        return code;
    }
    let Some(task) = Task::parse(args) else { return 2 };
    // A copy, so that the program's own standard input can take the place of the socket.
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned() else { return 1 };
    let control = Control::from_fd(control);
    match task.start() {
        Ok((child, signals)) => {
            Tree { control: &control, child, inside: task.inside() }.serve(&signals);
        }
        Err(report) => control.report(&report),
    }
    0
}

struct Task<'a> {
    stdin: Option<&'a OsStr>,
    room: Option<&'a OsStr>,
    /// The soft limit of open files that the program gets.
    files: Option<u64>,
    /// How the program enters a sandbox, and the folder there.
    entry: Option<Entry>,
    cwd: &'a OsStr,
    program: &'a OsStr,
    args: &'a [OsString],
}

impl<'a> Task<'a> {
    fn parse(args: &'a [OsString]) -> Option<Self> {
        let (mut stdin, mut room, mut files) = (None, None, None);
        let (mut words, mut cwd) = (Vec::new(), OsStr::new("/"));
        let mut rest = args;
        loop {
            let [option, value, others @ ..] = rest else { return None };
            match option.to_str()? {
                "--" => {
                    let entry = match words.as_slice() {
                        [] => None,
                        words => Some(Entry::decode(words)?),
                    };
                    let program = value;
                    return Some(Self { stdin, room, files, entry, cwd, program, args: others });
                }
                IN => words.push(value.clone()),
                CWD => cwd = value.as_os_str(),
                STDIN => stdin = Some(value.as_os_str()),
                ROOM => room = Some(value.as_os_str()),
                FILES => files = Some(value.to_str()?.parse().ok()?),
                _ => return None,
            }
            rest = others;
        }
    }

    /// Starts the program. The order of the steps matters: when it starts, it may at once leave
    /// orphans, signal this process or end.
    fn start(&self) -> Result<(Pid, SignalFd), Report> {
        let not_prepared = |errno: Errno| Report::NotPrepared { errno: errno as i32 };
        // Fails only when the process leads a group already, which is as good.
        let _ = setsid();
        sys::hear_of_children();
        sys::close_on_exec();
        set_child_subreaper(true).map_err(not_prepared)?;
        // Nothing but SIGKILL and SIGSTOP ends or holds a launcher; its reader waits for SIGCHLD.
        SigSet::all().thread_set_mask().map_err(not_prepared)?;
        let mut wanted = SigSet::empty();
        wanted.add(Signal::SIGCHLD);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let signals = SignalFd::with_flags(&wanted, flags).map_err(not_prepared)?;
        let open = |path| File::open(path).map_err(|error| not_prepared(errno(&error)));
        let stdin = open(self.stdin.unwrap_or("/dev/null".as_ref()))?;
        let null = open("/dev/null".as_ref())?;
        if let Some(files) = self.files {
            files::set_soft_limit(files);
        }
        let child = match &self.entry {
            Some(entry) => self.enter(entry, &stdin)?,
            None => self
                .spawn(self.program, self.args, &stdin, &[])
                .map_err(|errno| Report::NotStarted { errno: errno as i32 })?,
        };
        // While this process held them, the program's pipes would never end. It prints nothing.
        let _ = dup2_stdout(&null);
        let _ = dup2_stderr(&null);
        Ok((child, signals))
    }

    /// Whether the program runs among processes that do not end with it.
    fn inside(&self) -> bool {
        self.entry.as_ref().is_some_and(|entry| entry.holder.is_some())
    }

    /// Starts the program in a sandbox; see [`entry`](crate::isolation::entry).
    fn enter(&self, entry: &Entry, stdin: &File) -> Result<Pid, Report> {
        let not_prepared = |errno: Errno| Report::NotPrepared { errno: errno as i32 };
        let io_failed = |error: io::Error| not_prepared(errno(&error));
        let exe = std::env::current_exe().map_err(io_failed)?;
        let (mut said, status) = io::pipe().map_err(io_failed)?;
        let mut fds = vec![(above(&status)?, STATUS_FD)];
        drop(status);
        if let Some(holder) = entry.join_processes().map_err(not_prepared)? {
            fds.push((above(&holder)?, HOLDER_FD));
        }
        let mut args: Vec<OsString> = vec![ARGUMENT.into(), ENTER.into()];
        args.extend(entry.encode());
        args.extend(["--".into(), self.cwd.into(), self.program.into()]);
        args.extend(self.args.iter().cloned());
        let child = self.spawn(exe.as_os_str(), &args, stdin, &fds).map_err(not_prepared)?;
        drop(fds);
        // Ends when the program starts, or when it cannot.
        let mut words = String::new();
        let heard = said.read_to_string(&mut words);
        match (heard, Report::decode(&words)) {
            (Ok(0), _) => Ok(child),
            (_, report) => {
                let _ = nix::sys::wait::waitpid(child, None);
                Err(report.unwrap_or(Report::NotPrepared { errno: Errno::EPROTO as i32 }))
            }
        }
    }

    fn spawn(
        &self,
        program: &OsStr,
        more: &[OsString],
        stdin: &File,
        fds: &[(OwnedFd, RawFd)],
    ) -> nix::Result<Pid> {
        let program = c_string(program)?;
        let mut args = vec![program.clone()];
        for arg in more {
            args.push(c_string(arg)?);
        }
        let mut env = Vec::new();
        for (name, value) in std::env::vars_os() {
            env.push(variable(&name, &value)?);
        }
        if let Some(room) = self.room {
            env.push(variable(ROOM_VARIABLE.as_ref(), room)?);
        }
        let mut files = PosixSpawnFileActions::init()?;
        files.add_dup2(stdin.as_raw_fd(), STDIN_FILENO)?;
        for (fd, number) in fds {
            files.add_dup2(fd.as_raw_fd(), *number)?;
        }
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_flags(
            PosixSpawnFlags::POSIX_SPAWN_SETPGROUP
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF
                | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
        )?;
        // A group of its own: a program that signals its group does not mean the launcher.
        attributes.set_pgroup(Pid::from_raw(0))?;
        // What Proctor's own parent chose to ignore (`nohup`, a shell's background jobs) must not
        // change how an agent behaves.
        attributes.set_sigdefault(&SigSet::all())?;
        attributes.set_sigmask(&SigSet::empty())?;
        let mut attempts = 0;
        loop {
            match posix_spawn(program.as_c_str(), &files, &attributes, &args, &env) {
                // A program that was written a moment ago is busy while any process that was
                // forked meanwhile still holds the writer's descriptor: microseconds.
                Err(Errno::ETXTBSY) if attempts < 50 => {
                    attempts += 1;
                    thread::sleep(Duration::from_millis(2));
                }
                result => return result,
            }
        }
    }
}

fn c_string(text: &OsStr) -> nix::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| Errno::EINVAL)
}

/// An entry of an environment.
fn variable(name: &OsStr, value: &OsStr) -> nix::Result<CString> {
    CString::new([name.as_bytes(), b"=", value.as_bytes()].concat()).map_err(|_| Errno::EINVAL)
}

fn errno(error: &io::Error) -> Errno {
    // An error without a number comes from an argument that the system could not be given.
    error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)
}

/// The program and everything below it.
struct Tree<'a> {
    control: &'a Control,
    child: Pid,
    /// Whether it runs in a sandbox: then its orphans are children of the sandbox's first process,
    /// and end with the sandbox.
    inside: bool,
}

impl Tree<'_> {
    /// Reports the program's end, obeys orders, and returns when nothing is left of the tree.
    fn serve(&self, signals: &SignalFd) {
        let (mut running, mut asked) = (true, false);
        loop {
            running = running && !self.report_end();
            let mut fds = [
                PollFd::new(self.control.as_fd(), PollFlags::POLLIN),
                PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            ];
            // An error is an interruption; the loop looks at both anyway.
            let _ = poll(&mut fds, PollTimeout::NONE);
            let ordered = fds[0].any().unwrap_or(false);
            drain(signals);
            if ordered {
                match self.control.next_order() {
                    Order::Terminate => {
                        asked = true;
                        self.terminate();
                    }
                    // What a program leaves in a sandbox lives on, if it ended by itself.
                    Order::Sweep if self.inside && !running && !asked => {
                        reap_all();
                        return self.control.report(&Report::Swept);
                    }
                    Order::Sweep => return self.sweep(signals),
                }
            }
        }
    }

    /// Reaps orphans. When the program itself has ended, says how, and leaves it unreaped: so long
    /// its number, which is also that of its process group, cannot become anybody else's.
    fn report_end(&self) -> bool {
        while let Ok(Some(ended)) = sys::ended_child(false) {
            if ended.pid == self.child.as_raw() {
                self.control.report(&match ended.exit {
                    Exit::Code(code) => Report::Exited(code),
                    Exit::Signal(signal) => Report::Signaled(signal),
                });
                return true;
            }
            // The program may have ended since, and be reaped here in the orphan's place; so only
            // what was seen is taken.
            let _ = nix::sys::wait::waitpid(Pid::from_raw(ended.pid), None);
        }
        false
    }

    /// Asks every process of the tree to end, the stopped ones included. The program's own group is
    /// asked at one stroke, so that nothing that it is just starting is missed.
    fn terminate(&self) {
        let tree = tree::descendants(getpid().as_raw());
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            // The number is the program's, as the program has not been reaped.
            let _ = killpg(self.child, signal);
            for process in tree.iter().filter(|process| process.group != self.child.as_raw()) {
                process.signal(signal);
            }
        }
    }

    /// Kills every process of the tree, and reports which it found alive.
    ///
    /// No child means no descendant: an orphan's next living ancestor is this subreaper. That is
    /// the usual case, and it costs no walk.
    fn sweep(&self, signals: &SignalFd) {
        let me = getpid().as_raw();
        let give_up = Instant::now() + SWEEP_LIMIT;
        let mut seen: BTreeMap<(i32, u64), Survivor> = BTreeMap::new();
        // At one stroke, before a storm of forks can keep us from the processor. The number is the
        // program's, as the program has not been reaped.
        if self.inside {
            // Orphans have left the tree; those of the group are found by it.
            for process in tree::all() {
                if process.group == self.child.as_raw() && process.alive {
                    seen.insert(
                        (process.pid, process.start),
                        Survivor { pid: process.pid, name: process.name, killed: true },
                    );
                }
            }
            let _ = killpg(self.child, Signal::SIGKILL);
        } else {
            let _ = killpg(self.child, Signal::SIGSTOP);
        }
        while reap_all() && Instant::now() < give_up {
            let tree = tree::descendants(me);
            for process in tree.iter().filter(|process| process.alive) {
                seen.entry((process.pid, process.start)).or_insert_with(|| Survivor {
                    pid: process.pid,
                    name: process.name.clone(),
                    killed: true,
                });
            }
            tree::kill_all(&tree);
            // Their deaths arrive as signals, and so do those of orphans that become ours by them.
            let mut fds = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::from(10_u8));
            drain(signals);
        }
        for process in if reap_all() { tree::descendants(me) } else { Vec::new() } {
            if let Some(survivor) = seen.get_mut(&(process.pid, process.start)) {
                survivor.killed = !process.alive;
            }
        }
        for survivor in seen.into_values().take(NAMED_SURVIVORS) {
            self.control.report(&Report::Survivor(survivor));
        }
        self.control.report(&Report::Swept);
    }
}

fn drain(signals: &SignalFd) {
    while let Ok(Some(_)) = signals.read_signal() {}
}

/// Reaps every child that has ended. Says whether any is left.
fn reap_all() -> bool {
    loop {
        match sys::ended_child(true) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(error) => return errno(&error) != Errno::ECHILD,
        }
    }
}

/// A copy of a descriptor with a number that nobody else is after.
fn above(fd: impl std::os::fd::AsFd) -> Result<OwnedFd, Report> {
    let copy = fcntl(fd.as_fd(), FcntlArg::F_DUPFD_CLOEXEC(10));
    copy.map(sys::inherited).map_err(|errno| Report::NotPrepared { errno: errno as i32 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn options_end_at_the_dashes() {
        let words = args(&["--room", "/r", "--stdin", "/f", "--", "sh", "--", "--room"]);
        let task = Task::parse(&words).unwrap();
        assert_eq!((task.room.unwrap(), task.stdin.unwrap()), ("/r".as_ref(), "/f".as_ref()));
        assert_eq!(task.program, "sh");
        assert_eq!(task.args, args(&["--", "--room"]));
    }

    #[test]
    fn half_a_command_is_refused() {
        for words in [&[][..], &["--"], &["sh"], &["--room"], &["--room", "/r"]] {
            assert!(Task::parse(&args(words)).is_none(), "{words:?}");
        }
    }
}
