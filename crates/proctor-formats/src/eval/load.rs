//! The cases of a skill, with everything that they name read.

use std::collections::BTreeMap;
use std::path::Path;

use camino::Utf8Path;
use proctor_model::eval::case::{self, near_miss_id};
use proctor_model::eval::{Case, ExpandedCase, FixtureFile, Place, Problem};
use proctor_model::{Diagnostic, Diagnostics, Location, Severity};

use super::case_file::{Content, Draft, Element, FileName, Prompt, parse_case_file};
use super::case_file_stem;
use super::layout::{Project, Skill};
use super::paths::{Bound, read_bounded};
use super::walk::{is_no_material, walk};
use crate::tree::Problems;

/// How many bytes the prompt files and fixtures of one skill may hold together: a small case file
/// can name a large fixture any number of times.
const MAX_MATERIAL_BYTES: u64 = 64 * 1024 * 1024;

/// The place of a mistake that concerns a whole file.
const START: Location = Location { line: 1, column: 1 };

/// What the eval folders of a skill came to.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedSkill {
    /// The authored cases, in the order of files and text; none when the skill is invalid.
    pub cases: Vec<Case>,
    /// Everything that is wrong, with paths relative to the project root. An error makes the skill
    /// invalid.
    pub diagnostics: Diagnostics,
    /// Whether the eval folders hold any file that is not hidden, a case file or not.
    pub has_material: bool,
}

impl LoadedSkill {
    /// Whether its cases may be run.
    pub fn is_valid(&self) -> bool {
        !self.diagnostics.has_errors()
    }

    /// The cases as they are run, near misses included.
    pub fn expanded(&self) -> Vec<ExpandedCase> {
        case::expand(&self.cases)
    }

    /// The errors as reports list them.
    pub fn problems(&self) -> Vec<Problem> {
        let errors = self.diagnostics.0.iter().filter(|d| d.severity == Severity::Error);
        errors.map(Problem::from).collect()
    }
}

/// Reads every case file of a skill.
pub fn load_skill(project: &Project, skill: &Skill) -> LoadedSkill {
    let mut loader = Loader {
        project,
        cases: Vec::new(),
        diagnostics: Diagnostics::default(),
        has_material: false,
        ids: BTreeMap::new(),
        material_left: MAX_MATERIAL_BYTES,
    };
    for folder in &skill.escaped {
        let message = "eval folder leads out of the configuration folder through a link";
        loader
            .report(folder, Diagnostic::error(message).hint("copy the folder to where it belongs"));
    }
    for folder in &skill.eval_folders {
        loader.folder(folder);
    }
    loader.deny_ids_of_near_misses();
    loader.diagnostics.sort();
    let is_valid = !loader.diagnostics.has_errors();
    LoadedSkill {
        cases: if is_valid { loader.cases } else { Vec::new() },
        diagnostics: loader.diagnostics,
        has_material: loader.has_material,
    }
}

/// An id, as its file gives it.
struct Named {
    place: Place,
    near_misses: usize,
}

struct Loader<'a> {
    project: &'a Project,
    cases: Vec<Case>,
    diagnostics: Diagnostics,
    has_material: bool,
    ids: BTreeMap<String, Named>,
    material_left: u64,
}

impl Loader<'_> {
    fn report(&mut self, file: &Utf8Path, diagnostic: Diagnostic) {
        let location = diagnostic.location.unwrap_or(START);
        self.diagnostics.push(diagnostic.in_file(self.project.shown(file)).at(location));
    }

    fn folder(&mut self, folder: &Utf8Path) {
        let root = folder.as_std_path();
        let (entries, bound) =
            match walk(root, is_no_material).and_then(|entries| Ok((entries, Bound::new(root)?))) {
                Ok(found) => found,
                Err(error) => {
                    let message = format!("eval folder cannot be read: {error}");
                    return self.report(folder, Diagnostic::error(message));
                }
            };
        for entry in &entries {
            let is_hidden = entry.relative.split(|byte| *byte == b'/').any(|n| n.starts_with(b"."));
            self.has_material |= !is_hidden;
            let name = String::from_utf8_lossy(entry.name());
            if is_hidden || case_file_stem(&name).is_none() {
                continue;
            }
            let file = folder.join(entry.shown());
            if std::str::from_utf8(&entry.relative).is_err() {
                let message = "is not read: its path is not UTF-8";
                self.report(&file, Diagnostic::error(message).hint("rename it"));
            } else if entry.is_link {
                let warning = Diagnostic::warning("is not read: it is a link");
                self.report(&file, warning.hint("put the case file itself here"));
            } else {
                self.case_file(&file, &bound);
            }
        }
    }

    fn case_file(&mut self, file: &Utf8Path, bound: &Bound) {
        let shown = self.project.shown(file);
        let bytes = match read_bounded(file.as_std_path()) {
            Ok(bytes) => bytes,
            Err(diagnostic) => return self.report(file, diagnostic),
        };
        let mut problems = Problems::new(&shown);
        let elements = parse_case_file(&shown, &bytes, &mut problems);
        let folder = file.parent().unwrap_or(Utf8Path::new("")).as_std_path();
        for element in elements {
            self.claim_id(&element, &shown, &mut problems);
            let place = Place { file: shown.clone(), location: element.location };
            let case = element.draft.and_then(|draft| {
                let mut reader = Reader { bound, folder, left: &mut self.material_left };
                reader.finish(draft, place, &mut problems)
            });
            self.cases.extend(case);
        }
        self.diagnostics.0.extend(problems.finish().0);
    }

    /// Ids are unique in a skill; those of one file have been compared already.
    fn claim_id(&mut self, element: &Element, shown: &Utf8Path, problems: &mut Problems) {
        let Some((id, location)) = &element.id else { return };
        match self.ids.get(id) {
            Some(other) if other.place.file != shown => problems.push_error(|| {
                let Place { file, location: Location { line, .. } } = &other.place;
                let message = format!("{file}:{line} has a case with the id `{id}` too");
                Diagnostic::error(message).at(*location).hint("rename one of them")
            }),
            Some(_) => {}
            None => {
                let place = Place { file: shown.to_owned(), location: *location };
                let named = Named { place, near_misses: element.near_misses };
                self.ids.insert(id.clone(), named);
            }
        }
    }

    /// An authored id that a near miss gets too.
    fn deny_ids_of_near_misses(&mut self) {
        for (id, named) in &self.ids {
            let Some((parent, number)) = id.rsplit_once(".near-miss-") else { continue };
            let Some(other) = self.ids.get(parent) else { continue };
            let number: Option<usize> = number.parse().ok();
            let index = number.and_then(|number| number.checked_sub(1));
            let Some(index) = index.filter(|index| *index < other.near_misses) else { continue };
            if near_miss_id(parent, index) == *id {
                let message = format!("the id is that of near miss {} of `{parent}`", index + 1);
                let error = Diagnostic::error(message).in_file(named.place.file.clone());
                self.diagnostics.push(error.at(named.place.location).hint("rename the case"));
            }
        }
    }
}

/// Reads the files that a case names.
struct Reader<'a> {
    bound: &'a Bound,
    folder: &'a Path,
    left: &'a mut u64,
}

impl Reader<'_> {
    fn finish(&mut self, draft: Draft, place: Place, problems: &mut Problems) -> Option<Case> {
        let prompt = match draft.prompt {
            Prompt::Text(text) => Some(text),
            Prompt::File(name) => self.prompt(&name, problems),
        };
        let mut files = Some(Vec::with_capacity(draft.files.len()));
        for file in draft.files {
            let content = match file.content {
                Content::Text(text) => Some(text.into_bytes()),
                Content::Source(name) => self.read(&name, problems),
            };
            files = files.zip(content).map(|(mut files, content)| {
                files.push(FixtureFile { path: file.path, content });
                files
            });
        }
        Some(Case {
            id: draft.id,
            description: draft.description,
            prompt: prompt?,
            expect_trigger: draft.expect_trigger,
            near_miss: draft.near_miss,
            files: files?,
            assertions: draft.assertions,
            rubric: draft.rubric,
            model: draft.model,
            tags: draft.tags,
            place,
        })
    }

    fn prompt(&mut self, name: &FileName, problems: &mut Problems) -> Option<String> {
        let bytes = self.read(name, problems)?;
        let Ok(mut text) = String::from_utf8(bytes) else {
            problems.push(at(name, Diagnostic::error("names a prompt that is not UTF-8")));
            return None;
        };
        text.truncate(text.trim_end_matches('\n').len());
        if text.trim().is_empty() {
            problems.push(at(name, Diagnostic::error("names a file without a prompt in it")));
            return None;
        }
        Some(text)
    }

    fn read(&mut self, name: &FileName, problems: &mut Problems) -> Option<Vec<u8>> {
        if *self.left == 0 {
            // Said once, by the file that went beyond.
            return None;
        }
        match self.bound.read(self.folder, &name.relative) {
            Ok(bytes) => {
                *self.left = self.left.saturating_sub(bytes.len() as u64);
                if *self.left == 0 {
                    let message = format!(
                        "the prompt files and fixtures of the skill are larger than \
                         {MAX_MATERIAL_BYTES} bytes together"
                    );
                    problems.push(at(name, Diagnostic::error(message)));
                    return None;
                }
                Some(bytes)
            }
            Err(diagnostic) => {
                problems.push(at(name, diagnostic));
                None
            }
        }
    }
}

fn at(name: &FileName, diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.at(name.location).field(name.field.clone())
}
