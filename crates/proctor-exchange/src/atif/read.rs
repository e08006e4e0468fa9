//! Trajectories as events.

use std::io::{self, Read as _};

use proctor_formats::tree::{
    Field, Kind, MAX_BYTES, Member, Node, Object, Problems, json, list, text, whole_number,
};
use proctor_harness::meaning;
use proctor_model::event::{Role, ToolStatus};
use proctor_model::moment::milliseconds;
use proctor_model::{Diagnostic, Event, EventKind, Outcome, OutcomeClass, Usage};
use serde_json::{Map, Value};

use super::{BARE, CACHE_WRITE, KNOWN, OURS, PARENT, REASONING, SOURCE, STATUS, TURNS, UNKNOWN};
use crate::import::{DOCUMENT, Intake, Session, Source};

/// How deep trajectories may stand inside one another.
const MAX_DEPTH: usize = 8;

/// The most steps that one document gives.
const MAX_WORK: u64 = 200_000;

/// Whether a file can only be a trajectory.
pub fn recognises(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut rest = text.split("\"schema_version\"").skip(1);
    text.trim_start().starts_with('{')
        && rest.any(|after| {
            after
                .trim_start()
                .strip_prefix(':')
                .is_some_and(|value| value.trim_start().starts_with("\"ATIF-"))
        })
}

/// Reads a trajectory; whatever is wrong with it goes to `problems`.
///
/// # Errors
///
/// When the file cannot be read, or `intake` fails.
pub fn read(source: Source, intake: &mut dyn Intake, problems: &mut Problems) -> io::Result<()> {
    let mut bytes = Vec::new();
    source.file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let Some(node) = json(&bytes, problems) else { return Ok(()) };
    let mut reader =
        Reader { events: Vec::new(), seq: 0, work: 0, problems, notes: Notes::default() };
    let root = Field::root(&node);
    let Some(session) = reader.document(&root, None, 0) else { return Ok(()) };
    if reader.problems.has_errors() {
        return Ok(());
    }
    let Reader { events, .. } = reader;
    intake.begin()?;
    for event in events {
        intake.event(event)?;
    }
    intake.raw(DOCUMENT, &mut bytes.as_slice())?;
    intake.end(session)
}

/// What was left out, to be said once.
#[derive(Default)]
struct Notes {
    copied: u64,
    media: u64,
    tokens: u64,
}

struct Reader<'p> {
    events: Vec<Event>,
    seq: u64,
    /// Steps and trajectories that were read: one that is referred to is read each time.
    work: u64,
    problems: &'p mut Problems,
    notes: Notes,
}

/// Where the events of a step stand.
#[derive(Clone, Default)]
struct Place {
    line: u64,
    ts_ms: Option<u64>,
    parent: Option<String>,
}

/// What the steps of a trajectory come to together.
#[derive(Default)]
struct Steps {
    usage: Option<Usage>,
    span_ms: Option<(u64, u64)>,
    ending: Option<Outcome>,
}

impl Steps {
    fn add(&mut self, step: Step) {
        self.usage = match (self.usage, step.usage) {
            (Some(sum), Some(usage)) => Some(Usage::plus(sum, usage)),
            (sum, usage) => sum.or(usage),
        };
        if let Some(now) = step.ts_ms {
            let (first, last) = self.span_ms.unwrap_or((now, now));
            self.span_ms = Some((first.min(now), last.max(now)));
        }
        self.ending = step.ending.or(self.ending.take());
    }
}

impl Reader<'_> {
    /// A whole trajectory; `None` after an error.
    fn document(
        &mut self,
        field: &Field<'_>,
        parent: Option<&str>,
        depth: usize,
    ) -> Option<Session> {
        self.work()?;
        let object = Object::at(field, "a trajectory", self.problems)?;
        self.version(&object)?;
        // The steps are read even so, for what is wrong with them.
        let agent = object.required("agent", self.problems, Self::agent);
        let session_id = nullable(&object, "session_id", self.problems);
        let place = Place {
            line: field.node().location.line.into(),
            ts_ms: None,
            parent: parent.map(str::to_owned),
        };
        if let Some(agent) = &agent {
            let kind = EventKind::Session {
                session_id,
                model: agent.model.clone(),
                version: agent.version.clone(),
                tools: agent.tools.clone(),
                skills: agent.skills.clone(),
            };
            self.push(&place, kind);
        }
        let embedded = object.get("subagent_trajectories").map(|member| &member.value);
        let steps = object.get("steps");
        let Some(steps) = steps else {
            self.problems.push(field.error("`steps` is missing"));
            return None;
        };
        let steps_field = field.member("steps", &steps.value);
        let Kind::Array(items) = &steps.value.kind else {
            self.problems.push(steps_field.expected("a list of steps"));
            return None;
        };
        if items.is_empty() {
            self.problems.push(steps_field.error("a trajectory has at least one step"));
        }
        let mut all = Steps::default();
        for (index, item) in items.iter().enumerate() {
            let at = steps_field.item(index, item);
            if let Some(step) = self.step(&at, index, parent, embedded, depth) {
                all.add(step);
            }
        }
        let mut outcome = all.ending.unwrap_or_else(|| {
            Outcome::new(OutcomeClass::CutShort, "the trajectory has no answer")
        });
        let stated = object.get("final_metrics").filter(|member| member.value.kind != Kind::Null);
        let stated = stated.and_then(|member| {
            let at = field.member("final_metrics", &member.value);
            self.metrics(&at, "total_")
        });
        let ours = object.get("extra").and_then(|extra| get(&extra.value, OURS));
        if let Some(ours) = ours.and_then(|ours| get(ours, "outcome")) {
            outcome = serde_json::from_value(value(ours)).unwrap_or(outcome);
        }
        let agent = agent?;
        Some(Session {
            agent: Some(agent.name),
            model: agent.model,
            prompt_id: None,
            repeat_idx: 0,
            span_ms: all.span_ms,
            outcome,
            usage: stated.or(all.usage),
            grades: Vec::new(),
            record: None,
            warnings: self.notes.warnings(),
        })
    }

    /// Whether the version is one that is known.
    fn version(&mut self, object: &Object<'_>) -> Option<()> {
        let version = object.required("schema_version", self.problems, text)?;
        if KNOWN.contains(&version.as_str()) {
            return Some(());
        }
        let last = KNOWN.last().copied().unwrap_or_default();
        self.problems.push(
            Diagnostic::error(format!("`{version}` is not a version that is known"))
                .at(object.get("schema_version")?.value.location)
                .field("schema_version")
                .hint(format!("this program reads ATIF-v1.0 to {last}")),
        );
        None
    }

    fn agent(field: &Field<'_>, problems: &mut Problems) -> Option<Agent> {
        let object = Object::at(field, "an agent", problems)?;
        let name = object.required("name", problems, text);
        let version = object.required("version", problems, text);
        let model = nullable(&object, "model_name", problems);
        let strings = |node: &Node| -> Vec<String> {
            let Kind::Array(items) = &node.kind else { return Vec::new() };
            items.iter().filter_map(string).map(str::to_owned).collect()
        };
        let tools = object.get("tool_definitions").map(|member| match &member.value.kind {
            Kind::Array(items) => items
                .iter()
                .filter_map(|item| string(get(get(item, "function").unwrap_or(item), "name")?))
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        });
        let skills = object.get("extra").and_then(|extra| get(&extra.value, "skills")).map(strings);
        Some(Agent {
            name: name?,
            version: version.filter(|version| version != UNKNOWN),
            model,
            tools: tools.unwrap_or_default(),
            skills: skills.unwrap_or_default(),
        })
    }

    fn step(
        &mut self,
        field: &Field<'_>,
        index: usize,
        parent: Option<&str>,
        embedded: Option<&Node>,
        depth: usize,
    ) -> Option<Step> {
        self.work()?;
        let object = Object::at(field, "a step", self.problems)?;
        self.number(field, &object, index);
        let source = object.required("source", self.problems, text)?;
        let message = object.get("message");
        if message.is_none() {
            self.problems.push_error(|| field.error("`message` is missing"));
        }
        let message = message.map(|member| self.content(&field.member("message", &member.value)));
        let message = message.unwrap_or_default();
        let extra = object.get("extra").map(|member| &member.value);
        let inner = extra.and_then(|extra| string(get(extra, PARENT)?));
        let stamp = object.get("timestamp").and_then(|member| string(&member.value));
        let place = Place {
            line: field.node().location.line.into(),
            ts_ms: stamp.and_then(milliseconds),
            parent: inner.or(parent).map(str::to_owned),
        };
        if let Some(member) = object.get("timestamp").filter(|_| stamp.is_some())
            && place.ts_ms.is_none()
        {
            let at = field.member("timestamp", &member.value);
            self.problems.push(at.warning("no moment as of ISO 8601; it is left out"));
        }
        let is_copied = object.get("is_copied_context");
        if is_copied.is_some_and(|member| member.value.kind == Kind::Bool(true)) {
            // It is in the trajectory that this one continues.
            self.notes.copied += 1;
            return None;
        }
        let mut step = Step { ts_ms: place.ts_ms, ..Step::default() };
        match source.as_str() {
            "user" => {
                self.say(&place, Role::User, message);
                step.ending = Some(Outcome::new(OutcomeClass::CutShort, "nobody answered"));
            }
            "system" => self.say(&place, Role::Harness, message),
            "agent" => {
                if let Some(thought) =
                    object.get("reasoning_content").and_then(|m| string(&m.value))
                    && !thought.is_empty()
                {
                    self.push(&place, EventKind::Reasoning { text: thought.to_owned() });
                }
                self.say(&place, Role::Assistant, message);
            }
            _ => {
                let at = object.get("source").map(|member| field.member("source", &member.value));
                if let Some(at) = at {
                    self.problems.push_error(|| at.expected("`system`, `user` or `agent`"));
                }
                return None;
            }
        }
        let ids = self.calls(field, &object, &place);
        let results = present(&object, "observation").and_then(|member| {
            let at = field.member("observation", &member.value);
            self.observation(&at, &ids, &place, embedded, depth)
        });
        let metrics = present(&object, "metrics");
        step.usage = metrics.and_then(|member| {
            let at = field.member("metrics", &member.value);
            self.metrics(&at, "")
        });
        if let Some(usage) = step.usage {
            self.push(&place, EventKind::Usage { usage });
        }
        if source == "agent" && parent.is_none() && inner.is_none() {
            let answered = results.unwrap_or(0) >= ids.len();
            let class = if answered { OutcomeClass::Completed } else { OutcomeClass::CutShort };
            let words = if answered { "" } else { "a call has no result" };
            step.ending = Some(Outcome::new(class, words));
        }
        Some(step)
    }

    /// Steps are numbered from 1, without gaps.
    fn number(&mut self, field: &Field<'_>, object: &Object<'_>, index: usize) {
        let id = object.required("step_id", self.problems, whole_number(1..=i64::MAX));
        let expected = i64::try_from(index).unwrap_or(i64::MAX).saturating_add(1);
        if let (Some(id), Some(member)) = (id.filter(|id| *id != expected), object.get("step_id")) {
            let at = field.member("step_id", &member.value);
            self.problems.push_error(|| {
                at.error(format!("steps are numbered from 1: expected {expected}, found {id}"))
            });
        }
    }

    /// The calls of a step; their ids.
    fn calls(&mut self, field: &Field<'_>, object: &Object<'_>, place: &Place) -> Vec<String> {
        let Some(member) = present(object, "tool_calls") else { return Vec::new() };
        let at = field.member("tool_calls", &member.value);
        let calls = list("calls of tools", call)(&at, self.problems).unwrap_or_default();
        let ids = calls.iter().map(|call| call.id.clone()).collect();
        for Call { id, name, input } in calls {
            let action = meaning(&name, &input);
            self.push(place, EventKind::ToolCall { id, name, action, input });
        }
        ids
    }

    /// What came back; says how much.
    fn observation(
        &mut self,
        field: &Field<'_>,
        ids: &[String],
        place: &Place,
        embedded: Option<&Node>,
        depth: usize,
    ) -> Option<usize> {
        let object = Object::at(field, "an observation", self.problems)?;
        let Some(results) = object.get("results") else {
            self.problems.push_error(|| field.error("`results` is missing"));
            return None;
        };
        let results_field = field.member("results", &results.value);
        let Kind::Array(items) = &results.value.kind else {
            self.problems.push_error(|| results_field.expected("a list of results"));
            return None;
        };
        for (index, item) in items.iter().enumerate() {
            let at = results_field.item(index, item);
            let Some(result) = Object::at(&at, "a result", self.problems) else { continue };
            let source = present(&result, "source_call_id");
            let source = source.and_then(|member| {
                let at = at.member("source_call_id", &member.value);
                text(&at, self.problems)
            });
            if let Some(id) = source.as_ref().filter(|id| !ids.contains(id)) {
                self.problems.push_error(|| {
                    at.error(format!("its `source_call_id` is `{id}`, and no call of the step is"))
                });
            }
            let extra = result.get("extra").map(|member| &member.value);
            let extra = |key: &str| extra.and_then(|extra| string(get(extra, key)?));
            let status = match extra(STATUS) {
                Some("error") => ToolStatus::Error,
                Some("denied") => ToolStatus::Denied,
                _ => ToolStatus::Ok,
            };
            let id = source.or_else(|| extra(SOURCE).map(str::to_owned)).unwrap_or_default();
            let content = present(&result, "content");
            let content = content.map(|m| self.content(&at.member("content", &m.value)));
            let text = content.unwrap_or_default();
            self.push(place, EventKind::ToolResult { id: id.clone(), status, text });
            if let Some(refs) = result.get("subagent_trajectory_ref") {
                self.subagents(&refs.value, embedded, &id, depth);
            }
        }
        Some(items.len())
    }

    /// Trajectories that stand in this document, after the result that refers to them.
    fn subagents(&mut self, refs: &Node, embedded: Option<&Node>, parent: &str, depth: usize) {
        let (Kind::Array(refs), Some(embedded)) = (&refs.kind, embedded) else { return };
        let Kind::Array(all) = &embedded.kind else { return };
        for one in refs {
            let Some(wanted) = get(one, "trajectory_id").and_then(string) else { continue };
            let named = |node: &&Node| get(node, "trajectory_id").and_then(string) == Some(wanted);
            let Some(found) = all.iter().find(named) else { continue };
            let root = Field::root(embedded);
            if depth >= MAX_DEPTH {
                self.problems.push_error(|| root.error("subagents stand too deep in one another"));
                return;
            }
            let parent = if parent.is_empty() { wanted } else { parent };
            self.document(&Field::root(found), Some(parent), depth + 1);
        }
    }

    fn say(&mut self, place: &Place, role: Role, text: String) {
        if !text.is_empty() {
            self.push(place, EventKind::Message { role, text });
        }
    }

    /// Counts what is done; `None` when it is too much.
    fn work(&mut self) -> Option<()> {
        self.work += 1;
        if self.work == MAX_WORK {
            let message = format!("it has more than {MAX_WORK} steps, subagents counted each time");
            self.problems.push(Diagnostic::error(message));
        }
        (self.work < MAX_WORK).then_some(())
    }

    fn push(&mut self, place: &Place, kind: EventKind) {
        let Place { line, ts_ms, parent } = place.clone();
        self.events.push(Event { seq: self.seq, line, parent, ts_ms, kind });
        self.seq += 1;
    }

    /// A text, or parts of which only some are text.
    fn content(&mut self, field: &Field<'_>) -> String {
        match &field.node().kind {
            Kind::String(text) => text.clone(),
            Kind::Null => String::new(),
            Kind::Array(parts) => {
                let mut texts = Vec::new();
                for part in parts {
                    if let Some(text) = get(part, "text").and_then(string) {
                        texts.push(text.to_owned());
                    } else {
                        self.notes.media += 1;
                        let kind = get(part, "type").and_then(string).unwrap_or("unknown");
                        texts.push(format!("[{kind}]"));
                    }
                }
                texts.join("\n")
            }
            _ => {
                self.problems.push_error(|| field.expected("a text or a list of parts"));
                String::new()
            }
        }
    }

    fn metrics(&mut self, field: &Field<'_>, prefix: &str) -> Option<Usage> {
        let object = Object::at(field, "figures", self.problems)?;
        let count = |name: &str| number(&object.get(&format!("{prefix}{name}"))?.value);
        let extra = object.get("extra").map(|member| &member.value);
        let more = |key: &str| number(get(extra?, key)?);
        let tokens = ["prompt_token_ids", "completion_token_ids", "logprobs"];
        if tokens.iter().any(|key| present(&object, key).is_some()) {
            self.notes.tokens += 1;
        }
        let cached = count("cached_tokens");
        let written = more(CACHE_WRITE);
        let cost = object.get(&format!("{prefix}cost_usd"));
        let usage = Usage {
            input_tokens: count("prompt_tokens").map(|all| {
                all.saturating_sub(cached.unwrap_or(0)).saturating_sub(written.unwrap_or(0))
            }),
            output_tokens: count("completion_tokens"),
            cache_read_tokens: cached,
            cache_write_tokens: written,
            reasoning_tokens: more(REASONING),
            turns: more(TURNS),
            cost_usd: cost.and_then(|member| match &member.value.kind {
                Kind::Number(number) => number.parse().ok().and_then(Usage::dollars),
                _ => None,
            }),
        };
        (usage != Usage::default()).then_some(usage)
    }
}

impl Notes {
    fn warnings(&self) -> Vec<String> {
        let kinds = [
            (self.copied, "steps that were copied from another trajectory are left out"),
            (self.media, "images and recordings are named, and not looked at"),
            (self.tokens, "steps have tokens or their probabilities, which are left out"),
        ];
        let said = kinds.iter().filter(|(count, _)| *count > 0);
        said.map(|(count, what)| format!("{what} ({count})")).collect()
    }
}

#[derive(Default)]
struct Step {
    ts_ms: Option<u64>,
    usage: Option<Usage>,
    /// How the session ended, were this its last step; `None` when it says nothing about that.
    ending: Option<Outcome>,
}

struct Agent {
    name: String,
    version: Option<String>,
    model: Option<String>,
    tools: Vec<String>,
    skills: Vec<String>,
}

struct Call {
    id: String,
    name: String,
    input: Value,
}

fn call(field: &Field<'_>, problems: &mut Problems) -> Option<Call> {
    let object = Object::at(field, "a call of a tool", problems)?;
    let id = object.required("tool_call_id", problems, text);
    let name = object.required("function_name", problems, text);
    let Some(arguments) = object.get("arguments") else {
        problems.push_error(|| field.error("`arguments` is missing"));
        return None;
    };
    if !matches!(arguments.value.kind, Kind::Object(_)) {
        let at = field.member("arguments", &arguments.value);
        problems.push_error(|| at.expected("an object"));
        return None;
    }
    let extra = object.get("extra").map(|member| &member.value);
    let is_bare = extra.and_then(|extra| get(extra, BARE)).is_some();
    let input = match get(&arguments.value, "input").filter(|_| is_bare) {
        Some(input) => value(input),
        None => value(&arguments.value),
    };
    Some(Call { id: id?, name: name?, input })
}

/// A text that may be left out, or be null.
fn nullable(object: &Object<'_>, key: &str, problems: &mut Problems) -> Option<String> {
    let member = present(object, key)?;
    text(&object.field().member(key, &member.value), problems)
}

/// A member that is there and not null.
fn present<'a>(object: &Object<'a>, key: &str) -> Option<&'a Member> {
    object.get(key).filter(|member| member.value.kind != Kind::Null)
}

fn get<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let Kind::Object(members) = &node.kind else { return None };
    members.iter().find(|member| member.key == key).map(|member| &member.value)
}

fn string(node: &Node) -> Option<&str> {
    match &node.kind {
        Kind::String(text) => Some(text),
        _ => None,
    }
}

fn number(node: &Node) -> Option<u64> {
    match &node.kind {
        Kind::Number(number) => number.parse().ok(),
        _ => None,
    }
}

/// The value as any JSON. Of equal keys the first counts.
fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => (*value).into(),
        Kind::Number(number) => serde_json::from_str(number).unwrap_or(Value::Null),
        Kind::String(text) => text.as_str().into(),
        Kind::Array(items) => items.iter().map(value).collect(),
        Kind::Object(members) => {
            let mut object = Map::new();
            for member in members {
                object.entry(member.key.as_str()).or_insert_with(|| value(&member.value));
            }
            object.into()
        }
    }
}
