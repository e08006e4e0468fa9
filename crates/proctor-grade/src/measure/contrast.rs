//! Two sets of trials, cell by cell.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::measure::{
    Cell, CompareVerdict, ComparedMetric, Contrast, Flip, IntervalMethod, NonInferiority,
    PairTable, Unpaired,
};
use proctor_model::run::{GradedStatus, TestStatus, TrialRecord, TrialStatus};

use super::compare::{CompareError, Gate};
use super::key::GroupKey;
use super::metric::{Metric, number};
use super::metrics::{Unit, interval, mean_interval};
use super::pool::PooledTrial;
use super::tidy;
use crate::stats::{
    Cluster, Pairs, Z_95, clustered_difference, least_decisive, least_for_margin, mean_of,
    sign_test,
};

/// Two sets of trials.
#[derive(Clone)]
pub(super) struct Sides<'a> {
    pub(super) name: String,
    pub(super) baseline: String,
    pub(super) candidate: String,
    pub(super) first: Vec<&'a PooledTrial>,
    pub(super) second: Vec<&'a PooledTrial>,
    /// The key whose values are compared.
    pub(super) key: Option<GroupKey>,
}

/// The trials of a side by cell.
type Cells<'a> = BTreeMap<Cell, &'a PooledTrial>;

/// The cells of both sides, and the coordinates that are in no cell since the sides have no value of
/// theirs in common.
fn cells<'a>(sides: &Sides<'a>) -> Result<(Cells<'a>, Cells<'a>, Vec<GroupKey>), CompareError> {
    let values = |trials: &[&PooledTrial], key: GroupKey| -> BTreeSet<Option<String>> {
        trials.iter().map(|trial| key.of(trial)).collect()
    };
    let apart = |key: &GroupKey| {
        let (one, other) = (values(&sides.first, *key), values(&sides.second, *key));
        Some(*key) == sides.key
            || sides.key == Some(GroupKey::Variant)
            || (*key != GroupKey::Prompt && one.is_disjoint(&other))
    };
    let (also, shared): (Vec<_>, Vec<_>) = GroupKey::COORDINATES.into_iter().partition(apart);
    let first = by_cell(&sides.baseline, &sides.first, &shared, sides.key)?;
    let second = by_cell(&sides.candidate, &sides.second, &shared, sides.key)?;
    Ok((first, second, also))
}

fn by_cell<'a>(
    side: &str,
    trials: &[&'a PooledTrial],
    shared: &[GroupKey],
    by: Option<GroupKey>,
) -> Result<Cells<'a>, CompareError> {
    let mut cells = Cells::new();
    for trial in trials {
        let coordinates = shared
            .iter()
            .filter_map(|key| Some((key.to_string(), key.of(trial)?)))
            .collect::<BTreeMap<_, _>>();
        // Runs that are compared with each other number their own trials.
        let repeat = if by == Some(GroupKey::Run) { trial.record.repeat_idx } else { trial.repeat };
        let cell = Cell { coordinates, repeat };
        if let Some(other) = cells.insert(cell.clone(), trial) {
            let keys = GroupKey::COORDINATES.into_iter();
            let differ: Vec<&str> =
                keys.filter(|key| key.of(other) != key.of(trial)).map(GroupKey::as_str).collect();
            return Err(CompareError::SeveralInOneCell {
                side: side.to_owned(),
                cell: cell.to_string(),
                differ: if differ.is_empty() { "nothing".to_owned() } else { differ.join(", ") },
            });
        }
    }
    Ok(cells)
}

/// A cell in which both sides passed or failed.
struct Pair<'a> {
    cell: &'a Cell,
    first: &'a PooledTrial,
    second: &'a PooledTrial,
}

impl Pair<'_> {
    fn passes(&self) -> (bool, bool) {
        let passes = |trial: &PooledTrial| trial.record.status == TrialStatus::Pass;
        (passes(self.first), passes(self.second))
    }

    /// Which prompt it is about, as the first side has it.
    fn prompt(&self) -> &str {
        &self.first.record.coordinates.prompt_id
    }
}

/// Holds the second side against the first, and says in which coordinates they have nothing in common.
pub(super) fn contrast(
    sides: &Sides<'_>,
    gate: Gate,
) -> Result<(Contrast, Vec<GroupKey>), CompareError> {
    let (first, second, also) = cells(sides)?;
    let graded = |trial: &PooledTrial| trial.record.status != TrialStatus::Error;
    let (mut pairs, mut unpaired) = (Vec::new(), Unpaired::default());
    for (cell, one) in &first {
        match second.get(cell) {
            _ if !graded(one) => unpaired.baseline_errors.push(cell.clone()),
            None => unpaired.baseline_only.push(cell.clone()),
            Some(other) if !graded(other) => unpaired.candidate_errors.push(cell.clone()),
            Some(other) => pairs.push(Pair { cell, first: one, second: other }),
        }
    }
    let only = second.keys().filter(|cell| !first.contains_key(*cell)).cloned();
    unpaired.candidate_only = only.collect();
    if pairs.is_empty() {
        return Err(no_pairs(sides, &unpaired));
    }
    let mut contrast = measure(sides, &pairs, unpaired, gate);
    contrast.verdict = verdict(&contrast, gate);
    Ok((contrast, also))
}

fn no_pairs(sides: &Sides<'_>, unpaired: &Unpaired) -> CompareError {
    let Unpaired { baseline_only, candidate_only, baseline_errors, candidate_errors } = unpaired;
    CompareError::NoPairs {
        baseline: sides.baseline.clone(),
        candidate: sides.candidate.clone(),
        why: format!(
            "{} cells are in the first only, {} in the second only, {} are errors in the first, {} in \
             the second",
            baseline_only.len(),
            candidate_only.len(),
            baseline_errors.len(),
            candidate_errors.len()
        ),
    }
}

/// All figures; the verdict is that of an undecided comparison.
fn measure(sides: &Sides<'_>, pairs: &[Pair<'_>], unpaired: Unpaired, gate: Gate) -> Contrast {
    let mut table = PairTable { n: pairs.len() as u64, ..PairTable::default() };
    for pair in pairs {
        *match pair.passes() {
            (true, true) => &mut table.both_passed,
            (true, false) => &mut table.pass_to_fail,
            (false, true) => &mut table.fail_to_pass,
            (false, false) => &mut table.both_failed,
        } += 1;
    }
    // The difference is the candidate's rate less the baseline's, so the candidate comes first.
    let counts = Pairs {
        both: table.both_passed,
        first: table.fail_to_pass,
        second: table.pass_to_fail,
        neither: table.both_failed,
    };
    let (gained, lost) = (table.fail_to_pass, table.pass_to_fail);
    let plain = counts.difference(Z_95);
    let unit = Unit::of(pairs.iter().map(Pair::prompt));
    let changes = pairs.iter().map(|pair| {
        let (before, after) = pair.passes();
        (pair.prompt(), f64::from(i8::from(after) - i8::from(before)), 1)
    });
    let clusters = unit.clusters(changes);
    let clustered = clustered_difference(&counts, &clusters).filter(|_| unit == Unit::Prompts);
    let low = clustered.or(plain).map_or(-1.0, |(_, interval)| interval.low);
    let rate = number(table.both_passed + lost) / number(table.n);
    let prompts: BTreeSet<&str> = pairs.iter().map(Pair::prompt).collect();
    Contrast {
        name: sides.name.clone(),
        baseline: sides.baseline.clone(),
        candidate: sides.candidate.clone(),
        verdict: CompareVerdict::NoDifferenceShown,
        pairs: table,
        prompts: prompts.len() as u64,
        difference: plain.map(|(difference, _)| tidy(difference)),
        interval: plain
            .map(|(_, found)| interval(found, IntervalMethod::Newcombe, table.n, "pairs")),
        clustered: clustered.map(|(_, found)| {
            interval(found, IntervalMethod::NewcombeClustered, clusters.len() as u64, unit.as_str())
        }),
        p_value: (gained + lost > 0).then(|| tidy(sign_test(gained, lost))),
        adjusted_p: None,
        needed: least_decisive(gained.min(lost), gate.level),
        non_inferiority: gate.margin.map(|margin| NonInferiority {
            margin,
            low: tidy(low),
            shown: low > -margin,
            pairs_needed: least_for_margin(rate, margin),
        }),
        flips: pairs.iter().filter_map(flip).collect(),
        metrics: Metric::COMPARED.iter().map(|metric| compared(*metric, pairs)).collect(),
        unpaired,
    }
}

/// What the figures come to.
pub(super) fn verdict(contrast: &Contrast, gate: Gate) -> CompareVerdict {
    let p = contrast.adjusted_p.filter(|_| contrast.p_value.is_some()).or(contrast.p_value);
    let told = p.is_some_and(|p| p <= gate.level);
    let rises = contrast.pairs.fail_to_pass > contrast.pairs.pass_to_fail;
    let unpaired = &contrast.unpaired;
    let alone = (unpaired.baseline_only.len() + unpaired.candidate_errors.len()) as u64;
    if alone > contrast.pairs.n {
        // What is missing cannot undo what was seen.
        return if told && !rises { CompareVerdict::Worse } else { CompareVerdict::Incomplete };
    }
    match (told, rises, contrast.non_inferiority.map(|gate| gate.shown)) {
        (true, true, _) => CompareVerdict::Better,
        (_, _, Some(true)) => CompareVerdict::NotInferior,
        (true, false, _) => CompareVerdict::Worse,
        (false, _, Some(false)) => CompareVerdict::NotShown,
        (false, _, None) => CompareVerdict::NoDifferenceShown,
    }
}

/// The pair as a cell that came out differently; `None` when it did not.
fn flip(pair: &Pair<'_>) -> Option<Flip> {
    if pair.first.record.status == pair.second.record.status {
        return None;
    }
    Some(Flip {
        cell: pair.cell.clone(),
        from: pair.first.record.status.to_string(),
        to: pair.second.record.status.to_string(),
        baseline_trial: pair.first.record.run_id.clone(),
        candidate_trial: pair.second.record.run_id.clone(),
        tests: changed_tests(&pair.first.record, &pair.second.record),
    })
}

/// The tests and checks that passed in one trial and failed in the other.
fn changed_tests(first: &TrialRecord, second: &TrialRecord) -> Vec<String> {
    let answers = |record: &TrialRecord| -> BTreeMap<String, bool> {
        let scripts = record.tests.iter().filter_map(|test| match test.status {
            TestStatus::Passed => Some((test.name.clone(), true)),
            TestStatus::Failed => Some((test.name.clone(), false)),
            TestStatus::EvidenceError | TestStatus::Error | TestStatus::Skipped => None,
        });
        let checks = record.graded.iter().filter_map(|check| match check.status {
            GradedStatus::Passed => Some((check.name.clone(), true)),
            GradedStatus::Failed => Some((check.name.clone(), false)),
            GradedStatus::Error | GradedStatus::Skipped | GradedStatus::Unknown => None,
        });
        scripts.chain(checks).collect()
    };
    let (before, after) = (answers(first), answers(second));
    let changed = before
        .into_iter()
        .filter(|(name, passed)| after.get(name).is_some_and(|answer| answer != passed));
    changed.map(|(name, _)| name).collect()
}

/// The means of a metric over the pairs in which both sides report it.
fn compared(metric: Metric, pairs: &[Pair<'_>]) -> ComparedMetric {
    let both: Vec<(&str, f64, f64)> = pairs
        .iter()
        .filter_map(|pair| {
            let (one, other) = (metric.of(&pair.first.record), metric.of(&pair.second.record));
            (one.count > 0 && other.count > 0).then(|| (pair.prompt(), one.sum, other.sum))
        })
        .collect();
    let n = number(both.len() as u64);
    let mean = |sum: f64| (n > 0.0).then(|| tidy(sum / n));
    let unit = Unit::of(both.iter().map(|(prompt, ..)| *prompt));
    let clusters: Vec<Cluster> =
        unit.clusters(both.iter().map(|(prompt, one, other)| (*prompt, other - one, 1)));
    let name = match unit {
        Unit::Prompts => "prompts",
        Unit::Trials => "pairs",
    };
    let (interval, undefined) = if both.is_empty() {
        (None, Some("no pair has it on both sides".to_owned()))
    } else {
        mean_interval(&clusters, name)
    };
    ComparedMetric {
        metric: metric.to_string(),
        unit: metric.unit(),
        n: both.len() as u64,
        baseline: mean(both.iter().map(|(_, one, _)| one).sum()),
        candidate: mean(both.iter().map(|(.., other)| other).sum()),
        difference: mean_of(&clusters).map(tidy),
        interval,
        undefined,
    }
}
