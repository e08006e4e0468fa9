//! How a language model may be asked: the settings `[llm]`, once every source has had its say.

use std::time::Duration;

/// Who answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic, the Messages API.
    Anthropic,
    /// `OpenAI`, and whatever speaks its Chat Completions API.
    OpenAi,
    /// Google Gemini, the `generateContent` API.
    Gemini,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Gemini];

    /// Its name in settings, and as the part of a model's name before the `/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// The provider that a model's own name gives away.
    pub fn of_model(model: &str) -> Option<Self> {
        let name = model.rsplit('/').next().unwrap_or_default();
        let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
        if begins(&["claude"]) {
            Some(Self::Anthropic)
        } else if begins(&["gpt-", "chatgpt-", "o1", "o3", "o4"]) {
            Some(Self::OpenAi)
        } else if begins(&["gemini"]) {
            Some(Self::Gemini)
        } else {
            None
        }
    }
}

/// How requests are worded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Backend {
    /// As the provider does it; as `OpenAI` does it when the provider is none that we know.
    #[default]
    Auto,
    /// As `OpenAI` does it, whoever answers: for gateways.
    OpenAiCompat,
    /// As the provider does it.
    LiterLlm,
}

/// A name, and whose word it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name.
    pub name: String,
    /// Whether only the repository says it, whose word is not enough to spend money.
    pub from_repository: bool,
}

impl Named {
    /// A name that the user gave.
    pub fn by_user(name: impl Into<String>) -> Self {
        Self { name: name.into(), from_repository: false }
    }
}

/// What `[llm]`, the user's own configuration and the environment say together.
#[derive(Debug, Clone, PartialEq)]
pub struct LlmSettings {
    /// Who answers; `None` when nobody said, and the model's name may tell.
    pub provider: Option<Named>,
    /// The model, perhaps with its provider before a `/`.
    pub model: Option<Named>,
    /// How requests are worded.
    pub backend: Backend,
    /// The root of the API, when it is not the provider's own.
    pub base_url: Option<String>,
    /// The variable that holds the key, when it is not the usual one.
    pub api_key_env: Option<String>,
    /// The most that may be spent, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// The most tokens that may be used, in and out.
    pub max_tokens: Option<u64>,
    /// The most requests that may be sent, repeats included.
    pub max_calls: Option<u64>,
    /// Whether a question that was asked before in this run gets the answer it got.
    pub cache: bool,
    /// Whether anything may be sent at all.
    pub allow_network: bool,
    /// The most time for one question, repeats and pauses included.
    pub timeout: Duration,
    /// How often a request that failed may be sent again.
    pub max_retries: u32,
    /// Whether [`plain_http_hosts`](Self::plain_http_hosts) counts.
    pub allow_plain_http: bool,
    /// The hosts, with or without a port, to which a key may go without TLS.
    pub plain_http_hosts: Vec<String>,
    /// US dollars for a million tokens in, where the user knows better than our table.
    pub price_input_per_mtok: Option<f64>,
    /// US dollars for a million tokens out.
    pub price_output_per_mtok: Option<f64>,
}

impl Default for LlmSettings {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            backend: Backend::Auto,
            base_url: None,
            api_key_env: None,
            max_cost_usd: None,
            max_tokens: None,
            max_calls: None,
            cache: true,
            allow_network: false,
            timeout: Duration::from_mins(1),
            max_retries: 3,
            allow_plain_http: false,
            plain_http_hosts: Vec::new(),
            price_input_per_mtok: None,
            price_output_per_mtok: None,
        }
    }
}

impl LlmSettings {
    /// The model as reports name it, with its provider before a `/` if the settings name one; `None`
    /// when no model is named.
    pub fn model_id(&self) -> Option<String> {
        let model = self.model.as_ref()?.name.as_str();
        Some(match &self.provider {
            Some(provider) if !model.contains('/') => format!("{}/{model}", provider.name),
            _ => model.to_owned(),
        })
    }

    /// Lowers the most that may be spent to `usd`; 0 changes nothing.
    pub fn tighten_cost(&mut self, usd: f64) {
        if usd > 0.0 {
            self.max_cost_usd = Some(self.max_cost_usd.map_or(usd, |limit| limit.min(usd)));
        }
    }
}
