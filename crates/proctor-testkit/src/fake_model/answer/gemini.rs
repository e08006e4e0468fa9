//! Gemini's `generateContent`.

use serde_json::{Value, json};

use super::{Answer, Wanted};
use crate::fake_model::script::{StopReason, Turn, Usage};

pub(super) fn build(turn: &Turn, wanted: &Wanted<'_>) -> Answer {
    let mut parts = Vec::new();
    if let Some(thinking) = &turn.thinking {
        parts.push(json!({"text": thinking, "thought": true}));
    }
    if let Some(text) = turn.text_block() {
        parts.push(json!({"text": text}));
    }
    for tool in &turn.tools {
        parts.push(json!({"functionCall": {"name": tool.name, "args": tool.input.to_json()}}));
    }
    let content = json!({"role": "model", "parts": parts});
    let whole = json!({
        "candidates": [{"index": 0, "content": content, "finishReason": finish(turn.stop())}],
        "usageMetadata": usage(wanted.usage),
        "modelVersion": wanted.model,
    });
    Answer { whole, frames: Vec::new() }
}

/// The body of an HTTP error.
pub(super) fn error_body(status: u16, kind: Option<&str>, message: &str) -> Value {
    let kind = kind.unwrap_or(match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    });
    json!({"error": {"code": status, "message": message, "status": kind}})
}

fn finish(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn | StopReason::ToolUse => "STOP",
        StopReason::MaxTokens => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
    }
}

/// Gemini counts its thinking beside the answer.
fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "promptTokenCount": input,
        "candidatesTokenCount": usage.output.saturating_sub(usage.reasoning),
        "thoughtsTokenCount": usage.reasoning,
        "totalTokenCount": input + usage.output,
    })
}
