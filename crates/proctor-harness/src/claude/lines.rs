//! Lines of Claude Code's stream, one after the other, to events.

use std::collections::BTreeSet;

use proctor_model::EventKind;
use proctor_model::event::{Role, ToolStatus};
use serde_json::Value;

use super::ending::{self, Account};
use crate::adapter::SessionSummary;
use crate::json::{self, Object};
use crate::stream::{Dialect, Ending, MAX_OPEN_CALLS, Sink};
use crate::tools;

/// `model` of the messages that the program writes itself in place of an answer.
pub(super) const SYNTHETIC: &str = "<synthetic>";

/// The text that an interrupt leaves in the place of a person's.
pub(super) const INTERRUPT: &str = "[Request interrupted";

/// Most warnings that lines may give.
const MAX_WARNINGS: usize = 50;

/// What earlier lines have said.
#[derive(Default)]
pub(super) struct Lines {
    /// Calls that a permission rule refused, until their result comes.
    denied: BTreeSet<String>,
    account: Account,
    warnings: Vec<String>,
}

impl Dialect for Lines {
    fn line(&mut self, mut object: Object, sink: &mut Sink<'_>) {
        sink.under(json::owned(&object, "parent_tool_use_id"));
        let kind = json::owned(&object, "type").unwrap_or_default();
        match kind.as_str() {
            "system" => self.system(&object, sink),
            "assistant" => self.assistant(&mut object, sink),
            "user" => self.user(&object, sink),
            "result" => self.account.result(&object, sink),
            "stream_event" | "control_response" | "keep_alive" | "tool_progress"
            | "tool_use_summary" | "rate_limit_event" | "auth_status" => sink.lifecycle(&kind),
            _ => sink.unknown(kind),
        }
    }

    fn finish(self, ending: &Ending<'_>) -> SessionSummary {
        ending::finish(self.account, self.warnings, ending)
    }
}

impl Lines {
    fn system(&mut self, line: &Object, sink: &mut Sink<'_>) {
        let subtype = json::text(line, "subtype").unwrap_or_default();
        match subtype {
            "init" => self.init(line, sink),
            "api_retry" => sink.event(EventKind::Retry {
                attempt: json::number(line, "attempt"),
                status: json::number(line, "error_status"),
                message: json::owned(line, "error").unwrap_or_default(),
            }),
            "permission_denied" => {
                if let Some(id) = json::owned(line, "tool_use_id")
                    && self.denied.len() < MAX_OPEN_CALLS
                {
                    self.denied.insert(id);
                }
                let tool = json::text(line, "tool_name").unwrap_or("a tool");
                let why = json::text(line, "message").unwrap_or_default();
                sink.notice(format!("permission denied for {tool}: {why}"));
            }
            "informational"
            | "model_fallback"
            | "model_consent_fallback"
            | "model_refusal_fallback"
            | "model_refusal_no_fallback" => {
                sink.notice(json::text(line, "content").unwrap_or(subtype));
            }
            "hook_started"
            | "hook_progress"
            | "hook_response"
            | "background_tasks_changed"
            | "task_started"
            | "task_progress"
            | "task_updated"
            | "task_notification"
            | "status"
            | "thinking_tokens"
            | "compact_boundary"
            | "ui_invalidate" => sink.lifecycle(subtype),
            _ => sink.unknown(format!("system/{subtype}")),
        }
    }

    fn init(&mut self, line: &Object, sink: &mut Sink<'_>) {
        self.account.begin();
        sink.event(EventKind::Session {
            session_id: json::owned(line, "session_id"),
            model: json::owned(line, "model"),
            version: json::owned(line, "claude_code_version"),
            tools: json::strings(line, "tools"),
            skills: json::strings(line, "skills"),
        });
        // Neither a broken plugin nor a dead server fails the run.
        for error in json::array(line, "plugin_errors") {
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no message");
            self.warn(format!("a plugin was not loaded: {message}"));
        }
        for server in json::array(line, "mcp_servers").iter().filter_map(Value::as_object) {
            let status = json::text(server, "status").unwrap_or_default();
            if matches!(status, "failed" | "needs-auth") {
                let name = json::text(server, "name").unwrap_or_default();
                self.warn(format!("MCP server `{name}` is not connected: {status}"));
            }
        }
    }

    /// Every session of a stream repeats what is wrong: say it once.
    fn warn(&mut self, message: String) {
        if self.warnings.len() < MAX_WARNINGS && !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    fn assistant(&mut self, line: &mut Object, sink: &mut Sink<'_>) {
        let code = json::owned(line, "error");
        let Some(Value::Object(message)) = line.get_mut("message") else {
            return sink.unknown("assistant");
        };
        let synthetic = json::text(message, "model") == Some(SYNTHETIC);
        if synthetic {
            self.account.failure_code = code;
        }
        match message.remove("content") {
            Some(Value::String(text)) if synthetic => sink.notice(text),
            Some(Value::String(text)) => sink.message(Role::Assistant, &text),
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    assistant_block(block, synthetic, sink);
                }
            }
            _ => sink.unknown("assistant"),
        }
    }

    fn user(&mut self, line: &Object, sink: &mut Sink<'_>) {
        let synthetic = line.get("isSynthetic").and_then(Value::as_bool).unwrap_or(false);
        let role = |text: &str| {
            if synthetic || text.starts_with(INTERRUPT) { Role::Harness } else { Role::User }
        };
        match json::object(line, "message").and_then(|message| message.get("content")) {
            Some(Value::String(text)) => sink.message(role(text), text),
            Some(Value::Array(blocks)) => {
                for block in blocks.iter().filter_map(Value::as_object) {
                    match json::text(block, "type").unwrap_or_default() {
                        "text" => {
                            let text = json::text(block, "text").unwrap_or_default();
                            sink.message(role(text), text);
                        }
                        "tool_result" => self.tool_result(line, block, sink),
                        other => sink.unknown(format!("user/{other}")),
                    }
                }
            }
            _ => sink.unknown("user"),
        }
    }

    fn tool_result(&mut self, line: &Object, block: &Object, sink: &mut Sink<'_>) {
        let id = json::owned(block, "tool_use_id").unwrap_or_default();
        let announced = self.denied.remove(&id);
        let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
        let status = if announced || refused(line, &id) {
            ToolStatus::Denied
        } else if failed {
            ToolStatus::Error
        } else {
            ToolStatus::Ok
        };
        let text = block.get("content").map(content_text).unwrap_or_default();
        sink.event(EventKind::ToolResult { id, status, text });
    }
}

pub(super) fn assistant_block(block: Value, synthetic: bool, sink: &mut Sink<'_>) {
    let Value::Object(mut block) = block else { return sink.unknown("assistant") };
    let kind = json::owned(&block, "type").unwrap_or_default();
    let text = |key: &str| json::text(&block, key).unwrap_or_default();
    match kind.as_str() {
        "text" if synthetic => sink.notice(text("text")),
        "text" => sink.message(Role::Assistant, text("text")),
        "redacted_thinking" => sink.lifecycle(&kind),
        "thinking" => sink.event(EventKind::Reasoning { text: text("thinking").to_owned() }),
        "tool_use" | "server_tool_use" => {
            let id = text("id").to_owned();
            let name = text("name").to_owned();
            let input = block.remove("input").unwrap_or_default();
            let action = tools::action(&name, &input);
            sink.event(EventKind::ToolCall { id, name, action, input });
        }
        _ => sink.unknown(format!("assistant/{kind}")),
    }
}

/// Whether the line's own notes say that a rule refused the call. A call that an interrupt kept
/// from running is `user-rejected` like one that nobody was there to allow, but has no decision.
fn refused(line: &Object, id: &str) -> bool {
    json::array(line, "tool_result_meta")
        .iter()
        .filter_map(Value::as_object)
        .filter(|meta| json::text(meta, "id") == Some(id))
        .any(|meta| {
            let decision = json::object(meta, "permission_decision");
            decision.and_then(|decision| json::text(decision, "decision")) == Some("reject")
                || matches!(
                    json::text(meta, "non_execution_kind"),
                    Some("permission-rule" | "automode-blocked")
                )
        })
}

/// The text of a tool's result: a string, or blocks of which only some are text.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let parts: Vec<_> = blocks
                .iter()
                .filter_map(Value::as_object)
                .map(|block| match json::text(block, "text") {
                    Some(text) => text.to_owned(),
                    None => format!("[{}]", json::text(block, "type").unwrap_or("unknown")),
                })
                .collect();
            parts.join("\n")
        }
        _ => String::new(),
    }
}
