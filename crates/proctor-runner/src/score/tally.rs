//! What a set of runs comes to.

use proctor_model::recorded::report::{Cell, Counts, RunReport, SelfTest, Summary, Verdict, note};
use proctor_model::recorded::run::{Category, Kind};

use super::Options;
use super::labels::Compared;

/// Categories and kinds, with one place more for what could not be read.
const CATEGORIES: usize = Category::ALL.len() + 1;
const KINDS: usize = Kind::ALL.len() + 1;

/// Sums over runs, in any order.
#[derive(Debug, Default)]
pub(super) struct Tally {
    cells: [[Counts; KINDS]; CATEGORIES],
    self_test: SelfTest,
    compared: Compared,
}

impl Tally {
    pub(super) fn add(&mut self, report: &RunReport<'_>, options: &Options) {
        let fixture = report.fixture.unwrap_or_default();
        let category = place(&Category::ALL, fixture.category);
        let kind = place(&Kind::ALL, fixture.kind);
        if let Some(cell) = self.cells.get_mut(category).and_then(|row| row.get_mut(kind)) {
            cell.add(report.verdict);
        }
        if let Some(intended) = report.intended {
            let tally = match intended {
                None => &mut self.self_test.undecided,
                Some(verdict) if verdict == report.verdict => &mut self.self_test.as_intended,
                Some(_) => &mut self.self_test.otherwise,
            };
            *tally += 1;
        }
        if let Some(labels) = &options.labels {
            self.compared.add(report, labels);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let theirs = other.cells.iter().flatten();
        for (cell, other) in self.cells.iter_mut().flatten().zip(theirs) {
            cell.merge(*other);
        }
        self.self_test.as_intended += other.self_test.as_intended;
        self.self_test.otherwise += other.self_test.otherwise;
        self.self_test.undecided += other.self_test.undecided;
        self.compared.merge(&other.compared);
    }

    pub(super) fn summary(&self, skipped: u64, options: &Options) -> Summary {
        let mut counts = Counts::default();
        self.cells.iter().flatten().for_each(|cell| counts.merge(*cell));
        let self_test = options.self_test.then_some(self.self_test);
        let notes = if counts.total() == 0 { vec![note::NO_RUNS.into()] } else { Vec::new() };
        Summary {
            verdict: self_test.map_or(counts.verdict(), self_test_verdict),
            counts,
            skipped,
            notes,
            matrix: self.matrix(),
            self_test,
            agreement: options.labels.as_ref().map(|labels| self.compared.agreement(labels)),
        }
    }

    fn matrix(&self) -> Vec<Cell> {
        let categories = Category::ALL.into_iter().map(Some).chain([None]);
        let mut matrix = Vec::new();
        for (category, row) in categories.zip(&self.cells) {
            let kinds = Kind::ALL.into_iter().map(Some).chain([None]);
            for (kind, counts) in kinds.zip(row).filter(|(_, counts)| counts.total() > 0) {
                matrix.push(Cell { category, kind, verdict: counts.verdict(), counts: *counts });
            }
        }
        matrix
    }
}

fn place<T: PartialEq>(all: &[T], value: Option<T>) -> usize {
    let found = value.and_then(|value| all.iter().position(|other| *other == value));
    found.unwrap_or(all.len())
}

fn self_test_verdict(test: SelfTest) -> Verdict {
    match test {
        SelfTest { as_intended: 0, otherwise: 0, undecided: 0 } => Verdict::Unknown,
        SelfTest { otherwise: 0, undecided: 0, .. } => Verdict::Pass,
        _ => Verdict::Fail,
    }
}
