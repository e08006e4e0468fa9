//! Claude Code's stream: classes of outcomes, events, figures.

mod support;

use OutcomeClass as Class;
use proctor_harness::{ExitKind, Reads, SessionEnd};
use proctor_model::event::{Role, ToolStatus};
use proctor_model::{Action, EventKind, OutcomeClass};
use serde_json::json;
use support::{Session, class, exited, read};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":["Read"],"skills":["greet"],"claude_code_version":"9.9.9"}"#;
const SAID: &str = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"Working."}]},"parent_tool_use_id":null}"#;
const DONE: &str = r#"{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","api_error_status":null,"stop_reason":"end_turn","result":"Done.","num_turns":3,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":4}}"#;

/// An API failure as the program reports it: `success` in name only.
fn api_error(status: &str, text: &str) -> String {
    format!(
        r#"{{"type":"result","subtype":"success","is_error":true,"terminal_reason":"api_error","api_error_status":{status},"stop_reason":"stop_sequence","result":"{text}"}}"#
    )
}

fn failed(status: &str, text: &str) -> Session {
    exited("claude", &[INIT, &api_error(status, text)], 1)
}

#[test]
fn every_class_has_a_stream() {
    let result = |reason: &str| {
        format!(
            r#"{{"type":"result","subtype":"error","is_error":true,"terminal_reason":"{reason}","errors":["why"]}}"#
        )
    };
    let stopped = |reason: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"terminal_reason":"completed","stop_reason":"{reason}","result":"I"}}"#
        )
    };
    let sessions = [
        (Class::Completed, exited("claude", &[INIT, SAID, DONE], 0)),
        (Class::AuthFailed, failed("401", "Invalid API key")),
        (Class::RateLimited, failed("429", "API Error: Request rejected (429)")),
        (Class::Overloaded, failed("529", "API Error: 529 Overloaded")),
        (Class::Quota, failed("400", "Credit balance is too low")),
        (Class::ApiError, failed("null", "API Error: Connection refused")),
        (Class::ContextOverflow, exited("claude", &[INIT, &result("prompt_too_long")], 1)),
        (Class::MaxOutput, exited("claude", &[INIT, &stopped("max_tokens")], 0)),
        (Class::MaxTurns, exited("claude", &[INIT, &result("max_turns")], 1)),
        (Class::Budget, exited("claude", &[INIT, &result("budget_exhausted")], 1)),
        (Class::Refused, exited("claude", &[INIT, &stopped("refusal")], 0)),
        (Class::Interrupted, exited("claude", &[INIT, &result("aborted_tools")], 0)),
        (Class::CutShort, exited("claude", &[INIT, SAID], 137)),
        (Class::UsageError, exited("claude", &[], 1)),
        (Class::Stalled, support::ended_by("claude", &[INIT], Class::Stalled)),
        (Class::Timeout, support::ended_by("claude", &[INIT, SAID], Class::Timeout)),
    ];
    for (index, (expected, session)) in sessions.iter().enumerate() {
        assert_eq!(*expected, OutcomeClass::ALL[index], "the list is in the order of the classes");
        assert_eq!(class(session), *expected, "{:?}", session.1.outcome);
    }
}

#[test]
fn a_plain_session_gives_its_events_in_order() {
    let (events, summary) = exited("claude", &[INIT, SAID, DONE], 0);
    let kinds: Vec<_> = events.into_iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds[0],
        EventKind::Session {
            session_id: Some("s1".into()),
            model: Some("m".into()),
            version: Some("9.9.9".into()),
            tools: vec!["Read".into()],
            skills: vec!["greet".into()],
        }
    );
    assert_eq!(kinds[1], EventKind::Message { role: Role::Assistant, text: "Working.".into() });
    assert!(matches!(kinds[2], EventKind::Usage { .. }));
    assert_eq!(kinds[3], EventKind::Result { text: Some("Done.".into()), is_error: false });
    assert_eq!(summary.final_text.as_deref(), Some("Done."));
    assert_eq!(summary.outcome.message, "");
    assert!(summary.warnings.is_empty());
}

#[test]
fn a_missing_key_has_no_status_and_a_refused_one_has() {
    let text = "Not logged in · Please run /login";
    let synthetic = json!({"type": "assistant", "error": "authentication_failed",
        "message": {"model": "<synthetic>", "content": [{"type": "text", "text": text}]}});
    let missing = exited("claude", &[INIT, &synthetic.to_string(), &api_error("null", text)], 1);
    assert_eq!((class(&missing), missing.1.outcome.http_status), (Class::AuthFailed, None));
    assert_eq!(missing.1.outcome.message, text);
    let refused = failed("401", "Invalid API key");
    assert_eq!(refused.1.outcome.http_status, Some(401));
}

#[test]
fn the_words_of_an_api_error_are_never_an_answer() {
    let synthetic = r#"{"type":"assistant","error":"rate_limit","message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error: slow down"}]}}"#;
    let session =
        exited("claude", &[INIT, synthetic, &api_error("null", "API Error: slow down")], 0);
    assert_eq!(class(&session), Class::RateLimited);
    assert_eq!(session.1.final_text, None);
    let spoken = |kind: &EventKind| matches!(kind, EventKind::Message { .. });
    assert!(!session.0.iter().any(|event| spoken(&event.kind)));
    let notice = EventKind::Notice { message: "API Error: slow down".into() };
    assert!(session.0.iter().any(|event| event.kind == notice));
    assert_eq!(session.1.warnings.len(), 1, "exit 0 disagrees: {:?}", session.1.warnings);
}

#[test]
fn a_failing_exit_after_a_good_result_is_no_completion() {
    let session = exited("claude", &[INIT, SAID, DONE], 1);
    assert_eq!(class(&session), Class::CutShort);
    assert_eq!(session.1.final_text, None);
    assert_eq!(
        session.1.warnings,
        ["the program exited with code 1, but its stream says `completed`; \
          the worse of the two counts"]
    );
}

#[test]
fn the_last_of_several_results_counts_and_figures_are_of_the_whole_process() {
    let result = |cost: f64, tokens: u64, whole: u64, text: &str| {
        json!({"type": "result", "is_error": false, "terminal_reason": "completed", "result": text,
            "num_turns": 2, "total_cost_usd": cost, "usage": {"input_tokens": tokens},
            "modelUsage": {"a": {"inputTokens": whole - 5, "outputTokens": 7}, "b": {"inputTokens": 5}}})
        .to_string()
    };
    let (first, second) = (result(0.5, 100, 150, "first"), result(0.75, 20, 170, "second"));
    let (events, summary) = exited("claude", &[INIT, &first, INIT, &second], 0);
    assert_eq!(summary.final_text.as_deref(), Some("second"));
    let usage = summary.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(170), Some(7)));
    assert_eq!((usage.turns, usage.cost_usd), (Some(4), Some(0.75)));
    let stretches: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Usage { usage } => Some((usage.input_tokens, usage.cost_usd)),
            _ => None,
        })
        .collect();
    assert_eq!(stretches, [(Some(100), Some(0.5)), (Some(20), Some(0.25))]);
}

#[test]
fn figures_that_the_program_does_not_state_are_absent() {
    let bare = r#"{"type":"result","is_error":false}"#;
    let (events, summary) = exited("claude", &[bare], 0);
    assert_eq!((events.len(), summary.usage), (1, None));
    let turns = r#"{"type":"result","is_error":false,"num_turns":2}"#;
    let usage = exited("claude", &[turns], 0).1.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.turns, usage.cost_usd), (None, Some(2), None));
    assert_eq!(exited("claude", &[INIT, SAID], 137).1.usage, None);
}

#[test]
fn a_turn_that_begins_after_the_last_result_must_end_too() {
    let session = exited("claude", &[INIT, DONE, INIT, SAID], 0);
    assert_eq!(class(&session), Class::CutShort);
    assert!(session.1.usage.is_some(), "the first turn's figures stay");
}

#[test]
fn a_minimal_result_of_another_version_is_understood() {
    let cases = [
        (r#"{"type":"result","is_error":false,"result":"ok"}"#, Class::Completed),
        (r#"{"type":"result","subtype":"error_max_turns","is_error":false}"#, Class::MaxTurns),
        (r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true}"#, Class::Budget),
        (r#"{"type":"result","is_error":true,"result":"API Error: 500 boom"}"#, Class::ApiError),
        (r#"{"type":"result","is_error":true,"result":"API Error: 401 no"}"#, Class::AuthFailed),
        (r#"{"type":"result","is_error":true}"#, Class::ApiError),
    ];
    for (line, expected) in cases {
        let session = read("claude", format!("{INIT}\n{line}").as_bytes(), &SessionEnd::default());
        assert_eq!(class(&session), expected, "{line}");
    }
}

#[test]
fn an_execution_error_before_any_session_is_wrong_usage() {
    let line = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]}"#;
    let session = exited("claude", &[line], 1);
    assert_eq!(class(&session), Class::UsageError);
    assert_eq!(session.1.outcome.message, "No conversation found");
    assert_eq!(class(&exited("claude", &[INIT, line], 1)), Class::CutShort);
}

#[test]
fn a_reason_that_is_a_failure_counts_whatever_is_error_says() {
    let cases = [
        ("turn_setup_failed", Class::UsageError),
        ("model_error", Class::ApiError),
        ("blocking_limit", Class::ContextOverflow),
        ("max_turns", Class::MaxTurns),
        ("aborted_streaming", Class::Interrupted),
    ];
    for (reason, expected) in cases {
        let line = json!({"type": "result", "subtype": "success", "is_error": false,
            "terminal_reason": reason, "result": "text"});
        let session = exited("claude", &[INIT, &line.to_string()], 1);
        assert_eq!(class(&session), expected, "{reason}");
        assert_eq!(session.1.final_text, None);
    }
}

#[test]
fn a_result_that_is_not_plainly_a_success_is_none() {
    for line in [
        r#"{"type":"result","subtype":"error_of_tomorrow","result":"boom"}"#,
        r#"{"type":"result","subtype":"error_of_tomorrow","is_error":false,"result":"boom"}"#,
        r#"{"type":"result","subtype":"success","is_error":"true","result":"boom"}"#,
        r#"{"type":"result","subtype":"success","is_error":null,"result":"boom"}"#,
    ] {
        let session = exited("claude", &[INIT, SAID, line], 0);
        assert_eq!(class(&session), Class::ApiError, "{line}");
        assert_eq!(session.1.outcome.message, "boom");
        assert_eq!(session.1.final_text, None);
    }
}

#[test]
fn an_unknown_reason_to_end_is_named() {
    let line =
        r#"{"type":"result","is_error":false,"terminal_reason":"hook_stopped","result":"x"}"#;
    let session = exited("claude", &[INIT, line], 0);
    assert_eq!(class(&session), Class::Completed);
    assert_eq!(session.1.warnings, ["the program gives `hook_stopped` as its reason to end"]);
}

#[test]
fn garbage_alone_is_no_completion_and_beside_a_result_it_is_a_warning() {
    let session = exited("claude", &["Segmentation fault", "{\"type\":"], 0);
    assert_eq!(class(&session), Class::CutShort);
    assert_eq!(session.1.warnings, ["2 lines are not in the format of the stream"]);
    let session = exited("claude", &["npm warn", INIT, DONE], 0);
    assert_eq!(class(&session), Class::Completed);
    assert_eq!(session.1.warnings, ["1 line is not in the format of the stream"]);
}

#[test]
fn the_stream_of_another_program_is_no_completion() {
    let lines = [r#"{"type":"init","model":"g"}"#, r#"{"type":"result","status":"success"}"#];
    let session = exited("claude", &lines, 0);
    assert_eq!(class(&session), Class::CutShort);
    assert_eq!(
        session.1.outcome.message,
        "no line of the stream is one of this program's; the program exited with code 0"
    );
}

#[test]
fn standard_error_tells_why_nothing_was_printed() {
    let exit = Some(ExitKind::Code(1));
    let end = SessionEnd { exit, stderr: "error: unknown option '--x'\n", ended_by: None };
    let (events, summary) = read("claude", b"", &end);
    assert!(events.is_empty());
    assert_eq!(
        summary.outcome.message,
        "the stream is empty; the program exited with code 1: error: unknown option '--x'"
    );
}

#[test]
fn broken_plugins_and_dead_servers_are_warnings_said_once() {
    let init = r#"{"type":"system","subtype":"init","plugin_errors":[{"type":"x","message":"bad manifest"}],"mcp_servers":[{"name":"a","status":"connected"},{"name":"b","status":"failed"}]}"#;
    let session = exited("claude", &[init, DONE, init, DONE], 0);
    assert_eq!(
        session.1.warnings,
        ["a plugin was not loaded: bad manifest", "MCP server `b` is not connected: failed"]
    );
}

fn result_line(id: &str, is_error: bool, meta: &serde_json::Value) -> String {
    json!({"type": "user", "message": {"content": [
        {"type": "tool_result", "tool_use_id": id, "is_error": is_error, "content": "text"}]},
        "tool_result_meta": meta})
    .to_string()
}

fn statuses(session: &Session) -> Vec<ToolStatus> {
    let status = |kind: &EventKind| match kind {
        EventKind::ToolResult { status, .. } => Some(*status),
        _ => None,
    };
    session.0.iter().filter_map(|event| status(&event.kind)).collect()
}

#[test]
fn denied_failed_and_interrupted_calls_differ() {
    let lines = [
        result_line("1", false, &json!([{"id": "1", "permission_decision": {"decision": "accept"}}])),
        result_line("2", true, &json!([])),
        result_line("3", true, &json!([{"id": "3", "permission_decision": {"decision": "reject"}}])),
        result_line("4", true, &json!([{"id": "4", "non_execution_kind": "permission-rule"}])),
        result_line("5", true, &json!([{"id": "5", "non_execution_kind": "user-rejected"}])),
        result_line("6", true, &json!([{"id": "5", "non_execution_kind": "permission-rule"}])),
        r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"7","message":"no"}"#.into(),
        result_line("7", true, &json!(null)),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let session = exited("claude", &lines, 0);
    assert_eq!(
        statuses(&session),
        [
            ToolStatus::Ok,
            ToolStatus::Error,
            ToolStatus::Denied,
            ToolStatus::Denied,
            ToolStatus::Error,
            ToolStatus::Error,
            ToolStatus::Denied
        ]
    );
    let notice = EventKind::Notice { message: "permission denied for Bash: no".into() };
    assert!(session.0.iter().any(|event| event.kind == notice));
}

#[test]
fn calls_and_results_of_subagents_name_their_parent() {
    let call = r#"{"type":"assistant","parent_tool_use_id":"t1","message":{"model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/w/a.md"}}]}}"#;
    let result = r#"{"type":"user","parent_tool_use_id":"t1","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"a"},{"type":"image"}]}]}}"#;
    let (events, _) = exited("claude", &[call, result], 0);
    assert!(events.iter().all(|event| event.parent.as_deref() == Some("t1")));
    let kinds: Vec<_> = events.iter().map(|event| &event.kind).collect();
    assert_eq!(*kinds[0], EventKind::Reasoning { text: "hm".into() });
    assert_eq!(
        *kinds[1],
        EventKind::ToolCall {
            id: "t2".into(),
            name: "Read".into(),
            action: Action::Read { path: "/w/a.md".into() },
            input: json!({"file_path": "/w/a.md"}),
        }
    );
    let text = "a\n[image]".into();
    assert_eq!(*kinds[2], EventKind::ToolResult { id: "t2".into(), status: ToolStatus::Ok, text });
    assert_eq!(Reads::from_iter(&events).into_paths(), ["/w/a.md"]);
}

#[test]
fn injected_text_is_never_the_agents() {
    let line = |text: &str, synthetic: bool| {
        json!({"type": "user", "isSynthetic": synthetic,
            "message": {"content": [{"type": "text", "text": text}]}})
        .to_string()
    };
    let lines = [
        line("Base directory for this skill: /s", true),
        line("[Request interrupted by user]", false),
        line("please", false),
        json!({"type": "user", "message": {"content": "plain"}}).to_string(),
    ];
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let (events, _) = exited("claude", &lines, 0);
    let role = |kind: &EventKind| match kind {
        EventKind::Message { role, .. } => Some(*role),
        _ => None,
    };
    let roles: Vec<_> = events.iter().filter_map(|event| role(&event.kind)).collect();
    assert_eq!(roles, [Role::Harness, Role::Harness, Role::User, Role::User]);
}

#[test]
fn retries_notices_and_the_running_of_the_session_have_their_kinds() {
    let lines = [
        r#"{"type":"system","subtype":"api_retry","attempt":2,"error_status":529,"error":"overloaded"}"#,
        r#"{"type":"system","subtype":"api_retry","attempt":1,"error_status":null,"error":"unknown"}"#,
        r#"{"type":"system","subtype":"model_fallback","content":"Switched"}"#,
        r#"{"type":"system","subtype":"hook_started"}"#,
        r#"{"type":"stream_event","event":{}}"#,
        r#"{"type":"system","subtype":"brand_new"}"#,
        r#"{"type":"brand_new","x":1}"#,
        r#"{"no":"type"}"#,
    ];
    let (events, _) = exited("claude", &lines, 0);
    let kinds: Vec<_> = events.into_iter().map(|event| event.kind).collect();
    let retry = |attempt, status, message: &str| EventKind::Retry {
        attempt: Some(attempt),
        status,
        message: message.into(),
    };
    assert_eq!(
        kinds,
        [
            retry(2, Some(529), "overloaded"),
            retry(1, None, "unknown"),
            EventKind::Notice { message: "Switched".into() },
            EventKind::Lifecycle { name: "hook_started".into() },
            EventKind::Lifecycle { name: "stream_event".into() },
            EventKind::Unknown { name: "system/brand_new".into() },
            EventKind::Unknown { name: "brand_new".into() },
            EventKind::Unknown { name: String::new() },
        ]
    );
}

#[test]
fn lines_of_the_wrong_shape_are_unknown() {
    let lines = [
        r#"{"type":"assistant"}"#,
        r#"{"type":"assistant","message":"x"}"#,
        r#"{"type":"assistant","message":{"content":7}}"#,
        r#"{"type":"assistant","message":{"content":[1,{"type":"odd"}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"image"}]}}"#,
        r#"{"type":"user"}"#,
        r#"{"type":"system"}"#,
        r#"{"type":7}"#,
    ];
    let (events, _) = exited("claude", &lines, 0);
    assert_eq!(events.len(), 9);
    assert!(events.iter().all(|event| matches!(event.kind, EventKind::Unknown { .. })));
}
