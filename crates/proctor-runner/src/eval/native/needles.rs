//! What must not occur in a session: paths and texts of the skill, its cases and its rubrics.

use std::collections::BTreeSet;
use std::io::Read as _;

use aho_corasick::AhoCorasick;
use camino::Utf8Path;
use proctor_formats::eval::{EVALS_NAME, SKILL_FILE};
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::Arm;

use crate::eval::runner::Call;

/// A line of the skill that is shorter says too little to tell where it comes from.
const LINE_CHARS: usize = 40;
/// A line of a case file that is shorter says too little; such lines have keys, and so say more.
const CASE_LINE_CHARS: usize = 30;
/// A criterion that is shorter says too little.
const CRITERION_CHARS: usize = 20;
/// Lines of one file that are looked for.
const MAX_LINES: usize = 1000;
/// The most of a file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// What no session of a call may show in one arm: with the skill its cases, and without it the skill
/// too.
pub(super) struct Needles {
    names: Finder,
    quotes: Finder,
}

/// What the sessions of one case may not show. What the case itself shows the agent, in its prompt
/// or in its files, is no sign of anything.
pub(super) struct CaseNeedles<'a> {
    needles: &'a Needles,
    /// Needles that the case itself shows.
    names: BTreeSet<usize>,
    quotes: BTreeSet<usize>,
}

impl Needles {
    /// Reads the skill and its case files. What cannot be read cannot be recognised either.
    pub(super) fn new(call: &Call<'_>, arm: Arm) -> Self {
        let skill_text = read_start(&call.folder.join(SKILL_FILE));
        let (mut names, mut quotes) = (Collector::default(), Collector::default());
        for folder in call.eval_folders {
            names.add(folder.as_str(), "the cases of the skill");
        }
        names.add(&format!("{}/{EVALS_NAME}", call.skill), "the cases of the skill");
        names.add(&format!("{EVALS_NAME}/{}", call.skill), "the cases of the skill");
        let files: BTreeSet<&Utf8Path> =
            call.cases.iter().map(|case| case.place.file.as_path()).collect();
        for file in files {
            names.add(file.file_name().unwrap_or_default(), "the cases of the skill");
            let text = read_start(&call.machine.project.join(file));
            quotes.add_lines(&text, CASE_LINE_CHARS, "a line of the skill's cases");
        }
        match arm {
            // With the skill its text is seen, and that may speak of its own cases.
            Arm::With => {
                names.remove_shown(&skill_text);
                quotes.remove_shown(&skill_text);
            }
            Arm::Without => {
                let skill = format!("the skill `{}`", call.skill);
                names.add(call.folder.as_str(), &skill);
                names.add(&format!("skills/{}", call.skill), &skill);
                quotes.add_lines(&skill_text, LINE_CHARS, "a line of the skill");
                for rubric in call.cases.iter().filter_map(|case| case.rubric.as_ref()) {
                    match rubric.items() {
                        None => quotes.add_criterion(&rubric.text()),
                        Some(items) => {
                            for item in items {
                                quotes.add_criterion(&item.text);
                            }
                        }
                    }
                }
            }
        }
        Self { names: names.finish(), quotes: quotes.finish() }
    }

    /// What the sessions of `case` may not show.
    pub(super) fn of_case(&self, case: &ExpandedCase) -> CaseNeedles<'_> {
        let files: Vec<_> = case
            .files
            .iter()
            .flat_map(|file| [file.path.as_str().into(), String::from_utf8_lossy(&file.content)])
            .collect();
        let shown = |finder: &Finder| {
            let mut shown = finder.all(&case.prompt);
            for text in &files {
                shown.extend(finder.all(text));
            }
            shown
        };
        let (names, quotes) = (shown(&self.names), shown(&self.quotes));
        CaseNeedles { needles: self, names, quotes }
    }
}

impl CaseNeedles<'_> {
    /// The first forbidden path in a text, as people call it. Whole words only count.
    pub(super) fn names(&self, text: &str) -> Option<String> {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
        let needle = self.needles.names.first(text, |index, start, end| {
            let (before, found) = text.split_at_checked(start).unwrap_or_default();
            let after = text.get(end..).unwrap_or_default();
            // A name that begins with a slash or a dot may follow anything.
            let joined = found.starts_with(part_of_name) && before.ends_with(part_of_name);
            !self.names.contains(&index) && !after.starts_with(part_of_name) && !joined
        })?;
        Some(format!("{} (`{}`)", needle.label, needle.text))
    }

    /// The first forbidden passage in a text, as people call it.
    pub(super) fn quotes(&self, text: &str) -> Option<String> {
        let needle =
            self.needles.quotes.first(text, |index, _, _| !self.quotes.contains(&index))?;
        Some(needle.label.clone())
    }
}

struct Needle {
    text: String,
    /// How people call it.
    label: String,
}

/// Needles, each once.
#[derive(Default)]
struct Collector {
    needles: Vec<Needle>,
    known: BTreeSet<String>,
}

impl Collector {
    fn add(&mut self, text: &str, label: &str) {
        if !text.is_empty() && self.known.insert(text.to_owned()) {
            self.needles.push(Needle { text: text.to_owned(), label: label.to_owned() });
        }
    }

    /// Adds the first lines of a text that are long enough, without the space around them.
    fn add_lines(&mut self, text: &str, least: usize, label: &str) {
        let lines = text.lines().map(str::trim).filter(|line| line.chars().count() >= least);
        lines.take(MAX_LINES).for_each(|line| self.add(line, label));
    }

    fn add_criterion(&mut self, text: &str) {
        let text = text.trim();
        if text.chars().count() >= CRITERION_CHARS {
            self.add(text, "a rubric of the skill");
        }
    }

    fn remove_shown(&mut self, text: &str) {
        self.needles.retain(|needle| !text.contains(&needle.text));
    }

    fn finish(self) -> Finder {
        // Fails only beyond sizes that the limits keep us from.
        let automaton = AhoCorasick::new(self.needles.iter().map(|needle| &needle.text)).ok();
        Finder { automaton, needles: self.needles }
    }
}

/// Finds needles in time that follows the text alone.
struct Finder {
    automaton: Option<AhoCorasick>,
    needles: Vec<Needle>,
}

impl Finder {
    /// The needles that occur in a text.
    fn all(&self, text: &str) -> BTreeSet<usize> {
        let found = self.automaton.iter().flat_map(|finder| finder.find_overlapping_iter(text));
        found.map(|found| found.pattern().as_usize()).collect()
    }

    /// The first needle in a text that `counts`, by its index and its place.
    fn first(&self, text: &str, counts: impl Fn(usize, usize, usize) -> bool) -> Option<&Needle> {
        let mut found = self.automaton.as_ref()?.find_overlapping_iter(text);
        let found = found.find(|f| counts(f.pattern().as_usize(), f.start(), f.end()))?;
        self.needles.get(found.pattern().as_usize())
    }
}

fn read_start(path: &Utf8Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = fs_err::File::open(path) {
        // What cannot be read is left out.
        let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
