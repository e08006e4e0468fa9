//! What is wrong with a document, in a bounded list.

use proctor_model::recorded::run::Violation;

/// The most violations that are told one by one; what is left is told as a number.
pub const MAX_VIOLATIONS: usize = 1_000;

/// Violations as they are found. Those after [`MAX_VIOLATIONS`] are only counted, so that a document
/// with a million of them takes no more memory than its values.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Violations {
    listed: Vec<Violation>,
    further: usize,
}

impl Violations {
    pub(super) fn push(&mut self, violation: Violation) {
        if self.listed.len() < MAX_VIOLATIONS {
            self.listed.push(violation);
        } else {
            self.further += 1;
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// By pointer; the number of those that are not listed stands at the pointer `whole`.
    pub(super) fn into_sorted(mut self, whole: &str) -> Vec<Violation> {
        if self.further > 0 {
            let message = format!("{} further violations are not listed", self.further);
            self.listed.push(Violation::new(whole, message));
        }
        self.listed.sort();
        self.listed
    }
}
