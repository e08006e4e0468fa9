//! `file_matches` and `file_not_matches`.

use std::time::Instant;

use proctor_model::CheckResult;
use proctor_model::conformance::fixture::{Phase, Target};

use super::presence::nothing;
use super::{count, error, failed, list};
use crate::dotnet::{Pattern, Text};
use crate::workspace::{Selection, Workspace};

/// Holds when every selected file matches, and there is one.
pub(super) fn matches(
    target: &Target,
    pattern: &str,
    phase: Phase,
    workspace: &Workspace,
) -> CheckResult {
    let (selection, found) = match search(target, pattern, phase, workspace) {
        Ok(found) => found,
        Err(result) => return result,
    };
    if selection.files.is_empty() {
        let hint = match (&selection.not_entered, selection.others.first()) {
            (Some(link), _) => format!("; globs do not enter the directory link `{link}`"),
            (None, Some((name, other))) => format!("; `{name}` is {other}"),
            (None, None) => String::new(),
        };
        return failed(format!("zero files matched{hint}"), 0);
    }
    let without = selection.files.iter().zip(&found).filter(|(_, line)| line.is_none());
    let without: Vec<String> = without.map(|(file, _)| file.name.clone()).collect();
    answer(&selection, "pattern not found in", &without)
}

/// Holds when no selected file matches, and there is one: a check that looked at nothing proves
/// nothing.
pub(super) fn not_matches(
    target: &Target,
    pattern: &str,
    phase: Phase,
    workspace: &Workspace,
) -> CheckResult {
    let (selection, found) = match search(target, pattern, phase, workspace) {
        Ok(found) => found,
        Err(result) => return result,
    };
    if selection.files.is_empty() {
        return failed(format!("no file to look at: {}", nothing(target, &selection)), 0);
    }
    let with = selection.files.iter().zip(&found);
    let with: Vec<String> =
        with.filter_map(|(file, line)| line.map(|line| format!("{}:{line}", file.name))).collect();
    answer(&selection, "pattern found in", &with)
}

fn answer(selection: &Selection, words: &str, offenders: &[String]) -> CheckResult {
    if offenders.is_empty() {
        return CheckResult::passed(count(selection.files.len()));
    }
    failed(format!("{words} {}", list(offenders)), selection.files.len())
}

/// The selected files, and for each the line of the first match.
///
/// A pattern that cannot be used is an error whatever files there are.
fn search(
    target: &Target,
    pattern: &str,
    phase: Phase,
    workspace: &Workspace,
) -> Result<(Selection, Vec<Option<usize>>), CheckResult> {
    let pattern = Pattern::new(pattern).map_err(|why| error(&why, None))?;
    let selection = workspace.select(target, phase).map_err(|why| error(&why, None))?;
    let files = count(selection.files.len());
    let limits = workspace.limits();
    let started = Instant::now();
    let mut lines = Vec::with_capacity(selection.files.len());
    for file in &selection.files {
        if started.elapsed() > limits.check_time {
            let seconds = limits.check_time.as_secs_f64();
            return Err(error(&format!("check took longer than {seconds} s on its files"), files));
        }
        let text = Text::new(&workspace.read(file).map_err(|why| error(&why, files))?);
        let found = pattern.find(&text, limits.pattern_time);
        let found = found.map_err(|why| error(&format!("{why} on `{}`", file.name), files))?;
        lines.push(found.map(|at| text.line(at)));
    }
    Ok((selection, lines))
}
