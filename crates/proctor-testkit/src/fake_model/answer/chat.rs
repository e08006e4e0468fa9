//! `OpenAI` Chat Completions.

use serde_json::{Value, json};

use super::{Answer, CREATED, Wanted, frame, pieces, with};
use crate::fake_model::script::{StopReason, Turn, Usage};

pub(super) fn build(turn: &Turn, mut wanted: Wanted<'_>) -> Answer {
    let calls: Vec<Value> = turn
        .tools
        .iter()
        .map(|tool| {
            json!({"id": wanted.ids.next("call_"), "type": "function",
                   "function": {"name": tool.name, "arguments": tool.input.to_json_text()}})
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": turn.text_block()});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let head = json!({"id": wanted.ids.next("chatcmpl-"), "object": "chat.completion.chunk",
                      "created": CREATED, "model": wanted.model});
    let finish = finish(turn.stop());
    let usage = usage(wanted.usage);
    let choice = json!({"index": 0, "message": message, "finish_reason": finish, "logprobs": null});
    let whole =
        with(&head, json!({"object": "chat.completion", "choices": [choice], "usage": usage}));

    let mut frames = Vec::new();
    for delta in deltas(turn, &calls) {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        frames.push(frame(None, &with(&head, json!({"choices": [choice]}))));
    }
    let last = json!({"index": 0, "delta": {}, "finish_reason": finish});
    frames.push(frame(None, &with(&head, json!({"choices": [last]}))));
    frames.push(frame(None, &with(&head, json!({"choices": [], "usage": usage}))));
    frames.push("data: [DONE]\n\n".to_owned());
    Answer { whole, frames }
}

fn deltas(turn: &Turn, calls: &[Value]) -> Vec<Value> {
    let chars = turn.chunks.chars;
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    if let Some(thinking) = &turn.thinking {
        let parts = pieces(thinking, chars).into_iter();
        deltas.extend(parts.map(|piece| json!({"reasoning_content": piece})));
    }
    if let Some(text) = &turn.text {
        deltas.extend(pieces(text, chars).into_iter().map(|piece| json!({"content": piece})));
    }
    for (index, call) in calls.iter().enumerate() {
        let name = &call["function"]["name"];
        let opened = json!({"index": index, "function": {"name": name, "arguments": ""}});
        deltas.push(json!({"tool_calls": [with(call, opened)]}));
        for piece in pieces(call["function"]["arguments"].as_str().unwrap_or_default(), chars) {
            let part = json!({"index": index, "function": {"arguments": piece}});
            deltas.push(json!({"tool_calls": [part]}));
        }
    }
    deltas
}

fn finish(reason: StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
    }
}

fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    })
}
