//! The text rule against vector files that are not part of this repository; skipped without them.

#![expect(clippy::print_stderr, reason = "says which vectors were not there")]

use std::path::Path;

use proctor_grade::json_equal::json_equal;
use proctor_grade::text::{Boundary, Prepared};
use proctor_model::json::Json;
use proctor_model::recorded::run::Scalar;
use serde_json::Value;

fn vectors(name: &str) -> Option<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/recorded-runs");
    let Ok(text) = std::fs::read_to_string(folder.join("vectors").join(name)) else {
        eprintln!("skipped: no vector file {name}");
        return None;
    };
    Some(serde_json::from_str(&text).expect("a list of vectors"))
}

#[test]
fn containment() {
    for vector in vectors("containment.json").unwrap_or_default() {
        let text = Prepared::new(vector["text"].as_str().expect("text"));
        let needle = Prepared::new(vector["needle"].as_str().expect("needle"));
        for (column, boundary) in [("substring", Boundary::Substring), ("word", Boundary::Word)] {
            assert_eq!(text.find(&needle, boundary).found, vector[column], "{column}: {vector}");
        }
    }
}

#[test]
fn answer_equals() {
    for vector in vectors("answer-equals.json").unwrap_or_default() {
        let [expected, answer] = ["expected", "answer"].map(|key| Json::from(&vector[key]));
        let [expected, answer] =
            [&expected, &answer].map(|value| Scalar::of(value).expect("a scalar").text());
        let equal = Prepared::new(&expected).equals(&Prepared::new(&answer));
        assert_eq!(equal, vector["equal"], "{vector}");
    }
}

#[test]
fn order() {
    for vector in vectors("order.json").unwrap_or_default() {
        let [expected, actual] = ["expected", "actual"].map(|key| Json::from(&vector[key]));
        assert_eq!(json_equal(&expected, &actual), vector["equal"], "{vector}");
    }
}
