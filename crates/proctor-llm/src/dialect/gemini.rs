//! Gemini's `generateContent`. The model stands in the URL.

use serde_json::{Value, json};

use super::{End, Reading, Without, strange, sum};
use crate::{Ask, Tokens};

pub(super) fn request(ask: &Ask<'_>, without: Without) -> Value {
    let mut generation = json!({"maxOutputTokens": ask.output_cap()});
    if !without.temperature {
        generation["temperature"] = json!(0);
    }
    if !without.schema {
        generation["responseMimeType"] = json!("application/json");
        generation["responseJsonSchema"] = ask.schema.schema.clone();
    }
    json!({
        "systemInstruction": {"parts": [{"text": ask.system}]},
        "contents": [{"role": "user", "parts": [{"text": ask.user}]}],
        "generationConfig": generation,
    })
}

pub(super) fn read(body: &Value) -> Reading {
    Reading { usage: usage(&body["usageMetadata"]), end: end(body) }
}

/// Thinking is counted apart, and left out where there was none.
fn usage(usage: &Value) -> Option<Tokens> {
    let input = sum(usage, &["promptTokenCount", "toolUsePromptTokenCount"])?;
    let written = ["candidatesTokenCount", "thoughtsTokenCount"];
    let written = written.iter().filter_map(|key| usage[*key].as_u64());
    let output = written.fold(0, u64::saturating_add);
    // Whatever else is in the total was written too.
    let total = usage["totalTokenCount"].as_u64().unwrap_or(0);
    Some(Tokens { input, output: output.max(total.saturating_sub(input)) })
}

fn end(body: &Value) -> End {
    if let Some(reason) = body["promptFeedback"]["blockReason"].as_str() {
        return End::Withheld(reason.to_owned());
    }
    let Some(candidates) = body["candidates"].as_array() else {
        return strange(body, "it has no candidates");
    };
    let Some(candidate) = candidates.first() else { return End::Whole(String::new()) };
    match candidate["finishReason"].as_str() {
        Some("STOP") => {
            let parts = candidate["content"]["parts"].as_array().into_iter().flatten();
            let said = parts.filter(|part| part["thought"] != true);
            End::Whole(said.filter_map(|part| part["text"].as_str()).collect())
        }
        Some("MAX_TOKENS") => End::Cut,
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
        insta::assert_json_snapshot!(asked(Dialect::Gemini, Without::default()));
    }

    #[test]
    fn answers_and_what_is_none() {
        let parts = json!([{"text": "hm", "thought": true}, {"text": "a"}, {"text": "b"}]);
        for (reason, expected) in [
            (json!("STOP"), End::Whole("ab".into())),
            (json!("MAX_TOKENS"), End::Cut),
            (json!("SAFETY"), End::Withheld("SAFETY".into())),
            (json!(null), End::Strange("it does not say why it ends".into())),
        ] {
            let candidate = json!({"content": {"parts": parts}, "finishReason": reason});
            assert_eq!(read(&json!({"candidates": [candidate]})).end, expected, "{reason}");
        }
        let blocked =
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "candidates": []});
        assert_eq!(read(&blocked).end, End::Withheld("PROHIBITED_CONTENT".into()));
        assert_eq!(read(&json!({"candidates": []})).end, End::Whole(String::new()));
    }

    #[test]
    fn thinking_and_all_else_in_the_total_is_paid_for() {
        let read = |usage: Value| read(&json!({"usageMetadata": usage})).usage;
        let thinking =
            json!({"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 4});
        assert_eq!(read(thinking), Some(Tokens { input: 3, output: 6 }));
        let total =
            json!({"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 30});
        assert_eq!(read(total), Some(Tokens { input: 3, output: 27 }));
        assert_eq!(read(json!({"totalTokenCount": 30})), None);
    }
}
