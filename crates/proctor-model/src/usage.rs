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
