//! Paths and names that must not occur in a session.

use std::collections::BTreeSet;

use aho_corasick::AhoCorasick;

/// Names that are looked for, in time that follows the text alone.
pub(super) struct Names {
    automaton: Option<AhoCorasick>,
    names: Vec<Name>,
}

struct Name {
    text: String,
    /// How people call what it names.
    label: String,
}

/// Names, collected; each counts once.
#[derive(Default)]
pub(super) struct Collector {
    names: Vec<Name>,
    known: BTreeSet<String>,
}

impl Collector {
    pub(super) fn add(&mut self, text: &str, label: &str) {
        if !text.is_empty() && self.known.insert(text.to_owned()) {
            self.names.push(Name { text: text.to_owned(), label: label.to_owned() });
        }
    }

    /// Leaves out the names that occur in a text.
    pub(super) fn remove_shown(&mut self, text: &str) {
        self.names.retain(|name| !text.contains(&name.text));
    }

    pub(super) fn finish(self) -> Names {
        // Fails only beyond sizes that the limits keep us from.
        let automaton = AhoCorasick::new(self.names.iter().map(|name| &name.text)).ok();
        Names { automaton, names: self.names }
    }
}

impl Names {
    /// The names that occur in a text, by their places in the list.
    pub(super) fn all(&self, text: &str) -> BTreeSet<usize> {
        let found = self.automaton.iter().flat_map(|finder| finder.find_overlapping_iter(text));
        found.map(|found| found.pattern().as_usize()).collect()
    }

    /// The first name in a text, as people call it, but for those in `known`. Whole words only
    /// count.
    pub(super) fn first(&self, text: &str, known: &BTreeSet<usize>) -> Option<String> {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let mut found = self.automaton.as_ref()?.find_overlapping_iter(text);
        let found = found.find(|found| {
            let (before, name) = text.split_at_checked(found.start()).unwrap_or_default();
            let after = text.get(found.end()..).unwrap_or_default();
            // A name that begins with a slash or a dot may follow anything.
            let joined = name.starts_with(part_of_name) && before.ends_with(part_of_name);
            !known.contains(&found.pattern().as_usize())
                && !after.starts_with(part_of_name)
                && !joined
        })?;
        let name = self.names.get(found.pattern().as_usize())?;
        Some(format!("{} (`{}`)", name.label, name.text))
    }
}
