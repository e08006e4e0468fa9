//! Judging what a runner says of a case: the files it left, and the commands of the case.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_grade::CommandEnd;
use proctor_grade::eval::{ArmResult, Evidence, Files, WorkDir, judge};
use proctor_model::eval::protocol::{Arm, CaseResult};
use proctor_model::eval::{Assertion, ExpandedCase};
use proctor_sandbox::{Ending, Limits, Spawn, SpawnError};

use super::environment::{COMMAND_VARIABLES, scrubbed};
use super::runner::Call;

/// How long a command of a case may take.
const COMMAND_TIME: Duration = Duration::from_mins(1);

/// Judges one case in one arm, but for a rubric that the built-in grader grades. The commands of the case are run when that is allowed and they
/// matter: a verdict of the runner goes before them.
pub(super) fn judge_arm(
    call: &Call<'_>,
    case: &ExpandedCase,
    arm: Arm,
    result: Option<&CaseResult>,
) -> ArmResult {
    let folder = result.and_then(|result| result.work_dir.as_deref()).map(Utf8Path::new);
    // A relative path would mean a place that only the runner knows.
    let folder = folder.filter(|folder| folder.is_absolute());
    let files = folder.and_then(WorkDir::open);
    let counts = |result: &CaseResult| {
        result.passed.is_none() && !result.is_skipped() && result.failure().is_none()
    };
    let commands = match result {
        Some(result) if call.allow_exec && counts(result) => {
            run_commands(call, &case.assertions, folder.filter(|_| files.is_some()))
        }
        _ => BTreeMap::new(),
    };
    let evidence = Evidence {
        answer: result.and_then(|result| result.output.as_deref()),
        files: files.as_ref().map(|files| files as &dyn Files),
        commands: &commands,
    };
    judge(case, arm, result, &evidence, call.rubrics)
}

fn run_commands(
    call: &Call<'_>,
    assertions: &[Assertion],
    folder: Option<&Utf8Path>,
) -> BTreeMap<usize, CommandEnd> {
    let commands = assertions.iter().enumerate().filter_map(|(index, assertion)| match assertion {
        Assertion::CommandExit { command, .. } => Some((index, command)),
        _ => None,
    });
    commands
        .map(|(index, command)| {
            let end = match folder {
                Some(folder) => run_command(call, command, folder),
                None => CommandEnd::NotStarted {
                    reason: "the runner left no working directory to run it in".to_owned(),
                },
            };
            (index, end)
        })
        .collect()
}

fn run_command(call: &Call<'_>, command: &str, folder: &Utf8Path) -> CommandEnd {
    let env = scrubbed(call.machine.env, COMMAND_VARIABLES);
    let spawn = Spawn {
        program: "sh".into(),
        args: vec!["-c".into(), command.into()],
        cwd: folder.as_std_path().to_owned(),
        env: env.into_iter().map(|(name, value)| (name.into(), value.into())).collect(),
        stdin: None,
    };
    let limits = Limits::until(Instant::now() + COMMAND_TIME);
    let ran = call.machine.launcher.run(&spawn, &limits, call.machine.cancel, &mut |_, _| {});
    match ran {
        Ok(finished) => match finished.ending {
            Ending::Exited(code) => CommandEnd::Exited(code),
            Ending::Signaled(signal) => CommandEnd::Signaled(signal),
            Ending::TimedOut | Ending::Stalled(_) | Ending::Cancelled => CommandEnd::TimedOut,
        },
        Err(SpawnError::NotFound { program }) => {
            CommandEnd::NotFound { program: program.display().to_string() }
        }
        Err(other) => CommandEnd::NotStarted { reason: other.to_string() },
    }
}
