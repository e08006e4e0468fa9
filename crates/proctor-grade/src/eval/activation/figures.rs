//! The figures of one skill.

use std::collections::BTreeMap;

use proctor_model::eval::activation::{NO_WINNER, Rate, RateInterval};
use proctor_model::eval::protocol::CaseResult;
use proctor_model::eval::{
    ActivationStatus, ExpandedCase, PromptActivation, PromptStatus, SkillActivation, StolenBy,
};

use super::status::status;
use crate::eval::round::{float, rate, round4};
use crate::stats::wilson;

/// The normal quantile of an interval of 95 %, as the format rounds it.
const Z: f64 = 1.96;

/// The rank up to which a skill counts for the second recall figure.
const NEAR_THE_TOP: u64 = 3;

/// What is measured of one skill.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// The skill.
    pub skill: &'a str,
    /// Its cases, near misses included. Only prompt and expectation count.
    pub cases: &'a [ExpandedCase],
    /// The share of its prompts, 0 to 1, that must pass.
    pub threshold: f64,
}

/// What a skill came to; the fields are those of [`SkillActivation`].
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Whether enough of its prompts passed; at least one must.
    pub passing: bool,
    /// Of the prompts that fired it.
    pub precision: Option<Rate>,
    /// Of the prompts that should fire it.
    pub recall: Option<Rate>,
    /// Of the prompts that should not.
    pub false_activation: Option<Rate>,
    /// Of the runs of prompts that should fire it; of [`fired`] only.
    pub run_recall: Option<Rate>,
    /// Of the runs of prompts that should not; of [`fired`] only.
    pub run_false_activation: Option<Rate>,
    /// Of [`ranked`] only, as are the next two.
    pub recall_at_1: Option<f64>,
    /// Share of the prompts that should fire it for which it was among the first three.
    pub recall_at_3: Option<f64>,
    /// Mean of one over its rank.
    pub mrr: Option<f64>,
    /// Cases of which more was written than took part.
    pub ignored: u64,
    /// The prompts, in the order of the cases.
    pub prompts: Vec<PromptActivation>,
    /// Who won prompts that should fire it.
    pub stolen_by: Vec<StolenBy>,
    /// Why there are no figures: a prompt without a result.
    pub error: Option<String>,
}

impl Figures {
    /// Whether they say something about the skill rather than its surroundings: only such ones are
    /// kept.
    pub fn is_storable(&self) -> bool {
        self.error.is_none() && !self.prompts.is_empty()
    }

    /// Puts them into the report of the skill, with its status. `saved_runs` is how many planned runs
    /// were left out since the verdict of their prompt was [`super::settled`].
    pub fn fill(self, saved_runs: u64, report: &mut SkillActivation) {
        report.status =
            if self.error.is_some() { ActivationStatus::Error } else { ActivationStatus::Ran };
        report.passing = self.passing;
        report.precision = self.precision;
        report.recall = self.recall;
        report.false_activation = self.false_activation;
        report.recall_at_1 = self.recall_at_1;
        report.recall_at_3 = self.recall_at_3;
        report.mrr = self.mrr;
        report.ignored = self.ignored;
        report.prompts = self.prompts;
        report.stolen_by = self.stolen_by;
        report.error = self.error;
        report.saved_runs = saved_runs;
        if saved_runs == 0 {
            report.run_recall = self.run_recall;
            report.run_false_activation = self.run_false_activation;
        } else if report.error.is_none() {
            report.warnings.push(
                "there are no rates over runs: prompts that were settled early have fewer of them, \
                 which would make these rates look better than they are"
                    .to_owned(),
            );
        }
    }
}

/// `part` of `whole` with its interval; `None` of nothing.
pub fn proportion(part: u64, whole: u64) -> Option<Rate> {
    Some(Rate { value: rate(part, whole)?, n: whole, interval: interval(part, whole)? })
}

fn interval(part: u64, whole: u64) -> Option<RateInterval> {
    let interval = wilson(part, whole, Z)?;
    Some(RateInterval { low: round4(interval.low), high: round4(interval.high) })
}

/// The figures from one ranking a case, best first: ids of skills with their scores. A skill fires
/// when it is first.
pub fn ranked(subject: &Subject<'_>, rankings: &[Vec<(&str, f64)>]) -> Figures {
    let mut rankings = rankings.iter();
    let prompts = subject.cases.iter().map(|case| {
        let hits = rankings.next().map_or(&[][..], Vec::as_slice);
        let rank = (1..).zip(hits).find(|(_, (id, _))| *id == subject.skill).map(|(rank, _)| rank);
        let fires = u64::from(rank == Some(1));
        PromptActivation {
            rate: float(fires),
            runs: 1,
            rank,
            winner: hits.first().map_or(NO_WINNER, |(id, _)| *id).to_owned(),
            top_score: hits.first().map_or(0.0, |(_, score)| *score),
            status: status(case.expect_trigger, fires, 1),
            ..unmeasured(case)
        }
    });
    let mut figures = figures(subject, prompts.collect());
    let (mut first, mut near, mut sum) = (0, 0, 0.0);
    for rank in figures.prompts.iter().filter(|prompt| prompt.expect).filter_map(|p| p.rank) {
        first += u64::from(rank == 1);
        near += u64::from(rank <= NEAR_THE_TOP);
        sum += 1.0 / float(rank);
    }
    let positives = positives(&figures.prompts);
    figures.recall_at_1 = rate(first, positives);
    figures.recall_at_3 = rate(near, positives);
    figures.mrr = (positives > 0).then(|| round4(sum / float(positives)));
    figures
}

/// The figures from what a runner answered, checked against its request. Of repeated results for a
/// case the last counts. A prompt without a usable result leaves the skill without figures.
pub fn fired(subject: &Subject<'_>, results: &[CaseResult]) -> Figures {
    let by_case: BTreeMap<&str, &CaseResult> =
        results.iter().map(|result| (result.case.as_str(), result)).collect();
    let prompts = subject
        .cases
        .iter()
        .map(|case| prompt_fired(subject.skill, case, by_case.get(case.id.as_str()).copied()));
    let mut figures = figures(subject, prompts.collect());
    if figures.error.is_none() {
        let pooled = |expect: bool| {
            let prompts = figures.prompts.iter().filter(|prompt| prompt.expect == expect);
            let (fires, runs) = prompts.fold((0, 0), |(fires, runs), prompt| {
                (fires + fires_of(prompt, subject.skill), runs + prompt.runs)
            });
            proportion(fires, runs)
        };
        (figures.run_recall, figures.run_false_activation) = (pooled(true), pooled(false));
    }
    figures
}

/// A prompt of which nothing is known but its case.
fn unmeasured(case: &ExpandedCase) -> PromptActivation {
    PromptActivation {
        case: case.id.clone(),
        expect: case.expect_trigger,
        near_miss: case.near_miss_of.is_some(),
        rate: 0.0,
        runs: 0,
        errored_runs: 0,
        rank: None,
        winner: NO_WINNER.to_owned(),
        top_score: 0.0,
        status: PromptStatus::Error,
        interval: None,
        fired_counts: None,
        error: None,
    }
}

fn prompt_fired(skill: &str, case: &ExpandedCase, result: Option<&CaseResult>) -> PromptActivation {
    let runs = count(result.and_then(|result| result.runs));
    let errored_runs = count(result.and_then(|result| result.errored_runs));
    let prompt = PromptActivation { runs, errored_runs, ..unmeasured(case) };
    let broken = |error: String| PromptActivation { error: Some(error), ..prompt.clone() };
    let Some(result) = result else {
        return broken("the runner gave no result".to_owned());
    };
    if let Some(error) = result.failure() {
        return broken(error.to_owned());
    }
    if result.is_skipped() {
        let why = result.reason.as_deref().filter(|reason| !reason.is_empty());
        return broken(format!("the runner skipped it: {}", why.unwrap_or("it says no reason")));
    }
    if errored_runs > runs || runs == 0 {
        return broken(format!("{errored_runs} of {} runs failed", runs + errored_runs));
    }
    let counts = result.fired_counts.iter().flatten();
    let counts: BTreeMap<String, u64> =
        counts.map(|(id, fires)| (id.clone(), count(Some(*fires)).min(runs))).collect();
    let fires = counts.get(skill).copied().unwrap_or(0);
    PromptActivation {
        rate: rate(fires, runs).unwrap_or(0.0),
        winner: most_fired(&counts, skill).to_owned(),
        status: status(case.expect_trigger, fires, runs),
        interval: interval(fires, runs),
        fired_counts: Some(counts),
        ..prompt
    }
}

/// A count that a runner reported; a negative one has been refused before.
fn count(reported: Option<i64>) -> u64 {
    reported.and_then(|count| u64::try_from(count).ok()).unwrap_or(0)
}

/// The skill that fired most often, of equals `subject`, else the lowest id. Runs in which none did
/// have no say.
fn most_fired<'a>(counts: &'a BTreeMap<String, u64>, subject: &str) -> &'a str {
    let fired = counts.iter().filter(|(id, fires)| *id != NO_WINNER && **fires > 0);
    let key = |(id, fires): &(&String, &u64)| (**fires, *id == subject);
    // Of equals `max_by_key` takes the last, so from the end.
    fired.rev().max_by_key(key).map_or(NO_WINNER, |(id, _)| id)
}

fn fires_of(prompt: &PromptActivation, skill: &str) -> u64 {
    prompt.fired_counts.as_ref().and_then(|counts| counts.get(skill)).copied().unwrap_or(0)
}

fn positives(prompts: &[PromptActivation]) -> u64 {
    prompts.iter().filter(|prompt| prompt.expect).count() as u64
}

/// What both surfaces have in common.
fn figures(subject: &Subject<'_>, prompts: Vec<PromptActivation>) -> Figures {
    let count = |holds: &dyn Fn(&PromptActivation) -> bool| {
        prompts.iter().filter(|prompt| holds(prompt)).count() as u64
    };
    let is_good = |prompt: &PromptActivation| {
        matches!(prompt.status, PromptStatus::Passed | PromptStatus::Borderline)
    };
    let total = prompts.len() as u64;
    let positives = positives(&prompts);
    let hits = count(&|prompt| prompt.expect && is_good(prompt));
    let false_alarms = count(&|prompt| !prompt.expect && !is_good(prompt));
    let good = count(&|prompt| is_good(prompt));
    let broken = count(&|prompt| prompt.status == PromptStatus::Error);
    let ignored =
        subject.cases.iter().filter(|case| !case.files.is_empty() || !case.is_trigger_only());
    let scored = Figures {
        passing: good > 0 && float(good) / float(total) >= subject.threshold,
        precision: proportion(hits, hits + false_alarms),
        recall: proportion(hits, positives),
        false_activation: proportion(false_alarms, total - positives),
        run_recall: None,
        run_false_activation: None,
        recall_at_1: None,
        recall_at_3: None,
        mrr: None,
        ignored: ignored.count() as u64,
        stolen_by: stolen_by(subject.skill, &prompts, positives),
        prompts,
        error: None,
    };
    if broken == 0 {
        return scored;
    }
    let prompts = if total == 1 { "prompt" } else { "prompts" };
    Figures {
        passing: false,
        precision: None,
        recall: None,
        false_activation: None,
        stolen_by: Vec::new(),
        error: Some(format!(
            "{broken} of {total} {prompts} have no result, so the skill is not scored"
        )),
        ..scored
    }
}

fn stolen_by(skill: &str, prompts: &[PromptActivation], positives: u64) -> Vec<StolenBy> {
    let mut won: BTreeMap<&str, u64> = BTreeMap::new();
    let lost = prompts.iter().filter(|p| p.expect && p.status == PromptStatus::Failed);
    for winner in lost.map(|prompt| prompt.winner.as_str()) {
        if winner != skill && winner != NO_WINNER {
            *won.entry(winner).or_default() += 1;
        }
    }
    let mut thieves: Vec<StolenBy> = won
        .into_iter()
        .map(|(skill, prompts)| StolenBy {
            skill: skill.to_owned(),
            prompts,
            share: rate(prompts, positives).unwrap_or(0.0),
        })
        .collect();
    // Stable: of equals the lower id stays before the higher.
    thieves.sort_by_key(|thief| std::cmp::Reverse(thief.prompts));
    thieves
}

/// Over the prompts that should fire each of the skills: how often each skill was chosen, and none;
/// prompts of a ranking, runs of a harness. Skills that were not measured have no row.
pub fn confusion(skills: &[SkillActivation]) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut rows: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for skill in skills.iter().filter(|skill| skill.status == ActivationStatus::Ran) {
        for prompt in skill.prompts.iter().filter(|prompt| prompt.expect) {
            let row = rows.entry(skill.id.clone()).or_default();
            match &prompt.fired_counts {
                None => *row.entry(prompt.winner.clone()).or_default() += 1,
                Some(counts) => {
                    for (id, fires) in counts.iter().filter(|(_, fires)| **fires > 0) {
                        *row.entry(id.clone()).or_default() += fires;
                    }
                }
            }
        }
    }
    rows
}
