//! What sessions cost, as they say it or as their tokens tell.

use proctor_grade::eval::Rates;
use proctor_model::Usage;

/// US dollars: what the session says, or else the price of its tokens, where those that were read
/// from a cache count in full; `None` when it says neither.
pub(crate) fn cost(usage: &Usage, rates: Option<Rates>) -> Option<f64> {
    let of_tokens = || Some((tokens(usage)?, rates?)).map(|((i, o), rates)| rates.cost(i, o));
    usage.cost_usd.or_else(of_tokens)
}

/// Input and output tokens as people pay for them; `None` when neither is known.
pub(crate) fn tokens(usage: &Usage) -> Option<(u64, u64)> {
    let input = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens];
    if usage.output_tokens.is_none() && input.iter().all(Option::is_none) {
        return None;
    }
    let input = input.into_iter().flatten().fold(0, u64::saturating_add);
    Some((input, usage.output_tokens.unwrap_or(0)))
}
