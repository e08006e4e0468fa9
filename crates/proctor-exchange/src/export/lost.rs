//! What an export leaves out, counted.

use std::collections::BTreeMap;

/// What a format could not hold of a run, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost(BTreeMap<String, u64>);

impl Lost {
    /// One more of a kind, in the plural.
    pub(crate) fn add(&mut self, kind: &str) {
        *self.0.entry(kind.to_owned()).or_default() += 1;
    }

    /// Everything that another part of the export left out.
    pub fn extend(&mut self, other: Self) {
        for (kind, count) in other.0 {
            *self.0.entry(kind).or_default() += count;
        }
    }

    /// Whether nothing was left out.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds with their numbers, like `lifecycle events (3)`.
    pub fn kinds(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|(kind, count)| format!("{kind} ({count})"))
    }
}
