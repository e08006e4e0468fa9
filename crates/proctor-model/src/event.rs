//! What an agent did, in terms that no harness owns.
//!
//! Adapters in `proctor-harness` turn each harness's stream into these; everything above that
//! layer (load observation, skill triggering, SQL, reports) reads only these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FsDiff, Usage};

/// One thing that happened in a session, in stream order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Position in the session, from 0.
    pub seq: u64,
    /// Line of the raw stream it came from, from 1; 0 for what no stream says: what Proctor itself
    /// saw.
    pub line: u64,
    /// Id of the tool call under which a subagent produced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// When it was seen, in milliseconds since 1970; absent where nobody looked at a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ts_ms: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// The harness announced a session. May come more than once in one stream.
    Session {
        /// The harness's own id of the session or thread.
        session_id: Option<String>,
        /// Model name as the harness states it.
        model: Option<String>,
        /// Harness version as the harness states it.
        version: Option<String>,
        /// Tools offered to the model.
        tools: Vec<String>,
        /// Skills announced to the model: listed, which is not used.
        skills: Vec<String>,
    },
    /// Text that somebody said. Prompts and injected text are never role `assistant`.
    Message {
        /// Who said it.
        role: Role,
        /// What was said.
        text: String,
    },
    /// Thinking that the harness showed.
    Reasoning {
        /// The text or its summary.
        text: String,
    },
    /// The model asked for a tool.
    ToolCall {
        /// Id that the matching results carry.
        id: String,
        /// The harness's own name of the tool.
        name: String,
        /// What the call means, whatever the tool is called.
        action: Action,
        /// Arguments as the harness shows them.
        input: Value,
    },
    /// What came back from a tool.
    ToolResult {
        /// Id of the call.
        id: String,
        /// How it went.
        status: ToolStatus,
        /// Output text, as the harness shows it.
        text: String,
    },
    /// The harness itself says that a file changed.
    FileChange {
        /// Path as the harness states it.
        path: String,
        /// How it changed.
        change: FileChange,
    },
    /// A count of tokens or money for the stretch that just ended.
    Usage {
        /// The figures.
        usage: Usage,
    },
    /// The harness tries a request again.
    Retry {
        /// Which attempt, from 1.
        attempt: Option<u32>,
        /// HTTP status of the failure; `None` for transport failures.
        status: Option<u16>,
        /// What the harness says of it.
        message: String,
    },
    /// A failure or warning that the harness states and goes on from.
    Notice {
        /// What it says.
        message: String,
    },
    /// A known line about the session's own running: hooks, background tasks, turn bounds.
    Lifecycle {
        /// The harness's own name of it.
        name: String,
    },
    /// A final line: the harness's own account of how it ended.
    Result {
        /// Final answer, when there is one.
        text: Option<String>,
        /// Whether the harness calls it an error.
        is_error: bool,
    },
    /// What the session did to the files of the workspace, seen from outside when it was over. No
    /// adapter makes these. Lists hold paths relative to the workspace, in byte order.
    FileManifest {
        /// Files, links and folders that were not there before.
        added: Vec<String>,
        /// What is there before and after, and is not the same.
        changed: Vec<String>,
        /// What is no longer there.
        deleted: Vec<String>,
        /// How many entries are in no list, since those have limits.
        omitted: u64,
    },
    /// A line of a type that this adapter does not know.
    Unknown {
        /// The type it names, or empty.
        name: String,
    },
    /// A line that is not what the harness's format allows (not JSON, not UTF-8, too long).
    Garbage {
        /// The first characters of it.
        excerpt: String,
    },
}

impl EventKind {
    /// What was done to a workspace, as an event. Its lists hold the first thousand paths each.
    pub fn file_manifest(diff: &FsDiff) -> Self {
        const LISTED: usize = 1000;
        fn list<'a>(paths: impl Iterator<Item = &'a String>) -> Vec<String> {
            paths.take(LISTED).cloned().collect()
        }
        let lengths = [diff.added.len(), diff.changed.len(), diff.deleted.len()];
        let beyond: usize = lengths.iter().map(|length| length.saturating_sub(LISTED)).sum();
        Self::FileManifest {
            added: list(diff.added.iter().map(|one| &one.path)),
            changed: list(diff.changed.iter().map(|one| &one.path)),
            deleted: list(diff.deleted.iter().map(|one| &one.path)),
            omitted: diff.omitted.entries + beyond as u64,
        }
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The model.
    Assistant,
    /// The prompt, or text that a person typed.
    User,
    /// Text that the harness put in by itself: a skill's body, reminders.
    Harness,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It ran.
    Ok,
    /// It ran and failed, or could not run.
    Error,
    /// A permission rule refused it.
    Denied,
}

/// How a file changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    /// It is new.
    Added,
    /// It was there and has other content.
    Updated,
    /// It is gone.
    Deleted,
}

/// What a tool call means, in terms that no harness owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// Read a file by an explicit read tool (a `cat` in a shell is `Shell`).
    Read {
        /// Path as given.
        path: String,
    },
    /// Write a whole file.
    Write {
        /// Path as given.
        path: String,
    },
    /// Change part of a file.
    Edit {
        /// Path as given; empty when the tool names its files inside a patch.
        path: String,
    },
    /// Run a command.
    Shell {
        /// The command line.
        command: String,
    },
    /// Invoke a skill.
    Skill {
        /// Name as given, with its plugin when the harness qualifies it.
        name: String,
    },
    /// Call a tool of an MCP server.
    Mcp {
        /// Server name.
        server: String,
        /// Tool name.
        tool: String,
    },
    /// Search files or their content.
    Search {
        /// Pattern as given.
        pattern: String,
    },
    /// Look at the web.
    Web {
        /// Address or query.
        target: String,
    },
    /// Start a subagent.
    Agent {
        /// Its type or name, when given.
        name: String,
    },
    /// Anything else.
    Other,
}
