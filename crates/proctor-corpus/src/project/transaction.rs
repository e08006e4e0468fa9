//! Making changes all or nothing.
//!
//! Everything new is first staged in a directory beside the managed one, so that a full disk or a
//! missing permission shows before anything has changed. Then a journal is put there under its
//! final name; from that moment the changes are made, each by moving the old entry into the
//! directory and the new one out of it. Removing the journal ends the installation. Moving needs no
//! space, and at every point the journal tells how to go back:
//!
//! - no journal: nothing was changed, or everything was; the directory is only rubbish;
//! - a journal: what was moved aside is moved back, what was put in place is removed.
//!
//! A failure takes that way back at once, and a process that was killed leaves it to the next
//! installation. Power failure is as safe as the file system's ordering of renames. Inode numbers
//! in the journal prove that the entries are those of the installation: a journal that came with a
//! clone or a copy matches nothing, and nothing is moved on its behalf.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, symlink};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::fresh::write_new;
use super::io_error;
use super::steps::Step;
use crate::error::InstallError;
use crate::tree::{Entry, ReadError, Tree, look, path_offence, read_regular};

/// The directory of a running installation, relative to the project.
pub(super) const DIRECTORY: &str = ".cratis/.proctor-install";
const JOURNAL: &str = "journal.json";
/// Bytes of a journal.
const JOURNAL_LIMIT: u64 = 64 << 20;

#[derive(Debug, Serialize, Deserialize)]
struct Journal {
    /// The inode of the directory that the journal lies in.
    inode: u64,
    /// Directories that the installation makes, outermost first.
    directories: Vec<String>,
    moves: Vec<Move>,
}

/// The change of one path. Entry `n` is staged as `new-n`, and what it replaces is kept as `old-n`.
#[derive(Debug, Serialize, Deserialize)]
struct Move {
    path: String,
    /// The inode of the staged entry; zero when the path is only removed.
    staged: u64,
    /// Whether something stands there before.
    replaced: bool,
}

/// Called before each change. An error of it is an error of the change; tests use it to fail, or to
/// die, at every point.
pub(super) type Gate<'a> = &'a mut dyn FnMut() -> io::Result<()>;

/// Makes the changes, all or none.
pub(super) fn apply(tree: &Tree, steps: &[Step]) -> Result<(), InstallError> {
    apply_gated(tree, steps, &mut || Ok(()))
}

pub(super) fn apply_gated(tree: &Tree, steps: &[Step], gate: Gate<'_>) -> Result<(), InstallError> {
    let directories = missing_directories(tree, steps)?;
    let cratis_is_new = directories.iter().any(|directory| directory == ".cratis");
    let root = tree.at(DIRECTORY);
    if cratis_is_new {
        let at = tree.at(".cratis");
        std::fs::create_dir(&at).map_err(|source| io_error("create", at, source))?;
    }
    let staged = stage(tree, steps, &root, directories);
    let journal = match staged {
        Ok(journal) => journal,
        Err(error) => {
            // Nothing has been changed; what was staged is rubbish, and the error matters more.
            let _ = std::fs::remove_dir_all(&root);
            if cratis_is_new {
                let _ = std::fs::remove_dir(tree.at(".cratis"));
            }
            return Err(error);
        }
    };
    match make(tree, &root, &journal, gate) {
        Ok(()) => finish(tree, &root),
        Err(error) => {
            roll_back(tree, &root, &journal)?;
            Err(error)
        }
    }
}

/// Goes back to the state before an installation that was cut off; true when there was one.
pub(super) fn recover(tree: &Tree) -> Result<bool, InstallError> {
    let root = tree.at(DIRECTORY);
    let entry = tree.entry(DIRECTORY).map_err(|source| io_error("read", root.clone(), source))?;
    match entry {
        // A link for `.cratis` is named by whoever wants to write there.
        Entry::Absent | Entry::Blocked(_) => return Ok(false),
        Entry::Directory => {}
        _ => return Err(InstallError::ForeignLeftover { path: root }),
    }
    match read_journal(&root)? {
        Some(journal) => roll_back(tree, &root, &journal)?,
        None => clean_up(&root)?,
    }
    Ok(true)
}

/// Whether an installation was cut off here.
pub(super) fn is_pending(tree: &Tree) -> Result<bool, InstallError> {
    let entry = tree.entry(DIRECTORY);
    let entry = entry.map_err(|source| io_error("read", tree.at(DIRECTORY), source))?;
    Ok(!matches!(entry, Entry::Absent | Entry::Blocked(_)))
}

/// The directories to make, outermost first.
fn missing_directories(tree: &Tree, steps: &[Step]) -> Result<Vec<String>, InstallError> {
    let mut directories: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    // The directory of the installation itself needs its parent.
    let paths = std::iter::once(DIRECTORY).chain(steps.iter().map(Step::path));
    for path in paths {
        let missing = tree.missing_parents(path);
        let missing = missing.map_err(|source| io_error("read", tree.at(path), source))?;
        let missing = missing.map_err(|by| InstallError::NotRegular { path: tree.at(&by) })?;
        directories.extend(missing.into_iter().filter(|directory| known.insert(directory.clone())));
    }
    for step in steps {
        if let Step::Directory { path } = step
            && known.insert(path.clone())
        {
            directories.push(path.clone());
        }
    }
    Ok(directories)
}

/// Puts everything that is new, and the journal, into the directory `root`.
fn stage(
    tree: &Tree,
    steps: &[Step],
    root: &Utf8Path,
    directories: Vec<String>,
) -> Result<Journal, InstallError> {
    std::fs::create_dir(root).map_err(|source| io_error("create", root.to_owned(), source))?;
    let metadata = std::fs::symlink_metadata(root);
    let inode = metadata.map_err(|source| io_error("read", root.to_owned(), source))?.ino();
    let mut journal = Journal { inode, directories, moves: Vec::with_capacity(steps.len()) };
    for step in steps {
        let path = step.path();
        let at = tree.at(path);
        let entry = tree.entry(path).map_err(|source| io_error("read", at.clone(), source))?;
        let (mode, replaced) = match entry {
            Entry::Absent => (None, false),
            Entry::File { mode, .. } => (Some(mode), true),
            Entry::Link { .. } => (None, true),
            Entry::Directory if matches!(step, Step::Directory { .. }) => continue,
            _ => return Err(InstallError::NotRegular { path: at }),
        };
        let new = staged_path(root, journal.moves.len());
        let done = match step {
            Step::Write { bytes, executable, .. } => write_new(&new, bytes, *executable, mode),
            Step::Link { target, .. } => symlink(target, &new),
            Step::Remove { .. } if !replaced => continue,
            Step::Remove { .. } => Ok(()),
            Step::Directory { .. } => continue,
        };
        // The message names the path that the user knows.
        done.map_err(|source| io_error("write", at, source))?;
        let staged = inode_of(&new).map_err(|source| io_error("read", new, source))?;
        journal.moves.push(Move { path: path.to_owned(), staged, replaced });
    }
    write_journal(root, &journal)
        .map_err(|source| io_error("write", root.join(JOURNAL), source))?;
    Ok(journal)
}

fn write_journal(root: &Utf8Path, journal: &Journal) -> io::Result<()> {
    let draft = root.join("journal.draft");
    let mut file = File::create_new(&draft)?;
    file.write_all(&serde_json::to_vec(journal)?)?;
    file.sync_all()?;
    std::fs::rename(draft, root.join(JOURNAL))
}

fn read_journal(root: &Utf8Path) -> Result<Option<Journal>, InstallError> {
    let foreign = || InstallError::ForeignLeftover { path: root.to_owned() };
    let path = root.join(JOURNAL);
    let bytes = match read_regular(&path, JOURNAL_LIMIT) {
        Ok(bytes) => bytes,
        Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(ReadError::Io(source)) => return Err(io_error("read", path, source)),
        Err(ReadError::NotRegular(_) | ReadError::TooLong(_)) => return Err(foreign()),
    };
    let journal: Journal = serde_json::from_slice(&bytes).map_err(|_| foreign())?;
    let inode = inode_of(root).map_err(|source| io_error("read", root.to_owned(), source))?;
    let paths = journal.moves.iter().map(|change| &change.path).chain(&journal.directories);
    if journal.inode != inode || paths.into_iter().any(|path| path_offence(path).is_some()) {
        return Err(foreign());
    }
    Ok(Some(journal))
}

fn make(
    tree: &Tree,
    root: &Utf8Path,
    journal: &Journal,
    gate: Gate<'_>,
) -> Result<(), InstallError> {
    for directory in &journal.directories {
        let at = tree.at(directory);
        match gate().and_then(|()| std::fs::create_dir(&at)) {
            // Only `.cratis` itself, which the directory of the installation needs.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            done => done.map_err(|source| io_error("create", at, source))?,
        }
    }
    for (index, change) in journal.moves.iter().enumerate() {
        let at = tree.at(&change.path);
        if change.replaced {
            let old = root.join(format!("old-{index}"));
            gate()
                .and_then(|()| std::fs::rename(&at, old))
                .map_err(|source| io_error("replace", at.clone(), source))?;
        }
        if change.staged != 0 {
            gate()
                .and_then(|()| std::fs::rename(staged_path(root, index), &at))
                .map_err(|source| io_error("write", at, source))?;
        }
    }
    gate().map_err(|source| io_error("finish", root.to_owned(), source))
}

fn finish(tree: &Tree, root: &Utf8Path) -> Result<(), InstallError> {
    let journal = root.join(JOURNAL);
    std::fs::remove_file(&journal).map_err(|source| io_error("remove", journal, source))?;
    // Without its journal the directory means nothing; the next installation removes what stays.
    let _ = std::fs::remove_dir_all(tree.at(DIRECTORY));
    Ok(())
}

/// Puts everything back that `journal` says was changed. May be cut off and called again.
fn roll_back(tree: &Tree, root: &Utf8Path, journal: &Journal) -> Result<(), InstallError> {
    // A tree of its own: what the caller has seen of directories has changed since.
    let tree = Tree::new(&tree.at(""));
    for (index, change) in journal.moves.iter().enumerate().rev() {
        put_back(&tree, root, index, change)?;
    }
    for directory in journal.directories.iter().rev() {
        // One that somebody put a file into stays.
        if directory != ".cratis" && !matches!(tree.entry(directory), Ok(Entry::Blocked(_))) {
            let _ = std::fs::remove_dir(tree.at(directory));
        }
    }
    let path = root.join(JOURNAL);
    std::fs::remove_file(&path).map_err(|source| io_error("remove", path, source))?;
    clean_up(root)?;
    if journal.directories.iter().any(|directory| directory == ".cratis") {
        let _ = std::fs::remove_dir(tree.at(".cratis"));
    }
    Ok(())
}

fn put_back(tree: &Tree, root: &Utf8Path, index: usize, change: &Move) -> Result<(), InstallError> {
    let at = tree.at(&change.path);
    let kept = root.join(format!("old-{index}"));
    let fail =
        |reason: String| InstallError::RollBack { path: at.clone(), reason, kept: kept.clone() };
    let moved_aside =
        change.replaced && inode_of(&kept).map_err(|error| fail(error.to_string()))? != 0;
    let current = match tree.entry(&change.path).map_err(|error| fail(error.to_string()))? {
        Entry::Absent => 0,
        Entry::File { inode, .. } | Entry::Link { inode, .. } => inode,
        _ if !moved_aside => return Ok(()),
        _ => return Err(fail("something else stands there now".to_owned())),
    };
    let ours = current != 0 && current == change.staged;
    if moved_aside && (current == 0 || ours) {
        std::fs::rename(&kept, &at).map_err(|error| fail(error.to_string()))
    } else if moved_aside {
        Err(fail("something else stands there now".to_owned()))
    } else if ours && !change.replaced {
        std::fs::remove_file(&at).map_err(|error| fail(error.to_string()))
    } else {
        Ok(())
    }
}

fn clean_up(root: &Utf8Path) -> Result<(), InstallError> {
    std::fs::remove_dir_all(root).map_err(|source| io_error("remove", root.to_owned(), source))
}

fn staged_path(root: &Utf8Path, index: usize) -> Utf8PathBuf {
    root.join(format!("new-{index}"))
}

/// The inode of what stands at a path itself; zero for nothing.
fn inode_of(path: &Utf8Path) -> io::Result<u64> {
    match look(path)? {
        Entry::File { inode, .. } | Entry::Link { inode, .. } => Ok(inode),
        Entry::Directory => Ok(std::fs::symlink_metadata(path)?.ino()),
        _ => Ok(0),
    }
}
