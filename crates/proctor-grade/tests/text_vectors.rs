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

/// Real answers of 16 memory systems with a judge's score: how often the gold text is in an answer
/// that the judge calls right or wrong. The figures stand in the documentation.
#[test]
fn gold_texts_in_judged_answers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/recorded-runs");
    let Ok(lines) = std::fs::read_to_string(folder.join("arena_fixture_runs.jsonl")) else {
        eprintln!("skipped: no judged answers");
        return;
    };
    let mut counts = [[0; 2]; 4];
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("a judged run");
        let wrong = usize::from(line["judge_score"].as_f64().expect("a score") < 50.0);
        let run = &line["run"];
        let Some(answer) = run["actual"]["answer"].as_str().map(Prepared::new) else { continue };
        let gold = run["fixture"]["expected"]["mustContain"][0].as_str().expect("gold");
        let gold = Prepared::new(gold);
        let found =
            [Boundary::Substring, Boundary::Word].map(|mode| answer.find(&gold, mode).found);
        let held = [true, found[0], found[1], answer.equals(&gold)];
        for (count, held) in counts.iter_mut().zip(held) {
            count[wrong] += u32::from(held);
        }
    }
    assert_eq!(counts, [[219, 353], [127, 97], [117, 44], [0, 0]], "all, substring, word, equal");
}
