//! The changes that an installation makes, one a path.

use std::sync::Arc;

/// One change of the file system; paths are relative to the project.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A file with this content, new or in place of a file or link.
    Write {
        path: String,
        bytes: Arc<[u8]>,
        /// `None` keeps what the file in place has.
        executable: Option<bool>,
    },
    /// A link, new or in place of a file or link.
    Link { path: String, target: String },
    /// No file or link any more.
    Remove { path: String },
    /// A directory that is not there yet.
    Directory { path: String },
}

impl Step {
    /// Writes a text file that is not executable, or no more than it was.
    pub(super) fn text(path: String, text: String) -> Self {
        Self::Write { path, bytes: Arc::from(text.into_bytes()), executable: None }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Write { path, .. }
            | Self::Link { path, .. }
            | Self::Remove { path }
            | Self::Directory { path } => path,
        }
    }
}
