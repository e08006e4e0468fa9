//! `file_exists` and `file_absent`.

use proctor_model::CheckResult;
use proctor_model::conformance::fixture::{Phase, Target};

use super::{count, error, failed, list};
use crate::workspace::{Selection, Workspace};

/// Holds when at least one regular file is selected.
pub(super) fn exists(target: &Target, phase: Phase, workspace: &Workspace) -> CheckResult {
    let selection = match workspace.select(target, phase) {
        Ok(selection) => selection,
        Err(why) => return error(&why, None),
    };
    if !selection.files.is_empty() {
        return CheckResult::passed(count(selection.files.len()));
    }
    failed(nothing(target, &selection), 0)
}

/// Holds when nothing is there, not even a directory or a broken link.
pub(super) fn absent(target: &Target, phase: Phase, workspace: &Workspace) -> CheckResult {
    let selection = match workspace.select(target, phase) {
        Ok(selection) => selection,
        Err(why) => return error(&why, None),
    };
    if selection.files.is_empty() && selection.others.is_empty() {
        return CheckResult::passed(Some(0));
    }
    let files = selection.files.iter().map(|file| file.name.clone());
    let others = selection.others.iter().map(|(name, _)| name.clone());
    let names: Vec<String> = files.chain(others).collect();
    let verb = if names.len() == 1 { "exists" } else { "exist" };
    failed(format!("{} {verb}", list(&names)), selection.files.len())
}

/// Why a target that should select a file selects none.
pub(super) fn nothing(target: &Target, selection: &Selection) -> String {
    match (target, selection.others.first(), &selection.not_entered) {
        (Target::Path(_), Some((name, other)), _) => format!("`{name}` is {other}"),
        (Target::Path(path), None, _) => format!("`{path}` does not exist"),
        (Target::Glob(glob), _, None) => format!("no file matches `{glob}`"),
        (Target::Glob(glob), _, Some(link)) => {
            format!("no file matches `{glob}`; globs do not enter the directory link `{link}`")
        }
    }
}
