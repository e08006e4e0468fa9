//! The runs of a project.

use std::fmt::Write as _;

use proctor_model::run::{RunKind, TrialStatus};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{json, schema};
use crate::inert;

/// A run in a list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunRow {
    /// Its id.
    pub run_id: String,
    /// Which way of testing made it; null when the run cannot be read.
    pub kind: Option<RunKind>,
    /// The experiment, for other kinds the name of what was run; null when the run cannot be read.
    pub experiment_id: Option<String>,
    /// When it was made, in seconds since 1970.
    pub created_at: Option<u64>,
    /// The run whose trials were tested again.
    pub retest_of: Option<String>,
    /// The run whose trials without a result were run once more.
    pub rerun_of: Option<String>,
    /// Trials that were planned.
    pub planned: u64,
    /// Trials in which everything passed.
    pub passed: u64,
    /// Trials in which a test or a check failed.
    pub failed: u64,
    /// Trials that say nothing about the agent.
    pub errors: u64,
    /// Bytes on the disk; null when the run cannot be read.
    pub bytes: Option<u64>,
    /// The process that works on it now; null when none does, 0 when it does not say.
    pub worker: Option<u32>,
    /// Why it cannot be read.
    pub problem: Option<String>,
}

impl RunRow {
    /// Counts a trial that is finished.
    pub fn add(&mut self, status: TrialStatus) {
        match status {
            TrialStatus::Pass => self.passed += 1,
            TrialStatus::Fail => self.failed += 1,
            TrialStatus::Error => self.errors += 1,
        }
    }

    fn unfinished(&self) -> u64 {
        self.planned.saturating_sub(self.passed + self.failed + self.errors)
    }
}

/// For people: a line for each run.
pub fn runs_text(rows: &[RunRow]) -> String {
    let width = rows.iter().map(|row| row.run_id.chars().count()).max().unwrap_or(0);
    let kind = |row: &RunRow| row.kind.map_or("", RunKind::as_str);
    let kinds = rows.iter().map(|row| kind(row).len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let RunRow { passed, failed, errors, planned, .. } = row;
        let state = match (row.worker, row.unfinished()) {
            (Some(0), _) => "; running".to_owned(),
            (Some(pid), _) => format!("; running in process {pid}"),
            (None, 0) => String::new(),
            (None, unfinished) => format!("; {unfinished} not finished"),
        };
        let retest = row.retest_of.as_ref().map(|run| format!("; retest of {}", inert(run)));
        let rerun = row.rerun_of.as_ref().map(|run| format!("; rerun of {}", inert(run)));
        let origin = retest.or(rerun).unwrap_or_default();
        let what = if let Some(problem) = &row.problem {
            format!("cannot be read: {}", inert(problem))
        } else {
            let size = row.bytes.map(|bytes| format!("; {}", bytes_text(bytes)));
            let size = size.unwrap_or_default();
            format!("{passed} passed, {failed} failed, {errors} errors of {planned}{state}{size}")
        };
        let (id, kind) = (inert(&row.run_id), kind(row));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{id:<width$}  {kind:<kinds$}  {what}{origin}");
    }
    text
}

/// A count of bytes for people, in powers of 1000.
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    let (mut whole, mut tenths, mut unit) = (bytes, 0, 0);
    while whole >= 1000 && unit + 1 < UNITS.len() {
        (tenths, whole) = (whole % 1000 / 100, whole / 1000);
        unit += 1;
    }
    let name = UNITS.get(unit).copied().unwrap_or_default();
    if unit > 0 && whole < 10 {
        format!("{whole}.{tenths} {name}")
    } else {
        format!("{whole} {name}")
    }
}

/// For programs.
pub fn runs_json(rows: &[RunRow]) -> String {
    json(&rows)
}

/// The shape of [`runs_json`].
pub fn runs_schema() -> Value {
    schema::<Vec<RunRow>>("proctor run list --format json")
}
