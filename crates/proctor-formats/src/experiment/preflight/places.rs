//! Which files would lie at the same place, or inside each other, once folders are unpacked.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::experiment::{FileEntry, Rule};
use proctor_model::{Diagnostic, Location};

use super::super::sources::{Item, ItemKind};
use crate::tree::Problems;

/// The places of one scope: for each file or link, the entry that brings it.
#[derive(Default)]
pub(super) struct Places(BTreeMap<String, Location>);

impl Places {
    /// Adds an entry. What it holds is not known for a slot, nor for a source that is not there;
    /// then it counts as a file.
    pub(super) fn add(
        &mut self,
        file: &FileEntry,
        items: Option<&[Item]>,
        problems: &mut Problems,
    ) {
        let mut own = BTreeMap::new();
        match items {
            None => drop(own.insert(file.dest.to_string(), file.at)),
            Some(items) => own.extend(
                items
                    .iter()
                    .filter(|item| item.kind != ItemKind::EmptyFolder)
                    .map(|item| (place(file, &item.path), file.at)),
            ),
        }
        let own = Self(own);
        own.meet(self, problems);
        self.join(own);
    }

    /// Adds the places of another scope.
    pub(super) fn join(&mut self, other: Self) {
        for (place, at) in other.0 {
            self.0.entry(place).or_insert(at);
        }
    }

    /// Pushes an error for each entry of this scope that meets `others`.
    pub(super) fn meet(&self, others: &Self, problems: &mut Problems) {
        let mut said = BTreeSet::new();
        for (place, at) in &self.0 {
            let Some((other, other_at)) = others.meeting(place) else { continue };
            if said.insert((*at, *other_at)) {
                let Location { line, column } = *other_at;
                let what = if other == place { "at" } else { "inside or around" };
                let message = format!(
                    "`{}` would lie {what} `{}`, which stands at {line}:{column}",
                    place.escape_debug(),
                    other.escape_debug()
                );
                problems.push(Diagnostic::error(message).at(*at).rule(Rule::DestCollision));
            }
        }
    }

    /// The place that is this one, around it or inside it.
    fn meeting(&self, place: &str) -> Option<(&String, &Location)> {
        if let Some(same) = self.0.get_key_value(place) {
            return Some(same);
        }
        let inside = format!("{place}/");
        let next = self.0.range(inside.clone()..).next();
        if let Some(found) = next.filter(|(other, _)| other.starts_with(&inside)) {
            return Some(found);
        }
        let ends = place.match_indices('/').map(|(at, _)| at);
        ends.map(|end| place.get(..end)).find_map(|around| self.0.get_key_value(around?))
    }
}

fn place(file: &FileEntry, below: &str) -> String {
    if below.is_empty() { file.dest.to_string() } else { format!("{}/{below}", file.dest) }
}
