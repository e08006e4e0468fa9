//! Reading a selected file.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use nix::fcntl::OFlag;

use super::{Selected, Workspace, WorkspaceError};

impl Workspace {
    /// The text of a selected file: invalid UTF-8 becomes U+FFFD, a byte order mark is dropped,
    /// line ends stay as they are.
    pub fn read(&self, file: &Selected) -> Result<String, WorkspaceError> {
        let io = |source: io::Error| WorkspaceError::Io { name: file.name.clone(), source };
        let limit = self.limits.file_bytes;
        // Not through a link, and without waiting for the other end of a pipe, should one have
        // taken the file's place.
        let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
        let opened =
            OpenOptions::new().read(true).custom_flags(flags).open(&file.real).map_err(io)?;
        let metadata = opened.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Err(WorkspaceError::Changed { name: file.name.clone() });
        }
        let mut bytes = Vec::new();
        // A file can be longer than it says, in `/proc` or while it is written.
        if metadata.len() <= limit {
            opened.take(limit + 1).read_to_end(&mut bytes).map_err(io)?;
        }
        if metadata.len() > limit || bytes.len() as u64 > limit {
            return Err(WorkspaceError::TooLarge { name: file.name.clone(), limit });
        }
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes));
        Ok(text.into_owned())
    }
}
