//! Servers of the Model Context Protocol as an agent is told of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A server with the values of its variables and headers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResolvedServer {
    /// Its name, with which the agent prefixes its tools.
    pub name: String,
    /// How it is reached.
    pub transport: ResolvedTransport,
}

/// How a server is reached. `Debug` shows no values: they may be secrets.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ResolvedTransport {
    /// A program that the agent starts.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Names and values of variables, added to the environment.
        env: Vec<(String, String)>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Names and values of headers, sent with every request.
        headers: Vec<(String, String)>,
    },
    /// Server-sent events.
    Sse {
        /// Its address.
        url: String,
        /// Names and values of headers, sent with every request.
        headers: Vec<(String, String)>,
    },
}

impl fmt::Debug for ResolvedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, target) = match self {
            Self::Stdio { command, .. } => ("Stdio", command),
            Self::Http { url, .. } => ("Http", url),
            Self::Sse { url, .. } => ("Sse", url),
        };
        f.debug_tuple(kind).field(target).finish_non_exhaustive()
    }
}
