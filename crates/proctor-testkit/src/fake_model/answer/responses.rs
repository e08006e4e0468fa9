//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::{Answer, CREATED, Ids, Wanted, frame, pieces, with};
use crate::fake_model::script::{StopReason, ToolCall, ToolInput, Turn, Usage};

pub(super) fn build(turn: &Turn, mut wanted: Wanted<'_>) -> Answer {
    let base = json!({
        "id": wanted.ids.next("resp_"), "object": "response", "created_at": CREATED, "status": "in_progress",
        "model": wanted.model, "output": [], "error": null, "incomplete_details": null, "usage": null,
        "parallel_tool_calls": true, "tool_choice": "auto", "tools": [], "metadata": {},
    });
    let mut stream = Stream { events: Vec::new(), output: Vec::new(), chars: turn.chunks.chars };
    stream.add("response.created", json!({"response": base}));
    stream.add("response.in_progress", json!({"response": base}));
    if let Some(thinking) = &turn.thinking {
        stream.reasoning(thinking, &mut wanted.ids);
    }
    if let Some(text) = turn.text_block() {
        stream.message(text, &mut wanted.ids);
    }
    for tool in &turn.tools {
        stream.tool(tool, &mut wanted.ids);
    }
    let done =
        json!({"status": "completed", "output": stream.output, "usage": usage(wanted.usage)});
    let mut whole = with(&base, done);
    let mut end = "response.completed";
    if turn.stop() == StopReason::MaxTokens {
        let cut =
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}});
        whole = with(&whole, cut);
        end = "response.incomplete";
    }
    stream.add(end, json!({"response": whole}));
    let frames = stream.events.iter().map(|event| frame(event["type"].as_str(), event)).collect();
    Answer { whole, frames }
}

struct Stream {
    events: Vec<Value>,
    output: Vec<Value>,
    chars: usize,
}

impl Stream {
    fn add(&mut self, kind: &str, data: Value) {
        let head = json!({"type": kind, "sequence_number": self.events.len()});
        self.events.push(with(&head, data));
    }

    /// Wraps `inner` events of `item` into those that open it as `opened` and close it.
    fn item(&mut self, item: Value, opened: Value, inner: impl FnOnce(&mut Self, &Value)) {
        let index = self.output.len();
        let opened = with(&item, opened);
        self.add("response.output_item.added", json!({"output_index": index, "item": opened}));
        let place = json!({"item_id": item["id"], "output_index": index});
        inner(self, &place);
        self.add("response.output_item.done", json!({"output_index": index, "item": item}));
        self.output.push(item);
    }

    /// Sends `text` in pieces as `KIND.delta` and then whole as `KIND.done`.
    fn text(&mut self, kind: &str, place: &Value, field: &str, text: &str) {
        for piece in pieces(text, self.chars) {
            self.add(&format!("{kind}.delta"), with(place, json!({"delta": piece})));
        }
        self.add(&format!("{kind}.done"), with(place, json!({field: text})));
    }

    fn reasoning(&mut self, thinking: &str, ids: &mut Ids) {
        let item = json!({"id": ids.next("rs_"), "type": "reasoning", "encrypted_content": null,
                          "summary": [{"type": "summary_text", "text": thinking}]});
        self.item(item, json!({"summary": []}), |stream, place| {
            let place = with(place, json!({"summary_index": 0}));
            let part = json!({"part": {"type": "summary_text", "text": ""}});
            stream.add("response.reasoning_summary_part.added", with(&place, part));
            stream.text("response.reasoning_summary_text", &place, "text", thinking);
        });
    }

    fn message(&mut self, text: &str, ids: &mut Ids) {
        let part = json!({"type": "output_text", "text": text, "annotations": [], "logprobs": []});
        let item = json!({"id": ids.next("msg_"), "type": "message", "role": "assistant",
                          "status": "completed", "content": [part]});
        self.item(item, json!({"status": "in_progress", "content": []}), |stream, place| {
            let place = with(place, json!({"content_index": 0}));
            let empty = json!({"part": {"type": "output_text", "text": "", "annotations": []}});
            stream.add("response.content_part.added", with(&place, empty));
            stream.text("response.output_text", &place, "text", text);
            stream.add("response.content_part.done", with(&place, json!({"part": part})));
        });
    }

    fn tool(&mut self, tool: &ToolCall, ids: &mut Ids) {
        let (kind, id, field, event, input) = match &tool.input {
            ToolInput::Text(text) => {
                let event = "response.custom_tool_call_input";
                ("custom_tool_call", ids.next("ctc_"), "input", event, text.clone())
            }
            ToolInput::Json(value) => {
                let event = "response.function_call_arguments";
                ("function_call", ids.next("fc_"), "arguments", event, value.to_string())
            }
        };
        let mut item = json!({"id": id, "type": kind, "status": "completed",
                              "call_id": ids.next("call_"), "name": tool.name, field: input});
        if let Some(namespace) = &tool.namespace {
            item["namespace"] = json!(namespace);
        }
        self.item(item, json!({"status": "in_progress", field: ""}), |stream, place| {
            stream.text(event, place, field, &input);
        });
    }
}

fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": input + usage.output,
    })
}
