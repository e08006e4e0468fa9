//! The values of `mustContain` and `mustNotContain`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use proctor_model::json::Json;
use proctor_model::recorded::report::{CheckName, Echo, Item};
use proctor_model::recorded::run::{Expected, Scalar, Violation};

use crate::text::{Boundary, Prepared, normalise};

/// The most that a check may compare: the number of values times the length of the answer in bytes.
/// About a second of work; runs that people record stay far below it.
const MAX_COMPARISON: u64 = 250_000_000;

/// The texts of the listed values.
pub(super) struct Needles<'a> {
    pub(super) must: Vec<Cow<'a, str>>,
    pub(super) must_not: Vec<Cow<'a, str>>,
}

impl<'a> Needles<'a> {
    pub(super) fn of(expected: &Expected<'a>) -> Self {
        Self { must: texts(expected.must_contain), must_not: texts(expected.must_not_contain) }
    }

    /// What is wrong with the lists for an answer of `length` bytes.
    pub(super) fn violations(&self, length: usize) -> Vec<Violation> {
        let mut violations = Vec::new();
        for (check, list) in
            [(CheckName::MustContain, &self.must), (CheckName::MustNotContain, &self.must_not)]
        {
            let size = (list.len() as u64).saturating_mul(length as u64);
            if size > MAX_COMPARISON {
                let message = format!(
                    "{} values are too many for an answer of {length} bytes; the product may be \
                     {MAX_COMPARISON} at most",
                    list.len()
                );
                violations.push(violation(check, None, message));
            }
        }
        if !self.must.is_empty() && !self.must_not.is_empty() {
            let needed: BTreeSet<Cow<'_, str>> =
                self.must.iter().map(|text| normalise(text)).collect();
            for (index, text) in self.must_not.iter().enumerate() {
                if needed.contains(&normalise(text)) {
                    let message = "is listed in `mustContain` too; no answer can pass";
                    violations.push(violation(CheckName::MustNotContain, Some(index), message));
                }
            }
        }
        violations
    }
}

fn violation(check: CheckName, index: Option<usize>, message: impl Into<String>) -> Violation {
    let index = index.map(|index| format!("/{index}")).unwrap_or_default();
    Violation::new(format!("/fixture/expected/{check}{index}"), message)
}

fn texts<'a>(values: Option<&'a [Json<'a>]>) -> Vec<Cow<'a, str>> {
    // The contract allows nothing but scalars here.
    values.unwrap_or_default().iter().filter_map(Scalar::of).map(Scalar::text).collect()
}

/// Looks for each value in the answer.
pub(super) fn search<'a>(
    values: &'a [Json<'a>],
    needles: &[Cow<'a, str>],
    answer: &Prepared<'_>,
    boundary: Boundary,
) -> Vec<Item<'a>> {
    let item = |(value, needle): (&'a Json<'a>, &Cow<'a, str>)| {
        let hit = answer.find(&Prepared::new(needle), boundary);
        let excerpt = hit.at.map(|at| answer.excerpt(&at).to_owned());
        let value = Echo::Value(value);
        Item { index: None, value, found: hit.found, boundary: hit.boundary, excerpt }
    };
    values.iter().zip(needles).map(item).collect()
}
