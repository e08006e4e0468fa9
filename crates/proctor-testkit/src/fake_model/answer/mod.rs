//! Turns as the bytes of an API's answer.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::{Value, json};

use super::request::{Api, Asked};
use super::script::{ToolCall, ToolInput, Turn, Usage};

/// A time for fields that must hold one: 2023-11-14, the same in every run.
const CREATED: u64 = 1_700_000_000;

/// An answer in both forms in which a client can ask for it.
pub(super) struct Answer {
    /// The body of an answer without a stream.
    pub(super) whole: Value,
    /// The events of a stream, each with its empty line.
    pub(super) frames: Vec<String>,
}

impl Answer {
    /// Takes the token counts out of [`whole`](Self::whole).
    pub(super) fn hide_usage(&mut self) {
        if let Value::Object(members) = &mut self.whole {
            members.retain(|key, _| key != "usage" && key != "usageMetadata");
        }
    }
}

/// What the builders need beside the turn.
pub(super) struct Wanted<'a> {
    pub(super) model: &'a str,
    pub(super) usage: Usage,
    pub(super) ids: Ids,
}

/// Ids that are unique on one server and the same in every run.
pub(super) struct Ids {
    request: u64,
    used: u32,
}

impl Ids {
    pub(super) fn new(request: u64) -> Self {
        Self { request, used: 0 }
    }

    fn next(&mut self, prefix: &str) -> String {
        self.used += 1;
        format!("{prefix}fake{:06}{:04}", self.request, self.used)
    }
}

/// Builds the answer of `api`, which must be one of those that scripts answer.
pub(super) fn build(api: Api, turn: &Turn, wanted: Wanted<'_>) -> Answer {
    match api {
        Api::Responses => responses::build(turn, wanted),
        Api::Chat => chat::build(turn, wanted),
        Api::Gemini => gemini::build(turn, &wanted),
        _ => messages::build(turn, wanted),
    }
}

/// The body of an HTTP error.
pub(super) fn error_body(api: Api, status: u16, kind: Option<&str>, message: &str) -> Value {
    if api == Api::Messages {
        let kind = kind.unwrap_or(match status {
            400 => "invalid_request_error",
            401 => "authentication_error",
            402 => "billing_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            _ => "api_error",
        });
        return json!({"type": "error", "error": {"type": kind, "message": message}});
    }
    if api == Api::Gemini {
        return gemini::error_body(status, kind, message);
    }
    let kind = kind.unwrap_or(match status {
        400 | 401 => "invalid_request_error",
        403 => "permission_denied",
        404 => "not_found",
        429 => "rate_limit_exceeded",
        503 | 529 => "server_overloaded",
        _ => "server_error",
    });
    let code = if status == 401 { "invalid_api_key" } else { kind };
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

/// The event that reports an error inside a stream.
pub(super) fn error_frame(api: Api, kind: Option<&str>, message: &str) -> String {
    match api {
        Api::Responses => {
            let error = json!({"code": kind.unwrap_or("server_error"), "message": message});
            let response = json!({"id": "resp_failed", "object": "response", "status": "failed",
                                  "output": [], "usage": null, "error": error});
            let name = "response.failed";
            frame(Some(name), &json!({"type": name, "response": response}))
        }
        Api::Messages => frame(Some("error"), &error_body(api, 529, kind, message)),
        _ => frame(None, &error_body(api, 500, kind, message)),
    }
}

fn frame(event: Option<&str>, data: &Value) -> String {
    let event = event.map(|name| format!("event: {name}\n")).unwrap_or_default();
    format!("{event}data: {data}\n\n")
}

/// `text` in pieces of `chars` characters; one empty piece for an empty text.
fn pieces(text: &str, chars: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(chars).map(|piece| piece.iter().collect()).collect()
}

/// `value` with the members of `changes` in it.
fn with(value: &Value, changes: Value) -> Value {
    let mut value = value.clone();
    if let (Value::Object(members), Value::Object(changes)) = (&mut value, changes) {
        members.extend(changes);
    }
    value
}

/// The turn with `${cwd}`, `${prompt}` and `${last_tool_result}` filled in.
pub(super) fn substitute(mut turn: Turn, asked: &Asked) -> Turn {
    let fill = |text: &str| substitute_text(text, asked);
    turn.text = turn.text.as_deref().map(fill);
    turn.thinking = turn.thinking.as_deref().map(fill);
    for ToolCall { input, .. } in &mut turn.tools {
        match input {
            ToolInput::Json(value) => substitute_value(value, asked),
            ToolInput::Text(text) => *text = fill(text),
        }
    }
    turn
}

fn substitute_value(value: &mut Value, asked: &Asked) {
    match value {
        Value::String(text) => *text = substitute_text(text, asked),
        Value::Array(items) => items.iter_mut().for_each(|item| substitute_value(item, asked)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| substitute_value(member, asked));
        }
        _ => {}
    }
}

fn substitute_text(text: &str, asked: &Asked) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        let end = from.find('}').map_or(from.len(), |end| end + 1);
        let (name, after) = from.split_at(end);
        match before.strip_suffix('$') {
            Some(before) => out.extend([before, name]),
            None => out.extend([
                before,
                match name {
                    "${cwd}" => &asked.cwd,
                    "${prompt}" => &asked.prompt,
                    "${last_tool_result}" => {
                        asked.tool_results.last().map_or("", |result| result.text.as_str())
                    }
                    unknown => unknown,
                },
            ]),
        }
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_filled_in_everywhere_and_others_stay() {
        let asked = Asked { cwd: "/w".into(), prompt: "hi".into(), ..Asked::default() };
        let turn =
            Turn::tool("T", json!({"a": ["${cwd}/f", {"b": "$${cwd} ${prompt}${x} ${"}], "c": 1}));
        let turn = substitute(turn.and_text("${cwd}${last_tool_result}!"), &asked);
        assert_eq!(turn.text.as_deref(), Some("/w!"));
        let input = turn.tools[0].input.to_json_text();
        assert_eq!(input, r#"{"a":["/w/f",{"b":"${cwd} hi${x} ${"}],"c":1}"#);
    }

    #[test]
    fn pieces_never_cut_a_character() {
        assert_eq!(pieces("aé😀b", 2), ["aé", "😀b"]);
        assert_eq!(pieces("", 2), [""]);
    }

    #[test]
    fn errors_speak_the_dialect_that_was_asked() {
        let kind = |api, status| error_body(api, status, None, "m")["error"]["type"].clone();
        assert_eq!(kind(Api::Messages, 529), "overloaded_error");
        assert_eq!(kind(Api::Responses, 429), "rate_limit_exceeded");
        let named = error_body(Api::Responses, 429, Some("usage_limit_reached"), "m");
        assert_eq!(named["error"]["code"], "usage_limit_reached");
        assert!(error_frame(Api::Responses, None, "m").starts_with("event: response.failed\n"));
    }
}
