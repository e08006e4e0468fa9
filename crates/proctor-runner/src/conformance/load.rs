//! Whether expected instruction files were seen to be read.

use std::collections::{BTreeMap, BTreeSet};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_corpus::{MANAGED_DIRECTORY, Slice};
use proctor_model::conformance::report::{LoadStatus, ObservedLoad};
use proctor_model::event::ToolStatus;
use proctor_model::{Action, Event, EventKind};

/// Follows the explicit reads of a session.
///
/// Only a read tool that names a path, and did not fail, proves anything: a `cat` in a shell or a
/// file that the harness loads by itself leaves the path `unknown`.
pub(super) struct Loads {
    /// The workspace, with its links resolved.
    workspace: Utf8PathBuf,
    expected: Vec<Expected>,
    /// Paths of reads that are under way, by call id.
    pending: BTreeMap<String, String>,
    /// What was read, as real paths.
    seen: BTreeSet<Utf8PathBuf>,
}

struct Expected {
    path: String,
    installed: bool,
    real: Utf8PathBuf,
}

impl Loads {
    /// Starts to follow `expected`, right after the installation of `slice`.
    pub(super) fn new(workspace: &Utf8Path, slice: &Slice, expected: &[String]) -> Self {
        let workspace = workspace.canonicalize_utf8().unwrap_or_else(|_| workspace.to_owned());
        let installed: BTreeSet<Utf8PathBuf> = slice
            .files()
            .iter()
            .map(|file| workspace.join(MANAGED_DIRECTORY).join(file.destination()))
            .collect();
        let expected = expected
            .iter()
            .map(|path| {
                let real = real(&workspace, path);
                Expected { path: path.clone(), installed: installed.contains(&real), real }
            })
            .collect();
        Self { workspace, expected, pending: BTreeMap::new(), seen: BTreeSet::new() }
    }

    /// Looks at the next event.
    pub(super) fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolCall { id, action: Action::Read { path }, .. } => {
                self.pending.insert(id.clone(), path.clone());
            }
            EventKind::ToolResult { id, status, .. } => {
                if let (Some(path), ToolStatus::Ok) = (self.pending.remove(id), status) {
                    self.seen.insert(real(&self.workspace, &path));
                }
            }
            _ => {}
        }
    }

    /// One row an expected path, in the fixture's order.
    pub(super) fn into_rows(self) -> Vec<ObservedLoad> {
        let seen = self.seen;
        let row = |expected: Expected| ObservedLoad {
            status: match seen.contains(&expected.real) {
                true => LoadStatus::Observed,
                false => LoadStatus::Unknown,
            },
            path: expected.path,
            installed: expected.installed,
        };
        self.expected.into_iter().map(row).collect()
    }
}

/// The real path behind a path as a tool or a fixture names it: our own links lead to the file that
/// they stand for. A path that leads nowhere stays as it is.
fn real(workspace: &Utf8Path, path: &str) -> Utf8PathBuf {
    let path = workspace.join(path);
    path.canonicalize_utf8().unwrap_or(path)
}
