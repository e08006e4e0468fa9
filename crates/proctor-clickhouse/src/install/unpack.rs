//! Checking the archive, and taking the library out of it.

use std::fs::{File, Permissions};
use std::io::{self, BufReader, Read, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha512};
use tar::Archive;

use super::{InstallError, MEMBER, Package, at};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 20;

/// Opens an archive that has the pinned digest. The open file is what is unpacked afterwards, so
/// that nobody can put another in its place.
pub(super) fn checked(package: &Package, path: &Path) -> Result<File, InstallError> {
    let mut file = File::open(path).map_err(at(path))?;
    let (at_most, _) = package.at_most;
    let mut digest = Sha512::new();
    let mut chunk = vec![0; CHUNK];
    let mut left = at_most;
    loop {
        let count = file.read(&mut chunk).map_err(at(path))?;
        let Some(bytes) = chunk.get(..count).filter(|bytes| !bytes.is_empty()) else { break };
        left = left
            .checked_sub(count as u64)
            .ok_or_else(|| InstallError::TooLarge { path: path.to_owned(), at_most })?;
        digest.update(bytes);
    }
    let found = STANDARD.encode(digest.finalize());
    if found != package.sha512 {
        return Err(InstallError::Digest {
            path: path.to_owned(),
            package: package.spec(),
            found,
            expected: package.sha512,
        });
    }
    file.rewind().map_err(at(path))?;
    Ok(file)
}

/// Writes the library to `to`, and returns its size. Nothing else of the archive is written, so
/// that the paths in it do not matter.
pub(super) fn library(
    package: &Package,
    archive: File,
    path: &Path,
    to: &Path,
) -> Result<u64, InstallError> {
    let mut archive = Archive::new(GzDecoder::new(BufReader::with_capacity(CHUNK, archive)));
    for entry in archive.entries().map_err(at(path))? {
        let mut entry = entry.map_err(at(path))?;
        let is_library = entry.header().entry_type().is_file()
            && entry.path().is_ok_and(|name| name.as_ref() == Path::new(MEMBER));
        if is_library {
            return copy(&mut entry, package.at_most.1, to).map_err(|failure| match failure {
                Failure::Io(error) => at(to)(error),
                Failure::TooLarge(at_most) => {
                    InstallError::TooLarge { path: to.to_owned(), at_most }
                }
            });
        }
    }
    Err(InstallError::NoLibrary(path.to_owned()))
}

enum Failure {
    Io(io::Error),
    TooLarge(u64),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn copy(entry: &mut impl Read, at_most: u64, to: &Path) -> Result<u64, Failure> {
    let mut file = File::options().write(true).create_new(true).open(to)?;
    let size = io::copy(&mut entry.take(at_most.saturating_add(1)), &mut file)?;
    if size > at_most {
        return Err(Failure::TooLarge(at_most));
    }
    file.set_permissions(Permissions::from_mode(0o755))?;
    // On disk before the rename that makes it count.
    file.flush()?;
    file.sync_all()?;
    Ok(size)
}
