//! Whether expected instruction files were seen to be read.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_corpus::{MANAGED_DIRECTORY, Slice};
use proctor_harness::Reads;
use proctor_model::Event;
use proctor_model::conformance::report::{LoadStatus, ObservedLoad};

/// Follows the explicit reads of a session, and holds them against the expected paths.
///
/// Only a read tool that names a path, and did not fail, proves anything: a `cat` in a shell or a
/// file that the harness loads by itself leaves the path `unknown`.
pub(super) struct Loads {
    /// The workspace, with its links resolved.
    workspace: Utf8PathBuf,
    expected: Vec<Expected>,
    reads: Reads,
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
        Self { workspace, expected, reads: Reads::default() }
    }

    /// Looks at the next event.
    pub(super) fn observe(&mut self, event: &Event) {
        self.reads.observe(event);
    }

    /// One row an expected path, in the fixture's order.
    pub(super) fn into_rows(self) -> Vec<ObservedLoad> {
        let paths = self.reads.into_paths();
        let seen: BTreeSet<_> = paths.iter().map(|path| real(&self.workspace, path)).collect();
        let row = |expected: Expected| ObservedLoad {
            status: if seen.contains(&expected.real) {
                LoadStatus::Observed
            } else {
                LoadStatus::Unknown
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
