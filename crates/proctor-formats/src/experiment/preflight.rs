//! What must hold before anything runs: sources that are there, pins that hold, bound slots, files
//! that do not meet, and answers that agents do not see.

mod answers;
mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::experiment::document::Contents;
use proctor_model::experiment::{
    Dest, Experiment, FileEntry, FileSource, Finding, Rule, Script, Test, Variant,
};
use proctor_model::{Diagnostic, Digest, Location};

use self::places::Places;
use super::bindings::Bindings;
use super::select::select;
use super::sources::{MAX_ITEMS, Source, Sources, survey};
use super::{findings, lint, resolve, walk};
use crate::read_file::read_file;
use crate::tree::Problems;

/// The longest script that a file may hold, in bytes.
const MAX_SCRIPT: usize = 1024 * 1024;

/// What the disk holds for an experiment, and what is wrong with it.
#[derive(Debug, Clone)]
pub struct Preflight {
    /// The sources that are there.
    pub sources: Sources,
    /// Every variant, with the content of the sources in its fingerprint.
    pub variants: Vec<Variant>,
    /// What slots are bound to, by variant (`None` for all) and name.
    pub slots: BTreeMap<(Option<String>, String), Source>,
    /// Files that nobody declared, staged in every variant: what they are, and where they go.
    pub extra: Vec<(Dest, Source)>,
    /// The texts of scripts that stand in files of their own, by path as written.
    pub scripts: BTreeMap<Utf8PathBuf, String>,
    /// Errors and notes, in the order of the text.
    pub findings: Vec<Finding>,
}

impl Preflight {
    /// The digests of the sources, for fingerprints.
    pub fn contents(&self) -> Contents {
        self.sources.contents()
    }

    /// What stands behind a file of a variant: its source, or what its slot is bound to.
    pub fn source_of(&self, variant: &Variant, file: &FileEntry) -> Option<&Source> {
        match &file.source {
            FileSource::Path(path) => self.sources.0.get(path),
            FileSource::Slot => {
                let name = file.name.as_str().to_owned();
                let own = (Some(variant.id.to_string()), name.clone());
                self.slots.get(&own).or_else(|| self.slots.get(&(None, name)))
            }
        }
    }
}

/// What a preflight is for.
#[derive(Debug, Clone, Copy)]
pub enum Purpose<'a> {
    /// To say what is wrong with a file: slots are not looked at.
    Validate {
        /// How many trials of each variant are meant to run, when that is known.
        repeat: Option<NonZeroU32>,
    },
    /// To run it: slots must be bound.
    Run {
        /// What they are bound to. Paths are taken as they are.
        bindings: &'a Bindings,
    },
}

/// Looks at everything that an experiment names on the disk. `file` is named in findings, `folder`
/// is that of the experiment's file.
pub fn preflight(
    experiment: &Experiment,
    file: &Utf8Path,
    folder: &Utf8Path,
    purpose: Purpose<'_>,
) -> Preflight {
    let mut look = Look {
        experiment,
        folder,
        budget: MAX_ITEMS,
        missing: BTreeMap::new(),
        problems: Problems::new(file),
        found: Preflight {
            sources: Sources::default(),
            variants: Vec::new(),
            slots: BTreeMap::new(),
            extra: Vec::new(),
            scripts: BTreeMap::new(),
            findings: Vec::new(),
        },
    };
    look.files();
    look.skills();
    look.scripts();
    let variants = resolve(experiment, &look.found.contents());
    match purpose {
        Purpose::Validate { repeat: Some(repeat) } => {
            let note = lint::check_repeat(experiment, variants.len(), repeat.get());
            if let Some(note) = note {
                look.problems.push(note);
            }
        }
        Purpose::Validate { repeat: None } => {}
        Purpose::Run { bindings } => look.slots(&variants, bindings),
    }
    look.places(&variants);
    let Look { mut problems, mut found, .. } = look;
    found.variants = variants;
    answers::check(experiment, &found, &mut problems);
    found.findings = findings(file, problems.finish(), Rule::MissingSource);
    found
}

struct Look<'a> {
    experiment: &'a Experiment,
    folder: &'a Utf8Path,
    budget: usize,
    /// Why sources cannot be looked at.
    missing: BTreeMap<Utf8PathBuf, Diagnostic>,
    problems: Problems,
    found: Preflight,
}

impl Look<'_> {
    /// The source at a path as written, looked at once.
    fn source(&mut self, path: &Utf8Path, at: Location) -> Option<&Source> {
        if !self.found.sources.0.contains_key(path) && !self.missing.contains_key(path) {
            match survey(&self.folder.join(path), &mut self.budget) {
                Ok(source) => drop(self.found.sources.0.insert(path.to_owned(), source)),
                Err(error) => drop(self.missing.insert(path.to_owned(), error)),
            }
        }
        if let Some(error) = self.missing.get(path) {
            let message = format!("`{}` {}", path.as_str().escape_debug(), error.message);
            let error = Diagnostic { message, ..error.clone() };
            self.problems.push(error.at(at).rule(Rule::MissingSource));
        }
        self.found.sources.0.get(path)
    }

    fn files(&mut self) {
        let experiment = self.experiment;
        let tests = experiment.tests.iter().flat_map(|test| &test.files);
        for file in walk::visible_files(experiment).into_iter().chain(tests) {
            let Some(path) = file.source_path() else { continue };
            let Some(digest) = self.source(path, file.at).map(|source| source.digest) else {
                continue;
            };
            self.pin(file, path, digest);
        }
    }

    fn pin(&mut self, file: &FileEntry, what: &Utf8Path, found: Digest) {
        if let Some(pinned) = file.sha256.filter(|pinned| *pinned != found) {
            let what = what.as_str().escape_debug();
            let message = format!("`{what}` has the SHA-256 {found}, not {pinned}");
            self.problems.push(Diagnostic::error(message).at(file.at).rule(Rule::Pin));
        }
    }

    fn skills(&mut self) {
        for skill in walk::skills(self.experiment) {
            let Some(source) = self.source(&skill.source, skill.at) else { continue };
            let source_path = skill.source.as_str().escape_debug();
            if !source.is_folder {
                let error = Diagnostic::error(format!("`{source_path}` is no folder"));
                self.problems.push(error.at(skill.at).rule(Rule::MissingSource));
            } else if source.items.iter().all(|item| item.path != "SKILL.md") {
                let message = format!("`{source_path}` has no SKILL.md, so no agent sees a skill");
                let note = Diagnostic::warning(message).at(skill.at);
                self.problems.push(note.rule(Rule::SkillFile));
            }
        }
    }

    fn scripts(&mut self) {
        let experiment = self.experiment;
        for test in &*experiment.tests {
            let Script::File(path) = &test.script else { continue };
            let Some(source) = self.source(path, test.at) else { continue };
            if source.is_folder {
                let message =
                    format!("`{}` is a folder, not a script", path.as_str().escape_debug());
                let error = Diagnostic::error(message).at(test.at);
                self.problems.push(error.rule(Rule::MissingSource));
                continue;
            }
            match script_text(&self.folder.join(path)) {
                Ok(script) => {
                    lint::lint_script_file(experiment, test, &script, &mut self.problems);
                    self.found.scripts.insert(path.clone(), script);
                }
                Err(error) => {
                    let message = format!("`{}` {}", path.as_str().escape_debug(), error.message);
                    let error = Diagnostic { message, ..error }.at(test.at);
                    self.problems.push(error.rule(Rule::MissingSource));
                }
            }
        }
    }

    /// The source that a flag names.
    fn named(&mut self, path: &Utf8Path) -> Option<Source> {
        let source = survey(path, &mut self.budget);
        let failed = |error: Diagnostic| {
            let message = format!("`{}` {}", path.as_str().escape_debug(), error.message);
            self.problems.push(Diagnostic { message, ..error }.rule(Rule::MissingSource));
        };
        source.map_err(failed).ok()
    }

    /// Every slot of every variant that runs must be bound, and every binding must bind one of a
    /// variant that runs or may run.
    fn slots(&mut self, variants: &[Variant], bindings: &Bindings) {
        for (key, path) in &bindings.slots {
            if let Some(source) = self.named(path) {
                self.found.slots.insert(key.clone(), source);
            }
        }
        for (path, dest) in &bindings.extra {
            if let Some(source) = self.named(path) {
                self.found.extra.push((dest.clone(), source));
            }
        }
        // A selection without variants is told when they are selected.
        let chosen = select(variants.to_vec(), &bindings.selection).unwrap_or_default();
        let mut said = BTreeSet::new();
        let mut used = BTreeSet::new();
        for variant in &chosen {
            let tests = variant.tests.iter().flat_map(|test| &test.files);
            for file in variant.staged_files().chain(tests) {
                if file.source != FileSource::Slot {
                    continue;
                }
                let id = variant.id.to_string();
                let Some(key) = bindings.key(&id, file.name.as_str()) else {
                    if said.insert(file.at) {
                        self.problems.push(unbound(file));
                    }
                    continue;
                };
                if used.insert(key.clone()) {
                    let bound = self.found.slots.get(&key);
                    if let Some((digest, host)) = bound.map(|one| (one.digest, one.host.clone())) {
                        self.pin(file, &host, digest);
                    }
                }
            }
        }
        let names = slot_names(self.experiment);
        let ids: BTreeSet<&str> = variants.iter().map(|variant| variant.id.as_str()).collect();
        let is_meant = |(variant, name): &(Option<String>, String)| {
            names.contains(name.as_str())
                && variant.as_ref().is_none_or(|id| ids.contains(id.as_str()))
        };
        let unused = bindings.slots.keys().filter(|key| !used.contains(*key));
        for (variant, name) in unused.filter(|key| !is_meant(key)) {
            let of = variant.as_ref().map_or(String::new(), |id| format!(" of the variant `{id}`"));
            let message = format!("`--file` binds `{name}`{of}, which is no file without `source`");
            self.problems.push(Diagnostic::error(message).rule(Rule::UnboundSlot));
        }
    }

    /// Where everything would lie once folders are unpacked.
    fn places(&mut self, variants: &[Variant]) {
        let mut common = Places::default();
        let found = &self.found;
        let items = |file: &FileEntry| {
            let path = file.source_path()?;
            found.sources.0.get(path).map(|source| source.items.as_slice())
        };
        for file in &*self.experiment.files {
            common.add(file, items(file), &mut self.problems);
        }
        let mut visible = common;
        let mut seen = BTreeSet::new();
        for variant in variants {
            let pair = (
                variant.environment.as_ref().map(Arc::as_ptr),
                variant.product.as_ref().map(Arc::as_ptr),
            );
            if !seen.insert(pair) {
                continue;
            }
            let mut scope = Places::default();
            for file in variant.setups().flat_map(|setup| &setup.files) {
                scope.add(file, items(file), &mut self.problems);
            }
            visible.join(scope);
        }
        for test in &*self.experiment.tests {
            let mut scope = Places::default();
            for file in &test.files {
                scope.add(file, items(file), &mut self.problems);
            }
            scope.meet(&visible, &mut self.problems);
        }
    }
}

/// The names of all slots.
fn slot_names(experiment: &Experiment) -> BTreeSet<&str> {
    let tests = experiment.tests.iter().flat_map(|test| &test.files);
    let files = walk::visible_files(experiment).into_iter().chain(tests);
    files.filter(|file| file.source == FileSource::Slot).map(|file| file.name.as_str()).collect()
}

fn unbound(file: &FileEntry) -> Diagnostic {
    let name = file.name.as_str().escape_debug();
    let message = format!("the file `{name}` has no `source`, and nothing binds it");
    let hint = format!("pass `--file {name}=PATH`");
    Diagnostic::error(message).at(file.at).rule(Rule::UnboundSlot).hint(hint)
}

/// The text of a script that stands in a file.
fn script_text(path: &Utf8Path) -> Result<String, Diagnostic> {
    let bytes = read_file(path.as_std_path())?;
    if bytes.len() > MAX_SCRIPT {
        return Err(Diagnostic::error(format!("is longer than {MAX_SCRIPT} bytes")));
    }
    let script = String::from_utf8(bytes).map_err(|_| Diagnostic::error("is not UTF-8"))?;
    if script.trim().is_empty() {
        return Err(Diagnostic::error("is an empty script"));
    }
    if script.starts_with('\u{feff}') {
        let message = "begins with a byte order mark, which bash takes for part of a command";
        return Err(Diagnostic::error(message).hint("save it as UTF-8 without one"));
    }
    // A text in quotes may hold some; that all lines do is an editor's doing.
    if script.split_inclusive('\n').all(|line| line.ends_with("\r\n")) {
        let message = "has lines that end in CR LF, and bash takes the CR for part of a command";
        return Err(Diagnostic::error(message).hint("save it with the line ends of Unix"));
    }
    if script.contains('\0') {
        return Err(Diagnostic::error("holds a NUL character"));
    }
    Ok(script)
}

/// The text of a test's script, wherever it stands.
pub fn script_of<'a>(test: &'a Test, preflight: &'a Preflight) -> Option<&'a str> {
    match &test.script {
        Script::Inline(script) => Some(script),
        Script::File(path) => preflight.scripts.get(path).map(String::as_str),
    }
}
