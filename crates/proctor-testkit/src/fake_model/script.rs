//! What a fake model is told to answer.

use std::time::Duration;

use serde_json::Value;

/// The turns of a conversation, taken one a request, in order.
#[derive(Debug, Clone)]
pub struct Script {
    pub(super) turns: Vec<Turn>,
    pub(super) on_exhausted: OnExhausted,
    pub(super) usage: Usage,
}

impl Script {
    /// Answers with `turns`, then says `done` to every further request.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self { turns: turns.into_iter().collect(), ..Self::default() }
    }

    /// What to answer once every turn is used.
    #[must_use]
    pub fn on_exhausted(mut self, what: OnExhausted) -> Self {
        self.on_exhausted = what;
        self
    }

    /// The token counts of every turn that states none of its own.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}

impl Default for Script {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            on_exhausted: OnExhausted::Say("done".to_owned()),
            usage: Usage::default(),
        }
    }
}

impl From<Turn> for Script {
    fn from(turn: Turn) -> Self {
        Self::new([turn])
    }
}

impl<const N: usize> From<[Turn; N]> for Script {
    fn from(turns: [Turn; N]) -> Self {
        Self::new(turns)
    }
}

impl From<Vec<Turn>> for Script {
    fn from(turns: Vec<Turn>) -> Self {
        Self::new(turns)
    }
}

/// What follows the last turn of a script.
#[derive(Debug, Clone)]
pub enum OnExhausted {
    /// A text answer that ends the conversation.
    Say(String),
    /// The last turn again.
    RepeatLast,
    /// HTTP 400, for tests that count requests.
    Error,
}

/// Token counts of one answer, as Anthropic counts them: `input` leaves the cached tokens out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens that no cache served or stored.
    pub input: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// Output tokens spent on reasoning (not in Anthropic's dialect).
    pub reasoning: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input: 100, output: 20, cache_read: 0, cache_write: 0, reasoning: 0 }
    }
}

/// Why an answer ends, by its Anthropic name; the other dialects get their own word for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The model has finished.
    EndTurn,
    /// The model waits for tool results.
    ToolUse,
    /// The output limit was reached.
    MaxTokens,
    /// The model declined.
    Refusal,
}

/// One answer: texts and tool calls, or faults, or faults first and then the answer.
///
/// `${cwd}` (the directory in which the agent says it works), `${prompt}` (the newest thing the
/// user said) and `${last_tool_result}` are replaced in texts and tool inputs; `$${cwd}` stands
/// for a literal `${cwd}`.
#[derive(Debug, Clone, Default)]
pub struct Turn {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    pub(super) tools: Vec<ToolCall>,
    pub(super) usage: Option<Usage>,
    pub(super) hides_usage: bool,
    pub(super) stop: Option<StopReason>,
    pub(super) delay: Duration,
    pub(super) chunks: Chunks,
    pub(super) faults: Vec<Fault>,
    pub(super) only_faults: bool,
    pub(super) needs: Vec<String>,
    pub(super) forbids: Vec<String>,
}

impl Turn {
    /// An answer in words.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// One tool call with JSON arguments.
    pub fn tool(name: &str, input: Value) -> Self {
        Self::default().and_tool(name, input)
    }

    /// One tool call with free text as its input, as Codex's `apply_patch` wants it.
    pub fn custom_tool(name: &str, input: &str) -> Self {
        let mut turn = Self::default();
        turn.tools.push(ToolCall::new(name, ToolInput::Text(input.to_owned())));
        turn
    }

    /// One call of a tool in a namespace, as Codex groups the tools of an MCP server.
    pub fn namespaced_tool(namespace: &str, name: &str, input: Value) -> Self {
        let mut turn = Self::default();
        let mut call = ToolCall::new(name, ToolInput::Json(input));
        call.namespace = Some(namespace.to_owned());
        turn.tools.push(call);
        turn
    }

    /// A turn that consists of a fault, as often as the fault says, and nothing after it.
    pub fn fault(fault: Fault) -> Self {
        Self { faults: vec![fault], only_faults: true, ..Self::default() }
    }

    /// Adds words before the tool calls.
    #[must_use]
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Adds a tool call.
    #[must_use]
    pub fn and_tool(mut self, name: &str, input: Value) -> Self {
        self.tools.push(ToolCall::new(name, ToolInput::Json(input)));
        self
    }

    /// Adds visible reasoning before everything else.
    #[must_use]
    pub fn thinking(mut self, text: impl Into<String>) -> Self {
        self.thinking = Some(text.into());
        self
    }

    /// The token counts of this answer.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Says nothing of token counts, in an answer that is no stream.
    #[must_use]
    pub fn without_usage(mut self) -> Self {
        self.hides_usage = true;
        self
    }

    /// Why the answer ends; by default `ToolUse` with tool calls and `EndTurn` without.
    #[must_use]
    pub fn stop_reason(mut self, reason: StopReason) -> Self {
        self.stop = Some(reason);
        self
    }

    /// Waits before the response headers.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Streams in pieces of `chars` characters with a pause of `pause` before each event.
    #[must_use]
    pub fn chunks(mut self, chars: usize, pause: Duration) -> Self {
        self.chunks = Chunks { chars: chars.max(1), pause };
        self
    }

    /// Answers with `fault` first (and with earlier such faults before it), then with the turn.
    #[must_use]
    pub fn after(mut self, fault: Fault) -> Self {
        self.faults.push(fault);
        self
    }

    /// Expects `text` in the request's body, else the answer is HTTP 400 and the log says so.
    #[must_use]
    pub fn needs(mut self, text: &str) -> Self {
        self.needs.push(text.to_owned());
        self
    }

    /// Expects that `text` is not in the request's body.
    #[must_use]
    pub fn forbids(mut self, text: &str) -> Self {
        self.forbids.push(text.to_owned());
        self
    }

    /// The first expectation that `body` does not meet, in words.
    pub(super) fn unmet(&self, body: &str) -> Option<String> {
        let missing = self.needs.iter().find(|text| !body.contains(text.as_str()));
        let present = self.forbids.iter().find(|text| body.contains(text.as_str()));
        missing
            .map(|text| format!("the request does not contain {text:?}"))
            .or_else(|| present.map(|text| format!("the request contains {text:?}")))
    }

    pub(super) fn stop(&self) -> StopReason {
        let usual = if self.tools.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
        self.stop.unwrap_or(usual)
    }

    /// The text block of the answer: an answer without tool calls always has one.
    pub(super) fn text_block(&self) -> Option<&str> {
        self.text.as_deref().or_else(|| self.tools.is_empty().then_some(""))
    }

    /// The fault for the request with number `served` (from 0) to this turn.
    fn fault_at(&self, served: u32) -> Option<&Fault> {
        let mut before = served;
        for fault in &self.faults {
            match fault.times {
                Some(times) if before >= times => before -= times,
                _ => return Some(fault),
            }
        }
        None
    }
}

/// How a stream is cut into events.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunks {
    pub(super) chars: usize,
    pub(super) pause: Duration,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { chars: 24, pause: Duration::ZERO }
    }
}

/// A call that the fake model makes.
#[derive(Debug, Clone)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) input: ToolInput,
}

impl ToolCall {
    fn new(name: &str, input: ToolInput) -> Self {
        Self { name: name.to_owned(), namespace: None, input }
    }
}

/// The input of a tool call.
#[derive(Debug, Clone)]
pub(super) enum ToolInput {
    /// A JSON object.
    Json(Value),
    /// Free text.
    Text(String),
}

impl ToolInput {
    /// The input as the text of a JSON value.
    pub(super) fn to_json_text(&self) -> String {
        self.to_json().to_string()
    }

    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Json(value) => value.clone(),
            Self::Text(text) => Value::String(text.clone()),
        }
    }
}

/// Something that goes wrong on purpose, once unless [`Fault::times`] says otherwise.
#[derive(Debug, Clone)]
pub struct Fault {
    pub(super) kind: FaultKind,
    pub(super) error_type: Option<String>,
    pub(super) message: String,
    pub(super) headers: Vec<(String, String)>,
    /// `None`: for ever.
    pub(super) times: Option<u32>,
}

/// The ways in which an API call goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Status(u16),
    Html(u16),
    SseError,
    Malformed,
    Truncate,
    Drop,
    DropBeforeHeaders,
    Hang(Duration),
    HangBeforeHeaders(Duration),
    Empty,
    Body,
}

impl Fault {
    fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            error_type: None,
            message: "fake model: injected fault".to_owned(),
            headers: Vec::new(),
            times: Some(1),
        }
    }

    /// An HTTP error with a body in the style of the API that was asked.
    pub fn status(code: u16) -> Self {
        Self::new(FaultKind::Status(code))
    }

    /// An HTTP error with an HTML page, as a proxy answers.
    pub fn html(code: u16) -> Self {
        Self::new(FaultKind::Html(code))
    }

    /// Status 200 and then an error event in the stream; [`Fault::error_type`] names the error.
    pub fn sse_error() -> Self {
        Self::new(FaultKind::SseError)
    }

    /// Status 200, a good first event, then bytes that are no events.
    pub fn malformed() -> Self {
        Self::new(FaultKind::Malformed)
    }

    /// Status 200, half of the events, then a clean end.
    pub fn truncate() -> Self {
        Self::new(FaultKind::Truncate)
    }

    /// Status 200, half of the events, then a TCP reset.
    pub fn drop_midway() -> Self {
        Self::new(FaultKind::Drop)
    }

    /// A TCP reset instead of an answer.
    pub fn drop_before_headers() -> Self {
        Self::new(FaultKind::DropBeforeHeaders)
    }

    /// Status 200, a first event, silence for `silence` or until the client leaves, then a reset.
    pub fn hang(silence: Duration) -> Self {
        Self::new(FaultKind::Hang(silence))
    }

    /// Silence for `silence` or until the client leaves, then a reset.
    pub fn hang_before_headers(silence: Duration) -> Self {
        Self::new(FaultKind::HangBeforeHeaders(silence))
    }

    /// Status 200 and a body without a byte.
    pub fn empty() -> Self {
        Self::new(FaultKind::Empty)
    }

    /// Status 200 and `body`, whatever it is, as the whole answer.
    pub fn body(body: impl Into<String>) -> Self {
        Self::new(FaultKind::Body).message(body)
    }

    /// The `type` of the error in the body, instead of the usual one for the status.
    #[must_use]
    pub fn error_type(mut self, name: &str) -> Self {
        self.error_type = Some(name.to_owned());
        self
    }

    /// The message of the error.
    #[must_use]
    pub fn message(mut self, text: impl Into<String>) -> Self {
        self.message = text.into();
        self
    }

    /// A response header, such as `retry-after`.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// How many requests meet the fault.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = Some(times);
        self
    }

    /// Every request from here on meets the fault.
    #[must_use]
    pub fn forever(mut self) -> Self {
        self.times = None;
        self
    }
}

/// A script and how far it has come.
#[derive(Debug)]
pub(super) struct Cursor {
    script: Script,
    next: usize,
    /// Requests already answered by the turn `next`.
    served: u32,
}

/// What answers one request.
#[derive(Debug)]
pub(super) struct Pick {
    /// The turn's number in the script; `None` past its end.
    pub(super) number: Option<usize>,
    pub(super) turn: Turn,
    pub(super) fault: Option<Fault>,
    pub(super) usage: Usage,
}

impl Cursor {
    pub(super) fn new(script: Script) -> Self {
        Self { script, next: 0, served: 0 }
    }

    pub(super) fn pick(&mut self) -> Pick {
        let (number, turn, fault) = match self.script.turns.get(self.next).cloned() {
            Some(turn) => {
                let number = self.next;
                let fault = turn.fault_at(self.served).cloned();
                self.advance(&turn, fault.is_some());
                (Some(number), turn, fault)
            }
            None => self.past_the_end(),
        };
        let usage = turn.usage.unwrap_or(self.script.usage);
        Pick { number, turn, fault, usage }
    }

    fn advance(&mut self, turn: &Turn, met_fault: bool) {
        self.served += 1;
        let stays = met_fault && (!turn.only_faults || turn.fault_at(self.served).is_some());
        if !stays {
            self.next += 1;
            self.served = 0;
        }
    }

    fn past_the_end(&self) -> (Option<usize>, Turn, Option<Fault>) {
        match (&self.script.on_exhausted, self.script.turns.last()) {
            (OnExhausted::RepeatLast, Some(last)) => {
                let fault = last.faults.last().filter(|_| last.only_faults).cloned();
                (Some(self.script.turns.len() - 1), last.clone(), fault)
            }
            (OnExhausted::Error | OnExhausted::RepeatLast, _) => {
                let fault = Fault::status(400).message("fake model: the script has no more turns");
                (None, Turn::default(), Some(fault))
            }
            (OnExhausted::Say(text), _) => (None, Turn::text(text), None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `t` for a text answer, the status for a fault, one word a request.
    fn walk(script: Script, requests: usize) -> String {
        let mut cursor = Cursor::new(script);
        let mut seen = Vec::new();
        for _ in 0..requests {
            let pick = cursor.pick();
            seen.push(match pick.fault.map(|fault| fault.kind) {
                Some(FaultKind::Status(code)) => code.to_string(),
                Some(other) => format!("{other:?}"),
                None => pick.turn.text.unwrap_or_default(),
            });
        }
        seen.join(" ")
    }

    #[test]
    fn turns_come_in_order_and_then_the_fallback() {
        assert_eq!(walk([Turn::text("a"), Turn::text("b")].into(), 4), "a b done done");
    }

    #[test]
    fn faults_come_before_their_turn() {
        let turn = Turn::text("ok").after(Fault::status(529)).after(Fault::status(401).times(2));
        assert_eq!(walk(turn.into(), 5), "529 401 401 ok done");
    }

    #[test]
    fn a_turn_that_is_a_fault_is_used_as_often_as_the_fault_says() {
        let script = [Turn::fault(Fault::status(500).times(2)), Turn::text("ok")];
        assert_eq!(walk(script.into(), 4), "500 500 ok done");
    }

    #[test]
    fn a_fault_for_ever_never_lets_the_next_turn_come() {
        let script = [Turn::fault(Fault::status(429).forever()), Turn::text("ok")];
        assert_eq!(walk(script.into(), 3), "429 429 429");
    }

    #[test]
    fn the_last_turn_repeats_or_an_error_follows() {
        let script = || Script::from(Turn::text("a").after(Fault::status(500)));
        assert_eq!(walk(script().on_exhausted(OnExhausted::RepeatLast), 4), "500 a a a");
        assert_eq!(walk(script().on_exhausted(OnExhausted::Error), 4), "500 a 400 400");
        let fault = Script::from(Turn::fault(Fault::status(401)));
        assert_eq!(walk(fault.on_exhausted(OnExhausted::RepeatLast), 3), "401 401 401");
        assert_eq!(walk(Script::default().on_exhausted(OnExhausted::RepeatLast), 1), "400");
    }

    #[test]
    fn expectations_name_what_is_missing_or_too_much() {
        let turn = Turn::text("a").needs("Write").forbids("secret");
        assert_eq!(turn.unmet("Write it"), None);
        assert_eq!(turn.unmet("x").unwrap(), "the request does not contain \"Write\"");
        assert_eq!(turn.unmet("Write secret").unwrap(), "the request contains \"secret\"");
    }
}
