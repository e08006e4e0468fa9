//! Runs on disk, of every way of testing: `.proctor/runs/<run id>/`.
//!
//! ```text
//! group.json        the plan, written before the first trial starts
//! index.jsonl       the journal: one line when a trial starts, one when it is finished
//! experiment.yaml   the experiment as it was; only of experiments
//! report.json       what the command said of all of it; only of other kinds
//! lock              held while somebody works on the run; names the process
//! variants/<variant>/[<repetition>/]
//!   layout.json  run.json  events.jsonl  agent-events.jsonl  tests/  ...  manifest.json
//! ```
//!
//! A trial is finished when the journal says so, and its `run.json` is whole before the journal says
//! it. What a journal without a last line names as started is run again from its beginning; a torn
//! last line counts as none. Under a cap of money it also says what was set aside for each agent before
//! it began, so that what an agent cost that did not live to say it is counted. Summaries are made from these files alone.

mod find;
mod id;
mod journal;
mod manifest;
mod prune;
mod read;
mod verify;
mod write;

pub use find::{Found, NotFound};
pub use id::{run_id, trial_id, trial_path};
pub use journal::SetAside;
pub use prune::{Candidate, Fate, Rule, fates, size_of};
pub use read::{Listed, StoredRun};
pub use verify::{Chain, Digests};
pub use write::{RunWriter, TrialFolder};

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

/// The name of the folder of a project for what Proctor keeps.
pub const FOLDER: &str = ".proctor";

/// The runs of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    folder: Utf8PathBuf,
}

impl Runs {
    /// The runs of the project at `root`.
    pub fn of(root: &Utf8Path) -> Self {
        Self { folder: root.join(FOLDER).join("runs") }
    }

    /// The folder of a run.
    pub fn folder_of(&self, run_id: &str) -> Utf8PathBuf {
        self.folder.join(run_id)
    }
}

/// Why a run cannot be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system refused something.
    #[error("{path}: {source}")]
    Io {
        /// What it was about.
        path: Utf8PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: Utf8PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Another version of Proctor wrote it.
    #[error("{path} has schema_version {found}, which this version does not know")]
    Version {
        /// The file.
        path: Utf8PathBuf,
        /// The version it names.
        found: u32,
    },
    /// Somebody works on it.
    #[error("run {run_id} is being worked on{}", .pid.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
    Busy {
        /// The run.
        run_id: String,
        /// By whom.
        pid: Option<u32>,
    },
}

impl RunError {
    fn io(path: &Utf8Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

#[cfg(test)]
mod tests;
