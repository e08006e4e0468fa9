//! Sessions put together: the answer of the runner.

use std::collections::{BTreeMap, BTreeSet};

use proctor_grade::eval::{ArmResult, Outcome, Vote, VotedRun, vote};
use proctor_model::Usage;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult, PROTOCOL_VERSION, Response};

use super::trial::TrialEnd;
use crate::eval::runner::Answer;

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
        if group.arm == Arm::With {
            answer.fired.insert(group.case.id.clone(), group.fired());
        }
        answer.judged.insert((group.case.id.clone(), group.arm), judged);
    }
    answer.warnings.extend(warnings.into_iter().take(MAX_WARNINGS));
    answer.response = Response { version: PROTOCOL_VERSION, results, ..Response::default() };
    answer
}

/// Input and output tokens as people pay for them; `None` when neither is known.
pub(super) fn tokens(usage: &Usage) -> Option<(u64, u64)> {
    let input = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
    if usage.output_tokens.is_none() && input.iter().all(Option::is_none) {
        return None;
    }
    let input = input.into_iter().flatten().fold(0, u64::saturating_add);
    Some((input, usage.output_tokens.unwrap_or(0)))
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

    /// The majority. One session that saw what it must not see spoils all of them.
    fn judge(&self) -> ArmResult {
        if let Some(end) = self.ends().find(|end| end.contaminated) {
            return end.judged.clone();
        }
        let voted: Vec<VotedRun> = self.runs.iter().map(voice).collect();
        match vote(&voted) {
            Vote::Error(reason) => ArmResult::Error { reason },
            Vote::Decided { triggered, passed } => {
                let passed = passed.unwrap_or(true);
                let outcome = Outcome {
                    graded: !self.case.is_trigger_only(),
                    passed,
                    failures: if passed { Vec::new() } else { self.failures() },
                    rubric_score: None,
                    rubric_note: None,
                };
                let triggered = (self.arm == Arm::With).then_some(triggered);
                ArmResult::Graded { triggered, outcome }
            }
        }
    }

    /// What did not hold, each once, with the number of sessions when there are several.
    fn failures(&self) -> Vec<String> {
        let mut counted: Vec<(&str, usize)> = Vec::new();
        for failure in self.ends().filter_map(|end| outcome(&end.judged)).flat_map(|o| &o.failures)
        {
            match counted.iter_mut().find(|(known, _)| known == failure) {
                Some((_, count)) => *count += 1,
                None => counted.push((failure, 1)),
            }
        }
        let total = self.runs.len();
        let message = |(failure, count): (&str, usize)| match total {
            1 => failure.to_owned(),
            _ => format!("{failure} (in {count} of {total} runs)"),
        };
        counted.into_iter().map(message).collect()
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

    fn warnings(&self, judged: &ArmResult) -> Vec<String> {
        let mut warnings: Vec<String> = self.ends().flat_map(|end| end.warnings.clone()).collect();
        if let ArmResult::Graded { .. } = judged {
            let errors: Vec<String> = self.runs.iter().filter_map(|run| voice(run).error).collect();
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

fn outcome(judged: &ArmResult) -> Option<&Outcome> {
    match judged {
        ArmResult::Graded { outcome, .. } => Some(outcome),
        ArmResult::Error { .. } | ArmResult::Skipped { .. } => None,
    }
}

/// The voice of one session.
fn voice(run: &Result<TrialEnd, String>) -> VotedRun {
    let error = |reason: &String| VotedRun { error: Some(reason.clone()), ..VotedRun::default() };
    match run {
        Err(reason) => error(reason),
        Ok(end) => match &end.judged {
            ArmResult::Error { reason } | ArmResult::Skipped { reason } => error(reason),
            ArmResult::Graded { triggered, outcome } => VotedRun {
                error: None,
                fired: *triggered == Some(true),
                passed: outcome.graded.then_some(outcome.passed),
            },
        },
    }
}
