//! Two runs, or the values of a key, held against each other.

use std::collections::BTreeSet;

use proctor_model::measure::{
    COMPARISON_VERSION, CompareVerdict, ComparisonReport, Contrast, IntervalMethod,
};
use proctor_model::run::TestRecord;

use super::contrast::{Sides, contrast};
use super::key::{Filter, GroupKey};
use super::pool::{Pool, PooledTrial, list};
use crate::stats::holm;

/// What a comparison must show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    /// From which p-value on a difference is put down to chance.
    pub level: f64,
    /// How much worse the candidate may be, as a share; `None` asks only that it is not shown to be
    /// worse.
    pub margin: Option<f64>,
}

/// Why there is nothing to compare.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// No cell has a result on both sides.
    #[error("no cell of {baseline} and {candidate} has a result on both sides: {why}")]
    NoPairs {
        /// The first side.
        baseline: String,
        /// The second side.
        candidate: String,
        /// What there is instead.
        why: String,
    },
    /// A cell has several trials on one side.
    #[error("{side} has several trials for {cell}; they differ in {differ}")]
    SeveralInOneCell {
        /// The side.
        side: String,
        /// The cell.
        cell: String,
        /// What tells them apart.
        differ: String,
    },
    /// Values of such a key are no ways of doing the same.
    #[error("{0} comes out of a trial or numbers it: trials cannot be compared by it")]
    NotAWay(GroupKey),
    /// There is no second value.
    #[error("all trials have the same {key}: {value}")]
    OneValue {
        /// The key.
        key: GroupKey,
        /// The value.
        value: String,
    },
}

/// Holds `candidate` against `baseline`, cell by cell: all trials, and those of each group of variants
/// that differ in nothing but the prompt.
pub fn runs_against(
    baseline: (&str, &Pool),
    candidate: (&str, &Pool),
    filters: &[Filter],
    gate: Gate,
) -> Result<ComparisonReport, CompareError> {
    let ((first_name, first), (second_name, second)) = (baseline, candidate);
    let sides = Sides {
        name: "all".to_owned(),
        baseline: first_name.to_owned(),
        candidate: second_name.to_owned(),
        first: first.trials.iter().collect(),
        second: second.trials.iter().collect(),
        key: None,
    };
    let (whole, also) = contrast(&sides, gate)?;
    let mut contrasts = vec![whole];
    let arms: BTreeSet<String> =
        first.trials.iter().chain(&second.trials).map(|trial| arm(trial, &also)).collect();
    if arms.len() > 1 {
        let mut parts = Vec::new();
        for name in arms {
            let of = |trial: &&PooledTrial| arm(trial, &also) == name;
            let sides = Sides {
                first: first.trials.iter().filter(of).collect(),
                second: second.trials.iter().filter(of).collect(),
                name,
                ..sides.clone()
            };
            match contrast(&sides, Gate { margin: None, ..gate }) {
                Ok((part, _)) => parts.push(part),
                // Of one side only: its cells are listed under `all`.
                Err(CompareError::NoPairs { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        correct(&mut parts, gate);
        contrasts.append(&mut parts);
    }
    let mut warnings = [&first.notes[..], &second.notes[..]].concat();
    warn_of_making(first, second, &mut warnings);
    warn(&sides, &also, &mut warnings);
    Ok(report(&sides, None, filters, gate, contrasts, warnings))
}

/// What a trial is beside its prompt and `also`, in which the sides differ anyway.
fn arm(trial: &PooledTrial, also: &[GroupKey]) -> String {
    let keys = GroupKey::COORDINATES.into_iter();
    let keys = keys.filter(|key| *key != GroupKey::Prompt && !also.contains(key));
    keys.filter_map(|key| key.of(trial)).collect::<Vec<_>>().join("::")
}

/// Holds trials with other values of `key` against those with the value `baseline`, or with the first
/// one; `against` names the others, or nothing for all of them. The values are known to exist.
pub fn against_values(
    (name, pool): (&str, &Pool),
    filters: &[Filter],
    key: GroupKey,
    baseline: Option<Filter>,
    against: &[Filter],
    gate: Gate,
) -> Result<ComparisonReport, CompareError> {
    if matches!(key, GroupKey::Status | GroupKey::ExitReason | GroupKey::Repeat) {
        return Err(CompareError::NotAWay(key));
    }
    let values: Vec<Filter> =
        pool.values(key).into_iter().map(|value| Filter { key, value }).collect();
    let first = baseline.or_else(|| values.first().cloned());
    let first = first.unwrap_or(Filter { key, value: None });
    let others: Vec<Filter> = if against.is_empty() {
        values.into_iter().filter(|value| *value != first).collect()
    } else {
        against.iter().filter(|value| **value != first).cloned().collect()
    };
    if others.is_empty() {
        return Err(CompareError::OneValue { key, value: first.word().to_owned() });
    }
    let of = |value: &Filter| {
        pool.trials.iter().filter(|trial| key.of(trial) == value.value).collect::<Vec<_>>()
    };
    let mut contrasts = Vec::new();
    let mut warnings = pool.notes.clone();
    let mut sides = Sides {
        name: name.to_owned(),
        baseline: first.word().to_owned(),
        candidate: String::new(),
        first: of(&first),
        second: Vec::new(),
        key: Some(key),
    };
    for other in &others {
        other.word().clone_into(&mut sides.candidate);
        sides.second = of(other);
        let (one, also) = contrast(&sides, gate)?;
        contrasts.push(one);
        warn(&sides, &also, &mut warnings);
    }
    correct(&mut contrasts, gate);
    if let [_, _, ..] = &others[..] {
        sides.candidate = others.iter().map(Filter::word).collect::<Vec<_>>().join(", ");
    }
    Ok(report(&sides, Some(key), filters, gate, contrasts, warnings))
}

/// Corrects p-values for their number, and the verdicts with them.
fn correct(contrasts: &mut [Contrast], gate: Gate) {
    if contrasts.len() < 2 {
        return;
    }
    let raw: Vec<f64> = contrasts.iter().map(|one| one.p_value.unwrap_or(1.0)).collect();
    for (contrast, adjusted) in contrasts.iter_mut().zip(holm(&raw)) {
        contrast.adjusted_p = Some(super::tidy(adjusted));
        contrast.verdict = super::contrast::verdict(contrast, gate);
    }
}

fn report(
    sides: &Sides<'_>,
    by: Option<GroupKey>,
    filters: &[Filter],
    gate: Gate,
    contrasts: Vec<Contrast>,
    warnings: Vec<String>,
) -> ComparisonReport {
    let worst = contrasts.iter().map(|one| one.verdict).max();
    // Parts of two runs can take a verdict away from the whole, and add none to it.
    let verdict = match (by, contrasts.first(), worst) {
        (None, Some(whole), Some(CompareVerdict::Worse)) if whole.verdict.holds() => {
            CompareVerdict::Worse
        }
        (None, Some(whole), _) => whole.verdict,
        (Some(_), _, worst) => worst.unwrap_or(CompareVerdict::Incomplete),
        (None, None, _) => CompareVerdict::Incomplete,
    };
    ComparisonReport {
        schema_version: COMPARISON_VERSION,
        baseline: sides.baseline.clone(),
        candidate: sides.candidate.clone(),
        by: by.map(|key| key.to_string()),
        filters: filters.iter().map(ToString::to_string).collect(),
        level: gate.level,
        margin: gate.margin,
        verdict,
        conclusion: conclusion(&contrasts, by),
        contrasts,
        warnings,
    }
}

/// One sentence about all contrasts.
fn conclusion(contrasts: &[Contrast], by: Option<GroupKey>) -> String {
    let Some((first, rest)) = contrasts.split_first() else { return String::new() };
    let told =
        |one: &&Contrast| matches!(one.verdict, CompareVerdict::Better | CompareVerdict::Worse);
    let short = |one: &Contrast, name: &str| {
        format!("`{name}` is {} ({}, {})", one.verdict, points(one), p_value(one))
    };
    match by {
        None => {
            let parts: Vec<String> =
                rest.iter().filter(told).map(|one| short(one, &one.name)).collect();
            let parts = if parts.is_empty() {
                String::new()
            } else {
                format!("; of its parts, {}", parts.join(", "))
            };
            format!("{}{parts}.", sentence(first))
        }
        Some(_) if rest.is_empty() => format!("{}.", sentence(first)),
        Some(key) => {
            let open = |one: &&Contrast| one.verdict == CompareVerdict::NoDifferenceShown;
            let (all, others) = (contrasts.len(), contrasts.iter().filter(open).count());
            let known = contrasts.iter().filter(|one| !open(one));
            let known: Vec<String> = known.map(|one| short(one, &one.candidate)).collect();
            let base = &first.baseline;
            match others {
                0 => format!("Compared with `{base}`, {}.", known.join(", ")),
                _ if known.is_empty() => format!(
                    "None of {all} values of {key} can be ranked above or below `{base}`: chance \
                     explains the differences."
                ),
                _ => format!(
                    "Compared with `{base}`, {}; {others} of {all} cannot be ranked.",
                    known.join(", ")
                ),
            }
        }
    }
}

/// What one contrast says, without a full stop.
fn sentence(one: &Contrast) -> String {
    let (a, b) = (&one.baseline, &one.candidate);
    let numbers = format!("{} over {} pairs, {}", points(one), one.pairs.n, p_value(one));
    let wide = match (&one.clustered, one.verdict) {
        (Some(interval), CompareVerdict::Better | CompareVerdict::Worse)
            if interval.low <= 0.0 && interval.high >= 0.0 =>
        {
            format!("; it holds for these {} prompts, and may not hold for others", one.prompts)
        }
        _ => String::new(),
    };
    match one.verdict {
        CompareVerdict::Better => format!("`{b}` passes more often than `{a}`: {numbers}{wide}"),
        CompareVerdict::Worse => format!("`{b}` passes less often than `{a}`: {numbers}{wide}"),
        CompareVerdict::NoDifferenceShown => format!(
            "No difference between `{a}` and `{b}` is shown, so neither ranks above the other: {numbers}"
        ),
        CompareVerdict::NotInferior => {
            format!("`{b}` is not worse than `{a}` by more than {}: {numbers}", margin(one))
        }
        CompareVerdict::NotShown => {
            let needed = one.non_inferiority.and_then(|gate| gate.pairs_needed);
            let needed = needed
                .filter(|needed| *needed > one.pairs.n)
                .map(|needed| format!("; two equal sides need {needed} pairs to show it"));
            format!(
                "It is not shown that `{b}` is at most {} worse than `{a}`: {numbers}{}",
                margin(one),
                needed.unwrap_or_default()
            )
        }
        CompareVerdict::Incomplete => format!(
            "Fewer than half of the cells with a result in `{a}` have one in `{b}` too (pairs: {}): too \
             little to compare",
            one.pairs.n
        ),
    }
}

fn margin(one: &Contrast) -> String {
    let margin = one.non_inferiority.map_or(0.0, |gate| gate.margin);
    format!("{} points", short_number(margin * 100.0))
}

fn short_number(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

fn points(one: &Contrast) -> String {
    let Some(difference) = one.difference else { return "no pairs".to_owned() };
    let interval = one.clustered.as_ref().or(one.interval.as_ref()).map(|interval| {
        let by = match interval.method {
            IntervalMethod::NewcombeClustered => " by prompt",
            _ => "",
        };
        format!(" (95 %{by}: {:+.1} to {:+.1})", interval.low * 100.0, interval.high * 100.0)
    });
    format!("{:+.1} points{}", difference * 100.0, interval.unwrap_or_default())
}

fn p_value(one: &Contrast) -> String {
    match one.adjusted_p.filter(|_| one.p_value.is_some()).map(|p| (p, "adjusted p")) {
        Some((p, name)) => format!("{name} {}", p_text(p)),
        None => one.p_value.map_or("no pair differs".to_owned(), |p| format!("p {}", p_text(p))),
    }
}

fn p_text(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("= {p:.3}") }
}

fn warn_of_making(first: &Pool, second: &Pool, warnings: &mut Vec<String>) {
    let both = |one: &BTreeSet<bool>, other: &BTreeSet<bool>| !one.is_empty() && !other.is_empty();
    if both(&first.played, &second.played) && first.played != second.played {
        let note = "the agents of one side were played, those of the other were not";
        warnings.push(note.to_owned());
    }
    if !first.versions.is_empty()
        && !second.versions.is_empty()
        && first.versions != second.versions
    {
        let words = |pool: &Pool| pool.versions.iter().cloned().collect::<Vec<_>>().join(", ");
        warnings.push(format!(
            "the sides were made by different versions of proctor: {} and {}",
            words(first),
            words(second)
        ));
    }
}

/// Notes what differs beside what is compared.
fn warn(sides: &Sides<'_>, also: &[GroupKey], warnings: &mut Vec<String>) {
    let (a, b) = (&sides.baseline, &sides.candidate);
    for key in also.iter().filter(|key| Some(**key) != sides.key) {
        let words = |trials: &[&PooledTrial]| {
            let values: BTreeSet<String> =
                trials.iter().map(|trial| key.of(trial).unwrap_or("none".to_owned())).collect();
            list(&values.iter().map(String::as_str).collect::<Vec<_>>())
        };
        let (one, other) = (words(&sides.first), words(&sides.second));
        warnings.push(format!("`{a}` and `{b}` also differ in {key}: {one} and {other}"));
    }
    let variants = |trials: &[&PooledTrial]| -> BTreeSet<(String, String)> {
        let known = trials.iter().filter(|trial| !trial.record.fingerprint.is_empty());
        known
            .map(|trial| (trial.record.variant_id.clone(), trial.record.fingerprint.clone()))
            .collect()
    };
    let (one, other) = (variants(&sides.first), variants(&sides.second));
    let changed: BTreeSet<&str> = one
        .iter()
        .filter(|(id, print)| other.iter().any(|(its, prints)| its == id && prints != print))
        .map(|(id, _)| id.as_str())
        .collect();
    if !changed.is_empty() {
        let changed = list(&changed.into_iter().collect::<Vec<_>>());
        warnings.push(format!(
            "the fingerprints of {changed} differ: prompts, files, setups or tests are not the same"
        ));
    }
    warn_of_tests(sides, warnings);
    warn_of_isolation(sides, warnings);
}

fn warn_of_tests(sides: &Sides<'_>, warnings: &mut Vec<String>) {
    let tests = |trials: &[&PooledTrial]| -> BTreeSet<String> {
        let of = |trial: &&PooledTrial| {
            let scripts = trial.record.tests.iter().map(|test: &TestRecord| test.name.clone());
            let checks = trial.record.graded.iter().map(|check| check.name.clone());
            scripts.chain(checks).collect::<Vec<_>>()
        };
        trials.iter().flat_map(of).collect()
    };
    let (one, other) = (tests(&sides.first), tests(&sides.second));
    let (a, b) = (&sides.baseline, &sides.candidate);
    for (side, mine, theirs) in [(a, &one, &other), (b, &other, &one)] {
        let only: Vec<&str> = mine.difference(theirs).map(String::as_str).collect();
        if !only.is_empty() && !theirs.is_empty() {
            warnings.push(format!("only `{side}` has the tests {}", list(&only)));
        }
    }
}

fn warn_of_isolation(sides: &Sides<'_>, warnings: &mut Vec<String>) {
    let levels = |trials: &[&PooledTrial]| -> BTreeSet<&'static str> {
        let of = |trial: &&PooledTrial| Some(trial.record.isolation.as_ref()?.level.as_str());
        trials.iter().filter_map(of).collect()
    };
    let (one, other) = (levels(&sides.first), levels(&sides.second));
    if !one.is_empty() && !other.is_empty() && one != other {
        let words =
            |levels: BTreeSet<&'static str>| levels.into_iter().collect::<Vec<_>>().join(", ");
        warnings.push(format!(
            "trials were kept apart in different ways: {} and {}",
            words(one),
            words(other)
        ));
    }
}
