//! Traces in OTLP as JSON, one `ExportTraceServiceRequest` a line and a trial: what the file exporter
//! of OpenTelemetry writes and collectors read.
//!
//! A trial is a trace: its phases are spans, and below the agent's phase stand `invoke_agent`, its
//! calls of tools (`execute_tool`) and what its answers cost (`chat`), with the attributes of the
//! semantic conventions for generative AI. Ids come from the ids of the run, so that the same run
//! gives the same trace everywhere.

use std::collections::BTreeMap;
use std::io::Write;

use proctor_model::event::ToolStatus;
use proctor_model::run::{PhaseName, TestStatus, TrialStatus};
use proctor_model::{Digest, Event, EventKind, Usage};
use proctor_redact::Redactor;
use serde_json::{Value, json};

use super::{ExportError, Format, Lost, Writer};
use crate::run::{Run, Trial};

pub(super) const FORMAT: Format = Format {
    name: "otlp",
    title: "traces of OpenTelemetry (OTLP/JSON, one trial a line)",
    writer: Writer::Text { write },
    lacks: "texts of messages, reasoning, arguments and results of tools, changes of files, raw \
            files; moments of calls where nobody looked at a clock",
};

// Kinds of spans and codes of status, as of the protocol.
const INTERNAL: u8 = 1;
const CLIENT: u8 = 3;
const OK: u8 = 1;
const ERROR: u8 = 2;

fn write(run: &Run, redactor: &Redactor, out: &mut dyn Write) -> Result<Lost, ExportError> {
    let mut lost = Lost::default();
    for trial in &run.trials {
        let mut request = request(run, trial, &mut lost)?;
        redactor.json(&mut request);
        serde_json::to_writer(&mut *out, &request)?;
        out.write_all(b"\n")?;
    }
    Ok(lost)
}

fn request(run: &Run, trial: &Trial, lost: &mut Lost) -> Result<Value, ExportError> {
    let mut events = Vec::new();
    run.events(trial, &mut |event| {
        if let Some(kind) = left_out(&event.kind) {
            lost.add(kind);
        }
        if matches!(
            event.kind,
            EventKind::Session { .. }
                | EventKind::ToolCall { .. }
                | EventKind::ToolResult { .. }
                | EventKind::Usage { .. }
        ) {
            events.push(without_text(event));
        }
        Ok(())
    })?;
    let spans = Trace::new(run, trial).spans(&events);
    let resource = json!({ "attributes": [
        text("service.name", "proctor"), text("service.version", env!("CARGO_PKG_VERSION")),
    ] });
    let scope = json!({ "name": "proctor", "version": env!("CARGO_PKG_VERSION") });
    Ok(json!({ "resourceSpans": [
        { "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }
    ] }))
}

/// Only what spans show is held.
fn without_text(mut event: Event) -> Event {
    match &mut event.kind {
        EventKind::ToolResult { text, .. } => *text = String::new(),
        EventKind::ToolCall { input, .. } => *input = Value::Null,
        _ => {}
    }
    event
}

fn left_out(kind: &EventKind) -> Option<&'static str> {
    match kind {
        EventKind::Message { .. } => Some("messages"),
        EventKind::Reasoning { .. } => Some("reasoning"),
        EventKind::FileChange { .. } | EventKind::FileManifest { .. } => Some("changes of files"),
        EventKind::Retry { .. } => Some("retries"),
        EventKind::Notice { .. } => Some("notices"),
        EventKind::Lifecycle { .. } => Some("lifecycle events"),
        EventKind::ToolCall { .. } => Some("arguments of calls"),
        EventKind::ToolResult { .. } => Some("results of calls"),
        EventKind::Unknown { .. } | EventKind::Garbage { .. } => Some("lines that nobody knows"),
        EventKind::Session { .. } | EventKind::Usage { .. } | EventKind::Result { .. } => None,
    }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// Numbers of 64 bits are texts in the JSON of the protocol.
fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}

fn nanoseconds(milliseconds: u64) -> String {
    // The protocol has 64 bits for it.
    milliseconds.saturating_mul(1_000_000).to_string()
}

struct Trace<'a> {
    run: &'a Run,
    trial: &'a Trial,
    id: String,
    spans: Vec<Value>,
}

/// A span on its way.
struct Span<'a> {
    path: &'a str,
    parent: &'a str,
    name: String,
    kind: u8,
    from: u64,
    to: u64,
    attributes: Vec<Value>,
    status: Option<u8>,
}

impl<'a> Trace<'a> {
    fn new(run: &'a Run, trial: &'a Trial) -> Self {
        let digest = Digest::of(format!("proctor trace {}", trial.record.run_id).as_bytes());
        let id = digest.to_string().chars().take(32).collect();
        Self { run, trial, id, spans: Vec::new() }
    }

    fn spans(mut self, events: &[Event]) -> Vec<Value> {
        let record = &self.trial.record;
        let (from, to) = (record.started_at, record.ended_at.max(record.started_at));
        let attributes = self.facts();
        let status = match record.status {
            TrialStatus::Pass => Some(OK),
            TrialStatus::Fail => None,
            TrialStatus::Error => Some(ERROR),
        };
        let name = format!("trial {}", record.variant_id);
        self.add(&Span {
            path: "trial",
            parent: "",
            name,
            kind: INTERNAL,
            from,
            to,
            attributes,
            status,
        });
        let mut agent = (from, to, "trial".to_owned());
        let mut tests = (to, "trial".to_owned());
        let mut at = from;
        for (index, phase) in record.phases.iter().enumerate() {
            let path = format!("phase {index}");
            let (begin, end) = (at, at.saturating_add(phase.duration_ms));
            let name = phase.phase.as_str().to_owned();
            let attributes = Vec::new();
            self.add(&Span {
                path: &path,
                parent: "trial",
                name,
                kind: INTERNAL,
                from: begin,
                to: end,
                attributes,
                status: None,
            });
            match phase.phase {
                PhaseName::Agent => agent = (begin, end, path),
                PhaseName::Tests => tests = (begin, path),
                _ => {}
            }
            at = end;
        }
        self.agent(&agent, events);
        self.tests(&tests);
        self.spans
    }

    fn facts(&self) -> Vec<Value> {
        let record = &self.trial.record;
        let mut facts = vec![
            text("proctor.run.id", &self.run.plan.run_id),
            text("proctor.trial.id", &record.run_id),
            text("proctor.experiment.id", &self.run.plan.experiment_id),
            text("proctor.prompt.id", &record.coordinates.prompt_id),
            number("proctor.repeat", record.repeat_idx.into()),
            text("proctor.status", record.status.as_str()),
            text("proctor.exit_reason", record.exit_reason.as_str()),
        ];
        let of = &record.coordinates;
        for (key, value) in [
            ("proctor.effort", &of.effort),
            ("proctor.environment", &of.environment),
            ("proctor.product", &of.product),
            ("proctor.extension.id", &of.extension_id),
        ] {
            facts.extend(value.as_ref().map(|value| text(key, value)));
        }
        facts
    }

    fn agent(&mut self, (from, to, parent): &(u64, u64, String), events: &[Event]) {
        let record = &self.trial.record;
        let Some(outcome) = &record.outcome else { return };
        let of = &record.coordinates;
        let mut attributes = vec![
            text("gen_ai.operation.name", "invoke_agent"),
            text("gen_ai.agent.name", &of.agent),
        ];
        attributes.extend(of.model.as_ref().map(|model| text("gen_ai.request.model", model)));
        let session = events.iter().find_map(|event| match &event.kind {
            EventKind::Session { session_id, .. } => session_id.as_ref(),
            _ => None,
        });
        attributes.extend(session.map(|id| text("gen_ai.conversation.id", id)));
        attributes.extend(record.usage.as_ref().map(tokens).into_iter().flatten());
        let failed = outcome.class != proctor_model::OutcomeClass::Completed;
        if failed {
            attributes.push(text("error.type", outcome.class.as_str()));
        }
        let name = format!("invoke_agent {}", of.agent);
        let status = failed.then_some(ERROR);
        let path = "agent";
        self.add(&Span {
            path,
            parent,
            name,
            kind: INTERNAL,
            from: *from,
            to: *to,
            attributes,
            status,
        });
        let ends: BTreeMap<&str, (&ToolStatus, Option<u64>)> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ToolResult { id, status, .. } => {
                    Some((id.as_str(), (status, event.ts_ms)))
                }
                _ => None,
            })
            .collect();
        for event in events {
            let begin = event.ts_ms.unwrap_or(*from);
            match &event.kind {
                EventKind::ToolCall { id, name, .. } => {
                    self.call(event.seq, id, name, begin, ends.get(id.as_str()).copied());
                }
                EventKind::Usage { usage } => self.answer(event.seq, usage, begin),
                _ => {}
            }
        }
    }

    fn call(
        &mut self,
        seq: u64,
        id: &str,
        name: &str,
        from: u64,
        end: Option<(&ToolStatus, Option<u64>)>,
    ) {
        let mut attributes = vec![
            text("gen_ai.operation.name", "execute_tool"),
            text("gen_ai.tool.name", name),
            text("gen_ai.tool.call.id", id),
            text("gen_ai.tool.type", "function"),
        ];
        let failure = match end {
            Some((ToolStatus::Ok, _)) => None,
            Some((ToolStatus::Error, _)) => Some("tool_error"),
            Some((ToolStatus::Denied, _)) => Some("denied"),
            None => Some("no_result"),
        };
        attributes.extend(failure.map(|failure| text("error.type", failure)));
        let to = end.and_then(|(_, at)| at).unwrap_or(from).max(from);
        let status = failure.map(|_| ERROR);
        let name = format!("execute_tool {name}");
        let path = format!("call {seq}");
        let span = Span {
            path: &path,
            parent: "agent",
            name,
            kind: INTERNAL,
            from,
            to,
            attributes,
            status,
        };
        self.add(&span);
    }

    fn answer(&mut self, seq: u64, usage: &Usage, at: u64) {
        let model = self.trial.record.coordinates.model.clone();
        let mut attributes = vec![text("gen_ai.operation.name", "chat")];
        attributes.extend(model.as_ref().map(|model| text("gen_ai.request.model", model)));
        attributes.extend(tokens(usage));
        let name = format!("chat {}", model.unwrap_or_default()).trim_end().to_owned();
        let path = format!("usage {seq}");
        self.add(&Span {
            path: &path,
            parent: "agent",
            name,
            kind: CLIENT,
            from: at,
            to: at,
            attributes,
            status: None,
        });
    }

    fn tests(&mut self, (from, parent): &(u64, String)) {
        let trial = self.trial;
        let mut at = *from;
        for (index, test) in trial.record.tests.iter().enumerate() {
            let to = at.saturating_add(test.duration_ms);
            let passed = test.status == TestStatus::Passed;
            let mut attributes = vec![
                text("gen_ai.evaluation.name", &test.name),
                text("gen_ai.evaluation.score.label", test.status.as_str()),
            ];
            let score = json!({ "doubleValue": if passed { 1.0 } else { 0.0 } });
            attributes.push(json!({ "key": "gen_ai.evaluation.score.value", "value": score }));
            let reason = test.reason.as_ref();
            attributes.extend(reason.map(|why| text("gen_ai.evaluation.explanation", why)));
            let name = format!("test {}", test.name);
            let status = (test.status == TestStatus::Error).then_some(ERROR);
            let path = format!("test {index}");
            let kind = INTERNAL;
            self.add(&Span { path: &path, parent, name, kind, from: at, to, attributes, status });
            at = to;
        }
    }

    fn add(&mut self, span: &Span<'_>) {
        let mut value = json!({
            "traceId": self.id,
            "spanId": self.span_id(span.path),
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": nanoseconds(span.from),
            "endTimeUnixNano": nanoseconds(span.to),
            "attributes": span.attributes,
        });
        if let Value::Object(value) = &mut value {
            if !span.parent.is_empty() {
                value.insert("parentSpanId".to_owned(), self.span_id(span.parent).into());
            }
            if let Some(code) = span.status {
                value.insert("status".to_owned(), json!({ "code": code }));
            }
        }
        self.spans.push(value);
    }

    fn span_id(&self, path: &str) -> String {
        let digest = Digest::of(format!("proctor span {} {path}", self.id).as_bytes());
        digest.to_string().chars().take(16).collect()
    }
}

/// The figures of a stretch. Tokens of the cache are in those of the input, by the conventions.
fn tokens(usage: &Usage) -> Vec<Value> {
    let read = usage.cache_read_tokens.unwrap_or(0);
    let cached = read.saturating_add(usage.cache_write_tokens.unwrap_or(0));
    let counts = [
        ("gen_ai.usage.input_tokens", usage.input_tokens.map(|input| input.saturating_add(cached))),
        ("gen_ai.usage.output_tokens", usage.output_tokens),
        ("gen_ai.usage.cache_read.input_tokens", usage.cache_read_tokens),
        ("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens),
        ("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens),
    ];
    let mut attributes: Vec<Value> =
        counts.into_iter().filter_map(|(key, count)| Some(number(key, count?))).collect();
    if let Some(dollars) = usage.cost_usd.filter(|dollars| dollars.is_finite()) {
        attributes.push(json!({ "key": "proctor.cost_usd", "value": { "doubleValue": dollars } }));
    }
    attributes
}
