//! Case files as text, read back before anybody sees them.

use std::fmt::Write as _;

use camino::Utf8Path;
use proctor_model::eval::case::CASE_SCHEMA_VERSION;
use proctor_model::eval::{Assertion, Criteria};

use super::document::{quoted, summarized};
use super::draft::{Draft, NewAssertion, NewCase, NewContent, NewFixture, NewPrompt};
use super::yaml_text::scalar;
use super::{IMPORTER_VERSION, ImportError, NewFile};
use crate::eval::case_file::{Content, Draft as Parsed, Prompt, parse_case_file};
use crate::eval::case_file_stem;
use crate::tree::Problems;

/// The files of a draft whose cases have their ids: the case file, then what its cases bring along.
pub(super) fn render(draft: &Draft, stem: &str) -> Result<Vec<NewFile>, ImportError> {
    let name = format!("{stem}.eval.yaml");
    let mut text = String::new();
    // Writing to strings cannot fail, here and below.
    let _ = write!(
        text,
        "# imported by ai-rulez eval import (importer {IMPORTER_VERSION}) from scenario {}\n\
         # source {}\nschema_version: {CASE_SCHEMA_VERSION}\ncases:\n",
        quoted(&summarized(&draft.report.scenario)),
        draft.report.source_sha256,
    );
    for case in &draft.cases {
        write_case(case, &mut text);
    }
    check(draft, &name, &text)?;
    let mut files = vec![NewFile { path: name, content: text.into_bytes() }];
    for case in &draft.cases {
        if let NewPrompt::File(prompt) = &case.prompt {
            let mut content = prompt.clone().into_bytes();
            if !prompt.ends_with('\n') {
                content.push(b'\n');
            }
            files.push(NewFile { path: task_file(case), content });
        }
        for fixture in &case.files {
            if let NewContent::Copied(bytes) = &fixture.content
                && inline(fixture).is_none()
            {
                files.push(NewFile { path: copy_of(case, fixture), content: bytes.clone() });
            }
        }
    }
    Ok(files)
}

fn task_file(case: &NewCase) -> String {
    format!("{}.task.md", case.id)
}

fn copy_of(case: &NewCase, fixture: &NewFixture) -> String {
    format!("fixtures/{}/{}", case.id, fixture.path)
}

/// The content that stands in the case itself. A copy under the name of a case file would be read
/// as one.
fn inline(fixture: &NewFixture) -> Option<&str> {
    match &fixture.content {
        NewContent::Inline(text) => Some(text),
        NewContent::Copied(bytes) => {
            let name = fixture.path.rsplit('/').next().unwrap_or_default();
            case_file_stem(name).and_then(|_| std::str::from_utf8(bytes).ok())
        }
    }
}

fn write_case(case: &NewCase, out: &mut String) {
    let text = |text: &str| scalar(text, 6);
    let _ = writeln!(out, "  - id: {}", text(&case.id));
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "    {key}: {value}");
    };
    if let Some(description) = &case.description {
        line("description", &text(description));
    }
    match &case.prompt {
        NewPrompt::Inline(prompt) => line("prompt", &text(prompt)),
        NewPrompt::File(_) => line("prompt_file", &text(&task_file(case))),
    }
    line("expect_trigger", &case.expect_trigger.to_string());
    write_list(out, "near_miss", &case.near_miss);
    write_fixtures(case, out);
    write_assertions(&case.assertions, out);
    if let Some(rubric) = &case.rubric {
        match &rubric.criteria {
            Criteria::Text(rubric) => {
                let _ = writeln!(out, "    rubric: {}", text(rubric));
            }
            Criteria::Items(items) => {
                out.push_str("    rubric_items:\n");
                for item in items {
                    let _ = writeln!(out, "      - text: {}", scalar(&item.text, 10));
                    if let Some(weight) = item.weight {
                        let _ = writeln!(out, "        weight: {weight}");
                    }
                }
            }
        }
        if let Some(score) = rubric.min_score {
            let _ = writeln!(out, "    rubric_min_score: {score}");
        }
    }
    if let Some(model) = &case.model {
        let _ = writeln!(out, "    model: {}", text(model));
    }
    write_list(out, "tags", &case.tags);
}

fn write_list(out: &mut String, key: &str, items: &[String]) {
    if !items.is_empty() {
        let _ = writeln!(out, "    {key}:");
    }
    for item in items {
        let _ = writeln!(out, "      - {}", scalar(item, 8));
    }
}

fn write_fixtures(case: &NewCase, out: &mut String) {
    if !case.files.is_empty() {
        out.push_str("    files:\n");
    }
    for fixture in &case.files {
        let _ = writeln!(out, "      - path: {}", scalar(&fixture.path, 10));
        match inline(fixture) {
            // An empty file needs no word.
            Some("") => {}
            Some(text) => {
                let _ = writeln!(out, "        content: {}", scalar(text, 10));
            }
            None => {
                let _ = writeln!(out, "        source: {}", scalar(&copy_of(case, fixture), 10));
            }
        }
    }
}

fn write_assertions(assertions: &[NewAssertion], out: &mut String) {
    if !assertions.is_empty() {
        out.push_str("    assertions:\n");
    }
    for NewAssertion { assertion, lifted_from } in assertions {
        out.push_str("      - ");
        if let Some(criterion) = lifted_from {
            let criterion = quoted(&summarized(criterion));
            let _ = write!(out, "# lifted from criterion {criterion}\n        ");
        }
        let _ = writeln!(out, "type: {}", assertion.type_name());
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(out, "        {key}: {}", scalar(value, 10));
        };
        match assertion {
            Assertion::Contains { value, path }
            | Assertion::NotContains { value, path }
            | Assertion::Regex { value, path } => {
                line("value", value);
                if let Some(path) = path {
                    line("path", path);
                }
            }
            Assertion::FileExists { path, exists } => {
                line("path", path);
                if !exists {
                    out.push_str("        exists: false\n");
                }
            }
            Assertion::CommandExit { command, exit_code } => {
                line("command", command);
                if *exit_code != 0 {
                    let _ = writeln!(out, "        exit_code: {exit_code}");
                }
            }
        }
    }
}

/// Reads the text with the case parser and compares: a case that would not load, or would load as
/// another, is never written.
fn check(draft: &Draft, name: &str, text: &str) -> Result<(), ImportError> {
    let scenario = &draft.report.scenario;
    let mut problems = Problems::new(Utf8Path::new(name));
    let elements = parse_case_file(Utf8Path::new(name), text.as_bytes(), &mut problems);
    if problems.has_errors() {
        let diagnostics = problems.finish();
        let first = diagnostics.0.first();
        let field = first.and_then(|first| first.field.as_deref()).unwrap_or_default();
        let message = first.map_or("", |first| first.message.as_str());
        let hint =
            if field.contains("rubric_items") { "; use the rubric mode `single`" } else { "" };
        let message = format!("makes no valid case: {field}: {message}{hint}");
        return Err(ImportError::scenario(scenario, message));
    }
    let parsed: Vec<Parsed> = elements.into_iter().filter_map(|element| element.draft).collect();
    let same = parsed.len() == draft.cases.len()
        && parsed.iter().zip(&draft.cases).all(|(parsed, case)| is_same(parsed, case));
    if same {
        Ok(())
    } else {
        let message = "its case file reads back as something else, which is a bug of proctor";
        Err(ImportError::scenario(scenario, message))
    }
}

fn is_same(parsed: &Parsed, case: &NewCase) -> bool {
    let same_prompt = match (&parsed.prompt, &case.prompt) {
        (Prompt::Text(parsed), NewPrompt::Inline(prompt)) => parsed == prompt,
        (Prompt::File(parsed), NewPrompt::File(_)) => parsed.relative == task_file(case),
        _ => false,
    };
    let same_files = parsed.files.len() == case.files.len()
        && parsed.files.iter().zip(&case.files).all(|(parsed, fixture)| {
            parsed.path == fixture.path
                && match (&parsed.content, inline(fixture)) {
                    (Content::Text(parsed), Some(text)) => parsed == text,
                    (Content::Source(parsed), None) => parsed.relative == copy_of(case, fixture),
                    _ => false,
                }
        });
    let assertions = case.assertions.iter().map(|new| &new.assertion);
    parsed.id == case.id
        && parsed.description == case.description
        && same_prompt
        && parsed.expect_trigger == case.expect_trigger
        && parsed.near_miss == case.near_miss
        && same_files
        && parsed.assertions.iter().eq(assertions)
        && parsed.rubric == case.rubric
        && parsed.model == case.model
        && parsed.tags == case.tags
}
