//! Anthropic's Messages.

use serde_json::{Value, json};

use super::{End, Reading, Without, strange, sum};
use crate::{Ask, Tokens};

/// Words of JSON Schema that the API refuses.
const REFUSED: [&str; 9] = [
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
];

pub(super) fn request(model: &str, ask: &Ask<'_>, without: Without) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": ask.output_cap(),
        "system": ask.system,
        "messages": [{"role": "user", "content": ask.user}],
    });
    if !without.temperature {
        body["temperature"] = json!(0);
    }
    if !without.schema {
        let format = json!({"type": "json_schema", "schema": accepted(&ask.schema.schema)});
        body["output_config"] = json!({"format": format});
    }
    body
}

/// The schema without the words that would be refused.
fn accepted(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, _)| !REFUSED.contains(&key.as_str()));
            Value::Object(
                kept.map(|(key, value)| {
                    // The names of properties are no words of JSON Schema.
                    let value = match (key.as_str(), value) {
                        ("properties", Value::Object(named)) => {
                            let named = named.iter();
                            Value::Object(
                                named.map(|(key, value)| (key.clone(), accepted(value))).collect(),
                            )
                        }
                        _ => accepted(value),
                    };
                    (key.clone(), value)
                })
                .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(accepted).collect()),
        other => other.clone(),
    }
}

pub(super) fn read(body: &Value) -> Reading {
    Reading { usage: usage(&body["usage"]), end: end(body) }
}

/// Tokens that a cache served or stored are counted apart.
fn usage(usage: &Value) -> Option<Tokens> {
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
    Some(Tokens { input: sum(usage, &input)?, output: sum(usage, &["output_tokens"])? })
}

fn end(body: &Value) -> End {
    let Some(blocks) = body["content"].as_array() else {
        return strange(body, "it has no content");
    };
    match body["stop_reason"].as_str() {
        Some("end_turn" | "stop_sequence") => {
            let texts = blocks.iter().filter(|block| block["type"] == "text");
            End::Whole(texts.filter_map(|block| block["text"].as_str()).collect())
        }
        Some("max_tokens" | "model_context_window_exceeded") => End::Cut,
        Some(other) => End::Withheld(other.to_owned()),
        None => strange(body, "it does not say why it ends"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;
    use crate::dialect::tests::asked;

    #[test]
    fn a_question() {
        insta::assert_json_snapshot!(asked(Dialect::Anthropic, Without::default()));
    }

    #[test]
    fn properties_may_have_the_names_of_refused_words() {
        let schema = json!({"properties": {"minimum": {"type": "number", "minimum": 0}},
                            "anyOf": [{"maxItems": 3}]});
        let expected = json!({"properties": {"minimum": {"type": "number"}}, "anyOf": [{}]});
        assert_eq!(accepted(&schema), expected);
    }

    #[test]
    fn answers_and_what_is_none() {
        let content = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"},
                             {"type": "text", "text": "b"}]);
        for (reason, expected) in [
            (json!("end_turn"), End::Whole("ab".into())),
            (json!("max_tokens"), End::Cut),
            (json!("refusal"), End::Withheld("refusal".into())),
            (json!("tool_use"), End::Withheld("tool_use".into())),
            (json!(null), End::Strange("it does not say why it ends".into())),
        ] {
            let body = json!({"content": content, "stop_reason": reason});
            assert_eq!(read(&body).end, expected, "{reason}");
        }
        let usage = json!({"input_tokens": 1, "cache_read_input_tokens": 4, "output_tokens": 2,
                           "cache_creation_input_tokens": null});
        let expected = Some(Tokens { input: 5, output: 2 });
        assert_eq!(read(&json!({"usage": usage})).usage, expected);
    }
}
