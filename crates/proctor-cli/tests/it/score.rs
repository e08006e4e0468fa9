//! `proctor score` as people run it.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

const SAMPLE: &str = r#"{
  "contractVersion": "1",
  "fixture": {
    "id": "forgetting-negative-returns-stale-value",
    "category": "forgetting",
    "kind": "negative",
    "query": "What city does the user currently live in?",
    "memory": [
      { "t": "2026-01-02", "fact": "user moved to Berlin" },
      { "t": "2026-06-20", "fact": "user moved to Lisbon" }
    ],
    "expected": {
      "mustContain": ["Lisbon"],
      "mustNotContain": ["Berlin"]
    }
  },
  "actual": { "answer": "The user lives in Berlin." }
}"#;

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_proctor"))
}

fn score(context: &TestContext, args: &[&str]) -> Run {
    context.run(["score"].iter().chain(args))
}

fn report(run: &Run) -> Value {
    serde_json::from_str(&run.stdout).expect("a report in JSON")
}

/// A run that fails or passes by its answer.
fn with_answer(answer: &str) -> String {
    SAMPLE.replace("The user lives in Berlin.", answer)
}

#[test]
fn the_sample_fails_and_says_why() {
    let context = context();
    context.write("run.json", SAMPLE);
    insta::assert_snapshot!(score(&context, &["run.json", "--human"]), @r#"
    exit 1
    --- stdout
    fail forgetting-negative-returns-stale-value (forgetting, negative, answer)
      fail mustContain (value_missing)
        "Lisbon" is not in the answer
        next: if the answer says it in other words, list a shorter anchor
      fail mustNotContain (stale_value_present)
        "Berlin" is in the answer:
          > The user lives in Berlin.
        next: history counts too: ask for the current value only in the query, if that is meant
    --- stderr
    "#);
}

#[test]
fn the_receipt_of_the_sample() {
    let context = context();
    context.write("run.json", SAMPLE);
    insta::assert_snapshot!(score(&context, &["run.json"]), @r#"
    exit 1
    --- stdout
    {
      "contractVersion": "1",
      "evaluatorVersion": "1.0.0",
      "fixture": {
        "id": "forgetting-negative-returns-stale-value",
        "category": "forgetting",
        "kind": "negative",
        "query": "What city does the user currently live in?",
        "memory": [
          {
            "fact": "user moved to Berlin",
            "t": "2026-01-02"
          },
          {
            "fact": "user moved to Lisbon",
            "t": "2026-06-20"
          }
        ]
      },
      "inputDigest": "sha256:aed335230f4316012ba56e55873fd33636ad245f35d5f7128b7e1ff808bfcb47",
      "adapter": null,
      "subject": "answer",
      "verdict": "fail",
      "checks": [
        {
          "check": "mustContain",
          "verdict": "fail",
          "reads": "actual.answer",
          "expected": [
            "Lisbon"
          ],
          "items": [
            {
              "value": "Lisbon",
              "found": false,
              "boundary": null,
              "excerpt": null
            }
          ],
          "reason": "value_missing"
        },
        {
          "check": "mustNotContain",
          "verdict": "fail",
          "reads": "actual.answer",
          "expected": [
            "Berlin"
          ],
          "items": [
            {
              "value": "Berlin",
              "found": true,
              "boundary": true,
              "excerpt": "The user lives in Berlin."
            }
          ],
          "reason": "stale_value_present"
        }
      ],
      "notes": []
    }
    --- stderr
    "#);
}

#[test]
fn the_exit_code_is_the_verdict() {
    let context = context();
    let passes = with_answer("Lisbon");
    let unknown = SAMPLE.replace("\"answer\"", "\"other\"");
    let error = SAMPLE.replace("\"1\"", "1");
    context.write("set/pass.json", &passes);
    assert_eq!(score(&context, &["set"]).code, 0);
    context.write("set/unknown.json", &unknown);
    assert_eq!(score(&context, &["set"]).code, 2);
    context.write("set/fail.json", SAMPLE);
    assert_eq!(score(&context, &["set"]).code, 1);
    context.write("set/error.json", &error);
    assert_eq!(score(&context, &["set"]).code, 3);
    for (name, code) in [("pass", 0), ("fail", 1), ("unknown", 2), ("error", 3)] {
        let run = score(&context, &[&format!("set/{name}.json")]);
        assert_eq!(run.code, code);
        assert_eq!(report(&run)["verdict"], name);
        assert_eq!(run.stderr, "");
    }
    context.write("empty/readme.md", "");
    let run = score(&context, &["empty"]);
    assert_eq!((run.code, &report(&run)["notes"]), (2, &json!(["no fixture-runs found"])));
}

#[test]
fn wrong_usage_is_no_verdict() {
    let context = context();
    context.write("run.json", SAMPLE);
    for args in [
        &["--bogus"][..],
        &[],
        &["run.json", "--adapter", "transcrypt"],
        &["run.json", "--order-by", "created_at"],
        &["run.json", "--adapter", "transcript", "--order-by", "created_at"],
        &["run.json", "--format", "xml"],
        &["run.json", "--human", "--format", "json"],
        &["run.json", "--exclude", "a["],
        &["run.json", "--labels", "nothing.csv"],
        &["run.json", "--boundary", "letter"],
        &["-", "-"],
        &["import", "--from", "nothing", "run.json"],
        &["import", "--from", "promptfoo", "run.json"],
        &["import", "--from", "promptfoo", "nothing.json"],
        &["--color", "never", "--bogus"],
    ] {
        let run = score(&context, args);
        assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{args:?}");
        assert!(run.stderr.starts_with("error: "), "{}", run.stderr);
    }
    assert_eq!(context.run(["--color", "never", "score", "--bogus"]).code, 3);
    assert_eq!(context.run(["transcript", "--bogus"]).code, 2);
    assert_eq!(score(&context, &["--help"]).code, 0);
}

#[test]
fn a_path_that_cannot_be_read_still_gives_a_whole_report() {
    let context = context();
    insta::assert_snapshot!(score(&context, &["nothing.json"]), @r#"
    exit 3
    --- stdout
    {
      "contractVersion": "1",
      "evaluatorVersion": "1.0.0",
      "fixture": null,
      "inputDigest": null,
      "adapter": null,
      "subject": null,
      "verdict": "error",
      "reason": "contract_violation",
      "checks": [],
      "violations": [
        {
          "pointer": "",
          "message": "does not exist"
        }
      ],
      "notes": []
    }
    --- stderr
    error: nothing.json: does not exist
    "#);
    context.write("run.json", SAMPLE);
    let run = score(&context, &["run.json", "nothing.json"]);
    assert_eq!((run.code, report(&run)["counts"]["fail"].as_u64()), (3, Some(1)));
}

fn with_stdin(context: &TestContext, args: &[&str], input: &str) -> (Option<i32>, String) {
    let mut command: Command = context.proctor_cmd();
    command.arg("score").args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn standard_input_gives_the_same_report_as_a_file() {
    let context = context();
    context.write("run.json", SAMPLE);
    let (code, text) = with_stdin(&context, &["-"], SAMPLE);
    assert_eq!(code, Some(1));
    assert_eq!(text, score(&context, &["run.json"]).stdout);
}

#[test]
fn spelling_changes_no_byte() {
    let context = context();
    context.write("run.json", SAMPLE);
    let plain = score(&context, &["run.json"]).stdout;
    let value: Value = serde_json::from_str(SAMPLE).unwrap();
    let mut turned = json!({"actual": value["actual"], "fixture": {}, "contractVersion": "1"});
    for (key, member) in value["fixture"].as_object().unwrap().iter().rev() {
        turned["fixture"][key] = member.clone();
    }
    context.write("run.json", format!("\u{feff}{}", turned.to_string().replace(':', " :\r\n")));
    assert_eq!(score(&context, &["run.json"]).stdout, plain);
    let mut command = context.proctor_cmd();
    command.args(["score", "run.json"]).env("LC_ALL", "tr_TR.UTF-8").env("TZ", "Asia/Tokyo");
    assert_eq!(context.run_command(&mut command).stdout, plain);
}

#[test]
fn lines_and_labels() {
    let context = context();
    let line = |answer: &str| with_answer(answer).replace('\n', " ");
    context.write("runs.jsonl", format!("{}\n\n{}\n{{\n", line("Lisbon"), line("Berlin")));
    context.write("labels.csv", "id,label\nruns.jsonl:1,pass\nruns.jsonl:3,fail\n");
    let run = score(&context, &["runs.jsonl", "--labels", "labels.csv", "--human"]);
    insta::assert_snapshot!(run, @r#"
    exit 3
    --- stdout
    fail forgetting-negative-returns-stale-value (forgetting, negative, answer) in runs.jsonl:3
      fail mustContain (value_missing)
        "Lisbon" is not in the answer
        next: if the answer says it in other words, list a shorter anchor
      fail mustNotContain (stale_value_present)
        "Berlin" is in the answer:
          > Berlin
        next: history counts too: ask for the current value only in the query, if that is meant
      note: duplicate_id: an earlier run has the same fixture id and other content
    error runs.jsonl:4
      column 1: `{` is never closed

    category          kind          verdict     pass     fail  unknown    error
    forgetting        negative      fail           1        1        0        0
    not readable      not readable  error          0        0        0        1

    verdict   labelled pass   labelled fail
    pass                  1               0
    unknown               0               0
    fail                  0               1
    error                 0               0
    agreement: 1.000 (95 % interval 0.342 to 1.000)
    Cohen's kappa: 1.000 (95 % interval -0.315 to 1.000)
    a pass is right: 1.000 (95 % interval 0.206 to 1.000)
    a fail is right: 1.000 (95 % interval 0.206 to 1.000)
    1 run without a label

    3 runs: 1 pass, 1 fail, 0 unknown, 1 error
    verdict: error
    --- stderr
    "#);
}

#[test]
fn formats_for_build_servers_and_comments() {
    let context = context();
    context.write("set/a.json", SAMPLE);
    context.write("set/b.json", with_answer("Lisbon"));
    insta::assert_snapshot!(score(&context, &["set", "--format", "junit"]), @r#"
    exit 1
    --- stdout
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="proctor score" tests="2" failures="1" errors="0">
      <testsuite name="recorded runs" tests="2" failures="1" errors="0" skipped="0">
        <testcase classname="forgetting.negative" name="a.json: forgetting-negative-returns-stale-value">
          <failure type="fail" message="mustContain: value_missing, mustNotContain: stale_value_present">mustContain: &quot;Lisbon&quot; is not in the answer
    mustNotContain: &quot;Berlin&quot; is in the answer:
    mustNotContain:   &gt; The user lives in Berlin.</failure>
        </testcase>
        <testcase classname="forgetting.negative" name="b.json: forgetting-negative-returns-stale-value"/>
      </testsuite>
    </testsuites>
    --- stderr
    "#);
    insta::assert_snapshot!(score(&context, &["set", "--format", "markdown"]), @r#"
    exit 1
    --- stdout
    ## Recorded runs: fail

    2 runs: 1 pass, 1 fail, 0 unknown, 0 error; 0 left out.

    | category | kind | verdict | pass | fail | unknown | error |
    |---|---|---|---:|---:|---:|---:|
    | forgetting | negative | fail | 1 | 1 | 0 | 0 |

    - **fail** `forgetting-negative-returns-stale-value` in `a.json`
      - fail mustContain (value_missing)
        - `"Lisbon" is not in the answer`
      - fail mustNotContain (stale_value_present)
        - `"Berlin" is in the answer:`
        - `> The user lives in Berlin.`
    --- stderr
    "#);
}

#[test]
fn word_mode_takes_whole_words() {
    let context = context();
    context.write("run.json", with_answer("Lisbon, where Berliners go"));
    let run = score(&context, &["run.json"]);
    assert_eq!((run.code, &report(&run)["notes"]), (1, &json!(["only_inside_word"])));
    let run = score(&context, &["run.json", "--boundary", "word"]);
    assert_eq!((run.code, &report(&run)["notes"]), (0, &json!(["boundary_word"])));
}

#[test]
fn adapters_are_listed_and_read_payloads() {
    let context = context();
    let run = score(&context, &["--adapters"]);
    assert_eq!((run.code, run.stdout.lines().count()), (0, 10));
    assert!(
        run.stdout.starts_with("anthropic         answer     a Messages response"),
        "{}",
        run.stdout
    );
    let payload = json!({"messages": [{"role": "assistant", "content": "Lisbon"}]});
    let vendor = SAMPLE.replace(
        "\"actual\": { \"answer\": \"The user lives in Berlin.\" }",
        &format!("\"payload\": {payload}"),
    );
    context.write("run.json", vendor);
    let run = score(&context, &["run.json", "--adapter", "transcript"]);
    assert_eq!((run.code, &report(&run)["adapter"]), (0, &json!("transcript")));
    assert_eq!(score(&context, &["run.json"]).code, 3);

    let row = |text: &str, at: &str| json!({"memory": text, "created_at": at});
    let rows = json!([row("Lisbon", "2026-06-20"), row("Porto", "2026-01-02")]);
    let mut retrieved: Value = serde_json::from_str(SAMPLE).unwrap();
    retrieved.as_object_mut().unwrap().remove("actual");
    retrieved["payload"] = rows;
    retrieved["fixture"]["expected"] = json!({"order": ["Porto", "Lisbon"]});
    context.write("run.json", retrieved.to_string());
    assert_eq!(score(&context, &["run.json", "--adapter", "mem0"]).code, 1);
    let run = score(&context, &["run.json", "--adapter", "mem0", "--order-by", "created_at"]);
    assert_eq!((run.code, &report(&run)["notes"]), (0, &json!(["order_by:created_at"])));
    assert_eq!(report(&run)["subject"], "retrieval");
}

/// With labels and in a self-test even one run is a set.
#[test]
fn one_run_can_be_a_set() {
    let context = context();
    context.write("run.json", SAMPLE);
    context.write("labels.csv", "run.json,fail\n");
    let run = report(&score(&context, &["run.json", "--labels", "labels.csv", "--self-test"]));
    assert_eq!(run["runs"][0]["path"], "run.json");
    assert_eq!(
        (&run["selfTest"]["asIntended"], &run["agreement"]["unused"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn the_schema_is_the_published_one() {
    let run = score(&context(), &["--schema"]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/fixture-run.v1.schema.json");
    assert_eq!((run.code, run.stdout), (0, std::fs::read_to_string(path).unwrap()));
}

#[test]
fn imported_runs_can_be_scored() {
    let context = context();
    let question = json!([{"question_id": "q1", "question_type": "knowledge-update", "question": "Where?", "answer": "Oslo"}]);
    context.write("questions.json", question.to_string());
    context.write("answers.jsonl", r#"{"question_id": "q1", "hypothesis": "In Oslo."}"#);
    let run =
        score(&context, &["import", "--from", "longmemeval", "questions.json", "answers.jsonl"]);
    assert_eq!(run.code, 0, "{run}");
    context.write("runs.jsonl", &run.stdout);
    assert_eq!(score(&context, &["runs.jsonl"]).code, 0);
}

#[test]
fn what_an_importer_lists_commands_nothing() {
    let context = context();
    let error = "down\n::error::x \u{1b}[2J";
    let row = json!({
        "testCase": {"metadata": {"category": "forgetting"}},
        "response": {"output": null},
        "error": error,
    });
    context.write("results.json", json!({"results": {"results": [row]}}).to_string());
    let run = score(&context, &["import", "--from", "promptfoo", "results.json"]);
    assert_eq!(run.code, 0, "{run}");
    insta::assert_snapshot!(run.stderr, @r"
    result 0: it has no output (down\n::error::x \u{1b}[2J), so the run is `unknown`
    runs: 1; not mapped, or not as it was meant: 1
    ");
}

#[test]
fn a_full_disk_is_told_with_its_place() {
    let context = context();
    context.write("run.json", SAMPLE);
    let mut command = context.proctor_cmd();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command.args(["score", "run.json"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("error: standard output cannot be written"), "{stderr}");
}

/// A reader that has gone is no reason to change the exit code or to complain.
#[test]
fn a_closed_pipe_is_quiet() {
    let context = context();
    let line = with_answer("Lisbon").replace('\n', " ");
    context.write("runs.jsonl", format!("{line}\n").repeat(2_000));
    let mut command = context.proctor_cmd();
    command.args(["score", "runs.jsonl"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
        (Some(0), "")
    );
}

/// The samples of vendors' payloads with what they say.
#[test]
fn the_samples_of_vendors_are_scored() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/recorded-runs/vendor-samples");
    let Ok(listed) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: {} is not here", folder.display());
        return;
    };
    let context = context();
    for entry in listed {
        let path = entry.unwrap().path();
        let sample: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        context.write("vendor.json", sample["input"].to_string());
        let adapter = sample["adapter"].as_str().unwrap();
        let by_adapter = report(&score(&context, &["vendor.json", "--adapter", adapter]));
        let mut normal = sample["input"].clone();
        normal.as_object_mut().unwrap().remove("payload");
        normal["actual"] = sample["normalised_actual"].clone();
        context.write("normal.json", normal.to_string());
        let by_hand = report(&score(&context, &["normal.json"]));
        assert_eq!(by_adapter["checks"], by_hand["checks"], "{}", path.display());
        assert_eq!(by_adapter["verdict"], by_hand["verdict"], "{}", path.display());
    }
}

/// What the documentation says about substrings and words, measured anew: how often the gold answer
/// is in an answer that a judge called right, and in one that it called wrong.
#[test]
fn the_measured_figures_hold() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/recorded-runs/arena_fixture_runs.jsonl");
    let Ok(text) = std::fs::read_to_string(&file) else {
        eprintln!("skipped: {} is not here", file.display());
        return;
    };
    let context = context();
    let (mut runs, mut labels) = (String::new(), String::new());
    for (number, line) in (1..).zip(text.lines()) {
        let row: Value = serde_json::from_str(line).unwrap();
        let mut run = row["run"].clone();
        let expected = run["fixture"]["expected"].as_object_mut().unwrap();
        expected.retain(|key, _| key == "mustContain");
        runs = runs + &run.to_string() + "\n";
        let label = if row["judge_score"].as_f64().unwrap() >= 50.0 { "pass" } else { "fail" };
        let _ = writeln!(labels, "runs.jsonl:{number},{label}");
    }
    context.write("runs.jsonl", runs);
    context.write("labels.csv", labels);
    for (mode, right, wrong) in [("substring", 127, 97), ("word", 117, 44)] {
        let run = score(&context, &["runs.jsonl", "--labels", "labels.csv", "--boundary", mode]);
        let passes = report(&run)["agreement"]["table"][0].clone();
        assert_eq!(
            passes,
            json!({"verdict": "pass", "labelledPass": right, "labelledFail": wrong})
        );
    }
}
