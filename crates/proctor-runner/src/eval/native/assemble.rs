//! Sessions put together: the answer of the runner.

use std::collections::{BTreeMap, BTreeSet};

use proctor_grade::eval::{ArmResult, majority};
use proctor_model::Usage;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult, PROTOCOL_VERSION, Response};

use super::trial::TrialEnd;
use crate::eval::runner::{Answer, JudgedRun};
use crate::money::tokens;

/// Warnings of one skill that are kept.
const MAX_WARNINGS: usize = 20;

/// How a session ended; `None` when it never began, since the run was ended.
pub(super) type Ended = Option<Result<TrialEnd, String>>;

/// Puts the sessions of a call together. Those of one case and arm follow each other, and the
/// majority of them counts.
pub(super) fn assemble<'a>(
    sessions: impl Iterator<Item = (&'a ExpandedCase, Arm, Ended)>,
) -> Answer {
    let mut order: Vec<(&str, Arm)> = Vec::new();
    let mut groups: BTreeMap<(&str, Arm), Group<'_>> = BTreeMap::new();
    for (case, arm, ended) in sessions {
        let key = (case.id.as_str(), arm);
        let group = groups.entry(key).or_insert_with(|| {
            order.push(key);
            Group { case, arm, runs: Vec::new() }
        });
        group.runs.push(ended.unwrap_or_else(|| Err("not run: the run was ended".to_owned())));
    }
    let mut answer = Answer::default();
    let mut warnings = BTreeSet::new();
    let mut results = Vec::with_capacity(order.len());
    for key in order {
        let Some(group) = groups.get(&key) else { continue };
        let judged = group.judge();
        results.push(group.result(&judged));
        warnings.extend(group.warnings(&judged));
        if answer.harness_version.is_none() {
            answer.harness_version = group.ends().find_map(|end| end.version.clone());
        }
        if group.arm == Arm::With {
            answer.fired.insert(group.case.id.clone(), group.fired());
        }
        let key = (group.case.id.clone(), group.arm);
        // Nothing makes up for contamination, so there is nothing to grade.
        if group.case.rubric.is_some() && group.contaminated().is_none() {
            answer.to_grade.insert(key, group.to_grade());
        } else {
            answer.judged.insert(key, judged);
        }
    }
    // What was compared with a run that had the skill after all is no result either.
    for (&(id, arm), group) in &groups {
        if arm == Arm::Without
            && let Some(end) = group.contaminated()
        {
            let key = (id.to_owned(), Arm::With);
            answer.to_grade.remove(&key);
            answer.judged.insert(key, end.judged.clone());
        }
    }
    answer.warnings.extend(warnings.into_iter().take(MAX_WARNINGS));
    answer.response = Response { version: PROTOCOL_VERSION, results, ..Response::default() };
    answer
}

/// The sessions of one case in one arm.
struct Group<'a> {
    case: &'a ExpandedCase,
    arm: Arm,
    runs: Vec<Result<TrialEnd, String>>,
}

impl Group<'_> {
    fn ends(&self) -> impl Iterator<Item = &TrialEnd> {
        self.runs.iter().filter_map(|run| run.as_ref().ok())
    }

    /// A session that saw what it must not see: it spoils all of them.
    fn contaminated(&self) -> Option<&TrialEnd> {
        self.ends().find(|end| end.contaminated)
    }

    /// The majority, as far as it is known without the grade of a rubric.
    fn judge(&self) -> ArmResult {
        if let Some(end) = self.contaminated() {
            return end.judged.clone();
        }
        let runs: Vec<ArmResult> = self.runs.iter().map(judged).collect();
        majority(self.case, self.arm, &runs)
    }

    /// Every session, for the grader.
    fn to_grade(&self) -> Vec<JudgedRun> {
        let answer = |run: &Result<TrialEnd, String>| run.as_ref().ok()?.answer.clone();
        let kept = |run: &Result<TrialEnd, String>| run.as_ref().ok()?.kept.clone();
        let judge = |run| JudgedRun { judged: judged(run), answer: answer(run), kept: kept(run) };
        self.runs.iter().map(judge).collect()
    }

    /// In the words of the protocol: what it used.
    fn result(&self, judged: &ArmResult) -> CaseResult {
        let usage = self.ends().filter_map(|end| end.usage).reduce(Usage::plus);
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let tokens = usage.as_ref().and_then(tokens);
        let mut result = CaseResult {
            case: self.case.id.clone(),
            arm: self.arm.as_str().to_owned(),
            input_tokens: tokens.map(|(input, _)| count(input)),
            output_tokens: tokens.map(|(_, output)| count(output)),
            // A harness's own sum; one that is no amount says nothing.
            cost_usd: usage
                .and_then(|usage| usage.cost_usd)
                .filter(|usd| usd.is_finite() && *usd >= 0.0),
            ..CaseResult::default()
        };
        match judged {
            ArmResult::Graded { triggered, outcome } => {
                result.triggered = *triggered;
                result.passed = outcome.graded.then_some(outcome.passed);
            }
            ArmResult::Error { reason } => result.error = Some(reason.clone()),
            ArmResult::Skipped { reason } => {
                result.skipped = Some(true);
                result.reason = Some(reason.clone());
            }
        }
        result
    }

    /// The skills that loaded, in the order of the first session in which any did.
    fn fired(&self) -> Vec<String> {
        let mut fired: Vec<String> = Vec::new();
        for name in self.ends().flat_map(|end| &end.fired) {
            if !fired.contains(name) {
                fired.push(name.clone());
            }
        }
        fired
    }

    fn warnings(&self, all: &ArmResult) -> Vec<String> {
        let mut warnings: Vec<String> = self.ends().flat_map(|end| end.warnings.clone()).collect();
        if let ArmResult::Graded { .. } = all {
            let errors: Vec<String> = self
                .runs
                .iter()
                .filter_map(|run| match judged(run) {
                    ArmResult::Error { reason } | ArmResult::Skipped { reason } => Some(reason),
                    ArmResult::Graded { .. } => None,
                })
                .collect();
            if let Some(last) = errors.last() {
                warnings.push(format!(
                    "{}: {} of {} runs have no result and took no part in the majority: {last}",
                    self.case.id,
                    errors.len(),
                    self.runs.len()
                ));
            }
        }
        warnings
    }
}

/// What one session came to.
fn judged(run: &Result<TrialEnd, String>) -> ArmResult {
    match run {
        Ok(end) => end.judged.clone(),
        Err(reason) => ArmResult::Error { reason: reason.clone() },
    }
}
