//! The stream of an agent that speaks the Agent Client Protocol.

mod support;

use proctor_harness::{ExitKind, SessionEnd, is_unsupported_model};
use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{Action, EventKind, OutcomeClass};
use serde_json::{Value, json};
use support::{Session, class, read};

/// The lines of a record, made from frames.
struct Record(Vec<String>);

impl Record {
    fn new() -> Self {
        let record = Self(Vec::new());
        record
            .out(&json!({"id": 0, "method": "initialize"}))
            .came(&json!({"id": 0, "result": {"protocolVersion": 1}}))
            .out(&json!({"id": 1, "method": "session/prompt", "params": {"prompt": []}}))
    }

    fn line(mut self, direction: &str, frame: &Value) -> Self {
        let raw_json = frame.to_string();
        let line = json!({"direction": direction, "kind": "k", "raw_json": raw_json});
        self.0.push(line.to_string());
        self
    }

    fn out(self, frame: &Value) -> Self {
        self.line("out", frame)
    }

    fn came(self, frame: &Value) -> Self {
        self.line("in", frame)
    }

    fn update(self, update: &Value) -> Self {
        let params = json!({"sessionId": "s", "update": update});
        self.came(&json!({"method": "session/update", "params": params}))
    }

    fn say(self, text: &str, meta: &Value) -> Self {
        let content = json!({"type": "text", "text": text});
        let kind = "agent_message_chunk";
        self.update(&json!({"sessionUpdate": kind, "content": content, "_meta": meta}))
    }

    fn call(self, fields: &Value) -> Self {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c"});
        let members = fields.as_object().unwrap().clone();
        update.as_object_mut().unwrap().extend(members);
        self.update(&update)
    }

    fn done(self) -> Self {
        self.came(&json!({"id": 1, "result": {"stopReason": "end_turn"}}))
    }

    fn read(&self, code: i32) -> Session {
        let end = SessionEnd { exit: Some(ExitKind::Code(code)), ..SessionEnd::default() };
        read("acp", self.0.join("\n").as_bytes(), &end)
    }

    /// The events of what came after the prompt was sent.
    fn events(&self) -> Vec<EventKind> {
        let (events, _) = self.read(0);
        events.into_iter().map(|event| event.kind).skip(3).collect()
    }
}

fn said(text: &str) -> EventKind {
    EventKind::Message { role: Role::Assistant, text: text.into() }
}

#[test]
fn chunks_are_joined_until_something_else_happens() {
    let usage = json!({"sessionUpdate": "usage_update", "used": 1, "size": 2});
    let record = Record::new().say("a", &Value::Null).update(&usage).say("b", &Value::Null);
    let record = record.call(&json!({"rawInput": {"command": "ls"}, "kind": "execute"}));
    let record = record.say("c", &Value::Null);
    let usage = EventKind::Lifecycle { name: "usage_update".into() };
    let call = EventKind::ToolCall {
        id: "c".into(),
        name: "execute".into(),
        action: Action::Shell { command: "ls".into() },
        input: json!({"command": "ls"}),
    };
    // Of a stream that is cut as well.
    assert_eq!(record.events(), [usage, said("ab"), call, said("c")]);
    assert_eq!(class(&record.read(1)), OutcomeClass::CutShort);
    let (_, summary) = record.done().read(0);
    assert_eq!(summary.final_text.as_deref(), Some("c"));
}

#[test]
fn what_a_subagent_says_is_not_the_answer() {
    let meta = json!({"claudeCode": {"parentToolUseId": "t"}});
    let record = Record::new().say("mine", &Value::Null).say("its", &meta).done();
    let (events, summary) = record.read(0);
    let parents: Vec<_> = events.iter().map(|event| event.parent.as_deref()).skip(3).collect();
    assert_eq!(parents, [None, Some("t"), None]);
    assert_eq!(summary.final_text.as_deref(), Some("mine"));
}

#[test]
fn updates_make_one_call_and_one_result() {
    let record = Record::new()
        .call(&json!({"title": "Write", "kind": "edit", "status": "pending", "rawInput": {}}))
        .call(&json!({"_meta": {"claudeCode": {"toolName": "Write"}}}))
        .call(&json!({"rawInput": {"file_path": "/w/a"}, "status": "in_progress"}))
        .call(&json!({"content": [
            {"type": "diff", "path": "/w/a", "oldText": null, "newText": "x"},
            {"type": "content", "content": {"type": "text", "text": "one"}},
            {"type": "content", "content": {"type": "image", "data": "AAAA"}},
            {"type": "terminal", "terminalId": "t"}
        ]}))
        .call(&json!({"status": "completed"}))
        .call(&json!({"status": "in_progress"}))
        .call(&json!({"status": "failed"}));
    let text = "one\n[image]\n[terminal]".to_owned();
    let action = Action::Write { path: "/w/a".into() };
    let input = json!({"file_path": "/w/a"});
    assert_eq!(
        record.events(),
        [
            EventKind::ToolCall { id: "c".into(), name: "Write".into(), action, input },
            EventKind::FileChange { path: "/w/a".into(), change: FileChange::Added },
            EventKind::ToolResult { id: "c".into(), status: ToolStatus::Ok, text },
        ]
    );
}

#[test]
fn a_call_without_arguments_is_emitted_when_it_ends_or_the_stream_does() {
    let record = Record::new().call(&json!({"title": "Think hard", "kind": "other"}));
    let call = |name: &str| EventKind::ToolCall {
        id: "c".into(),
        name: name.into(),
        action: Action::Other,
        input: Value::Null,
    };
    assert_eq!(record.events(), [call("Think hard")]);
    let failed = record.call(&json!({"status": "failed", "rawOutput": {"why": 1}}));
    let text = r#"{"why":1}"#.to_owned();
    let result = EventKind::ToolResult { id: "c".into(), status: ToolStatus::Error, text };
    assert_eq!(failed.events(), [call("Think hard"), result]);
}

#[test]
fn costs_are_of_the_session_so_far() {
    let cost = |record: Record, cost: Value| {
        record.update(&json!({"sessionUpdate": "usage_update", "cost": cost}))
    };
    let record = cost(Record::new(), json!({"amount": 0.25, "currency": "USD"}));
    let record = cost(record, json!({"amount": 0.75, "currency": "USD"}));
    let record = cost(record, json!({"amount": 9, "currency": "EUR"}));
    let record = cost(record, json!({"amount": -1, "currency": "USD"}));
    let (events, summary) = record.done().read(0);
    let spent: Vec<_> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Usage { usage } => usage.cost_usd,
            _ => None,
        })
        .collect();
    assert_eq!(spent, [0.25, 0.5]);
    assert_eq!(summary.usage.unwrap().cost_usd, Some(0.75));
}

#[test]
fn the_client_tells_why_there_is_no_answer() {
    let end = |outcome: &str, reason: &str| {
        let mut record = Record::new().say("half", &Value::Null);
        record.0.push(
            json!({"kind": "proctor_end", "outcome": outcome, "reason": reason, "message": "m"})
                .to_string(),
        );
        record
    };
    let (events, summary) = end("usage_error", "model").read(1);
    assert!(is_unsupported_model(&summary.outcome), "{summary:?}");
    assert!(events.iter().any(|event| event.kind == said("half")));
    let (_, summary) = end("usage_error", "effort").read(1);
    assert!(!is_unsupported_model(&summary.outcome));
    assert_eq!(summary.outcome.message, "m");
    let stderr = SessionEnd { stderr: " panic! ", ..SessionEnd::default() };
    let record = end("cut_short", "died");
    let (_, summary) = read("acp", record.0.join("\n").as_bytes(), &stderr);
    assert_eq!(summary.outcome.message, "m: panic!");
    // A word that is no class, and one that comes after the answer.
    assert_eq!(class(&end("splendid", "x").read(1)), OutcomeClass::CutShort);
    let mut answered = Record::new().done();
    answered.0.extend(end("usage_error", "x").0.pop());
    assert_eq!(class(&answered.read(0)), OutcomeClass::Completed);
}

#[test]
fn a_session_that_became_too_expensive_says_so() {
    let cancel = json!({"method": "session/cancel",
        "params": {"sessionId": "s", "_meta": {"proctorReason": "max_cost"}}});
    let stopped = json!({"id": 1, "result": {"stopReason": "cancelled"}});
    let record = Record::new().out(&cancel).came(&stopped);
    assert_eq!(class(&record.read(1)), OutcomeClass::Budget);
    let plain = Record::new().came(&stopped);
    assert_eq!(class(&plain.read(1)), OutcomeClass::Interrupted);
}

/// The record of a session with `claude-agent-acp` 0.49 and a scripted model.
#[test]
fn a_real_agent_is_understood() {
    let sample = include_str!("samples/acp-claude.jsonl");
    let end = SessionEnd { exit: Some(ExitKind::Code(0)), ..SessionEnd::default() };
    let (events, summary) = read("acp", sample.as_bytes(), &end);
    let mut seen = Vec::new();
    for event in events {
        seen.push(match event.kind {
            EventKind::Session { model, version, .. } => format!("{model:?} {version:?}"),
            EventKind::Message { role, text } => format!("{role:?}: {text}"),
            EventKind::ToolCall { name, action, .. } => format!("{name}: {action:?}"),
            EventKind::ToolResult { status, text, .. } => format!("{status:?}: {text:?}"),
            EventKind::FileChange { path, change } => format!("{path} {change:?}"),
            EventKind::Result { text, is_error } => format!("{text:?} {is_error}"),
            EventKind::Unknown { .. } | EventKind::Garbage { .. } => panic!("{event:?}"),
            _ => continue,
        });
    }
    insta::assert_snapshot!(seen.join("\n"), @r#"
    Some("default") Some("@agentclientprotocol/claude-agent-acp 0.49.0")
    User: do it
    Assistant: step 0
    Bash: Shell { command: "echo hello; id -u" }
    Ok: "hello\n0"
    Assistant: step 1
    Write: Write { path: "/workspace/made.txt" }
    /workspace/made.txt Added
    Ok: "File created successfully at: /workspace/made.txt "
    Assistant: step 2
    Read: Read { path: "/workspace/made.txt" }
    Ok: "1\tx\n2\t"
    Assistant: step 3
    mcp__tiny__echo: Mcp { server: "tiny", tool: "echo" }
    Ok: "tiny says v"
    Assistant: step 4
    Skill: Skill { name: "greet" }
    Ok: "Launching skill: greet"
    Assistant: step 5
    Edit: Edit { path: "/workspace/made.txt" }
    /workspace/made.txt Updated
    Ok: "The file /workspace/made.txt has been updated successfully. "
    Assistant: step 6
    Grep: Search { pattern: "y" }
    Error: "<tool_use_error>Error: No such tool available: Grep. Grep is not available in this session — search file contents with `grep` via the Bash tool instead.</tool_use_error>"
    Assistant: all done
    Some("all done") false
    "#);
    let usage = summary.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(80), Some(40)));
    assert!(usage.cost_usd.is_some_and(|cost| (0.0011..0.0012).contains(&cost)), "{usage:?}");
    assert_eq!(summary.final_text.as_deref(), Some("all done"));
    assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
}
