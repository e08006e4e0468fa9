//! Suites of `claude plugin eval`: a folder a case with `prompt.md`, `case.yaml` or both, and
//! `graders/*.md`.
//!
//! What the format says is that of Claude Code 2.1.332. Graders that look at the answer or at one
//! file have counterparts; those that look at the trace, at tools other than `Skill`, or compare
//! with a recorded run have none.

mod graders;

use proctor_model::Digest;
use proctor_model::digest::DigestStream;

use super::document::{At, Used, ending, joined, json_value, read_text, yaml_value};
use super::draft::{Draft, NewCase, NewPrompt};
use super::files::{Entry, Links};
use super::report::Unmapped;
use super::{ImportError, Importer, Input, MAX_SCENARIOS, Options};
use crate::tree::Node;
use graders::{Grader, Graders};

pub(super) const IMPORTER: Importer = Importer {
    name: "plugin-eval",
    reads: "a case folder with prompt.md or case.yaml and graders, one of these files, an eval \
            folder, or a plugin",
    inner_folders: &[],
    names_skills: false,
    read,
};

const PROMPT_FILE: &str = "prompt.md";
const CASE_FILE: &str = "case.yaml";
const GRADERS: &str = "graders";
const MANIFESTS: [&str; 2] = [".claude-plugin/plugin.json", "plugin.json"];

/// How deep cases may be grouped in folders.
const MAX_GROUPS: usize = 16;

/// How many folders are looked into.
const MAX_FOLDERS: usize = 10_000;

const HINTS: [(&str, &str); 5] = [
    ("runs", "use `eval run --runs N`"),
    ("timeout_seconds", "use `eval run --timeout`"),
    ("scaffold_script", "nothing is run by an import; write the files into the case's `files`"),
    ("add_dirs", "write the files into the case's `files`"),
    ("expected_outcome", "for people; the tool does not use it either"),
];

fn read(input: &Input<'_>, options: Options) -> Result<Vec<Draft>, ImportError> {
    cases(input)?.iter().map(|folder| case(input, folder, options)).collect()
}

/// The folders of the cases, sorted.
fn cases(input: &Input<'_>) -> Result<Vec<String>, ImportError> {
    if !input.named.is_empty() {
        let is_case = [PROMPT_FILE, CASE_FILE].contains(&input.named);
        return Ok(if is_case { vec![String::new()] } else { Vec::new() });
    }
    let mut found = Vec::new();
    let start = eval_folder(input)?;
    let mut folders = vec![(start, 0)];
    let mut seen = 0;
    while let Some((folder, depth)) = folders.pop() {
        seen += 1;
        if seen > MAX_FOLDERS {
            let message = format!("holds more than {MAX_FOLDERS} folders; name the eval folder");
            return Err(ImportError::file(input.origin, message));
        }
        if is_case(input, &folder) {
            found.push(folder);
            if found.len() > MAX_SCENARIOS {
                return Err(ImportError::TooMany { count: found.len() });
            }
            continue;
        }
        if depth == MAX_GROUPS {
            continue;
        }
        let names = input.files.names(&folder);
        for name in names.map_err(|why| ImportError::file(joined(input.origin, &folder), why))? {
            let path = joined(&folder, &name);
            let is_group = input.files.entry(&path) == Some(Entry::Folder)
                && !name.starts_with('.')
                && !["results", "mocks", "node_modules"].contains(&name.as_str());
            if is_group {
                folders.push((path, depth + 1));
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_case(input: &Input<'_>, folder: &str) -> bool {
    let files = [PROMPT_FILE, CASE_FILE];
    files.into_iter().any(|file| input.files.entry(&joined(folder, file)) == Some(Entry::File))
}

/// The folder that a plugin keeps its cases in; the named folder itself when it is no plugin.
fn eval_folder(input: &Input<'_>) -> Result<String, ImportError> {
    let is_file = |path: &str| input.files.entry(path) == Some(Entry::File);
    let Some(manifest) = MANIFESTS.into_iter().find(|path| is_file(path)) else {
        return Ok(String::new());
    };
    let text = read_text(input.files, "", manifest, Links::Refused)?;
    let node = json_value(manifest, &text)?;
    let root = At::root(&node, None);
    let named = root.get("experimental").and_then(|at| at.get("evals"));
    let named = named.as_ref().and_then(At::text).map(crate::eval::paths::clean);
    Ok(match named {
        Some(Ok(folder)) if input.files.entry(&folder) == Some(Entry::Folder) => folder,
        _ if input.files.entry("evals") == Some(Entry::Folder) => "evals".to_owned(),
        _ => String::new(),
    })
}

/// A file with front matter, or `case.yaml`.
struct Source {
    /// Its name in the case folder.
    file: String,
    node: Option<Node>,
    body: String,
}

impl Source {
    fn root(&self) -> Option<At<'_>> {
        Some(At::root(self.node.as_ref()?, Some(&self.file)))
    }
}

fn case(input: &Input<'_>, folder: &str, options: Options) -> Result<Draft, ImportError> {
    let mut digest = Digest::stream();
    let prompt = source(input, folder, PROMPT_FILE, &mut digest)?;
    let whole = source(input, folder, CASE_FILE, &mut digest)?;
    let mut files = Vec::new();
    let graders = joined(folder, GRADERS);
    if input.files.entry(&graders) == Some(Entry::Folder) {
        let names = input.files.names(&graders);
        for name in names.map_err(|why| ImportError::file(graders.clone(), why))? {
            if ending(&name) == "md" && !name.starts_with('.') {
                files.extend(source(input, folder, &joined(GRADERS, &name), &mut digest)?);
            }
        }
    }
    let draft = Draft::new(input.origin, digest.finish());
    let mut mapper = Mapper { used: Used::default(), draft };
    let own_name = folder.rsplit('/').next().filter(|name| !name.is_empty());
    let own_name = own_name.unwrap_or(input.folder_name);
    let sources = Sources { prompt: prompt.as_ref(), whole: whole.as_ref(), graders: &files };
    mapper.map(&sources, own_name, options)?;
    if input.files.entry(&joined(folder, "mocks")) == Some(Entry::Folder) {
        mapper.draft.report.unmapped.push(Unmapped {
            path: "mocks".to_owned(),
            value: "a folder of answers for MCP tools".to_owned(),
            hint: None,
        });
    }
    Ok(mapper.draft)
}

fn source(
    input: &Input<'_>,
    folder: &str,
    file: &str,
    digest: &mut DigestStream,
) -> Result<Option<Source>, ImportError> {
    let path = joined(folder, file);
    if input.files.entry(&path).is_none() {
        return Ok(None);
    }
    let text = read_text(input.files, folder, file, Links::Refused)?;
    digest.update(file.as_bytes());
    digest.update(b"\0");
    digest.update(text.as_bytes());
    digest.update(b"\0");
    let source =
        |node, body: &str| Some(Source { file: file.to_owned(), node, body: body.to_owned() });
    if file == CASE_FILE {
        return Ok(source(Some(yaml_value(&path, &text)?), ""));
    }
    Ok(match front_matter(&text) {
        Some((front, body)) => {
            let node = yaml_value(&path, front)?;
            source(Some(node), body)
        }
        None => source(None, &text),
    })
}

/// What stands between a first line `---` and the next, and what follows.
fn front_matter(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n'))?;
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((rest.get(..start)?, rest.get(start + line.len()..)?));
        }
        start += line.len();
    }
    None
}

struct Sources<'a> {
    prompt: Option<&'a Source>,
    whole: Option<&'a Source>,
    graders: &'a [Source],
}

struct Mapper {
    used: Used,
    draft: Draft,
}

impl Mapper {
    fn map(
        &mut self,
        sources: &Sources<'_>,
        own_name: &str,
        options: Options,
    ) -> Result<(), ImportError> {
        let prompt = sources.prompt.and_then(Source::root);
        let whole = sources.whole.and_then(Source::root);
        // What prompt.md says wins over case.yaml.
        let fields: Vec<&At<'_>> = prompt.iter().chain(&whole).collect();
        let execution = whole.as_ref().and_then(|at| at.get("execution"));
        let name = self.text(&fields, "name").unwrap_or_else(|| own_name.to_owned());
        self.draft.report.scenario.clone_from(&name);
        let text = sources.prompt.map(|source| source.body.trim()).filter(|text| !text.is_empty());
        let text = if let Some(text) = text {
            self.mapped(format!("{PROMPT_FILE} -> prompt_file"));
            Some(text.to_owned())
        } else {
            let found = execution.as_ref().and_then(|at| at.get("prompt"));
            let found = found.filter(|at| at.text().is_some_and(|text| !text.trim().is_empty()));
            found.map(|at| {
                self.used.mark(&at);
                self.mapped("execution.prompt -> prompt_file");
                at.text().unwrap_or_default().to_owned()
            })
        };
        let Some(text) = text else {
            return Err(ImportError::scenario(
                &name,
                format!("has no prompt: write {PROMPT_FILE}"),
            ));
        };
        let mut case = NewCase::new(name.clone(), NewPrompt::File(text), IMPORTER.name);
        case.description = self.text(&fields, "description");
        let models: Vec<&At<'_>> = prompt.iter().chain(&execution).collect();
        case.model = self.text(&models, "model");
        self.tags(&fields, &mut case);
        self.versions(&fields);
        for at in whole.iter().flat_map(|at| ["execution", "context"].map(|key| at.get(key))) {
            self.used.mark_some(at.as_ref());
        }
        self.graders(whole.as_ref(), sources.graders, &mut case, options)?;
        for at in prompt.iter().chain(&whole) {
            self.used.rest(at, &HINTS, &mut self.draft.report.unmapped);
        }
        self.draft.cases.push(case);
        Ok(())
    }

    fn mapped(&mut self, line: impl Into<String>) {
        self.draft.report.mapped.push(line.into());
    }

    /// The text of a field in the first place that has it.
    fn text(&mut self, places: &[&At<'_>], key: &str) -> Option<String> {
        let mut found = None;
        for at in places.iter().filter_map(|at| at.get(key)) {
            let Some(text) = at.text().map(str::trim).filter(|text| !text.is_empty()) else {
                continue;
            };
            // What the other place says is overridden, as the tool does it.
            self.used.mark(&at);
            if found.is_none() {
                found = Some(text.to_owned());
            }
        }
        if found.is_some() {
            self.mapped(format!("{key} -> {}", if key == "name" { "id" } else { key }));
        }
        found
    }

    /// Tags that a case may have; the others stay unmapped.
    fn tags(&mut self, places: &[&At<'_>], case: &mut NewCase) {
        let Some(list) = places.iter().find_map(|at| at.get("tags")) else { return };
        let Some(items) = list.items() else { return };
        self.used.mark(&list);
        let mut count = 0;
        for item in items {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            let fits = |tag: &str| {
                tag.len() <= 200
                    && tag.starts_with(plain)
                    && tag.chars().all(|c| plain(c) || "._:-".contains(c))
            };
            if let Some(tag) = item.text().filter(|tag| fits(tag)) {
                self.used.mark(&item);
                case.tags.push(tag.to_owned());
                count += 1;
            }
        }
        if count > 0 {
            self.mapped(format!("{count} tag(s) -> tags"));
        }
    }

    /// The version of the format says nothing about the case.
    fn versions(&mut self, places: &[&At<'_>]) {
        for at in places.iter().filter_map(|at| at.get("schema_version")) {
            if at.scalar().is_some_and(|version| version.starts_with("1.")) {
                self.used.mark(&at);
            }
        }
    }

    fn graders(
        &mut self,
        whole: Option<&At<'_>>,
        files: &[Source],
        case: &mut NewCase,
        options: Options,
    ) -> Result<(), ImportError> {
        let mut list = Vec::new();
        if let Some(at) = whole.and_then(|at| at.get("graders"))
            && let Some(items) = at.items()
        {
            self.used.mark(&at);
            list.extend(items.into_iter().map(|at| Grader { at, body: "" }));
        }
        for file in files {
            let Some(at) = file.root() else {
                let message = "has no front matter with a `type`";
                return Err(ImportError::file(&file.file, message));
            };
            list.push(Grader { at, body: file.body.trim() });
        }
        if list.is_empty() {
            let message = "has no grader, so the tool would not load it either";
            return Err(ImportError::scenario(&self.draft.report.scenario, message));
        }
        let mut graders = Graders { used: &mut self.used, report: &mut self.draft.report };
        graders.map(&list, case, options);
        Ok(())
    }
}
