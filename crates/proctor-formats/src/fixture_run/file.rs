//! Files that hold runs, whoever put them there.

use std::fs::File;
use std::path::Path;

use proctor_model::recorded::run::Violation;

use super::parse::whole;
use crate::read_file;

/// The bytes of a regular file of at most [`super::MAX_BYTES`], links followed. Never waits for a
/// pipe and never opens a device.
pub fn read(path: &Path) -> Result<Vec<u8>, Violation> {
    read_file::read_file(path).map_err(whole)
}

/// A regular file of any length, for reading line by line; otherwise like [`read`].
pub fn open(path: &Path) -> Result<File, Violation> {
    read_file::open(path).map(|(file, _)| file).map_err(whole)
}
