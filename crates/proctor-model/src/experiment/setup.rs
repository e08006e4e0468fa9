//! What is put into a room before the agent comes: scripts, files, variables, servers, skills.

use camino::{Utf8Path, Utf8PathBuf};

use super::name::{Dest, Name, SecretSlug, VariableName};
use crate::{Digest, Location};

/// One step of preparing an environment or a product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Its name in logs.
    pub name: Option<Name>,
    /// A bash script; empty when the step only stages something.
    pub script: String,
    /// For people.
    pub description: Option<String>,
    /// For people and queries.
    pub tags: Vec<String>,
    /// Staged before any script runs.
    pub files: Vec<FileEntry>,
    /// Seen by scripts, checks, agent and tests of the whole variant.
    pub variables: Vec<Variable>,
    /// Handed to the agent.
    pub mcp_servers: Vec<McpServer>,
    /// Run after all setup scripts.
    pub checks: Vec<SetupCheck>,
    /// Placed where the agent looks for skills.
    pub skills: Vec<Skill>,
}

impl Setup {
    /// A step that is nothing but a script.
    pub fn script(script: impl Into<String>) -> Self {
        Self {
            name: None,
            script: script.into(),
            description: None,
            tags: Vec::new(),
            files: Vec::new(),
            variables: Vec::new(),
            mcp_servers: Vec::new(),
            checks: Vec::new(),
            skills: Vec::new(),
        }
    }
}

/// A bash script that must exit with 0 before the agent may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupCheck {
    /// Its name, also that of its record.
    pub name: Name,
    /// The script.
    pub script: String,
}

/// A file or folder of the host that is staged below the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Its name, by which a slot is bound.
    pub name: Name,
    /// Where it comes from.
    pub source: FileSource,
    /// What its content must be.
    pub sha256: Option<Digest>,
    /// Where it goes.
    pub dest: Dest,
    /// Where the entry stands in the experiment's file.
    pub at: Location,
}

impl FileEntry {
    /// The source as written; `None` for a slot.
    pub fn source_path(&self) -> Option<&Utf8Path> {
        match &self.source {
            FileSource::Path(path) => Some(path),
            FileSource::Slot => None,
        }
    }
}

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileSource {
    /// A file or folder, relative to the folder of the experiment's file; `..` is allowed.
    Path(Utf8PathBuf),
    /// Bound when a run starts.
    Slot,
}

/// An environment variable of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: VariableName,
    /// Its value.
    pub value: Value,
}

/// A value that stands in the file, or the name of one that must not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// The value.
    Literal(String),
    /// `axp://secrets/<slug>`.
    Secret(SecretSlug),
}

/// What all references begin with; literals may not.
pub const REFERENCE_SCHEME: &str = "axp://";

/// What the references to secrets begin with.
pub const SECRET_PREFIX: &str = "axp://secrets/";

impl Value {
    /// The secret that it names.
    pub fn secret(&self) -> Option<&SecretSlug> {
        match self {
            Self::Literal(_) => None,
            Self::Secret(slug) => Some(slug),
        }
    }

    /// As it is written in a file.
    pub fn as_written(&self) -> String {
        match self {
            Self::Literal(text) => text.clone(),
            Self::Secret(slug) => format!("{SECRET_PREFIX}{slug}"),
        }
    }
}

/// A server of the Model Context Protocol that the agent may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name, with which the agent prefixes its tools.
    pub name: Name,
    /// How it is reached.
    pub transport: McpTransport,
    /// Where it stands in the experiment's file.
    pub at: Location,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that the agent starts.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// Its environment, taken from declared variables.
        env: Vec<McpEnv>,
    },
    /// Streamable HTTP.
    Http {
        /// Its address.
        url: String,
        /// Sent with every request.
        headers: Vec<McpHeader>,
    },
    /// Server-sent events.
    Sse {
        /// Its address.
        url: String,
        /// Sent with every request.
        headers: Vec<McpHeader>,
    },
}

impl McpTransport {
    /// The word in the file.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
        }
    }
}

/// A variable of a server's environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpEnv {
    /// Its name for the server.
    pub name: VariableName,
    /// The declared variable that it is taken from.
    pub from: VariableName,
}

/// A header of requests to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpHeader {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
}

/// A skill that is installed where the agent looks for skills.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name of its folder there: one plain segment.
    pub name: Name,
    /// Its folder on the host, relative to the folder of the experiment's file.
    pub source: Utf8PathBuf,
    /// Where it stands in the experiment's file.
    pub at: Location,
}
