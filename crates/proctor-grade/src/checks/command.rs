//! `command`: how it ended against how it should.

use proctor_model::{CheckResult, CheckStatus};

/// How the command of a check ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signaled(i32),
    /// It was killed because the trial's time was up.
    TimedOut,
    /// There is no such executable.
    NotFound {
        /// As the check names it.
        program: String,
    },
    /// It is there and could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
}

/// Judges a command check.
///
/// A wrong exit code or a signal is a failure. A missing executable skips an optional check and is
/// an error of a required one. A command that was cut off, or never started, proves nothing: error.
pub fn judge_command(expected: i32, optional: bool, end: &CommandEnd) -> CheckResult {
    let because = |status, message| CheckResult::because(status, message, None);
    match end {
        CommandEnd::Exited(code) if *code == expected => CheckResult::passed(None),
        CommandEnd::Exited(code) => {
            because(CheckStatus::Failed, format!("exit code {code}, expected {expected}"))
        }
        CommandEnd::Signaled(signal) => because(
            CheckStatus::Failed,
            format!("ended by signal {signal}, expected exit code {expected}"),
        ),
        CommandEnd::TimedOut => {
            because(CheckStatus::Error, "killed because the time of the trial was up".to_owned())
        }
        CommandEnd::NotFound { program } => because(
            if optional { CheckStatus::Skipped } else { CheckStatus::Error },
            format!("executable `{program}` not found"),
        ),
        CommandEnd::NotStarted { reason } => {
            because(CheckStatus::Error, format!("command could not be started: {reason}"))
        }
    }
}
