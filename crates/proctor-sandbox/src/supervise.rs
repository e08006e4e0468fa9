//! Proctor's side of a run: one thread, one program.

use std::fs::File;
use std::io::{self, PipeReader, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};

use crate::cancel::Cancel;
use crate::control::{Control, Order, Report};
use crate::files;
use crate::isolation::entry::Entry;
use crate::launcher::{ARGUMENT, CWD, FILES, IN, ROOM, STDIN};
use crate::rooms::ROOM_VARIABLE;
use crate::spawn::{Spawn, SpawnError, find_program};
use crate::tree::{self, SWEEP_LIMIT, Survivor};

/// How long a launcher may take for a sweep before it is taken for lost: its own limit and some
/// time on a crowded machine.
const SWEEP_PATIENCE: Duration = SWEEP_LIMIT.saturating_add(Duration::from_secs(5));

/// One of the two streams of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How long a run may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// When the program must have ended and its output have been read.
    pub deadline: Instant,
    /// How long it may take until the first output on either stream; `None` for no limit.
    pub first_output: Option<Duration>,
    /// How long either stream may be silent after the first output; `None` for no limit.
    pub between_output: Option<Duration>,
    /// How long a program that was asked to end may go on before it is killed.
    pub term_grace: Duration,
    /// How long output is read on after the program has ended, when something else holds its
    /// pipes open.
    pub drain_grace: Duration,
}

impl Limits {
    /// A deadline, no watchdogs, and the usual graces: 2 s and 250 ms.
    pub fn until(deadline: Instant) -> Self {
        Self {
            deadline,
            first_output: None,
            between_output: None,
            term_grace: Duration::from_secs(2),
            drain_grace: Duration::from_millis(250),
        }
    }
}

/// Which watchdog barked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stall {
    /// There was no output at all.
    FirstOutput,
    /// Output stopped.
    BetweenOutput,
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this exit code.
    Exited(i32),
    /// By this signal, which did not come from us.
    Signaled(i32),
    /// The deadline passed first.
    TimedOut,
    /// A watchdog ended it.
    Stalled(Stall),
    /// [`Cancel::cancel`] ended it.
    Cancelled,
}

/// A run that is over; nothing of its tree is alive, but for survivors that say so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
    /// Processes that were alive when the tree was swept, at most 1,000 of them: what a program
    /// left behind, or what did not end when asked.
    pub survivors: Vec<Survivor>,
    /// Whether both streams were read to their end. `false` when the program had ended, something
    /// held a stream open beyond the grace, and reading was broken off.
    pub drained: bool,
    /// From the start to the program's end, or to the end of its tree when we ended it.
    pub duration: Duration,
}

/// Runs programs, each below a [launcher](crate::launcher) of its own.
#[derive(Debug, Clone)]
pub struct Launcher {
    exe: PathBuf,
    /// The soft limit of open files for programs, when ours is another.
    files: Option<u64>,
}

impl Launcher {
    /// `exe` is the absolute path of an executable whose `main` calls
    /// [`launcher::main`](crate::launcher::main) when asked for it.
    ///
    /// The first call raises this process's soft limit of open files, as every run takes a few;
    /// programs start with the limit as it was.
    pub fn new(exe: impl Into<PathBuf>) -> Self {
        Self { exe: exe.into(), files: files::raise_soft_limit() }
    }

    /// The executable.
    pub(crate) fn exe(&self) -> &Path {
        &self.exe
    }

    /// Runs one program to its end and gives its output to `sink` as it comes, in pieces that do
    /// not follow lines or characters. Output is never held back, so that its size does not matter.
    ///
    /// A program that must be ended (deadline, watchdog, cancellation) is first asked to, its whole
    /// tree with it, and after [`Limits::term_grace`] killed; its last words still reach `sink`.
    /// After the program's end its streams are read to their ends, but no longer than
    /// [`Limits::drain_grace`] nor beyond the deadline.
    pub fn run(
        &self,
        spawn: &Spawn,
        limits: &Limits,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Finished, SpawnError> {
        self.run_in(None, spawn, limits, cancel, sink)
    }

    /// Runs one program, in a sandbox if it enters one: then its folder and its `PATH` are those
    /// inside.
    pub(crate) fn run_in(
        &self,
        entry: Option<&Entry>,
        spawn: &Spawn,
        limits: &Limits,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Finished, SpawnError> {
        let start = Instant::now();
        let too_late = if cancel.is_cancelled() {
            Some(Ending::Cancelled)
        } else {
            (start >= limits.deadline).then_some(Ending::TimedOut)
        };
        if let Some(ending) = too_late {
            let survivors = Vec::new();
            return Ok(Finished { ending, survivors, drained: true, duration: Duration::ZERO });
        }
        let program = match entry {
            // Only inside can be seen what there is.
            Some(_) => PathBuf::from(&spawn.program),
            None => find_program(&spawn.program, spawn.variable("PATH"), &spawn.cwd)?,
        };
        let room = spawn.variable(ROOM_VARIABLE).map(PathBuf::from);
        let running = Running::start(self, &program, room.as_deref(), entry, spawn)?;
        let watch = Watch {
            running,
            limits,
            cancel,
            start,
            last_output: None,
            state: State::Running,
            ending: None,
            asked: false,
            end: None,
            survivors: Vec::new(),
            cut: false,
        };
        match watch.run(sink) {
            Ok(finished) => Ok(finished),
            Err(Fault::Lost) => Err(SpawnError::LauncherLost { program }),
            Err(Fault::NotFound) => Err(SpawnError::NotFound { program }),
            Err(Fault::NoFolder(errno)) => {
                Err(SpawnError::WorkingDirectory { path: spawn.cwd.clone(), source: errno.into() })
            }
            Err(Fault::NotStarted(Errno::ENOENT)) => {
                Err(SpawnError::NotExecutable { program, reason: "its interpreter does not exist" })
            }
            Err(Fault::NotStarted(Errno::ENOEXEC)) => Err(SpawnError::NotExecutable {
                program,
                reason: "its format is not one that the system executes",
            }),
            Err(Fault::NotStarted(Errno::EACCES)) => Err(SpawnError::NotExecutable {
                program,
                reason: "permission denied (is its file system mounted noexec?)",
            }),
            Err(Fault::NotStarted(errno) | Fault::Watching(errno)) => {
                Err(SpawnError::Io { program, source: errno.into() })
            }
        }
    }
}

/// What keeps a run from an ending.
enum Fault {
    NotStarted(Errno),
    NotFound,
    NoFolder(Errno),
    Watching(Errno),
    Lost,
}

/// A launcher and our ends of what connects us with it.
struct Running {
    /// `None` once closed, which is the last order of all: sweep and go.
    control: Option<Control>,
    out: Option<PipeReader>,
    err: Option<PipeReader>,
    launcher: Child,
    room: Option<PathBuf>,
    /// The input; the launcher opens it anew by its path in `/proc`, so it must stay open here.
    _stdin: Option<File>,
}

impl Running {
    fn start(
        launcher: &Launcher,
        program: &Path,
        room: Option<&Path>,
        entry: Option<&Entry>,
        spawn: &Spawn,
    ) -> Result<Self, SpawnError> {
        let failed = |source: io::Error| SpawnError::Io { program: program.into(), source };
        let stdin = spawn.stdin.as_deref().map(input).transpose().map_err(failed)?;
        let (control, theirs) = Control::pair().map_err(failed)?;
        let (out, out_writer) = io::pipe().map_err(failed)?;
        let (err, err_writer) = io::pipe().map_err(failed)?;
        let exe = &launcher.exe;
        let mut command = Command::new(exe);
        command.arg(ARGUMENT);
        if let Some(file) = &stdin {
            command.arg(STDIN);
            command.arg(format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd()));
        }
        if let Some(room) = room {
            command.arg(ROOM).arg(room);
        }
        if let Some(files) = launcher.files {
            command.arg(FILES).arg(files.to_string());
        }
        let cwd = match entry {
            Some(entry) => {
                for word in entry.encode() {
                    command.arg(IN).arg(word);
                }
                command.arg(CWD).arg(&spawn.cwd);
                Path::new("/")
            }
            None => &spawn.cwd,
        };
        command.arg("--").arg(program).args(&spawn.args);
        // The launcher itself does not carry the room's mark: whoever reaps the room must kill the
        // program first, and leave its tree together until then.
        let env = spawn.env.iter().filter(|(name, _)| name != ROOM_VARIABLE);
        command.env_clear().envs(env.map(|(name, value)| (name, value)));
        command.current_dir(cwd).stdin(theirs.into_fd()).stdout(out_writer);
        let launcher = command.stderr(err_writer).spawn().map_err(|source| {
            // The system does not say which of the two it did not find.
            match std::fs::read_dir(cwd) {
                Err(source) => SpawnError::WorkingDirectory { path: spawn.cwd.clone(), source },
                Ok(_) if !exe.is_file() => SpawnError::NoLauncher { exe: exe.into(), source },
                Ok(_) => failed(source),
            }
        })?;
        Ok(Self {
            control: Some(control),
            out: Some(out),
            err: Some(err),
            launcher,
            room: room.map(Path::to_owned),
            _stdin: stdin,
        })
    }

    /// Kills what a lost launcher has left, as far as it can still be told apart: by session, and
    /// by the room's mark.
    fn sweep_strays(&mut self) -> Vec<Survivor> {
        let _ = self.launcher.kill();
        // Not reaped yet, so the number of its session cannot be anybody else's.
        let session = self.launcher.id();
        let strays = tree::kill_where(|process| {
            u32::try_from(process.session) == Ok(session)
                || self
                    .room
                    .as_deref()
                    .is_some_and(|room| tree::environment_points_into(process, ROOM_VARIABLE, room))
        });
        let launcher = i32::try_from(session).unwrap_or_default();
        strays.into_iter().filter(|stray| stray.pid != launcher).collect()
    }
}

/// However the run ends, even by a panic of its sink: the launcher sweeps, and no zombie is left.
impl Drop for Running {
    fn drop(&mut self) {
        self.control = None;
        let _ = self.launcher.wait();
    }
}

/// A file in memory that holds `bytes`.
fn input(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("stdin", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The program runs.
    Running,
    /// It was asked to end, and may take until then.
    Terminating { until: Instant },
    /// It has ended; its streams are read until then.
    Draining { until: Instant },
    /// The launcher was told to sweep, and should be done by then.
    Sweeping { until: Instant },
    /// The tree is dead; what still lies in the pipes is read, at the latest until then.
    Emptying { until: Instant },
    /// It is over.
    Done,
}

struct Watch<'a> {
    running: Running,
    limits: &'a Limits,
    cancel: &'a Cancel,
    start: Instant,
    last_output: Option<Instant>,
    state: State,
    ending: Option<Ending>,
    /// Whether we asked the program to end.
    asked: bool,
    /// When the program ended.
    end: Option<Instant>,
    survivors: Vec<Survivor>,
    /// Whether reading was broken off.
    cut: bool,
}

/// What `poll(2)` found.
struct Ready {
    out: bool,
    err: bool,
    control: bool,
}

impl Watch<'_> {
    fn run(mut self, sink: &mut dyn FnMut(Stream, &[u8])) -> Result<Finished, Fault> {
        let mut buffer = vec![0; 64 << 10];
        while self.state != State::Done {
            let ready = self.wait()?;
            // Reading comes first: output that lies ready counts, however late we are.
            if ready.out && read(&mut self.running.out, Stream::Out, &mut buffer, sink) {
                self.last_output = Some(Instant::now());
            }
            if ready.err && read(&mut self.running.err, Stream::Err, &mut buffer, sink) {
                self.last_output = Some(Instant::now());
            }
            if ready.control {
                // What was written before a report lies in the pipes when it arrives; so read
                // once more before any time is looked at.
                self.hear()?;
                continue;
            }
            self.advance(Instant::now());
        }
        let ending = self.ending.ok_or(Fault::Lost)?;
        let end = self.end.unwrap_or_else(Instant::now);
        Ok(Finished {
            ending,
            survivors: std::mem::take(&mut self.survivors),
            drained: !self.cut,
            duration: end.saturating_duration_since(self.start),
        })
    }

    /// Waits until something can be read or a time comes.
    fn wait(&self) -> Result<Ready, Fault> {
        let running = &self.running;
        let out = running.out.as_ref().filter(|_| !self.cut).map(|pipe| pipe.as_fd());
        let err = running.err.as_ref().filter(|_| !self.cut).map(|pipe| pipe.as_fd());
        let control = running.control.as_ref().map(Control::as_fd);
        // Once obeyed it would only keep us awake.
        let obeys = match self.state {
            State::Running => true,
            State::Draining { .. } => !self.asked,
            _ => false,
        };
        let cancel = obeys.then(|| self.cancel.as_fd());
        let mut fds = Vec::with_capacity(4);
        fds.extend(
            [out, err, control, cancel]
                .into_iter()
                .flatten()
                .map(|fd| PollFd::new(fd, PollFlags::POLLIN)),
        );
        match poll(&mut fds, self.timeout()) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(Ready { out: false, err: false, control: false }),
            Err(errno) => return Err(Fault::Watching(errno)),
        }
        let mut found = fds.iter().map(|fd| fd.any().unwrap_or(false));
        let mut next = |asked: bool| asked && found.next().unwrap_or(false);
        Ok(Ready {
            out: next(out.is_some()),
            err: next(err.is_some()),
            control: next(control.is_some()),
        })
    }

    /// Until the next time at which [`advance`](Self::advance) would do something.
    fn timeout(&self) -> PollTimeout {
        let next = match self.state {
            State::Running => {
                let stall = self.watchdog().map(|(at, _)| at);
                stall.map_or(self.limits.deadline, |at| at.min(self.limits.deadline))
            }
            // Nothing is waited for.
            State::Draining { .. } | State::Emptying { .. } if !self.reading() => {
                return PollTimeout::ZERO;
            }
            State::Terminating { until }
            | State::Draining { until }
            | State::Sweeping { until }
            | State::Emptying { until } => until,
            State::Done => return PollTimeout::ZERO,
        };
        let left = next.saturating_duration_since(Instant::now());
        // Rounded up, so as not to wake too early and spin.
        let milliseconds = left.as_nanos().div_ceil(1_000_000);
        PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)
    }

    /// Whether more output may come that is still wanted.
    fn reading(&self) -> bool {
        !self.cut && (self.running.out.is_some() || self.running.err.is_some())
    }

    /// When which watchdog barks.
    fn watchdog(&self) -> Option<(Instant, Stall)> {
        let (since, limit, stall) = match self.last_output {
            None => (self.start, self.limits.first_output, Stall::FirstOutput),
            Some(last) => (last, self.limits.between_output, Stall::BetweenOutput),
        };
        Some((since.checked_add(limit?)?, stall))
    }

    fn hear(&mut self) -> Result<(), Fault> {
        let Some(control) = &self.running.control else { return Ok(()) };
        match control.next_report() {
            Some(Report::NotPrepared { errno }) if !self.asked => {
                return Err(Fault::Watching(Errno::from_raw(errno)));
            }
            Some(Report::NotStarted { errno }) if !self.asked => {
                return Err(Fault::NotStarted(Errno::from_raw(errno)));
            }
            Some(Report::NotFound) if !self.asked => return Err(Fault::NotFound),
            Some(Report::NoFolder { errno }) if !self.asked => {
                return Err(Fault::NoFolder(Errno::from_raw(errno)));
            }
            Some(Report::Exited(code)) => self.ended(Ending::Exited(code)),
            Some(Report::Signaled(signal)) => self.ended(Ending::Signaled(signal)),
            Some(Report::Survivor(survivor)) => self.survivors.push(survivor),
            // A program that did not start, and that we have given up on meanwhile, has no tree.
            Some(
                Report::Swept
                | Report::NotPrepared { .. }
                | Report::NotStarted { .. }
                | Report::NotFound
                | Report::NoFolder { .. },
            ) => self.swept(),
            None => self.lost(),
        }
        Ok(())
    }

    /// The program has ended, by itself or because it was asked to.
    fn ended(&mut self, ending: Ending) {
        let now = Instant::now();
        self.end = Some(now);
        self.ending.get_or_insert(ending);
        let last = match self.state {
            State::Running => self.limits.deadline,
            State::Terminating { until } => until,
            _ => return,
        };
        self.state = State::Draining { until: last.min(now + self.limits.drain_grace) };
    }

    fn swept(&mut self) {
        self.running.control = None;
        // Whoever could write is dead, so the pipes end where they are; a process that cannot be
        // killed must not hold us.
        self.state = State::Emptying { until: Instant::now() + self.limits.drain_grace };
    }

    /// The launcher is gone, though nobody told it to go.
    fn lost(&mut self) {
        let strays = self.running.sweep_strays();
        self.survivors.extend(strays);
        self.swept();
    }

    /// Does what the time demands.
    fn advance(&mut self, now: Instant) {
        match self.state {
            State::Running => {
                let stalled = self.watchdog().filter(|(at, _)| now >= *at);
                let reason = if self.cancel.is_cancelled() {
                    Ending::Cancelled
                } else if now >= self.limits.deadline {
                    Ending::TimedOut
                } else if let Some((_, stall)) = stalled {
                    Ending::Stalled(stall)
                } else {
                    return;
                };
                self.ending = Some(reason);
                self.asked = true;
                self.order(Order::Terminate);
                self.state = State::Terminating { until: now + self.limits.term_grace };
            }
            State::Terminating { until } if now >= until => self.sweep(now),
            State::Draining { .. } if !self.reading() => self.sweep(now),
            State::Draining { until }
                if now >= until || (!self.asked && self.cancel.is_cancelled()) =>
            {
                self.cut = true;
                self.sweep(now);
            }
            State::Sweeping { until } if now >= until => self.lost(),
            State::Emptying { until } if !self.reading() || now >= until => {
                self.state = State::Done;
            }
            _ => {}
        }
    }

    fn sweep(&mut self, now: Instant) {
        self.order(Order::Sweep);
        self.state = State::Sweeping { until: now + SWEEP_PATIENCE };
    }

    fn order(&self, order: Order) {
        if let Some(control) = &self.running.control {
            control.order(order);
        }
    }
}

/// Reads once and passes it on. Says whether there was anything; closes the pipe at its end.
fn read(
    pipe: &mut Option<PipeReader>,
    stream: Stream,
    buffer: &mut [u8],
    sink: &mut dyn FnMut(Stream, &[u8]),
) -> bool {
    let Some(reader) = pipe else { return false };
    match reader.read(buffer) {
        Ok(length) if length > 0 => {
            sink(stream, &buffer[..length]);
            true
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
        Ok(_) | Err(_) => {
            *pipe = None;
            false
        }
    }
}
