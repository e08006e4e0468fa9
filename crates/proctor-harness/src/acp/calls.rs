//! Tool calls, put together from the updates about them.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::EventKind;
use proctor_model::event::{FileChange, ToolStatus};
use serde_json::Value;

use super::action;
use crate::json::{self, Object};
use crate::stream::Sink;

/// The most bytes of calls that are remembered. Calls beyond that are emitted as they are seen.
const MAX_BYTES: usize = 64 << 20;

/// What a call takes beside its texts.
const CALL_BYTES: usize = 256;

/// What is known of a call; of every part the newest that says anything.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) name: Option<String>,
    pub(super) title: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) input: Option<Value>,
    /// The first place that it says it works on.
    pub(super) path: Option<String>,
    /// What the tool gave back, as a person would be shown it.
    pub(super) content: Option<String>,
    /// The same as the tool itself has it.
    pub(super) output: Option<Value>,
    pub(super) changes: Vec<(String, FileChange)>,
    /// The call of the subagent that made it.
    pub(super) parent: Option<String>,
    /// Its place among all calls.
    pub(super) number: u64,
    pub(super) is_emitted: bool,
}

/// All calls of a session.
#[derive(Default)]
pub(super) struct Calls {
    open: BTreeMap<String, Call>,
    /// Ended ones: agents may speak of them again.
    closed: BTreeSet<String>,
    begun: u64,
    bytes: usize,
}

impl Calls {
    /// Takes an update about a call, or a question about it.
    pub(super) fn update(&mut self, update: Object, sink: &mut Sink<'_>) {
        let id = json::owned(&update, "toolCallId").unwrap_or_default();
        if self.closed.contains(&id) {
            return;
        }
        let mut call = self.open.remove(&id).unwrap_or_else(|| {
            self.begun += 1;
            Call { number: self.begun, ..Call::default() }
        });
        self.bytes = self.bytes.saturating_sub(call.weight(&id));
        let status = json::owned(&update, "status");
        call.merge(update);
        if call.input.is_some() {
            call.emit(&id, sink);
        }
        let ended = match status.as_deref() {
            Some("completed") => Some(ToolStatus::Ok),
            Some("failed") => Some(ToolStatus::Error),
            _ => None,
        };
        if let Some(status) = ended {
            call.emit(&id, sink);
            let text = call.result();
            call.end(&id, status, text, sink);
            if self.bytes + id.len() + CALL_BYTES <= MAX_BYTES {
                self.bytes += id.len() + CALL_BYTES;
                self.closed.insert(id);
            }
            return;
        }
        let bytes = self.bytes + call.weight(&id);
        if bytes <= MAX_BYTES {
            self.bytes = bytes;
            self.open.insert(id, call);
        } else {
            call.emit(&id, sink);
        }
    }

    /// Emits the calls that wait for their arguments.
    pub(super) fn flush(&mut self, sink: &mut Sink<'_>) {
        let mut waiting: Vec<(&String, &mut Call)> = self.open.iter_mut().collect();
        waiting.sort_by_key(|(_, call)| call.number);
        for (id, call) in waiting {
            call.emit(id, sink);
        }
    }
}

impl Call {
    /// Whether all that it changed is files that were not there.
    pub(super) fn makes_file(&self) -> bool {
        !self.changes.is_empty() && self.changes.iter().all(|(_, how)| *how == FileChange::Added)
    }

    fn merge(&mut self, mut update: Object) {
        let name = json::owned(&update, "name").or_else(|| claude(&update, "toolName"));
        replace(&mut self.name, name);
        replace(&mut self.title, json::owned(&update, "title"));
        replace(&mut self.kind, json::owned(&update, "kind"));
        replace(&mut self.parent, claude(&update, "parentToolUseId"));
        let path = json::array(&update, "locations").first().and_then(Value::as_object);
        replace(&mut self.path, path.and_then(|place| json::owned(place, "path")));
        if let Some(input) = update.remove("rawInput").filter(says_anything) {
            self.input = Some(input);
        }
        if let Some(output) = update.remove("rawOutput").filter(says_anything) {
            self.output = Some(output);
        }
        let content = json::array(&update, "content");
        if !content.is_empty() {
            self.changes = content.iter().filter_map(change).collect();
            let texts: Vec<String> = content.iter().filter_map(shown).collect();
            self.content = (!texts.is_empty()).then(|| texts.join("\n"));
        }
    }

    /// What the harness calls the tool: its name, else its kind, which is the same for all calls of
    /// it, else its title.
    fn tool(&self) -> String {
        let kind = self.kind.clone().filter(|kind| kind != "other");
        let title = || self.title.clone();
        self.name.clone().or(kind).or_else(title).unwrap_or_default()
    }

    fn emit(&mut self, id: &str, sink: &mut Sink<'_>) {
        if self.is_emitted {
            return;
        }
        self.is_emitted = true;
        let action = action::of(self);
        let input = self.input.clone().unwrap_or_default();
        sink.under(self.parent.clone());
        sink.event(EventKind::ToolCall { id: id.to_owned(), name: self.tool(), action, input });
    }

    fn end(&mut self, id: &str, status: ToolStatus, text: String, sink: &mut Sink<'_>) {
        sink.under(self.parent.clone());
        if status == ToolStatus::Ok {
            for (path, change) in std::mem::take(&mut self.changes) {
                sink.event(EventKind::FileChange { path, change });
            }
        }
        sink.event(EventKind::ToolResult { id: id.to_owned(), status, text });
    }

    fn result(&mut self) -> String {
        // What is shown has fences and colours around it.
        match (self.output.take(), self.content.take()) {
            (Some(Value::String(text)), _) | (_, Some(text)) => text,
            (Some(other), None) => other.to_string(),
            (None, None) => String::new(),
        }
    }

    /// About how many bytes are held for it.
    fn weight(&self, id: &str) -> usize {
        let texts = [&self.name, &self.title, &self.kind, &self.path, &self.content, &self.parent];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let values: usize = [&self.input, &self.output].into_iter().flatten().map(weight).sum();
        let changes: usize = self.changes.iter().map(|(path, _)| path.len() + CALL_BYTES).sum();
        CALL_BYTES + id.len() + texts + values + changes
    }
}

fn replace(old: &mut Option<String>, new: Option<String>) {
    if let Some(new) = new.filter(|new| !new.is_empty()) {
        *old = Some(new);
    }
}

/// What Claude Code adds.
pub(super) fn claude(update: &Object, key: &str) -> Option<String> {
    json::owned(json::object(json::object(update, "_meta")?, "claudeCode")?, key)
}

/// Agents announce calls before their arguments have come.
fn says_anything(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

fn change(content: &Value) -> Option<(String, FileChange)> {
    let diff = content.as_object().filter(|diff| json::text(diff, "type") == Some("diff"))?;
    let is_new = diff.get("oldText").is_none_or(Value::is_null);
    let how = if is_new { FileChange::Added } else { FileChange::Updated };
    Some((json::owned(diff, "path")?, how))
}

fn shown(content: &Value) -> Option<String> {
    let content = content.as_object()?;
    match json::text(content, "type")? {
        "content" => Some(block(content.get("content")?)),
        "diff" => None,
        other => Some(format!("[{other}]")),
    }
}

/// The text of a block of content; of other blocks that they are there.
pub(super) fn block(content: &Value) -> String {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    match (text("type"), text("text")) {
        (Some("text"), Some(text)) => text.to_owned(),
        (kind, _) => format!("[{}]", kind.unwrap_or("unknown")),
    }
}

fn weight(value: &Value) -> usize {
    const VALUE_BYTES: usize = 32;
    VALUE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(weight).sum(),
            Value::Object(members) => {
                members.iter().map(|(key, value)| key.len() + VALUE_BYTES + weight(value)).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}
