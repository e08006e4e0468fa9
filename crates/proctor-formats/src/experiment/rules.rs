//! Rules about files of one experiment that need no disk: which destinations may be equal.
//!
//! A test's file may not lie where a file of the experiment or of a setup lies, because all of them
//! come into one workspace in the end. Two tests may use the same place. Within one scope each place
//! is used once. A setup may put its file over one of the experiment: the order is fixed.

use std::collections::BTreeMap;

use proctor_model::experiment::{Dest, Experiment, FileEntry, Rule, Setup};
use proctor_model::{Diagnostic, Location};

use super::walk;
use crate::tree::Problems;

/// Checks the files of every scope.
pub(super) fn check(experiment: &Experiment, problems: &mut Problems) {
    let mut visible = Taken::default();
    visible.scope(&*experiment.files, problems);
    for setups in walk::setup_lists(experiment) {
        let files = setups.iter().flat_map(|setup| &setup.files);
        let mut scope = Taken::default();
        scope.scope(files.clone(), problems);
        for file in files {
            visible.0.entry(&file.dest).or_insert(file.at);
        }
        check_names(setups, problems);
    }
    for test in &*experiment.tests {
        Taken::default().scope(&test.files, problems);
        for file in &test.files {
            if let Some(place) = visible.0.get(&file.dest) {
                let what = "a test's file would lie where a file lies that the agent sees";
                problems.push(collision(file, *place, what));
            }
        }
    }
}

/// Checks two lists of setups that meet in a variant.
pub(super) fn check_pair(first: &[Setup], second: &[Setup], problems: &mut Problems) {
    let mut scope = Taken::default();
    for file in first.iter().flat_map(|setup| &setup.files) {
        scope.0.entry(&file.dest).or_insert(file.at);
    }
    for file in second.iter().flat_map(|setup| &setup.files) {
        if let Some(place) = scope.0.get(&file.dest) {
            let what = "environment and product of one variant stage two files at one place";
            problems.push(collision(file, *place, what));
        }
    }
}

/// Where the destinations of a scope stand.
#[derive(Default)]
struct Taken<'a>(BTreeMap<&'a Dest, Location>);

impl<'a> Taken<'a> {
    fn scope(&mut self, files: impl IntoIterator<Item = &'a FileEntry>, problems: &mut Problems) {
        for file in files {
            match self.0.get(&file.dest) {
                Some(place) => {
                    problems.push(collision(file, *place, "two files would lie at one place"));
                }
                None => {
                    self.0.insert(&file.dest, file.at);
                }
            }
        }
    }
}

fn collision(file: &FileEntry, other: Location, what: &str) -> Diagnostic {
    let Location { line, column } = other;
    let dest = file.dest.as_str().escape_debug();
    let message = format!("{what}, `{dest}`: the other stands at {line}:{column}");
    Diagnostic::error(message).at(file.at).rule(Rule::DestCollision)
}

/// Checks and skills of one list of setups are kept and installed by their names.
fn check_names(setups: &[Setup], problems: &mut Problems) {
    let mut skills: BTreeMap<&str, Location> = BTreeMap::new();
    for skill in setups.iter().flat_map(|setup| &setup.skills) {
        if let Some(Location { line, column }) = skills.get(skill.name.as_str()) {
            let name = skill.name.as_str().escape_debug();
            let message = format!("the skill `{name}` stands at {line}:{column} already");
            problems.push(Diagnostic::error(message).at(skill.at).rule(Rule::DuplicateName));
        } else {
            skills.insert(skill.name.as_str(), skill.at);
        }
    }
}
