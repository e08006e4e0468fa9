//! A text that waits until it may be printed.

use std::fmt;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::Path;

use tempfile::{SpooledData, SpooledTempFile};

/// So much of a report is kept in memory before it moves to a file.
const IN_MEMORY: usize = 4 * 1024 * 1024;

/// A text of any length: short ones in memory, long ones in a temporary file without a name.
pub struct Spool {
    file: SpooledTempFile,
    length: u64,
}

impl Spool {
    pub(super) fn new(folder: &Path) -> Self {
        Self { file: SpooledTempFile::new_in(IN_MEMORY, folder), length: 0 }
    }

    pub(super) fn append(&mut self, text: &[u8]) -> io::Result<()> {
        self.length += text.len() as u64;
        self.file.write_all(text)
    }

    /// How many bytes it holds.
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Writes all of it but the first `skip` bytes.
    pub fn copy_to(mut self, skip: u64, out: &mut impl Write) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(skip.min(self.length)))?;
        match self.file.into_inner() {
            SpooledData::InMemory(mut text) => io::copy(&mut text, out),
            // Between two files the system copies by itself.
            SpooledData::OnDisk(mut file) => io::copy(&mut file, out),
        }?;
        Ok(())
    }
}

/// Its length alone: the text may be of any length.
impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool").field("length", &self.length).finish_non_exhaustive()
    }
}
