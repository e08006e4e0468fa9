//! Sets of code units.

use std::sync::Arc;

use super::unicode;

/// An immutable set of UTF-16 code units; cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set(Arc<Inner>);

#[derive(Debug, PartialEq, Eq)]
struct Inner {
    /// One bit for each unit below 128.
    ascii: u128,
    /// Sorted, apart from each other.
    ranges: Vec<(u16, u16)>,
}

impl Set {
    /// The set of the units in `ranges`, in any order.
    pub(super) fn new(ranges: impl IntoIterator<Item = (u16, u16)>) -> Self {
        let ranges = normal(ranges.into_iter().collect());
        let mut ascii = 0;
        for (first, last) in &ranges {
            for unit in *first..=(*last).min(127) {
                ascii |= 1 << unit;
            }
        }
        Self(Arc::new(Inner { ascii, ranges }))
    }

    /// All units but those in `ranges`.
    pub(super) fn except(ranges: impl IntoIterator<Item = (u16, u16)>) -> Self {
        Self::new(complement(&normal(ranges.into_iter().collect())))
    }

    pub(super) fn contains(&self, unit: u16) -> bool {
        if unit < 128 {
            return self.0.ascii >> unit & 1 == 1;
        }
        let after = self.0.ranges.partition_point(|(first, _)| *first <= unit);
        after
            .checked_sub(1)
            .and_then(|at| self.0.ranges.get(at))
            .is_some_and(|(_, last)| unit <= *last)
    }

    pub(super) fn ranges(&self) -> &[(u16, u16)] {
        &self.0.ranges
    }
}

/// A character class while it is read.
#[derive(Debug, Default)]
pub(super) struct Builder {
    /// Units and ranges as written: these take part in case folding.
    written: Vec<(u16, u16)>,
    /// From `\w`, `\p{..}` and their like: these do not.
    named: Vec<(u16, u16)>,
}

impl Builder {
    pub(super) fn range(&mut self, first: u16, last: u16) {
        self.written.push((first, last));
    }

    pub(super) fn set(&mut self, set: &Set) {
        self.named.extend_from_slice(set.ranges());
    }

    pub(super) fn build(mut self, fold: bool, negate: bool) -> Set {
        if fold {
            let written = Set::new(self.written.iter().copied());
            for family in unicode::case_families() {
                if family.iter().any(|unit| written.contains(*unit)) {
                    self.written.extend(family.iter().map(|unit| (*unit, *unit)));
                }
            }
        }
        let ranges = self.written.into_iter().chain(self.named);
        if negate { Set::except(ranges) } else { Set::new(ranges) }
    }
}

fn normal(mut ranges: Vec<(u16, u16)>) -> Vec<(u16, u16)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u16, u16)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

fn complement(ranges: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let mut others = Vec::with_capacity(ranges.len() + 1);
    let mut next = Some(0);
    for (first, last) in ranges {
        if let Some(from) = next
            && from < *first
        {
            others.push((from, first - 1));
        }
        next = last.checked_add(1);
    }
    if let Some(from) = next {
        others.push((from, u16::MAX));
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_merge_and_complement() {
        let set = Set::new([(5, 9), (0, 1), (10, 12), (200, 300), (250, 260)]);
        assert_eq!(set.ranges(), [(0, 1), (5, 12), (200, 300)]);
        let others = Set::except(set.ranges().iter().copied());
        assert_eq!(others.ranges(), [(2, 4), (13, 199), (301, u16::MAX)]);
        for unit in 0..=u16::MAX {
            assert_ne!(set.contains(unit), others.contains(unit), "{unit}");
        }
        assert_eq!(Set::except([]).ranges(), [(0, u16::MAX)]);
        assert_eq!(Set::except([(0, u16::MAX)]).ranges(), []);
    }
}
