//! Lines of the files in which Codex keeps its sessions: `sessions/YYYY/MM/DD/rollout-*.jsonl`.
//!
//! Each line is `{timestamp, type, payload}`; lines of versions before 0.31 are the payload alone.
//! What was said stands twice, as `response_item` (what the model sees) and as `event_msg` (what
//! people see); the first is read, since it alone has the calls of tools.

use std::collections::BTreeMap;

use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{Action, EventKind, Outcome, OutcomeClass, Usage};
use serde_json::{Value, json};

use super::lines::{unwrap_shell, usage_of};
use crate::adapter::SessionSummary;
use crate::claude::usage_beyond;
use crate::failure::{Failure, classify};
use crate::json::{self, Object};
use crate::sessions;
use crate::stream::{Dialect, Ending, MAX_OPEN_CALLS, Sink};
use crate::tools;

/// How texts begin that the program puts in by itself under the name of its user.
const PUT_IN: &[&str] = &[
    "<environment_context",
    "<user_instructions",
    "<permissions",
    "<skill",
    "<turn_aborted",
    "<user_shell_command",
    "<subagent_notification",
    "# AGENTS.md instructions",
];

/// Types of lines without an envelope.
const BARE: &[&str] = &[
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "custom_tool_call",
    "custom_tool_call_output",
    "web_search_call",
];

/// Whether a line can only be of a rollout.
pub(crate) fn is_rollout(line: &Object) -> bool {
    let kind = json::text(line, "type").unwrap_or_default();
    let has_payload = line.get("payload").is_some_and(Value::is_object);
    match kind {
        "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" => {
            has_payload
        }
        _ => line.contains_key("record_type"),
    }
}

/// What earlier lines have said.
#[derive(Default)]
pub(super) struct Rollout {
    session_id: Option<String>,
    version: Option<String>,
    model: Option<String>,
    /// The figures of the whole session as they were told last.
    told: Usage,
    usage: Option<Usage>,
    turns: u64,
    last_message: Option<String>,
    stated: Option<Outcome>,
    /// Calls without a result, and whether they are patches.
    open: BTreeMap<String, bool>,
}

impl Dialect for Rollout {
    fn line(&mut self, mut line: Object, sink: &mut Sink<'_>) {
        let kind = json::owned(&line, "type").unwrap_or_default();
        if let Some(Value::Object(payload)) = line.remove("payload") {
            return match kind.as_str() {
                "session_meta" => self.session(&payload, sink),
                "turn_context" => self.context(&payload, sink),
                "response_item" => self.item(payload, sink),
                "event_msg" => self.event(&payload, sink),
                "compacted" => sink.lifecycle("compacted"),
                _ => sink.unknown(kind),
            };
        }
        if BARE.contains(&kind.as_str()) {
            self.item(line, sink);
        } else if kind.is_empty() && line.contains_key("id") && line.contains_key("timestamp") {
            self.session(&line, sink);
        } else if line.contains_key("record_type") {
            sink.lifecycle("record");
        } else {
            sink.unknown(kind);
        }
    }

    fn finish(self, ending: &Ending<'_>) -> SessionSummary {
        sessions::summary(self.stated, self.usage, self.turns, self.last_message, ending)
    }
}

impl Rollout {
    fn session(&mut self, meta: &Object, sink: &mut Sink<'_>) {
        self.session_id = json::owned(meta, "id");
        self.version = json::owned(meta, "cli_version");
        self.announce(sink);
    }

    fn context(&mut self, context: &Object, sink: &mut Sink<'_>) {
        self.turns += 1;
        let model = json::owned(context, "model");
        if model.is_some() && model != self.model {
            self.model = model;
            self.announce(sink);
        } else {
            sink.lifecycle("turn_context");
        }
    }

    fn announce(&self, sink: &mut Sink<'_>) {
        sink.event(EventKind::Session {
            session_id: self.session_id.clone(),
            model: self.model.clone(),
            version: self.version.clone(),
            tools: Vec::new(),
            skills: Vec::new(),
        });
    }

    /// What the model sees.
    fn item(&mut self, mut item: Object, sink: &mut Sink<'_>) {
        let kind = json::owned(&item, "type").unwrap_or_default();
        match kind.as_str() {
            "message" => self.message(&item, sink),
            "reasoning" => {
                let text = parts(&item, "summary");
                let text = if text.is_empty() { parts(&item, "content") } else { text };
                // Most of it is encrypted.
                if text.is_empty() {
                    sink.lifecycle(&kind);
                } else {
                    sink.event(EventKind::Reasoning { text });
                }
            }
            "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call" => {
                self.call(&kind, &mut item, sink);
            }
            "function_call_output" | "custom_tool_call_output" => self.output(&item, sink),
            "" => sink.unknown("response_item"),
            _ => sink.lifecycle(&kind),
        }
    }

    fn message(&mut self, item: &Object, sink: &mut Sink<'_>) {
        let text = parts(item, "content");
        match json::text(item, "role").unwrap_or_default() {
            "assistant" => {
                sink.message(Role::Assistant, &text);
                self.last_message = Some(text);
                // Older versions have no line that ends a turn.
                self.stated = Some(Outcome::new(OutcomeClass::Completed, ""));
            }
            "user" if PUT_IN.iter().any(|start| text.trim_start().starts_with(start)) => {
                sink.message(Role::Harness, &text);
            }
            "user" => {
                self.stated = None;
                sink.message(Role::User, &text);
            }
            _ => sink.message(Role::Harness, &text),
        }
    }

    fn call(&mut self, kind: &str, item: &mut Object, sink: &mut Sink<'_>) {
        let id = json::owned(item, "call_id").or_else(|| json::owned(item, "id"));
        let id = id.unwrap_or_default();
        let name = json::owned(item, "name").unwrap_or_else(|| kind.to_owned());
        let name = match json::text(item, "namespace").map(|space| space.trim_matches('_')) {
            Some(space) if !space.is_empty() => format!("{space}__{name}"),
            _ => name,
        };
        let input = match kind {
            "custom_tool_call" => {
                item.remove("input").or_else(|| item.remove("arguments")).unwrap_or_default()
            }
            "function_call" => arguments(item.remove("arguments").unwrap_or_default()),
            _ => item.remove("action").unwrap_or_default(),
        };
        let action = action(kind, &name, &input);
        let is_patch = matches!(action, Action::Edit { .. });
        self.stated = None;
        sink.event(EventKind::ToolCall { id: id.clone(), name, action, input });
        // The program that looks at the web tells no result.
        if kind != "web_search_call" && self.open.len() < MAX_OPEN_CALLS {
            self.open.insert(id, is_patch);
        }
    }

    fn output(&mut self, item: &Object, sink: &mut Sink<'_>) {
        let id = json::owned(item, "call_id").unwrap_or_default();
        self.open.remove(&id);
        let (text, failed) = result(item.get("output"));
        let refused =
            failed && (text.contains("rejected by user") || text.contains("requires approval"));
        let status = match (refused, failed) {
            (true, _) => ToolStatus::Denied,
            (false, true) => ToolStatus::Error,
            (false, false) => ToolStatus::Ok,
        };
        sink.event(EventKind::ToolResult { id, status, text });
    }

    /// What people see: only what no item tells.
    fn event(&mut self, event: &Object, sink: &mut Sink<'_>) {
        let kind = json::text(event, "type").unwrap_or_default();
        match kind {
            "token_count" => self.count(event, sink),
            "patch_apply_end" if event.get("success").and_then(Value::as_bool) == Some(true) => {
                changes(event, sink);
            }
            "task_started" => {
                self.stated = None;
                sink.lifecycle(kind);
            }
            "task_complete" => {
                let text = json::owned(event, "last_agent_message");
                self.last_message = text.clone().or_else(|| self.last_message.take());
                self.stated = Some(Outcome::new(OutcomeClass::Completed, ""));
                sink.event(EventKind::Result { text, is_error: false });
            }
            "turn_aborted" => {
                let why = json::text(event, "reason").unwrap_or(kind);
                self.stated = Some(Outcome::new(OutcomeClass::Interrupted, why));
                sink.lifecycle(kind);
            }
            "error" => {
                let text = json::text(event, "message").unwrap_or_default();
                let (class, status) = classify(Failure { text, ..Failure::default() });
                self.stated = Some(Outcome::new(class, text).with_status(status));
                sink.notice(text);
            }
            "stream_error" | "warning" => {
                sink.notice(json::text(event, "message").unwrap_or(kind));
            }
            "" => sink.unknown("event_msg"),
            _ => sink.lifecycle(kind),
        }
    }

    /// The figures are those of the whole session, told again and again.
    fn count(&mut self, event: &Object, sink: &mut Sink<'_>) {
        let info = json::object(event, "info");
        let total = info.and_then(|info| json::object(info, "total_token_usage"));
        let Some(total) = total.map(usage_of) else { return sink.lifecycle("token_count") };
        let more = usage_beyond(total, self.told);
        let is_nothing = [more.input_tokens, more.output_tokens, more.cache_read_tokens]
            .iter()
            .all(|count| count.unwrap_or(0) == 0);
        if is_nothing {
            return sink.lifecycle("token_count");
        }
        self.told = total;
        self.usage = Some(self.usage.unwrap_or_default().plus(more));
        sink.usage(more);
    }
}

/// The texts of a list of parts, each in a line of its own.
fn parts(item: &Object, key: &str) -> String {
    if let Some(text) = json::text(item, key) {
        return text.to_owned();
    }
    let texts = json::array(item, key).iter().map(|part| match part.get("text") {
        Some(Value::String(text)) => text.clone(),
        _ => format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("unknown")),
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Arguments are JSON in a text.
fn arguments(arguments: Value) -> Value {
    match &arguments {
        Value::String(text) => serde_json::from_str(text).unwrap_or(arguments),
        _ => arguments,
    }
}

fn action(kind: &str, name: &str, input: &Value) -> Action {
    let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_owned);
    match (kind, name) {
        ("web_search_call", _) => {
            Action::Web { target: text("query").or_else(|| text("url")).unwrap_or_default() }
        }
        ("local_shell_call", _)
        | (_, "shell" | "shell_command" | "exec_command" | "container.exec") => {
            let words = input.get("command").and_then(Value::as_array);
            let words = words.map(|words| words.iter().filter_map(Value::as_str));
            let joined = words.and_then(|words| shlex::try_join(words).ok());
            let line = joined.or_else(|| text("command")).or_else(|| text("cmd"));
            Action::Shell { command: line.map(|line| unwrap_shell(&line)).unwrap_or_default() }
        }
        (_, "apply_patch") => Action::Edit { path: patched(input) },
        (_, "read_file" | "view_image") => text("file_path")
            .or_else(|| text("path"))
            .map_or(Action::Other, |path| Action::Read { path }),
        (_, "grep_files") => {
            text("pattern").map_or(Action::Other, |pattern| Action::Search { pattern })
        }
        (_, "spawn_agent") => Action::Agent { name: text("agent_type").unwrap_or_default() },
        _ => tools::action(name, input),
    }
}

/// The file that a patch is about; empty when it is about several.
fn patched(input: &Value) -> String {
    const MARKS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let patch = input.as_str().or_else(|| input.get("input")?.as_str()).unwrap_or_default();
    let named =
        |line: &'_ str| MARKS.iter().find_map(|mark| line.strip_prefix(mark).map(str::to_owned));
    let mut files = patch.lines().filter_map(named);
    match (files.next(), files.next()) {
        (Some(file), None) => file.trim().to_owned(),
        _ => String::new(),
    }
}

/// The text of an output, and whether the call failed.
fn result(output: Option<&Value>) -> (String, bool) {
    match output {
        Some(Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(object)) if object.contains_key("output") => {
                let code = object.get("metadata").and_then(|data| data.get("exit_code")?.as_i64());
                let text = json::owned(&object, "output").unwrap_or_default();
                (text, code.is_some_and(|code| code != 0))
            }
            _ => (text.clone(), says_failure(text)),
        },
        Some(Value::Object(object)) => {
            let failed = object.get("success").and_then(Value::as_bool) == Some(false);
            (parts(object, "content"), failed)
        }
        Some(Value::Array(_)) => {
            let whole = json!({ "parts": output });
            let text = whole.as_object().map(|whole| parts(whole, "parts")).unwrap_or_default();
            let failed = says_failure(&text);
            (text, failed)
        }
        _ => (String::new(), false),
    }
}

/// Commands tell their exit code in the first lines.
fn says_failure(text: &str) -> bool {
    let code = text.lines().take(6).find_map(|line| {
        let code = line
            .strip_prefix("Exit code: ")
            .or_else(|| line.strip_prefix("Process exited with code "))?;
        code.trim().parse::<i64>().ok()
    });
    match code {
        Some(code) => code != 0,
        None => {
            ["execution error", "failed to ", "apply_patch verification failed", "unsupported call"]
                .iter()
                .any(|start| text.starts_with(start))
        }
    }
}

fn changes(event: &Object, sink: &mut Sink<'_>) {
    for (path, change) in json::object(event, "changes").into_iter().flatten() {
        let kind = change.get("type").and_then(Value::as_str);
        let kind = kind.or_else(|| change.as_object()?.keys().next().map(String::as_str));
        let change = match kind {
            Some("add") => FileChange::Added,
            Some("delete") => FileChange::Deleted,
            _ => FileChange::Updated,
        };
        sink.event(EventKind::FileChange { path: path.clone(), change });
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::Event;

    use super::*;
    use crate::adapter::SessionEnd;

    fn read(lines: &[Value]) -> (Vec<Event>, SessionSummary) {
        let mut parser = super::super::rollout();
        let mut events = Vec::new();
        for line in lines {
            parser.push(format!("{line}\n").as_bytes(), &mut |event| events.push(event));
        }
        let summary = parser.finish(&SessionEnd::default(), &mut |_| {});
        (events, summary)
    }

    #[expect(clippy::needless_pass_by_value, reason = "lines are written where they are used")]
    fn line(kind: &str, payload: Value) -> Value {
        json!({"timestamp": "2026-03-01T22:38:47.557Z", "type": kind, "payload": payload})
    }

    fn item(payload: Value) -> Value {
        line("response_item", payload)
    }

    fn said(role: &str, text: &str) -> Value {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        item(json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    }

    fn session() -> Vec<Value> {
        let total = |input: u64, output: u64| {
            let total = json!({"input_tokens": input, "cached_input_tokens": 10,
                "output_tokens": output});
            line("event_msg", json!({"type": "token_count", "info": {"total_token_usage": total}}))
        };
        vec![
            line("session_meta", json!({"id": "s-1", "cli_version": "0.171.0", "cwd": "/w"})),
            line("turn_context", json!({"model": "gpt-x", "cwd": "/w"})),
            said("user", "<environment_context>x</environment_context>"),
            said("user", "List the files."),
            line("event_msg", json!({"type": "user_message", "message": "List the files."})),
            item(json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]})),
            item(json!({"type": "function_call", "name": "exec_command", "call_id": "c1",
                "arguments": "{\"cmd\":\"ls\"}"})),
            item(json!({"type": "function_call_output", "call_id": "c1",
                "output": "Chunk ID: 1\nProcess exited with code 2\nOutput:\nno"})),
            total(30, 5),
            total(30, 5),
            item(json!({"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2",
                "input": "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch"})),
            item(json!({"type": "custom_tool_call_output", "call_id": "c2",
                "output": "{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"})),
            line(
                "event_msg",
                json!({"type": "patch_apply_end", "call_id": "c2", "success": true,
                "changes": {"a.txt": {"type": "add", "content": "x"}}}),
            ),
            said("assistant", "Done."),
            total(50, 9),
            line("event_msg", json!({"type": "task_complete", "last_agent_message": "Done."})),
        ]
    }

    #[test]
    fn a_session_is_read_from_its_rollout() {
        let (events, summary) = read(&session());
        assert_eq!(summary.outcome, Outcome::new(OutcomeClass::Completed, ""));
        assert_eq!(summary.final_text.as_deref(), Some("Done."));
        let usage = summary.usage.unwrap();
        assert_eq!(
            (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens, usage.turns),
            (Some(40), Some(10), Some(9), Some(1))
        );
        let calls: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ToolCall { action, .. } => Some(action.clone()),
                _ => None,
            })
            .collect();
        let shell = Action::Shell { command: "ls".into() };
        assert_eq!(calls, [shell, Action::Edit { path: "a.txt".into() }]);
        let results: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ToolResult { status, text, .. } => Some((*status, text.as_str())),
                _ => None,
            })
            .collect();
        assert_eq!(results[0].0, ToolStatus::Error);
        assert_eq!(results[1], (ToolStatus::Ok, "ok"));
        let roles: Vec<_> = events
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::Message { role, .. } => Some(role),
                _ => None,
            })
            .collect();
        assert_eq!(roles, [Role::Harness, Role::User, Role::Assistant]);
        assert!(events.iter().all(|event| event.ts_ms == Some(1_772_404_727_557)));
    }

    #[test]
    fn an_aborted_turn_and_a_cut_file_are_no_completion() {
        let abort = line("event_msg", json!({"type": "turn_aborted", "reason": "interrupted"}));
        let (_, summary) = read(&[said("user", "x"), abort]);
        assert_eq!(summary.outcome.class, OutcomeClass::Interrupted);
        let (_, summary) = read(&session()[..7]);
        assert_eq!(summary.outcome.class, OutcomeClass::CutShort);
        let error = json!({"type": "error", "message": "You've hit your usage limit."});
        let (_, summary) = read(&[line("event_msg", error)]);
        assert!(summary.outcome.class != OutcomeClass::Completed);
    }

    #[test]
    fn lines_of_old_versions_have_no_envelope() {
        let (events, summary) = read(&[
            json!({"id": "s-0", "timestamp": "2025-05-01T00:00:00Z", "instructions": null}),
            json!({"record_type": "state"}),
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}),
            json!({"type": "local_shell_call", "call_id": "c", "status": "completed",
                "action": {"type": "exec", "command": ["bash", "-lc", "ls -l"]}}),
            json!({"type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": "yes"}]}),
        ]);
        assert_eq!(summary.final_text.as_deref(), Some("yes"));
        let shell = Action::Shell { command: "ls -l".into() };
        assert!(events.iter().any(
            |event| matches!(&event.kind, EventKind::ToolCall { action, .. } if *action == shell)
        ));
    }
}
