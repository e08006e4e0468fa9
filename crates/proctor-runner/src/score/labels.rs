//! What somebody else says about runs, and how far the checks agree.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use proctor_formats::fixture_run;
use proctor_grade::stats::{self, Confusion, Interval, Z_95, wilson};
use proctor_model::recorded::report::{Agreement, Estimate, LabelRow, RunReport, Verdict};

/// Labels by fixture id or by path.
#[derive(Debug, Default)]
pub struct Labels(BTreeMap<String, Label>);

#[derive(Debug)]
struct Label {
    label: stats::Label,
    used: AtomicBool,
}

/// Why a file of labels cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// The file cannot be read.
    #[error("{path}: {message}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// A line is no label.
    #[error("{path}:{line}: {message}", path = path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong and what to do.
        message: String,
    },
}

impl Labels {
    /// Reads a file of labels, one a line: `ID,pass` or `ID,fail`, with a tab in place of the comma
    /// where one likes. The id is that of a fixture, or the path of a run as the report has it. A
    /// first line `id,label` is a heading.
    pub fn read(path: &Path) -> Result<Self, LabelError> {
        let unreadable = |message| LabelError::Unreadable { path: path.to_owned(), message };
        let bytes = fixture_run::read(path).map_err(|violation| unreadable(violation.message))?;
        let text = String::from_utf8(bytes).map_err(|_| unreadable("is no UTF-8".to_owned()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut labels = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || (number == 1 && line.trim() == "id,label") {
                continue;
            }
            let wrong = |message| LabelError::Line { path: path.to_owned(), line: number, message };
            let (id, label) = label(line).map_err(wrong)?;
            let label = Label { label, used: AtomicBool::new(false) };
            if labels.insert(id.to_owned(), label).is_some() {
                return Err(wrong(format!("`{id}` has a label already; label runs by their path")));
            }
        }
        Ok(Self(labels))
    }

    /// The label of a run, by its path or else by its id.
    fn of(&self, report: &RunReport<'_>) -> Option<stats::Label> {
        let path = report.path.as_deref();
        let id = report.fixture.and_then(|fixture| fixture.id);
        let label = [path, id].into_iter().flatten().find_map(|key| self.0.get(key))?;
        label.used.store(true, Ordering::Relaxed);
        Some(label.label)
    }

    fn unused(&self) -> u64 {
        self.0.values().filter(|label| !label.used.load(Ordering::Relaxed)).count() as u64
    }
}

fn label(line: &str) -> Result<(&str, stats::Label), String> {
    let (id, label) = line
        .rsplit_once(['\t', ','])
        .ok_or("expected an id, a comma or tab, and `pass` or `fail`")?;
    let label = match label.trim() {
        "pass" => stats::Label::Pass,
        "fail" => stats::Label::Fail,
        other => {
            let shown: String = other.chars().take(40).flat_map(char::escape_debug).collect();
            return Err(format!("expected `pass` or `fail` at the end, found \"{shown}\""));
        }
    };
    match id.trim() {
        "" => Err("the id is missing".to_owned()),
        id => Ok((id, label)),
    }
}

/// Verdicts and labels, counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Compared {
    table: Confusion,
    unlabelled: u64,
}

impl Compared {
    pub(super) fn add(&mut self, report: &RunReport<'_>, labels: &Labels) {
        match labels.of(report) {
            Some(label) => self.table.add(report.verdict, label),
            None => self.unlabelled += 1,
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.table.merge(&other.table);
        self.unlabelled += other.unlabelled;
    }

    pub(super) fn agreement(&self, labels: &Labels) -> Agreement {
        let table = &self.table;
        let row = |verdict| LabelRow {
            verdict,
            labelled_pass: table.of(verdict, stats::Label::Pass),
            labelled_fail: table.of(verdict, stats::Label::Fail),
        };
        let right = |verdict, label| share(table.of(verdict, label), table.with_verdict(verdict));
        let kappa = table.kappa();
        Agreement {
            table: Verdict::ALL.into_iter().rev().map(row).collect(),
            unlabelled: self.unlabelled,
            unused: labels.unused(),
            kappa: estimate(kappa.map(|k| k.value), kappa.map(|k| k.interval)),
            agree: share(table.agreeing(), table.compared()),
            pass_is_right: right(Verdict::Pass, stats::Label::Pass),
            fail_is_right: right(Verdict::Fail, stats::Label::Fail),
        }
    }
}

fn share(part: u64, whole: u64) -> Estimate {
    #[expect(clippy::cast_precision_loss, reason = "nobody has 2^53 runs")]
    let share = (whole > 0).then(|| part as f64 / whole as f64);
    estimate(share, wilson(part, whole, Z_95))
}

fn estimate(value: Option<f64>, interval: Option<Interval>) -> Estimate {
    Estimate {
        value: value.map(rounded),
        low: interval.map(|interval| rounded(interval.low)),
        high: interval.map(|interval| rounded(interval.high)),
    }
}

/// Four digits: more would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
