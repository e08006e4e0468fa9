//! Configurations of promptfoo: prompts with variables, and tests with assertions.
//!
//! A test becomes a case for each prompt. Texts, patterns and `llm-rubric` have counterparts; code,
//! similarity, cost and time have none, and neither have prompts and tests that are programs. A
//! variable stands where `{{name}}` names it; a prompt with any other template is not mapped.

mod assertions;
mod template;

use std::collections::BTreeMap;

use proctor_model::Digest;

use super::document::{At, Used, ending, joined, json_value, read_text, yaml_value};
use super::draft::{Draft, NewCase, NewPrompt};
use super::files::{Entry, Links};
use super::{ImportError, Importer, Input, Options};
use crate::eval::paths::clean;
use crate::tree::Node;
use assertions::Assertions;
use template::{Room, Templates};

pub(super) const IMPORTER: Importer = Importer {
    name: "promptfoo",
    reads: "promptfooconfig.yaml (or .yml, .json), or a folder that holds one",
    inner_folders: &[],
    names_skills: false,
    read,
};

const FILES: [&str; 3] = ["promptfooconfig.yaml", "promptfooconfig.yml", "promptfooconfig.json"];

/// How many cases one configuration may make: tests times prompts.
const MAX_CASES: usize = 1000;

const HINTS: [(&str, &str); 4] = [
    ("providers", "use `eval run --harness` and `--model`"),
    ("repeat", "use `eval run --runs N`"),
    ("outputPath", "use `eval run --output-dir`"),
    ("timeoutMs", "use `eval run --timeout`"),
];

fn read(input: &Input<'_>, options: Options) -> Result<Vec<Draft>, ImportError> {
    let is_file = |path: &str| input.files.entry(path) == Some(Entry::File);
    let file = if input.named.is_empty() {
        FILES.into_iter().find(|file| is_file(file))
    } else {
        Some(input.named).filter(|file| is_file(file) && is_data(file))
    };
    let Some(file) = file else { return Ok(Vec::new()) };
    let text = read_text(input.files, "", file, Links::Refused)?;
    let node = value(file, &text)?;
    let root = At::root(&node, None);
    if !root.is_object() {
        return Err(ImportError::file(file, "must hold an object with `prompts` and `tests`"));
    }
    let draft = Draft::new(input.origin, Digest::of(text.as_bytes()));
    let mut config = Config { input, options, used: Used::default(), draft, room: Room::new() };
    config.map(&root)?;
    if config.room.is_exhausted() {
        let message = "its cases would hold more than 1 MiB of text; part the tests";
        return Err(ImportError::scenario(&config.draft.report.scenario, message));
    }
    config.used.rest(&root, &HINTS, &mut config.draft.report.unmapped);
    if config.draft.cases.is_empty() {
        let why = config.draft.report.unmapped.first().map_or_else(String::new, |first| {
            let hint = first.hint.as_deref().unwrap_or("has no counterpart");
            format!(", for example {}: {hint}", first.path)
        });
        let message = format!("none of its tests maps to a case{why}");
        return Err(ImportError::scenario(&config.draft.report.scenario, message));
    }
    Ok(vec![config.draft])
}

fn is_data(file: &str) -> bool {
    matches!(ending(file), "yaml" | "yml" | "json")
}

fn value(file: &str, text: &str) -> Result<Node, ImportError> {
    if ending(file) == "json" { json_value(file, text) } else { yaml_value(file, text) }
}

/// A prompt, and where it stands.
struct Prompt {
    label: Option<String>,
    template: String,
}

struct Config<'a> {
    input: &'a Input<'a>,
    options: Options,
    used: Used,
    draft: Draft,
    room: Room,
}

impl Config<'_> {
    fn map(&mut self, root: &At<'_>) -> Result<(), ImportError> {
        let description = root.get("description");
        let description = description.filter(|at| at.text().is_some_and(|t| !t.trim().is_empty()));
        let name = match &description {
            Some(at) => {
                self.used.mark(at);
                at.text().unwrap_or_default().trim().to_owned()
            }
            None => self.input.folder_name.to_owned(),
        };
        self.draft.report.scenario = name;
        let prompts = self.prompts(root)?;
        let default = root.get("defaultTest").filter(At::is_object);
        self.used.mark_some(default.as_ref());
        let Some(tests) = root.get("tests") else {
            let message = "has no tests";
            return Err(ImportError::scenario(&self.draft.report.scenario, message));
        };
        let loaded = self.tests_file(&tests)?;
        let (list, file) = match &loaded {
            Some((file, node)) => {
                self.used.mark(&tests);
                (At::root(node, Some(file)), Some(file))
            }
            None => (tests, None),
        };
        let Some(items) = list.items() else { return Ok(()) };
        if items.len().saturating_mul(prompts.len()) > MAX_CASES {
            let message = format!(
                "makes {} cases; the limit is {MAX_CASES}",
                items.len().saturating_mul(prompts.len())
            );
            return Err(ImportError::scenario(&self.draft.report.scenario, message));
        }
        self.used.mark(&list);
        for (index, test) in items.iter().enumerate() {
            self.test(index, test, default.as_ref(), &prompts);
        }
        if file.is_some() {
            for test in &items {
                self.used.rest(test, &HINTS, &mut self.draft.report.unmapped);
            }
        }
        let count = self.draft.cases.len();
        self.draft.report.mapped.push(format!("{count} test(s) with their prompts -> cases"));
        Ok(())
    }

    fn prompts(&mut self, root: &At<'_>) -> Result<Vec<Prompt>, ImportError> {
        let Some(at) = root.get("prompts") else {
            let message = "has no prompts";
            return Err(ImportError::scenario(&self.draft.report.scenario, message));
        };
        let items = at.items();
        if items.is_some() {
            self.used.mark(&at);
        }
        let mut prompts = Vec::new();
        for item in items.unwrap_or_else(|| vec![at.clone()]) {
            let raw = item.get("raw");
            let text = item.text().or_else(|| raw.as_ref().and_then(At::text));
            let Some(text) = text else { continue };
            let template = match text.strip_prefix("file://") {
                None => Some(text.to_owned()),
                Some(path) => self.prompt_file(path, &item)?,
            };
            let Some(template) = template else { continue };
            self.used.mark(&item);
            self.used.mark_some(raw.as_ref());
            let label = item.first(&["label", "id"]).filter(|(_, at)| at.text().is_some());
            self.used.mark_some(label.as_ref().map(|(_, at)| at));
            let label = label.and_then(|(_, at)| at.text().map(str::to_owned));
            prompts.push(Prompt { label, template });
        }
        Ok(prompts)
    }

    /// A prompt in a text file; `None` for programs and for files of several prompts.
    fn prompt_file(&mut self, path: &str, at: &At<'_>) -> Result<Option<String>, ImportError> {
        if !matches!(ending(path), "txt" | "md") {
            return Ok(None);
        }
        let path = clean(path).map_err(|why| {
            let message = format!("{}: the file {why}", at.path);
            ImportError::scenario(&self.draft.report.scenario, message)
        })?;
        let text = read_text(self.input.files, "", &path, Links::Inside)?;
        // A line of dashes parts several prompts in one file.
        let is_one = !text.lines().any(|line| line.trim() == "---");
        Ok(is_one.then(|| text.trim_end_matches('\n').to_owned()))
    }

    /// Tests in a file of their own, in YAML or JSON.
    fn tests_file(&self, tests: &At<'_>) -> Result<Option<(String, Node)>, ImportError> {
        let path = tests.text().map(|path| path.strip_prefix("file://").unwrap_or(path));
        let Some(path) = path.filter(|path| is_data(path)).and_then(|path| clean(path).ok()) else {
            return Ok(None);
        };
        if path.contains('*') {
            return Ok(None);
        }
        let text = read_text(self.input.files, "", &path, Links::Inside)?;
        let node = value(&joined("", &path), &text)?;
        Ok(Some((path, node)))
    }

    fn test(&mut self, index: usize, at: &At<'_>, default: Option<&At<'_>>, prompts: &[Prompt]) {
        if !at.is_object() {
            return;
        }
        let (variables, complete) = variables(at, default);
        let mut rendered = Vec::new();
        for prompt in prompts {
            let mut templates = Templates { variables: &variables, room: &mut self.room };
            match templates.render(&prompt.template) {
                Some(text) if complete && !text.trim().is_empty() => {
                    rendered.push((prompt, text));
                }
                _ => {
                    let hint = "its prompt needs a template, a file or a list that is not read";
                    self.draft.report.unmapped.push(at.unmapped(hint));
                    // Everything in it is covered by that line.
                    self.used.mark_all(at);
                    return;
                }
            }
        }
        self.used.mark(at);
        for at in [Some(at), default].into_iter().flatten().filter_map(|at| at.get("vars")) {
            self.used.mark_all(&at);
        }
        let description = at.get("description").filter(|at| at.text().is_some());
        self.used.mark_some(description.as_ref());
        let description = description.as_ref().and_then(At::text).map(str::trim);
        let description = description.filter(|text| !text.is_empty());
        for (number, (prompt, text)) in rendered.into_iter().enumerate() {
            let mut name = match description {
                Some(description) => description.to_owned(),
                None => format!("{}-{}", self.draft.report.scenario, index + 1),
            };
            if prompts.len() > 1 {
                let label = prompt.label.clone().unwrap_or_else(|| (number + 1).to_string());
                name = format!("{name}-{label}");
            }
            let mut case = NewCase::new(name, NewPrompt::Inline(text), IMPORTER.name);
            case.description = description.map(str::to_owned);
            let mut assertions = Assertions {
                used: &mut self.used,
                report: &mut self.draft.report,
                templates: Templates { variables: &variables, room: &mut self.room },
            };
            assertions.map(at, default, &mut case, self.options);
            self.draft.cases.push(case);
        }
    }
}

/// The variables of a test, and whether all of them are plain values.
fn variables(at: &At<'_>, default: Option<&At<'_>>) -> (BTreeMap<String, String>, bool) {
    let mut variables = BTreeMap::new();
    let mut complete = true;
    for at in [default, Some(at)].into_iter().flatten().filter_map(|at| at.get("vars")) {
        complete &= at.is_object();
        for (key, value) in at.members() {
            match value.scalar() {
                Some(text) if !text.starts_with("file://") && !text.contains("{{") => {
                    variables.insert(key.to_owned(), text.to_owned());
                }
                _ => complete = false,
            }
        }
    }
    (variables, complete)
}
