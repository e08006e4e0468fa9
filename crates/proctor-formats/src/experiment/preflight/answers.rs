//! Answers that lie where the agent sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proctor_model::experiment::{Experiment, FileEntry, Rule, Script, Test};
use proctor_model::{Diagnostic, Digest, Location};

use super::super::lint::{answer_word, compared_literals, visible_answer};
use super::super::sources::{Item, ItemKind, Source};
use super::super::walk;
use super::{Preflight, script_of};
use crate::tree::Problems;

/// Shorter texts are everywhere.
const SHORTEST: usize = 8;

/// Longer files are compared by their digests only, in bytes.
const LONGEST: u64 = 256 * 1024;

/// How much of what agents see is searched, in bytes.
const MOST: u64 = 8 * 1024 * 1024;

/// How many texts are looked for.
const MOST_ANSWERS: usize = 64;

/// Pushes what agents could read instead of doing the work.
pub(super) fn check(experiment: &Experiment, found: &Preflight, problems: &mut Problems) {
    let visible = Visible::of(experiment, found);
    for (file, source) in &visible.sources {
        if !source.is_folder {
            continue;
        }
        let named = source.items.iter().find_map(|item| Some((item, answer_word(&item.path)?)));
        // The entry's own name was looked at without the disk.
        if let Some((item, word)) = named.filter(|_| answer_word(file.dest.as_str()).is_none()) {
            let dest = format!("{}/{}", file.dest, item.path);
            problems.push(visible_answer(file.at, &dest, word));
        }
    }
    let mut left = MOST_ANSWERS;
    for test in &*experiment.tests {
        if let Script::File(path) = &test.script
            && let Some(source) = found.sources.0.get(path)
            && let Some(place) = visible.digests.get(&source.digest)
        {
            let message =
                format!("the agent sees the script of the test `{}`, as `{place}`", test.name);
            let hint = "move it out of what is staged";
            let error = Diagnostic::error(message).at(test.at).hint(hint);
            problems.push(error.rule(Rule::AnswerLeaked));
        }
        for file in &test.files {
            let source = file.source_path().and_then(|path| found.sources.0.get(path));
            if let Some(source) = source {
                test_file(test, file, source, &visible, &mut left, problems);
            }
        }
        let script = script_of(test, found).unwrap_or_default();
        for literal in compared_literals(script) {
            if left == 0 {
                return;
            }
            left -= 1;
            if let Some(place) = visible.holding(&literal) {
                let message = format!(
                    "the test `{}` expects {}, which the agent can read in `{place}`",
                    test.name,
                    shown(&literal)
                );
                problems.push(Diagnostic::warning(message).at(test.at).rule(Rule::AnswerInView));
            }
        }
    }
}

/// Looks for the content of a test's file in what the agent sees.
fn test_file(
    test: &Test,
    file: &FileEntry,
    source: &Source,
    visible: &Visible<'_>,
    left: &mut usize,
    problems: &mut Problems,
) {
    for item in &source.items {
        let ItemKind::File { digest, length, .. } = &item.kind else { continue };
        if *length == 0 {
            continue;
        }
        let same = visible.digests.get(digest).cloned();
        let place = same.or_else(|| {
            *left = left.checked_sub(1)?;
            let text = text_of(source, item)?;
            visible.holding(text.trim())
        });
        let Some(place) = place else { continue };
        let names = [item.path.as_str(), file.dest.as_str(), file.name.as_str()];
        let source_name = source.host.file_name().unwrap_or_default();
        let word = names.into_iter().chain([source_name]).find_map(answer_word);
        let what = if item.path.is_empty() {
            file.dest.to_string()
        } else {
            format!("{}/{}", file.dest, item.path)
        };
        let message = format!(
            "the agent can read what is in `{what}`, a file of the test `{}`, in `{place}`",
            test.name
        );
        let at: Location = file.at;
        problems.push(match word {
            Some(_) => Diagnostic::error(message).at(at).rule(Rule::AnswerLeaked),
            None => Diagnostic::warning(message).at(at).rule(Rule::AnswerInView),
        });
        return;
    }
}

/// What agents see.
struct Visible<'a> {
    sources: Vec<(&'a FileEntry, &'a Source)>,
    /// Where each content lies.
    digests: BTreeMap<Digest, String>,
    /// The texts, with their places.
    texts: Vec<(String, String)>,
}

impl<'a> Visible<'a> {
    fn of(experiment: &'a Experiment, found: &'a Preflight) -> Self {
        let sources: Vec<_> = walk::visible_files(experiment)
            .into_iter()
            .filter_map(|file| Some((file, found.sources.0.get(file.source_path()?)?)))
            .collect();
        let mut digests = BTreeMap::new();
        let mut texts = Vec::new();
        let mut read = BTreeSet::new();
        let mut budget = MOST;
        for (file, source) in &sources {
            for item in &source.items {
                let ItemKind::File { digest, length, .. } = &item.kind else { continue };
                let place = if item.path.is_empty() {
                    file.dest.to_string()
                } else {
                    format!("{}/{}", file.dest, item.path)
                };
                let place = place.escape_debug().to_string();
                if *length > 0 {
                    digests.entry(*digest).or_insert_with(|| place.clone());
                }
                if *length <= budget
                    && read.insert(*digest)
                    && let Some(text) = text_of(source, item)
                {
                    budget -= length;
                    texts.push((place, text));
                }
            }
        }
        Self { sources, digests, texts }
    }

    /// Where a text lies.
    fn holding(&self, text: &str) -> Option<String> {
        if text.len() < SHORTEST {
            return None;
        }
        self.texts.iter().find(|(_, seen)| seen.contains(text)).map(|(place, _)| place.clone())
    }
}

/// The content of an item, when it is a text of a fair length.
fn text_of(source: &Source, item: &Item) -> Option<String> {
    match item.kind {
        ItemKind::File { length, .. } if length <= LONGEST => {
            // What changed or went since it was digested is not worth a note.
            fs::read_to_string(source.host_path(item)).ok()
        }
        _ => None,
    }
}

/// A text for a message, shortened.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    format!("\"{short}\"")
}
