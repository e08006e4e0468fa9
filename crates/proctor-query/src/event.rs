//! Events of a session as rows of the table `events`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use proctor_model::event::{Role, ToolStatus};
use proctor_model::run::{PhaseRecord, TrialRecord};
use proctor_model::{Action, Event, EventKind, Usage};
use serde_json::{Map, Value, json};

/// What all rows of one run have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dimensions {
    /// The composite id of the trial.
    pub run_id: String,
    /// The id of the run request that the trial belongs to.
    pub run_request_id: String,
    /// The agent.
    pub agent: String,
    /// The model; `None` when the variant names none.
    pub model: Option<String>,
    /// The prompt's id.
    pub prompt_id: String,
    /// The path of the extension.
    pub extension_id: Option<String>,
    /// Which repetition, from 0.
    pub repeat_idx: u32,
    /// What kind of run the trial belongs to: `experiment`, `conformance`, ...
    pub run_kind: String,
    /// The experiment, or what else is run.
    pub experiment_id: String,
    /// The variant.
    pub variant_id: String,
    /// The model's effort.
    pub effort: Option<String>,
    /// The environment, or the arm of a skill eval.
    pub environment: Option<String>,
    /// The product.
    pub product: Option<String>,
}

impl From<&TrialRecord> for Dimensions {
    fn from(record: &TrialRecord) -> Self {
        let of = record.coordinates.clone();
        Self {
            run_id: record.run_id.clone(),
            run_request_id: record.run_group_id.clone(),
            agent: of.agent,
            model: of.model,
            prompt_id: of.prompt_id,
            extension_id: of.extension_id,
            repeat_idx: record.repeat_idx,
            run_kind: "experiment".to_owned(),
            experiment_id: record.scenario_id.clone(),
            variant_id: record.variant_id.clone(),
            effort: of.effort,
            environment: of.environment,
            product: of.product,
        }
    }
}

/// The longest payload of a row; longer texts inside it are cut, and say so.
const MAX_TEXT_BYTES: usize = 1024 * 1024;

/// Conversation: what the agent said and did.
const TRANSCRIPT: &str = "transcript";
/// Everything else: what the agent was told, and the running of the session itself. Tests that look
/// at what the agent said leave these rows out by their source.
const PROTOCOL: &str = "acp";
/// The role of rows that can be asserted on.
const PRIMARY: &str = "primary";

/// One row of `events`, without its dimensions and its place.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Row<'a> {
    pub(crate) source: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) tool_call_id: Option<&'a str>,
    pub(crate) assertion_role: Option<&'static str>,
    pub(crate) payload: String,
    pub(crate) role: Option<&'static str>,
    pub(crate) tool_name: Option<&'a str>,
    pub(crate) status: Option<&'static str>,
    pub(crate) meaning: Meaning<'a>,
    pub(crate) parent: Option<&'a str>,
    pub(crate) ts_ms: Option<u64>,
}

/// What a call of a tool means, as columns.
#[derive(Debug, Default, PartialEq, Clone)]
pub(crate) struct Meaning<'a> {
    pub(crate) skill: Option<&'a str>,
    pub(crate) file_path: Option<&'a str>,
    pub(crate) mcp_server: Option<&'a str>,
    pub(crate) mcp_tool: Option<&'a str>,
    pub(crate) command: Option<&'a str>,
    pub(crate) action: Option<&'static str>,
    pub(crate) argument: Option<Cow<'a, str>>,
}

impl<'a> From<&'a Action> for Meaning<'a> {
    fn from(action: &'a Action) -> Self {
        let of = |action, argument: &'a str| Self {
            action: Some(action),
            argument: Some(argument.into()),
            ..Self::default()
        };
        match action {
            Action::Read { path } => Self { file_path: Some(path), ..of("read", path) },
            Action::Write { path } => Self { file_path: Some(path), ..of("write", path) },
            Action::Edit { path } => Self { file_path: Some(path), ..of("edit", path) },
            Action::Shell { command } => Self { command: Some(command), ..of("shell", command) },
            Action::Skill { name } => Self { skill: Some(name), ..of("skill", name) },
            Action::Mcp { server, tool } => Self {
                mcp_server: Some(server),
                mcp_tool: Some(tool),
                action: Some("mcp"),
                argument: Some(format!("{server}/{tool}").into()),
                ..Self::default()
            },
            Action::Search { pattern } => of("search", pattern),
            Action::Web { target } => of("web", target),
            Action::Agent { name } => of("agent", name),
            Action::Other => Self { action: Some("other"), ..Self::default() },
        }
    }
}

/// What the rows of one call of a tool come to: the last final status, the last input and output
/// that are not empty.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) action: Action,
    pub(crate) status: &'static str,
    /// The places of its first and its last row, and of those with its input and its output.
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) input: Option<i64>,
    pub(crate) output: Option<i64>,
    pub(crate) started_ms: Option<u64>,
    is_changed: bool,
}

/// Turns events into rows, and follows calls of tools, since results do not carry their names.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    last: i64,
    calls: BTreeMap<String, Call>,
}

impl Rows {
    /// The row of an event and its place, from 1; `None` for events that say nothing about the run.
    pub(crate) fn row<'a>(&'a mut self, event: &'a Event) -> Option<(i64, Row<'a>)> {
        let Self { last, calls } = self;
        let place = *last + 1;
        let row = match &event.kind {
            EventKind::ToolCall { id, name, action, input } => {
                let call = call(calls, id, place, event.ts_ms);
                if call.name.is_empty() {
                    call.name.clone_from(name);
                }
                call.action.clone_from(action);
                if !matches!(input, Value::Null) && input.as_str() != Some("") {
                    call.input = Some(place);
                }
                let input = bounded(input);
                let payload = format!(
                    r#"{{"tool_name":{},"status":"in_progress","input":{input}}}"#,
                    quoted(name)
                );
                tool(id, name, action, "in_progress", payload)
            }
            EventKind::ToolResult { id, status, text } => {
                let status = match status {
                    ToolStatus::Ok => "completed",
                    ToolStatus::Error => "failed",
                    ToolStatus::Denied => "denied",
                };
                let call = call(calls, id, place, event.ts_ms);
                call.status = status;
                if !text.is_empty() {
                    call.output = Some(place);
                }
                let payload = format!(
                    r#"{{"tool_name":{},"status":"{status}","output":{}}}"#,
                    quoted(&call.name),
                    quoted(&cut(text))
                );
                tool(id, &call.name, &call.action, status, payload)
            }
            other => plain(other)?,
        };
        *last = place;
        Some((place, Row { parent: event.parent.as_deref(), ts_ms: event.ts_ms, ..row }))
    }

    /// A place for a row that is of no event.
    pub(crate) fn place(&mut self) -> i64 {
        self.last += 1;
        self.last
    }

    /// The calls that have changed since this was asked last.
    pub(crate) fn changed(&mut self) -> impl Iterator<Item = (&str, &Call)> {
        self.calls.iter_mut().filter_map(|(id, call)| {
            let is_changed = std::mem::take(&mut call.is_changed);
            is_changed.then_some((id.as_str(), &*call))
        })
    }
}

/// The call with this id, which has a row at `place`.
fn call<'a>(
    calls: &'a mut BTreeMap<String, Call>,
    id: &str,
    place: i64,
    ts_ms: Option<u64>,
) -> &'a mut Call {
    let call = calls.entry(id.to_owned()).or_insert_with(|| Call {
        name: String::new(),
        action: Action::Other,
        status: "in_progress",
        first: place,
        last: place,
        input: None,
        output: None,
        started_ms: ts_ms,
        is_changed: true,
    });
    call.last = place;
    call.is_changed = true;
    call
}

fn plain(kind: &EventKind) -> Option<Row<'_>> {
    let row = match kind {
        EventKind::Message { role, text } => said("message", *role, text),
        EventKind::Reasoning { text } => said("reasoning", Role::Assistant, text),
        EventKind::FileChange { path, change } => Row {
            source: TRANSCRIPT,
            kind: "file_change",
            assertion_role: Some(PRIMARY),
            meaning: Meaning { file_path: Some(path), ..Meaning::default() },
            payload: payload([("path", path.as_str().into()), ("change", json!(change))]),
            ..Row::default()
        },
        EventKind::Usage { usage } => usage_row(usage),
        EventKind::Session { session_id, model, version, tools, skills } => lifecycle(
            "session",
            [
                ("session_id", json!(session_id)),
                ("model", json!(model)),
                ("version", json!(version)),
                ("tools", json!(tools)),
                ("skills", json!(skills)),
            ],
        ),
        EventKind::Retry { attempt, status, message } => lifecycle(
            "retry",
            [
                ("attempt", json!(attempt)),
                ("status", json!(status)),
                ("message", cut(message).into()),
            ],
        ),
        EventKind::Notice { message } => lifecycle("notice", [("message", cut(message).into())]),
        EventKind::Lifecycle { name } => lifecycle("lifecycle", [("name", cut(name).into())]),
        EventKind::Result { text, is_error } => lifecycle(
            "result",
            [("is_error", (*is_error).into()), ("text", json!(text.as_deref().map(cut)))],
        ),
        EventKind::FileManifest { added, changed, deleted, omitted } => Row {
            source: PROTOCOL,
            kind: "file_manifest",
            payload: payload([
                ("added", json!(added)),
                ("changed", json!(changed)),
                ("deleted", json!(deleted)),
                ("omitted", (*omitted).into()),
            ]),
            ..Row::default()
        },
        EventKind::ToolCall { .. }
        | EventKind::ToolResult { .. }
        | EventKind::Unknown { .. }
        | EventKind::Garbage { .. } => return None,
    };
    Some(row)
}

fn said(kind: &'static str, role: Role, text: &str) -> Row<'static> {
    let (source, role, assertion_role) = match role {
        Role::Assistant => (TRANSCRIPT, "assistant", PRIMARY),
        Role::User => (PROTOCOL, "user", "prompt"),
        Role::Harness => (PROTOCOL, "harness", "harness"),
    };
    let text = quoted(&cut(text));
    Row {
        source,
        kind,
        role: Some(role),
        assertion_role: Some(assertion_role),
        payload: format!(r#"{{"displayed_text":{text},"text":{text}}}"#),
        ..Row::default()
    }
}

fn tool<'a>(
    id: &'a str,
    name: &'a str,
    action: &'a Action,
    status: &'static str,
    payload: String,
) -> Row<'a> {
    Row {
        source: TRANSCRIPT,
        kind: "tool_call",
        tool_call_id: Some(id),
        assertion_role: Some(PRIMARY),
        tool_name: Some(name),
        status: Some(status),
        meaning: action.into(),
        payload,
        ..Row::default()
    }
}

fn usage_row(usage: &Usage) -> Row<'static> {
    let payload = serde_json::to_string(usage).unwrap_or_default();
    Row { source: PROTOCOL, kind: "usage", payload, ..Row::default() }
}

/// The row of a phase of a trial, which no agent tells.
pub(crate) fn span(phase: &PhaseRecord) -> Row<'static> {
    let members = [("name", json!(phase.phase)), ("duration_ms", phase.duration_ms.into())];
    Row { source: PROTOCOL, kind: "harness_span", payload: payload(members), ..Row::default() }
}

fn lifecycle<const N: usize>(name: &'static str, members: [(&str, Value); N]) -> Row<'static> {
    let mut object = Map::new();
    object.insert("event".to_owned(), name.into());
    object.extend(members.map(|(key, value)| (key.to_owned(), value)));
    let payload = Value::Object(object).to_string();
    Row { source: PROTOCOL, kind: "lifecycle", payload, ..Row::default() }
}

fn payload<const N: usize>(members: [(&str, Value); N]) -> String {
    let members = members.map(|(key, value)| (key.to_owned(), value));
    Value::Object(members.into_iter().collect()).to_string()
}

/// Text as JSON.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Arguments of a tool as JSON; those that are too long become a text that is cut.
fn bounded(input: &Value) -> String {
    let text = input.to_string();
    if text.len() <= MAX_TEXT_BYTES { text } else { quoted(&cut(&text)) }
}

fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_TEXT_BYTES {
        return text.into();
    }
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    let kept = text.get(..end).unwrap_or_default();
    format!("{kept}\n[{} bytes left out]", text.len() - end).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind) -> Event {
        Event { seq: 0, line: 1, parent: None, ts_ms: Some(7), kind }
    }

    #[test]
    fn what_the_agent_was_asked_is_not_what_it_said() {
        let of = |role| {
            let event = event(EventKind::Message { role, text: "use posthog".to_owned() });
            let mut rows = Rows::default();
            let (_, row) = rows.row(&event).unwrap();
            (row.source, row.assertion_role, row.payload)
        };
        let payload = r#"{"displayed_text":"use posthog","text":"use posthog"}"#.to_owned();
        assert_eq!(of(Role::User), ("acp", Some("prompt"), payload.clone()));
        assert_eq!(of(Role::Harness), ("acp", Some("harness"), payload.clone()));
        assert_eq!(of(Role::Assistant), ("transcript", Some("primary"), payload));
    }

    #[test]
    fn a_result_carries_the_name_and_the_meaning_of_its_call() {
        let mut rows = Rows::default();
        let call = event(EventKind::ToolCall {
            id: "1".to_owned(),
            name: "Skill".to_owned(),
            action: Action::Skill { name: "deploy".to_owned() },
            input: json!({"skill": "deploy"}),
        });
        let result = event(EventKind::ToolResult {
            id: "1".to_owned(),
            status: ToolStatus::Error,
            text: "no".to_owned(),
        });
        let (place, row) = rows.row(&call).unwrap();
        assert_eq!((place, row.ts_ms), (1, Some(7)));
        assert_eq!(
            row.payload,
            r#"{"tool_name":"Skill","status":"in_progress","input":{"skill":"deploy"}}"#
        );
        let (place, row) = rows.row(&result).unwrap();
        assert_eq!(row.payload, r#"{"tool_name":"Skill","status":"failed","output":"no"}"#);
        assert_eq!((place, row.meaning.skill, row.status), (2, Some("deploy"), Some("failed")));
        let changed: Vec<_> = rows.changed().collect();
        let [(id, call)] = changed.as_slice() else { panic!("{changed:?}") };
        assert_eq!((*id, call.first, call.last), ("1", 1, 2));
        assert_eq!((call.input, call.output, call.status), (Some(1), Some(2), "failed"));
        drop(changed);
        assert_eq!(rows.changed().count(), 0);
    }

    #[test]
    fn what_a_call_means_has_one_name_for_all_agents() {
        let of = |action: &Action| {
            let meaning = Meaning::from(action);
            (meaning.action.unwrap(), meaning.argument.map(Cow::into_owned))
        };
        let some = |text: &str| Some(text.to_owned());
        let path = || "a.md".to_owned();
        assert_eq!(of(&Action::Read { path: path() }), ("read", some("a.md")));
        assert_eq!(of(&Action::Edit { path: path() }), ("edit", some("a.md")));
        assert_eq!(of(&Action::Shell { command: "ls".to_owned() }), ("shell", some("ls")));
        let mcp = Action::Mcp { server: "s".to_owned(), tool: "t".to_owned() };
        assert_eq!(of(&mcp), ("mcp", some("s/t")));
        assert_eq!(of(&Action::Other), ("other", None));
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = "ä".repeat(MAX_TEXT_BYTES);
        let cut = cut(&text);
        assert!(cut.len() < MAX_TEXT_BYTES + 50);
        assert!(cut.ends_with("ä\n[1048576 bytes left out]"));
    }
}
