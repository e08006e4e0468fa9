//! `proctor transcript show` as people run it.

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

const SESSION: &str = r#"{"type":"thread.started","thread_id":"t-1"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"/bin/bash -lc 'echo hi'","aggregated_output":"hi\n","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"All done."}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":20}}
"#;

fn show(context: &TestContext, args: &[&str]) -> Run {
    context.run(["transcript", "show"].iter().chain(args))
}

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_proctor"))
}

#[test]
fn a_recording_is_a_page() {
    let context = context();
    context.write("session.jsonl", SESSION);
    insta::assert_snapshot!(show(&context, &["--harness", "codex", "session.jsonl"]), @"
    exit 0
    --- stdout
       session  t-1
             -  turn.started
          call  command_execution echo hi
            ok  hi
     assistant  All done.
         usage  tokens 60 in, 20 out, 40 read from cache
        result  done

       outcome  completed
         usage  tokens 60 in, 20 out, 40 read from cache
    --- stderr
    ");
}

#[test]
fn json_is_one_document_of_outcome_usage_and_events() {
    let context = context();
    context.write("session.jsonl", SESSION);
    let run = show(&context, &["--harness", "Codex", "session.jsonl", "--format", "json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    let keys: Vec<_> = document.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["outcome", "usage", "events"]);
    assert_eq!(document["outcome"], json!({"class": "completed", "message": ""}));
    assert_eq!(document["usage"]["input_tokens"], 60);
    assert_eq!(document["usage"]["cost_usd"], Value::Null);
    assert_eq!(document["events"][2]["action"], json!({"action": "shell", "command": "echo hi"}));
    assert_eq!(document["events"].as_array().unwrap().len(), 7);
}

#[test]
fn secrets_and_escapes_reach_neither_form() {
    let mut context = context();
    context.home().set("MY_TOKEN", "correct-horse-battery");
    let hostile = "\u{1b}[2J\u{9b}31m correct-horse-battery";
    let line = json!({"type": "say", "text": hostile});
    context.write("s.jsonl", format!("{line}\ncorrect-horse-battery\n"));
    for format in ["text", "json"] {
        let run = show(&context, &["--harness", "scripted", "s.jsonl", "--format", format]);
        assert_eq!(run.code, 0);
        let all = run.to_string();
        assert!(!all.contains("correct-horse"), "{all}");
        assert!(!all.contains(['\u{1b}', '\u{9b}']), "{all}");
        assert!(run.stderr.contains("1 line is not in the format of the stream"), "{all}");
    }
}

#[test]
fn what_cannot_be_read_is_said_with_a_way_out() {
    let context = context();
    let show = |harness, file| show(&context, &["--harness", harness, file]);
    insta::assert_snapshot!(show("codex", "missing.jsonl"), @"
    exit 2
    --- stdout
    --- stderr
    error: failed to open file `[PROJECT]/missing.jsonl`: No such file or directory (os error 2)
    ");
    insta::assert_snapshot!(show("codex", "."), @"
    exit 2
    --- stdout
    --- stderr
    error: failed to read from file `[PROJECT]/.`: Is a directory (os error 21)
    ");
    insta::assert_snapshot!(show("claud", "x"), @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'claud' for '--harness <NAME>'
      [possible values: claude, codex, scripted]

      tip: a similar value exists: 'claude'

    For more information, try '--help'.
    ");
}
