//! How a Claude Code session ended: `result` lines and what surrounds them.
//!
//! `subtype` says `success` even for API errors, and the exit code is 0 even after an interrupt,
//! so the class comes from `is_error`, `terminal_reason` and `api_error_status`.

use proctor_model::{EventKind, Outcome, OutcomeClass, Usage};
use serde_json::Value;

use crate::adapter::SessionSummary;
use crate::conclude::conclude;
use crate::failure::{Failure, classify};
use crate::json::{self, Object};
use crate::stream::{Ending, Sink};

/// What the `init` and `result` lines of a stream add up to. There may be several of each: a
/// background task that ends after its `result` starts another turn.
#[derive(Default)]
pub(super) struct Account {
    /// `error` of the newest synthetic message since the newest `init`.
    pub(super) failure_code: Option<String>,
    /// Whether an `init` line came after the newest `result`.
    open: bool,
    last: Option<Ended>,
    /// All `result` lines of the newest process together.
    usage: Option<Usage>,
    /// Those of processes before it, where somebody keeps the lines of several in one file.
    past: Option<Usage>,
}

/// The newest `result` line.
struct Ended {
    outcome: Outcome,
    text: Option<String>,
    /// A reason to end that this adapter does not know and that is no error.
    strange_reason: Option<String>,
}

impl Account {
    /// A session or a further turn of it begins.
    pub(super) fn begin(&mut self) {
        self.open = true;
        self.failure_code = None;
    }

    /// Takes a `result` line.
    pub(super) fn result(&mut self, line: &Object, sink: &mut Sink<'_>) {
        if !line.contains_key("is_error") && !line.contains_key("subtype") {
            // Other programs have lines of this type as well.
            return sink.unknown("result");
        }
        self.count(line, sink);
        let ended = self.ended(line);
        let is_error = ended.outcome.class != OutcomeClass::Completed;
        sink.event(EventKind::Result { text: ended.text.clone(), is_error });
        self.last = Some(ended);
        self.open = false;
    }

    fn ended(&self, line: &Object) -> Ended {
        let is_error = says_error(line);
        let reason = json::text(line, "terminal_reason");
        let text = json::owned(line, "result");
        let outcome = self.outcome(line, is_error, reason);
        let completed = outcome.class == OutcomeClass::Completed;
        let strange_reason =
            reason.filter(|reason| completed && *reason != "completed").map(str::to_owned);
        Ended { outcome, text: text.filter(|_| completed), strange_reason }
    }

    fn outcome(&self, line: &Object, is_error: bool, reason: Option<&str>) -> Outcome {
        let message = message(line);
        if let Some(class) = class_of_reason(reason).or_else(|| self.class_of_subtype(line, reason))
        {
            return Outcome::new(class, message);
        }
        if let Some(class) = class_of_stop(json::text(line, "stop_reason")) {
            return Outcome::new(class, message);
        }
        if !is_error && !reason.is_some_and(is_failure) {
            return Outcome::new(OutcomeClass::Completed, "");
        }
        let (class, status) = classify(Failure {
            status: json::number(line, "api_error_status"),
            code: self.failure_code.as_deref(),
            text: &message,
        });
        Outcome::new(class, message).with_status(status)
    }

    /// Only for lines without a reason: those of older versions, and of sessions that never began.
    fn class_of_subtype(&self, line: &Object, reason: Option<&str>) -> Option<OutcomeClass> {
        if reason.is_some() {
            return None;
        }
        match json::text(line, "subtype")? {
            "error_max_turns" => Some(OutcomeClass::MaxTurns),
            "error_max_budget_usd" => Some(OutcomeClass::Budget),
            "error_during_execution" if !self.open => Some(OutcomeClass::UsageError),
            "error_during_execution" => Some(OutcomeClass::CutShort),
            _ => None,
        }
    }

    /// Adds the figures of a `result` line and emits those of its stretch.
    ///
    /// `usage` and `num_turns` are of this stretch alone, and `usage` leaves subagents and the
    /// answer that broke a budget out; `modelUsage` and `total_cost_usd` are of the whole process.
    fn count(&mut self, line: &Object, sink: &mut Sink<'_>) {
        let turns: Option<u64> = json::number(line, "num_turns");
        let cost_usd = line.get("total_cost_usd").and_then(Value::as_f64).and_then(Usage::dollars);
        let own = json::object(line, "usage").map(tokens_of_usage).unwrap_or_default();

        let models = tokens_of_models(line, "modelUsage");
        if self.is_of_another_process(own, models, cost_usd) {
            self.past = self.sum();
            self.usage = None;
        }
        let before = self.usage.unwrap_or_default();
        let stretch = tokens_of_models(line, "model_usage_since_last_result").unwrap_or(own);
        let cost_of_stretch = cost_usd.map(|cost| (cost - before.cost_usd.unwrap_or(0.0)).max(0.0));
        let stretch = Usage { turns, cost_usd: cost_of_stretch, ..stretch };
        if stretch == Usage::default() {
            return;
        }
        sink.usage(stretch);

        let sum = before.plus(Usage { turns, ..own });
        let whole = models.unwrap_or(sum);
        let cost_usd = cost_usd.or(before.cost_usd);
        self.usage = Some(Usage { turns: sum.turns, cost_usd, ..whole });
    }

    /// What a process says of its whole is never less than its stretches together.
    fn is_of_another_process(&self, own: Usage, whole: Option<Usage>, cost: Option<f64>) -> bool {
        let Some(before) = self.usage else { return false };
        let whole = whole.and_then(|whole| whole.output_tokens);
        let stretches = before.plus(own).output_tokens.filter(|_| before.output_tokens.is_some());
        whole.zip(stretches).is_some_and(|(whole, stretches)| whole < stretches)
            || cost.zip(before.cost_usd).is_some_and(|(cost, before)| cost < before)
    }

    /// What all processes used.
    fn sum(&self) -> Option<Usage> {
        match (self.past, self.usage) {
            (Some(past), Some(usage)) => Some(past.plus(usage)),
            (past, usage) => past.or(usage),
        }
    }
}

/// Ends the stream.
pub(super) fn finish(
    account: Account,
    mut warnings: Vec<String>,
    ending: &Ending<'_>,
) -> SessionSummary {
    let usage = account.sum();
    // A turn that began after the newest `result` has no account of its end.
    let last = account.last.filter(|_| !account.open);
    if let Some(reason) = last.as_ref().and_then(|last| last.strange_reason.as_deref()) {
        warnings.push(format!("the program gives `{reason}` as its reason to end"));
    }
    let (stated, text) = last.map(|last| (last.outcome, last.text)).unzip();
    let outcome = conclude(stated, ending, &mut warnings);
    let final_text = text.flatten().filter(|_| outcome.class == OutcomeClass::Completed);
    SessionSummary { outcome, usage, final_text, warnings }
}

fn class_of_reason(reason: Option<&str>) -> Option<OutcomeClass> {
    match reason? {
        "max_turns" => Some(OutcomeClass::MaxTurns),
        "budget_exhausted" => Some(OutcomeClass::Budget),
        // The last two: no room left before a request, and none left after compacting.
        "prompt_too_long" | "blocking_limit" | "rapid_refill_breaker" => {
            Some(OutcomeClass::ContextOverflow)
        }
        "turn_setup_failed" => Some(OutcomeClass::UsageError),
        reason if reason.starts_with("aborted") => Some(OutcomeClass::Interrupted),
        _ => None,
    }
}

/// Whether a `result` line may not be taken for a success: it says so, says it in a way that this
/// adapter does not understand, or is of a kind that is none.
fn says_error(line: &Object) -> bool {
    let said = line.get("is_error").is_some_and(|said| said.as_bool() != Some(false));
    said || json::text(line, "subtype").is_some_and(|subtype| subtype != "success")
}

/// Reasons that are failures even on a line that does not say `is_error`.
fn is_failure(reason: &str) -> bool {
    matches!(
        reason,
        "api_error"
            | "model_error"
            | "image_error"
            | "malformed_tool_use_exhausted"
            | "structured_output_retry_exhausted"
            | "tool_deferred_unavailable"
    )
}

fn class_of_stop(stop_reason: Option<&str>) -> Option<OutcomeClass> {
    match stop_reason? {
        "refusal" => Some(OutcomeClass::Refused),
        "max_tokens" => Some(OutcomeClass::MaxOutput),
        "model_context_window_exceeded" => Some(OutcomeClass::ContextOverflow),
        _ => None,
    }
}

/// The program's own words: `result`, else `errors`.
fn message(line: &Object) -> String {
    json::owned(line, "result").unwrap_or_else(|| json::strings(line, "errors").join("; "))
}

/// The tokens of a `usage` object.
pub(super) fn tokens_of_usage(usage: &Object) -> Usage {
    let details = json::object(usage, "output_tokens_details");
    Usage {
        input_tokens: json::number(usage, "input_tokens"),
        output_tokens: json::number(usage, "output_tokens"),
        cache_read_tokens: json::number(usage, "cache_read_input_tokens"),
        cache_write_tokens: json::number(usage, "cache_creation_input_tokens"),
        reasoning_tokens: details.and_then(|details| json::number(details, "thinking_tokens")),
        ..Usage::default()
    }
}

/// The tokens of all models together; `None` when there is none.
fn tokens_of_models(line: &Object, key: &str) -> Option<Usage> {
    let models = json::object(line, key)?.values().filter_map(Value::as_object);
    models
        .map(|model| Usage {
            input_tokens: json::number(model, "inputTokens"),
            output_tokens: json::number(model, "outputTokens"),
            cache_read_tokens: json::number(model, "cacheReadInputTokens"),
            cache_write_tokens: json::number(model, "cacheCreationInputTokens"),
            reasoning_tokens: json::number(model, "thinkingTokens"),
            ..Usage::default()
        })
        .reduce(Usage::plus)
}
