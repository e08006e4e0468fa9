//! Whole sessions: the client as a process, agents as processes, and what the adapter reads of them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proctor_harness::{ExitKind, RoomRequest, SessionEnd, SessionRequest, SessionSummary, acp};
use proctor_model::event::{Role, ToolStatus};
use proctor_model::experiment::{AgentMode, Model};
use proctor_model::{Action, Event, EventKind, OutcomeClass, ResolvedServer, ResolvedTransport};
use serde_json::Value;

/// What a session left.
struct Session {
    record: Vec<Value>,
    events: Vec<EventKind>,
    summary: SessionSummary,
    code: Option<i32>,
    took: Duration,
    folder: tempfile::TempDir,
}

/// The agent made with the official crate.
fn agent() -> Vec<String> {
    let folder = Path::new(env!("CARGO_BIN_EXE_proctor-acp")).parent().unwrap();
    let path: PathBuf = folder.join("examples/acp-agent");
    assert!(path.is_file(), "{}: `cargo build --examples` makes it", path.display());
    vec![path.to_str().unwrap().to_owned()]
}

/// An agent that is a shell script. `$N` of it are the frames that it has to read and write.
fn script(text: &str) -> Vec<String> {
    let frames = r#"
        hello() { read -r _; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'; }
        new() { read -r _; echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'; }
        say() { printf '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
        done_() { echo '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'; }
    "#;
    ["/bin/sh", "-c", &format!("{frames}\n{text}")].map(str::to_owned).to_vec()
}

fn request(prompt: &str) -> SessionRequest<'_> {
    let client = env!("CARGO_BIN_EXE_proctor-acp");
    SessionRequest::new(prompt, "/".into(), client.into())
}

fn room(acp: &[String]) -> RoomRequest<'_> {
    let home = "/nonexistent".into();
    RoomRequest { home, mode: AgentMode::Build, model: None, servers: &[], acp }
}

fn run(request: &SessionRequest<'_>, room: RoomRequest<'_>) -> Session {
    let folder = tempfile::tempdir().unwrap();
    let request = SessionRequest { room: Some(room), ..*request };
    let command = acp().command(&request).unwrap();
    let began = Instant::now();
    let mut client = Command::new(&command.program)
        .args(&command.args)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(&command.stdin.unwrap()).unwrap();
    let output = client.wait_with_output().unwrap();
    let took = began.elapsed();
    let mut events = Vec::new();
    let mut observe = |event: Event| events.push(event.kind);
    let mut parser = acp().parser();
    parser.push(&output.stdout, &mut observe);
    let code = output.status.code();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let end = SessionEnd { exit: code.map(ExitKind::Code), stderr: &stderr, ended_by: None };
    let summary = parser.finish(&end, &mut observe);
    let text = String::from_utf8(output.stdout).unwrap();
    let record = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    Session { record, events, summary, code, took, folder }
}

fn talk(agent: &[String], prompt: &str) -> Session {
    run(&request(prompt), room(agent))
}

impl Session {
    fn class(&self) -> OutcomeClass {
        self.summary.outcome.class
    }

    fn message(&self) -> &str {
        &self.summary.outcome.message
    }

    fn said(&self) -> Vec<&str> {
        let said = self.events.iter().filter_map(|event| match event {
            EventKind::Message { role: Role::Assistant, text } => Some(text.as_str()),
            _ => None,
        });
        said.collect()
    }

    /// Direction and kind of every line.
    fn kinds(&self) -> Vec<String> {
        let text = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
        self.record
            .iter()
            .map(|line| format!("{} {}", text(line, "direction"), text(line, "kind")))
            .collect()
    }
}

#[test]
fn a_session_of_work() {
    let transport = ResolvedTransport::Stdio {
        command: "sh".into(),
        args: Vec::new(),
        env: vec![("K".into(), "v".into())],
    };
    let http = ResolvedTransport::Http { url: "http://h".into(), headers: Vec::new() };
    let server = |name: &str, transport| ResolvedServer { name: name.into(), transport };
    let servers = [server("files", transport), server("web", http)];
    let model = Model {
        name: "large".into(),
        effort: Some("high".into()),
        context_window_size: None,
        thinking: None,
        fast: None,
    };
    let agent = agent();
    let mode = AgentMode::Plan;
    let asked = RoomRequest { mode, model: Some(&model), servers: &servers, ..room(&agent) };
    let session = run(&request("work \"hard\""), asked);
    assert_eq!(session.class(), OutcomeClass::Completed, "{:?}", session.summary);
    assert_eq!((session.code, session.summary.warnings.len()), (Some(0), 0));
    let made = std::fs::read_to_string(session.folder.path().join("made.txt")).unwrap();
    assert_eq!(made, "a line\n");

    let told = "cwd /; mcp files; mcp web at http://h; m large; t high; mode plan";
    assert_eq!(session.summary.final_text.as_deref(), Some(told));
    assert_eq!(session.said(), ["I will write.", told]);
    let thought = EventKind::Reasoning { text: "let me think".into() };
    assert!(session.events.contains(&thought));
    let call = session.events.iter().find_map(|event| match event {
        EventKind::ToolCall { id, name, action, .. } => Some((&**id, &**name, action)),
        _ => None,
    });
    let edit = Action::Edit { path: "/w/made.txt".into() };
    assert_eq!(call, Some(("call-1", "edit", &edit)));
    let text = "always".to_owned();
    let result = EventKind::ToolResult { id: "call-1".into(), status: ToolStatus::Ok, text };
    assert!(session.events.contains(&result));
    let begun = EventKind::Session {
        session_id: Some("session-1".into()),
        model: Some("large".into()),
        version: Some("agent-of-tests 7.0".into()),
        tools: Vec::new(),
        skills: Vec::new(),
    };
    assert!(session.events.contains(&begun), "{:?}", session.events);
    let usage = session.summary.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(20), Some(10)));
    assert_eq!((usage.cache_read_tokens, usage.cost_usd), (Some(3), Some(0.25)));

    insta::assert_snapshot!(session.kinds().join("\n"), @r"
     axp_meta
    out initialize
    in response
    out session_new
    in response
    out session_set_config_option
    in response
    out session_set_config_option
    in response
    out session_set_mode
    in response
    out session_prompt
    in agent_thought_chunk
    in agent_thought_chunk
    in agent_thought_chunk
    in agent_message_chunk
    in usage_update
    in agent_message_chunk
    in tool_call
    in session_request_permission
    out response
    in tool_call_update
    in agent_message_chunk
    in usage_update
    in response
    ");
    let numbers: Vec<u64> = session.record.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert_eq!(numbers, (0..session.record.len() as u64).collect::<Vec<_>>());
    let call = &session.record[18];
    assert_eq!(
        (&call["session_id"], &call["tool_call_id"]),
        (&"session-1".into(), &"call-1".into())
    );
}

#[test]
fn every_reason_to_stop_has_its_class() {
    let agent = agent();
    for (prompt, class) in [
        ("refuse", OutcomeClass::Refused),
        ("long", OutcomeClass::MaxOutput),
        ("turns", OutcomeClass::MaxTurns),
        ("login", OutcomeClass::AuthFailed),
        ("limited", OutcomeClass::RateLimited),
    ] {
        let session = talk(&agent, prompt);
        assert_eq!(session.class(), class, "{prompt}: {:?}", session.summary);
        assert_eq!(session.code, Some(1));
        assert!(session.summary.warnings.is_empty(), "{:?}", session.summary.warnings);
    }
}

#[test]
fn a_session_that_becomes_too_expensive_is_cancelled() {
    let agent = agent();
    let request = SessionRequest { max_budget_usd: Some(1.0), ..request("spend") };
    let session = run(&request, room(&agent));
    assert_eq!(session.class(), OutcomeClass::Budget, "{:?}", session.summary);
    assert_eq!(session.kinds().iter().filter(|kind| *kind == "out session_cancel").count(), 1);
    let cheap = SessionRequest { max_budget_usd: Some(9.0), ..request };
    assert_eq!(run(&cheap, room(&agent)).class(), OutcomeClass::Interrupted);
}

#[test]
fn what_is_not_offered_ends_the_session() {
    let model = |name: &str, effort: Option<&str>| Model {
        name: name.into(),
        effort: effort.map(str::to_owned),
        context_window_size: None,
        thinking: None,
        fast: None,
    };
    let agent = agent();
    let unknown = model("huge", None);
    let session = run(&request("x"), RoomRequest { model: Some(&unknown), ..room(&agent) });
    assert_eq!(session.class(), OutcomeClass::UsageError);
    assert!(proctor_harness::is_unsupported_model(&session.summary.outcome));
    let words = "the agent does not offer the model `huge`; it offers `small`, `large`";
    assert!(session.message().ends_with(words), "{}", session.message());

    let unknown = model("small", Some("silly"));
    let session = run(&request("x"), RoomRequest { model: Some(&unknown), ..room(&agent) });
    assert!(session.message().contains("the effort `silly`; it offers `low`, `high`"));
    assert!(!proctor_harness::is_unsupported_model(&session.summary.outcome));

    let plain = script("hello; new; read -r _; done_");
    let planned = RoomRequest { mode: AgentMode::Plan, ..room(&plain) };
    let session = run(&request("x"), planned);
    assert!(session.message().contains("no mode in which it only plans"), "{}", session.message());

    let transport = ResolvedTransport::Sse { url: "http://h".into(), headers: Vec::new() };
    let servers = [ResolvedServer { name: "s".into(), transport }];
    let session = run(&request("x"), RoomRequest { servers: &servers, ..room(&agent) });
    assert!(session.message().contains("it does not speak SSE"), "{}", session.message());
}

#[test]
fn a_list_of_models_will_do() {
    let agent = script(
        r#"hello; read -r _
        echo '{"id":1,"result":{"sessionId":"s","models":{"currentModelId":"a","availableModels":[{"modelId":"a","name":"A"},{"modelId":"b","name":"Big B"}]}}}'
        read -r set; echo '{"id":2,"result":null}'
        read -r _; say ok; echo '{"id":3,"result":{"stopReason":"end_turn"}}'"#,
    );
    let model = Model {
        name: "Big B".into(),
        effort: None,
        context_window_size: None,
        thinking: None,
        fast: None,
    };
    let session = run(&request("x"), RoomRequest { model: Some(&model), ..room(&agent) });
    assert_eq!(session.class(), OutcomeClass::Completed, "{:?}", session.summary);
    let began = session.events.iter().find_map(|event| match event {
        EventKind::Session { model, .. } => Some(model.as_deref()),
        _ => None,
    });
    assert_eq!(began, Some(Some("b")));
}

#[test]
fn an_agent_that_dies_says_so() {
    let session = talk(&agent(), "die");
    assert_eq!(session.class(), OutcomeClass::CutShort);
    assert_eq!(
        session.message(),
        "the agent ended (exit status: 3) before it had answered `session/prompt`: a fatal mistake"
    );
    assert_eq!(session.said(), ["I am about to"]);
    assert_eq!(session.summary.final_text, None);

    let session = talk(&script("exit 7"), "x");
    assert_eq!(session.class(), OutcomeClass::UsageError);
    assert!(session.message().contains("(exit status: 7) before it had answered `initialize`"));

    let session = talk(&["no-such-agent-here".to_owned()], "x");
    assert_eq!(session.class(), OutcomeClass::UsageError);
    assert!(session.message().starts_with("the agent `no-such-agent-here` cannot be started"));

    let session = talk(&script("hello; new; read -r _; exec >&-; exec sleep 600"), "x");
    assert!(session.message().starts_with("the agent closed its output before"));
    assert!(session.took < Duration::from_mins(1));
}

#[test]
fn noise_is_kept_apart() {
    let agent = script(
        r#"echo "Welcome to the agent"; hello; echo '[1,2]'; echo '{"id":99,"result":{}}'
        printf '\377\376\n'; echo '{"jsonrpc":"2.0","id":1}'; new; new_again=1
        echo '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"other"}}'
        read -r _; echo '{"method":"proctor/end","params":{}}'
        echo '{"id":"q","method":"fs/read_text_file","params":{"path":"/etc/passwd"}}'
        read -r answer; case "$answer" in *'"id":"q"'*-32601*) say refused;; *) say "$answer";; esac
        head -c 8000000 /dev/zero | tr '\0' x; echo; done_; done_"#,
    );
    let session = talk(&agent, "x");
    assert_eq!(session.class(), OutcomeClass::Completed, "{:?}", session.summary);
    assert_eq!(session.said(), ["refused"]);
    let garbage = session.events.iter().filter(|e| matches!(e, EventKind::Garbage { .. })).count();
    assert_eq!(garbage, 4, "{:?}", session.events);
    let truncated: Vec<_> = session.record.iter().filter(|l| l["truncated"] == true).collect();
    assert_eq!(truncated.len(), 1);
    assert_eq!(truncated[0]["raw_json"].as_str().unwrap().len(), 1024);
    // The second answers to `session/new` and to the prompt, and the one that nobody asked for.
    let unknown = EventKind::Unknown { name: "response".into() };
    assert_eq!(session.events.iter().filter(|event| **event == unknown).count(), 4);
}

#[test]
fn strange_answers_end_the_session() {
    let hello = |version| {
        script(&format!(
            r#"read -r _; echo '{{"id":0,"result":{{"protocolVersion":{version}}}}}'; read -r _"#
        ))
    };
    let session = talk(&hello("2"), "x");
    assert!(session.message().starts_with("the agent speaks version 2"), "{}", session.message());
    let session = talk(&hello("\"old\""), "x");
    let words = "the agent's answer to `initialize` is not of the protocol";
    assert!(session.message().starts_with(words), "{}", session.message());
    let session = talk(&script(r#"hello; new; read -r _; echo '{"id":2,"result":{}}'"#), "x");
    assert_eq!(session.class(), OutcomeClass::CutShort);
    let session = talk(
        &script(r#"hello; new; read -r _; echo '{"id":2,"result":{"stopReason":"tea"}}'"#),
        "x",
    );
    assert!(session.message().ends_with("unknown here: `tea`"), "{}", session.message());
    let refused = r#"hello; read -r _; echo '{"id":1,"error":{"code":-32603,"message":"no","data":"MCP is down"}}'; read -r _"#;
    let session = talk(&script(refused), "x");
    assert_eq!(session.class(), OutcomeClass::UsageError);
    assert_eq!(session.message(), "session/new: no: MCP is down");
}

#[test]
fn an_agent_is_authenticated_with_the_key_of_its_environment() {
    let agent = script(
        r#"read -r _; echo '{"id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"oauth","name":"n"},{"id":"some-api-key","name":"n"}]}}'
        read -r _; echo '{"id":1,"error":{"code":-32000,"message":"Authentication required"}}'
        read -r auth; echo '{"id":2,"result":{}}'
        read -r _; echo '{"id":3,"result":{"sessionId":"s"}}'
        read -r _; case "$auth" in *'"methodId":"some-api-key"'*) say yes;; *) say no;; esac
        echo '{"id":4,"result":{"stopReason":"end_turn"}}'"#,
    );
    let session = talk(&agent, "x");
    assert_eq!(session.class(), OutcomeClass::Completed, "{:?}", session.summary);
    assert_eq!(session.said(), ["yes"]);
}

#[test]
fn a_flood_costs_little_memory_and_a_deaf_agent_is_no_longer_read() {
    let flood = script(
        r"hello; new; read -r _
        for i in 1 2 3 4 5 6 7 8 9 10; do head -c 6000000 /dev/zero | tr '\0' x; echo; done
        done_",
    );
    let session = talk(&flood, "x");
    assert_eq!(session.class(), OutcomeClass::Completed, "{:?}", session.summary);

    // It asks and never listens: after its time, whoever runs the client ends it.
    let deaf =
        script(r#"hello; new; exec 0<&-; while :; do echo '{"id":"q","method":"a/b"}'; done"#);
    let job = r#"{"prompt":"x","cwd":"/"}"#;
    let mut client = Command::new(env!("CARGO_BIN_EXE_proctor-acp"))
        .args(["__acp", "--"])
        .args(&deaf)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
    assert!(client.try_wait().unwrap().is_none());
    client.kill().unwrap();
    client.wait().unwrap();
}

#[test]
fn wrong_use_is_told() {
    let run = |args: &[&str], job: &str| {
        let mut client = Command::new(env!("CARGO_BIN_EXE_proctor-acp"))
            .arg("__acp")
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It may end before it has read all.
        let _ = client.stdin.take().unwrap().write_all(job.as_bytes());
        let output = client.wait_with_output().unwrap();
        assert!(output.stdout.is_empty());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let usage = "usage: proctor __acp -- COMMAND [ARGUMENT]... < job.json\n".to_owned();
    assert_eq!(run(&["agent"], ""), (Some(2), usage.clone()));
    assert_eq!(run(&["--"], ""), (Some(2), usage));
    let (code, message) = run(&["--", "true"], r#"{"prompt":1}"#);
    assert_eq!(code, Some(2));
    assert!(message.starts_with("the job cannot be read: invalid type"), "{message}");
}
