//! The pinned Claude Code and Codex against the fake model: what the rest of the tests rely on.

use std::fs;
use std::process::Output;

use proctor_testkit::fake_model::{Outcome, Script};
use proctor_testkit::{FakeModel, Fault, SealedHome, Turn};
use serde_json::{Value, json};

const CLAUDE: &[&str] = &[
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--model",
    "haiku",
    "--no-session-persistence",
    "--setting-sources",
    "",
    "--permission-mode",
    "acceptEdits",
    "--",
    "do the task",
];
const CODEX: &[&str] = &[
    "exec",
    "--json",
    "--ephemeral",
    "--ignore-user-config",
    "--skip-git-repo-check",
    "--sandbox",
    "workspace-write",
    "--disable",
    "plugins",
    "--disable",
    "unbounded_connection_retries",
    "-c",
    "analytics.enabled=false",
    "-c",
    "check_for_update_on_startup=false",
    "--",
    "do the task",
];

/// Runs the harness `name` in a fresh home; `None` when it is not installed.
fn run(
    name: &str,
    script: impl Into<Script>,
) -> Option<(Vec<Value>, Output, FakeModel, SealedHome)> {
    let model = FakeModel::start(script);
    let mut home = SealedHome::with_harness(name, &model)?;
    for variable in
        ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY"]
    {
        home.set(variable, "1");
    }
    home.set("CLAUDE_CODE_MAX_RETRIES", "0");
    let work = home.root().join("work");
    fs::create_dir(&work).unwrap();
    let args = if name == "claude" { CLAUDE } else { CODEX };
    let output = home.command(name).args(args).current_dir(&work).output().unwrap();
    let lines = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    Some((lines, output, model, home))
}

#[test]
fn claude_says_a_text() {
    let Some((lines, output, model, _home)) = run("claude", Turn::text("hello from the fake"))
    else {
        return;
    };
    let result = lines.last().unwrap();
    assert_eq!(result["result"], "hello from the fake", "{output:?}");
    assert_eq!(result["is_error"], false);
    let requests = model.requests();
    assert_eq!(requests.len(), 1, "nothing but the one model request: {requests:#?}");
    assert!(requests[0].asked.tools.contains(&"Write".to_owned()));
    assert!(requests[0].asked.prompt.contains("do the task"), "{}", requests[0].asked.prompt);
}

#[test]
fn claude_writes_a_file() {
    let write =
        Turn::tool("Write", json!({"file_path": "${cwd}/note.txt", "content": "written\n"}));
    let Some((_, output, model, home)) = run("claude", [write, Turn::text("done")]) else { return };
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(home.root().join("work/note.txt")).unwrap(), "written\n");
    let requests = model.model_requests();
    assert_eq!(requests.len(), 2);
    assert!(!requests[1].asked.tool_results[0].is_error);
}

#[test]
fn claude_reports_a_401() {
    let Some((lines, output, model, _home)) =
        run("claude", Turn::fault(Fault::status(401).forever()))
    else {
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(lines.last().unwrap()["api_error_status"], 401, "{output:?}");
    assert!(model.requests().iter().all(|request| request.outcome == Outcome::Fault));
}

#[test]
fn codex_says_a_text() {
    let Some((lines, output, model, _home)) = run("codex", Turn::text("hello from the fake"))
    else {
        return;
    };
    let said = lines.iter().any(|line| line["item"]["text"] == "hello from the fake");
    assert!(said, "{output:?}");
    assert_eq!(lines.last().unwrap()["type"], "turn.completed");
    let requests = model.requests();
    assert_eq!(requests.len(), 1, "nothing but the one model request: {requests:#?}");
    assert!(
        requests[0].asked.tools.contains(&"apply_patch".to_owned()),
        "{:?}",
        requests[0].asked.tools
    );
    assert_eq!(requests[0].asked.prompt, "do the task");
}

#[test]
fn codex_writes_a_file() {
    let patch = "*** Begin Patch\n*** Add File: note.txt\n+written\n*** End Patch\n";
    let turns = [Turn::custom_tool("apply_patch", patch), Turn::text("done")];
    let Some((lines, output, model, home)) = run("codex", turns) else { return };
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(home.root().join("work/note.txt")).unwrap(), "written\n");
    assert!(lines.iter().any(|line| line["item"]["type"] == "file_change"), "{output:?}");
    let work = home.root().join("work");
    assert_eq!(model.model_requests()[0].asked.cwd, work.to_str().unwrap());
}

#[test]
fn codex_runs_a_command_in_its_sandbox() {
    let turns =
        [Turn::tool("exec_command", json!({"cmd": "echo out-$((20+22))"})), Turn::text("done")];
    let Some((_, output, model, _home)) = run("codex", turns) else { return };
    let requests = model.model_requests();
    assert_eq!(requests.len(), 2, "{output:?}");
    let result = &requests[1].asked.tool_results[0].text;
    assert!(result.contains("out-42"), "{result}");
}

#[test]
fn codex_reports_a_401() {
    let Some((lines, output, model, _home)) =
        run("codex", Turn::fault(Fault::status(401).forever()))
    else {
        return;
    };
    assert_eq!(output.status.code(), Some(1));
    let failed = lines.last().unwrap();
    assert_eq!(failed["type"], "turn.failed");
    assert!(failed["error"]["message"].as_str().unwrap().contains("401"), "{failed}");
    assert!(model.requests().iter().all(|request| request.outcome == Outcome::Fault));
}
