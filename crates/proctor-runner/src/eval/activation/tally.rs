//! The runs of one prompt, added up.

use std::collections::BTreeMap;

use proctor_model::Usage;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult, NONE_FIRED};

use super::contest::Runs;
use super::harness::RunEnd;
use super::waves::wave;
use crate::money::tokens;

/// The runs of one prompt so far.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    /// The prompt.
    pub(super) case: &'a ExpandedCase,
    /// In how many usable runs each skill fired, and in how many none did.
    fired: BTreeMap<String, u64>,
    /// Usable runs.
    usable: u64,
    /// Runs that failed, and those that could not be begun.
    errored: u64,
    /// Why the last of them did.
    last_error: Option<String>,
    /// Why it is not run.
    refused: Option<String>,
    usage: Option<Usage>,
}

impl<'a> Tally<'a> {
    pub(super) fn new(case: &'a ExpandedCase) -> Self {
        Self {
            case,
            fired: BTreeMap::new(),
            usable: 0,
            errored: 0,
            last_error: None,
            refused: None,
            usage: None,
        }
    }

    /// A prompt that is not run.
    pub(super) fn refused(case: &'a ExpandedCase, why: String) -> Self {
        Self { refused: Some(why), ..Self::new(case) }
    }

    /// Counts a run; `Err` says why it could not be begun.
    pub(super) fn count(&mut self, end: Result<RunEnd, String>) {
        let fired = end.and_then(|end| {
            self.usage = match (self.usage, end.usage) {
                (Some(sum), Some(usage)) => Some(sum.plus(usage)),
                (sum, usage) => sum.or(usage),
            };
            end.fired
        });
        match fired {
            Err(why) => {
                self.errored += 1;
                self.last_error = Some(why);
            }
            Ok(fired) => {
                self.usable += 1;
                if fired.is_empty() {
                    *self.fired.entry(NONE_FIRED.to_owned()).or_default() += 1;
                }
                for id in fired {
                    *self.fired.entry(id).or_default() += 1;
                }
            }
        }
    }

    /// Runs so far, whatever they came to.
    pub(super) fn attempts(&self) -> u64 {
        self.usable + self.errored
    }

    fn fires(&self, skill: &str) -> u64 {
        self.fired.get(skill).copied().unwrap_or(0)
    }

    /// How many runs are to follow before the next look.
    pub(super) fn wanted(&self, skill: &str, runs: Runs) -> u64 {
        let left = u64::from(runs.ceiling()).saturating_sub(self.attempts());
        match runs {
            _ if self.refused.is_some() => 0,
            Runs::Fixed(_) => left,
            Runs::Auto { .. } => {
                wave(self.case.expect_trigger, self.fires(skill), self.usable, left)
            }
        }
    }

    /// How many planned runs were not needed, once no more are wanted.
    pub(super) fn saved(&self, runs: Runs) -> u64 {
        match self.refused {
            Some(_) => 0,
            None => u64::from(runs.ceiling()).saturating_sub(self.attempts()),
        }
    }

    /// In the words of the protocol.
    pub(super) fn result(self, skill: &str) -> CaseResult {
        let count = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        let fires = self.fires(skill);
        let tokens = self.usage.as_ref().and_then(tokens);
        let error = self.refused.or_else(|| {
            let failed = self.usable == 0 || self.errored > self.usable;
            failed.then(|| {
                let why = self.last_error.unwrap_or_else(|| "nothing was run".to_owned());
                match self.usable {
                    0 => why,
                    usable => {
                        let runs = usable + self.errored;
                        format!("{} of {runs} runs failed, the last: {why}", self.errored)
                    }
                }
            })
        });
        CaseResult {
            case: self.case.id.clone(),
            arm: Arm::With.as_str().to_owned(),
            triggered: (self.usable > 0).then_some(2 * fires > self.usable),
            input_tokens: tokens.map(|(input, _)| count(input)),
            output_tokens: tokens.map(|(_, output)| count(output)),
            // A harness's own sum; one that is no amount says nothing.
            cost_usd: self
                .usage
                .and_then(|usage| usage.cost_usd)
                .filter(|usd| usd.is_finite() && *usd >= 0.0),
            fired_counts: Some(self.fired.into_iter().map(|(id, n)| (id, count(n))).collect()),
            runs: Some(count(self.usable)),
            errored_runs: (self.errored > 0).then(|| count(self.errored)),
            error,
            ..CaseResult::default()
        }
    }
}
