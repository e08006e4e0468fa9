//! A project's installation: made, brought up to date, looked at, removed.

mod config;
mod drift;
mod fresh;
mod instructions;
mod manifest;
mod mcp;
mod plan;
mod steps;
#[cfg(test)]
mod tests;
mod transaction;

use std::fs::{File, TryLockError};
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::{Diagnostic, Diagnostics};

pub use config::{McpSetting, ProjectConfig};
pub use drift::{Change, Modified};

use crate::corpus::Corpus;
use crate::error::{Conflict, InstallError};
use crate::json::{Dialect, Json};
use crate::selection::{Compat, Selection};
use crate::slice::Slice;
use crate::tree::{ReadError, Tree};
use crate::{CONFIGURATION, INSTALLATION_MANIFEST};
use manifest::Manifest;
use plan::{Plan, Project};

/// What to install, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallRequest {
    /// The choice; it is written to `.cratis/ai.json`.
    pub selection: Selection,
    /// What an empty list of languages means for rules.
    pub compat: Compat,
    /// How it is done.
    pub manner: Manner,
}

/// How a project is changed. The default replaces nothing that was edited, and changes the project.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Manner {
    /// Whether changed managed files and links are replaced or removed. Nothing else yields to it.
    pub force: bool,
    /// Whether to say what would be done and do nothing.
    pub dry_run: bool,
}

/// What an installation did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstallReport {
    /// What was done, in order: `Added`, `Updated`, `Removed` and `Configured` with a path.
    pub actions: Vec<String>,
    /// What stood in the way; when there is anything, nothing was done.
    pub conflicts: Vec<Conflict>,
    /// Selected MCP servers that could not be registered with a harness, as `harness/id: why`.
    pub unsupported_mcp_servers: Vec<String>,
    /// Whether nothing was done because that was asked for.
    pub dry_run: bool,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// What is installed in a project, and what was changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The project's choice.
    pub config: ProjectConfig,
    /// The corpus revision that was installed; `unknown` without a record.
    pub revision: String,
    /// The revision of the corpus at hand.
    pub available_revision: Option<String>,
    /// Whether both revisions differ. They may differ without any effect on this selection.
    pub update_available: Option<bool>,
    /// What was changed, in byte order of the path.
    pub modified: Vec<Modified>,
    /// Registered MCP servers, as `harness/id`.
    pub mcp_servers: Vec<String>,
    /// MCP servers that a harness reaches by an installed extension, as `harness/id`.
    pub mcp_extensions: Vec<String>,
    /// Selected MCP servers that could not be registered, as `harness/id: why`.
    pub unsupported_mcp_servers: Vec<String>,
}

/// Installs a selection into a project, over whatever was installed there before.
///
/// All or nothing: on a conflict, an error or with [`Manner::dry_run`], no file has been changed. Looked for in
/// this order, and only the first kind found is reported: MCP entries that are not ours, paths that
/// are not ours, and changed managed files unless [`Manner::force`] is set.
///
/// # Errors
/// See [`InstallError`]; conflicts are no error, but part of the report.
pub fn install(
    project: &Utf8Path,
    corpus: &Corpus,
    request: &InstallRequest,
) -> Result<InstallReport, InstallError> {
    let (_lock, notes) = begin(project, request.manner)?;
    install_locked(project, corpus, request, notes)
}

fn install_locked(
    project: &Utf8Path,
    corpus: &Corpus,
    request: &InstallRequest,
    mut notes: Vec<String>,
) -> Result<InstallReport, InstallError> {
    let slice = corpus.slice(&request.selection, request.compat)?;
    if request.selection.harnesses.is_empty() {
        notes.push("no harness is selected, so no links are made".to_owned());
    }
    let tree = Tree::new(project);
    let plan = Project::read(&tree)?.plan_install(&slice, request.manner.force)?;
    finish(&tree, plan, request.manner, notes)
}

/// Installs the selection of `.cratis/ai.json` again; see [`install`].
///
/// # Errors
/// [`InstallError::NotInstalled`] without that file; otherwise as for [`install`].
pub fn update(
    project: &Utf8Path,
    corpus: &Corpus,
    compat: Compat,
    manner: Manner,
) -> Result<InstallReport, InstallError> {
    let (_lock, notes) = begin(project, manner)?;
    let selection = require_config(&Tree::new(project))?.selection;
    let request = InstallRequest { selection, compat, manner };
    install_locked(project, corpus, &request, notes)
}

/// Removes what was installed, and leaves the project's choice, its own files and directories.
///
/// # Errors
/// See [`InstallError`]; conflicts are no error, but part of the report.
pub fn uninstall(project: &Utf8Path, manner: Manner) -> Result<InstallReport, InstallError> {
    let (_lock, notes) = begin(project, manner)?;
    let tree = Tree::new(project);
    let plan = Project::read(&tree)?.plan_uninstall(manner.force)?;
    finish(&tree, plan, manner, notes)
}

/// Looks at an installation, and compares its revision with the corpus when there is one. Changes
/// nothing.
///
/// # Errors
/// [`InstallError::NotInstalled`] without `.cratis/ai.json`; [`InstallError::CutOff`] when an
/// installation was cut off; mistakes in the project's files.
pub fn status(project: &Utf8Path, corpus: Option<&Corpus>) -> Result<Status, InstallError> {
    let tree = Tree::new(project);
    refuse_pending(&tree)?;
    let config = require_config(&tree)?;
    let manifest = Manifest::read(&tree)?.unwrap_or_default();
    let modified = drift::check(&tree, Some(&config), &manifest)?;
    let available_revision = corpus.map(Corpus::revision);
    let update_available =
        available_revision.as_ref().map(|available| *available != manifest.revision);
    let servers =
        manifest.mcp_servers.iter().map(|entry| format!("{}/{}", entry.harness, entry.id));
    Ok(Status {
        mcp_servers: servers.collect(),
        config,
        revision: manifest.revision,
        available_revision,
        update_available,
        modified,
        mcp_extensions: manifest.extensions,
        unsupported_mcp_servers: manifest.unsupported,
    })
}

/// The project's choice; `None` without `.cratis/ai.json`.
///
/// # Errors
/// All the mistakes in the file, or why it cannot be read.
pub fn project_config(project: &Utf8Path) -> Result<Option<ProjectConfig>, InstallError> {
    ProjectConfig::read(&Tree::new(project))
}

/// Checks that an installation is there and whole: the inner error lists what was changed. Changes
/// nothing.
///
/// # Errors
/// [`InstallError::NotInstalled`] when the choice or the record is missing; otherwise as for
/// [`status`].
pub fn check_clean(project: &Utf8Path) -> Result<Result<(), Vec<Modified>>, InstallError> {
    let tree = Tree::new(project);
    refuse_pending(&tree)?;
    let config = require_config(&tree)?;
    let Some(manifest) = Manifest::read(&tree)? else {
        return Err(InstallError::NotInstalled { path: INSTALLATION_MANIFEST.into() });
    };
    let modified = drift::check(&tree, Some(&config), &manifest)?;
    Ok(if modified.is_empty() { Ok(()) } else { Err(modified) })
}

impl Slice {
    /// Installs the slice into a workspace that is thrown away when anything goes wrong: the same
    /// decisions as [`install`] without force, and no way back.
    ///
    /// # Errors
    /// [`InstallError::Refused`] when something in the workspace is in the way; nothing was
    /// written then.
    pub fn install_fresh(&self, workspace: &Utf8Path) -> Result<InstallReport, InstallError> {
        let tree = Tree::new(workspace);
        refuse_pending(&tree)?;
        let plan = Project::read(&tree)?.plan_install(self, false)?;
        if !plan.conflicts.is_empty() {
            return Err(InstallError::Refused(plan.conflicts));
        }
        fresh::apply(&tree, &plan.steps)?;
        Ok(report(plan, Manner::default(), Vec::new()))
    }
}

/// Locks the project and goes back to where an earlier installation began that was cut off.
fn begin(project: &Utf8Path, manner: Manner) -> Result<(File, Vec<String>), InstallError> {
    let lock = lock(project)?;
    let tree = Tree::new(project);
    let mut notes = Vec::new();
    if manner.dry_run {
        refuse_pending(&tree)?;
    } else if transaction::recover(&tree)? {
        notes.push("an earlier installation that was cut off has been rolled back".to_owned());
    }
    Ok((lock, notes))
}

fn finish(
    tree: &Tree,
    plan: Plan,
    manner: Manner,
    notes: Vec<String>,
) -> Result<InstallReport, InstallError> {
    if !manner.dry_run && plan.conflicts.is_empty() && !plan.steps.is_empty() {
        transaction::apply(tree, &plan.steps)?;
    }
    Ok(report(plan, manner, notes))
}

fn report(plan: Plan, manner: Manner, mut notes: Vec<String>) -> InstallReport {
    notes.extend(plan.notes);
    InstallReport {
        actions: plan.actions,
        conflicts: plan.conflicts,
        unsupported_mcp_servers: plan.unsupported,
        dry_run: manner.dry_run,
        notes,
    }
}

/// Locks the project's directory itself, so that a refusal leaves nothing behind.
fn lock(project: &Utf8Path) -> Result<File, InstallError> {
    let directory =
        File::open(project).map_err(|source| io_error("open", project.to_owned(), source))?;
    match directory.try_lock() {
        Err(TryLockError::WouldBlock) => Err(InstallError::Busy { project: project.to_owned() }),
        // Some network file systems lock no directories; then nothing guards against a second run.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(directory),
    }
}

fn refuse_pending(tree: &Tree) -> Result<(), InstallError> {
    if transaction::is_pending(tree)? {
        return Err(InstallError::CutOff { path: tree.at(transaction::DIRECTORY) });
    }
    Ok(())
}

fn require_config(tree: &Tree) -> Result<ProjectConfig, InstallError> {
    let missing = || InstallError::NotInstalled { path: CONFIGURATION.into() };
    ProjectConfig::read(tree)?.ok_or_else(missing)
}

/// Reads a JSON file of the project; `None` when there is none.
fn read_json(tree: &Tree, path: &str, limit: u64) -> Result<Option<Json>, InstallError> {
    let bytes = tree.read(path, limit).map_err(|error| read_error(tree, path, error))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let wrong = |diagnostic: Diagnostic| invalid(diagnostic.in_file(path));
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| wrong(Diagnostic::error("not UTF-8").hint("save the file as UTF-8")))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Json::parse(text, Dialect::Strict).map(Some).map_err(wrong)
}

fn read_error(tree: &Tree, path: &str, error: ReadError) -> InstallError {
    match error {
        ReadError::Io(source) => io_error("read", tree.at(path), source),
        ReadError::NotRegular(path) => InstallError::NotRegular { path },
        ReadError::TooLong(limit) => {
            invalid(Diagnostic::error(format!("longer than {limit} bytes")).in_file(path))
        }
    }
}

fn io_error(action: &'static str, path: Utf8PathBuf, source: io::Error) -> InstallError {
    InstallError::Io { action, path, source }
}

fn invalid(diagnostic: Diagnostic) -> InstallError {
    InstallError::Invalid(Diagnostics(vec![diagnostic]))
}
