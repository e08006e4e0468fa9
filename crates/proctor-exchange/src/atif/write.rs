//! Events as a trajectory.

use std::collections::BTreeMap;

use proctor_model::event::{Role, ToolStatus};
use proctor_model::moment::rfc3339;
use proctor_model::{Event, EventKind, Usage};
use serde_json::{Map, Value, json};

use super::{BARE, CACHE_WRITE, OURS, PARENT, REASONING, SOURCE, STATUS, TURNS, UNKNOWN, VERSION};
use crate::export::Lost;

type Object = Map<String, Value>;

/// Whose session it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Identity {
    /// The agent.
    pub agent: String,
    /// The model, where the session does not name one.
    pub model: Option<String>,
    /// The id of the session, where it does not name one itself.
    pub session_id: String,
    /// What the whole session used.
    pub usage: Option<Usage>,
    /// Facts that ATIF has no field for.
    pub facts: Value,
}

/// A session as a document.
pub fn write(identity: &Identity, events: &[Event]) -> (Value, Lost) {
    let mut steps = Steps::default();
    for event in events {
        steps.take(event);
    }
    let Steps { mut list, session, lost, .. } = steps;
    if list.is_empty() {
        // A trajectory has at least one.
        list.push(Step { source: "system", ..Step::default() });
    }
    let session = session.unwrap_or_default();
    let mut agent = Object::new();
    agent.insert("name".into(), identity.agent.as_str().into());
    agent.insert("version".into(), session.version.as_deref().unwrap_or(UNKNOWN).into());
    if let Some(model) = session.model.as_ref().or(identity.model.as_ref()) {
        agent.insert("model_name".into(), model.as_str().into());
    }
    if !session.tools.is_empty() {
        let tool = |name: &String| json!({"type": "function", "function": {"name": name}});
        agent.insert("tool_definitions".into(), session.tools.iter().map(tool).collect());
    }
    if !session.skills.is_empty() {
        agent.insert("extra".into(), json!({ "skills": session.skills }));
    }
    let steps: Vec<Value> = (1_u64..).zip(list).map(|(id, step)| step.json(id)).collect();
    let mut document = Object::new();
    document.insert("schema_version".into(), VERSION.into());
    let id = session.id.as_deref().unwrap_or(&identity.session_id);
    document.insert("session_id".into(), id.into());
    document.insert("agent".into(), agent.into());
    if let Some(usage) = &identity.usage {
        let total = steps.len();
        document.insert("steps".into(), steps.into());
        document.insert("final_metrics".into(), final_metrics(usage, total));
    } else {
        document.insert("steps".into(), steps.into());
    }
    if !identity.facts.is_null() {
        document.insert("extra".into(), json!({ OURS: identity.facts }));
    }
    (document.into(), lost)
}

#[derive(Default)]
struct Session {
    id: Option<String>,
    model: Option<String>,
    version: Option<String>,
    tools: Vec<String>,
    skills: Vec<String>,
}

#[derive(Default)]
struct Step {
    source: &'static str,
    ts_ms: Option<u64>,
    parent: Option<String>,
    message: String,
    reasoning: Option<String>,
    calls: Vec<Value>,
    results: Vec<Value>,
    usage: Option<Usage>,
}

#[derive(Default)]
struct Steps {
    list: Vec<Step>,
    /// The last step that has each call.
    calls: BTreeMap<String, usize>,
    /// The step of the agent that can still be added to.
    open: Option<usize>,
    /// The last step of the agent.
    last: Option<usize>,
    session: Option<Session>,
    lost: Lost,
}

impl Steps {
    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Session { session_id, model, version, tools, skills } => {
                let session = self.session.get_or_insert_default();
                session.id = session.id.take().or_else(|| session_id.clone());
                session.model = session.model.take().or_else(|| model.clone());
                session.version = session.version.take().or_else(|| version.clone());
                if session.tools.is_empty() {
                    session.tools.clone_from(tools);
                }
                if session.skills.is_empty() {
                    session.skills.clone_from(skills);
                }
            }
            EventKind::Message { text, .. } | EventKind::Reasoning { text } if text.is_empty() => {}
            EventKind::Message { role: Role::Assistant, text } => {
                let has_room = |step: &Step| step.message.is_empty() && step.calls.is_empty();
                self.agent(event, has_room).message.clone_from(text);
            }
            EventKind::Message { role, text } => {
                let source = if *role == Role::User { "user" } else { "system" };
                self.open = None;
                self.list.push(Step { message: text.clone(), ..step(source, event) });
            }
            EventKind::Reasoning { text } => {
                self.agent(event, |_| false).reasoning = Some(text.clone());
            }
            EventKind::ToolCall { id, name, input, .. } => {
                self.agent(event, |step| step.results.is_empty()).calls.push(call(id, name, input));
                if let Some(place) = self.open {
                    self.calls.insert(id.clone(), place);
                }
            }
            EventKind::ToolResult { id, status, text } => self.result(event, id, *status, text),
            EventKind::Usage { usage } => match self.last.and_then(|at| self.list.get_mut(at)) {
                Some(step) => step.usage = Some(step.usage.unwrap_or_default().plus(*usage)),
                None => self.lost.add("figures before the first answer"),
            },
            EventKind::FileChange { .. } | EventKind::FileManifest { .. } => {
                self.lost.add("changes of files");
            }
            EventKind::Retry { .. } => self.lost.add("retries"),
            EventKind::Notice { .. } => self.lost.add("notices"),
            EventKind::Lifecycle { .. } => self.lost.add("lifecycle events"),
            EventKind::Result { .. } => self.lost.add("final lines"),
            EventKind::Unknown { .. } | EventKind::Garbage { .. } => {
                self.lost.add("lines that nobody knows");
            }
        }
    }

    /// The step of the agent that takes an event: the open one when it is of the same agent and has
    /// room, else a new one.
    fn agent(&mut self, event: &Event, has_room: impl Fn(&Step) -> bool) -> &mut Step {
        let open = self.open.filter(|at| {
            self.list.get(*at).is_some_and(|step| step.parent == event.parent && has_room(step))
        });
        let at = open.unwrap_or_else(|| {
            self.list.push(step("agent", event));
            self.list.len() - 1
        });
        (self.open, self.last) = (Some(at), Some(at));
        // It was found or made just now.
        &mut self.list[at]
    }

    fn result(&mut self, event: &Event, id: &str, status: ToolStatus, text: &str) {
        let mut result = Object::new();
        let mut extra = Object::new();
        match status {
            ToolStatus::Ok => {}
            ToolStatus::Error => _ = extra.insert(STATUS.into(), "error".into()),
            ToolStatus::Denied => _ = extra.insert(STATUS.into(), "denied".into()),
        }
        let known = self.calls.get(id).copied();
        if known.is_some() {
            result.insert("source_call_id".into(), id.into());
        } else if !id.is_empty() {
            extra.insert(SOURCE.into(), id.into());
        }
        result.insert("content".into(), text.into());
        if !extra.is_empty() {
            result.insert("extra".into(), extra.into());
        }
        let result = Value::Object(result);
        if let Some(step) = known.and_then(|at| self.list.get_mut(at)) {
            step.results.push(result);
        } else {
            self.open = None;
            self.list.push(Step { results: vec![result], ..step("system", event) });
        }
    }
}

fn step(source: &'static str, event: &Event) -> Step {
    Step { source, ts_ms: event.ts_ms, parent: event.parent.clone(), ..Step::default() }
}

fn call(id: &str, name: &str, input: &Value) -> Value {
    let mut call = Object::new();
    call.insert("tool_call_id".into(), id.into());
    call.insert("function_name".into(), name.into());
    if input.is_object() {
        call.insert("arguments".into(), input.clone());
    } else {
        call.insert("arguments".into(), json!({ "input": input }));
        call.insert("extra".into(), json!({ BARE: true }));
    }
    call.into()
}

impl Step {
    fn json(self, id: u64) -> Value {
        let mut step = Object::new();
        step.insert("step_id".into(), id.into());
        if let Some(ts_ms) = self.ts_ms {
            step.insert("timestamp".into(), rfc3339(ts_ms).into());
        }
        step.insert("source".into(), self.source.into());
        step.insert("message".into(), self.message.into());
        if let Some(reasoning) = self.reasoning {
            step.insert("reasoning_content".into(), reasoning.into());
        }
        if !self.calls.is_empty() {
            step.insert("tool_calls".into(), self.calls.into());
        }
        if !self.results.is_empty() {
            step.insert("observation".into(), json!({ "results": self.results }));
        }
        if let Some(metrics) = self.usage.as_ref().and_then(metrics) {
            step.insert("metrics".into(), metrics);
        }
        if let Some(parent) = self.parent {
            step.insert("extra".into(), json!({ PARENT: parent }));
        }
        step.into()
    }
}

/// Tokens of the prompt as ATIF counts them: those of the cache are in it.
fn prompt_tokens(usage: &Usage) -> Option<u64> {
    let input = usage.input_tokens?;
    let cached = usage.cache_read_tokens.unwrap_or(0);
    Some(input.saturating_add(cached).saturating_add(usage.cache_write_tokens.unwrap_or(0)))
}

fn counted(usage: &Usage, names: [&str; 4]) -> Object {
    let mut metrics = Object::new();
    let [prompt, completion, cached, cost] = names;
    let counts = [
        (prompt, prompt_tokens(usage)),
        (completion, usage.output_tokens),
        (cached, usage.cache_read_tokens),
    ];
    for (name, count) in counts {
        if let Some(count) = count {
            metrics.insert(name.into(), count.into());
        }
    }
    if let Some(dollars) = usage.cost_usd.filter(|dollars| dollars.is_finite()) {
        metrics.insert(cost.into(), dollars.into());
    }
    metrics
}

fn extra(usage: &Usage) -> Object {
    let counts = [
        (CACHE_WRITE, usage.cache_write_tokens),
        (REASONING, usage.reasoning_tokens),
        (TURNS, usage.turns),
    ];
    counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?.into()))).collect()
}

/// The figures of a step; `None` when there are none.
fn metrics(usage: &Usage) -> Option<Value> {
    let names = ["prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"];
    let mut metrics = counted(usage, names);
    let extra = extra(usage);
    if !extra.is_empty() {
        metrics.insert("extra".into(), extra.into());
    }
    (!metrics.is_empty()).then(|| metrics.into())
}

fn final_metrics(usage: &Usage, steps: usize) -> Value {
    let names =
        ["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd"];
    let mut metrics = counted(usage, names);
    metrics.insert("total_steps".into(), steps.into());
    let extra = extra(usage);
    if !extra.is_empty() {
        metrics.insert("extra".into(), extra.into());
    }
    metrics.into()
}
