//! Fixture ids that come twice with different content.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use proctor_model::recorded::report::{RunReport, note};

/// Places for ids: 4 MiB, however many runs there are.
const SLOTS: usize = 1 << 19;

/// So many places are looked at for an id. Fewer are enough while the table is not almost full.
const PROBES: usize = 64;

/// An id is remembered by 40 bits of its hash, beside the 19 bits that choose its place; two of
/// 100,000 ids are taken for one with a probability of 1 in 100,000,000.
const TAG: u64 = !0 << 24;

/// Its content by 23 bits of a hash.
const CONTENT: u64 = 0x00ff_fffe;

/// Whether it was seen with several contents.
const SEVERAL: u64 = 1;

/// The ids seen so far. There is no random seed: the same runs get the same notes.
pub(super) struct Duplicates {
    /// 0, or a tag with content.
    slots: Vec<u64>,
    full: bool,
}

impl Default for Duplicates {
    fn default() -> Self {
        Self { slots: vec![0; SLOTS], full: false }
    }
}

impl Duplicates {
    /// Notes on a report that an earlier one has the same id and other content. An id for which
    /// there is no place is not remembered.
    pub(super) fn note(&mut self, report: &mut RunReport<'_>) {
        let id = report.fixture.and_then(|fixture| fixture.id);
        let (Some(id), Some(digest)) = (id, report.input_digest) else { return };
        let id = hash(|hasher| id.hash(hasher));
        let content = hash(|hasher| digest.0.hash(hasher)) & CONTENT;
        if self.has_other(id, content) {
            report.notes.push(note::DUPLICATE_ID.into());
        }
    }

    /// Whether an id could not be remembered.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether `id` was seen with another content; remembers it with this one.
    fn has_other(&mut self, id: u64, content: u64) -> bool {
        // An empty place is 0.
        let tag = (id & TAG).max(CONTENT + SEVERAL + 1);
        let first = usize::try_from(id & (SLOTS as u64 - 1)).unwrap_or_default();
        for place in first..first + PROBES {
            let Some(slot) = self.slots.get_mut(place % SLOTS) else { break };
            if *slot == 0 {
                *slot = tag | content;
                return false;
            }
            if *slot & TAG == tag {
                if *slot & SEVERAL == 0 && *slot & CONTENT == content {
                    return false;
                }
                *slot |= SEVERAL;
                return true;
            }
        }
        self.full = true;
        false
    }
}

fn hash(feed: impl FnOnce(&mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_other_content_is_told() {
        let mut seen = Duplicates::default();
        for id in [0, 1, 2 << 24, u64::MAX] {
            let told: Vec<bool> =
                [2, 2, 4, 2, 4].into_iter().map(|content| seen.has_other(id, content)).collect();
            assert_eq!(told, [false, false, true, true, true], "{id}");
        }
        assert!(!seen.is_full());
    }

    #[test]
    fn a_full_table_forgets_and_says_so() {
        let mut seen = Duplicates::default();
        // All want the same place.
        for tag in 1..=PROBES as u64 {
            assert!(!seen.has_other((tag << 24) | (SLOTS as u64 - 1), 2));
        }
        assert!(!seen.is_full());
        let late = (1000 << 24) | (SLOTS as u64 - 1);
        assert!(!seen.has_other(late, 2) && !seen.has_other(late, 4));
        assert!(seen.is_full());
        assert!(seen.has_other((1 << 24) | (SLOTS as u64 - 1), 4));
    }

    #[test]
    fn there_is_room_for_hundreds_of_thousands() {
        let mut seen = Duplicates::default();
        for number in 0..300_000_u64 {
            let id = hash(|hasher| number.hash(hasher));
            assert!(!seen.has_other(id, 2));
        }
        assert!(!seen.is_full());
    }
}
