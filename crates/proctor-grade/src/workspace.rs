//! The files of a workspace as a check sees them.
//!
//! An agent made this tree, and may have meant harm: links are followed by hand so that none leads
//! out, only regular files are opened, and everything is counted against a limit.

mod read;
mod resolve;
mod walk;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::conformance::fixture::{Phase, Target};
use proctor_model::conformance::path_rules::{self, Offence};

use resolve::Found;

/// Limits on what one check looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Directory entries that a glob may visit.
    pub entries: usize,
    /// Directories inside directories.
    pub depth: usize,
    /// Bytes of a file that is read.
    pub file_bytes: u64,
    /// Time that a pattern may take on one file.
    pub pattern_time: Duration,
    /// Time that a check's patterns may take on all its files together.
    pub check_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            entries: 1_000_000,
            depth: 256,
            file_bytes: 16 * 1024 * 1024,
            pattern_time: Duration::from_secs(1),
            check_time: Duration::from_mins(1),
        }
    }
}

/// A directory that checks look at.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: Utf8PathBuf,
    /// Without links in it; where absolute links are held against.
    real: Utf8PathBuf,
    limits: Limits,
}

/// What a target selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Regular files, and links to such, in byte order of their paths.
    pub files: Vec<Selected>,
    /// Every other entry that the target names, in the same order: directories (for a path only),
    /// broken links, devices.
    pub others: Vec<(String, Other)>,
    /// The first directory link that a glob would have had to enter.
    pub not_entered: Option<String>,
}

/// A selected file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// As the check names it, relative to the workspace, safe to print.
    pub name: String,
    /// Where it really is.
    real: PathBuf,
}

/// What is no file and there nevertheless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    /// A directory, or a link to one.
    Directory,
    /// A link to nothing, or to itself.
    BrokenLink,
    /// A pipe, socket or device.
    Special,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Directory => "a directory",
            Self::BrokenLink => "a broken link",
            Self::Special => "neither file nor directory",
        })
    }
}

/// Why files cannot be selected or read: the check is an error.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The target is not allowed; the fixture should have been refused.
    #[error("`{target}` {offence}")]
    Offence {
        /// As written.
        target: String,
        /// What is wrong with it.
        offence: Offence,
    },
    /// A result-phase target inside a directory that the phase leaves out.
    #[error("`{target}` lies in `{directory}`, which result-phase checks leave out")]
    Excluded {
        /// As written.
        target: String,
        /// The directory.
        directory: &'static str,
    },
    /// A link leads out of the workspace.
    #[error("`{name}` is or passes a link that leads out of the workspace")]
    Escape {
        /// Relative to the workspace.
        name: String,
    },
    /// A path that never arrives.
    #[error("`{name}` passes a loop of links")]
    Loop {
        /// Relative to the workspace.
        name: String,
    },
    /// The tree is larger than a check looks at.
    #[error("workspace is too large for a check: more than {limit} {what}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
    /// A file is larger than a check reads.
    #[error("`{name}` is larger than {limit} bytes, the most that a pattern is applied to")]
    TooLarge {
        /// Relative to the workspace.
        name: String,
        /// How much is allowed.
        limit: u64,
    },
    /// It was a regular file, and no longer is.
    #[error("`{name}` changed while it was looked at")]
    Changed {
        /// Relative to the workspace.
        name: String,
    },
    /// The file system refused.
    #[error("cannot read `{name}`: {source}")]
    Io {
        /// Relative to the workspace.
        name: String,
        /// Why.
        source: io::Error,
    },
}

impl Workspace {
    /// The workspace at `root`, with the usual limits.
    pub fn new(root: impl AsRef<Utf8Path>) -> Self {
        Self::with_limits(root, Limits::default())
    }

    /// The workspace at `root`.
    pub fn with_limits(root: impl AsRef<Utf8Path>, limits: Limits) -> Self {
        let root = root.as_ref().to_owned();
        // When this fails, so will everything else, with a better message.
        let real = root.canonicalize_utf8().unwrap_or_else(|_| root.clone());
        Self { root, real, limits }
    }

    /// The limits of its checks.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What `target` selects in `phase`.
    ///
    /// Globs never enter directory links, and leave out `.git`, `.cratis` and `node_modules` at any
    /// depth in the result phase, `.cratis` in the install phase unless it is their first segment.
    /// A path resolves through links as long as they stay inside.
    pub fn select(&self, target: &Target, phase: Phase) -> Result<Selection, WorkspaceError> {
        let (Target::Path(text) | Target::Glob(text)) = target;
        if let Some(offence) = path_rules::static_offence(text) {
            return Err(WorkspaceError::Offence { target: text.clone(), offence });
        }
        if phase == Phase::Result
            && let Some(directory) = path_rules::excluded_target(target)
        {
            return Err(WorkspaceError::Excluded { target: text.clone(), directory });
        }
        // Nothing is absent from a workspace that is not there.
        fs::read_dir(&self.root)
            .map_err(|source| WorkspaceError::Io { name: ".".to_owned(), source })?;
        match target {
            Target::Path(path) => self.select_path(path),
            Target::Glob(glob) => walk::select(self, glob, phase),
        }
    }

    fn select_path(&self, path: &str) -> Result<Selection, WorkspaceError> {
        let names: Vec<&str> = path_rules::segments(path).collect();
        self.find(&names.join("/"))
    }

    /// What lies at `path`, of which `/` alone separates the names.
    pub(crate) fn find(&self, path: &str) -> Result<Selection, WorkspaceError> {
        let mut selection = Selection::default();
        match self.resolve(Path::new(path))? {
            Found::Nothing => {}
            Found::File(real) => selection.files.push(Selected { name: printable(path), real }),
            Found::Other(other) => selection.others.push((printable(path), other)),
        }
        Ok(selection)
    }
}

/// A name without control characters, which could forge lines of a report.
fn printable(name: &str) -> String {
    name.chars().fold(String::with_capacity(name.len()), |mut safe, character| {
        if character.is_control() {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
        safe
    })
}

#[cfg(test)]
mod tests;
