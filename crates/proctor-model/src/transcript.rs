//! A session as it is printed and kept: how it ended, what it used, what happened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Event, Outcome, Usage};

/// A whole session in terms that no harness owns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// How it ended.
    pub outcome: Outcome,
    /// What it used; `null` when the harness does not say.
    pub usage: Option<Usage>,
    /// What happened, in order.
    pub events: Vec<Event>,
}
