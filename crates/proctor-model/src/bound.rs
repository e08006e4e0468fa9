//! Limits that were asked for, and whether they were really enforced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether a limit was enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Proctor or the harness ends the trial at the limit.
    Enforced,
    /// The limit was asked for, and nothing ends the trial at it.
    NotEnforced,
    /// No limit was asked for.
    NotRequested,
    /// The limit has no meaning in this mode (a budget without a harness).
    NotApplicable,
}

/// A limit and its enforcement; `value` is `None` when it was not requested.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bound<T> {
    /// The effective limit, in the unit that the field's name states.
    pub value: Option<T>,
    /// What happens at the limit.
    pub status: Enforcement,
}

impl<T> Bound<T> {
    /// A bound that nobody asked for.
    pub fn not_requested() -> Self {
        Self { value: None, status: Enforcement::NotRequested }
    }

    /// A requested bound is `enforced` or `not_enforced`; one that is absent is `not_requested`.
    pub fn requested(value: Option<T>, enforced: bool) -> Self {
        let status = match (&value, enforced) {
            (None, _) => Enforcement::NotRequested,
            (Some(_), true) => Enforcement::Enforced,
            (Some(_), false) => Enforcement::NotEnforced,
        };
        Self { value, status }
    }

    /// A bound that cannot apply in this mode, whether requested or not.
    pub fn not_applicable(value: Option<T>) -> Self {
        Self { value, status: Enforcement::NotApplicable }
    }
}
