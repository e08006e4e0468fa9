//! Checks: what they say about the evidence of a run.

mod checks;
pub mod dotnet;
pub mod eval;
pub mod experiment;
pub mod glob;
pub mod json_equal;
pub mod measure;
pub mod recheck;
pub mod recorded;
pub mod stats;
pub mod text;
mod workspace;

pub use checks::{CommandEnd, Verdict, evaluate, judge_command, verdict};
pub use workspace::{Limits, Other, Selected, Selection, Workspace, WorkspaceError};
