//! Codex's stream: classes of outcomes, events, figures.

mod support;

use OutcomeClass as Class;
use proctor_harness::{ExitKind, Reads, SessionEnd};
use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{Action, EventKind, OutcomeClass};
use serde_json::json;
use support::{Session, class, exited, read};

const THREAD: &str = r#"{"type":"thread.started","thread_id":"t"}"#;
const TURN: &str = r#"{"type":"turn.started"}"#;
const SAID: &str =
    r#"{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"Done."}}"#;
const DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":30,"cache_write_input_tokens":2,"output_tokens":9,"reasoning_output_tokens":4}}"#;

fn failed(message: &str) -> Session {
    let line = json!({"type": "turn.failed", "error": {"message": message}}).to_string();
    exited("codex", &[THREAD, TURN, &line], 1)
}

#[test]
fn every_class_that_the_program_can_show_has_a_stream() {
    let sessions = [
        (Class::Completed, exited("codex", &[THREAD, TURN, SAID, DONE], 0)),
        (Class::AuthFailed, failed("unexpected status 401 Unauthorized: no, url: u")),
        (Class::RateLimited, failed("exceeded retry limit, last status: 429 Too Many Requests")),
        (Class::Overloaded, failed("We’re currently experiencing high demand.")),
        (Class::Quota, failed("You’ve hit your usage limit. Try again later.")),
        (Class::ApiError, failed("stream disconnected before completion: server exploded")),
        (Class::ContextOverflow, failed("Codex ran out of room in the model's context window.")),
        (Class::MaxOutput, failed("Incomplete response returned, reason: max_output_tokens")),
        (Class::Refused, failed("Incomplete response returned, reason: content_filter")),
        (Class::Interrupted, exited("codex", &[THREAD, TURN], 130)),
        (Class::CutShort, exited("codex", &[THREAD, TURN], 1)),
        (Class::UsageError, exited("codex", &[], 2)),
        (Class::Stalled, support::ended_by("codex", &[THREAD], Class::Stalled)),
        (Class::Timeout, support::ended_by("codex", &[THREAD, TURN], Class::Timeout)),
    ];
    for (expected, session) in &sessions {
        assert_eq!(class(session), *expected, "{:?}", session.1.outcome);
    }
    // The program knows neither a turn limit nor a budget.
    assert_eq!(sessions.len(), OutcomeClass::ALL.len() - 2);
}

#[test]
fn messages_of_providers_are_told_apart() {
    let cases = [
        ("unexpected status 403 Forbidden: forbidden, url: u", Class::AuthFailed, Some(403)),
        ("unexpected status 529 <unknown status code>: overloaded", Class::Overloaded, Some(529)),
        ("unexpected status 502 Bad Gateway: <html>quota</html>", Class::ApiError, Some(502)),
        ("unexpected status 404 Not Found: model not found", Class::ApiError, Some(404)),
        ("Missing environment variable: `KEY`.", Class::AuthFailed, None),
        ("Quota exceeded. Check your plan (insufficient_quota)", Class::Quota, None),
        ("context_length_exceeded", Class::ContextOverflow, None),
        ("Connection failed: error sending request", Class::ApiError, None),
        ("rate limit exceeded: Rate limit reached for x.", Class::RateLimited, None),
        (r#"{"error": {"message": "bad request"}}"#, Class::ApiError, None),
    ];
    for (message, expected, status) in cases {
        let outcome = failed(message).1.outcome;
        assert_eq!((outcome.class, outcome.http_status), (expected, status), "{message}");
        assert_eq!(outcome.message, message);
    }
}

#[test]
fn an_error_line_is_not_the_end() {
    let lines = [
        THREAD,
        TURN,
        r#"{"type":"error","message":"Reconnecting... 2/5 (unexpected status 401 Unauthorized: x)"}"#,
        r#"{"type":"error","message":"Reconnecting... waiting for network (Connection failed)"}"#,
        r#"{"type":"error","message":"strange"}"#,
        r#"{"type":"item.completed","item":{"id":"item_9","type":"error","message":"metadata"}}"#,
        SAID,
        DONE,
    ];
    let (events, summary) = exited("codex", &lines, 0);
    assert_eq!(summary.outcome.class, Class::Completed);
    assert!(summary.warnings.is_empty());
    let retries: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Retry { attempt, status, .. } => Some((*attempt, *status)),
            _ => None,
        })
        .collect();
    assert_eq!(retries, [(Some(2), Some(401)), (None, None)]);
    for message in ["strange", "metadata"] {
        let notice = EventKind::Notice { message: message.into() };
        assert!(events.iter().any(|event| event.kind == notice));
    }
}

#[test]
fn the_last_message_is_the_answer_and_figures_add_up() {
    let first = SAID.replace("Done.", "First.");
    let lines = [THREAD, TURN, &first, SAID, DONE, TURN, SAID, DONE];
    let (_, summary) = exited("codex", &lines, 0);
    assert_eq!(summary.final_text.as_deref(), Some("Done."));
    let usage = summary.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cache_read_tokens), (Some(140), Some(60)));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (Some(18), Some(8)));
    assert_eq!((usage.cache_write_tokens, usage.turns, usage.cost_usd), (Some(4), None, None));
}

#[test]
fn a_failed_turn_has_no_answer_and_no_figures() {
    let line = r#"{"type":"turn.failed","error":{"message":"x"}}"#;
    let (events, summary) = exited("codex", &[THREAD, TURN, SAID, line], 1);
    assert_eq!((summary.final_text, summary.usage), (None, None));
    assert_eq!(events.last().unwrap().kind, EventKind::Result { text: None, is_error: true });
}

#[test]
fn a_turn_that_begins_must_end() {
    assert_eq!(class(&exited("codex", &[THREAD, TURN, SAID, DONE, TURN], 0)), Class::CutShort);
    assert_eq!(class(&exited("codex", &["not json"], 0)), Class::CutShort);
}

#[test]
fn exit_and_stream_that_disagree_are_both_named() {
    let session = exited("codex", &[THREAD, TURN, SAID, DONE], 1);
    assert_eq!(class(&session), Class::CutShort);
    assert_eq!(session.1.warnings.len(), 1);
    let line = r#"{"type":"turn.failed","error":{"message":"x"}}"#;
    let session = exited("codex", &[THREAD, TURN, line], 0);
    assert_eq!(class(&session), Class::ApiError);
    assert_eq!(session.1.warnings.len(), 1);
}

#[test]
fn a_broken_sandbox_is_no_completion() {
    let stderr = "WARNING: proceeding, even though we could not create PATH aliases: Refusing";
    let end = SessionEnd { exit: Some(ExitKind::Code(0)), stderr, ended_by: None };
    let stream = [THREAD, TURN, SAID, DONE].join("\n");
    let (_, summary) = read("codex", stream.as_bytes(), &end);
    assert_eq!(summary.outcome.class, Class::UsageError);
    assert_eq!(summary.final_text, None);
    assert_eq!(summary.warnings, [summary.outcome.message]);
}

fn item(stage: &str, item: &serde_json::Value) -> String {
    json!({"type": format!("item.{stage}"), "item": item}).to_string()
}

fn kinds(lines: &[String]) -> Vec<EventKind> {
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    exited("codex", &lines, 0).0.into_iter().map(|event| event.kind).collect()
}

#[test]
fn a_command_is_one_call_and_one_result() {
    let command = "/bin/bash -lc 'cat a.md'";
    let begun = json!({"id": "1", "type": "command_execution", "command": command,
        "aggregated_output": "", "exit_code": null, "status": "in_progress"});
    let ended = json!({"id": "1", "type": "command_execution", "command": command,
        "aggregated_output": "no such file", "exit_code": 1, "status": "failed"});
    let lines = [item("started", &begun), item("updated", &begun), item("completed", &ended)];
    let call = EventKind::ToolCall {
        id: "1".into(),
        name: "command_execution".into(),
        action: Action::Shell { command: "cat a.md".into() },
        input: json!({"command": command}),
    };
    let result = EventKind::ToolResult {
        id: "1".into(),
        status: ToolStatus::Error,
        text: "no such file".into(),
    };
    assert_eq!(kinds(&lines), [call.clone(), result.clone()]);
    // Without a start the call is still there, and ids may come again.
    let ended = item("completed", &ended);
    assert_eq!(kinds(&[ended.clone(), ended]), [call.clone(), result.clone(), call, result]);
}

#[test]
fn only_changes_that_were_made_are_file_changes() {
    let change = |status: &str| {
        json!({"id": "1", "type": "file_change", "status": status, "changes": [
            {"path": "/w/a", "kind": "add"}, {"path": "/w/b", "kind": "update"},
            {"path": "/w/c", "kind": "delete"}, {"kind": "add"}]})
    };
    let made =
        kinds(&[item("started", &change("in_progress")), item("completed", &change("completed"))]);
    let changes: Vec<_> = made
        .iter()
        .filter_map(|kind| match kind {
            EventKind::FileChange { path, change } => Some((path.as_str(), *change)),
            _ => None,
        })
        .collect();
    assert_eq!(
        changes,
        [("/w/a", FileChange::Added), ("/w/b", FileChange::Updated), ("/w/c", FileChange::Deleted)]
    );
    let EventKind::ToolCall { action, .. } = &made[0] else { panic!("{made:?}") };
    assert_eq!(*action, Action::Edit { path: String::new() });
    let refused = kinds(&[item("completed", &change("failed"))]);
    assert_eq!(refused.len(), 2, "a call and a failed result: {refused:?}");
    let one =
        json!({"id": "2", "type": "file_change", "changes": [{"path": "/w/a", "kind": "add"}]});
    let EventKind::ToolCall { action, .. } = &kinds(&[item("started", &one)])[0] else { panic!() };
    assert_eq!(*action, Action::Edit { path: "/w/a".into() });
}

#[test]
fn other_tools_have_their_meanings() {
    let mcp = json!({"id": "1", "type": "mcp_tool_call", "server": "s", "tool": "echo",
        "arguments": {"x": 1}, "result": {"content": [{"type": "text", "text": "hi"}]},
        "error": null, "status": "completed"});
    let denied = json!({"id": "2", "type": "mcp_tool_call", "server": "s", "tool": "echo",
        "result": null, "error": {"message": "MCP tool call requires approval"}, "status": "failed"});
    let web = json!({"id": "3", "type": "web_search", "query": "weather"});
    let agent =
        json!({"id": "4", "type": "collab_tool_call", "tool": "spawn_agent", "prompt": "p"});
    let wait = json!({"id": "5", "type": "collab_tool_call", "tool": "wait"});
    let all = [mcp, denied, web, agent, wait].map(|value| item("completed", &value));
    let kinds = kinds(&all);
    let actions: Vec<_> = kinds
        .iter()
        .filter_map(|kind| match kind {
            EventKind::ToolCall { action, .. } => Some(action.clone()),
            _ => None,
        })
        .collect();
    let mcp = Action::Mcp { server: "s".into(), tool: "echo".into() };
    assert_eq!(
        actions,
        [
            mcp.clone(),
            mcp,
            Action::Web { target: "weather".into() },
            Action::Agent { name: String::new() },
            Action::Other
        ]
    );
    let results: Vec<_> = kinds
        .iter()
        .filter_map(|kind| match kind {
            EventKind::ToolResult { status, text, .. } => Some((*status, text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(results[0], (ToolStatus::Ok, "hi"));
    assert_eq!(results[1], (ToolStatus::Denied, "MCP tool call requires approval"));
}

#[test]
fn nothing_of_this_program_is_an_explicit_read() {
    let command = json!({"id": "1", "type": "command_execution",
        "command": "bash -lc 'cat a.md'", "aggregated_output": "a", "status": "completed"});
    let line = item("completed", &command);
    assert!(Reads::from_iter(&exited("codex", &[&line], 0).0).into_paths().is_empty());
}

#[test]
fn unknown_and_misshapen_lines_are_tolerated() {
    let lines = [
        r#"{"type":"item.completed","item":{"id":"1","type":"brand_new"}}"#.to_owned(),
        r#"{"type":"item.completed"}"#.to_owned(),
        r#"{"type":"brand.new"}"#.to_owned(),
        r#"{"type":"item.completed","item":{"id":"1","type":"todo_list","items":[]}}"#.to_owned(),
        r#"{"type":"item.completed","item":{"id":"2","type":"reasoning","text":"hm"}}"#.to_owned(),
        r#"{"type":"item.completed","item":{"id":"3","type":"web_search","id":"ws","query":"q"}}"#
            .to_owned(),
    ];
    let kinds = kinds(&lines);
    assert_eq!(kinds[0], EventKind::Unknown { name: "item.completed/brand_new".into() });
    assert_eq!(kinds[1], EventKind::Unknown { name: "item.completed".into() });
    assert_eq!(kinds[2], EventKind::Unknown { name: "brand.new".into() });
    assert_eq!(kinds[3], EventKind::Lifecycle { name: "todo_list".into() });
    assert_eq!(kinds[4], EventKind::Reasoning { text: "hm".into() });
    assert!(matches!(&kinds[5], EventKind::ToolCall { id, .. } if id == "ws"));
}

#[test]
fn messages_are_the_agents() {
    let (events, _) = exited("codex", &[THREAD, TURN, SAID, DONE], 0);
    let message = EventKind::Message { role: Role::Assistant, text: "Done.".into() };
    assert_eq!(events[2].kind, message);
    let result = EventKind::Result { text: Some("Done.".into()), is_error: false };
    assert_eq!(events.last().unwrap().kind, result);
}
