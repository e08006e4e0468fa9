//! What `proctor __acp` is to do: the document on its standard input.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use crate::server::ResolvedServer;

/// One session with a program that speaks the Agent Client Protocol.
///
/// It has no `Debug`: values of servers may be secrets.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcpJob {
    /// The task, sent as one block of text. Empty for none: then the session ends as soon as everything
    /// that is wanted of it was found there, which costs nothing.
    pub prompt: String,
    /// The folder of the session; absolute.
    pub cwd: Utf8PathBuf,
    /// The model to choose; `None` leaves the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The level of thought to choose; `None` leaves the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// Whether the program's mode in which it writes nothing is to be chosen.
    #[serde(default)]
    pub is_read_only: bool,
    /// The session is cancelled when the program says that it has cost more US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Servers of the Model Context Protocol that the program is to use.
    #[serde(default)]
    pub servers: Vec<ResolvedServer>,
}
