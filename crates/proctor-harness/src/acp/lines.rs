//! Lines of the record, one after the other, to events and an outcome.

use std::collections::BTreeMap;

use proctor_model::event::Role;
use proctor_model::{EventKind, Outcome, OutcomeClass, Usage};
use serde_json::Value;

use super::calls::{self, Calls};
use crate::adapter::SessionSummary;
use crate::conclude::conclude;
use crate::failure::{Failure, UNSUPPORTED_MODEL, classify};
use crate::json::{self, Object};
use crate::stream::{Dialect, Ending, Sink};

/// A text that is longer, in bytes, becomes several messages.
const MAX_MESSAGE: usize = 4 << 20;

/// The most requests without an answer that are remembered; a client has a handful.
const MAX_ASKED: usize = 1000;

/// Names of events: what an agent was answered that asked for leave.
pub const PERMISSION_ALLOWED: &str = "permission_allowed";
/// See [`PERMISSION_ALLOWED`]; it offered no yes.
pub const PERMISSION_CANCELLED: &str = "permission_cancelled";

/// Characters of what is no frame that its event shows, and of an agent's standard error that an
/// outcome does.
const EXCERPT: usize = 200;
const STDERR_EXCERPT: usize = 1000;

/// What earlier lines have said.
#[derive(Default)]
pub(super) struct Lines {
    /// Methods of requests that have no answer yet.
    asked: BTreeMap<u64, String>,
    said: Option<Said>,
    calls: Calls,
    session_id: Option<String>,
    version: Option<String>,
    model: Option<String>,
    /// The model that was asked for, until the answer comes.
    wanted_model: Option<String>,
    last_message: Option<String>,
    usage: Option<Usage>,
    /// Of the session so far, in US dollars.
    cost: Option<f64>,
    is_too_expensive: bool,
    stated: Option<Outcome>,
    /// Whether the client, and not the agent, stated it.
    is_told: bool,
}

/// What is being said, chunk by chunk.
struct Said {
    by: By,
    message: Option<String>,
    parent: Option<String>,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    User,
    Agent,
    Thought,
}

impl Dialect for Lines {
    fn line(&mut self, line: Object, sink: &mut Sink<'_>) {
        let kind = json::text(&line, "kind").unwrap_or_default();
        match kind {
            "axp_meta" => return,
            "proctor_end" => return self.told(&line, sink),
            _ => {}
        }
        let Some(raw) = json::text(&line, "raw_json") else { return sink.unknown(kind) };
        let Ok(Value::Object(frame)) = serde_json::from_str(raw) else {
            return sink.event(EventKind::Garbage { excerpt: json::excerpt(raw, EXCERPT) });
        };
        match json::text(&line, "direction") {
            Some("out") => self.sent(frame, sink),
            Some("in") => self.received(kind, frame, sink),
            _ => sink.unknown(kind),
        }
    }

    fn flush(&mut self, sink: &mut Sink<'_>) {
        self.say(sink);
        self.calls.flush(sink);
    }

    fn finish(self, ending: &Ending<'_>) -> SessionSummary {
        let mut warnings = Vec::new();
        let mut stated = self.stated;
        if let Some(outcome) = stated.as_mut().filter(|_| self.is_told) {
            let stderr = json::excerpt(ending.end.stderr.trim(), STDERR_EXCERPT);
            if !stderr.is_empty() {
                outcome.message = format!("{}: {stderr}", outcome.message);
            }
        }
        let outcome = conclude(stated, ending, &mut warnings);
        let completed = outcome.class == OutcomeClass::Completed;
        let usage = match (self.usage, self.cost) {
            (None, None) => None,
            (usage, cost_usd) => Some(Usage { cost_usd, ..usage.unwrap_or_default() }),
        };
        let final_text = self.last_message.filter(|_| completed);
        SessionSummary { outcome, usage, final_text, warnings }
    }
}

impl Lines {
    /// The client's own account of why there is no answer.
    fn told(&mut self, line: &Object, sink: &mut Sink<'_>) {
        let class = line.get("outcome").cloned().unwrap_or_default();
        let Ok(class) = serde_json::from_value::<OutcomeClass>(class) else {
            return sink.unknown("proctor_end");
        };
        self.flush(sink);
        let message = json::text(line, "message").unwrap_or_default();
        let message = match json::text(line, "reason") {
            Some("model") => format!("{UNSUPPORTED_MODEL}: {message}"),
            _ => message.to_owned(),
        };
        sink.lifecycle("proctor_end");
        // What the agent has answered cannot be taken back.
        if self.stated.is_none() {
            self.is_told = true;
            self.stated = Some(Outcome::new(class, message));
        }
    }

    fn sent(&mut self, mut frame: Object, sink: &mut Sink<'_>) {
        let Some(method) = json::owned(&frame, "method") else { return Self::answer(&frame, sink) };
        let params = match frame.remove("params") {
            Some(Value::Object(params)) => params,
            _ => Object::new(),
        };
        if let Some(id) = json::number(&frame, "id")
            && self.asked.len() < MAX_ASKED
        {
            self.asked.insert(id, method.clone());
        }
        match method.as_str() {
            "session/prompt" => {
                sink.event(EventKind::Session {
                    session_id: self.session_id.clone(),
                    model: self.model.clone(),
                    version: self.version.clone(),
                    tools: Vec::new(),
                    skills: Vec::new(),
                });
                let blocks: Vec<_> =
                    json::array(&params, "prompt").iter().map(calls::block).collect();
                sink.message(Role::User, &blocks.join("\n"));
            }
            "session/set_model" => self.wanted_model = json::owned(&params, "modelId"),
            "session/cancel" => {
                let meta = json::object(&params, "_meta");
                let reason = meta.and_then(|meta| json::text(meta, "proctorReason"));
                self.is_too_expensive |= reason == Some("max_cost");
                sink.lifecycle("session_cancel");
            }
            _ => {}
        }
    }

    /// What the agent was answered that asked for leave.
    fn answer(frame: &Object, sink: &mut Sink<'_>) {
        let result = json::object(frame, "result");
        let outcome = result.and_then(|result| json::object(result, "outcome"));
        match outcome.and_then(|outcome| json::text(outcome, "outcome")) {
            Some("selected") => sink.lifecycle(PERMISSION_ALLOWED),
            Some("cancelled") => sink.lifecycle(PERMISSION_CANCELLED),
            _ => {}
        }
    }

    fn received(&mut self, kind: &str, mut frame: Object, sink: &mut Sink<'_>) {
        let Some(method) = json::owned(&frame, "method") else {
            let asked = json::number(&frame, "id").and_then(|id| self.asked.remove(&id));
            return match asked {
                Some(method) => self.answered(&method, frame, sink),
                None => sink.unknown("response"),
            };
        };
        let mut params = match frame.remove("params") {
            Some(Value::Object(params)) => params,
            _ => Object::new(),
        };
        match (method.as_str(), params.remove("update"), params.remove("toolCall")) {
            ("session/update", Some(Value::Object(update)), _) => self.update(update, sink),
            ("session/request_permission", _, Some(Value::Object(call))) => {
                self.say(sink);
                self.calls.update(call, sink);
                sink.lifecycle("session_request_permission");
            }
            _ => sink.unknown(kind),
        }
    }

    fn answered(&mut self, method: &str, mut frame: Object, sink: &mut Sink<'_>) {
        if let Some(error) = json::object(&frame, "error") {
            return self.refused(method, &failure_of(error), sink);
        }
        let result = match frame.remove("result") {
            Some(Value::Object(result)) => result,
            _ => Object::new(),
        };
        match method {
            "initialize" => {
                let info = json::object(&result, "agentInfo");
                let text = |key| info.and_then(|info| json::text(info, key)).unwrap_or_default();
                let version = format!("{} {}", text("name"), text("version"));
                self.version = Some(version.trim().to_owned()).filter(|text| !text.is_empty());
                sink.lifecycle("initialize");
            }
            "session/new" => {
                self.session_id = json::owned(&result, "sessionId");
                let models = json::object(&result, "models");
                self.model = models.and_then(|models| json::owned(models, "currentModelId"));
                self.take_model(&result);
                sink.lifecycle("session_new");
            }
            "session/set_config_option" => {
                self.take_model(&result);
                sink.lifecycle("session_set_config_option");
            }
            "session/set_model" => {
                self.model = self.wanted_model.take();
                sink.lifecycle("session_set_model");
            }
            "session/set_mode" => sink.lifecycle("session_set_mode"),
            "authenticate" => sink.lifecycle("authenticate"),
            "session/prompt" => self.turn_ended(&result, sink),
            _ => sink.unknown("response"),
        }
    }

    /// The model that is chosen among the options of a session.
    fn take_model(&mut self, holder: &Object) {
        let options = json::array(holder, "configOptions").iter().filter_map(Value::as_object);
        let mut models = options.filter(|option| json::text(option, "category") == Some("model"));
        if let Some(model) = models.find_map(|option| json::owned(option, "currentValue")) {
            self.model = Some(model);
        }
    }

    fn refused(&mut self, method: &str, (code, message): &(i64, String), sink: &mut Sink<'_>) {
        let is_prompt = method == "session/prompt";
        self.flush(sink);
        let (class, status) = class_of_error(*code, message, is_prompt);
        let message = format!("{method}: {message}");
        if is_prompt {
            sink.event(EventKind::Result { text: None, is_error: true });
        } else {
            // The client may go on: it authenticates, and asks again.
            sink.notice(message.clone());
        }
        self.stated = Some(Outcome::new(class, message).with_status(status));
    }

    fn turn_ended(&mut self, result: &Object, sink: &mut Sink<'_>) {
        self.flush(sink);
        if let Some(usage) = json::object(result, "usage").map(usage_of) {
            sink.usage(usage);
            self.usage = Some(usage);
        }
        let stop = json::text(result, "stopReason").unwrap_or_default();
        let (class, message) = match stop {
            _ if self.is_too_expensive => (OutcomeClass::Budget, "it became too expensive".into()),
            "end_turn" => (OutcomeClass::Completed, String::new()),
            "max_tokens" => (OutcomeClass::MaxOutput, stop.to_owned()),
            "max_turn_requests" => (OutcomeClass::MaxTurns, stop.to_owned()),
            "refusal" => (OutcomeClass::Refused, stop.to_owned()),
            "cancelled" => (OutcomeClass::Interrupted, stop.to_owned()),
            other => {
                (OutcomeClass::CutShort, format!("it ended for a reason unknown here: `{other}`"))
            }
        };
        let is_error = class != OutcomeClass::Completed;
        let text = self.last_message.clone().filter(|_| !is_error);
        sink.event(EventKind::Result { text, is_error });
        self.stated = Some(Outcome::new(class, message));
    }

    fn update(&mut self, update: Object, sink: &mut Sink<'_>) {
        let kind = json::owned(&update, "sessionUpdate").unwrap_or_default();
        match kind.as_str() {
            "user_message_chunk" => self.chunk(By::User, &update, sink),
            "agent_message_chunk" => self.chunk(By::Agent, &update, sink),
            "agent_thought_chunk" => self.chunk(By::Thought, &update, sink),
            "tool_call" | "tool_call_update" => {
                self.say(sink);
                self.calls.update(update, sink);
            }
            "usage_update" => self.cost(&update, sink),
            "config_option_update" => {
                self.take_model(&update);
                sink.lifecycle(&kind);
            }
            "plan"
            | "available_commands_update"
            | "current_mode_update"
            | "session_info_update" => sink.lifecycle(&kind),
            _ => sink.unknown(json::excerpt(&kind, EXCERPT)),
        }
    }

    fn chunk(&mut self, by: By, update: &Object, sink: &mut Sink<'_>) {
        let text = update.get("content").map(calls::block).unwrap_or_default();
        let message = json::owned(update, "messageId");
        let parent = calls::claude(update, "parentToolUseId");
        match &mut self.said {
            Some(said)
                if said.by == by
                    && said.message == message
                    && said.parent == parent
                    && said.text.len() + text.len() <= MAX_MESSAGE =>
            {
                said.text.push_str(&text);
            }
            _ => {
                self.say(sink);
                self.said = Some(Said { by, message, parent, text });
            }
        }
    }

    /// Emits what was said so far.
    fn say(&mut self, sink: &mut Sink<'_>) {
        let Some(Said { by, parent, text, .. }) = self.said.take() else { return };
        let is_own = parent.is_none();
        sink.under(parent);
        match by {
            By::User => sink.message(Role::User, &text),
            By::Agent => sink.message(Role::Assistant, &text),
            By::Thought => sink.event(EventKind::Reasoning { text: text.clone() }),
        }
        sink.under(None);
        if by == By::Agent && is_own {
            self.last_message = Some(text);
        }
    }

    /// The cost is that of the whole session.
    fn cost(&mut self, update: &Object, sink: &mut Sink<'_>) {
        let cost = json::object(update, "cost");
        let is_dollars = |cost: &&Object| json::text(cost, "currency").is_none_or(|c| c == "USD");
        let amount = cost.filter(is_dollars).and_then(|cost| cost.get("amount")?.as_f64());
        let Some(amount) = amount.and_then(Usage::dollars) else {
            return sink.lifecycle("usage_update");
        };
        let spent = (amount - self.cost.unwrap_or(0.0)).max(0.0);
        self.cost = Some(amount);
        sink.usage(Usage { cost_usd: Some(spent), ..Usage::default() });
    }
}

fn failure_of(error: &Object) -> (i64, String) {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let message = json::text(error, "message").unwrap_or_default();
    let text = match error.get("data") {
        None | Some(Value::Null) => message.to_owned(),
        Some(Value::String(data)) => format!("{message}: {data}"),
        Some(data) => format!("{message}: {data}"),
    };
    (code, text)
}

fn class_of_error(code: i64, message: &str, is_prompt: bool) -> (OutcomeClass, Option<u16>) {
    match code {
        // Authentication required: no request was made.
        -32000 => return (OutcomeClass::AuthFailed, None),
        // What we sent is not what the agent takes.
        -32700 | -32602..=-32600 => return (OutcomeClass::UsageError, None),
        _ => {}
    }
    match classify(Failure { text: message, ..Failure::default() }) {
        (OutcomeClass::ApiError, None) if !is_prompt => (OutcomeClass::UsageError, None),
        class => class,
    }
}

fn usage_of(usage: &Object) -> Usage {
    Usage {
        input_tokens: json::number(usage, "inputTokens"),
        output_tokens: json::number(usage, "outputTokens"),
        cache_read_tokens: json::number(usage, "cachedReadTokens"),
        cache_write_tokens: json::number(usage, "cachedWriteTokens"),
        reasoning_tokens: json::number(usage, "thoughtTokens"),
        ..Usage::default()
    }
}
