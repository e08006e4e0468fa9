//! One session of an agent program: command line, processes, events, outcome.

use std::collections::BTreeMap;

use proctor_harness::{Adapter, ExitKind, SessionEnd, SessionRequest, Unavailable};
use proctor_model::{Event, Outcome, OutcomeClass, Usage};
use proctor_sandbox::{
    Cancel, Capture, Ending, Finished, Launcher, Limits, ROOM_VARIABLE, Room, Spawn, SpawnError,
    Stream,
};

/// Where programs run: on this machine, or in a sandbox.
pub trait Host {
    /// Runs one program to its end, as [`Launcher::run`] does.
    fn run(
        &self,
        spawn: &Spawn,
        limits: &Limits,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Finished, SpawnError>;
}

impl Host for Launcher {
    fn run(
        &self,
        spawn: &Spawn,
        limits: &Limits,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Finished, SpawnError> {
        Self::run(self, spawn, limits, cancel, sink)
    }
}

/// What a session needs beside its request.
pub struct Surroundings<'a> {
    /// Starts and kills process trees.
    pub launcher: &'a dyn Host,
    /// The environment of the agent program; the adapter's defaults are added where it is silent.
    pub env: &'a BTreeMap<String, String>,
    /// When the session must be over.
    pub limits: Limits,
    /// Ends the session early.
    pub cancel: &'a Cancel,
}

/// The environment of everything that runs in `room`: litter goes with the room, and the mark lets
/// a later start find what a killed run has left.
pub fn environment(base: &BTreeMap<String, String>, room: &Room) -> BTreeMap<String, String> {
    let mut env = base.clone();
    env.insert("TMPDIR".to_owned(), room.tmp().to_string());
    env.insert(ROOM_VARIABLE.to_owned(), room.root().to_string());
    env
}

/// Where the raw streams of a session go.
pub trait Recorder {
    /// Takes the next bytes of a stream.
    fn record(&mut self, stream: Stream, bytes: &[u8]);
}

impl<R: Recorder + ?Sized> Recorder for &mut R {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        (**self).record(stream, bytes);
    }
}

impl<A: Recorder, B: Recorder> Recorder for (A, B) {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        self.0.record(stream, bytes);
        self.1.record(stream, bytes);
    }
}

/// What is known after a session.
#[derive(Debug)]
pub struct Evidence {
    /// How it ended.
    pub outcome: Outcome,
    /// What it used, as far as the harness says.
    pub usage: Option<Usage>,
    /// What a reader must know beside the outcome.
    pub warnings: Vec<String>,
    /// Exit code, when the program ended by itself.
    pub exit_code: Option<i32>,
    /// Whether the program wrote anything to standard output.
    pub any_output: bool,
}

/// Why no session took place.
#[derive(Debug, thiserror::Error)]
pub enum NoSession {
    /// The adapter cannot run this request.
    #[error("{0}")]
    Unavailable(Unavailable),
    /// The program is not there.
    #[error("executable missing: `{0}` was not found on PATH")]
    ProgramMissing(String),
    /// The program could not be started.
    #[error("the harness could not be started: {0}")]
    Start(SpawnError),
}

/// Runs one session to its end. Every event is handed to `observe` as it happens.
pub fn run(
    adapter: &dyn Adapter,
    request: &SessionRequest<'_>,
    surroundings: &Surroundings<'_>,
    recorder: &mut dyn Recorder,
    observe: &mut dyn FnMut(Event),
) -> Result<Evidence, NoSession> {
    let command = adapter.command(request).map_err(NoSession::Unavailable)?;
    let mut env = surroundings.env.clone();
    for (name, value) in command.env {
        env.entry(name).or_insert(value);
    }
    let spawn = Spawn {
        program: command.program.clone().into(),
        args: command.args.into_iter().map(Into::into).collect(),
        cwd: request.workspace.as_std_path().to_owned(),
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        stdin: command.stdin,
    };

    let mut parser = adapter.parser();
    let mut stderr = Capture::new();
    let mut any_output = false;
    let mut sink = |stream, bytes: &[u8]| {
        recorder.record(stream, bytes);
        match stream {
            Stream::Out => {
                any_output = true;
                parser.push(bytes, observe);
            }
            Stream::Err => stderr.push(bytes),
        }
    };
    let finished = surroundings
        .launcher
        .run(&spawn, &surroundings.limits, surroundings.cancel, &mut sink)
        .map_err(|error| match error {
            SpawnError::NotFound { .. } => NoSession::ProgramMissing(command.program),
            other => NoSession::Start(other),
        })?;

    let (exit, ended_by) = match finished.ending {
        Ending::Exited(code) => (Some(ExitKind::Code(code)), None),
        Ending::Signaled(signal) => (Some(ExitKind::Signal(signal)), None),
        Ending::TimedOut => (None, Some(OutcomeClass::Timeout)),
        Ending::Stalled(_) => (None, Some(OutcomeClass::Stalled)),
        Ending::Cancelled => (None, Some(OutcomeClass::Interrupted)),
    };
    let stderr = stderr.into_text();
    let end = SessionEnd { exit, stderr: &stderr, ended_by };
    let summary = parser.finish(&end, observe);
    Ok(Evidence {
        outcome: summary.outcome,
        usage: summary.usage,
        warnings: summary.warnings,
        exit_code: match exit {
            Some(ExitKind::Code(code)) => Some(code),
            _ => None,
        },
        any_output,
    })
}
