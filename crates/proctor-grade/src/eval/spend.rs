//! What a runner spent, counted conservatively, and the budget that it counts against.

use proctor_model::eval::protocol::{CaseResult, Response};

use super::case::CaseUsage;
use super::round::{add_tokens, add_usd, float, round4};

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// In.
    pub input: f64,
    /// Out.
    pub output: f64,
}

impl Rates {
    /// US dollars for so many tokens.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        (float(input_tokens) * self.input + float(output_tokens) * self.output) / 1e6
    }
}

/// What a runner used for one skill.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spend {
    /// Tokens in, as reported.
    pub input_tokens: u64,
    /// Tokens out, as reported.
    pub output_tokens: u64,
    /// US dollars: the larger of the sum of its results and its own total; when both are 0, the
    /// price of the tokens. This is what records keep.
    pub cost_usd: f64,
    /// Whether `cost_usd` is our price of its tokens, since it reported none.
    pub priced: bool,
}

impl Spend {
    /// Whether the runner reported nothing at all.
    pub fn is_unknown(&self) -> bool {
        self.cost_usd <= 0.0 && self.input_tokens == 0 && self.output_tokens == 0
    }
}

/// Adds up what a response reports. Of repeated results for one case and arm, each one counts.
pub fn spend(response: &Response, rates: Rates) -> Spend {
    let sum = |tokens: fn(&CaseResult) -> Option<i64>| {
        let counts = response.results.iter().map(|result| count(tokens(result)));
        counts.fold(0, add_tokens)
    };
    let input_tokens = sum(|result| result.input_tokens);
    let output_tokens = sum(|result| result.output_tokens);
    let of_results =
        response.results.iter().filter_map(|result| result.cost_usd).fold(0.0, add_usd);
    let reported = of_results.max(response.cost_usd.unwrap_or(0.0));
    let priced = reported <= 0.0 && (input_tokens > 0 || output_tokens > 0);
    let cost_usd = if priced { rates.cost(input_tokens, output_tokens) } else { reported };
    Spend { input_tokens, output_tokens, cost_usd, priced }
}

/// What one case used, over all its results in a response.
pub fn case_usage(response: &Response, case: &str) -> CaseUsage {
    let of_case = response.results.iter().filter(|result| result.case == case);
    of_case.fold(CaseUsage::default(), |usage, result| CaseUsage {
        cost_usd: add_usd(usage.cost_usd, result.cost_usd.unwrap_or(0.0)),
        tokens: [result.input_tokens, result.output_tokens]
            .into_iter()
            .fold(usage.tokens, |sum, tokens| add_tokens(sum, count(tokens))),
    })
}

/// A count that a runner reported; a negative one has been refused before.
fn count(tokens: Option<i64>) -> u64 {
    tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(0)
}

/// The budget of a whole run, all skills together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    limit: Option<f64>,
    spent: f64,
}

/// What a runner may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Handed {
    /// As much as it likes.
    Unlimited,
    /// So many US dollars, above 0.
    Left(f64),
    /// Nothing is left: its skill is not run.
    Nothing,
}

/// What one skill is charged.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    /// US dollars; what reports show.
    pub usd: f64,
    /// What a reader should know about it.
    pub warning: Option<String>,
}

impl Budget {
    /// A budget of `limit` US dollars; 0 means without limit.
    pub fn new(limit: f64) -> Self {
        Self { limit: (limit > 0.0).then_some(limit), spent: 0.0 }
    }

    /// US dollars that were charged so far.
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// What the next runner is handed.
    pub fn handed(&self) -> Handed {
        match self.limit.map(|limit| round4(limit - self.spent)) {
            None => Handed::Unlimited,
            Some(left) if left > 0.0 => Handed::Left(left),
            Some(_) => Handed::Nothing,
        }
    }

    /// Charges what a runner used for one skill, of what it was handed.
    ///
    /// Who reports neither cost nor tokens may have spent anything, and under a limit is charged
    /// everything that it was handed.
    pub fn charge(&mut self, spend: &Spend) -> Charge {
        let mut charge = Charge { usd: spend.cost_usd, warning: None };
        if let Handed::Left(left) = self.handed() {
            if spend.is_unknown() {
                charge.usd = left;
                charge.warning = Some(format!(
                    "the runner reported neither cost nor tokens: the ${left} that were left count \
                     as spent"
                ));
            } else if spend.cost_usd > left {
                charge.warning = Some(format!(
                    "the runner spent ${}, more than the ${left} that it was given",
                    round4(spend.cost_usd)
                ));
            }
        }
        self.spent = add_usd(self.spent, charge.usd);
        charge
    }

    /// Charges a call that failed: under a limit, everything that was left.
    pub fn charge_failed_call(&mut self) {
        if let Some(limit) = self.limit {
            self.spent = self.spent.max(limit);
        }
    }

    /// Charges what the built-in grader spent, in US dollars.
    pub fn charge_grader(&mut self, usd: f64) {
        self.spent = add_usd(self.spent, usd);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn result(case: &str, cost: Option<f64>, tokens: Option<(i64, i64)>) -> CaseResult {
        CaseResult {
            case: case.to_owned(),
            cost_usd: cost,
            input_tokens: tokens.map(|tokens| tokens.0),
            output_tokens: tokens.map(|tokens| tokens.1),
            ..CaseResult::default()
        }
    }

    fn response(results: Vec<CaseResult>, cost_usd: Option<f64>) -> Response {
        Response { version: 1, results, cost_usd, ..Response::default() }
    }

    const RATES: Rates = Rates { input: 1.0, output: 5.0 };

    #[test]
    fn the_larger_of_both_sums_counts() {
        let results = || vec![result("a", Some(0.25), None), result("a", Some(0.5), Some((7, 1)))];
        let cost = |total| spend(&response(results(), total), RATES).cost_usd;
        assert!((cost(None) - 0.75).abs() < 1e-12);
        assert!((cost(Some(0.1)) - 0.75).abs() < 1e-12);
        assert!((cost(Some(2.0)) - 2.0).abs() < 1e-12);
        let usage = case_usage(&response(results(), Some(2.0)), "a");
        assert_eq!(usage, CaseUsage { cost_usd: 0.75, tokens: 8 });
        assert_eq!(case_usage(&response(results(), None), "b"), CaseUsage::default());
    }

    #[test]
    fn tokens_have_a_price_when_no_cost_is_reported() {
        let tokens = Some((1_000_000, 200_000));
        let priced = spend(&response(vec![result("a", Some(0.0), tokens)], None), RATES);
        assert!(priced.priced && (priced.cost_usd - 2.0).abs() < 1e-12);
        let reported = spend(&response(vec![result("a", None, tokens)], Some(0.1)), RATES);
        assert!(!reported.priced && (reported.cost_usd - 0.1).abs() < 1e-12);
        assert!(spend(&response(vec![result("a", None, None)], None), RATES).is_unknown());
    }

    #[test]
    fn no_sum_leaves_what_a_file_can_hold() {
        let huge = || result("a", Some(f64::MAX), Some((i64::MAX, i64::MAX)));
        let response = response(vec![huge(), huge()], None);
        let spent = spend(&response, RATES);
        assert!(spent.cost_usd.is_finite() && round4(spent.cost_usd).is_finite());
        assert_eq!(spent.input_tokens, i64::MAX as u64);
        let usage = case_usage(&response, "a");
        assert!(usage.cost_usd.is_finite() && usage.tokens == i64::MAX as u64);
        let mut budget = Budget::new(0.0);
        budget.charge(&spent);
        budget.charge(&spent);
        assert!(budget.spent().is_finite());
    }

    #[test]
    fn without_a_limit_nothing_is_assumed() {
        let mut budget = Budget::new(0.0);
        assert_eq!(budget.handed(), Handed::Unlimited);
        assert_eq!(budget.charge(&Spend::default()), Charge { usd: 0.0, warning: None });
        budget.charge_failed_call();
        assert!(budget.spent().abs() < 1e-12);
    }

    #[test]
    fn what_is_unknown_takes_everything() {
        let mut budget = Budget::new(2.5);
        let half = Spend { cost_usd: 0.5, ..Spend::default() };
        assert_eq!(budget.charge(&half), Charge { usd: 0.5, warning: None });
        assert_eq!(budget.handed(), Handed::Left(2.0));
        let charge = budget.charge(&Spend::default());
        assert!((charge.usd - 2.0).abs() < 1e-12);
        assert_eq!(
            charge.warning.unwrap(),
            "the runner reported neither cost nor tokens: the $2 that were left count as spent"
        );
        assert_eq!(budget.handed(), Handed::Nothing);
    }

    #[test]
    fn overspending_is_told() {
        let mut budget = Budget::new(1.0);
        let charge = budget.charge(&Spend { cost_usd: 1.25, ..Spend::default() });
        assert_eq!(
            charge.warning.unwrap(),
            "the runner spent $1.25, more than the $1 that it was given"
        );
        assert_eq!(budget.handed(), Handed::Nothing);
        // A failed call does not make less of what was spent.
        budget.charge_failed_call();
        assert!((budget.spent() - 1.25).abs() < 1e-12);
    }

    #[test]
    fn a_failed_call_takes_what_is_left() {
        let mut budget = Budget::new(1.0);
        budget.charge_grader(0.25);
        assert_eq!(budget.handed(), Handed::Left(0.75));
        budget.charge_failed_call();
        assert_eq!(budget.handed(), Handed::Nothing);
    }

    #[test]
    fn a_rest_that_rounds_to_nothing_is_none() {
        let mut budget = Budget::new(1.0);
        budget.charge(&Spend { cost_usd: 0.999_97, ..Spend::default() });
        assert_eq!(budget.handed(), Handed::Nothing);
    }

    proptest! {
        #[test]
        fn a_budget_only_shrinks(limit in 0.0f64..10.0, costs in proptest::collection::vec(0.0f64..3.0, 0..8)) {
            let mut budget = Budget::new(limit);
            for cost in costs {
                let before = budget.spent();
                budget.charge(&Spend { cost_usd: cost, ..Spend::default() });
                prop_assert!(budget.spent() >= before);
                if let Handed::Left(left) = budget.handed() {
                    prop_assert!(left > 0.0 && left <= limit + 0.000_05);
                }
            }
        }
    }
}
