//! What one run shows while it is under way.

use std::collections::BTreeSet;

/// Follows one run of a harness.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    /// The skills that are installed.
    pub(super) installed: &'a BTreeSet<String>,
    /// Those of them without which nothing is measured.
    required: &'a BTreeSet<String>,
    /// Those of them that fired.
    pub(super) fired: BTreeSet<String>,
    /// Commands that the agent started.
    pub(super) commands: u32,
    /// Required skills that the harness does not offer to the model.
    pub(super) withheld: Vec<String>,
    /// What a reader should know.
    pub(super) warnings: BTreeSet<String>,
    /// Whether nothing that could follow matters.
    pub(super) is_over: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(installed: &'a BTreeSet<String>, required: &'a BTreeSet<String>) -> Self {
        Self {
            installed,
            required,
            fired: BTreeSet::new(),
            commands: 0,
            withheld: Vec::new(),
            warnings: BTreeSet::new(),
            is_over: false,
        }
    }

    /// Notes which skills the harness offers. Without all of the required ones nothing is measured.
    pub(super) fn offered(&mut self, offers: &BTreeSet<&str>) {
        let withheld = self.required.iter().filter(|id| !offers.contains(id.as_str()));
        self.withheld = withheld.cloned().collect();
        self.is_over |= !self.withheld.is_empty();
    }
}
