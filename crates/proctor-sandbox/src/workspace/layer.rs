//! The upper folder of an overlay.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsFd as _;

use super::walk::{Entry, Kind};
use crate::sys;

/// The attribute of a folder that hides what is below it. Ours are always of the `user.` kind:
/// overlays are mounted in a user namespace with the option `userxattr`.
pub(super) const OPAQUE: &CStr = c"user.overlay.opaque";

/// Whether a folder of an upper layer hides the one below it.
pub(super) fn is_opaque(entry: &Entry<'_>) -> io::Result<bool> {
    debug_assert_eq!(entry.kind(), Kind::Folder);
    let Ok(folder) = entry.open_folder() else { return Ok(false) };
    let mut value = [0; 4];
    match sys::attribute(folder.as_fd(), OPAQUE, &mut value) {
        Ok(length) => Ok(length == Some(1) && value[0] == b'y'),
        // Longer than any mark.
        Err(error) if error.raw_os_error() == Some(nix::libc::ERANGE) => Ok(false),
        Err(error) => Err(error),
    }
}
