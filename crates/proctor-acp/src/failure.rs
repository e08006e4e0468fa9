//! Why a session ended otherwise than by an answer of the agent to the prompt.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use proctor_model::OutcomeClass;

use crate::wire::RpcError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the agent `{program}` cannot be started: {source}")]
    Start { program: String, source: io::Error },
    #[error("the agent refused `{method}`: {} (code {})", error.message, error.code)]
    Refused { method: &'static str, error: RpcError },
    #[error("the agent {} before it had answered `{method}`", died(*status))]
    Died { method: &'static str, status: Option<ExitStatus> },
    #[error(
        "the agent has not answered `{method}` for {} s; does it speak the Agent Client Protocol \
         on its standard streams?",
        patience.as_secs()
    )]
    Silent { method: &'static str, patience: Duration },
    #[error("the agent's answer to `{method}` is not of the protocol: {why}")]
    Strange { method: &'static str, why: String },
    #[error("the agent speaks version {version} of the protocol, Proctor speaks 1")]
    Version { version: u16 },
    #[error("the agent does not offer the model `{model}`; it offers {}", listed(offered))]
    Model { model: String, offered: Vec<String> },
    #[error("the agent does not offer the effort `{effort}`; it offers {}", listed(offered))]
    Effort { effort: String, offered: Vec<String> },
    #[error("the agent has no mode in which it only plans; its modes are {}", listed(offered))]
    ReadOnly { offered: Vec<String> },
    #[error("the agent cannot use the MCP server `{server}`: it does not speak {transport}")]
    Transport { server: String, transport: &'static str },
    #[error("the session cost more than {limit} US dollars")]
    Cost { limit: f64 },
    #[error("the record cannot be written: {0}")]
    Record(#[from] io::Error),
    /// What the agent said is on record.
    #[error("the agent ended its turn for another reason")]
    Turn,
}

impl Failure {
    /// How the record tells of it: class and reason. `None` when the agent's own answer does.
    pub(crate) fn told(&self) -> Option<(OutcomeClass, &'static str)> {
        Some(match self {
            Self::Refused { .. } | Self::Record(_) | Self::Turn => return None,
            Self::Start { .. } => (OutcomeClass::UsageError, "start"),
            Self::Died { method: "session/prompt", .. } => (OutcomeClass::CutShort, "died"),
            Self::Died { .. } => (OutcomeClass::UsageError, "died"),
            Self::Silent { .. } => (OutcomeClass::UsageError, "silent"),
            Self::Strange { method: "session/prompt", .. } => (OutcomeClass::CutShort, "strange"),
            Self::Strange { .. } => (OutcomeClass::UsageError, "strange"),
            Self::Version { .. } => (OutcomeClass::UsageError, "version"),
            Self::Model { .. } => (OutcomeClass::UsageError, "model"),
            Self::Effort { .. } => (OutcomeClass::UsageError, "effort"),
            Self::ReadOnly { .. } => (OutcomeClass::UsageError, "mode"),
            Self::Transport { .. } => (OutcomeClass::UsageError, "transport"),
            Self::Cost { .. } => (OutcomeClass::Budget, "cost"),
        })
    }
}

fn died(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "closed its output".to_owned(), |status| format!("ended ({status})"))
}

/// Names, however many there are and whatever they hold.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    const LONGEST: usize = 80;
    if names.is_empty() {
        return "no choice".to_owned();
    }
    let short = |name: &String| {
        let plain = name.chars().map(|c| if c.is_control() { ' ' } else { c });
        format!("`{}`", plain.take(LONGEST).collect::<String>())
    };
    let shown: Vec<String> = names.iter().take(MOST).map(short).collect();
    let more = names.len().saturating_sub(MOST);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_offers_is_shown_in_short() {
        let model = |offered| Failure::Model { model: "m".into(), offered }.to_string();
        assert_eq!(
            model(Vec::new()),
            "the agent does not offer the model `m`; it offers no choice"
        );
        let offered = vec!["a\nb".to_owned(), "x".repeat(1000)];
        let expected = format!(
            "the agent does not offer the model `m`; it offers `a b`, `{}`",
            "x".repeat(80)
        );
        assert_eq!(model(offered), expected);
        assert!(model(vec!["a".to_owned(); 50]).ends_with("`a` and 30 more"));
    }
}
