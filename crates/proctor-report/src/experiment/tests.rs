//! Tests of reports on runs.

use proctor_model::run::{RunKind, RunReport};
use serde_json::{Value, json};

use super::*;
use crate::Styles;

fn test(name: &str, status: &str, exit_code: Option<i32>, stderr: &str) -> Value {
    json!({"name": name, "status": status, "exit_code": exit_code, "duration_ms": 5,
           "stdout_tail": "", "stderr_tail": stderr})
}

fn trial(repeat_idx: u32, status: &str, exit_reason: &str, tests: &[Value]) -> Value {
    json!({"schema_version": 1, "run_id": format!("a::p::{repeat_idx:016x}"), "run_group_id": "x-1",
           "scenario_id": "x", "variant_id": "a::p", "fingerprint": "sha256:0",
           "repeat_idx": repeat_idx, "coordinates": {"agent": "a", "model": null, "effort": null,
           "prompt_id": "p", "environment": null, "product": null, "extension_id": null},
           "status": status, "exit_reason": exit_reason, "reason": null, "started_at": 0,
           "ended_at": 1, "phases": [], "tool_calls": 0, "tool_calls_failed": 0, "tests": tests})
}

/// A trial of every kind, with texts that want to be more than text.
fn report() -> RunReport {
    let hostile = "</failure> | `code` <b> @you\u{1b}[2J\n";
    let asked = {
        let mut asked = test("asked", "evidence_error", Some(1), "");
        asked["evidence_errors"] = json!(["there is no column `text`"]);
        asked
    };
    let mut late = trial(1, "error", "timeout", &[test("t", "passed", Some(0), "")]);
    late["reason"] = json!("60 s were up");
    let tally = json!({"passed": 0, "failed": 1, "errors": 1, "pass_rate": 0.0,
                       "pass_rate_low": 0.0, "pass_rate_high": 0.793, "cost_usd": null});
    let mut variant = tally.clone();
    variant["variant_id"] = json!("a::p");
    variant["planned"] = json!(3);
    let trials = vec![
        trial(
            0,
            "fail",
            "end_turn",
            &[
                test("wrong", "failed", Some(3), hostile),
                asked,
                test("unread", "skipped", None, ""),
            ],
        ),
        late,
    ];
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": "x-1", "experiment_id": "x", "planned": 3, "finished": 2,
        "total": tally, "variants": [variant], "trials": trials,
    }))
    .unwrap()
}

/// A run of conformance tests: no tests, but checks, one of which decides nothing.
fn graded() -> RunReport {
    let mut trial = trial(0, "fail", "end_turn", &[]);
    trial["reason"] = json!("result phase: 1 of 3 checks failed");
    trial["graded"] = json!([
        {"name": "0: file_exists", "kind": "file_exists", "status": "passed"},
        {"name": "1: command", "kind": "command", "status": "failed", "optional": true,
         "reason": "exit code 3"},
        {"name": "2: file_matches", "kind": "file_matches", "status": "failed",
         "reason": "no file matches", "excerpt": "a|b </x>"},
    ]);
    let tally = json!({"passed": 0, "failed": 1, "errors": 0, "pass_rate": 0.0,
                       "pass_rate_low": 0.0, "pass_rate_high": 0.793, "cost_usd": null});
    let mut variant = tally.clone();
    variant["variant_id"] = json!("example::claude");
    variant["planned"] = json!(1);
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": "conformance-1", "kind": "conformance",
        "experiment_id": "conformance", "planned": 1, "finished": 1,
        "total": tally, "variants": [variant], "trials": [trial],
    }))
    .unwrap()
}

#[test]
fn checks_are_told_beside_tests() {
    let (report, styles) = (graded(), Styles::plain());
    insta::assert_snapshot!(tests_text(&report, &styles) + &run_text(&report, &styles), @r"
    a::p #0 (end_turn)
      passed 0: file_exists
      failed 1: command (optional): exit code 3
      failed 2: file_matches: no file matches: `a|b </x>`
    fail  a::p::0000000000000000 (end_turn): result phase: 1 of 3 checks failed
      failed 2: file_matches: no file matches: `a|b </x>`
    example::claude  0 passed, 1 failed, 0 errors of 1  0% (0-79%, n = 1)
    conformance-1: 0 passed, 1 failed, 0 errors of 1 trials  0% (0-79%, n = 1)
    nothing passed
    ");
    insta::assert_snapshot!(run_markdown(&report), @r"
    # `conformance-1`

    | Variant | Passed | Failed | Errors | Planned | Pass rate | 95 % interval |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | `example::claude` | 0 | 1 | 0 | 1 | 0% | 0-79% |
    | all | 0 | 1 | 0 | 1 | 0% | 0-79% |

    ## fail: `a::p::0000000000000000`

    The agent ended with `end_turn`: `result phase: 1 of 3 checks failed`

    - `2: file_matches` failed: `` no file matches: `a\|b </x>` ``
    ");
    insta::assert_snapshot!(run_junit(&report), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="conformance" tests="3" failures="1" errors="0" skipped="1">
      <testsuite name="a::p #0" tests="3" failures="1" errors="0" skipped="1">
        <testcase name="0: file_exists" classname="a::p #0"/>
        <testcase name="1: command" classname="a::p #0">
          <skipped message="exit code 3"/>
        </testcase>
        <testcase name="2: file_matches" classname="a::p #0">
          <failure message="no file matches: `a|b &lt;/x&gt;`"/>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
    let value: Value = serde_json::from_str(&run_json(&report)).unwrap();
    assert_eq!(value["kind"], "conformance");
    assert_eq!(value["trials"][0]["graded"][1]["optional"], true);
}

#[test]
fn a_failure_that_no_check_tells_is_told() {
    let mut report = graded();
    report.trials[0].graded.clear();
    let text = run_junit(&report);
    assert!(text.contains("<failure message=\"result phase: 1 of 3 checks failed\"/>"), "{text}");
}

#[test]
fn junit_tells_failures_from_errors() {
    insta::assert_snapshot!(run_junit(&report()), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="x" tests="6" failures="1" errors="3" skipped="1">
      <testsuite name="a::p #0" tests="3" failures="1" errors="1" skipped="1">
        <testcase name="wrong" classname="a::p #0">
          <failure message="exit 3: &lt;/failure&gt; | `code` &lt;b&gt; @you\u{1b}[2J"/>
        </testcase>
        <testcase name="asked" classname="a::p #0">
          <error message="exit 1: there is no column `text`"/>
        </testcase>
        <testcase name="unread" classname="a::p #0">
          <skipped message=""/>
        </testcase>
      </testsuite>
      <testsuite name="a::p #1" tests="2" failures="0" errors="1" skipped="0">
        <testcase name="trial" classname="a::p #1">
          <error message="timeout: 60 s were up"/>
        </testcase>
        <testcase name="t" classname="a::p #1"/>
      </testsuite>
      <testsuite name="trials" tests="1" failures="0" errors="1" skipped="0">
        <testcase name="finished" classname="trials">
          <error message="1 of 3 trials are not finished"/>
        </testcase>
      </testsuite>
    </testsuites>
    "#);
}

#[test]
fn markdown_is_a_table_and_what_went_wrong() {
    insta::assert_snapshot!(run_markdown(&report()), @r#"
    # `x-1`

    | Variant | Passed | Failed | Errors | Planned | Pass rate | 95 % interval |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | `a::p` | 0 | 1 | 1 | 3 | 0% | 0-79% |
    | all | 0 | 1 | 1 | 3 | 0% | 0-79% |

    1 of 3 trials are not finished.

    ## fail: `a::p::0000000000000000`

    The agent ended with `end_turn`

    - `wrong` failed: ``exit 3: </failure> \| `code` <b> @you\u{1b}[2J``
    - `asked` evidence_error: `` exit 1: there is no column `text` ``

    ## error: `a::p::0000000000000001`

    The agent ended with `timeout`: `60 s were up`
    "#);
}

#[test]
fn bytes_are_told_with_two_digits() {
    let told = [0, 999, 1000, 1999, 12_345, 999_999, 1_000_000, u64::MAX].map(bytes_text);
    let expected = ["0 B", "999 B", "1.0 kB", "1.9 kB", "12 kB", "999 kB", "1.0 MB", "18446744 TB"];
    assert_eq!(told, expected);
}

#[test]
fn what_was_not_started_is_named_everywhere() {
    let mut capped = report();
    capped.unfinished = serde_json::from_value(json!([
        {"run_id": "a::p::2", "variant_id": "a::p", "repeat_idx": 2,
         "not_started": "the cap of $5 could be passed"},
    ]))
    .unwrap();
    for trial in &mut capped.trials {
        trial.warnings = vec!["not_enforced: nothing keeps `max_turns` of this agent".to_owned()];
    }
    let text = run_text(&capped, &Styles::plain());
    assert!(
        text.ends_with(
            "warning of 2 trials: not_enforced: nothing keeps `max_turns` of this agent\n"
        )
    );
    assert!(text.contains("not started  a::p #2: the cap of $5 could be passed\n"), "{text}");
    assert!(text.contains(" of 3 trials, 1 not run"), "{text}");
    let junit = run_junit(&capped);
    let case = "<error message=\"not started: the cap of $5 could be passed\"/>";
    assert!(junit.contains(case) && !junit.contains("not finished"), "{junit}");
    let markdown = run_markdown(&capped);
    let line = "`a::p #2` was not started: `the cap of $5 could be passed`";
    assert!(markdown.contains(line), "{markdown}");
}

#[test]
fn a_list_says_who_works_and_what_is_left() {
    let row = |run_id: &str| RunRow {
        run_id: run_id.to_owned(),
        kind: Some(RunKind::Experiment),
        planned: 3,
        passed: 1,
        ..RunRow::default()
    };
    let rows = [
        RunRow { worker: Some(7), bytes: Some(1_234_567), ..row("x-3") },
        RunRow { retest_of: Some("x-1".to_owned()), planned: 1, ..row("x-2") },
        RunRow { kind: None, problem: Some("group.json is damaged".to_owned()), ..row("x-1") },
        RunRow { kind: Some(RunKind::SkillEval), ..row("eval-1") },
        row("x-0"),
    ];
    insta::assert_snapshot!(runs_text(&rows), @r#"
    x-3     experiment  1 passed, 0 failed, 0 errors of 3; running in process 7; 1.2 MB
    x-2     experiment  1 passed, 0 failed, 0 errors of 1; retest of x-1
    x-1                 cannot be read: group.json is damaged
    eval-1  skill_eval  1 passed, 0 failed, 0 errors of 3; 2 not finished
    x-0     experiment  1 passed, 0 failed, 0 errors of 3; 2 not finished
    "#);
}
