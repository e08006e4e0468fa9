//! The lines that the agent prints.

use proctor_model::OutcomeClass;
use proctor_model::event::{FileChange, ToolStatus};
use serde::Serialize;
use serde_json::Value;

use crate::script::Tally;

/// One line. The order of the fields is that of the printed keys.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Line<'a> {
    Start { version: u32 },
    Say { text: &'a str },
    ToolCall { id: &'a str, name: &'a str, input: &'a Value },
    ToolResult { id: &'a str, status: ToolStatus, text: &'a str },
    FileChange { path: &'a str, change: FileChange },
    Usage(&'a Tally),
    Notice { message: &'a str },
    End { outcome: OutcomeClass, message: &'a str },
}
