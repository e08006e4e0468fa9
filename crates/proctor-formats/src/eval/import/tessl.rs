//! Scenarios of Tessl: a task (`task.md`) and a weighted checklist (`criteria.json`).
//!
//! No schema of `criteria.json` is public, so a few spellings of each field are read, the first one
//! that is there, and everything else is reported.

use proctor_model::Digest;

use super::document::{At, Used, joined, json_value, quoted, read_text, summarized};
use super::draft::{Draft, NewCase, NewContent, NewFixture, NewPrompt};
use super::files::{Entry, Links};
use super::rubric::{Criterion, set_rubric};
use super::{ImportError, Importer, Input, MAX_SCENARIOS, Options};
use crate::eval::paths::clean;

pub(super) const IMPORTER: Importer = Importer {
    name: "tessl",
    reads: "a scenario folder with criteria.json and task.md, its criteria.json, or a folder of \
            scenario folders",
    inner_folders: &[],
    names_skills: false,
    read,
};

const CRITERIA_FILE: &str = "criteria.json";
const TASK_FILE: &str = "task.md";

const NAME_KEYS: [&str; 4] = ["scenario", "name", "id", "title"];
const TASK_KEYS: [&str; 2] = ["task", "prompt"];
const CRITERIA_KEYS: [&str; 3] = ["criteria", "checklist", "rubric"];
const THRESHOLD_KEYS: [&str; 5] =
    ["pass_threshold", "passing_score", "pass_score", "passing_threshold", "threshold"];
const FIXTURE_KEYS: [&str; 4] = ["files", "fixtures", "starting_files", "setup_files"];
const ACTIVATION_KEYS: [&str; 3] = ["activation", "activation_test", "activation_tests"];
const NEGATIVE_KEYS: [&str; 5] =
    ["should_not_trigger", "near_miss", "negative", "negatives", "negative_prompts"];
const CRITERION_NAME_KEYS: [&str; 3] = ["name", "title", "id"];
const CRITERION_TEXT_KEYS: [&str; 5] = ["description", "criterion", "text", "check", "prompt"];
const CRITERION_WEIGHT_KEYS: [&str; 4] = ["weight", "points", "score", "max_score"];

/// Where a field without a counterpart belongs.
const HINTS: [(&str, &str); 6] = [
    ("baseline", "use `eval run --ablation`"),
    ("repeats", "use `eval run --runs N`"),
    ("runs", "use `eval run --runs N`"),
    ("agent", "use `eval run --harness` and `--model`"),
    ("model", "use `eval run --model` (or a case's `model`)"),
    ("harness", "use `eval run --harness`"),
];

fn read(input: &Input<'_>, options: Options) -> Result<Vec<Draft>, ImportError> {
    folders(input)?.iter().map(|folder| scenario(input, folder, options)).collect()
}

/// The scenario folders below the input.
fn folders(input: &Input<'_>) -> Result<Vec<String>, ImportError> {
    if !input.named.is_empty() {
        return match input.named {
            CRITERIA_FILE => Ok(vec![String::new()]),
            _ => Ok(Vec::new()),
        };
    }
    let holds_one =
        |folder: &str| input.files.entry(&joined(folder, CRITERIA_FILE)) == Some(Entry::File);
    if holds_one("") {
        return Ok(vec![String::new()]);
    }
    let names = input.files.names("").map_err(|why| ImportError::file(input.origin, why))?;
    let folders: Vec<String> = names
        .into_iter()
        .filter(|name| input.files.entry(name) == Some(Entry::Folder) && holds_one(name))
        .collect();
    if folders.len() > MAX_SCENARIOS {
        return Err(ImportError::TooMany { count: folders.len() });
    }
    Ok(folders)
}

fn scenario(input: &Input<'_>, folder: &str, options: Options) -> Result<Draft, ImportError> {
    let file = joined(folder, CRITERIA_FILE);
    let criteria_text = read_text(input.files, folder, CRITERIA_FILE, Links::Refused)?;
    let node = json_value(&file, &criteria_text)?;
    let root = At::root(&node, None);
    if !root.is_object() {
        return Err(ImportError::file(file, "must hold a JSON object"));
    }
    let task_text = match input.files.entry(&joined(folder, TASK_FILE)) {
        Some(_) => Some(read_text(input.files, folder, TASK_FILE, Links::Refused)?),
        None => None,
    };
    let mut digest = Digest::stream();
    digest.update(criteria_text.as_bytes());
    digest.update(task_text.as_deref().unwrap_or_default().as_bytes());
    let draft = Draft::new(input.origin, digest.finish());
    let mapper = Mapper { input, folder, options, used: Used::default(), draft };
    mapper.map(&root, task_text)
}

struct Mapper<'a> {
    input: &'a Input<'a>,
    folder: &'a str,
    options: Options,
    used: Used,
    draft: Draft,
}

impl Mapper<'_> {
    fn map(mut self, root: &At<'_>, task: Option<String>) -> Result<Draft, ImportError> {
        let name = self.first_text(root, &NAME_KEYS).unwrap_or_else(|| {
            let folder = self.folder.rsplit('/').next().filter(|name| !name.is_empty());
            let name = folder.unwrap_or(self.input.folder_name).to_owned();
            let note = format!("scenario name {} taken from the directory name", quoted(&name));
            self.draft.report.assumed.push(note);
            name
        });
        self.draft.report.scenario.clone_from(&name);
        self.case(root, task, &name).map_err(|message| match message {
            Failure::Message(message) => ImportError::scenario(&name, message),
            Failure::Error(error) => error,
        })?;
        self.used.rest(root, &HINTS, &mut self.draft.report.unmapped);
        Ok(self.draft)
    }

    fn case(&mut self, root: &At<'_>, task: Option<String>, name: &str) -> Result<(), Failure> {
        let task = task.filter(|task| !task.trim().is_empty());
        let task = task.or_else(|| self.first_text(root, &TASK_KEYS));
        let task =
            task.ok_or_else(|| format!("has no task: add a {TASK_FILE} next to {CRITERIA_FILE}"))?;
        let mut case = NewCase::new(name, NewPrompt::File(task), IMPORTER.name);
        case.description = Some("Imported scenario".to_owned());
        self.mapped("task -> prompt_file");
        let (criteria, weighted) = self.criteria(root)?;
        if !weighted {
            self.assumed("every criterion weighs 1 (the input gives no weights)");
        }
        let threshold = self.threshold(root)?;
        let count = criteria.len();
        let min_score = threshold.as_ref().map(|(value, _)| *value);
        let words = set_rubric(&mut case, criteria, min_score, self.options);
        self.mapped(format!("{count} criteria -> {words}"));
        match threshold {
            Some((_, words)) => self.mapped(words),
            None => self.assumed("no pass threshold; the eval default 0.70 applies"),
        }
        case.files = self.fixtures(root)?;
        case.near_miss = self.near_misses(root);
        self.assumed("expect_trigger: true (the scenario targets a skill)");
        self.draft.cases.push(case);
        Ok(())
    }

    fn mapped(&mut self, line: impl Into<String>) {
        self.draft.report.mapped.push(line.into());
    }

    fn assumed(&mut self, line: impl Into<String>) {
        self.draft.report.assumed.push(line.into());
    }

    /// The first of these keys that holds a text, trimmed.
    fn first_text(&mut self, root: &At<'_>, keys: &[&str]) -> Option<String> {
        let (at, text) = keys.iter().find_map(|key| {
            let at = root.get(key)?;
            let text = at.text()?.trim();
            (!text.is_empty()).then(|| (at.clone(), text.to_owned()))
        })?;
        self.used.mark(&at);
        Some(text)
    }

    /// The criteria that count, and whether any of them has a weight of its own.
    fn criteria(&mut self, root: &At<'_>) -> Result<(Vec<Criterion>, bool), String> {
        let Some((key, list)) = root.first(&CRITERIA_KEYS) else {
            return Err(format!("has no checklist: expected one of {}", CRITERIA_KEYS.join(", ")));
        };
        self.used.mark(&list);
        let entries: Vec<(Option<&str>, At<'_>)> = match list.items() {
            Some(items) => items.into_iter().map(|item| (None, item)).collect(),
            None if list.is_object() => {
                let mut members: Vec<_> = list.members().collect();
                members.sort_by_key(|(name, _)| *name);
                members.into_iter().map(|(name, at)| (Some(name), at)).collect()
            }
            None => return Err(format!("{key} must be a list or an object")),
        };
        let mut criteria = Vec::new();
        let mut weighted = false;
        for (name, at) in entries {
            if let Some((criterion, has_weight)) = self.criterion(name, &at)? {
                weighted |= has_weight;
                criteria.push(criterion);
            }
        }
        let total: f64 = criteria.iter().map(|criterion| criterion.weight).sum();
        if criteria.is_empty() {
            return Err("the checklist has no criterion with a positive weight".to_owned());
        }
        if !total.is_finite() {
            return Err("the weights of the checklist add up to no finite number".to_owned());
        }
        Ok((criteria, weighted))
    }

    /// A criterion, and whether it has a weight of its own; `None` when the weight is 0.
    fn criterion(
        &mut self,
        key: Option<&str>,
        at: &At<'_>,
    ) -> Result<Option<(Criterion, bool)>, String> {
        let (mut name, mut text, mut weight) = (String::new(), String::new(), None);
        let mut read = vec![at.clone()];
        if let Some(whole) = at.text() {
            whole.clone_into(&mut text);
        } else if at.is_object() {
            for (keys, place) in
                [(&CRITERION_NAME_KEYS[..], &mut name), (&CRITERION_TEXT_KEYS[..], &mut text)]
            {
                if let Some((_, value)) = at.first(keys)
                    && let Some(found) = value.text()
                {
                    found.clone_into(place);
                    read.push(value);
                }
            }
            weight = at.first(&CRITERION_WEIGHT_KEYS).map(|(_, value)| value);
        } else {
            return Err(format!("{} is neither a string nor an object", at.path));
        }
        if name.is_empty() {
            key.unwrap_or_default().clone_into(&mut name);
        }
        let text = if text.trim().is_empty() { name.trim() } else { text.trim() }.to_owned();
        if text.is_empty() {
            return Err(format!("{} has no description", at.path));
        }
        let has_weight = weight.is_some();
        let label = quoted(&summarized(if name.is_empty() { &text } else { &name }));
        let weight = match weight {
            None => 1.0,
            Some(value) => {
                let number = value.number().ok_or_else(|| {
                    format!("criterion {label} has a weight that is not a finite number")
                })?;
                read.push(value);
                number
            }
        };
        if weight < 0.0 {
            return Err(format!("criterion {label} has a negative weight ({weight})"));
        }
        if weight == 0.0 {
            // Nothing of it is used, so the report names the whole of it.
            return Ok(None);
        }
        for at in &read {
            self.used.mark(at);
        }
        Ok(Some((Criterion { name, text, weight }, has_weight)))
    }

    /// The pass mark, 0 to 1, and how it was read.
    fn threshold(&mut self, root: &At<'_>) -> Result<Option<(f64, String)>, String> {
        let Some((key, at)) = root.first(&THRESHOLD_KEYS) else { return Ok(None) };
        self.used.mark(&at);
        let (value, unit) = pass_mark(&at).map_err(|message| format!("{key}: {message}"))?;
        Ok(Some((value, format!("{key} -> rubric_min_score {value} (read as {unit})"))))
    }

    fn fixtures(&mut self, root: &At<'_>) -> Result<Vec<NewFixture>, Failure> {
        let Some((_, list)) = root.first(&FIXTURE_KEYS) else { return Ok(Vec::new()) };
        self.used.mark(&list);
        let mut fixtures = Vec::new();
        if let Some(items) = list.items() {
            for item in items {
                fixtures.push(self.fixture(&item)?);
            }
        } else if list.is_object() {
            let mut members: Vec<_> = list.members().collect();
            members.sort_by_key(|(path, _)| *path);
            for (path, at) in members {
                let content = at
                    .text()
                    .ok_or_else(|| format!("{} must be the file's content as a string", at.path))?;
                self.used.mark(&at);
                let path = clean(path).map_err(|why| format!("fixture path {}: {why}", at.path))?;
                fixtures.push(NewFixture { path, content: NewContent::Inline(content.to_owned()) });
            }
        } else {
            return Err(format!("{} must be a list or an object", list.path).into());
        }
        self.mapped(format!("{} fixture(s) -> files", fixtures.len()));
        Ok(fixtures)
    }

    fn fixture(&mut self, at: &At<'_>) -> Result<NewFixture, Failure> {
        if !at.is_object() {
            return Err(format!("{} must be an object with a path", at.path).into());
        }
        self.used.mark(at);
        let mut text = |key: &str| -> Result<Option<String>, String> {
            let Some(value) = at.get(key) else { return Ok(None) };
            self.used.mark(&value);
            let text = value.text().ok_or_else(|| format!("{} must be a string", value.path))?;
            Ok(Some(text.to_owned()))
        };
        let path = text("path")?.unwrap_or_default();
        let (content, source) = (text("content")?, text("source")?);
        let path = clean(&path).map_err(|why| format!("fixture path {}: {why}", at.path))?;
        let source = source.filter(|source| !source.is_empty());
        let content = content.filter(|content| source.is_none() || !content.is_empty());
        let content = match (content, source) {
            (Some(_), Some(_)) => {
                return Err(format!("{} has both content and source", at.path).into());
            }
            (content, None) => NewContent::Inline(content.unwrap_or_default()),
            (None, Some(source)) => {
                let source =
                    clean(&source).map_err(|why| format!("fixture source {}: {why}", at.path))?;
                let text = read_text(self.input.files, self.folder, &source, Links::Inside)?;
                NewContent::Copied(text.into_bytes())
            }
        };
        Ok(NewFixture { path, content })
    }

    /// Prompts that must not fire the skill.
    fn near_misses(&mut self, root: &At<'_>) -> Vec<String> {
        let Some((_, block)) = root.first(&ACTIVATION_KEYS) else { return Vec::new() };
        let Some((_, list)) = block.first(&NEGATIVE_KEYS) else { return Vec::new() };
        self.used.mark(&block);
        let Some(items) = list.items() else { return Vec::new() };
        self.used.mark(&list);
        let mut prompts = Vec::new();
        for item in items {
            let Some(prompt) = item.text().map(str::trim).filter(|text| !text.is_empty()) else {
                continue;
            };
            self.used.mark(&item);
            prompts.push(prompt.to_owned());
        }
        if !prompts.is_empty() {
            self.mapped(format!("activation block -> {} near_miss prompt(s)", prompts.len()));
        }
        prompts
    }
}

/// Why a scenario does not map: about the scenario, or about a file.
enum Failure {
    Message(String),
    Error(ImportError),
}

impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<ImportError> for Failure {
    fn from(error: ImportError) -> Self {
        Self::Error(error)
    }
}

/// A pass mark as a share, and what it was written as: up to 1 a fraction, up to 100 or with a
/// percent sign a percentage.
fn pass_mark(at: &At<'_>) -> Result<(f64, &'static str), String> {
    let percent = |value: f64| {
        if value > 100.0 {
            Err(format!("{value} is above 100"))
        } else {
            Ok((round4(value / 100.0), "a percent"))
        }
    };
    let value = match at.text().map(str::trim) {
        Some(text) => {
            let (digits, is_percent) = match text.strip_suffix('%') {
                Some(digits) => (digits.trim_end(), true),
                None => (text, false),
            };
            let value: Option<f64> = digits.parse().ok();
            let value =
                value.ok_or_else(|| format!("{} is not a number", quoted(&at.summary())))?;
            if is_percent && value >= 0.0 {
                return percent(value);
            }
            Some(value)
        }
        None => at.number(),
    };
    match value {
        Some(value) if (0.0..=1.0).contains(&value) => Ok((round4(value), "a fraction")),
        Some(value) if value > 1.0 && value.is_finite() => percent(value),
        _ => Err("must be a number between 0 and 100".to_owned()),
    }
}

fn round4(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}
