//! Why there is no answer, and why there is no client.

/// Why there is no answer. Texts of providers are redacted and cut.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AskError {
    /// The most that the question may cost does not fit into what is left.
    #[error("asking may cost ${needed:.4}, and of the limit of ${limit:.4} ${spent:.4} are spent")]
    OverBudget {
        /// What it may cost, in US dollars.
        needed: f64,
        /// What is spent, or set aside for questions under way.
        spent: f64,
        /// The most that may be spent.
        limit: f64,
    },
    /// The most tokens that the question may take do not fit into what is left.
    #[error(
        "asking may take {needed} tokens, and of the limit of {limit} (max_tokens) {used} are used"
    )]
    TooManyTokens {
        /// What it may take.
        needed: u64,
        /// What is used, or set aside for questions under way.
        used: u64,
        /// The most that may be used.
        limit: u64,
    },
    /// The number of requests is used up.
    #[error("all {limit} requests that max_calls allows are used up")]
    TooManyCalls {
        /// The most that may be sent.
        limit: u64,
    },
    /// The provider will not answer this, however often it is asked.
    #[error("the provider refused it with status {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the provider says.
        message: String,
    },
    /// Every attempt failed in a way that may pass.
    #[error("no answer after {attempts} attempts: {message}")]
    Failed {
        /// How many were made.
        attempts: u32,
        /// How the last one failed.
        message: String,
    },
    /// The time for one question is over.
    #[error("no answer within {seconds} s (timeout_seconds)")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// An answer without a text.
    #[error("the answer has no text")]
    Empty,
    /// The answer was cut off at its limit.
    #[error("the answer was cut off at its limit of {limit} tokens")]
    Truncated {
        /// The limit.
        limit: u32,
    },
    /// The model or its provider would not say it.
    #[error("the answer was withheld: {reason}")]
    Withheld {
        /// The provider's word for it.
        reason: String,
    },
    /// The reply is none of the provider's API.
    #[error("the reply cannot be read: {message}")]
    Unreadable {
        /// What is wrong with it.
        message: String,
    },
    /// Somebody stopped the run.
    #[error("interrupted")]
    Interrupted,
}

/// Why there is no client. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoClient {
    /// Nobody allowed it.
    #[error(
        "no model may be asked: set allow_network = true under [llm] in your own configuration, or AI_RULEZ_LLM_ALLOW_NETWORK=true"
    )]
    NetworkDisabled,
    /// No model is named.
    #[error(
        "no model is named: set model under [llm] in your own configuration, or AI_RULEZ_LLM_MODEL"
    )]
    NoModel,
    /// Only the repository names a model.
    #[error(
        "only the repository names a model, {model}: to agree, set model under [llm] in your own configuration, or AI_RULEZ_LLM_MODEL"
    )]
    ModelFromRepository {
        /// The model.
        model: String,
    },
    /// The repository chose the provider to which the user's key would go.
    #[error(
        "the repository chose the provider {provider}, and the key of api_key_env goes only to one that you choose: set provider under [llm] in your own configuration, or AI_RULEZ_LLM_PROVIDER"
    )]
    ProviderFromRepository {
        /// The provider.
        provider: String,
    },
    /// A model's name that cannot be one.
    #[error("the model's name {model:?} has characters that no name has")]
    BadModel {
        /// The name.
        model: String,
    },
    /// It is not known who provides the model.
    #[error(
        "nobody says who provides {model}: set provider under [llm] to anthropic, openai or gemini, or base_url to something that speaks OpenAI's Chat Completions"
    )]
    NoProvider {
        /// The model.
        model: String,
    },
    /// The provider's API is none that is known.
    #[error(
        "the API of the provider {provider} is not known (anthropic, openai and gemini are): set base_url to something that speaks OpenAI's Chat Completions, with backend = \"openaicompat\""
    )]
    UnknownProvider {
        /// The provider.
        provider: String,
    },
    /// A root of an API that cannot be one.
    #[error("base_url {why}")]
    BadBaseUrl {
        /// What is wrong with it.
        why: &'static str,
    },
    /// A host that is not this machine, without TLS.
    #[error(
        "base_url must begin with https://, since {host} is not this machine: or set allow_plain_http = true and list the host in plain_http_hosts"
    )]
    PlainHttp {
        /// The host.
        host: String,
    },
    /// There is no key.
    #[error("the variable {variable}, which should hold the key for the model, is not set")]
    NoKey {
        /// The variable.
        variable: String,
    },
    /// What should be a key cannot be one.
    #[error("the variable {variable} holds no key: it has characters that no key has")]
    BadKey {
        /// The variable.
        variable: String,
    },
    /// The system has no certificates, so that nobody could be told from anybody else.
    #[error(
        "this system trusts no certificates: install its package of them (ca-certificates), or name a file in SSL_CERT_FILE"
    )]
    NoCertificates,
    /// There is a limit in dollars and no price to hold against it.
    #[error(
        "no price is known for {model}, and without one a limit in dollars cannot be kept: set price_input_per_mtok and price_output_per_mtok under [llm] in your own configuration"
    )]
    UnknownPrice {
        /// The model.
        model: String,
    },
}
