//! Fixture ids that come twice with different content.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use proctor_model::recorded::report::{RunReport, note};

/// So many ids are remembered; later ones are compared with them and not with each other. It keeps
/// memory flat.
const MAX_IDS: usize = 1 << 18;

/// The ids seen so far, as hashes without a random seed: the same runs get the same notes.
#[derive(Default)]
pub(super) struct Duplicates {
    seen: HashMap<u64, Content>,
    full: bool,
}

enum Content {
    One(u64),
    Several,
}

impl Duplicates {
    /// Notes on a report that an earlier one has the same id and other content.
    pub(super) fn note(&mut self, report: &mut RunReport<'_>) {
        let id = report.fixture.and_then(|fixture| fixture.id);
        let (Some(id), Some(digest)) = (id, report.input_digest) else { return };
        let content = hash(|hasher| digest.0.hash(hasher));
        let room = self.seen.len() < MAX_IDS;
        let differs = match self.seen.entry(hash(|hasher| id.hash(hasher))) {
            Entry::Occupied(mut seen) => match seen.get() {
                Content::One(one) if *one == content => false,
                _ => {
                    seen.insert(Content::Several);
                    true
                }
            },
            Entry::Vacant(unseen) => {
                if room {
                    unseen.insert(Content::One(content));
                } else {
                    self.full = true;
                }
                false
            }
        };
        if differs {
            report.notes.push(note::DUPLICATE_ID.into());
        }
    }

    /// Whether an id could not be remembered.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }
}

fn hash(feed: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(&mut hasher);
    hasher.finish()
}
