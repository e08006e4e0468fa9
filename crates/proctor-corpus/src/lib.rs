//! Guidance corpora: what a corpus offers, which part of it a selection installs, installing that
//! part into a project, and telling what was changed since.
//!
//! The formats are those of Cratis AI: a corpus checkout (`.cratis/ai/manifest.json`, a profile
//! catalog, rules, skills and more), the project's choice (`.cratis/ai.json`) and the record of what
//! was installed (`.cratis/ai.manifest.json`), which is written byte for byte as its own installer
//! writes it, so that either program can carry on where the other stopped.
//!
//! - [`Corpus::open`] reads a checkout, [`Corpus::slice`] selects from it.
//! - [`install`], [`update`], [`status`] and [`uninstall`] work on a project. They change all or
//!   nothing: everything is staged first, and a run that is cut off is rolled back by the next one.
//! - [`Slice::install_fresh`] is the same installer without that insurance, for workspaces that are
//!   thrown away.
//!
//! Nothing is ever written or read through a link below the project, and nothing is removed that
//! the record does not list.

mod corpus;
mod error;
mod json;
mod links;
mod marker;
mod project;
mod selection;
mod slice;
#[cfg(test)]
mod testing;
mod tree;

pub use corpus::{Corpus, CorpusManifest};
pub use error::{
    Conflict, ConflictKind, CorpusError, InstallError, SelectionMistake, SelectionReason,
};
pub use links::Integration;
pub use project::{
    Change, InstallReport, InstallRequest, Manner, McpSetting, Modified, ProjectConfig, Status,
    check_clean, install, project_config, status, uninstall, update,
};
pub use selection::{Compat, Selection};
pub use slice::{Slice, SliceFile};

/// Where managed files lie, relative to a project, and what a corpus holds below the same path.
pub const MANAGED_DIRECTORY: &str = ".cratis/ai";
/// The project's choice, relative to the project.
pub const CONFIGURATION: &str = ".cratis/ai.json";
/// The record of what was installed, relative to the project.
pub const INSTALLATION_MANIFEST: &str = ".cratis/ai.manifest.json";
/// The project's own instructions, relative to [`MANAGED_DIRECTORY`].
const PROJECT_INSTRUCTIONS: &str = "rules/project.md";
/// The profile catalog, relative to [`MANAGED_DIRECTORY`].
const PROFILE_CATALOG: &str = "profile-catalog.json";
/// The MCP servers, relative to [`MANAGED_DIRECTORY`].
const MCP_SERVERS: &str = "mcp-servers.json";
