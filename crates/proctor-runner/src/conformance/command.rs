//! Command checks: the processes behind them.

use std::time::Instant;

use proctor_grade::CommandEnd;
use proctor_model::conformance::report::CommandOutput;
use proctor_sandbox::{Capture, Ending, Limits, Room, Spawn, SpawnError, Stream};

use super::run::Settings;
use super::words::reportable;
use crate::session::environment;

/// What a command check gives the grader, and what the report keeps of it.
pub(super) struct CommandRun {
    pub(super) end: CommandEnd,
    pub(super) output: CommandOutput,
}

/// Runs a command directly, without a shell, in the workspace, until the trial's deadline.
pub(super) fn run_command(
    settings: &Settings<'_>,
    room: &Room,
    run: &[String],
    deadline: Instant,
) -> CommandRun {
    // A valid fixture names an executable; an empty name is not found below.
    let (program, args) =
        run.split_first().map_or(("", run), |(first, rest)| (first.as_str(), rest));
    let env = environment(settings.env, room);
    let spawn = Spawn {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: room.workspace().as_std_path().to_owned(),
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        stdin: None,
    };
    let (mut stdout, mut stderr) = (Capture::new(), Capture::new());
    let mut sink = |stream, bytes: &[u8]| match stream {
        Stream::Out => stdout.push(bytes),
        Stream::Err => stderr.push(bytes),
    };
    let limits = Limits::until(deadline);
    let (end, exit_code) = match settings.launcher.run(&spawn, &limits, settings.cancel, &mut sink)
    {
        Ok(finished) => match finished.ending {
            Ending::Exited(code) => (CommandEnd::Exited(code), Some(code)),
            Ending::Signaled(signal) => (CommandEnd::Signaled(signal), None),
            Ending::TimedOut | Ending::Stalled(_) | Ending::Cancelled => {
                (CommandEnd::TimedOut, None)
            }
        },
        Err(SpawnError::NotFound { .. }) => {
            (CommandEnd::NotFound { program: program.to_owned() }, None)
        }
        Err(other) => (CommandEnd::NotStarted { reason: other.to_string() }, None),
    };
    let truncated = stdout.truncated() || stderr.truncated();
    let keep = |capture: Capture| reportable(settings, room, &capture.into_text());
    let output = CommandOutput { exit_code, stdout: keep(stdout), stderr: keep(stderr), truncated };
    CommandRun { end, output }
}
