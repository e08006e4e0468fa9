//! Lines of Codex's stream, one after the other, to events and an outcome.

use std::collections::BTreeSet;

use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{Action, EventKind, Outcome, OutcomeClass, Usage};
use serde_json::{Value, json};

use crate::adapter::SessionSummary;
use crate::conclude::conclude;
use crate::failure::{Failure, classify};
use crate::json::{self, Object};
use crate::stream::{Dialect, Ending, MAX_OPEN_CALLS, Sink};

/// What standard error says when the sandbox's helpers could not be set up. Every command then
/// dies at once, mostly without an event, and the turn still completes with exit code 0.
const BROKEN_SANDBOX: &str = "could not create PATH aliases";

/// What earlier lines have said.
#[derive(Default)]
pub(super) struct Lines {
    /// Items whose call has been emitted and whose result has not come.
    begun: BTreeSet<String>,
    /// Whether a turn began after the newest end of one.
    open: bool,
    stated: Option<Outcome>,
    last_message: Option<String>,
    usage: Option<Usage>,
}

impl Dialect for Lines {
    fn line(&mut self, mut line: Object, sink: &mut Sink<'_>) {
        let kind = json::owned(&line, "type").unwrap_or_default();
        match kind.as_str() {
            "thread.started" => sink.event(EventKind::Session {
                session_id: json::owned(&line, "thread_id"),
                model: None,
                version: None,
                tools: Vec::new(),
                skills: Vec::new(),
            }),
            "turn.started" => {
                self.open = true;
                self.last_message = None;
                sink.lifecycle(&kind);
            }
            "turn.completed" => self.turn_completed(&line, sink),
            "turn.failed" => self.turn_failed(&line, sink),
            "error" => error(json::text(&line, "message").unwrap_or_default(), sink),
            "item.started" | "item.updated" | "item.completed" => match line.remove("item") {
                Some(Value::Object(item)) => self.item(&kind, item, sink),
                _ => sink.unknown(kind),
            },
            _ => sink.unknown(kind),
        }
    }

    fn finish(self, ending: &Ending<'_>) -> SessionSummary {
        let mut warnings = Vec::new();
        let stated = self.stated.filter(|_| !self.open);
        let mut outcome = conclude(stated, ending, &mut warnings);
        if ending.end.stderr.contains(BROKEN_SANDBOX) {
            let what = "the sandbox of codex did not work, so its commands died at once: \
                        CODEX_HOME must exist and must not lie under the temporary directory";
            warnings.push(what.to_owned());
            if outcome.class == OutcomeClass::Completed {
                outcome = Outcome::new(OutcomeClass::UsageError, what);
            }
        }
        let completed = outcome.class == OutcomeClass::Completed;
        let final_text = self.last_message.filter(|_| completed);
        SessionSummary { outcome, usage: self.usage, final_text, warnings }
    }
}

impl Lines {
    fn turn_completed(&mut self, line: &Object, sink: &mut Sink<'_>) {
        if let Some(usage) = json::object(line, "usage").map(usage_of) {
            sink.usage(usage);
            self.usage = Some(self.usage.unwrap_or_default().plus(usage));
        }
        let text = self.last_message.clone();
        sink.event(EventKind::Result { text, is_error: false });
        self.end_turn(Outcome::new(OutcomeClass::Completed, ""));
    }

    fn turn_failed(&mut self, line: &Object, sink: &mut Sink<'_>) {
        let error = json::object(line, "error");
        let text = error.and_then(|error| json::text(error, "message")).unwrap_or_default();
        sink.event(EventKind::Result { text: None, is_error: true });
        let (class, status) = classify(Failure { text, ..Failure::default() });
        self.end_turn(Outcome::new(class, text).with_status(status));
    }

    fn end_turn(&mut self, outcome: Outcome) {
        self.open = false;
        self.stated = Some(outcome);
    }

    fn item(&mut self, line_kind: &str, mut item: Object, sink: &mut Sink<'_>) {
        let kind = json::owned(&item, "type").unwrap_or_default();
        let text = |key: &str| json::text(&item, key).unwrap_or_default();
        let completed = line_kind == "item.completed";
        match kind.as_str() {
            "agent_message" if completed => {
                sink.message(Role::Assistant, text("text"));
                self.last_message = Some(text("text").to_owned());
            }
            "reasoning" if completed => {
                sink.event(EventKind::Reasoning { text: text("text").to_owned() });
            }
            "error" => sink.notice(text("message")),
            "todo_list" => sink.lifecycle(&kind),
            "agent_message" | "reasoning" => sink.lifecycle(line_kind),
            _ => {
                let id = text("id").to_owned();
                let Some(call) = call(&kind, &mut item) else {
                    return sink.unknown(format!("{line_kind}/{kind}"));
                };
                self.call(id, kind, call, completed, &item, sink);
            }
        }
    }

    /// A call is emitted once, at the first line that names it, and its result at the last.
    fn call(
        &mut self,
        id: String,
        name: String,
        (action, input): (Action, Value),
        completed: bool,
        item: &Object,
        sink: &mut Sink<'_>,
    ) {
        let begun = self.begun.contains(&id);
        if !begun {
            sink.event(EventKind::ToolCall { id: id.clone(), name, action, input });
        }
        if !completed {
            if self.begun.len() < MAX_OPEN_CALLS {
                self.begun.insert(id);
            }
            return;
        }
        self.begun.remove(&id);
        let status = status_of(item);
        if status == ToolStatus::Ok {
            file_changes(item, sink);
        }
        sink.event(EventKind::ToolResult { id, status, text: result_text(item) });
    }
}

/// An `error` line is not the end: the program mostly tries again.
fn error(message: &str, sink: &mut Sink<'_>) {
    let Some(rest) = message.strip_prefix("Reconnecting...") else {
        return sink.notice(message);
    };
    let attempt = rest.trim_start().split_once('/').and_then(|(number, _)| number.parse().ok());
    let (_, status) = classify(Failure { text: message, ..Failure::default() });
    sink.event(EventKind::Retry { attempt, status, message: message.to_owned() });
}

/// What a tool item means, and its arguments. `None` for types that are not known as tools.
fn call(kind: &str, item: &mut Object) -> Option<(Action, Value)> {
    let text = |item: &Object, key: &str| json::owned(item, key).unwrap_or_default();
    Some(match kind {
        "command_execution" => {
            let command = text(item, "command");
            let action = Action::Shell { command: unwrap_shell(&command) };
            (action, json!({ "command": command }))
        }
        "file_change" => {
            let path = match json::array(item, "changes") {
                [Value::Object(change)] => text(change, "path"),
                _ => String::new(),
            };
            let changes = item.get("changes").cloned().unwrap_or_default();
            (Action::Edit { path }, json!({ "changes": changes }))
        }
        "mcp_tool_call" => {
            let action = Action::Mcp { server: text(item, "server"), tool: text(item, "tool") };
            (action, item.remove("arguments").unwrap_or_default())
        }
        "web_search" => {
            let query = text(item, "query");
            (Action::Web { target: query.clone() }, json!({ "query": query }))
        }
        "collab_tool_call" => {
            let tool = text(item, "tool");
            let input = json!({ "tool": tool, "prompt": item.remove("prompt") });
            let starts = tool == "spawn_agent";
            (if starts { Action::Agent { name: String::new() } } else { Action::Other }, input)
        }
        _ => return None,
    })
}

fn status_of(item: &Object) -> ToolStatus {
    let refused = error_message(item).is_some_and(|message| message.contains("requires approval"));
    match json::text(item, "status") {
        Some("declined") => ToolStatus::Denied,
        Some("failed") if refused => ToolStatus::Denied,
        Some("failed") => ToolStatus::Error,
        _ => ToolStatus::Ok,
    }
}

fn error_message(item: &Object) -> Option<&str> {
    json::text(json::object(item, "error")?, "message")
}

/// What a tool gave back: a command's output, or the text of an MCP result or error.
fn result_text(item: &Object) -> String {
    if let Some(output) = json::text(item, "aggregated_output").or_else(|| error_message(item)) {
        return output.to_owned();
    }
    let result = json::object(item, "result");
    let blocks = result.map_or(&[][..], |result| json::array(result, "content"));
    let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn file_changes(item: &Object, sink: &mut Sink<'_>) {
    for change in json::array(item, "changes").iter().filter_map(Value::as_object) {
        let Some(path) = json::owned(change, "path") else { continue };
        let change = match json::text(change, "kind") {
            Some("add") => FileChange::Added,
            Some("delete") => FileChange::Deleted,
            _ => FileChange::Updated,
        };
        sink.event(EventKind::FileChange { path, change });
    }
}

/// The command inside `/bin/bash -lc '...'`, which is how the program starts every command.
pub(super) fn unwrap_shell(command: &str) -> String {
    let words = shlex::split(command).unwrap_or_default();
    if let [shell, flag, script] = words.as_slice() {
        let name = shell.rsplit('/').next().unwrap_or_default();
        if matches!(name, "bash" | "sh" | "zsh") && matches!(flag.as_str(), "-lc" | "-c") {
            return script.clone();
        }
    }
    command.to_owned()
}

/// The program counts cached input within the input.
pub(super) fn usage_of(usage: &Object) -> Usage {
    let cached: Option<u64> = json::number(usage, "cached_input_tokens");
    let input: Option<u64> = json::number(usage, "input_tokens");
    Usage {
        input_tokens: input.map(|input| input.saturating_sub(cached.unwrap_or(0))),
        output_tokens: json::number(usage, "output_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: json::number(usage, "cache_write_input_tokens"),
        reasoning_tokens: json::number(usage, "reasoning_output_tokens"),
        ..Usage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shell_around_a_command_is_taken_off() {
        assert_eq!(unwrap_shell("/bin/bash -lc 'echo a; echo b'"), "echo a; echo b");
        assert_eq!(unwrap_shell("/bin/bash -lc \"it's\""), "it's");
        assert_eq!(unwrap_shell("/usr/bin/zsh -lc true"), "true");
        assert_eq!(unwrap_shell("sh -c 'x y'"), "x y");
        for other in ["bash -lc", "python3 -c 'x'", "bash -lc a b", "bash -lc 'open", ""] {
            assert_eq!(unwrap_shell(other), other);
        }
    }
}
