//! Suites of Anthropic's skill-creator: `evals/evals.json` of a skill, and the lists of queries with
//! which it measures a description.
//!
//! An eval has a prompt, a description of the expected output, input files relative to the skill,
//! and expectations that a grader checks one by one (`expectations`, in other versions
//! `assertions`). A query says whether it should fire the skill.

use proctor_model::Digest;

use super::document::{At, Used, ending, joined, json_value, read_text};
use super::draft::{Draft, NewCase, NewContent, NewFixture, NewPrompt};
use super::files::{Entry, Links};
use super::rubric::{Criterion, set_rubric};
use super::{ImportError, Importer, Input, MAX_SCENARIOS, Options};
use crate::eval::paths::clean;

pub(super) const IMPORTER: Importer = Importer {
    name: "skill-creator",
    reads: "evals.json, a skill with evals/evals.json, a folder of such skills, or a JSON list of \
            queries with should_trigger",
    inner_folders: &["evals"],
    names_skills: false,
    read,
};

const FILE: &str = "evals.json";
const INNER_FILE: &str = "evals/evals.json";

/// The most evals of one file, which becomes one case file.
const MAX_EVALS: usize = 1000;

const PROMPT_KEYS: [&str; 2] = ["prompt", "query"];
const NAME_KEYS: [&str; 2] = ["name", "eval_name"];
const EXPECTATION_KEYS: [&str; 2] = ["expectations", "assertions"];
const EXPECTATION_TEXT_KEYS: [&str; 4] = ["text", "expectation", "description", "name"];

const HINTS: [(&str, &str); 5] = [
    ("runs", "use `eval run --runs N`"),
    ("runs_per_query", "use `eval run --runs N`"),
    ("model", "use `eval run --model` (or a case's `model`)"),
    ("timeout", "use `eval run --timeout`"),
    ("expected_skill", "file the case under that skill"),
];

fn read(input: &Input<'_>, options: Options) -> Result<Vec<Draft>, ImportError> {
    let mut drafts = Vec::new();
    for (folder, file) in suites(input)? {
        drafts.push(suite(input, &folder, &file, options)?);
    }
    Ok(drafts)
}

/// The folders of skills, and the suite in each.
fn suites(input: &Input<'_>) -> Result<Vec<(String, String)>, ImportError> {
    let is_file = |path: &str| input.files.entry(path) == Some(Entry::File);
    let in_folder = |folder: &str| {
        let found = [FILE, INNER_FILE].into_iter().find(|file| is_file(&joined(folder, file)));
        found.map(|file| (folder.to_owned(), file.to_owned()))
    };
    if !input.named.is_empty() {
        let is_folder = input.files.entry(input.named) == Some(Entry::Folder);
        let file = if is_folder { joined(input.named, FILE) } else { input.named.to_owned() };
        let is_json = ending(&file) == "json" && is_file(&file);
        return Ok(if is_json { vec![(String::new(), file)] } else { Vec::new() });
    }
    if let Some(found) = in_folder("") {
        return Ok(vec![found]);
    }
    let names = input.files.names("").map_err(|why| ImportError::file(input.origin, why))?;
    let folders = names.iter().filter(|name| input.files.entry(name) == Some(Entry::Folder));
    let found: Vec<_> = folders.filter_map(|name| in_folder(name)).collect();
    if found.len() > MAX_SCENARIOS {
        return Err(ImportError::TooMany { count: found.len() });
    }
    Ok(found)
}

fn suite(
    input: &Input<'_>,
    folder: &str,
    file: &str,
    options: Options,
) -> Result<Draft, ImportError> {
    let text = read_text(input.files, folder, file, Links::Refused)?;
    let path = joined(folder, file);
    let node = json_value(&path, &text)?;
    let root = At::root(&node, None);
    let mut used = Used::default();
    let name = root.get("skill_name").filter(|at| at.text().is_some_and(|t| !t.trim().is_empty()));
    let (name, list) = match (root.items(), root.get("evals")) {
        (Some(items), _) => (None, items),
        (None, Some(evals)) => {
            used.mark(&evals);
            let list = evals.items();
            (name, list.ok_or_else(|| ImportError::file(&path, "`evals` must be a list"))?)
        }
        (None, None) => {
            let message = "must hold an object with `evals`, or a list of queries";
            return Err(ImportError::file(path, message));
        }
    };
    let mut draft = Draft::new(input.origin, Digest::of(text.as_bytes()));
    draft.report.scenario = match &name {
        Some(at) => {
            used.mark(at);
            at.text().unwrap_or_default().trim().to_owned()
        }
        None => scenario_name(input, folder, file),
    };
    if list.is_empty() || list.len() > MAX_EVALS {
        let message = format!("holds {} evals; between 1 and {MAX_EVALS} may stand", list.len());
        return Err(ImportError::file(path, message));
    }
    let mut suite = Suite { input, folder, options, used, draft, seen: Seen::default() };
    for (index, at) in list.iter().enumerate() {
        suite.eval(index, at)?;
    }
    Ok(suite.finish(&root))
}

/// The name of the skill's folder; of a single file, its own.
fn scenario_name(input: &Input<'_>, folder: &str, file: &str) -> String {
    let stem = file.rsplit('/').next().and_then(|name| name.strip_suffix(".json"));
    let folder = folder.rsplit('/').next().filter(|name| !name.is_empty());
    match stem {
        Some(stem) if stem != "evals" => stem,
        _ => folder.unwrap_or(input.folder_name),
    }
    .to_owned()
}

/// What the evals of a suite turned out to hold, for the lines of the report.
#[derive(Default)]
struct Seen {
    expectations: usize,
    outputs_as_descriptions: usize,
    outputs_as_rubrics: usize,
    fixtures: usize,
    stated_triggers: usize,
    rubrics: usize,
}

struct Suite<'a> {
    input: &'a Input<'a>,
    folder: &'a str,
    options: Options,
    used: Used,
    draft: Draft,
    seen: Seen,
}

impl Suite<'_> {
    fn eval(&mut self, index: usize, at: &At<'_>) -> Result<(), ImportError> {
        let scenario = self.draft.report.scenario.clone();
        let fail = |message: String| ImportError::scenario(&scenario, message);
        if !at.is_object() {
            return Err(fail(format!("{} must be an object with a prompt", at.path)));
        }
        self.used.mark(at);
        let prompt = at.first(&PROMPT_KEYS).filter(|(_, prompt)| prompt.text().is_some());
        let Some((_, prompt)) = prompt else {
            return Err(fail(format!("{} has no prompt", at.path)));
        };
        self.used.mark(&prompt);
        let id = at.get("id").filter(|id| id.scalar().is_some());
        let label = id.as_ref().and_then(At::scalar);
        let label = label.map_or_else(|| (index + 1).to_string(), str::to_owned);
        self.used.mark_some(id.as_ref());
        let text = prompt.text().unwrap_or_default().to_owned();
        let name = format!("{scenario}-{label}");
        let mut case = NewCase::new(name, NewPrompt::Inline(text), IMPORTER.name);
        if let Some(trigger) = at.get("should_trigger")
            && let Some(value) = trigger.boolean()
        {
            self.used.mark(&trigger);
            self.seen.stated_triggers += 1;
            case.expect_trigger = value;
        }
        let named = at.first(&NAME_KEYS).filter(|(_, name)| name.text().is_some());
        if let Some((_, name)) = named {
            self.used.mark(&name);
            case.description = name.text().map(str::to_owned);
        }
        self.rubric(at, &mut case)?;
        case.files = self.fixtures(at)?;
        self.draft.cases.push(case);
        Ok(())
    }

    fn rubric(&mut self, at: &At<'_>, case: &mut NewCase) -> Result<(), ImportError> {
        let criteria = match at.first(&EXPECTATION_KEYS) {
            Some((_, list)) => self.expectations(&list)?,
            None => Vec::new(),
        };
        let output = at.get("expected_output");
        let output = output.filter(|at| at.text().is_some_and(|text| !text.trim().is_empty()));
        let words = output.as_ref().and_then(At::text).map(|text| text.trim().to_owned());
        self.seen.expectations += criteria.len();
        let criteria = match (criteria, words) {
            (criteria, Some(words)) if criteria.is_empty() => {
                self.seen.outputs_as_rubrics += 1;
                self.used.mark_some(output.as_ref());
                vec![Criterion { name: String::new(), text: words, weight: 1.0 }]
            }
            // The grader of skill-creator judges by the expectations; this text is for people.
            (criteria, Some(words)) if case.description.is_none() => {
                self.seen.outputs_as_descriptions += 1;
                self.used.mark_some(output.as_ref());
                case.description = Some(words);
                criteria
            }
            (criteria, _) => criteria,
        };
        if !criteria.is_empty() {
            self.seen.rubrics += 1;
            set_rubric(case, criteria, None, self.options);
        }
        Ok(())
    }

    fn expectations(&mut self, list: &At<'_>) -> Result<Vec<Criterion>, ImportError> {
        let Some(items) = list.items() else { return Ok(Vec::new()) };
        self.used.mark(list);
        let mut criteria = Vec::new();
        for item in items {
            let text = match item.text() {
                Some(_) => Some(item.clone()),
                None => item.first(&EXPECTATION_TEXT_KEYS).map(|(_, at)| at),
            };
            let words = text.as_ref().and_then(At::text).map_or("", str::trim);
            if words.is_empty() {
                let message = format!("{} has no text", item.path);
                return Err(ImportError::scenario(&self.draft.report.scenario, message));
            }
            criteria.push(Criterion { name: String::new(), text: words.to_owned(), weight: 1.0 });
            self.used.mark(&item);
            self.used.mark_some(text.as_ref());
        }
        Ok(criteria)
    }

    fn fixtures(&mut self, at: &At<'_>) -> Result<Vec<NewFixture>, ImportError> {
        let Some(list) = at.get("files") else { return Ok(Vec::new()) };
        let Some(items) = list.items() else { return Ok(Vec::new()) };
        self.used.mark(&list);
        let mut fixtures = Vec::new();
        for item in items {
            let Some(path) = item.text() else { continue };
            self.used.mark(&item);
            let path = clean(path).map_err(|why| {
                let message = format!("{}: file {why}", item.path);
                ImportError::scenario(&self.draft.report.scenario, message)
            })?;
            let bytes = self.input.files.read(self.folder, &path, Links::Inside);
            let bytes = bytes.map_err(|why| ImportError::file(joined(self.folder, &path), why))?;
            fixtures.push(NewFixture { path, content: NewContent::Copied(bytes) });
        }
        self.seen.fixtures += fixtures.len();
        Ok(fixtures)
    }

    fn finish(mut self, root: &At<'_>) -> Draft {
        let report = &mut self.draft.report;
        let count = self.draft.cases.len();
        report.mapped.push(format!("{count} prompt(s) -> prompt"));
        for (count, words) in [
            (self.seen.expectations, "expectation(s) -> rubric"),
            (self.seen.outputs_as_descriptions, "expected_output -> description"),
            (self.seen.outputs_as_rubrics, "expected_output -> rubric (there are no expectations)"),
            (self.seen.fixtures, "file(s) -> files"),
            (self.seen.stated_triggers, "should_trigger -> expect_trigger"),
        ] {
            if count > 0 {
                report.mapped.push(format!("{count} {words}"));
            }
        }
        if self.seen.rubrics > 0 {
            report.assumed.push("every expectation weighs 1".to_owned());
            let note = "no pass threshold; the eval default 0.70 applies";
            report.assumed.push(note.to_owned());
        }
        if self.seen.stated_triggers < count {
            let note =
                "expect_trigger: true where the input does not say (the evals target a skill)";
            report.assumed.push(note.to_owned());
        }
        if root.items().is_some() {
            for item in root.items().unwrap_or_default() {
                self.used.rest(&item, &HINTS, &mut report.unmapped);
            }
        } else {
            self.used.rest(root, &HINTS, &mut report.unmapped);
        }
        self.draft
    }
}
