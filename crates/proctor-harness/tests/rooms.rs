//! The pinned real programs with the command lines for a room of their own, against the fake model.
//! Here nothing keeps them in: the scripts do no harm. Skipped where they are not installed.

mod support;

use std::fs;
use std::process::Stdio;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_harness::{ExitKind, RoomRequest, SessionEnd, SessionRequest, find};
use proctor_model::event::ToolStatus;
use proctor_model::experiment::{AgentMode, Model, Thinking};
use proctor_model::{Action, EventKind, OutcomeClass, ResolvedServer, ResolvedTransport};
use proctor_testkit::fake_model::Script;
use proctor_testkit::{FakeModel, SealedHome, Turn};
use serde_json::json;
use support::{Session, class, read};

/// A server with one tool, which says what it has in its environment.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, result, error = message["method"], None, None
    if method == "initialize":
        result = {"protocolVersion": message["params"]["protocolVersion"],
                  "capabilities": {"tools": {}}, "serverInfo": {"name": "tiny", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "tell", "description": "tells",
                             "inputSchema": {"type": "object", "properties": {}}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "the key is " + os.environ["TINY_KEY"]}]}
    else:
        error = {"code": -32601, "message": "Method not found"}
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    answer.update({"error": error} if error else {"result": result})
    print(json.dumps(answer), flush=True)
"#;

struct Ran {
    session: Session,
    model: FakeModel,
    work: Utf8PathBuf,
    _home: SealedHome,
}

fn run(
    harness: &str,
    script: impl Into<Script>,
    mode: AgentMode,
    model: Option<&Model>,
    with_server: bool,
) -> Option<Ran> {
    let fake = FakeModel::start(script);
    let mut sealed = SealedHome::with_harness(harness, &fake)?;
    sealed.unset("CODEX_HOME");
    sealed.unset("CLAUDE_CONFIG_DIR");
    let root = Utf8Path::from_path(sealed.root()).unwrap().to_owned();
    let (work, home) = (root.join("work"), root.join("home"));
    fs::create_dir(&work).unwrap();
    let server = root.join("server.py");
    fs::write(&server, SERVER).unwrap();
    let stdio = ResolvedTransport::Stdio {
        command: "python3".into(),
        args: vec![server.to_string()],
        env: vec![("TINY_KEY".into(), "\"s€cret\\".into())],
    };
    let servers = [ResolvedServer { name: "tiny".into(), transport: stdio }];
    let servers = if with_server { &servers[..] } else { &[] };
    let room = RoomRequest { home: &home, mode, model, servers, acp: &[] };
    let request = SessionRequest {
        room: Some(room),
        ..SessionRequest::new("do the task", &work, "/nonexistent/proctor".into())
    };
    let command = find(harness).unwrap().command(&request).unwrap();
    for file in &command.files {
        let path = home.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file.content.expose()).unwrap();
    }
    for (name, value) in &command.env {
        sealed.set(name, value);
    }
    let mut process = sealed.command(&command.program);
    process.args(&command.args).current_dir(&work).stdin(Stdio::null());
    let output = process.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let exit = output.status.code().map(ExitKind::Code);
    let end = SessionEnd { exit, stderr: &stderr, ended_by: None };
    let session = read(harness, &output.stdout, &end);
    Some(Ran { session, model: fake, work, _home: sealed })
}

impl Ran {
    fn results(&self) -> Vec<(ToolStatus, &str)> {
        let results = self.session.0.iter().filter_map(|event| match &event.kind {
            EventKind::ToolResult { status, text, .. } => Some((*status, text.as_str())),
            _ => None,
        });
        results.collect()
    }

    fn completed(&self) -> &Self {
        assert_eq!(class(&self.session), OutcomeClass::Completed, "{:?}", self.session);
        assert!(self.session.1.warnings.is_empty(), "{:?}", self.session.1.warnings);
        self
    }
}

fn shell(harness: &str, command: &str) -> Turn {
    match harness {
        "claude" => Turn::tool("Bash", json!({"command": command, "description": "d"})),
        _ => Turn::tool("exec_command", json!({"cmd": command})),
    }
}

fn model(name: &str) -> Model {
    Model {
        name: name.into(),
        effort: Some("low".into()),
        context_window_size: 200_000.try_into().ok(),
        thinking: Some(Thinking::Switch(true)),
        fast: Some(true),
    }
}

#[test]
fn nobody_is_asked_for_leave() {
    for harness in ["claude", "codex"] {
        // Outside the workspace, and with a program of one's own.
        let command = "python3 -c 'open(\"../outside\", \"w\").write(\"x\")' && echo \"$((40+2))\"";
        let script = [shell(harness, command), Turn::text("done")];
        let Some(ran) = run(harness, script, AgentMode::Build, None, false) else { continue };
        ran.completed();
        let [(ToolStatus::Ok, text)] = ran.results()[..] else { panic!("{:?}", ran.session) };
        assert_eq!(text.trim(), "42", "{harness}");
        assert!(ran.work.join("../outside").exists(), "{harness}");
    }
}

#[test]
fn one_that_plans_writes_nothing() {
    let script = [shell("claude", "echo x > made.txt"), Turn::text("done")];
    let Some(ran) = run("claude", script, AgentMode::Plan, None, false) else { return };
    assert_eq!(class(&ran.session), OutcomeClass::Completed, "{:?}", ran.session);
    assert!(!ran.work.join("made.txt").exists(), "{:?}", ran.session);
}

#[test]
fn the_knobs_of_a_model_are_taken() {
    for (harness, name) in [("claude", "claude-sonnet-5"), ("codex", "gpt-5.5")] {
        let wanted = model(name);
        let Some(ran) = run(harness, Turn::text("x"), AgentMode::Build, Some(&wanted), false)
        else {
            continue;
        };
        ran.completed();
        assert_eq!(ran.model.model_requests()[0].asked.model, name, "{harness}");
    }
}

#[test]
fn servers_are_found_and_know_their_keys() {
    for harness in ["claude", "codex"] {
        let call = match harness {
            "claude" => Turn::tool("mcp__tiny__tell", json!({})),
            _ => Turn::namespaced_tool("mcp__tiny", "tell", json!({})),
        };
        let script = [call, Turn::text("done")];
        let Some(ran) = run(harness, script, AgentMode::Build, None, true) else { continue };
        ran.completed();
        assert_eq!(ran.results(), [(ToolStatus::Ok, "the key is \"s€cret\\")], "{harness}");
        let mcp = Action::Mcp { server: "tiny".into(), tool: "tell".into() };
        let called =
            |kind: &EventKind| matches!(kind, EventKind::ToolCall { action, .. } if *action == mcp);
        assert!(ran.session.0.iter().any(|event| called(&event.kind)), "{harness}");
    }
}
