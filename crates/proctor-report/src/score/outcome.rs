//! What a run means to whoever asked.

use proctor_model::recorded::report::{RunReport, Summary, Verdict};

/// Whether a run is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It passes, or in a self-test scores what its fixture foresees.
    Good,
    /// It does not.
    Scored(Verdict),
    /// In a self-test, it scores something else than its fixture foresees; nothing when the fixture
    /// cannot be read.
    NotAsIntended(Option<Verdict>),
}

impl Outcome {
    pub(super) fn of(report: &RunReport<'_>) -> Self {
        match report.intended {
            Some(Some(intended)) if intended == report.verdict => Self::Good,
            Some(intended) => Self::NotAsIntended(intended),
            None if report.verdict == Verdict::Pass => Self::Good,
            None => Self::Scored(report.verdict),
        }
    }
}

/// How many runs of a set count as failed and how many as an error, in a format that has no word
/// for `unknown`: missing evidence must not look like a pass.
pub(super) fn failures_and_errors(summary: &Summary) -> (u64, u64) {
    match summary.self_test {
        Some(test) => (test.otherwise + test.undecided, 0),
        None => (summary.counts.fail, summary.counts.error + summary.counts.unknown),
    }
}
