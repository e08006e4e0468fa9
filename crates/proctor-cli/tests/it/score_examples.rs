//! The worked examples of recorded runs score what they are there to show.

use std::path::{Path, PathBuf};

use proctor_model::recorded::run::{Category, Kind};
use proctor_testkit::{Run, TestContext};
use serde_json::Value;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recorded-runs")
}

fn score(args: &[&str], path: &Path) -> (Run, Value) {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    let path = path.to_str().expect("a path in UTF-8");
    let run = context.run(["score", path].iter().chain(args));
    let report = serde_json::from_str(&run.stdout).expect("a report in JSON");
    (run, report)
}

#[test]
fn one_example_for_each_category_and_kind() {
    let (run, report) = score(&["--self-test"], &folder());
    assert_eq!(run.code, 0, "{}", run.stdout);
    let runs = report["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), Category::ALL.len() * Kind::ALL.len());
    for category in Category::ALL {
        for kind in Kind::ALL {
            let name = format!("{}-{}.json", category.as_str(), kind.as_str());
            let run = runs.iter().find(|run| run["path"] == name.as_str());
            let fixture = &run.unwrap_or_else(|| panic!("no {name}"))["fixture"];
            assert_eq!(fixture["category"], category.as_str(), "{name}");
            assert_eq!(fixture["kind"], kind.as_str(), "{name}");
        }
    }
}

#[test]
fn each_example_exits_with_its_verdict() {
    for (name, code, verdict) in [
        ("forgetting-positive", 0, "pass"),
        ("forgetting-negative", 1, "fail"),
        ("chronology-missing-data", 2, "unknown"),
        ("entity-confusion-malformed", 3, "error"),
        ("chronology-adversarial", 0, "pass"),
    ] {
        let (run, report) = score(&[], &folder().join(format!("{name}.json")));
        assert_eq!((run.code, report["verdict"].as_str()), (code, Some(verdict)), "{name}");
    }
}
