//! Walking a workspace along a glob.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use proctor_model::conformance::fixture::Phase;
use proctor_model::conformance::path_rules::{EXCLUDED_IN_RESULT, NAMED_IN_INSTALL, names_cratis};

use super::resolve::{Found, is_missing};
use super::{Other, Selected, Selection, Workspace, WorkspaceError, printable};
use crate::glob::{Glob, Progress};

/// Selects the files that `glob` matches.
pub(super) fn select(
    workspace: &Workspace,
    glob: &str,
    phase: Phase,
) -> Result<Selection, WorkspaceError> {
    let excluded: &[&str] = match phase {
        Phase::Result => &EXCLUDED_IN_RESULT,
        Phase::Install if names_cratis(glob) => &[],
        Phase::Install => &[NAMED_IN_INSTALL],
    };
    let glob = Glob::new(glob);
    let progress = glob.start();
    let mut walk = Walk { workspace, glob, excluded, visited: 0, selection: Selection::default() };
    walk.directory(Path::new(""), &progress, 0)?;
    // `a.b` sorts before `a/b`, but its directory's entries come in the other order.
    walk.selection.files.sort_by(|left, right| left.name.cmp(&right.name));
    walk.selection.others.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(walk.selection)
}

struct Walk<'a> {
    workspace: &'a Workspace,
    glob: Glob,
    excluded: &'static [&'static str],
    visited: usize,
    selection: Selection,
}

impl Walk<'_> {
    fn directory(
        &mut self,
        path: &Path,
        progress: &Progress,
        depth: usize,
    ) -> Result<(), WorkspaceError> {
        let limits = self.workspace.limits;
        if depth > limits.depth {
            let what = "directories inside directories";
            return Err(WorkspaceError::TooMuch { what, limit: limits.depth });
        }
        for (name, kind) in self.entries(path)? {
            if self.excluded.iter().any(|excluded| name == *excluded) {
                continue;
            }
            let progress = self.glob.step(progress, name.as_bytes());
            let path = path.join(&name);
            if kind.is_dir() {
                if self.glob.can_continue(&progress) {
                    self.directory(&path, &progress, depth + 1)?;
                }
            } else if kind.is_symlink() {
                self.link(&path, &progress)?;
            } else if self.glob.is_match(&progress) {
                let real = self.workspace.root.as_std_path().join(&path);
                self.add(
                    &path,
                    if kind.is_file() { Found::File(real) } else { Found::Other(Other::Special) },
                );
            }
        }
        Ok(())
    }

    fn link(&mut self, path: &Path, progress: &Progress) -> Result<(), WorkspaceError> {
        let matches = self.glob.is_match(progress);
        let leads_on = self.selection.not_entered.is_none() && self.glob.can_continue(progress);
        if !matches && !leads_on {
            return Ok(());
        }
        let found = match self.workspace.resolve(path) {
            // A link that the glob does not select may lead anywhere.
            Err(WorkspaceError::Escape { .. } | WorkspaceError::Loop { .. }) if !matches => {
                return Ok(());
            }
            found => found?,
        };
        if let Found::Other(Other::Directory) = found {
            // A directory is no file, and is not entered through a link.
            if leads_on {
                self.selection.not_entered = Some(printable(&path.to_string_lossy()));
            }
        } else if matches {
            self.add(path, found);
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, found: Found) {
        let name = printable(&path.to_string_lossy());
        match found {
            Found::File(real) => self.selection.files.push(Selected { name, real }),
            Found::Other(other) => self.selection.others.push((name, other)),
            Found::Nothing => {}
        }
    }

    /// The entries of a directory in byte order of their names.
    fn entries(&mut self, path: &Path) -> Result<Vec<(OsString, FileType)>, WorkspaceError> {
        let io = |source| WorkspaceError::Io { name: printable(&path.to_string_lossy()), source };
        let directory: PathBuf = self.workspace.root.as_std_path().join(path);
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(io(error)),
        };
        let mut sorted = Vec::new();
        for entry in entries {
            self.visited += 1;
            let limit = self.workspace.limits.entries;
            if self.visited > limit {
                return Err(WorkspaceError::TooMuch { what: "entries", limit });
            }
            let entry = entry.map_err(io)?;
            sorted.push((entry.file_name(), entry.file_type().map_err(io)?));
        }
        sorted.sort_unstable_by(|left, right| left.0.as_bytes().cmp(right.0.as_bytes()));
        Ok(sorted)
    }
}
