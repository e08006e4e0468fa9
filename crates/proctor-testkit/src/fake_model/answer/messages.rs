//! Anthropic Messages.

use serde_json::{Value, json};

use super::{Answer, Wanted, frame, pieces, with};
use crate::fake_model::script::{StopReason, Turn, Usage};

pub(super) fn build(turn: &Turn, mut wanted: Wanted<'_>) -> Answer {
    let mut blocks = Vec::new();
    if let Some(thinking) = &turn.thinking {
        blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": "ZmFrZQ=="}));
    }
    if let Some(text) = turn.text_block() {
        blocks.push(json!({"type": "text", "text": text}));
    }
    for tool in &turn.tools {
        blocks.push(json!({"type": "tool_use", "id": wanted.ids.next("toolu_"), "name": tool.name,
                           "input": tool.input.to_json()}));
    }
    let usage = usage(wanted.usage);
    let whole = json!({
        "id": wanted.ids.next("msg_"), "type": "message", "role": "assistant", "model": wanted.model,
        "content": blocks, "stop_reason": stop(turn.stop()), "stop_sequence": null, "usage": usage,
    });
    let frames = events(&whole, turn.chunks.chars).iter().map(named).collect();
    Answer { whole, frames }
}

fn events(whole: &Value, chars: usize) -> Vec<Value> {
    let usage = &whole["usage"];
    let opening = json!({"content": [], "stop_reason": null, "usage": with(usage, json!({"output_tokens": 1}))});
    let mut events = vec![json!({"type": "message_start", "message": with(whole, opening)})];
    for (index, block) in whole["content"].as_array().into_iter().flatten().enumerate() {
        let (start, deltas) = block_parts(block, chars);
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        if index == 0 {
            events.push(json!({"type": "ping"}));
        }
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let delta = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    events
}

/// The empty block that opens the stream of `block`, and the deltas that fill it.
fn block_parts(block: &Value, chars: usize) -> (Value, Vec<Value>) {
    let deltas = |kind: &str, field: &str, text: &str| -> Vec<Value> {
        pieces(text, chars).into_iter().map(|piece| json!({"type": kind, field: piece})).collect()
    };
    match block["type"].as_str() {
        Some("thinking") => {
            let mut parts = deltas(
                "thinking_delta",
                "thinking",
                block["thinking"].as_str().unwrap_or_default(),
            );
            parts.push(json!({"type": "signature_delta", "signature": block["signature"]}));
            (json!({"type": "thinking", "thinking": "", "signature": ""}), parts)
        }
        Some("tool_use") => {
            let input = block["input"].to_string();
            (with(block, json!({"input": {}})), deltas("input_json_delta", "partial_json", &input))
        }
        _ => {
            let text = block["text"].as_str().unwrap_or_default();
            (json!({"type": "text", "text": ""}), deltas("text_delta", "text", text))
        }
    }
}

fn named(event: &Value) -> String {
    frame(event["type"].as_str(), event)
}

fn usage(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {"ephemeral_5m_input_tokens": usage.cache_write, "ephemeral_1h_input_tokens": 0},
        "output_tokens": usage.output, "service_tier": "standard",
    })
}

fn stop(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn => "end_turn",
        StopReason::ToolUse => "tool_use",
        StopReason::MaxTokens => "max_tokens",
        StopReason::Refusal => "refusal",
    }
}
