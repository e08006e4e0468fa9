//! `proctor run import` and what follows it, with files as hostile or as real as they come.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::rooms;

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

/// A log of inspect with one sample that passed, as somebody else wrote it: a score that is no number
/// stands in it as Python writes that.
fn log(task: &str, id: &str, epoch: u64) -> String {
    let sample = json!({
        "id": id, "epoch": epoch, "input": "q", "target": "a",
        "messages": [
            {"role": "user", "content": "List the files."},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": "c1", "function": "bash", "arguments": {"cmd": "ls -a"}}]},
            {"role": "tool", "content": "a.txt", "tool_call_id": "c1"},
            {"role": "assistant", "content": "There is a.txt."}
        ],
        "scores": {"match": {"value": "C"}, "style": {"value": "NOT-A-NUMBER"}},
        "started_at": "2026-12-01T05:31:26.277638+00:00",
        "completed_at": "2026-12-01T05:31:28.310565+00:00",
        "output": {"choices": [{"stop_reason": "stop"}]}
    });
    let log = json!({"version": 2, "status": "success",
        "eval": {"task": task, "model": "openai/gpt-x", "dataset": {}, "config": {}},
        "samples": [sample]});
    log.to_string().replace("\"NOT-A-NUMBER\"", "NaN")
}

fn codex() -> String {
    let line = |kind: &str, payload: Value| {
        json!({"timestamp": "2026-03-01T22:38:47.557Z", "type": kind, "payload": payload})
            .to_string()
    };
    let item = |payload: Value| line("response_item", payload);
    let lines = [
        line("session_meta", json!({"id": "s-1", "cli_version": "0.171.0", "cwd": "/w"})),
        item(json!({"type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "List the files."}]})),
        item(json!({"type": "function_call", "name": "exec_command", "call_id": "c1",
            "arguments": "{\"cmd\":\"ls -a\"}"})),
        item(json!({"type": "function_call_output", "call_id": "c1",
            "output": "Process exited with code 0\nOutput:\na.txt"})),
        item(json!({"type": "message", "role": "assistant",
            "content": [{"type": "output_text", "text": "There is a.txt."}]})),
        line(
            "event_msg",
            json!({"type": "task_complete", "last_agent_message": "There is a.txt."}),
        ),
    ];
    lines.join("\n") + "\n"
}

fn acp() -> String {
    let frame = |direction: &str, frame: Value| {
        json!({"direction": direction, "kind": "k", "raw_json": frame.to_string()}).to_string()
    };
    let update = |update: Value| {
        frame("in", json!({"method": "session/update", "params": {"update": update}}))
    };
    let lines = [
        json!({"seq": 0, "kind": "axp_meta", "axp_layout_version": "1.0"}).to_string(),
        frame(
            "out",
            json!({"id": 2, "method": "session/prompt",
            "params": {"prompt": [{"type": "text", "text": "List the files."}]}}),
        ),
        update(json!({"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "ls -a",
            "kind": "execute", "status": "pending", "rawInput": {"command": "ls -a"}})),
        update(json!({"sessionUpdate": "tool_call_update", "toolCallId": "c1",
            "status": "completed"})),
        update(json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "There is a.txt."}})),
        frame("in", json!({"id": 2, "result": {"stopReason": "end_turn"}})),
    ];
    lines.join("\n") + "\n"
}

fn atif() -> String {
    json!({
        "schema_version": "ATIF-v1.6",
        "agent": {"name": "terminus", "version": "2.0", "model_name": "model-x"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "List the files."},
            {"step_id": 2, "source": "agent", "message": "",
             "tool_calls": [{"tool_call_id": "c1", "function_name": "bash_command",
                             "arguments": {"keystrokes": "ls -a\n"}}],
             "observation": {"results": [{"source_call_id": "c1", "content": "a.txt"}]}},
            {"step_id": 3, "source": "agent", "message": "There is a.txt."}
        ]
    })
    .to_string()
}

const TESTS: &str = r#"schema_version: 2
id: tests
name: Listed
agents: [claude]
prompts: [{id: any, prompt: List the files.}]
tests:
  - name: listed
    script: |
      ax-run-query "$AX_RUN_ID" sql "SELECT command FROM sd_current_tool_calls
        WHERE command LIKE 'ls -a%' AND status = 'completed'" --format json | grep -q 'ls -a'
  - name: said-so
    script: |
      ax-run-query "$AX_RUN_ID" sql "SELECT payload FROM events WHERE kind = 'message'
        AND assertion_role = 'primary'" --format json | grep -q 'There is a.txt'
limits: {max_time_seconds: 600}
"#;

fn id(run: &Run) -> String {
    assert_eq!(run.code, 0, "{run}");
    run.stdout.trim().to_owned()
}

fn runs(context: &TestContext) -> PathBuf {
    context.project().join(".proctor/runs")
}

fn run_ids(context: &TestContext) -> Vec<String> {
    let Ok(entries) = fs::read_dir(runs(context)) else { return Vec::new() };
    let mut ids: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    ids.sort();
    ids
}

/// Every file below a folder, by its path.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn trials(context: &TestContext, run: &str) -> Vec<Value> {
    let plan: Value =
        serde_json::from_slice(&fs::read(runs(context).join(run).join("group.json")).unwrap())
            .unwrap();
    plan["trials"].as_array().unwrap().clone()
}

#[test]
fn sessions_of_every_format_are_graded_for_nothing_and_hold() {
    let Some(context) = rooms::context() else { return };
    context.write("tests.yaml", TESTS);
    for (file, text, title) in [
        ("rollout.jsonl", codex(), "rollout of Codex"),
        ("agent-events.jsonl", acp(), "record of the Agent Client Protocol"),
        ("trajectory.json", atif(), "trajectory in ATIF"),
        ("log.json", log("arith", "one", 1), "log of inspect"),
    ] {
        context.write(file, text);
        let imported = context.run(["run", "import", file]);
        assert!(imported.stderr.contains(title), "{imported}");
        let mut last = id(&imported);
        // Graded as it came, and once more after it went out and came back.
        for round in 0..2 {
            let graded =
                context.run(["run", "rerun", &last, "--tests", "--experiment", "tests.yaml"]);
            assert_eq!(graded.code, 0, "{file}: {graded}");
            let verified = context.run(["run", "verify", "--all"]);
            assert_eq!(verified.code, 0, "{file}: {verified}");
            if round == 0 {
                let stream = format!("{file}.run.jsonl");
                let args = ["run", "export", &last, "--format", "jsonl", "--output", &stream];
                assert_eq!(context.run(args).code, 0, "{file}");
                last = id(&context.run(["run", "import", &stream]));
            }
        }
    }
}

#[test]
fn names_that_hold_a_secret_are_kept_without_it() {
    let context = TestContext::new(PROCTOR);
    let secret = "hunter2-hunter2";
    context.write("log.json", log(&format!("task-{secret}"), &format!("id {secret}"), 1));
    let mut command = context.proctor_cmd();
    command.args(["run", "import", "log.json", "--agent", secret]).env("MY_TOKEN", secret);
    let run = id(&context.run_command(&mut command));
    for path in files(&context.project().join(".proctor")) {
        assert!(!path.to_str().unwrap().contains(secret), "{path:?}");
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(secret), "{path:?}: {text}");
    }
    for args in [["run", "verify", &run], ["run", "view", &run]] {
        let looked = context.run(args);
        assert_eq!(looked.code, 0, "{looked}");
    }
    // The same again is known as the same.
    let mut command = context.proctor_cmd();
    command.args(["run", "import", "log.json", "--agent", secret]).env("MY_TOKEN", secret);
    assert_eq!(id(&context.run_command(&mut command)), run);
}

#[test]
fn names_do_nothing_to_a_terminal() {
    let context = TestContext::new(PROCTOR);
    let evil = "x\u{1b}[2J\u{1b}]0;title\u{7}\u{202e}y";
    context.write("log.json", log(evil, evil, 1));
    let run = id(&context.run(["run", "import", "log.json"]));
    for args in [
        &["run", "view", &run][..],
        &["run", "view", &run, "--tests"],
        &["run", "list"],
        &["run", "verify", &run],
        &["run", "query", &run, "sql", "SELECT prompt_id FROM runs", "--format", "pretty"],
        &["experiment", "query", "imported", "--group-by", "prompt", "--metric", "pass-rate"],
    ] {
        let said = context.run(args);
        assert_eq!(said.code, 0, "{said}");
        let text = said.stdout + &said.stderr;
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{args:?}: {text:?}");
    }
}

#[test]
fn repetitions_keep_their_numbers_and_no_two_have_the_same() {
    let context = TestContext::new(PROCTOR);
    for (file, epoch) in [("a", 10), ("b", 2), ("c", u64::MAX), ("d", 2), ("e", 1)] {
        // One is not the same as the other: a session that is counted twice would pass for two.
        context.write(&format!("{file}.json"), log("t", "p", epoch).replace("a.txt", file));
    }
    let files = ["a.json", "b.json", "c.json", "d.json", "e.json", "./a.json"];
    let imported = context.run(["run", "import"].iter().chain(&files));
    assert!(
        imported.stderr.contains("./a.json is the same as a.json, and is left out"),
        "{imported}"
    );
    let trials = trials(&context, &id(&imported));
    let repeats: Vec<u64> = trials.iter().map(|one| one["repeat_idx"].as_u64().unwrap()).collect();
    assert_eq!(repeats, [9, 1, 10, 11, 0]);
    let mut paths: Vec<&Value> = trials.iter().map(|one| &one["path"]).collect();
    paths.sort_by_key(ToString::to_string);
    paths.dedup();
    assert_eq!(paths.len(), 5);
}

#[test]
fn an_import_that_is_killed_leaves_nothing_that_counts() {
    let context = TestContext::new(PROCTOR);
    let call = codex().lines().nth(3).unwrap().to_owned() + "\n";
    context.write("rollout.jsonl", codex() + &call.repeat(2000));
    context.write("log.json", log("t", "p", 1));
    let mut command = context.proctor_cmd();
    command.args(["run", "import", "log.json", "rollout.jsonl"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let incoming = context.project().join(".proctor/incoming");
    let is_over = |child: &mut std::process::Child| child.try_wait().unwrap().is_some();
    while !is_over(&mut child)
        && !fs::read_dir(&incoming).is_ok_and(|mut runs| runs.next().is_some())
    {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Whatever it had got to: all of it or nothing.
    for run in run_ids(&context) {
        assert_eq!(trials(&context, &run).len(), 2);
    }
    let again = id(&context.run(["run", "import", "log.json", "rollout.jsonl"]));
    assert_eq!(run_ids(&context), [again.as_str()]);
    assert_eq!(trials(&context, &again).len(), 2);
    let pruned = context.run(["run", "prune", "--keep", "1"]);
    assert_eq!((pruned.code, pruned.stdout.as_str()), (0, ""), "{pruned}");
    assert_eq!(fs::read_dir(&incoming).unwrap().count(), 0);
}

#[test]
fn a_stream_that_lies_is_found_out() {
    let context = TestContext::new(PROCTOR);
    context.write("log.json", log("t", "p", 1));
    let run = id(&context.run(["run", "import", "log.json"]));
    let stream = context.run(["run", "export", &run, "--format", "jsonl"]).stdout;
    for (lie, field) in [
        (stream.replace("\"status\":\"pass\"", "\"status\":\"fail\""), "run.json, status"),
        (stream.replace("\"tool_calls\":1", "\"tool_calls\":7"), "run.json, tool_calls"),
    ] {
        assert_ne!(lie, stream);
        context.write("lie.jsonl", lie);
        let imported = id(&context.run(["run", "import", "lie.jsonl"]));
        let verified = context.run(["run", "verify", &imported]);
        assert_eq!(verified.code, 1, "{verified}");
        assert!(verified.stdout.contains(field), "{verified}");
    }
    let before = run_ids(&context);
    for (wrong, said) in [
        (
            stream.replace("\"tool_calls\":1", "\"usage\":{\"cost_usd\":-3.5},\"tool_calls\":1"),
            "`cost_usd` is -3.5",
        ),
        (stream.replace("source.json", "../../../group.json"), "no path of a file of a trial"),
        (stream.replace("source.json", "run.json"), "no path of a file of a trial"),
    ] {
        assert_ne!(wrong, stream, "{said}");
        context.write("wrong.jsonl", wrong);
        let refused = context.run(["run", "import", "wrong.jsonl"]);
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains(said), "{refused}");
    }
    assert_eq!(run_ids(&context), before);
}

#[test]
fn pruning_stays_in_the_store() {
    let context = TestContext::new(PROCTOR);
    context.write("log.json", log("t", "p", 1));
    let run = id(&context.run(["run", "import", "log.json"]));
    let store = runs(&context);
    context.write("mine/group.json", "{}");
    context.write("mine/workspace.tar.zst", "mine");
    let mine = context.project().join("mine");
    // A run that was copied by hand still says that it is the other one.
    let copy = store.join("imported-01K0000000000000000000000A");
    fs::create_dir_all(&copy).unwrap();
    let plan = fs::read_to_string(store.join(&run).join("group.json")).unwrap();
    fs::write(copy.join("group.json"), &plan).unwrap();
    // One that means a folder of the user, one whose trial does, and one that is a link.
    let outside = store.join("imported-01K0000000000000000000000B");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("group.json"), plan.replace(&run, "../../mine")).unwrap();
    let trial = store.join("imported-01K0000000000000000000000C");
    fs::create_dir_all(&trial).unwrap();
    let path = trials(&context, &run)[0]["path"].as_str().unwrap().to_owned();
    let escaped = plan.replace(&run, "imported-01K0000000000000000000000C");
    fs::write(trial.join("group.json"), escaped.replace(&path, "variants/../../../../mine"))
        .unwrap();
    let linked = store.join("imported-01K0000000000000000000000D");
    fs::create_dir_all(linked.join("variants")).unwrap();
    let plan = plan.replace(&run, "imported-01K0000000000000000000000D");
    fs::write(linked.join("group.json"), plan).unwrap();
    symlink(&mine, linked.join(&path)).unwrap();
    let all = ["--max-size", "0B", "--unfinished"];
    let workspaces = context.run(["run", "prune", "--workspaces"].iter().chain(&all));
    assert_eq!(workspaces.code, 1, "{workspaces}");
    assert!(workspaces.stderr.contains("it is a link"), "{workspaces}");
    let pruned = context.run(["run", "prune"].iter().chain(&all));
    assert_eq!(pruned.code, 0, "{pruned}");
    for said in [
        "it is the plan of run imported-",
        "it is the plan of run ../../mine",
        "is not below `variants/`",
    ] {
        assert!(pruned.stderr.contains(said), "{pruned}");
    }
    assert_eq!(fs::read_to_string(mine.join("workspace.tar.zst")).unwrap(), "mine");
    assert_eq!(files(&mine).len(), 2);
    // What could not be told is still there, for its owner to look at.
    assert_eq!(run_ids(&context).len(), 3);
    // A link among the runs is the user's to remove.
    symlink(&mine, store.join("imported-01K0000000000000000000000E")).unwrap();
    let again = context.run(["run", "prune"].iter().chain(&all));
    assert!(again.stdout.is_empty(), "{again}");
    assert_eq!(files(&mine).len(), 2);
}

#[test]
fn a_trial_that_was_taken_out_of_the_plan_is_missed() {
    let context = TestContext::new(PROCTOR);
    context.write("a.json", log("t", "p", 1));
    context.write("b.json", log("t", "q", 1));
    let run = id(&context.run(["run", "import", "a.json", "b.json"]));
    let path = runs(&context).join(&run).join("group.json");
    let mut plan: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let gone = plan["trials"].as_array_mut().unwrap().remove(0);
    fs::write(&path, plan.to_string()).unwrap();
    let verified = context.run(["run", "verify", &run]);
    assert_eq!(verified.code, 1, "{verified}");
    let said = format!("group.json, trial {} is missing", gone["id"].as_str().unwrap());
    assert!(verified.stdout.contains(&said), "{verified}");
    // Looking at one trial alone misses no other.
    let left = plan["trials"][0]["id"].as_str().unwrap();
    let one = context.run(["run", "verify", left]);
    assert!(one.stdout.contains("is missing"), "{one}");
}

#[test]
fn an_export_overwrites_nothing_and_leaves_nothing_half() {
    let context = TestContext::new(PROCTOR);
    context.write("a.json", log("t", "p", 1));
    let run = id(&context.run(["run", "import", "a.json"]));
    context.write("there", "mine");
    symlink("nowhere", context.project().join("dangling")).unwrap();
    for format in ["jsonl", "eval", "atif", "otlp", "parquet"] {
        for output in ["there", "dangling"] {
            let args = ["run", "export", &run, "--format", format, "--output", output];
            let refused = context.run(args);
            assert_eq!(refused.code, 2, "{refused}");
        }
    }
    assert_eq!(fs::read_to_string(context.project().join("there")).unwrap(), "mine");
    assert!(!context.project().join("nowhere").exists());
    let path = trials(&context, &run)[0]["path"].as_str().unwrap().to_owned();
    let events = runs(&context).join(&run).join(path).join("events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, format!("{text}{{\"seq\":")).unwrap();
    for format in ["jsonl", "eval", "atif", "otlp", "parquet"] {
        let args = ["run", "export", &run, "--format", format, "--output", "new"];
        let refused = context.run(args);
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains("events.jsonl:"), "{refused}");
        assert!(!context.project().join("new").exists(), "{format}");
    }
}
