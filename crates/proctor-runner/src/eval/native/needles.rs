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
/// Lines of the skill, and of its case files, that are looked for.
const MAX_LINES: usize = 1000;
/// The most of a file that is read.
const MAX_BYTES: u64 = 1024 * 1024;
/// The endings of case files, with what stands before them: no other file is called so.
const CASE_FILES: [&str; 3] = [".eval.yaml", ".eval.yml", ".eval.json"];

/// What is looked for in the sessions of one case in one arm.
pub(super) struct Needles {
    names: Finder,
    quotes: Finder,
}

#[derive(Default)]
struct Finder {
    automaton: Option<AhoCorasick>,
    needles: Vec<Needle>,
}

struct Needle {
    text: String,
    /// How people call it.
    label: String,
}

/// The texts of a skill that nobody without it can know.
pub(super) struct SkillTexts {
    /// `SKILL.md`.
    whole: String,
    /// Those of its lines that can be recognised.
    lines: Vec<String>,
    criteria: Vec<String>,
    /// Lines of case files that can be recognised.
    case_lines: Vec<String>,
}

impl SkillTexts {
    /// Reads the skill. What cannot be read cannot be recognised either.
    pub(super) fn of(call: &Call<'_>) -> Self {
        let whole = read_start(&call.folder.join(SKILL_FILE));
        let files: BTreeSet<&Utf8Path> =
            call.cases.iter().map(|case| case.place.file.as_path()).collect();
        let files = files.into_iter().map(|file| read_start(&call.machine.project.join(file)));
        let case_lines = files.flat_map(|text| long_lines(&text, CASE_LINE_CHARS));
        let rubrics = call.cases.iter().filter_map(|case| case.rubric.as_ref());
        let criteria = rubrics.flat_map(|rubric| {
            let items = rubric.items().unwrap_or_default().iter().map(|item| item.text.clone());
            let text = rubric.items().is_none().then(|| rubric.text().into_owned());
            items.chain(text)
        });
        let criteria = criteria.map(|text| text.trim().to_owned());
        Self {
            lines: long_lines(&whole, LINE_CHARS),
            whole,
            case_lines: case_lines.take(MAX_LINES).collect(),
            criteria: criteria.filter(|text| text.chars().count() >= CRITERION_CHARS).collect(),
        }
    }
}

/// The first lines of a text that are long enough, without the space around them.
fn long_lines(text: &str, least: usize) -> Vec<String> {
    let lines = text.lines().map(str::trim).filter(|line| line.chars().count() >= least);
    lines.take(MAX_LINES).map(str::to_owned).collect()
}

fn read_start(path: &Utf8Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = fs_err::File::open(path) {
        // What cannot be read is left out.
        let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

impl Needles {
    /// What `case` must not show in `arm`: with the skill its cases, and without it the skill too.
    ///
    /// What the prompt or the files of the case say themselves is no sign of anything.
    pub(super) fn new(call: &Call<'_>, texts: &SkillTexts, case: &ExpandedCase, arm: Arm) -> Self {
        let mut names = Finder::default();
        for folder in call.eval_folders {
            names.add(folder.as_str(), "the cases of the skill");
        }
        names.add(&format!("{}/{EVALS_NAME}", call.skill), "the cases of the skill");
        names.add(&format!("{EVALS_NAME}/{}", call.skill), "the cases of the skill");
        for ending in CASE_FILES {
            names.add(ending, "a file of cases");
        }
        let mut quotes = Finder::default();
        for line in &texts.case_lines {
            quotes.add(line, "a line of the skill's cases");
        }
        if arm == Arm::Without {
            let skill = format!("the skill `{}`", call.skill);
            names.add(call.folder.as_str(), &skill);
            names.add(&format!("skills/{}", call.skill), &skill);
            for line in &texts.lines {
                quotes.add(line, "a line of the skill");
            }
            for criterion in &texts.criteria {
                quotes.add(criterion, "a rubric of the skill");
            }
        }
        // With the skill its text is seen, and that may speak of its own cases.
        let shown = if arm == Arm::With { texts.whole.as_str() } else { "" };
        Self { names: names.finish(case, shown), quotes: quotes.finish(case, shown) }
    }

    /// The first forbidden path in a text, as people call it.
    pub(super) fn names(&self, text: &str) -> Option<String> {
        self.names.find(text, true)
    }

    /// The first forbidden passage in a text, as people call it.
    pub(super) fn quotes(&self, text: &str) -> Option<String> {
        self.quotes.find(text, false)
    }
}

impl Finder {
    fn add(&mut self, text: &str, label: &str) {
        if !text.is_empty() {
            self.needles.push(Needle { text: text.to_owned(), label: label.to_owned() });
        }
    }

    /// Leaves out what the case itself, or `shown`, shows the agent.
    fn finish(mut self, case: &ExpandedCase, shown: &str) -> Self {
        let files: Vec<_> = case
            .files
            .iter()
            .map(|file| (&file.path, String::from_utf8_lossy(&file.content)))
            .collect();
        self.needles.retain(|needle| {
            let shows = |text: &str| text.contains(&needle.text);
            !shows(&case.prompt)
                && !shows(shown)
                && !files.iter().any(|(path, text)| shows(path) || shows(text))
        });
        // Fails only beyond sizes that the limits keep us from.
        self.automaton = AhoCorasick::new(self.needles.iter().map(|needle| &needle.text)).ok();
        self
    }

    /// The first needle in a text. Of a name, whole words only count.
    fn find(&self, text: &str, is_name: bool) -> Option<String> {
        let found = self.automaton.as_ref()?.find_overlapping_iter(text).find(|found| {
            let part_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
            let after = text.get(found.end()..).unwrap_or_default();
            let before = text.get(..found.start()).unwrap_or_default();
            let starts = text.get(found.start()..).unwrap_or_default();
            // A name that begins with a slash or a dot may follow anything.
            let joined = starts.starts_with(part_of_name) && before.ends_with(part_of_name);
            !is_name || !(after.starts_with(part_of_name) || joined)
        })?;
        let needle = self.needles.get(found.pattern().as_usize())?;
        let shown = if is_name { format!(" (`{}`)", needle.text) } else { String::new() };
        Some(format!("{}{shown}", needle.label))
    }
}
