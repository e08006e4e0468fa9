//! Logs of inspect (UK AISI): `.eval` archives and `.json` files. Each sample is a session.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek as _};

use proctor_formats::tree::Problems;
use proctor_harness::meaning;
use proctor_model::event::{Role, ToolStatus};
use proctor_model::moment::milliseconds;
use proctor_model::{Diagnostic, Event, EventKind, Outcome, OutcomeClass, Usage};
use serde_json::{Map, Value};
use zip::ZipArchive;

use super::{DOCUMENT, Grade, Intake, Session, Source, scan};

/// The version of logs that is read.
const VERSION: u64 = 2;
/// The longest member of an archive, and the longest log in JSON, in bytes.
const MAX_BYTES: u64 = 128 << 20;
/// The most bytes that the members of an archive have together.
const MAX_TOTAL: u64 = 4 << 30;
/// The most members of an archive.
const MAX_MEMBERS: usize = 100_000;
/// How texts begin that stand among the attachments of a sample.
const ATTACHMENT: &str = "attachment://";
/// The source of events that Proctor has put into a log.
pub(crate) const OURS: &str = "proctor";

type Object = Map<String, Value>;

pub(super) fn recognises(head: &[u8]) -> bool {
    if head.starts_with(b"PK\x03\x04") {
        return true;
    }
    let text = String::from_utf8_lossy(head);
    let has = |key: &str| text.contains(key);
    text.trim_start().starts_with('{')
        && has("\"version\"")
        && has("\"eval\"")
        && (has("\"task\"") || has("\"plan\"") || has("\"samples\""))
}

pub(super) fn read(
    mut source: Source,
    intake: &mut dyn Intake,
    problems: &mut Problems,
) -> io::Result<()> {
    let mut magic = [0; 4];
    let length = source.file.read(&mut magic)?;
    source.file.rewind()?;
    if magic.get(..length) == Some(b"PK\x03\x04") {
        archive(source, intake, problems)
    } else {
        document(source, intake, problems)
    }
}

/// A log in JSON, which is held as a whole.
fn document(source: Source, intake: &mut dyn Intake, problems: &mut Problems) -> io::Result<()> {
    let Some(log) = parse(source.file, "", problems) else { return Ok(()) };
    let Some(about) = About::of(&log, "", problems) else { return Ok(()) };
    match log.get("samples") {
        Some(Value::Array(samples)) => {
            for (index, sample) in samples.iter().enumerate() {
                take(sample, &about, &format!("samples[{index}]"), intake, problems)?;
            }
        }
        None | Some(Value::Null) => problems.push(Diagnostic::error("the log has no samples")),
        Some(_) => problems.push(Diagnostic::error("`samples` is no list")),
    }
    Ok(())
}

fn archive(source: Source, intake: &mut dyn Intake, problems: &mut Problems) -> io::Result<()> {
    let mut zip = match ZipArchive::new(BufReader::new(source.file)) {
        Ok(zip) => zip,
        Err(error) => {
            problems.push(Diagnostic::error(format!("it is no whole archive: {error}")));
            return Ok(());
        }
    };
    if zip.len() > MAX_MEMBERS {
        let message = format!("the archive has more than {MAX_MEMBERS} members");
        problems.push(Diagnostic::error(message));
        return Ok(());
    }
    // A sample that was run again has a later member of the same name.
    let mut samples = BTreeMap::new();
    let mut head = None;
    for index in 0..zip.len() {
        let Ok(member) = zip.by_index_raw(index) else { continue };
        let name = String::from_utf8_lossy(member.name_raw()).into_owned();
        match name.as_str() {
            "header.json" => head = Some((index, name)),
            "_journal/start.json" => {
                head.get_or_insert((index, name));
            }
            _ if name.starts_with("samples/") && name.strip_suffix(".json").is_some() => {
                samples.insert(name, index);
            }
            _ => {}
        }
    }
    let Some((index, name)) = head else {
        problems.push(Diagnostic::error("the archive has no header.json: it is no log of inspect"));
        return Ok(());
    };
    let mut total = 0;
    let Some(log) = member(&mut zip, index, &name, &mut total, problems) else { return Ok(()) };
    let Some(about) = About::of(&log, &name, problems) else { return Ok(()) };
    if samples.is_empty() {
        problems.push(Diagnostic::error("the log has no samples"));
    }
    for (name, index) in samples {
        let sample = member(&mut zip, index, &name, &mut total, problems);
        if let Some(sample) = sample {
            take(&sample, &about, &name, intake, problems)?;
        }
        if problems.has_errors() {
            return Ok(());
        }
    }
    Ok(())
}

/// A member of the archive as JSON; `None` after a mistake.
fn member<R: Read + io::Seek>(
    zip: &mut ZipArchive<R>,
    index: usize,
    name: &str,
    total: &mut u64,
    problems: &mut Problems,
) -> Option<Value> {
    let member = match zip.by_index(index) {
        Ok(member) => member,
        Err(error) => {
            problems.push(Diagnostic::error(format!("{name}: {error}")));
            return None;
        }
    };
    let mut counted = Counted { inner: member, count: 0 };
    let parsed = parse(&mut counted, name, problems);
    *total += counted.count;
    if *total > MAX_TOTAL {
        problems.push(Diagnostic::error("its members are larger than 4 GiB together"));
        return None;
    }
    parsed
}

struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count += length as u64;
        Ok(length)
    }
}

fn parse(source: impl Read, name: &str, problems: &mut Problems) -> Option<Value> {
    let place = if name.is_empty() { String::new() } else { format!("{name}: ") };
    let mut bytes = Vec::new();
    if let Err(error) = source.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
        // Damaged archives fail here.
        problems.push(Diagnostic::error(format!("{place}cannot be read: {error}")));
        return None;
    }
    if bytes.len() as u64 > MAX_BYTES {
        let limit = MAX_BYTES >> 20;
        problems.push(Diagnostic::error(format!("{place}is larger than {limit} MiB")));
        return None;
    }
    let looked = scan::values(&bytes);
    if looked.count > scan::MOST {
        problems.push(Diagnostic::error(format!("{place}has more than {} values", scan::MOST)));
        return None;
    }
    match serde_json::from_slice(&looked.plain(bytes)) {
        Ok(value) => Some(value),
        Err(error) => {
            let line = u32::try_from(error.line()).unwrap_or(u32::MAX).max(1);
            let column = u32::try_from(error.column()).unwrap_or(u32::MAX).max(1);
            let mut diagnostic = Diagnostic::error(format!("{place}no JSON: {error}"));
            if name.is_empty() {
                diagnostic = diagnostic.at(proctor_model::Location { line, column });
            }
            problems.push(diagnostic);
            None
        }
    }
}

/// What all samples of a log have in common.
struct About {
    task: String,
    solver: Option<String>,
    model: Option<String>,
}

impl About {
    fn of(log: &Value, place: &str, problems: &mut Problems) -> Option<Self> {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let version = log.get("version").and_then(Value::as_u64);
        if version.is_none_or(|version| version > VERSION) {
            let found = version.map_or_else(|| "none".to_owned(), |version| version.to_string());
            problems.push(
                Diagnostic::error(format!("{place}the version of the log is {found}"))
                    .hint(format!("this program reads logs up to version {VERSION}")),
            );
            return None;
        }
        let Some(eval) = log.get("eval").filter(|eval| eval.is_object()) else {
            problems.push(Diagnostic::error(format!("{place}`eval` is missing")));
            return None;
        };
        let text = |key: &str| Some(eval.get(key)?.as_str()?.to_owned());
        let task = text("task").unwrap_or_else(|| "task".to_owned());
        let model = text("model").filter(|model| !model.is_empty() && model != "none/none");
        Some(Self { task, solver: text("solver"), model })
    }
}

fn take(
    sample: &Value,
    about: &About,
    place: &str,
    intake: &mut dyn Intake,
    problems: &mut Problems,
) -> io::Result<()> {
    let Some(object) = sample.as_object() else {
        problems.push(Diagnostic::error(format!("{place}: a sample is an object")));
        return Ok(());
    };
    let id = match object.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        _ => {
            problems.push(Diagnostic::error(format!("{place}: the sample has no `id`")));
            return Ok(());
        }
    };
    let epoch = object.get("epoch").and_then(Value::as_u64).unwrap_or(1);
    let mut reader = Reader { sample: object, place, events: Vec::new(), problems };
    if !reader.own() {
        reader.messages(about);
    }
    let Reader { events, .. } = reader;
    intake.begin()?;
    for (seq, mut event) in (0..).zip(events) {
        event.seq = seq;
        intake.event(event)?;
    }
    let raw = serde_json::to_vec(sample)?;
    intake.raw(DOCUMENT, &mut raw.as_slice())?;
    let moment = |key: &str| object.get(key)?.as_str().and_then(milliseconds);
    let span_ms =
        moment("started_at").map(|began| (began, moment("completed_at").unwrap_or(began)));
    intake.end(Session {
        agent: Some(about.solver.clone().unwrap_or_else(|| "inspect".to_owned())),
        model: about.model.clone(),
        prompt_id: Some(format!("{}/{id}", about.task)),
        repeat_idx: u32::try_from(epoch.saturating_sub(1)).unwrap_or(u32::MAX),
        span_ms,
        outcome: outcome(object),
        usage: usage(object),
        grades: grades(object),
        record: None,
        warnings: Vec::new(),
    })
}

fn outcome(sample: &Object) -> Outcome {
    let words =
        |value: &Value| value.get("message").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(error) = sample.get("error").filter(|error| error.is_object()) {
        return Outcome::new(OutcomeClass::CutShort, words(error));
    }
    if let Some(limit) = sample.get("limit").filter(|limit| limit.is_object()) {
        let kind = limit.get("type").and_then(Value::as_str).unwrap_or_default();
        let class = match kind {
            "time" | "working" => OutcomeClass::Timeout,
            "cost" => OutcomeClass::Budget,
            "context" => OutcomeClass::ContextOverflow,
            "operator" => OutcomeClass::Interrupted,
            _ => OutcomeClass::MaxTurns,
        };
        return Outcome::new(class, format!("the limit `{kind}` ended it"));
    }
    let choices = sample.get("output").and_then(|output| output.get("choices")?.get(0));
    let stop = choices.and_then(|choice| choice.get("stop_reason")?.as_str());
    let class = match stop {
        Some("max_tokens") => OutcomeClass::MaxOutput,
        Some("model_length") => OutcomeClass::ContextOverflow,
        Some("content_filter") => OutcomeClass::Refused,
        _ => OutcomeClass::Completed,
    };
    Outcome::new(class, "")
}

fn usage_of(usage: &Value) -> Usage {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64);
    Usage {
        input_tokens: count("input_tokens"),
        output_tokens: count("output_tokens"),
        cache_read_tokens: count("input_tokens_cache_read"),
        cache_write_tokens: count("input_tokens_cache_write"),
        reasoning_tokens: count("reasoning_tokens"),
        turns: None,
        cost_usd: usage.get("total_cost").and_then(Value::as_f64).and_then(Usage::dollars),
    }
}

/// The figures of all models together.
fn usage(sample: &Object) -> Option<Usage> {
    let models = sample.get("model_usage")?.as_object()?;
    models.values().map(usage_of).reduce(Usage::plus)
}

/// Scores. What is no number (inspect marks so what was not scored) is no grade either. A one and the letter C are passes, a nought and the letters I and N none; half marks and
/// numbers in between are neither.
fn grades(sample: &Object) -> Vec<Grade> {
    let scores = sample.get("scores").and_then(Value::as_object);
    let one = |(name, score): (&String, &Value)| {
        let value = score.get("value").unwrap_or(score);
        let passed = match value {
            Value::Bool(passed) => Some(*passed),
            Value::String(mark) if matches!(mark.as_str(), "C" | "c") => Some(true),
            Value::String(mark) if matches!(mark.as_str(), "I" | "i" | "N" | "n") => Some(false),
            Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
            Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
            _ => None,
        };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let explanation = score.get("explanation").and_then(Value::as_str).map(str::to_owned);
        Grade { name: name.clone(), passed, value, explanation }
    };
    scores.into_iter().flatten().map(one).collect()
}

/// What stands for a picture or another part that is no text.
fn unread(part: &Value) -> String {
    format!("[{}]", part.get("type").and_then(Value::as_str).unwrap_or("unknown"))
}

struct Reader<'s, 'p> {
    sample: &'s Object,
    place: &'s str,
    events: Vec<Event>,
    problems: &'p mut Problems,
}

impl Reader<'_, '_> {
    /// Takes the events that Proctor has put into the log, when it was the one who wrote it.
    fn own(&mut self) -> bool {
        let events = self.sample.get("events").and_then(Value::as_array);
        let ours = events.into_iter().flatten().filter(|event| {
            let is = |key: &str, value: &str| event.get(key).and_then(Value::as_str) == Some(value);
            is("event", "info") && is("source", OURS)
        });
        for event in ours {
            let Some(Ok(event)) = event.get("data").cloned().map(serde_json::from_value) else {
                self.events.clear();
                return false;
            };
            self.events.push(event);
        }
        !self.events.is_empty()
    }

    fn messages(&mut self, about: &About) {
        self.push(EventKind::Session {
            session_id: self.sample.get("uuid").and_then(Value::as_str).map(str::to_owned),
            model: about.model.clone(),
            version: None,
            tools: Vec::new(),
            skills: Vec::new(),
        });
        let messages = match self.sample.get("messages") {
            Some(Value::Array(messages)) => messages.as_slice(),
            None | Some(Value::Null) => &[],
            Some(_) => {
                let message = format!("{}: `messages` is no list", self.place);
                return self.problems.push(Diagnostic::error(message));
            }
        };
        for (index, message) in messages.iter().enumerate() {
            self.message(index, message);
        }
        if let Some(usage) = usage(self.sample) {
            self.push(EventKind::Usage { usage });
        }
    }

    fn message(&mut self, index: usize, message: &Value) {
        match message.get("role").and_then(Value::as_str) {
            Some("system") => self.content(message, Role::Harness),
            Some("user") => self.content(message, Role::User),
            Some("assistant") => {
                self.content(message, Role::Assistant);
                let calls = message.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    self.call(call);
                }
            }
            Some("tool") => self.result(message),
            _ => {
                let place = self.place;
                self.problems.push_error(|| {
                    Diagnostic::error(format!("{place}: messages[{index}] has no known `role`"))
                });
            }
        }
    }

    fn content(&mut self, message: &Value, role: Role) {
        match message.get("content") {
            Some(Value::String(text)) => self.say(role, text),
            Some(Value::Array(parts)) => {
                for part in parts {
                    match part.get("type").and_then(Value::as_str) {
                        Some("text") => {
                            let text = part.get("text").and_then(Value::as_str);
                            self.say(role, text.unwrap_or_default());
                        }
                        Some("reasoning") => {
                            let text = part.get("reasoning").and_then(Value::as_str);
                            let text = self.resolved(text.unwrap_or_default());
                            if !text.is_empty() {
                                self.push(EventKind::Reasoning { text });
                            }
                        }
                        _ => self.say(role, &unread(part)),
                    }
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &Value) {
        let text = |key: &str| call.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut input = call.get("arguments").cloned().unwrap_or_default();
        self.resolve(&mut input);
        let name = text("function");
        let action = meaning(&name, &input);
        self.push(EventKind::ToolCall { id: text("id"), name, action, input });
    }

    fn result(&mut self, message: &Value) {
        let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
        let error = message.get("error").filter(|error| error.is_object());
        let kind = error.and_then(|error| error.get("type")?.as_str());
        let status = match kind {
            Some("approval" | "permission") => ToolStatus::Denied,
            Some(_) => ToolStatus::Error,
            None => ToolStatus::Ok,
        };
        let mut texts = Vec::new();
        match message.get("content") {
            Some(Value::String(text)) => texts.push(self.resolved(text)),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let text = part.get("text").and_then(Value::as_str);
                    texts.push(text.map_or_else(|| unread(part), |text| self.resolved(text)));
                }
            }
            _ => {}
        }
        let said = error.and_then(|error| error.get("message")?.as_str()).unwrap_or_default();
        if texts.iter().all(String::is_empty) && !said.is_empty() {
            texts = vec![said.to_owned()];
        }
        self.push(EventKind::ToolResult { id: id.to_owned(), status, text: texts.join("\n") });
    }

    fn say(&mut self, role: Role, text: &str) {
        let text = self.resolved(text);
        if !text.is_empty() {
            self.push(EventKind::Message { role, text });
        }
    }

    /// A text, or the attachment that it stands for.
    fn resolved(&self, text: &str) -> String {
        let attached = text
            .strip_prefix(ATTACHMENT)
            .and_then(|key| self.sample.get("attachments")?.get(key)?.as_str());
        attached.unwrap_or(text).to_owned()
    }

    fn resolve(&self, value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with(ATTACHMENT) => *text = self.resolved(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.resolve(item)),
            Value::Object(members) => members.values_mut().for_each(|item| self.resolve(item)),
            _ => {}
        }
    }

    fn push(&mut self, kind: EventKind) {
        self.events.push(Event { seq: 0, line: 1, parent: None, ts_ms: None, kind });
    }
}
