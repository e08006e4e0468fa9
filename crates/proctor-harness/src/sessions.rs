//! Files in which agent programs keep what they did, and records that others made of them.

use proctor_model::{Outcome, OutcomeClass, Usage};
use serde_json::Value;

use crate::adapter::{SessionSummary, StreamParser};
use crate::conclude::conclude;
use crate::json::{self, Object};
use crate::stream::Ending;
use crate::{acp, claude, codex};

/// A format of files, one session a file, one JSON object a line.
pub struct SessionFile {
    /// The name by which people ask for it. Several formats of one program share a name.
    pub name: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// The agent program behind it; `None` when the format does not tell.
    pub agent: Option<&'static str>,
    recognises: fn(&Object) -> bool,
    parser: fn() -> Box<dyn StreamParser + Send>,
}

impl SessionFile {
    /// Whether a line can only be of this format. Most lines of a file say nothing about it.
    pub fn recognises(&self, line: &Value) -> bool {
        line.as_object().is_some_and(self.recognises)
    }

    /// A reader for one file.
    pub fn parser(&self) -> Box<dyn StreamParser + Send> {
        (self.parser)()
    }
}

/// Every format that can be read.
pub fn session_files() -> &'static [SessionFile] {
    const FILES: &[SessionFile] = &[
        SessionFile {
            name: "ax",
            title: "record of the Agent Client Protocol (agent-events.jsonl)",
            agent: None,
            recognises: |line| {
                json::text(line, "kind") == Some("axp_meta")
                    || (line.contains_key("raw_json") && line.contains_key("direction"))
            },
            parser: acp::record,
        },
        SessionFile {
            name: "claude",
            title: "session file of Claude Code",
            agent: Some("claude"),
            recognises: |line| line.contains_key("sessionId") && line.contains_key("parentUuid"),
            parser: claude::session,
        },
        SessionFile {
            name: "claude",
            title: "printed stream of Claude Code",
            agent: Some("claude"),
            recognises: |line| {
                let kind = json::text(line, "type").unwrap_or_default();
                line.contains_key("session_id")
                    && matches!(kind, "system" | "assistant" | "user" | "result" | "stream_event")
            },
            parser: claude::stream,
        },
        SessionFile {
            name: "codex",
            title: "rollout of Codex",
            agent: Some("codex"),
            recognises: codex::is_rollout,
            parser: codex::rollout,
        },
        SessionFile {
            name: "codex",
            title: "printed stream of Codex",
            agent: Some("codex"),
            recognises: |line| {
                json::text(line, "type").is_some_and(|kind| {
                    kind.starts_with("thread.")
                        || kind.starts_with("turn.")
                        || (kind.starts_with("item.") && line.contains_key("item"))
                })
            },
            parser: codex::stream,
        },
    ];
    FILES
}

/// What came of a session whose file does not say how it ended: the last thing that was said decides,
/// and is the final text where that was an answer.
pub(crate) fn summary(
    stated: Option<Outcome>,
    usage: Option<Usage>,
    turns: u64,
    last_text: Option<String>,
    ending: &Ending<'_>,
) -> SessionSummary {
    let mut warnings = Vec::new();
    let outcome = conclude(stated, ending, &mut warnings);
    let turns = (turns > 0).then_some(turns);
    let usage = usage.map(|usage| Usage { turns, ..usage });
    let final_text = last_text.filter(|_| outcome.class == OutcomeClass::Completed);
    SessionSummary { outcome, usage, final_text, warnings }
}
