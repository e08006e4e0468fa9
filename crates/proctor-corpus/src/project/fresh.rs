//! Making changes one after the other, for workspaces that are thrown away.

use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink};

use camino::{Utf8Path, Utf8PathBuf};

use super::io_error;
use super::steps::Step;
use crate::error::InstallError;
use crate::tree::{Entry, Tree};

/// Makes the changes in order. A path whose parents are not all real directories is refused.
pub(super) fn apply(tree: &Tree, steps: &[Step]) -> Result<(), InstallError> {
    for step in steps {
        let path = step.path();
        make_parents(tree, path)?;
        let at = tree.at(path);
        match make(&at, step, None) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => replace(tree, step, at)?,
            done => done.map_err(|source| io_error("write", at, source))?,
        }
        if matches!(step, Step::Directory { .. }) {
            tree.made_directory(path);
        }
    }
    Ok(())
}

/// Makes the change at a path where a file or link stands.
fn replace(tree: &Tree, step: &Step, at: Utf8PathBuf) -> Result<(), InstallError> {
    let entry = tree.entry(step.path()).map_err(|source| io_error("read", at.clone(), source))?;
    let mode = match entry {
        Entry::Directory if matches!(step, Step::Directory { .. }) => return Ok(()),
        Entry::File { mode, .. } => Some(mode),
        Entry::Link { .. } => None,
        _ => return Err(InstallError::NotRegular { path: at }),
    };
    std::fs::remove_file(&at)
        .and_then(|()| make(&at, step, mode))
        .map_err(|source| io_error("replace", at, source))
}

fn make(at: &Utf8Path, step: &Step, replaced: Option<u32>) -> io::Result<()> {
    match step {
        Step::Write { bytes, executable, .. } => write_new(at, bytes, *executable, replaced),
        Step::Link { target, .. } => symlink(target, at),
        Step::Directory { .. } => std::fs::create_dir(at),
        Step::Remove { .. } => std::fs::remove_file(at),
    }
}

fn make_parents(tree: &Tree, path: &str) -> Result<(), InstallError> {
    let missing = tree.missing_parents(path);
    let missing = missing.map_err(|source| io_error("read", tree.at(path), source))?;
    let missing = missing.map_err(|by| InstallError::NotRegular { path: tree.at(&by) })?;
    for directory in missing {
        let at = tree.at(&directory);
        std::fs::create_dir(&at).map_err(|source| io_error("create", at, source))?;
        tree.made_directory(&directory);
    }
    Ok(())
}

/// Writes a file that must not exist, so that nothing can be written through a link. `replaced` is
/// the mode of the file that it replaces, whose permissions stay but for executing.
pub(super) fn write_new(
    path: &Utf8Path,
    bytes: &[u8],
    executable: Option<bool>,
    replaced: Option<u32>,
) -> io::Result<()> {
    // The umask takes away what the user does not want granted.
    let mode = if executable == Some(true) { 0o777 } else { 0o666 };
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    let current = match replaced {
        Some(mode) => mode,
        None if executable == Some(true) => file.metadata()?.mode() & 0o7777,
        None => return Ok(()),
    };
    let wanted = match executable {
        None => current,
        Some(false) => current & !0o111,
        // Whoever can read it may run it.
        Some(true) => current | (current & 0o444) >> 2,
    };
    if replaced.is_some() || wanted != current {
        file.set_permissions(std::fs::Permissions::from_mode(wanted))?;
    }
    // Some file systems take the change and forget it.
    if executable == Some(true) && file.metadata()?.mode() & 0o100 == 0 {
        return Err(io::Error::other("the file system does not let it be executable"));
    }
    Ok(())
}
