//! Questions and answers, whoever is asked.

use serde_json::Value;

use crate::AskError;

/// One question to a model. It is asked at temperature 0 where the model knows temperatures.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The rules of the conversation.
    pub system: &'a str,
    /// The question.
    pub user: &'a str,
    /// The most tokens of the answer, thinking included; 0 stands for 1024.
    pub max_output_tokens: u32,
    /// What the answer must look like.
    pub schema: &'a ReplySchema,
    /// Whether the model is to be asked again even if this run knows an answer already.
    pub fresh: bool,
}

impl Ask<'_> {
    /// The most tokens of the answer.
    pub(crate) fn output_cap(&self) -> u32 {
        if self.max_output_tokens == 0 { 1024 } else { self.max_output_tokens }
    }

    /// The most tokens that the question and its answer may take: a token is rarely shorter than
    /// three bytes.
    pub(crate) fn worst_case(&self) -> Tokens {
        let schema = self.schema.schema.to_string();
        let bytes = [self.system, self.user, &schema].map(str::len).into_iter().sum::<usize>();
        Tokens {
            input: u64::try_from(bytes.div_ceil(3)).unwrap_or(u64::MAX),
            output: self.output_cap().into(),
        }
    }
}

/// What an answer must look like. Providers hold models to it more or less, and some not at all:
/// whoever asks must check the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySchema {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// A JSON Schema of an object; its members all required and no others allowed.
    pub schema: Value,
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// The answer as it was said, whole and never empty.
    pub text: String,
    /// What the provider says it took.
    pub usage: Option<Tokens>,
    /// What was charged for it, in US dollars, failed attempts included. Where a provider does not
    /// say what it took, the most that it may have taken; 0 without a price, and for an answer that
    /// was known.
    pub cost_usd: f64,
    /// Whether the answer was known from an identical question.
    pub cached: bool,
}

/// Numbers of tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tokens {
    /// What was read.
    pub input: u64,
    /// What was written, thinking included.
    pub output: u64,
}

impl Tokens {
    /// Both together.
    pub fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What a million tokens cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    /// In.
    pub input: f64,
    /// Out.
    pub output: f64,
}

impl Price {
    /// US dollars for so many tokens.
    #[expect(clippy::cast_precision_loss, reason = "no answer has 2^53 tokens")]
    pub(crate) fn of(self, tokens: Tokens) -> f64 {
        (tokens.input as f64 * self.input + tokens.output as f64 * self.output) / 1e6
    }
}

/// A model that can be asked; asking blocks.
pub trait Model: Sync {
    /// The model's name as reports show it, with its provider before a `/` if the settings name one.
    fn id(&self) -> &str;

    /// Asks. `cancel` is looked at all the while, and `true` ends the waiting.
    fn ask(&self, ask: &Ask<'_>, cancel: &dyn Fn() -> bool) -> Result<Said, AskError>;

    /// Everything charged so far, in US dollars, for answers and for attempts that failed.
    fn spent_usd(&self) -> f64;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_worst_case_is_a_token_for_three_bytes_and_the_whole_answer() {
        let schema = ReplySchema { name: "s".into(), schema: json!({}) };
        let ask =
            Ask { system: "abc", user: "é", max_output_tokens: 0, schema: &schema, fresh: false };
        assert_eq!(ask.worst_case(), Tokens { input: 3, output: 1024 });
        let ask = Ask { user: "", max_output_tokens: 7, ..ask };
        assert_eq!(ask.worst_case(), Tokens { input: 2, output: 7 });
    }

    #[test]
    fn prices_are_for_a_million() {
        let price = Price { input: 3.0, output: 15.0 };
        let cost = price.of(Tokens { input: 1000, output: 200 });
        assert!((cost - 0.006).abs() < 1e-12, "{cost}");
    }
}
