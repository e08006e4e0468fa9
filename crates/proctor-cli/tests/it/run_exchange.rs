//! `proctor run import` and `proctor run export`, end to end.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use proctor_testkit::TestContext;
use serde_json::{Value, json};

use crate::rooms;

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

/// A session of Claude Code as it lies in its folder: it runs one command and tells what it saw.
fn session() -> String {
    let line = |kind: &str, message: Value| {
        json!({"type": kind, "uuid": "u", "parentUuid": null, "sessionId": "s-1",
            "version": "2.1.332", "timestamp": "2026-03-01T22:38:47.557Z", "message": message})
        .to_string()
    };
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    let answer = |id: &str, block: Value| {
        line(
            "assistant",
            json!({"id": id, "model": "model-x", "role": "assistant", "content": [block],
                "stop_reason": null, "usage": usage}),
        )
    };
    let lines = [
        json!({"type": "summary", "summary": "A title", "leafUuid": "u"}).to_string(),
        line(
            "user",
            json!({"content": "Ask posthog what happened. The key is sk-hunter2-hunter2."}),
        ),
        answer(
            "m1",
            json!({"type": "tool_use", "id": "t1", "name": "Bash",
                "input": {"command": "posthog query --all"}}),
        ),
        line(
            "user",
            json!({"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "7 events"}]}),
        ),
        answer("m2", json!({"type": "text", "text": "There were seven."})),
    ];
    lines.join("\n") + "\n"
}

/// The folder of the only run.
fn run_folder(context: &TestContext) -> PathBuf {
    let runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
    let mut runs: Vec<PathBuf> = runs.map(|run| run.unwrap().path()).collect();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

const TESTS: &str = r#"schema_version: 2
id: tests
name: Graded
agents: [claude]
prompts: [{id: ask, prompt: Ask posthog what happened.}]
tests:
  - name: asked
    script: |
      rows=$(ax-run-query "$AX_RUN_ID" sql "SELECT count(*) AS n FROM sd_current_tool_calls
        WHERE command LIKE 'posthog query%' AND status = 'completed'" --format json)
      test "$(echo "$rows" | jq -r .n)" = 1
  - name: said-so
    script: |
      ax-run-query "$AX_RUN_ID" sql "SELECT payload FROM events WHERE kind = 'message'
        AND assertion_role = 'primary'" --format json | grep -q 'There were seven'
  - name: did-not-say-posthog
    script: |
      ! ax-run-query "$AX_RUN_ID" sql "SELECT payload FROM events WHERE kind = 'message'
        AND assertion_role = 'primary'" --format json | grep -q posthog
  - name: left-a-report
    script: test "$(cat /workspace/report.txt)" = seven
limits: {max_time_seconds: 600}
"#;

#[test]
fn a_session_of_another_tool_is_graded_for_nothing() {
    let Some(context) = rooms::context() else { return };
    context.write("session.jsonl", session());
    context.write("tests.yaml", TESTS);
    context.write("left/report.txt", "seven\n");
    let imported = context.run(["run", "import", "session.jsonl", "--workspace", "left"]);
    assert_eq!(imported.code, 0, "{imported}");
    assert!(
        imported.stderr.contains("session.jsonl is a session file of Claude Code"),
        "{imported}"
    );
    let id = imported.stdout.trim().to_owned();
    let view = context.run(["run", "view", &id]);
    assert!(view.stdout.contains("session"), "{view}");
    let graded = context.run(["run", "rerun", &id, "--tests", "--experiment", "tests.yaml"]);
    assert_eq!(graded.code, 0, "{graded}");
    let view = context.run(["run", "view", "latest", "--format", "json"]);
    let report: Value = serde_json::from_str(&view.stdout).unwrap();
    assert!(report["retest_of"] == json!(id) || view.stderr.contains(&id), "{view}");
    let text = view.stdout;
    assert_eq!(text.matches("\"status\": \"passed\"").count(), 4, "{text}");
    // Without the folder, the last one finds an empty workspace.
    let other = context.run(["run", "import", "session.jsonl", "--prompt", "ask"]);
    let id = other.stdout.trim().to_owned();
    let graded = context.run(["run", "rerun", &id, "--tests", "--experiment", "tests.yaml"]);
    assert_eq!(graded.code, 1, "{graded}");
    assert!(graded.stdout.contains("left-a-report"), "{graded}");
}

#[test]
fn what_is_imported_is_kept_without_secrets_and_once() {
    let context = TestContext::new(PROCTOR);
    context.write("session.jsonl", session());
    let mut command = context.proctor_cmd();
    command.args(["run", "import", "session.jsonl"]).env("POSTHOG_KEY", "sk-hunter2-hunter2");
    let imported = context.run_command(&mut command);
    assert_eq!(imported.code, 0, "{imported}");
    let folder = run_folder(&context).join("variants/claude__model-x__session");
    for file in ["events.jsonl", "agent-events.jsonl", "run.json"] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains("hunter2"), "{file}: {text}");
    }
    let record: Value =
        serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    assert_eq!(record["coordinates"]["model"], "model-x");
    assert_eq!(record["usage"]["output_tokens"], 10);
    assert_eq!((&record["tool_calls"], &record["exit_reason"]), (&json!(1), &json!("end_turn")));
    let again = context.run(["run", "import", "./session.jsonl"]);
    assert_eq!(again.stdout, imported.stdout, "{again}");
    assert!(again.stderr.contains("it was imported before"), "{again}");
    run_folder(&context);
    let verified = context.run(["run", "verify", "latest"]);
    assert_eq!(verified.code, 0, "{verified}");
}

#[test]
fn a_run_leaves_and_comes_back_in_every_format_that_is_read() {
    let context = TestContext::new(PROCTOR);
    context.write("session.jsonl", session());
    let imported = context.run(["run", "import", "session.jsonl"]);
    let id = imported.stdout.trim().to_owned();
    let folder = context.project().join(".proctor/runs");
    let events = |id: &str| {
        let variants = fs::read_dir(folder.join(id).join("variants")).unwrap();
        let variant = variants.map(|one| one.unwrap().path()).next().unwrap();
        fs::read_to_string(variant.join("events.jsonl")).unwrap()
    };
    for (format, file) in [("jsonl", "run.jsonl"), ("eval", "run.eval")] {
        let export = context.run(["run", "export", &id, "--format", format, "--output", file]);
        assert_eq!(export.code, 0, "{export}");
        let back = context.run(["run", "import", file]);
        assert_eq!(back.code, 0, "{back}");
        assert_eq!(events(back.stdout.trim()), events(&id), "{format}");
    }
    let atif = context.run(["run", "export", &id, "--format", "atif"]);
    assert!(
        atif.stderr.contains("left out, since atif cannot hold it: lifecycle events (1)"),
        "{atif}"
    );
    context.write("back.trajectory.json", &atif.stdout);
    let back = context.run(["run", "import", "back.trajectory.json"]);
    assert_eq!(back.code, 0, "{back}");
    let twice = context.run(["run", "export", back.stdout.trim(), "--format", "atif"]);
    let steps = |text: &str| serde_json::from_str::<Value>(text).unwrap()["steps"].clone();
    assert_eq!(steps(&twice.stdout), steps(&atif.stdout));
    let tables = context.run(["run", "export", &id, "--format", "parquet", "--output", "tables"]);
    assert_eq!(tables.code, 0, "{tables}");
    assert_eq!(&fs::read(context.project().join("tables/runs.parquet")).unwrap()[..4], b"PAR1");
    let again = context.run(["run", "export", &id, "--format", "parquet", "--output", "tables"]);
    assert_eq!(again.code, 2, "{again}");
    let traces = context.run(["run", "export", &id, "--format", "otlp"]);
    let request: Value = serde_json::from_str(&traces.stdout).unwrap();
    assert!(request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len() > 3);
}

#[test]
fn one_wrong_file_keeps_all_of_them_out() {
    let context = TestContext::new(PROCTOR);
    context.write("session.jsonl", session());
    context.write(
        "t.json",
        r#"{"schema_version": "ATIF-v1.8", "agent": {"name": "a", "version": "1"}, "steps": []}"#,
    );
    let wrong = context.run(["run", "import", "session.jsonl", "t.json"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert!(wrong.stderr.contains("t.json:1:"), "{wrong}");
    assert!(wrong.stderr.contains("nothing was imported"), "{wrong}");
    assert!(!context.project().join(".proctor/runs").exists());
    assert_eq!(fs::read_dir(context.project().join(".proctor/incoming")).unwrap().count(), 0);
    context.write("other.txt", "hello\n");
    let unknown = context.run(["run", "import", "other.txt"]);
    assert_eq!(unknown.code, 2, "{unknown}");
    assert!(unknown.stderr.contains("in no format that can be imported"), "{unknown}");
    let named = context.run(["run", "import", "other.txt", "--from", "claude"]);
    assert_eq!(named.code, 2, "{named}");
    let folder = context.run(["run", "import", "."]);
    assert!(folder.stderr.contains("is no regular file"), "{folder}");
}

/// Opt-in: `PROCTOR_EXCHANGE_PYTHON` names a Python with the packages that are asked.
#[test]
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn peers_read_what_is_written() {
    let Some(python) = std::env::var_os("PROCTOR_EXCHANGE_PYTHON") else {
        eprintln!("skipped: PROCTOR_EXCHANGE_PYTHON names no Python");
        return;
    };
    let context = TestContext::new(PROCTOR);
    context.write("session.jsonl", session());
    let imported = context.run(["run", "import", "session.jsonl"]);
    assert_eq!(imported.code, 0, "{imported}");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/exchange/check.py");
    for (format, file, package) in [
        ("eval", "out.eval", "inspect_ai"),
        ("parquet", "out", "duckdb"),
        ("atif", "out.json", "harbor"),
        ("otlp", "out.jsonl", "opentelemetry.proto"),
    ] {
        let export = context.run(["run", "export", "--format", format, "--output", file]);
        assert_eq!(export.code, 0, "{export}");
        let has =
            Command::new(&python).args(["-c", &format!("import {package}")]).output().unwrap();
        if !has.status.success() {
            eprintln!("skipped: {package} is not installed");
            continue;
        }
        let path = context.project().join(file);
        let mut check = Command::new(&python);
        let checked = check.arg(script).arg(format).arg(path).output().unwrap();
        assert!(checked.status.success(), "{format}: {}", String::from_utf8_lossy(&checked.stderr));
    }
}
