//! How an agent session ended: one closed list for all harnesses.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The closed list of ways in which a session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeClass {
    /// The agent says it is done. Tools may have failed or been denied on the way.
    Completed,
    /// Credentials are missing or were refused.
    AuthFailed,
    /// The provider asked to slow down (429), and retries were used up.
    RateLimited,
    /// The provider is overloaded (529, or 503 in words that say so).
    Overloaded,
    /// The account has no quota or credit left.
    Quota,
    /// Any other failure between harness and provider.
    ApiError,
    /// The prompt or conversation is too long for the model.
    ContextOverflow,
    /// The answer was cut at the output limit.
    MaxOutput,
    /// The turn limit was reached.
    MaxTurns,
    /// The money limit was reached.
    Budget,
    /// The model refused.
    Refused,
    /// Somebody interrupted it.
    Interrupted,
    /// The stream ended without the line that ends a session: killed or crashed.
    CutShort,
    /// The harness did not start: wrong flags, wrong configuration, empty prompt.
    UsageError,
    /// A stall watchdog ended it: no output for too long.
    Stalled,
    /// The deadline ended it.
    Timeout,
}

impl OutcomeClass {
    /// Every class, in the order of the list.
    pub const ALL: [Self; 16] = [
        Self::Completed,
        Self::AuthFailed,
        Self::RateLimited,
        Self::Overloaded,
        Self::Quota,
        Self::ApiError,
        Self::ContextOverflow,
        Self::MaxOutput,
        Self::MaxTurns,
        Self::Budget,
        Self::Refused,
        Self::Interrupted,
        Self::CutShort,
        Self::UsageError,
        Self::Stalled,
        Self::Timeout,
    ];

    /// The name used in every file and report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::AuthFailed => "auth_failed",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
            Self::Quota => "quota",
            Self::ApiError => "api_error",
            Self::ContextOverflow => "context_overflow",
            Self::MaxOutput => "max_output",
            Self::MaxTurns => "max_turns",
            Self::Budget => "budget",
            Self::Refused => "refused",
            Self::Interrupted => "interrupted",
            Self::CutShort => "cut_short",
            Self::UsageError => "usage_error",
            Self::Stalled => "stalled",
            Self::Timeout => "timeout",
        }
    }

    /// Whether the failure lies between harness and provider, so that it says nothing about the
    /// agent: it is an infrastructure error, never graded, and kept out of every rate.
    pub fn is_infrastructure(self) -> bool {
        matches!(
            self,
            Self::AuthFailed
                | Self::RateLimited
                | Self::Overloaded
                | Self::Quota
                | Self::ApiError
                | Self::Interrupted
        )
    }
}

impl fmt::Display for OutcomeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a session ended, with the harness's own words for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// The class.
    pub class: OutcomeClass,
    /// The harness's own words; empty for a plain completion.
    pub message: String,
    /// HTTP status behind it. `AuthFailed` without one means that no request was made: the
    /// credentials are missing rather than wrong.
    #[serde(skip)]
    pub http_status: Option<u16>,
}

impl Outcome {
    /// An outcome with no HTTP status behind it.
    pub fn new(class: OutcomeClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), http_status: None }
    }

    /// Adds the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: Option<u16>) -> Self {
        self.http_status = status;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_serde_writes() {
        for class in OutcomeClass::ALL {
            assert_eq!(serde_json::to_value(class).unwrap(), class.as_str());
        }
    }
}
