//! The trials that a question is about.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::run::{RunPlan, TrialRecord};

use super::key::{Filter, GroupKey};

/// Trials of one run, or of several of one experiment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pool {
    /// The runs, the earliest first.
    pub runs: Vec<String>,
    /// Their finished trials.
    pub trials: Vec<PooledTrial>,
    /// What a reader should know about the choice.
    pub notes: Vec<String>,
    /// Whether agents were played: what holds for some of the runs.
    pub played: BTreeSet<bool>,
    /// The versions of Proctor that made the runs, as far as they are known.
    pub versions: BTreeSet<String>,
}

/// A finished trial.
#[derive(Debug, Clone, PartialEq)]
pub struct PooledTrial {
    /// Its run.
    pub run_id: String,
    /// Which repetition of its variant, from 0: that of its run, or its place in several runs.
    pub repeat: u32,
    /// What it came to.
    pub record: TrialRecord,
}

impl Pool {
    /// The trials of one run.
    pub fn of_run(plan: &RunPlan, records: Vec<TrialRecord>) -> Self {
        let mut pool = Self::of_records(&plan.run_id, records);
        pool.made_by(plan);
        pool
    }

    fn made_by(&mut self, plan: &RunPlan) {
        self.played.insert(plan.options.mock);
        self.versions.insert(plan.proctor_version.clone());
    }

    /// Trials that belong to the run `run_id`.
    pub fn of_records(run_id: &str, records: Vec<TrialRecord>) -> Self {
        let trials = records.into_iter().map(|record| PooledTrial {
            run_id: run_id.to_owned(),
            repeat: record.repeat_idx,
            record,
        });
        Self { runs: vec![run_id.to_owned()], trials: trials.collect(), ..Self::default() }
    }

    /// The trials of all runs of one experiment, the earliest run first. What says nothing about an
    /// agent, or says it twice, is left out: runs without agents, runs of played agents beside real
    /// ones, and trials that were tested again later.
    pub fn of_experiment(runs: Vec<(RunPlan, Vec<TrialRecord>)>) -> Self {
        let mut notes = Vec::new();
        let (mut runs, left): (Vec<_>, Vec<_>) =
            runs.into_iter().partition(|(plan, _)| !plan.options.check_only);
        leave_out(&left, "made for setups and checks alone", &mut notes);
        if runs.iter().any(|(plan, _)| !plan.options.mock) {
            let left;
            (runs, left) = runs.into_iter().partition(|(plan, _)| !plan.options.mock);
            leave_out(&left, "in which every agent was played", &mut notes);
        }
        let newest = newest(&runs);
        let (mut pool, mut replaced) = (Self::default(), 0);
        let mut repeats: BTreeMap<String, u32> = BTreeMap::new();
        let several = runs.len() > 1;
        for (plan, records) in &runs {
            pool.runs.push(plan.run_id.clone());
            pool.made_by(plan);
            for record in records {
                let key = (root(plan, &runs), record.variant_id.as_str(), record.repeat_idx);
                if newest.get(&key) != Some(&plan.run_id.as_str()) {
                    replaced += 1;
                    continue;
                }
                let next = repeats.entry(record.variant_id.clone()).or_default();
                let repeat = if several { *next } else { record.repeat_idx };
                *next += 1;
                let run_id = plan.run_id.clone();
                pool.trials.push(PooledTrial { run_id, repeat, record: record.clone() });
            }
        }
        if replaced > 0 {
            notes.push(format!("{replaced} trials were tested again later; the later tests count"));
        }
        pool.notes = notes;
        pool.note_changes();
        pool
    }

    /// Leaves the trials that `filters` choose.
    ///
    /// # Errors
    ///
    /// When a value is that of no trial: the values that there are.
    pub fn narrow(&mut self, filters: &[Filter]) -> Result<(), String> {
        for filter in filters {
            let known = self.values(filter.key);
            if !known.contains(&filter.value) {
                let known: Vec<&str> =
                    known.iter().map(|value| value.as_deref().unwrap_or("none")).collect();
                let (key, word) = (filter.key, filter.word());
                return Err(format!("no trial has {key} `{word}`; there is {}", list(&known)));
            }
        }
        self.trials.retain(|trial| Filter::choose(filters, trial));
        Ok(())
    }

    /// The values of a key, in order.
    pub(super) fn values(&self, key: GroupKey) -> BTreeSet<Option<String>> {
        self.trials.iter().map(|trial| key.of(trial)).collect()
    }

    /// Notes variants that were not the same in all runs.
    fn note_changes(&mut self) {
        let mut fingerprints: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for trial in &self.trials {
            let record = &trial.record;
            fingerprints.entry(&record.variant_id).or_default().insert(&record.fingerprint);
        }
        let changed: Vec<&str> = fingerprints
            .into_iter()
            .filter(|(_, different)| different.len() > 1)
            .map(|(variant, _)| variant)
            .collect();
        if !changed.is_empty() {
            let note = format!(
                "the experiment changed between its runs: {} had different prompts, files or tests",
                list(&changed)
            );
            self.notes.push(note);
        }
    }
}

/// The first few of some words.
pub(super) fn list(words: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = words.iter().take(SHOWN).map(|word| format!("`{word}`")).collect::<Vec<_>>();
    let rest = words.len().saturating_sub(SHOWN);
    let more = if rest > 0 { format!(" and {rest} others") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

fn leave_out(left: &[(RunPlan, Vec<TrialRecord>)], what: &str, notes: &mut Vec<String>) {
    match left {
        [] => {}
        [(plan, _)] => notes.push(format!("run {} was left out: it was one {what}", plan.run_id)),
        several => notes.push(format!("{} runs were left out: {what}", several.len())),
    }
}

type Key<'a> = (&'a str, &'a str, u32);

/// The run that was tested again, and again, to come to this one.
fn root<'a>(plan: &'a RunPlan, runs: &'a [(RunPlan, Vec<TrialRecord>)]) -> &'a str {
    let mut id = plan.run_id.as_str();
    // A loop can only be made by hand.
    for _ in 0..runs.len() {
        let original = runs.iter().find(|(other, _)| other.run_id == id);
        match original.and_then(|(other, _)| other.retest_of.as_deref()) {
            Some(before) => id = before,
            None => break,
        }
    }
    id
}

/// For each trial of an agent, the latest run in which it was tested.
fn newest(runs: &[(RunPlan, Vec<TrialRecord>)]) -> BTreeMap<Key<'_>, &str> {
    let mut newest = BTreeMap::new();
    for (plan, records) in runs {
        for record in records {
            let key = (root(plan, runs), record.variant_id.as_str(), record.repeat_idx);
            newest.insert(key, plan.run_id.as_str());
        }
    }
    newest
}
