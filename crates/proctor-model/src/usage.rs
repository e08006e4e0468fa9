//! What a session used.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens, turns and money. `None` means that the harness does not say, which is not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Input tokens that were not read from a cache.
    pub input_tokens: Option<u64>,
    /// Output tokens, reasoning included.
    pub output_tokens: Option<u64>,
    /// Input tokens read from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written to a cache.
    pub cache_write_tokens: Option<u64>,
    /// The part of the output tokens that was reasoning.
    pub reasoning_tokens: Option<u64>,
    /// Turns as the harness counts them.
    pub turns: Option<u64>,
    /// US dollars as the harness computes them.
    pub cost_usd: Option<f64>,
}

impl Usage {
    /// An amount of US dollars; `None` for a number that is none, such as a negative one.
    pub fn dollars(amount: f64) -> Option<f64> {
        // A negative zero is no sum that anybody wants to see.
        (amount.is_finite() && amount >= 0.0).then_some(amount.abs())
    }

    /// The sum of two stretches. What only one of them states is taken from that one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn sum<T>(a: Option<T>, b: Option<T>, add: fn(T, T) -> T) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(add(a, b)),
                (one, other) => one.or(other),
            }
        }
        let count = |a, b| sum(a, b, u64::saturating_add);
        Self {
            input_tokens: count(self.input_tokens, other.input_tokens),
            output_tokens: count(self.output_tokens, other.output_tokens),
            cache_read_tokens: count(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_tokens: count(self.cache_write_tokens, other.cache_write_tokens),
            reasoning_tokens: count(self.reasoning_tokens, other.reasoning_tokens),
            turns: count(self.turns, other.turns),
            cost_usd: sum(self.cost_usd, other.cost_usd, |a, b| a + b),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_keeps_what_only_one_side_states() {
        let a = Usage { input_tokens: Some(1), cost_usd: Some(0.5), ..Usage::default() };
        let b = Usage { input_tokens: Some(u64::MAX), turns: Some(2), ..Usage::default() };
        let sum = a.plus(b);
        assert_eq!(sum.input_tokens, Some(u64::MAX));
        assert_eq!((sum.turns, sum.cost_usd, sum.output_tokens), (Some(2), Some(0.5), None));
    }
}
