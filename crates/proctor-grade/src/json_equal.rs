//! When two JSON values are the same.

use proctor_model::json::Json;

use crate::text::normalise;

/// How strings are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strings {
    Exact,
    Normalised,
}

/// Deep equality: arrays in order, objects without regard to the order of their keys, strings code
/// point by code point, numbers by value in double precision (1 is 1.0, -0 is 0). Values of
/// different types differ; null is null.
pub fn json_equal(one: &Json<'_>, other: &Json<'_>) -> bool {
    equal(one, other, Strings::Exact)
}

/// As [`json_equal`], but strings (not keys) are compared in their normal form. Two values of which
/// only this holds differ by nothing but case, white space or the encoding of their letters.
pub fn json_equal_normalised(one: &Json<'_>, other: &Json<'_>) -> bool {
    equal(one, other, Strings::Normalised)
}

/// Keeps its own stack: how deep a value may be is for whoever reads it to say.
fn equal(one: &Json<'_>, other: &Json<'_>, strings: Strings) -> bool {
    let mut open = vec![(one, other)];
    while let Some(pair) = open.pop() {
        let same = match pair {
            (Json::Null, Json::Null) => true,
            (Json::Bool(one), Json::Bool(other)) => one == other,
            (Json::Number(one), Json::Number(other)) => same_number(one.value(), other.value()),
            (Json::String(one), Json::String(other)) => match strings {
                Strings::Exact => one == other,
                Strings::Normalised => normalise(one) == normalise(other),
            },
            (Json::Array(one), Json::Array(other)) => {
                open.extend(one.iter().zip(other));
                one.len() == other.len()
            }
            (Json::Object(one), Json::Object(other)) => {
                let (one, other) = (one.members(), other.members());
                // Members are sorted by key.
                open.extend(one.iter().zip(other).map(|((_, one), (_, other))| (one, other)));
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| one.0 == other.0)
            }
            _ => false,
        };
        if !same {
            return false;
        }
    }
    true
}

#[expect(clippy::float_cmp, reason = "the same number or not")]
fn same_number(one: f64, other: f64) -> bool {
    one == other
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn vectors() {
        for (one, other, exact, normalised) in [
            (json!([]), json!([]), true, true),
            (json!(["x", "y"]), json!(["x", "y"]), true, true),
            (json!(["x", "y"]), json!(["y", "x"]), false, false),
            (json!(["x"]), json!(["x", "y"]), false, false),
            (json!(["x", "y"]), json!(["x"]), false, false),
            (json!(["Oslo"]), json!(["OSLO"]), false, true),
            (json!(["Oslo"]), json!([" Oslo "]), false, true),
            (json!(["é"]), json!(["e\u{301}"]), false, true),
            (json!([{"a": 1, "b": [2]}]), json!([{"b": [2.0], "a": 1}]), true, true),
            (json!([{"a": 1}]), json!([{"a": 1, "b": 2}]), false, false),
            (json!([{"a": 1, "b": 2}]), json!([{"a": 1}]), false, false),
            (json!([{"a": 1}]), json!([{"b": 1}]), false, false),
            (json!([{"A": 1}]), json!([{"a": 1}]), false, false),
            (json!([1]), json!([1.0]), true, true),
            (json!([0]), json!([-0.0]), true, true),
            (json!([1]), json!(["1"]), false, false),
            (json!([1]), json!([true]), false, false),
            (json!([null]), json!([null]), true, true),
            (json!([null]), json!([false]), false, false),
            (json!([null]), json!([]), false, false),
            (json!([9_007_199_254_740_992_u64]), json!([9_007_199_254_740_993_u64]), true, true),
            (json!([-1]), json!([u64::MAX]), false, false),
            (json!([[["a"]], "b"]), json!([[["a"]], "b"]), true, true),
            (json!([[["a"]], "b"]), json!([[["a"], "b"]]), false, false),
        ] {
            let (left, right) = (Json::from(&one), Json::from(&other));
            assert_eq!(json_equal(&left, &right), exact, "{one} {other}");
            assert_eq!(json_equal_normalised(&left, &right), normalised, "{one} {other}");
            assert_eq!(json_equal(&right, &left), exact, "{other} {one}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2..3).prop_map(Value::from),
            "[aA ]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab]", inner, 0..3)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn as_serde_json_says_of_whole_numbers(one in values(), other in values()) {
            let (left, right) = (Json::from(&one), Json::from(&other));
            prop_assert!(json_equal(&left, &left.clone()));
            prop_assert_eq!(json_equal(&left, &right), one == other);
            prop_assert!(one != other || json_equal_normalised(&left, &right));
        }
    }
}
