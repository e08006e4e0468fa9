//! Agents and the models they drive.

use std::fmt;
use std::num::NonZeroU64;

use super::name::AgentName;

/// Who works: a program, with the model that it drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    /// The program. `claude` and `codex` have adapters of ours, others speak the Agent Client
    /// Protocol.
    pub name: AgentName,
    /// The model; `None` leaves the choice to the program, and the variant id without a model.
    pub model: Option<Model>,
    /// What the program may do; `None` is its own default.
    pub mode: Option<AgentMode>,
    /// The command that speaks the Agent Client Protocol on its standard streams; not empty.
    pub acp: Option<Vec<String>>,
}

/// How free an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentMode {
    /// It plans and writes nothing.
    Plan,
    /// It works.
    Build,
}

impl AgentMode {
    /// The word in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Build => "build",
        }
    }
}

/// A model and its knobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name with its provider. On one line, without `::`.
    pub name: String,
    /// How much it thinks: `low`, `medium`, ..., as the program calls it.
    pub effort: Option<String>,
    /// The size of its context, in tokens.
    pub context_window_size: Option<NonZeroU64>,
    /// Whether, or how, it thinks aloud.
    pub thinking: Option<Thinking>,
    /// Whether its fast mode is on.
    pub fast: Option<bool>,
}

impl Model {
    /// Whose model it is, as far as its name tells.
    pub fn provider(&self) -> Option<Provider> {
        Provider::of(&self.name)
    }

    /// The coordinate in variant ids: `<provider>-<name>`, the bare name for unknown providers.
    pub fn coordinate(&self) -> String {
        match self.provider() {
            Some(provider) => format!("{provider}-{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// The `thinking` of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thinking {
    /// On or off.
    Switch(bool),
    /// A level that the program knows.
    Level(String),
}

/// A maker of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// `claude-*`.
    Anthropic,
    /// `gpt-*`.
    OpenAi,
    /// `grok-*`.
    Xai,
}

impl Provider {
    /// The maker of a model of this name, when the name tells.
    pub fn of(model: &str) -> Option<Self> {
        let makers = [("claude-", Self::Anthropic), ("gpt-", Self::OpenAi), ("grok-", Self::Xai)];
        makers.into_iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, maker)| maker)
    }

    /// The word in variant ids.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Xai => "xai",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether the agent can drive the model. A pair of which one side is unknown is believed: the run
/// tells.
pub fn drives(agent: &AgentName, model: &str) -> bool {
    match (agent.as_str(), Provider::of(model)) {
        ("claude", Some(provider)) => provider == Provider::Anthropic,
        ("codex", Some(provider)) => provider == Provider::OpenAi,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        let drives = |agent: &str, model| drives(&agent.parse().unwrap(), model);
        assert!(drives("claude", "claude-sonnet-5"));
        assert!(!drives("claude", "gpt-5"));
        assert!(!drives("codex", "grok-4.5"));
        assert!(drives("cursor", "grok-4.5"));
        assert!(drives("codex", "o3"));
        assert!(drives("gemini", "gpt-5"));
    }

    #[test]
    fn coordinates() {
        let model = |name: &str| Model {
            name: name.to_owned(),
            effort: None,
            context_window_size: None,
            thinking: None,
            fast: None,
        };
        assert_eq!(model("gpt-5.6-luna").coordinate(), "openai-gpt-5.6-luna");
        assert_eq!(model("o3").coordinate(), "o3");
    }
}
