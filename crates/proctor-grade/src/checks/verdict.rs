//! From the answers of checks to the verdict on them.

use proctor_model::CheckStatus;
use proctor_model::conformance::report::CheckRow;

/// What checks say together, and why when it is not a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The verdict.
    pub status: CheckStatus,
    /// Why; `None` for a pass.
    pub reason: Option<String>,
}

/// The verdict on the checks of a phase or of a trial.
///
/// 1. No checks: skipped; nothing was looked at.
/// 2. A required check is an error: error, even beside failures, because an instrument that broke
///    leaves the rest in doubt.
/// 3. A required check failed: failed.
/// 4. A required check was skipped: error; a pass would claim more than was seen.
/// 5. Passed otherwise. Optional checks never decide, whatever they say.
pub fn verdict<'a>(rows: impl IntoIterator<Item = &'a CheckRow>) -> Verdict {
    let rows: Vec<&CheckRow> = rows.into_iter().collect();
    if rows.is_empty() {
        let reason = Some("no checks".to_owned());
        return Verdict { status: CheckStatus::Skipped, reason };
    }
    let required =
        |status| rows.iter().copied().filter(move |row| !row.optional && row.status == status);
    for (status, verdict, words) in [
        (CheckStatus::Error, CheckStatus::Error, "could not be carried out"),
        (CheckStatus::Failed, CheckStatus::Failed, "failed"),
        (CheckStatus::Skipped, CheckStatus::Error, "was not carried out"),
    ] {
        let mut rows = required(status);
        if let Some(first) = rows.next() {
            let mut reason = format!("check {} ({}) {words}", first.index, first.kind);
            if !first.message.is_empty() {
                reason = format!("{reason}: {}", first.message);
            }
            match rows.count() {
                0 => {}
                more => reason = format!("{reason}; and {more} more"),
            }
            return Verdict { status: verdict, reason: Some(reason) };
        }
    }
    Verdict { status: CheckStatus::Passed, reason: None }
}
