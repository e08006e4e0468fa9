//! `proctor query`, `proctor run query` and `proctor experiment query`, over runs as they are kept.

use std::fs;
use std::process::Stdio;

use proctor_testkit::TestContext;
use serde_json::{Value, json};

/// A run of the experiment `greetings`, with so many trials; each says a word and calls a tool.
fn run(context: &TestContext, run: &str, trials: usize) {
    let folder = format!(".proctor/runs/{run}");
    let planned = (0..trials).map(|index| {
        json!({
            "id": format!("claude::hello::{index:016x}"), "variant_id": "claude::hello",
            "fingerprint": "sha256:0", "repeat_idx": index, "path": format!("variants/c/{index}"),
        })
    });
    let plan = json!({
        "schema_version": 1, "run_id": run, "experiment_id": "greetings", "created_at": 0,
        "proctor_version": "0", "experiment_file": "/x.yaml", "experiment_digest": "sha256:1",
        "options": {}, "trials": planned.collect::<Vec<_>>(),
    });
    context.write(&format!("{folder}/group.json"), plan.to_string());
    let mut journal = String::new();
    for index in 0..trials {
        let id = format!("claude::hello::{index:016x}");
        let trial = format!("{folder}/variants/c/{index}");
        let record = json!({
            "schema_version": 1, "run_id": id, "run_group_id": run, "scenario_id": "greetings",
            "variant_id": "claude::hello", "fingerprint": "sha256:0", "repeat_idx": index,
            "coordinates": {
                "agent": "claude", "model": null, "effort": null, "prompt_id": "hello",
                "environment": null, "product": null, "extension_id": null,
            },
            "status": "pass", "exit_reason": "end_turn", "started_at": 0, "ended_at": 1,
            "phases": [], "tool_calls": 1, "tool_calls_failed": 0,
            "tests": [{
                "name": "greets", "status": "passed", "exit_code": 0, "duration_ms": 1,
                "stdout_tail": "", "stderr_tail": "",
            }],
        });
        context.write(&format!("{trial}/run.json"), record.to_string());
        let events = [
            json!({"seq": 0, "line": 1, "kind": "message", "role": "user", "text": "Say hello"}),
            json!({"seq": 1, "line": 2, "kind": "message", "role": "assistant", "text": "hello"}),
            json!({
                "seq": 2, "line": 3, "kind": "tool_call", "id": "t", "name": "Read",
                "action": {"action": "read", "path": "a.md"}, "input": {"file_path": "a.md"},
            }),
        ];
        let lines = events.map(|event| event.to_string()).join("\n");
        context.write(&format!("{trial}/events.jsonl"), lines + "\n");
        for line in [
            json!({"event": "started", "trial": id}),
            json!({"event": "finished", "trial": id, "status": "pass"}),
        ] {
            journal += &line.to_string();
            journal.push('\n');
        }
    }
    context.write(&format!("{folder}/index.jsonl"), journal);
}

const FIRST: &str = "greetings-01AAAAAAAAAAAAAAAAAAAAAAAA";
const SECOND: &str = "greetings-01BBBBBBBBBBBBBBBBBBBBBBBB";

fn project() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    run(&context, FIRST, 2);
    run(&context, SECOND, 1);
    context
}

#[test]
fn all_runs_one_run_and_one_trial_can_be_asked() {
    let context = project();
    let count = "SELECT count() AS n FROM events WHERE kind = 'message'";
    let text = |args: &[&str]| {
        let ended = context.run(args);
        assert_eq!(ended.code, 0, "{ended}");
        ended.stdout.trim().to_owned()
    };
    assert_eq!(text(&["query", count]), r#"{"n":6}"#);
    assert_eq!(text(&["query", "sql", count]), r#"{"n":6}"#);
    assert_eq!(text(&["run", "query", FIRST, "sql", count]), r#"{"n":4}"#);
    assert_eq!(text(&["run", "query", "latest", count]), r#"{"n":2}"#);
    assert_eq!(text(&["experiment", "query", "greetings", "sql", count]), r#"{"n":6}"#);
    let trial = "claude::hello::0000000000000001";
    assert_eq!(text(&["run", "query", trial, "sql", count]), r#"{"n":2}"#);
    let said = "SELECT run_request_id, file_path, status FROM sd_current_tool_calls LIMIT 1";
    assert_eq!(
        text(&["run", "query", SECOND, said]),
        format!(r#"{{"run_request_id":"{SECOND}","file_path":"a.md","status":"in_progress"}}"#)
    );
    assert!(context.project().join(".proctor/evidence.sqlite").is_file());
}

#[test]
fn the_tables_and_their_columns_are_told() {
    let context = project();
    let tables = context.run(["run", "query", "latest", "sql", "--tables"]);
    insta::assert_snapshot!(tables.stdout);
    assert_eq!(context.run(["query", "SHOW TABLES"]).stdout, tables.stdout);
    insta::assert_snapshot!(context.run(["query", "DESCRIBE costs"]).stdout);
}

#[test]
fn a_cut_answer_is_told_and_every_row_can_be_had() {
    let context = project();
    let cut = context.run(["query", "SELECT kind FROM events", "--limit", "2"]);
    assert_eq!((cut.code, cut.stdout.lines().count()), (0, 2), "{cut}");
    assert!(cut.stderr.contains("there are more than these 2 rows"), "{cut}");
    let all = context.run(["query", "SELECT kind FROM events", "--all"]);
    assert_eq!((all.stdout.lines().count(), all.stderr.as_str()), (9, ""), "{all}");
}

#[test]
fn a_question_without_an_answer_says_why() {
    let mut context = project();
    context.add_filter("(?s)the columns of events are .*?\n", "[COLUMNS]\n");
    for args in [
        vec!["query", "SELECT text FROM events"],
        vec!["query", "SELECT 1 FROM event"],
        vec!["query", "DELETE FROM events"],
        vec!["query", "SELECT", "1"],
        vec!["query", "sql"],
        vec!["query", "SELECT 1", "--tables"],
        vec!["run", "query", "none", "SELECT 1"],
        vec!["experiment", "query", "greeting", "sql", "SELECT 1"],
    ] {
        let name = args.join(" ");
        let ended = context.run(args);
        assert_eq!((ended.code, ended.stdout.as_str()), (2, ""), "{name}: {ended}");
        insta::assert_snapshot!(format!("refused: {name}"), context.filter(&ended.stderr));
    }
    assert_eq!(context.run(["query"]).code, 2);
}

#[test]
fn a_project_without_runs_has_empty_tables_and_stays_as_it_is() {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    let ended = context.run(["query", "SELECT count() AS n FROM verdicts"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "{\"n\":0}\n"), "{ended}");
    assert!(!context.project().join(".proctor").exists());
}

#[test]
fn a_damaged_cache_is_made_anew_and_damaged_files_are_told() {
    let context = project();
    let count = ["query", "SELECT count() AS n FROM events"];
    assert_eq!(context.run(count).stdout, "{\"n\":9}\n");
    context.write(".proctor/evidence.sqlite", "no database");
    assert_eq!(context.run(count).stdout, "{\"n\":9}\n");
    context.write(&format!(".proctor/runs/{FIRST}/variants/c/0/events.jsonl"), "{}\n");
    let ended = context.run(count);
    assert_eq!(ended.stdout, "{\"n\":6}\n");
    assert!(ended.stderr.contains("events.jsonl line 1 cannot be read and is left out"), "{ended}");
}

#[test]
fn processes_that_ask_at_once_see_the_same() {
    let context = project();
    let asked: Vec<_> = (0..4)
        .map(|_| {
            let mut command = context.proctor_cmd();
            command.args(["query", "SELECT count() AS n FROM events"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in asked {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.stdout.as_slice(), &*text), (&b"{\"n\":9}\n"[..], ""));
    }
}

#[test]
fn rows_are_json_that_other_programs_read() {
    let context = project();
    let ended = context.run(["query", "SELECT * FROM measurements LIMIT 1"]);
    let row: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(row["agent"], "claude");
    assert_eq!(row["cost_usd_micros"], Value::Null);
    let file = context.project().join(".proctor/.gitignore");
    assert!(!file.exists() || fs::read_to_string(file).unwrap() == "*\n");
}
