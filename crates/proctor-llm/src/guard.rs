//! What is spent and what may still be. Everything here is arithmetic under one lock.
//!
//! An attempt first sets aside the most that it may take; it begins only if that fits. So attempts
//! at the same time cannot exceed a limit together, and a reply that says nothing of what it took
//! costs what was set aside.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{AskError, Price, Tokens};

/// The most that a client may use; `None` for no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Limits {
    /// US dollars.
    pub(crate) cost_usd: Option<f64>,
    /// Tokens in and out.
    pub(crate) tokens: Option<u64>,
    /// Requests.
    pub(crate) calls: Option<u64>,
}

/// Keeps the limits of one client.
#[derive(Debug)]
pub(crate) struct Guard {
    limits: Limits,
    price: Option<Price>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    calls: u64,
    spent_usd: f64,
    used: u64,
    /// What attempts under way have set aside.
    held_usd: f64,
    held: u64,
    under_way: u64,
}

impl Guard {
    /// Without a price nothing costs anything: a limit in dollars needs one.
    pub(crate) fn new(limits: Limits, price: Option<Price>) -> Self {
        Self { limits, price, state: Mutex::default() }
    }

    /// Sets aside the most that one attempt may take, and counts the attempt.
    pub(crate) fn reserve(&self, most: Tokens) -> Result<Hold<'_>, AskError> {
        let cost = self.cost(most);
        let mut state = self.state();
        if let Some(limit) = self.limits.calls.filter(|limit| state.calls >= *limit) {
            return Err(AskError::TooManyCalls { limit });
        }
        let used = state.used.saturating_add(state.held);
        let needed = most.total();
        if let Some(limit) = self.limits.tokens.filter(|limit| used.saturating_add(needed) > *limit)
        {
            return Err(AskError::TooManyTokens { needed, used, limit });
        }
        let spent = state.spent_usd + state.held_usd;
        // What is no number is above every limit.
        let fits = |limit: &f64| spent + cost <= *limit;
        if let Some(limit) = self.limits.cost_usd.filter(|limit| !fits(limit)) {
            return Err(AskError::OverBudget { needed: cost, spent, limit });
        }
        state.calls += 1;
        state.held = state.held.saturating_add(needed);
        state.held_usd += cost;
        state.under_way += 1;
        Ok(Hold { guard: self, most, open: true })
    }

    pub(crate) fn spent_usd(&self) -> f64 {
        self.state().spent_usd
    }

    fn cost(&self, tokens: Tokens) -> f64 {
        self.price.map_or(0.0, |price| price.of(tokens))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change below is one that cannot fail half way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one attempt has set aside. Dropped, it is spent.
#[derive(Debug)]
#[must_use]
pub(crate) struct Hold<'a> {
    guard: &'a Guard,
    most: Tokens,
    open: bool,
}

impl Hold<'_> {
    /// The attempt took what its provider reports; returns the cost. What reports nothing took
    /// everything that was set aside.
    pub(crate) fn settle(mut self, reported: Option<Tokens>) -> f64 {
        self.charge(reported.filter(|tokens| tokens.total() > 0).unwrap_or(self.most))
    }

    /// The attempt was refused before anything was done for it.
    pub(crate) fn free(mut self) {
        self.charge(Tokens::default());
    }

    fn charge(&mut self, taken: Tokens) -> f64 {
        self.open = false;
        let (cost, held) = (self.guard.cost(taken), self.guard.cost(self.most));
        let mut state = self.guard.state();
        state.under_way -= 1;
        state.held = state.held.saturating_sub(self.most.total());
        state.held_usd -= held;
        if state.under_way == 0 {
            // Sums of fractions leave crumbs.
            (state.held, state.held_usd) = (0, 0.0);
        }
        state.used = state.used.saturating_add(taken.total());
        state.spent_usd += cost;
        cost
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if self.open {
            self.charge(self.most);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PRICE: Option<Price> = Some(Price { input: 1.0, output: 2.0 });

    fn tokens(input: u64, output: u64) -> Tokens {
        Tokens { input, output }
    }

    fn cost_limit(usd: f64) -> Limits {
        Limits { cost_usd: Some(usd), ..Limits::default() }
    }

    #[test]
    fn what_is_set_aside_counts_until_it_is_settled() {
        let guard = Guard::new(cost_limit(3.0), PRICE);
        let first = guard.reserve(tokens(1_000_000, 500_000)).unwrap();
        let second = guard.reserve(tokens(1_000_000, 0)).unwrap();
        let refused = guard.reserve(tokens(1, 0)).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "asking may cost $0.0000, and of the limit of $3.0000 $3.0000 are spent"
        );
        assert!((first.settle(Some(tokens(10, 0))) - 0.000_01).abs() < 1e-12);
        second.free();
        assert!((guard.spent_usd() - 0.000_01).abs() < 1e-12);
        guard.reserve(tokens(1_000_000, 500_000)).unwrap().free();
    }

    #[test]
    fn a_reply_that_says_nothing_costs_what_was_set_aside() {
        for reported in [None, Some(Tokens::default())] {
            let guard = Guard::new(cost_limit(3.0), PRICE);
            let cost = guard.reserve(tokens(1_000_000, 0)).unwrap().settle(reported);
            assert!((cost - 1.0).abs() < 1e-12 && (guard.spent_usd() - 1.0).abs() < 1e-12);
        }
        let guard = Guard::new(cost_limit(3.0), PRICE);
        drop(guard.reserve(tokens(1_000_000, 0)).unwrap());
        assert!((guard.spent_usd() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn requests_and_tokens_have_limits_of_their_own() {
        let guard = Guard::new(Limits { calls: Some(2), ..Limits::default() }, None);
        guard.reserve(tokens(u64::MAX, 1)).unwrap().free();
        guard.reserve(tokens(1, 1)).unwrap().free();
        assert_eq!(guard.reserve(tokens(1, 1)).unwrap_err(), AskError::TooManyCalls { limit: 2 });
        let guard = Guard::new(Limits { tokens: Some(10), ..Limits::default() }, PRICE);
        assert!(
            (guard.reserve(tokens(4, 4)).unwrap().settle(Some(tokens(5, 1))) - 7e-6).abs() < 1e-12
        );
        assert_eq!(
            guard.reserve(tokens(4, 1)).unwrap_err(),
            AskError::TooManyTokens { needed: 5, used: 6, limit: 10 }
        );
        guard.reserve(tokens(4, 0)).unwrap().free();
    }

    #[test]
    fn without_a_price_nothing_costs_anything() {
        let guard = Guard::new(Limits::default(), None);
        let cost = guard.reserve(tokens(5, 5)).unwrap().settle(None);
        assert!(cost.abs() < f64::EPSILON && guard.spent_usd().abs() < f64::EPSILON);
    }

    #[test]
    fn threads_never_exceed_a_limit_together() {
        let guard = Guard::new(Limits { tokens: Some(100), ..Limits::default() }, PRICE);
        let taken: usize = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| (0..50).filter(|_| guard.reserve(tokens(1, 2)).is_ok()).count())
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert_eq!(taken, 33);
    }

    proptest! {
        /// The oracle: whatever is asked, in whatever order it ends, no limit is exceeded.
        #[test]
        fn no_limit_is_ever_exceeded(
            steps in prop::collection::vec((0..2000u64, 0..2000u64, 0..4u8), 1..60),
            limit in 1..10_000u64,
        ) {
            #[expect(clippy::cast_precision_loss, reason = "small")]
            let usd = limit as f64 / 1e6;
            let limits = Limits { cost_usd: Some(usd), tokens: Some(limit), calls: Some(20) };
            let guard = Guard::new(limits, PRICE);
            let mut holds = Vec::new();
            for (input, output, how) in steps {
                if let Ok(hold) = guard.reserve(tokens(input, output)) {
                    holds.push((hold, tokens(input / 2, output)));
                }
                if how > 0 && let Some((hold, taken)) = holds.pop() {
                    match how {
                        1 => { hold.settle(Some(taken)); }
                        2 => hold.free(),
                        _ => { hold.settle(None); }
                    }
                }
                let state = guard.state();
                prop_assert!(state.spent_usd + state.held_usd <= usd + 1e-12);
                prop_assert!(state.used + state.held <= limit && state.calls <= 20);
            }
            drop(holds);
            prop_assert!(guard.spent_usd() <= usd + 1e-12);
            prop_assert_eq!(guard.state().under_way, 0);
        }
    }
}
