//! The money of one call, shared by its sessions.

use std::sync::{Mutex, PoisonError};

use proctor_grade::eval::Rates;
use proctor_model::Usage;

use super::runner::Call;
use crate::money;

/// Sessions start as long as something is left, and each may spend that. So a limit is passed by
/// the sessions that are under way when it is reached, and by no other.
pub(super) struct Purse {
    limit: Option<f64>,
    rates: Rates,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spent: f64,
    /// Whether a session did not say what it used, and counts with all that it was handed.
    guessed: bool,
}

impl Purse {
    pub(super) fn new(call: &Call<'_>) -> Self {
        Self { limit: call.max_cost_usd, rates: call.rates, state: Mutex::default() }
    }

    /// US dollars that the next session may cost; `Ok(None)` means no limit.
    pub(super) fn left(&self) -> Result<Option<f64>, String> {
        let Some(limit) = self.limit else { return Ok(None) };
        match limit - self.state().spent {
            left if left > 0.0 => Ok(Some(left)),
            _ => Err(format!("not run: the budget of ${limit} was spent before")),
        }
    }

    /// Counts a session that was handed so much.
    pub(super) fn pay(&self, handed: Option<f64>, usage: Option<Usage>) {
        let cost = usage.and_then(|usage| money::cost(&usage, Some(self.rates)));
        let mut state = self.state();
        state.guessed |= cost.is_none() && handed.is_some();
        state.spent += cost.or(handed).unwrap_or(0.0);
    }

    /// What must be counted when sessions did not say what they used.
    pub(super) fn guess(&self) -> Option<f64> {
        let state = self.state();
        state.guessed.then_some(state.spent)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves the numbers whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn purse(limit: Option<f64>) -> Purse {
        let rates = Rates { input: 1.0, output: 2.0 };
        Purse { limit, rates, state: Mutex::default() }
    }

    fn usage(cost_usd: Option<f64>, input: Option<u64>) -> Usage {
        Usage { cost_usd, input_tokens: input, ..Usage::default() }
    }

    #[test]
    fn costs_count_and_tokens_where_there_are_none() {
        let purse = purse(Some(3.0));
        assert_eq!(purse.left(), Ok(Some(3.0)));
        purse.pay(Some(3.0), Some(usage(Some(0.5), Some(9))));
        purse.pay(Some(2.5), Some(usage(None, Some(1_500_000))));
        assert_eq!(purse.left(), Ok(Some(1.0)));
        assert_eq!(purse.guess(), None);
        purse.pay(Some(1.0), Some(usage(Some(1.0), None)));
        assert_eq!(purse.left(), Err("not run: the budget of $3 was spent before".to_owned()));
    }

    #[test]
    fn who_says_nothing_is_counted_with_all_that_it_was_handed() {
        let purse = purse(Some(2.0));
        purse.pay(Some(2.0), None);
        assert!(purse.left().is_err());
        assert_eq!(purse.guess(), Some(2.0));
    }

    #[test]
    fn without_a_limit_nothing_is_guessed() {
        let purse = purse(None);
        purse.pay(None, None);
        assert_eq!((purse.left(), purse.guess()), (Ok(None), None));
    }
}
