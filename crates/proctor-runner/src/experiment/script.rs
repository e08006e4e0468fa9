//! Scripts of an experiment: setups, checks and tests, run by bash in a sandbox.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_redact::Redactor;
use proctor_sandbox::isolation::{Sandbox, User};
use proctor_sandbox::{Cancel, Ending, Limits, Spawn, SpawnError, Stream};

use crate::lane::{Lane, tail};

/// How much of the end of a stream a record has.
pub(super) const TAIL_BYTES: u64 = 64 << 10;
/// A script that is longer is no argument, and goes to bash's standard input; so does one that
/// nobody is to see.
const LONGEST_ARGUMENT: usize = 100_000;
/// Reads the whole script before any of it runs, so that it finds its standard input at the end.
const READ_SCRIPT: &str = r#"eval "$(cat)""#;

/// The exit code of a script whose time was up.
const TIMED_OUT: i32 = -1;
/// What a shell adds to the number of a signal.
const SIGNALED: i32 = 128;

/// How a script ended.
#[derive(Debug)]
pub(super) struct ScriptEnd {
    /// 128 and the number of the signal that ended it; -1 when its time was up.
    pub(super) exit_code: i32,
    pub(super) timed_out: bool,
    pub(super) duration_ms: u64,
    pub(super) stdout_tail: String,
    pub(super) stderr_tail: String,
}

/// Why a script has no end.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoEnd {
    /// The run was cancelled.
    #[error("the run was cancelled")]
    Cancelled,
    /// The sandbox or the machine is at fault.
    #[error("the script could not be run: {0}")]
    Spawn(#[from] SpawnError),
    /// Its output could not be kept.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// What a script runs with.
pub(super) struct Script<'a> {
    pub(super) text: &'a str,
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) deadline: Instant,
    /// Where its streams are kept, whole and redacted: new files.
    pub(super) stdout: &'a Utf8Path,
    pub(super) stderr: &'a Utf8Path,
    /// Whether an agent may be there who sees the arguments of other processes.
    pub(super) is_watched: bool,
}

/// Runs a script to its end, as the user who sets rooms up.
pub(super) fn run(
    script: &Script<'_>,
    sandbox: &Sandbox<'_>,
    cancel: &Cancel,
    redactor: &Redactor,
) -> Result<ScriptEnd, NoEnd> {
    // Where processes of other trials are in sight, so is this one.
    let is_watched = script.is_watched || !sandbox.isolation().processes.holds();
    let (args, stdin) = command(script.text, is_watched);
    let spawn = Spawn {
        program: "bash".into(),
        args,
        cwd: sandbox.workspace().to_owned(),
        env: script.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        stdin,
    };
    let mut out = Lane::open(script.stdout.to_owned(), redactor)?;
    let mut err = Lane::open(script.stderr.to_owned(), redactor)?;
    let limits = Limits::until(script.deadline);
    let ran =
        sandbox.run(User::Setup, &spawn, &limits, cancel, &mut |stream, bytes| match stream {
            Stream::Out => out.push(bytes),
            Stream::Err => err.push(bytes),
        });
    let (out, err) = (out.close()?, err.close()?);
    let finished = ran?;
    let (exit_code, timed_out) = match finished.ending {
        Ending::Exited(code) => (code, false),
        Ending::Signaled(signal) => (SIGNALED + signal, false),
        Ending::TimedOut | Ending::Stalled(_) => (TIMED_OUT, true),
        // A sandbox that passed its limit is ended in the same way.
        Ending::Cancelled if sandbox.violation().is_some() => (SIGNALED + 9, false),
        Ending::Cancelled => return Err(NoEnd::Cancelled),
    };
    Ok(ScriptEnd {
        exit_code,
        timed_out,
        duration_ms: milliseconds(finished.duration),
        stdout_tail: tail(&out, TAIL_BYTES)?,
        stderr_tail: tail(&err, TAIL_BYTES)?,
    })
}

fn command(script: &str, is_watched: bool) -> (Vec<OsString>, Option<Vec<u8>>) {
    if is_watched || script.len() > LONGEST_ARGUMENT || script.contains('\0') {
        (vec!["-c".into(), READ_SCRIPT.into()], Some(script.as_bytes().to_vec()))
    } else {
        (vec!["-c".into(), script.into()], None)
    }
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
