//! How a provider words questions and answers. Pure: from values to values.

mod anthropic;
mod gemini;
mod openai;

use serde_json::Value;

use crate::{Ask, Tokens};

/// The APIs that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic's Messages.
    Anthropic,
    /// `OpenAI`'s Chat Completions, which many others speak too.
    OpenAi,
    /// Gemini's `generateContent`.
    Gemini,
}

/// What of a question a model does not know, so that it is left out or said otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Without {
    pub(crate) temperature: bool,
    pub(crate) schema: bool,
    /// Chat Completions have two names for the limit of an answer.
    pub(crate) max_tokens: bool,
}

impl Without {
    /// This, and the part that `complaint`, a provider's word for refusing a question, is about;
    /// `None` when it is about nothing that can be left out.
    pub(crate) fn and_what(self, complaint: &str) -> Option<Self> {
        let complaint = complaint.to_ascii_lowercase();
        let about = |words: &[&str]| words.iter().any(|word| complaint.contains(word));
        if !self.temperature && about(&["temperature"]) {
            return Some(Self { temperature: true, ..self });
        }
        if !self.max_tokens && about(&["max_completion_tokens"]) {
            return Some(Self { max_tokens: true, ..self });
        }
        let formats = [
            "json mode",
            "json_schema",
            "jsonschema",
            "output format",
            "output_config",
            "output_format",
            "response format",
            "response_format",
            "structured output",
        ];
        (!self.schema && about(&formats)).then_some(Self { schema: true, ..self })
    }
}

/// What a reply says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reading {
    /// What it took, if it says so.
    pub(crate) usage: Option<Tokens>,
    pub(crate) end: End,
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// With its last word; the text may be empty.
    Whole(String),
    /// At its limit.
    Cut,
    /// The model or its provider would not say it: the provider's word for it.
    Withheld(String),
    /// Nothing in the reply is an answer: what it is.
    Strange(String),
}

impl Dialect {
    /// The root of the provider's own API.
    pub(crate) fn home(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
        }
    }

    /// Where questions go below the root `base`; `None` when the model's name cannot stand there.
    pub(crate) fn url(self, base: &str, model: &str) -> Option<String> {
        match self {
            Self::Anthropic => {
                // Anthropic's own tools are given a root without the version.
                let version = if base.ends_with("/v1") { "" } else { "/v1" };
                Some(format!("{base}{version}/messages"))
            }
            Self::OpenAi => Some(format!("{base}/chat/completions")),
            Self::Gemini => {
                let plain =
                    |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
                let fits = model.bytes().all(plain);
                fits.then(|| format!("{base}/models/{model}:generateContent"))
            }
        }
    }

    /// The variables in which users keep their key; the first that is set counts.
    pub(crate) fn key_variables(self) -> &'static [&'static str] {
        match self {
            Self::Anthropic => &["ANTHROPIC_API_KEY"],
            Self::OpenAi => &["OPENAI_API_KEY"],
            Self::Gemini => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        }
    }

    /// The header that carries the key.
    pub(crate) fn key_header(self, key: &str) -> (&'static str, String) {
        match self {
            Self::Anthropic => ("x-api-key", key.to_owned()),
            Self::OpenAi => ("authorization", format!("Bearer {key}")),
            Self::Gemini => ("x-goog-api-key", key.to_owned()),
        }
    }

    /// A header that is always sent.
    pub(crate) fn fixed_header(self) -> Option<(&'static str, &'static str)> {
        (self == Self::Anthropic).then_some(("anthropic-version", "2023-06-01"))
    }

    /// The body of a request.
    pub(crate) fn request(self, model: &str, ask: &Ask<'_>, without: Without) -> Value {
        match self {
            Self::Anthropic => anthropic::request(model, ask, without),
            Self::OpenAi => openai::request(model, ask, without),
            Self::Gemini => gemini::request(ask, without),
        }
    }

    /// What the body of a reply with a status of success says.
    pub(crate) fn read(self, body: &Value) -> Reading {
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::OpenAi => openai::read(body),
            Self::Gemini => gemini::read(body),
        }
    }
}

/// What the body of an error says, in any of the dialects: `error.message`, with the kind of the
/// error before it.
pub(crate) fn complaint(body: &Value) -> Option<String> {
    let error = &body["error"];
    let message = error["message"].as_str().or_else(|| error.as_str())?;
    let kind = ["type", "status"].into_iter().find_map(|key| error[key].as_str());
    Some(kind.map_or_else(|| message.to_owned(), |kind| format!("{kind}: {message}")))
}

/// Whether an error says that there is no money left: a status of its own is given to it by nobody.
pub(crate) fn is_out_of_quota(body: &Value) -> bool {
    ["type", "code"].into_iter().any(|key| body["error"][key] == "insufficient_quota")
}

/// The sum of the counts at `keys`; the first must be there, the others count 0 when they are not.
fn sum(usage: &Value, keys: &[&str]) -> Option<u64> {
    let (first, others) = keys.split_first()?;
    let first = usage[*first].as_u64()?;
    let others = others.iter().map(|key| usage[*key].as_u64().unwrap_or(0));
    Some(others.fold(first, u64::saturating_add))
}

fn strange(body: &Value, otherwise: &str) -> End {
    End::Strange(complaint(body).unwrap_or_else(|| otherwise.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ReplySchema;

    /// A question for every dialect.
    pub(super) fn asked(dialect: Dialect, without: Without) -> Value {
        let schema = ReplySchema {
            name: "grade".into(),
            schema: json!({"type": "object", "additionalProperties": false, "required": ["score"],
                           "properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}}}),
        };
        let ask = Ask {
            system: "be strict",
            user: "how good?",
            max_output_tokens: 2048,
            schema: &schema,
            fresh: false,
        };
        dialect.request("m", &ask, without)
    }

    #[test]
    fn a_model_may_not_know_temperatures_or_schemas() {
        let without = Without::default();
        let message = "Unsupported value: 'temperature' does not support 0 with this model.";
        let without = without.and_what(message).unwrap();
        assert_eq!(without, Without { temperature: true, ..Without::default() });
        assert_eq!(without.and_what(message), None);
        let without = without.and_what("This response_format type is unavailable now").unwrap();
        assert_eq!(without, Without { temperature: true, schema: true, max_tokens: false });
        assert_eq!(without.and_what("max_tokens is too large"), None);
        let newer = "'max_tokens' is not supported: use 'max_completion_tokens' instead";
        assert!(without.and_what(newer).unwrap().max_tokens);
        for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
            let bare = asked(dialect, without).to_string();
            assert!(!bare.contains("temperature") && !bare.contains("additionalProperties"));
            let whole = asked(dialect, Without::default()).to_string();
            assert!(whole.contains("\"temperature\":0") && whole.contains("additionalProperties"));
        }
    }

    #[test]
    fn errors_are_found_in_every_dialect() {
        for (body, expected) in [
            (json!({"error": {"type": "t", "message": "m"}}), Some("t: m")),
            (json!({"error": {"status": "S", "code": 400, "message": "m"}}), Some("S: m")),
            (json!({"error": "m"}), Some("m")),
            (json!({"error": {"message": 5}}), None),
            (json!("m"), None),
        ] {
            assert_eq!(complaint(&body).as_deref(), expected, "{body}");
        }
        assert!(is_out_of_quota(&json!({"error": {"code": "insufficient_quota"}})));
        assert!(!is_out_of_quota(&json!({"error": {"code": "rate_limit_exceeded"}})));
    }

    #[test]
    fn replies_of_any_other_shape_are_strange_and_never_panic() {
        let bodies = [
            json!(null),
            json!([]),
            json!(5),
            json!("x"),
            json!({}),
            json!({"error": {"message": "m"}}),
            json!({"choices": {}, "content": "x", "candidates": 3, "usage": [], "usageMetadata": -1}),
        ];
        for dialect in [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini] {
            for body in &bodies {
                let reading = dialect.read(body);
                assert_eq!(reading.usage, None, "{dialect:?} {body}");
                assert!(matches!(reading.end, End::Strange(_)), "{dialect:?} {body}");
            }
        }
    }
}
