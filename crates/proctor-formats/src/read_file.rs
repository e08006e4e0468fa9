//! Reading one file that anybody may have put there.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::{fs, io};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use proctor_model::Diagnostic;

use crate::tree::{MAX_BYTES, too_long};

/// The bytes of a regular file of at most [`MAX_BYTES`], links followed; see [`open`].
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let (mut file, length) = open(path)?;
    if length > MAX_BYTES {
        return Err(too_long(length));
    }
    // One byte more tells the end of the file without another look.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    let mut limited = (&mut file).take(MAX_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(|error| inaccessible(path, &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        // It grew after its size was looked at.
        return Err(too_long(bytes.len() as u64));
    }
    Ok(bytes)
}

/// A regular file, links followed, and its length.
///
/// It never blocks and never opens a device: the kind is looked at before opening, a pipe that
/// takes the file's place in between is opened without waiting, and the kind is looked at again.
pub(crate) fn open(path: &Path) -> Result<(fs::File, u64), Diagnostic> {
    allow(&fs::metadata(path).map_err(|error| inaccessible(path, &error))?)?;
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(OFlag::O_NONBLOCK.bits())
        .open(path)
        .map_err(|error| inaccessible(path, &error))?;
    let metadata = file.metadata().map_err(|error| inaccessible(path, &error))?;
    allow(&metadata)?;
    Ok((file, metadata.len()))
}

fn allow(metadata: &fs::Metadata) -> Result<(), Diagnostic> {
    if metadata.is_dir() {
        Err(Diagnostic::error("expected a file, found a directory"))
    } else if !metadata.is_file() {
        Err(Diagnostic::error("expected a file, found a pipe, socket or device"))
    } else {
        Ok(())
    }
}

/// Why the path, or what it leads to, cannot be looked at.
pub(crate) fn inaccessible(path: &Path, error: &io::Error) -> Diagnostic {
    match error.kind() {
        // `ErrorKind::FilesystemLoop` is not stable yet.
        _ if error.raw_os_error() == Some(Errno::ELOOP as i32) => {
            Diagnostic::error("is a link that leads back to itself").hint("mend the link")
        }
        io::ErrorKind::NotFound if path.ancestors().any(Path::is_symlink) => {
            Diagnostic::error("is a link to nothing").hint("mend the link")
        }
        io::ErrorKind::NotFound => Diagnostic::error("does not exist"),
        io::ErrorKind::PermissionDenied => {
            Diagnostic::error("may not be read: permission denied").hint("change its mode or owner")
        }
        _ => Diagnostic::error(format!("cannot be read: {error}")),
    }
}
