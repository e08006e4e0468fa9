//! What a gold answer says that contract version 1 can check.

use serde_json::Value;

/// Words of the longest gold answer that is looked for in an answer. Longer ones are sentences,
/// which right answers put in other words: looked for, they would fail nearly every right answer.
pub(super) const MAX_WORDS: usize = 6;

/// The value to look for, from a gold answer.
///
/// A full stop at the end goes, since an answer may go on. Nothing else is changed: no list is
/// split, no date rewritten.
pub(super) fn anchor(gold: &Value) -> Result<Value, &'static str> {
    let text = match gold {
        Value::String(text) => text.trim(),
        Value::Number(_) | Value::Bool(_) => return Ok(gold.clone()),
        Value::Null => return Err("there is no gold answer; without a check the run is `unknown`"),
        Value::Array(_) | Value::Object(_) => {
            return Err("the gold answer is no scalar; without a check the run is `unknown`");
        }
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.is_empty() {
        return Err("the gold answer is blank; without a check the run is `unknown`");
    }
    if text.split_whitespace().count() > MAX_WORDS {
        return Err("the gold answer is a sentence, which no right answer repeats; list short \
                    values under `mustContain`, without a check the run is `unknown`");
    }
    Ok(Value::from(text))
}

/// Ways to say that one does not know. An answer abstains when it contains one of them; lower case,
/// with a straight apostrophe.
pub(super) const ABSTENTIONS: [&str; 30] = [
    "i don't know",
    "i do not know",
    "i'm not sure",
    "i am not sure",
    "i don't have",
    "i do not have",
    "i have no information",
    "i have no record",
    "i couldn't find",
    "i could not find",
    "i can't find",
    "i cannot find",
    "can't determine",
    "cannot determine",
    "can't be determined",
    "cannot be determined",
    "cannot answer",
    "can't answer",
    "no information about",
    "no information on",
    "not enough information",
    "isn't enough information",
    "information provided is not enough",
    "insufficient information",
    "not mentioned",
    "did not mention",
    "didn't mention",
    "haven't mentioned",
    "have not mentioned",
    "no mention of",
];

/// How `answer` says that it does not know, in the words of the answer.
pub(super) fn abstention(answer: &str) -> Option<String> {
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = words.replace('’', "'").to_ascii_lowercase();
    let phrase = ABSTENTIONS.iter().find(|phrase| plain.contains(**phrase))?;
    // The apostrophe that the answer has: quotes are not folded when texts are compared.
    let curly = phrase.replace('\'', "’");
    let lower = words.to_ascii_lowercase();
    [(*phrase).to_owned(), curly].into_iter().find(|phrase| lower.contains(phrase.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn anchors_are_short() {
        assert_eq!(anchor(&json!("8 days.")), Ok(json!("8 days")));
        assert_eq!(anchor(&json!(" the harbour ")), Ok(json!("the harbour")));
        assert_eq!(anchor(&json!(2022)), Ok(json!(2022)));
        assert_eq!(anchor(&json!("U.S.A.")), Ok(json!("U.S.A")));
        for gold in
            [json!(null), json!(["a"]), json!(" . "), json!("One two three four five six seven")]
        {
            assert!(anchor(&gold).is_err(), "{gold}");
        }
    }

    #[test]
    fn abstentions_are_found_in_the_words_of_the_answer() {
        for (answer, phrase) in [
            ("I don't know.", Some("i don't know")),
            ("Sorry, I don’t\nknow that", Some("i don’t know")),
            ("There is NOT ENOUGH information.", Some("not enough information")),
            ("Four of them", None),
            ("", None),
        ] {
            assert_eq!(abstention(answer).as_deref(), phrase, "{answer}");
        }
    }
}
