//! What trials are grouped and chosen by.

use std::fmt;
use std::str::FromStr;

use proctor_model::nearest;

use super::pool::PooledTrial;

/// A property of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupKey {
    /// The agent.
    Agent,
    /// The model.
    Model,
    /// The model's effort.
    Effort,
    /// The prompt's id.
    Prompt,
    /// The environment.
    Environment,
    /// The product.
    Product,
    /// The extension.
    Extension,
    /// The variant: all of the above.
    Variant,
    /// The verdict.
    Status,
    /// How the agent ended.
    ExitReason,
    /// Which repetition.
    Repeat,
    /// The run.
    Run,
}

impl GroupKey {
    /// Every key, in the order of the documentation.
    pub const ALL: [Self; 12] = [
        Self::Agent,
        Self::Model,
        Self::Effort,
        Self::Prompt,
        Self::Environment,
        Self::Product,
        Self::Extension,
        Self::Variant,
        Self::Status,
        Self::ExitReason,
        Self::Repeat,
        Self::Run,
    ];

    /// The coordinates of a variant, in the order of its id.
    pub(super) const COORDINATES: [Self; 7] = [
        Self::Agent,
        Self::Model,
        Self::Effort,
        Self::Prompt,
        Self::Environment,
        Self::Product,
        Self::Extension,
    ];

    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Effort => "effort",
            Self::Prompt => "prompt",
            Self::Environment => "environment",
            Self::Product => "product",
            Self::Extension => "extension",
            Self::Variant => "variant",
            Self::Status => "status",
            Self::ExitReason => "exit_reason",
            Self::Repeat => "repeat",
            Self::Run => "run",
        }
    }

    /// What a trial has there; `None` for a coordinate that it lacks.
    pub fn of(self, trial: &PooledTrial) -> Option<String> {
        let record = &trial.record;
        let coordinates = &record.coordinates;
        match self {
            Self::Agent => Some(coordinates.agent.clone()),
            Self::Model => coordinates.model.clone(),
            Self::Effort => coordinates.effort.clone(),
            Self::Prompt => Some(coordinates.prompt_id.clone()),
            Self::Environment => coordinates.environment.clone(),
            Self::Product => coordinates.product.clone(),
            Self::Extension => coordinates.extension_id.clone(),
            Self::Variant => Some(record.variant_id.clone()),
            Self::Status => Some(record.status.to_string()),
            Self::ExitReason => Some(record.exit_reason.to_string()),
            Self::Repeat => Some(trial.repeat.to_string()),
            Self::Run => Some(trial.run_id.clone()),
        }
    }
}

impl fmt::Display for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is no key of trials{}; the keys are {}", did_you_mean(.near.as_ref()), names())]
pub struct UnknownKey {
    word: String,
    near: Option<String>,
}

pub(super) fn did_you_mean(near: Option<&String>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn names() -> String {
    GroupKey::ALL.map(GroupKey::as_str).join(", ")
}

/// A word without what people write differently: `promptId`, `prompt-id` and `prompt_id` are one.
pub(super) fn plain(word: &str) -> String {
    word.chars()
        .filter(|letter| !matches!(letter, '-' | '_' | ' '))
        .collect::<String>()
        .to_lowercase()
}

impl FromStr for GroupKey {
    type Err = UnknownKey;

    fn from_str(word: &str) -> Result<Self, UnknownKey> {
        let wanted = plain(word);
        let wanted = match wanted.as_str() {
            "promptid" => "prompt",
            "extensionid" | "resolvedextendid" => "extension",
            "variantid" => "variant",
            "repeatidx" => "repeat",
            "runrequestid" => "run",
            other => other,
        };
        let found = Self::ALL.into_iter().find(|key| plain(key.as_str()) == wanted);
        found.ok_or_else(|| UnknownKey {
            word: word.to_owned(),
            near: nearest(word, Self::ALL.map(Self::as_str)).map(str::to_owned),
        })
    }
}

/// Trials that have one of several values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Of what.
    pub key: GroupKey,
    /// The value; `None`, written as `none`, for trials that lack the coordinate.
    pub value: Option<String>,
}

impl Filter {
    /// The value as it is written.
    pub fn word(&self) -> &str {
        self.value.as_deref().unwrap_or("none")
    }

    /// Whether a trial is chosen by `filters`: for each key that they name, one of its values.
    pub(super) fn choose(filters: &[Self], trial: &PooledTrial) -> bool {
        filters.iter().all(|filter| {
            let found = filter.key.of(trial);
            filters.iter().any(|other| other.key == filter.key && other.value == found)
        })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.word())
    }
}

impl FromStr for Filter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (key, value) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not KEY=VALUE"))?;
        let key = key.trim().parse().map_err(|error: UnknownKey| error.to_string())?;
        let value = (value != "none").then(|| value.to_owned());
        Ok(Self { key, value })
    }
}
