//! Workspaces: what a trial starts from, what it leaves, and what differs.
//!
//! A [`Base`] is a frozen tree that many trials share. A [`Workspace`] is a base, or the state in
//! which an earlier trial ended, and a room that takes what is changed; a
//! [`Sandbox`](crate::isolation::Sandbox) mounts it. What a trial has changed ends in a
//! [`Snapshot`], from which the next workspace can be forked.
//!
//! Where overlays can be mounted, a workspace costs nothing however large its base is, a snapshot
//! is the overlay's upper folder as it stands, and a fork an overlay over both. Elsewhere all three
//! are copies, whose content is shared where the file system can.

mod archive;
mod base;
mod baseline;
mod build;
mod diff;
mod flatten;
mod layer;
mod manifest;
mod patch;
pub(crate) mod place;
mod shut;
pub(crate) mod system;
pub(crate) mod walk;

use std::io;
use std::path::{Path, PathBuf};

pub use base::{Base, Snapshot, Workspace};
pub(crate) use base::{Prepared, WORK};
pub use baseline::{Baseline, DiffLimits};
pub use manifest::{Folder, Manifest, Node, ReadLimits};
pub use place::{PlaceError, Placed};

/// Why a workspace cannot be had, kept or compared.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// The system refused something; a full disk is reported so.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was to be done, as a verb.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A saved snapshot belongs to another base.
    #[error("`{}` was saved over another base; stage the same files again", path.display())]
    OtherBase {
        /// The saved snapshot.
        path: PathBuf,
    },
    /// A saved snapshot is damaged, or is none.
    #[error("`{}` is no saved workspace: {reason}", path.display())]
    Damaged {
        /// The saved snapshot.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

pub(crate) fn failed<E: Into<io::Error>>(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> WorkspaceError {
    let path = path.to_owned();
    move |source| WorkspaceError::Io { action, path, source: source.into() }
}
