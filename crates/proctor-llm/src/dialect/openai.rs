//! `OpenAI` Chat Completions.

use proctor_model::llm::Provider;
use serde_json::{Value, json};

use super::{End, Reading, Without, strange, sum};
use crate::{Ask, Tokens};

pub(super) fn request(model: &str, ask: &Ask<'_>, without: Without) -> Value {
    let mut body = json!({
        "model": model,
        "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
    });
    // OpenAI's newer models know only the newer name, and many gateways only the older one.
    let newer = without.max_tokens || Provider::of_model(model) == Some(Provider::OpenAi);
    body[if newer { "max_completion_tokens" } else { "max_tokens" }] = json!(ask.output_cap());
    if !without.temperature {
        body["temperature"] = json!(0);
    }
    if !without.schema {
        let schema = json!({"name": ask.schema.name, "strict": true, "schema": ask.schema.schema});
        body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
    }
    body
}

pub(super) fn read(body: &Value) -> Reading {
    Reading { usage: usage(&body["usage"]), end: end(body) }
}

fn usage(usage: &Value) -> Option<Tokens> {
    let input = sum(usage, &["prompt_tokens"])?;
    Some(Tokens { input, output: sum(usage, &["completion_tokens"])? })
}

fn end(body: &Value) -> End {
    let Some(choices) = body["choices"].as_array() else {
        return strange(body, "it has no choices");
    };
    // Nothing was chosen: an answer without a text.
    let Some(choice) = choices.first() else { return End::Whole(String::new()) };
    let message = &choice["message"];
    if let Some(refusal) = message["refusal"].as_str().filter(|refusal| !refusal.is_empty()) {
        return End::Withheld(refusal.to_owned());
    }
    match choice["finish_reason"].as_str() {
        // Some gateways say nothing.
        Some("stop") | None => End::Whole(text(&message["content"])),
        Some("length") => End::Cut,
        Some(other) => End::Withheld(other.to_owned()),
    }
}

/// A content is a text or a list of parts, of which some have a text.
fn text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::dialect::tests::asked;

    #[test]
    fn a_question() {
        insta::assert_json_snapshot!(asked(Dialect::OpenAi, Without::default()));
        let own = |model: &str| Provider::of_model(model) == Some(Provider::OpenAi);
        assert!(own("gpt-5-mini") && own("openai/o4-mini") && !own("olmo-2") && !own("llama-3"));
    }

    #[test]
    fn answers_and_what_is_none() {
        let end = |choice: Value| read(&json!({"choices": [choice]})).end;
        let parts = json!([{"type": "text", "text": "a"}, {"type": "other"}, {"text": "b"}]);
        for (choice, expected) in [
            (json!({"message": {"content": "x"}, "finish_reason": "stop"}), End::Whole("x".into())),
            (json!({"message": {"content": "x", "refusal": null}}), End::Whole("x".into())),
            (json!({"message": {"content": parts}}), End::Whole("ab".into())),
            (json!({"message": {"content": null}}), End::Whole(String::new())),
            (json!({"message": {"content": "x"}, "finish_reason": "length"}), End::Cut),
            (
                json!({"message": {"refusal": "no"}, "finish_reason": "stop"}),
                End::Withheld("no".into()),
            ),
            (json!({"finish_reason": "content_filter"}), End::Withheld("content_filter".into())),
            (json!({"finish_reason": "tool_calls"}), End::Withheld("tool_calls".into())),
        ] {
            assert_eq!(end(choice.clone()), expected, "{choice}");
        }
        assert_eq!(read(&json!({"choices": []})).end, End::Whole(String::new()));
    }

    #[test]
    fn counts_that_are_none() {
        let read = |usage: Value| read(&json!({"usage": usage})).usage;
        let whole = read(json!({"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 9}));
        assert_eq!(whole, Some(Tokens { input: 3, output: 2 }));
        assert_eq!(read(json!({"prompt_tokens": 3})), None);
        assert_eq!(read(json!({"prompt_tokens": -3, "completion_tokens": 2})), None);
        assert_eq!(read(json!({"prompt_tokens": 3.5, "completion_tokens": 2})), None);
    }
}
