//! What can go wrong with a corpus or an installation.

use std::fmt;
use std::io;

use camino::Utf8PathBuf;
use proctor_model::Diagnostics;

/// A corpus that cannot be read, or a selection that it does not offer.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The directory lacks a file that every corpus has.
    #[error("`{dir}` is not a guidance corpus: `{missing}` is missing")]
    NotACorpus {
        /// The directory that was opened.
        dir: Utf8PathBuf,
        /// The missing file, relative to it.
        missing: &'static str,
    },
    /// A file could not be read.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file or directory.
        path: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Files of the corpus hold mistakes; all of them are listed.
    #[error("{0}")]
    Invalid(Diagnostics),
    /// The corpus does not offer what was selected; all such values are listed.
    #[error("{}", lines(.0))]
    Selection(Vec<SelectionMistake>),
    /// The corpus holds more than a corpus may.
    #[error("`{path}` {excess}, limit {limit}")]
    TooBig {
        /// The file or directory.
        path: Utf8PathBuf,
        /// What there is too much of, completing "`path` ...".
        excess: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
    /// A corpus file that cannot be installed anywhere: a link that leaves the corpus, a device, a
    /// name that is not portable.
    #[error("`{path}` cannot be installed: {reason}")]
    Unsafe {
        /// The file.
        path: Utf8PathBuf,
        /// Why, with the way out.
        reason: &'static str,
    },
}

/// A selected value that the corpus does not offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionMistake {
    /// `harness`, `profile` or `language`.
    pub dimension: &'static str,
    /// The value as it was written.
    pub value: String,
    /// What is wrong with it.
    pub reason: SelectionReason,
    /// The known value that was probably meant.
    pub nearest: Option<String>,
}

/// Why a selected value is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SelectionReason {
    /// The corpus manifest does not list it.
    NotOffered,
    /// The corpus manifest lists the profile, and its catalog does not describe it.
    NotInCatalog,
    /// A profile composes it, and the catalog does not describe it.
    ComposedButUnknown,
}

impl fmt::Display for SelectionMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dimension, value, reason, nearest } = self;
        match reason {
            SelectionReason::NotOffered => write!(f, "the corpus offers no {dimension} `{value}`")?,
            SelectionReason::NotInCatalog => {
                write!(
                    f,
                    "unknown {dimension} `{value}`: the corpus offers it without describing it"
                )?;
            }
            SelectionReason::ComposedButUnknown => {
                write!(f, "unknown {dimension} `{value}`: a selected profile composes it")?;
            }
        }
        match nearest {
            Some(nearest) => write!(f, " (did you mean `{nearest}`?)"),
            None => Ok(()),
        }
    }
}

/// An installation that cannot be read, made or undone. Nothing has been changed when one is
/// returned, unless it is [`InstallError::RollBack`].
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The corpus or the selection is at fault.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// Files of the project hold mistakes; all of them are listed.
    #[error("{0}")]
    Invalid(Diagnostics),
    /// There is no `.cratis/ai.json`.
    #[error("`{path}` does not exist: no guidance has been installed here")]
    NotInstalled {
        /// The missing file.
        path: Utf8PathBuf,
    },
    /// What stands in the way of an installation into a fresh workspace; see
    /// [`InstallReport::conflicts`](crate::InstallReport::conflicts) for other installations.
    #[error("nothing was installed; in the way: {}", list(.0))]
    Refused(Vec<Conflict>),
    /// A link stands where a file of ours is to be read or written.
    #[error("`{path}` is a link or no regular file; it is neither followed nor replaced")]
    NotRegular {
        /// The link, directory or device.
        path: Utf8PathBuf,
    },
    /// Another process installs into the same project.
    #[error("another installation into `{project}` is running")]
    Busy {
        /// The project.
        project: Utf8PathBuf,
    },
    /// An earlier installation was cut off; it is rolled back by the next install, update or
    /// uninstall, never by a command that only reads.
    #[error("an earlier installation was cut off (`{path}` is left over)")]
    CutOff {
        /// The directory that it left.
        path: Utf8PathBuf,
    },
    /// A file operation failed; everything was put back.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// What was tried: `read`, `write`, ...
        action: &'static str,
        /// The file or directory.
        path: Utf8PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What an earlier or failed installation moved away could not be put back.
    #[error("cannot put `{path}` back ({reason}); its former content is `{kept}`")]
    RollBack {
        /// What was to be restored.
        path: Utf8PathBuf,
        /// Why not.
        reason: String,
        /// Where the former content is kept.
        kept: Utf8PathBuf,
    },
    /// The left-over directory of an installation was not made in this place.
    #[error(
        "`{path}` does not come from an installation in this directory; look at it and delete it"
    )]
    ForeignLeftover {
        /// The directory.
        path: Utf8PathBuf,
    },
}

/// A path that stands in the way of an installation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// The path as manifests name it: managed files relative to `.cratis/ai/`, everything else
    /// relative to the project; an MCP entry as `file:collection.id`.
    pub path: String,
    /// What is wrong.
    pub kind: ConflictKind,
}

/// Why a path stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConflictKind {
    /// An MCP entry of the user's. Never overwritten.
    ForeignMcpEntry,
    /// Our MCP entry, edited. Never overwritten.
    EditedMcpEntry,
    /// A file, directory or link that no installation made. Never overwritten.
    NotOurs,
    /// A managed file or link that was changed. Overwritten with force.
    Changed,
}

impl ConflictKind {
    /// A fragment that completes "`path` ...".
    fn describe(self) -> &'static str {
        match self {
            Self::ForeignMcpEntry => "an MCP entry of yours has this name",
            Self::EditedMcpEntry => "the installed MCP entry was edited",
            Self::NotOurs => "exists and was not installed",
            Self::Changed => "was changed after it was installed",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.kind.describe())
    }
}

fn lines(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn list(conflicts: &[Conflict]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<_> = conflicts.iter().take(SHOWN).map(Conflict::to_string).collect();
    let shown = shown.join(", ");
    match conflicts.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
