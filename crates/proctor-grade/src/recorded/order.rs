//! The lists of `order`.

use proctor_model::json::Json;
use proctor_model::recorded::report::{Echo, Item};

use crate::json_equal::{json_equal, json_equal_normalised};

/// Code points of an element that a report shows at most.
const SHOWN: usize = 200;

/// The first place at which the lists differ.
pub(super) fn first_difference<'a>(
    expected: &'a [Json<'a>],
    actual: &[Json<'_>],
) -> Option<Item<'a>> {
    let longer = expected.len().max(actual.len());
    let index = (0..longer).find(|&index| match (expected.get(index), actual.get(index)) {
        (Some(expected), Some(actual)) => !json_equal(expected, actual),
        _ => true,
    })?;
    let value = expected.get(index).map_or(Echo::Null, Echo::Value);
    let excerpt = actual.get(index).map(shown);
    Some(Item { index: Some(index), value, found: false, boundary: None, excerpt })
}

pub(super) fn equal_normalised(expected: &[Json<'_>], actual: &[Json<'_>]) -> bool {
    expected.len() == actual.len()
        && expected.iter().zip(actual).all(|(one, other)| json_equal_normalised(one, other))
}

/// Whether an integer stands anywhere in the list that no double equals.
pub(super) fn has_inexact(values: &[Json<'_>]) -> bool {
    values.iter().any(|value| match value {
        Json::Number(number) => number.is_inexact_integer(),
        Json::Array(items) => has_inexact(items),
        Json::Object(object) => {
            object.members().iter().any(|(_, value)| has_inexact(std::slice::from_ref(value)))
        }
        Json::Null | Json::Bool(_) | Json::String(_) => false,
    })
}

/// An element as JSON, shortened.
fn shown(value: &Json<'_>) -> String {
    let mut text = Vec::new();
    proctor_model::json::canonical(value, &mut text);
    let text = String::from_utf8_lossy(&text);
    let mut shown: String = text.chars().take(SHOWN).collect();
    if text.chars().nth(SHOWN).is_some() {
        shown.push_str("...");
    }
    shown
}
