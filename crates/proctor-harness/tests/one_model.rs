//! What every adapter must give, whatever its program calls it: one model of events.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proctor_harness::SessionEnd;
use proctor_model::event::Role;
use proctor_model::{Action, Event, EventKind, Usage};
use support::{all, exited, read};

/// A word of the question that no answer below says.
const WORD: &str = "posthog";

/// The streams of each adapter in which the question comes back in every way in which it can.
fn echoes() -> Vec<(&'static str, Vec<String>)> {
    let frame = |direction: &str, message: &str| {
        let raw = serde_json::Value::from(message);
        format!(r#"{{"direction":"{direction}","kind":"k","raw_json":{raw}}}"#)
    };
    let update = |kind: &str, text: &str| {
        frame(
            "in",
            &format!(
                r#"{{"method":"session/update","params":{{"update":{{"sessionUpdate":"{kind}","content":{{"type":"text","text":"{text}"}}}}}}}}"#
            ),
        )
    };
    let own = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<_>>();
    vec![
        (
            "claude",
            own(&[
                r#"{"type":"user","message":{"role":"user","content":"use posthog"},"isReplay":true}"#,
                r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"use posthog"}]}}"#,
                r#"{"type":"user","isSynthetic":true,"message":{"role":"user","content":[{"type":"text","text":"the skill says: posthog"}]}}"#,
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"cat task"}}]}}"#,
                r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"use posthog"}]}}"#,
                r#"{"type":"result","subtype":"success","is_error":false,"result":"Done."}"#,
            ]),
        ),
        (
            "codex",
            own(&[
                r#"{"type":"thread.started","thread_id":"t"}"#,
                r#"{"type":"turn.started"}"#,
                r#"{"type":"item.completed","item":{"id":"0","type":"user_message","text":"use posthog"}}"#,
                r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"cat task","aggregated_output":"use posthog","exit_code":0,"status":"completed"}}"#,
                r#"{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"Done."}}"#,
                r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#,
            ]),
        ),
        (
            "acp",
            vec![
                frame(
                    "out",
                    r#"{"id":2,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"use posthog"}]}}"#,
                ),
                update("user_message_chunk", "use posthog"),
                update("agent_message_chunk", "Done."),
                frame("in", r#"{"id":2,"result":{"stopReason":"end_turn"}}"#),
            ],
        ),
        (
            "scripted",
            own(&[
                r#"{"type":"start","version":1}"#,
                r#"{"type":"say","text":"Done."}"#,
                r#"{"type":"tool_result","id":"1","status":"ok","text":"use posthog"}"#,
                r#"{"type":"end","outcome":"completed","message":""}"#,
            ]),
        ),
    ]
}

fn text_of(event: &Event) -> Option<(&'static str, &str)> {
    match &event.kind {
        EventKind::Message { role: Role::Assistant, text }
        | EventKind::Reasoning { text }
        | EventKind::Result { text: Some(text), .. } => Some(("said", text)),
        EventKind::Message { text, .. } => Some(("told", text)),
        EventKind::ToolResult { text, .. } => Some(("returned", text)),
        _ => None,
    }
}

#[test]
fn the_question_is_never_what_the_agent_said() {
    for (harness, lines) in echoes() {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (events, _) = exited(harness, &lines, 0);
        let texts: Vec<_> = events.iter().filter_map(text_of).collect();
        assert!(texts.contains(&("said", "Done.")), "{harness}: {events:?}");
        let said: Vec<_> =
            texts.iter().filter(|(how, text)| *how == "said" && text.contains(WORD)).collect();
        assert!(said.is_empty(), "{harness}: {said:?}");
    }
}

/// Streams of the real programs beside the small ones of this folder, by the adapter they are for.
fn streams() -> Vec<(String, Vec<u8>)> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [own.join("tests/samples"), own.join("../../../shared/data/harness")];
    let mut streams = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let harness = name.split(['-', '.']).next().unwrap_or_default().to_owned();
            let is_stream = path.extension().is_some_and(|extension| extension == "jsonl");
            if is_stream && all().any(|adapter| adapter.id() == harness) {
                streams.push((harness, fs::read(path).unwrap()));
            }
        }
    }
    streams
}

#[test]
fn a_session_used_no_less_than_its_events_say() {
    for (harness, stream) in streams() {
        let (events, summary) = read(&harness, &stream, &SessionEnd::default());
        let sessions: BTreeSet<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::Session { session_id, .. } => Some(session_id.clone()),
                _ => None,
            })
            .collect();
        if sessions.len() > 1 {
            // Several programs in one file: each begins its account anew.
            continue;
        }
        let sum = events.iter().fold(None, |sum: Option<Usage>, event| match &event.kind {
            EventKind::Usage { usage } => Some(sum.unwrap_or_default().plus(*usage)),
            _ => sum,
        });
        let (Some(sum), Some(whole)) = (sum, summary.usage) else {
            assert_eq!(sum.is_some(), summary.usage.is_some(), "{harness}");
            continue;
        };
        for (sum, whole) in [
            (sum.input_tokens, whole.input_tokens),
            (sum.output_tokens, whole.output_tokens),
            (sum.cache_read_tokens, whole.cache_read_tokens),
        ] {
            assert!(sum <= whole, "{harness}: {sum:?} {whole:?}");
            // Of Claude the account at the end has subagents, too.
            assert!(harness == "claude" || sum == whole, "{harness}: {sum:?} {whole:?}");
        }
    }
}

#[test]
fn tools_have_meanings_that_no_program_owns() {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (harness, stream) in streams() {
        let (events, _) = read(&harness, &stream, &SessionEnd::default());
        for event in events {
            let kind = match event.kind {
                EventKind::ToolCall { action, .. } => match action {
                    Action::Read { .. } => "read",
                    Action::Write { .. } | Action::Edit { .. } => "write",
                    Action::Shell { .. } => "shell",
                    Action::Skill { .. } => "skill",
                    Action::Mcp { .. } => "mcp",
                    _ => continue,
                },
                EventKind::ToolResult { .. } => "result",
                EventKind::FileChange { .. } => "file change",
                EventKind::Message { .. } => "message",
                EventKind::Reasoning { .. } => "reasoning",
                EventKind::Usage { .. } => "usage",
                EventKind::Lifecycle { .. } | EventKind::Session { .. } => "lifecycle",
                _ => continue,
            };
            seen.insert(format!("{harness} {kind}"));
        }
    }
    // Codex has no tool for reading or for skills: it reads with its shell.
    let small = [
        ("acp", &["message", "reasoning", "read", "result", "usage", "lifecycle"][..]),
        ("claude", &["message", "reasoning", "read", "shell", "result", "usage", "lifecycle"]),
        ("codex", &["message", "reasoning", "shell", "mcp", "result", "file change", "usage"]),
        ("scripted", &["message", "read", "shell", "result", "file change", "usage"]),
    ];
    let recorded = [("claude", &["skill", "write", "mcp"][..])];
    let is_at_hand = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/harness");
    let recorded = recorded.into_iter().filter(|_| is_at_hand.is_dir());
    for (harness, kinds) in small.into_iter().chain(recorded) {
        for kind in kinds {
            assert!(
                seen.contains(&format!("{harness} {kind}")),
                "{harness}: no {kind} in {seen:?}"
            );
        }
    }
}
