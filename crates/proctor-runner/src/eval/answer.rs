//! Answers of runners: read, and held against what was asked.

use std::collections::BTreeSet;

use proctor_model::eval::protocol::{Arm, PROTOCOL_VERSION, Response};
use serde::de::DeserializeOwned;

use super::runner::Call;

/// The most that an answer may take: 64 MiB.
pub const MAX_ANSWER_BYTES: usize = 64 << 20;

/// Characters of an answer that a message shows.
const SHOWN: usize = 60;

/// Why what a runner printed is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Nothing.
    #[error("the runner printed nothing; it must print its answer, as JSON, to standard output")]
    Nothing,
    /// More than [`MAX_ANSWER_BYTES`].
    #[error(
        "the runner printed more than {} MiB; it should shorten the `output` of its results",
        MAX_ANSWER_BYTES >> 20
    )]
    TooLong,
    /// The beginning of an answer.
    #[error("the runner printed half an answer: it ends after {bytes} bytes, within the JSON")]
    Half {
        /// How much there is.
        bytes: usize,
    },
    /// No JSON, or more than one document.
    #[error("the runner printed no JSON: {reason} at line {line}, column {column} (`{excerpt}`)")]
    NoJson {
        /// What the parser says.
        reason: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What stands there.
        excerpt: String,
    },
    /// A number that is none, or is too large to be one.
    #[error(
        "the runner printed a number that is not finite at line {line}, column {column} \
         (`{excerpt}`)"
    )]
    NotFinite {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What stands there.
        excerpt: String,
    },
    /// JSON that has another shape.
    #[error("the runner's answer has another shape than the protocol's: {reason}")]
    Shape {
        /// What the parser says, with the place.
        reason: String,
    },
    /// Another version of the protocol.
    #[error(
        "the runner answered in version {version} of the protocol; this is version \
         {PROTOCOL_VERSION}"
    )]
    Version {
        /// The version.
        version: i64,
    },
    /// A result for a case that was not asked for.
    #[error("results[{index}]: there is no case `{case}`")]
    UnknownCase {
        /// Which result, from 0.
        index: usize,
        /// What it names.
        case: String,
    },
    /// A result for an arm that there is not.
    #[error("results[{index}]: there is no arm `{arm}`, only `with` and `without`")]
    UnknownArm {
        /// Which result, from 0.
        index: usize,
        /// What it names.
        arm: String,
    },
    /// A figure that cannot be.
    #[error("{field} is {value}; it must be {must}")]
    Figure {
        /// Where.
        field: String,
        /// What stands there.
        value: String,
        /// What could.
        must: &'static str,
    },
}

/// Reads the answer that stands in `bytes`, all of them.
pub fn read(bytes: &[u8]) -> Result<Response, AnswerError> {
    parse(bytes)
}

/// Reads the document that stands in `bytes`, all of them.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, AnswerError> {
    if bytes.len() > MAX_ANSWER_BYTES {
        return Err(AnswerError::TooLong);
    }
    if bytes.trim_ascii().is_empty() {
        return Err(AnswerError::Nothing);
    }
    // What is derived for a structure reads a list too, by position.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(AnswerError::Shape { reason: "a list, expected an object".to_owned() });
    }
    serde_json::from_slice(bytes).map_err(|error| explain(bytes, &error))
}

fn explain(bytes: &[u8], error: &serde_json::Error) -> AnswerError {
    let (line, column) = (error.line(), error.column());
    let text = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = text.strip_suffix(&place).unwrap_or(&text).to_owned();
    if error.is_eof() {
        return AnswerError::Half { bytes: bytes.len() };
    }
    if error.is_data() {
        return AnswerError::Shape { reason: text };
    }
    let excerpt = excerpt(bytes, line, column);
    let names_none = ["NaN", "Infinity", "-Infinity"].iter().any(|name| excerpt.starts_with(name));
    if names_none || reason == "number out of range" {
        return AnswerError::NotFinite { line, column, excerpt };
    }
    AnswerError::NoJson { reason, line, column, excerpt }
}

/// What stands at a place, as one line. A minus before the place belongs to it.
fn excerpt(bytes: &[u8], line: usize, column: usize) -> String {
    let line = bytes.split(|byte| *byte == b'\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let mut start = column.saturating_sub(1).min(line.len());
    if start > 0 && line.get(start - 1) == Some(&b'-') {
        start -= 1;
    }
    let end = line.len().min(start + SHOWN * 4);
    let text = String::from_utf8_lossy(line.get(start..end).unwrap_or_default());
    text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Holds an answer against its call: version, cases, arms, and figures that can be.
pub fn check(response: &Response, call: &Call<'_>) -> Result<(), AnswerError> {
    if response.version != PROTOCOL_VERSION {
        return Err(AnswerError::Version { version: response.version });
    }
    amount("cost_usd", response.cost_usd)?;
    let known: BTreeSet<&str> = call.cases.iter().map(|case| case.id.as_str()).collect();
    for (index, result) in response.results.iter().enumerate() {
        if !known.contains(result.case.as_str()) {
            return Err(AnswerError::UnknownCase { index, case: shown(&result.case) });
        }
        if Arm::named(&result.arm).is_none() {
            return Err(AnswerError::UnknownArm { index, arm: shown(&result.arm) });
        }
        let field = |name: &str| format!("results[{index}].{name}");
        amount(&field("cost_usd"), result.cost_usd)?;
        for (name, tokens) in
            [("input_tokens", result.input_tokens), ("output_tokens", result.output_tokens)]
        {
            if let Some(value) = tokens.filter(|tokens| *tokens < 0) {
                let (field, value) = (field(name), value.to_string());
                return Err(AnswerError::Figure { field, value, must: "0 or more" });
            }
        }
        if let Some(score) = result.rubric_score.filter(|score| !(0.0..=1.0).contains(score)) {
            let (field, value) = (field("rubric_score"), score.to_string());
            return Err(AnswerError::Figure { field, value, must: "from 0 to 1" });
        }
    }
    Ok(())
}

fn amount(field: &str, value: Option<f64>) -> Result<(), AnswerError> {
    match value {
        Some(value) if !value.is_finite() || value < 0.0 => Err(AnswerError::Figure {
            field: field.to_owned(),
            value: value.to_string(),
            must: "0 or more US dollars",
        }),
        _ => Ok(()),
    }
}

/// A name of the runner's, short and on one line.
pub(super) fn shown(name: &str) -> String {
    name.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_place_is_shown_as_it_stands() {
        let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        let text = "{\n  \"version\": 1,\n  \"cost_usd\": Infinity\n}";
        assert_eq!(
            error(text),
            "the runner printed a number that is not finite at line 3, column 15 (`Infinity`)"
        );
        let long = format!("{{\"version\": 1}} {}", "é\t".repeat(100));
        let shown = format!("(`{}`)", "é ".repeat(SHOWN / 2));
        assert!(error(&long).ends_with(&shown), "{}", error(&long));
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes).map_err(|error| error.to_string());
        }

        #[test]
        fn a_changed_answer_does_no_harm(at in 0_usize..80, byte in any::<u8>(), cut in 0_usize..90) {
            let mut bytes = br#"{"version": 1, "results": [{"case": "a", "arm": "with", "cost_usd": -1e5}]}"#
                .to_vec();
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
            bytes.truncate(cut);
            let _ = read(&bytes).map_err(|error| error.to_string());
        }
    }
}
