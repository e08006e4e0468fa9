//! What must not occur in a session: paths and texts of the skill, its cases and its rubrics. With
//! the skill, its own text is no fault but the sign that it loaded.

use std::collections::BTreeSet;
use std::io::Read as _;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{EVALS_NAME, SKILL_FILE};
use proctor_model::eval::protocol::Arm;
use proctor_model::eval::{Assertion, ExpandedCase, Rubric};

use super::names::{self, Names};
use super::texts::{self, Known, Source, Texts, split_front_matter};
use crate::eval::runner::Call;

/// A line of a case file that has fewer letters says too little; such lines have keys, and so say
/// more.
const CASE_LETTERS: usize = 24;
/// A line of a criterion that has fewer letters says too little.
const CRITERION_LETTERS: usize = 20;
/// The most of a file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// What is known of a skill and its cases.
pub(super) struct Material {
    pub(super) skill: String,
    pub(super) folder: Utf8PathBuf,
    /// The text of its file.
    pub(super) text: String,
    pub(super) eval_folders: Vec<Utf8PathBuf>,
    /// The names of the case files, and their texts.
    pub(super) cases: Vec<(String, String)>,
    /// What its rubrics ask for.
    pub(super) criteria: Vec<String>,
}

impl Material {
    /// Reads the skill and its case files. What cannot be read cannot be recognised either.
    pub(super) fn read(call: &Call<'_>) -> Self {
        let files: BTreeSet<&Utf8Path> =
            call.cases.iter().map(|case| case.place.file.as_path()).collect();
        let case_file = |file: &Utf8Path| {
            let name = file.file_name().unwrap_or_default().to_owned();
            (name, read_start(&call.machine.project.join(file)))
        };
        Self {
            skill: call.skill.to_owned(),
            folder: call.folder.to_owned(),
            text: read_start(&call.folder.join(SKILL_FILE)),
            eval_folders: call.eval_folders.to_vec(),
            cases: files.into_iter().map(case_file).collect(),
            criteria: call
                .cases
                .iter()
                .filter_map(|c| c.rubric.as_ref())
                .flat_map(criteria)
                .collect(),
        }
    }
}

fn criteria(rubric: &Rubric) -> Vec<String> {
    match rubric.items() {
        None => vec![rubric.text().into_owned()],
        Some(items) => items.iter().map(|item| item.text.clone()).collect(),
    }
}

/// What the sessions of a call are looked through for in one arm.
pub(super) struct Needles {
    names: Names,
    texts: Texts,
}

/// The same for the sessions of one case. What the case itself shows the agent, in its prompt or in
/// its files, is no sign of anything.
pub(super) struct CaseNeedles<'a> {
    names: &'a Names,
    known_names: BTreeSet<usize>,
    /// The texts.
    pub(super) texts: Known<'a>,
}

impl Needles {
    pub(super) fn new(material: &Material, arm: Arm) -> Self {
        let Material { skill, folder, text, eval_folders, cases, criteria } = material;
        let (mut names, mut texts) = (names::Collector::default(), texts::Collector::default());
        texts.add_skill(text);
        for folder in eval_folders {
            names.add(folder.as_str(), "the cases of the skill");
        }
        names.add(&format!("{skill}/{EVALS_NAME}"), "the cases of the skill");
        names.add(&format!("{EVALS_NAME}/{skill}"), "the cases of the skill");
        for (name, text) in cases {
            names.add(name, "the cases of the skill");
            texts.add_lines(Source::Cases, text, CASE_LETTERS);
        }
        match arm {
            Arm::With => names.remove_shown(text),
            Arm::Without => {
                let label = format!("the skill `{skill}`");
                names.add(folder.as_str(), &label);
                names.add(&format!("skills/{skill}"), &label);
                for criterion in criteria {
                    texts.add_lines(Source::Rubric, criterion, CRITERION_LETTERS);
                }
            }
        }
        let mut texts = texts.finish();
        // Harnesses list what the front matter says to the model: listed is not loaded.
        texts.forget(split_front_matter(text).0, &[Source::Skill]);
        if arm == Arm::With {
            // Its text is seen, and that may speak of its own cases.
            texts.forget(text, &[Source::Cases]);
        }
        Self { names: names.finish(), texts }
    }

    /// What the sessions of `case` are looked through for.
    pub(super) fn of_case(&self, case: &ExpandedCase) -> CaseNeedles<'_> {
        let files = case.files.iter();
        let shown: Vec<_> = files
            .flat_map(|file| [file.path.as_str().into(), String::from_utf8_lossy(&file.content)])
            .chain([case.prompt.as_str().into(), format!("prompt: {}", case.prompt).into()])
            .chain(case.assertions.iter().flat_map(results).map(Into::into))
            .collect();
        let known_names = shown.iter().flat_map(|text| self.names.all(text)).collect();
        let texts = self.texts.beside(shown.iter().map(AsRef::as_ref));
        CaseNeedles { names: &self.names, known_names, texts }
    }
}

impl CaseNeedles<'_> {
    /// The first forbidden path in a text, as people call it.
    pub(super) fn names(&self, text: &str) -> Option<String> {
        self.names.first(text, &self.known_names)
    }
}

/// What an agent that did its work may show as it stands in the case file: `"path": "week.md"`.
fn results(assertion: &Assertion) -> Vec<String> {
    let (path, value) = match assertion {
        Assertion::Contains { value, path } => (path.as_ref(), Some(value)),
        Assertion::FileExists { path, .. } => (Some(path), None),
        Assertion::NotContains { path, .. } | Assertion::Regex { path, .. } => {
            (path.as_ref(), None)
        }
        Assertion::CommandExit { .. } => (None, None),
    };
    let path = path.map(|path| format!("path: {path}"));
    path.into_iter().chain(value.map(|value| format!("value: {value}"))).collect()
}

fn read_start(path: &Utf8Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = fs_err::File::open(path) {
        // What cannot be read is left out.
        let _ = file.take(MAX_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
