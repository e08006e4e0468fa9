//! Conformance checks, one module a kind of evidence.

mod command;
mod content;
mod presence;
#[cfg(test)]
mod tests;
mod verdict;

use proctor_model::conformance::fixture::{Check, CheckKind};
use proctor_model::{CheckResult, CheckStatus};

use crate::workspace::Workspace;

pub use command::{CommandEnd, judge_command};
pub use verdict::{Verdict, verdict};

/// Carries out a file check on `workspace`.
///
/// The answer is [`CheckStatus::Error`] when the check cannot be carried out: a pattern that is not
/// supported or takes too long, a link that leads out, a file that cannot be read. A command check
/// is an error here: the caller runs it and has [`judge_command`] judge how it ended.
pub fn evaluate(check: &Check, workspace: &Workspace) -> CheckResult {
    match &check.kind {
        CheckKind::FileExists(target) => presence::exists(target, check.phase, workspace),
        CheckKind::FileAbsent(target) => presence::absent(target, check.phase, workspace),
        CheckKind::FileMatches(target, pattern) => {
            content::matches(target, pattern, check.phase, workspace)
        }
        CheckKind::FileNotMatches(target, pattern) => {
            content::not_matches(target, pattern, check.phase, workspace)
        }
        CheckKind::Command { .. } => error(&"a command check needs its command run first", None),
    }
}

fn failed(message: impl Into<String>, files: usize) -> CheckResult {
    CheckResult::because(CheckStatus::Failed, message, count(files))
}

fn error(message: &impl ToString, files: Option<u64>) -> CheckResult {
    CheckResult::because(CheckStatus::Error, message.to_string(), files)
}

fn count(files: usize) -> Option<u64> {
    u64::try_from(files).ok()
}

/// The first few names, and how many more there are.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
