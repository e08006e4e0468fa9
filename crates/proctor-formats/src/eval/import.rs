//! Importers: eval cases from the suites that people have written for other tools.
//!
//! An importer says for every field of its input what became of it: mapped, assumed, or listed as
//! unmapped (rule AR9A5); nothing is dropped in silence, and nothing is guessed. Nothing that is
//! read is run, and what is written has been read back by the case parser first.
//!
//! A new importer is a module here and a line in [`IMPORTERS`].

mod document;
mod draft;
mod files;
mod javascript;
mod lift;
mod plugin_eval;
mod promptfoo;
mod queries;
mod render;
mod report;
mod rubric;
mod security;
mod skill_creator;
mod tessl;
#[cfg(test)]
mod tests;
pub(crate) mod yaml_text;

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::Diagnostics;
use proctor_model::eval::Rule;
use proctor_model::eval::case::near_miss_id;

use draft::{CaseFile, Draft, NewCase};
use files::Counted;
pub use files::{Entry, Files, FolderFiles, Links};
pub use report::{ImportFinding, ImportReport, Lifted, ScenarioReport, Unmapped};
pub(super) use security::hidden;

use super::MAX_FILE_BYTES;

/// The version of the importers, which the head of each written file names.
pub const IMPORTER_VERSION: u32 = 1;

/// The longest file that is read, 2 MiB.
pub const MAX_INPUT_BYTES: u64 = 2 * 1024 * 1024;

/// How deep lists and objects may be nested in a file that is read.
pub const MAX_INPUT_DEPTH: usize = 32;

/// How many scenarios one import may have.
pub const MAX_SCENARIOS: usize = 500;

/// The longest id that is made of a name, in bytes.
const MAX_ID_BYTES: usize = 64;

/// Every importer, by the name for `--from`.
pub const IMPORTERS: &[Importer] = &[
    tessl::IMPORTER,
    skill_creator::IMPORTER,
    plugin_eval::IMPORTER,
    promptfoo::IMPORTER,
    queries::IMPORTER,
];

/// The importer with this name.
pub fn importer(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| importer.name == name)
}

/// How the suites of one tool are read.
#[derive(Debug)]
pub struct Importer {
    /// The name for `--from`.
    pub name: &'static str,
    /// What it reads, in one line.
    pub reads: &'static str,
    /// Folders that are not the root of what they hold: files are named from the folder above.
    pub inner_folders: &'static [&'static str],
    /// Whether the input says which skills its cases are about. Then the files lie in a folder for
    /// each skill, unless [`Input::skill`] names the one.
    pub names_skills: bool,
    read: fn(&Input<'_>, Options) -> Result<Vec<Draft>, ImportError>,
}

/// One path that was named for the import.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The path as the user wrote it.
    pub origin: &'a str,
    /// The folder, or the folder of the file.
    pub files: &'a dyn Files,
    /// The path below the folder when a file, or an inner folder, was named; otherwise empty.
    pub named: &'a str,
    /// The name of the folder, for scenarios without one of their own.
    pub folder_name: &'a str,
    /// The skill that takes all cases, when the user named one.
    pub skill: Option<&'a str>,
    /// The skills that the input may name; `None` for any.
    pub skills: Option<&'a BTreeSet<String>>,
}

/// How a checklist becomes a rubric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RubricMode {
    /// One text in which the weights stand as words.
    #[default]
    Single,
    /// `rubric_items` with their weights.
    Items,
}

/// What the user may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// How a checklist becomes a rubric.
    pub rubric_mode: RubricMode,
    /// Whether criteria that state a mechanical check become assertions too.
    pub lift_assertions: bool,
}

/// A file to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Relative to the folder that takes the cases, and inside it.
    pub path: String,
    /// What it holds.
    pub content: Vec<u8>,
}

/// What an import comes to.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// The files, in the order of the report.
    pub files: Vec<NewFile>,
    /// The ids of the cases of each case file, near misses included.
    pub ids: BTreeMap<String, BTreeSet<String>>,
    /// What became of the input.
    pub report: ImportReport,
}

/// Why nothing is imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The path holds nothing that the importer reads.
    #[error("{origin} holds nothing for importer `{importer}`, which reads {reads}")]
    Nothing {
        /// The path.
        origin: String,
        /// The importer.
        importer: &'static str,
        /// What it reads.
        reads: &'static str,
    },
    /// More than [`MAX_SCENARIOS`].
    #[error("there are {count} scenarios; the limit is {MAX_SCENARIOS}")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// A file cannot be used.
    #[error("{file}: {message}")]
    File {
        /// The file.
        file: String,
        /// Why.
        message: String,
    },
    /// A list has mistakes.
    #[error("nothing is imported\n  {}", .0.to_string().replace('\n', "\n  "))]
    Mistakes(Diagnostics),
    /// A scenario does not make a case.
    #[error("scenario {scenario}: {message}")]
    Scenario {
        /// Its name, in quotation marks.
        scenario: String,
        /// Why.
        message: String,
    },
    /// A scenario holds what must not be imported.
    #[error("scenario {scenario} is refused: {place}, line {line}: {message} ({code})")]
    Refused {
        /// Its name, in quotation marks.
        scenario: String,
        /// The text.
        place: String,
        /// The line in that text, from 1.
        line: usize,
        /// What was found, without any secret.
        message: String,
        /// The code of the rule.
        code: &'static str,
    },
}

impl ImportError {
    fn file(file: impl Into<String>, message: impl Into<String>) -> Self {
        Self::File { file: file.into(), message: message.into() }
    }

    fn scenario(name: &str, message: impl Into<String>) -> Self {
        Self::Scenario { scenario: document::quoted(name), message: message.into() }
    }
}

/// Maps everything that `inputs` hold. Nothing is written; either every scenario maps or none.
pub fn import(
    importer: &Importer,
    inputs: &[Input<'_>],
    options: Options,
) -> Result<Imported, ImportError> {
    let mut drafts = Vec::new();
    let left = Counted::all();
    for input in inputs {
        let files = Counted::new(input.files, &left);
        let read = (importer.read)(&Input { files: &files, ..*input }, options)?;
        if read.is_empty() {
            return Err(ImportError::Nothing {
                origin: input.origin.to_owned(),
                importer: importer.name,
                reads: importer.reads,
            });
        }
        drafts.extend(read);
    }
    if drafts.len() > MAX_SCENARIOS {
        return Err(ImportError::TooMany { count: drafts.len() });
    }
    // Ids and names of files are those of one skill.
    let mut names: BTreeMap<Option<String>, Names> = BTreeMap::new();
    let mut imported = Imported {
        files: Vec::new(),
        ids: BTreeMap::new(),
        report: ImportReport::new(importer.name),
    };
    for draft in drafts {
        let skill = draft.file.as_ref().and_then(|file| file.skill.clone());
        add(draft, names.entry(skill).or_default(), options, &mut imported)?;
    }
    deny_conflicts(&imported.files)?;
    Ok(imported)
}

/// Names the cases of a draft, looks for what must not be imported, and renders the files.
fn add(
    mut draft: Draft,
    names: &mut Names,
    options: Options,
    imported: &mut Imported,
) -> Result<(), ImportError> {
    if options.lift_assertions {
        lift::lift(&mut draft);
    }
    let warnings = security::scan(&draft)?;
    draft.report.warnings.extend(warnings);
    let mut stem = names.name(&mut draft);
    if let Some(CaseFile { skill: Some(skill), .. }) = &draft.file {
        stem = format!("{skill}/{stem}");
    }
    let files = render::render(&draft, &stem)?;
    let ids = imported.ids.entry(format!("{stem}.eval.yaml")).or_default();
    for case in &draft.cases {
        ids.insert(case.id.clone());
        ids.extend((0..case.near_miss.len()).map(|index| near_miss_id(&case.id, index)));
    }
    draft.report.written = files.iter().map(|file| file.path.clone()).collect();
    draft.report.cases = draft.cases.len();
    draft.report.unmapped.sort();
    let count = draft.report.unmapped.len();
    if count > 0 {
        imported.report.findings.push(ImportFinding {
            code: Rule::EvalImportUnmapped,
            severity: proctor_model::eval::LintSeverity::Info,
            scenario: draft.report.scenario.clone(),
            message: format!(
                "{count} field(s) of the input have no counterpart and were not imported"
            ),
        });
    }
    imported.report.scenarios.push(draft.report);
    imported.files.extend(files);
    Ok(())
}

/// The ids and file names that are taken.
#[derive(Default)]
struct Names {
    ids: BTreeSet<String>,
    stems: BTreeSet<String>,
    /// The number that was tried last for a name, so that many equal names cost no square.
    last: BTreeMap<String, usize>,
}

impl Names {
    /// Gives each case an id of its own, and the file its name without the ending.
    fn name(&mut self, draft: &mut Draft) -> String {
        if let ([case], None) = (draft.cases.as_mut_slice(), &draft.file) {
            let wanted = slug(&case.name);
            let stem = self.free(&wanted, case, true);
            self.take(case, stem.clone());
            if stem != wanted {
                let note = format!("case id {stem:?} (another scenario already has the name)");
                draft.report.assumed.push(note);
            }
            self.stems.insert(stem.clone());
            return stem;
        }
        let wanted = match &draft.file {
            Some(file) => file.stem.clone(),
            None => slug(&draft.report.scenario),
        };
        let mut stem = wanted.clone();
        let mut number = 1;
        while self.stems.contains(&stem) {
            number += 1;
            stem = format!("{wanted}-{number}");
        }
        self.stems.insert(stem.clone());
        for case in &mut draft.cases {
            let wanted = slug(&case.name);
            let id = self.free(&wanted, case, false);
            if id != wanted {
                let note = format!("case id {id:?} (another case already has the name)");
                draft.report.assumed.push(note);
            }
            self.take(case, id);
        }
        stem
    }

    fn free(&mut self, wanted: &str, case: &NewCase, is_stem: bool) -> String {
        let is_free = |id: &str| {
            let derived = |index| near_miss_id(id, index);
            let is_taken = self.ids.contains(id) || (is_stem && self.stems.contains(id));
            !is_taken && (0..case.near_miss.len()).all(|index| !self.ids.contains(&derived(index)))
        };
        let first = self.last.get(wanted).copied().unwrap_or(1);
        let mut number = first;
        let id = loop {
            let id = if number == 1 { wanted.to_owned() } else { format!("{wanted}-{number}") };
            if is_free(&id) {
                break id;
            }
            number += 1;
        };
        self.last.insert(wanted.to_owned(), number);
        id
    }

    fn take(&mut self, case: &mut NewCase, id: String) {
        for index in 0..case.near_miss.len() {
            self.ids.insert(near_miss_id(&id, index));
        }
        self.ids.insert(id.clone());
        case.id = id;
    }
}

/// A name as an id: lower-case letters, digits, `.` and `_`, everything else one `-`, at most
/// [`MAX_ID_BYTES`] long.
fn slug(name: &str) -> String {
    const EDGES: [char; 3] = ['-', '.', '_'];
    let mut slug = String::new();
    for character in name.chars().flat_map(char::to_lowercase) {
        if matches!(character, 'a'..='z' | '0'..='9' | '.' | '_') {
            slug.push(character);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let mut slug = slug.trim_matches(EDGES);
    if slug.len() > MAX_ID_BYTES {
        slug = slug.get(..MAX_ID_BYTES).unwrap_or_default().trim_matches(EDGES);
    }
    if slug.is_empty() { "scenario".to_owned() } else { slug.to_owned() }
}

/// Two files with one path, or a file where another needs a folder; and files that a case could not
/// use because they are too long.
fn deny_conflicts(files: &[NewFile]) -> Result<(), ImportError> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut seen = BTreeSet::new();
    for file in files {
        let path = file.path.as_str();
        if !seen.insert(path) {
            return Err(ImportError::file(path, "would be written twice"));
        }
        let above = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        if let Some(above) = above.into_iter().find(|above| paths.contains(above)) {
            let message = format!("needs a folder where {above} is to be a file");
            return Err(ImportError::file(path, message));
        }
        let length = file.content.len() as u64;
        if length > MAX_FILE_BYTES {
            let message = format!(
                "would be {length} bytes long; a case may use {MAX_FILE_BYTES} bytes (1 MiB)"
            );
            return Err(ImportError::file(path, message));
        }
    }
    Ok(())
}
