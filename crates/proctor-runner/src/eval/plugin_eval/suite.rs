//! A throwaway plugin that holds one skill, and its cases in the words of `claude plugin eval`.

use std::fmt::Write as _;

use camino::Utf8Path;
use fs_err as fs;
use proctor_grade::eval::RubricBy;
use proctor_model::eval::{Assertion, ExpandedCase};
use serde_json::json;

use super::javascript::{self, Pattern};
use crate::eval::install::{InstallError, install};

/// The grader that sees whether the skill fires.
pub(super) const TRIGGER: &str = "trigger";
/// The grader of the rubric.
pub(super) const RUBRIC: &str = "rubric";

/// The name of the grader for the assertion at `index`, from 0.
pub(super) fn assertion_name(index: usize) -> String {
    format!("assert-{:02}", index + 1)
}

/// Model turns that a case may take.
const MAX_TURNS: u32 = 10;
/// Tools that a case may use.
const TOOLS: &str = "[Skill, Read, Glob, Grep]";

/// A case that can be run, as files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Translated {
    /// The text of `prompt.md`.
    prompt: String,
    /// Names and texts of the graders.
    graders: Vec<(String, String)>,
}

/// Translates a case, or says why `claude plugin eval` cannot run it. `model` is for a case that names
/// none. A rubric that the built-in grader grades is left to it.
pub(super) fn translate(
    skill: &str,
    case: &ExpandedCase,
    model: Option<&str>,
    rubrics: RubricBy,
) -> Result<Translated, String> {
    if !case.files.is_empty() {
        return Err("`claude plugin eval` cannot create the `files` of a case".to_owned());
    }
    let mut graders = vec![(TRIGGER.to_owned(), trigger(skill, case.expect_trigger))];
    for (index, assertion) in case.assertions.iter().enumerate() {
        graders.push((assertion_name(index), grader(assertion)?));
    }
    if let (Some(rubric), RubricBy::Runner) = (&case.rubric, rubrics) {
        graders.push((RUBRIC.to_owned(), document("type: llm\n", &rubric.text())));
    }
    Ok(Translated { prompt: prompt(case, model), graders })
}

/// Writes the plugin into the empty `folder`.
pub(super) fn write(
    folder: &Utf8Path,
    skill: &str,
    skill_folder: &Utf8Path,
    cases: &[(&ExpandedCase, Translated)],
) -> Result<(), InstallError> {
    let manifest = json!({"name": format!("ai-rulez-eval-{skill}"), "version": "0.0.0"});
    let metadata = folder.join(".claude-plugin");
    fs::create_dir_all(&metadata)?;
    fs::write(metadata.join("plugin.json"), format!("{manifest}\n"))?;
    install(skill_folder, &folder.join("skills").join(skill))?;
    for (case, translated) in cases {
        let case = folder.join("evals").join(&case.id);
        let graders = case.join("graders");
        fs::create_dir_all(&graders)?;
        fs::write(case.join("prompt.md"), &translated.prompt)?;
        for (name, text) in &translated.graders {
            fs::write(graders.join(format!("{name}.md")), text)?;
        }
    }
    Ok(())
}

/// A Markdown file with front matter.
fn document(front_matter: &str, body: &str) -> String {
    format!("---\n{front_matter}---\n\n{body}\n")
}

/// A text as YAML has it; JSON strings are YAML.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

fn prompt(case: &ExpandedCase, model: Option<&str>) -> String {
    let mut front_matter = format!("max_turns: {MAX_TURNS}\nallowed_tools: {TOOLS}\n");
    // Writing to a string cannot fail.
    if let Some(model) = case.model.as_deref().or(model) {
        let _ = writeln!(front_matter, "model: {}", quoted(model));
    }
    if !case.tags.is_empty() {
        let _ = writeln!(front_matter, "tags: {}", json!(case.tags));
    }
    document(&front_matter, &case.prompt)
}

/// Sees whether the skill fires; of a case that must not fire it, both arms are looked at.
fn trigger(skill: &str, expected: bool) -> String {
    let skill = javascript::literal(skill).source;
    let input = format!("(^|[^A-Za-z0-9._-]){skill}($|[^A-Za-z0-9._-])");
    let mut front_matter =
        format!("type: tool_used\ntool: Skill\ninput_match: {}\n", quoted(&input));
    if !expected {
        front_matter.push_str("min: 0\nmax: 0\narm: both\n");
    }
    document(&front_matter, "")
}

fn grader(assertion: &Assertion) -> Result<String, String> {
    Ok(match assertion {
        Assertion::Contains { value, path } => {
            regex(&javascript::literal(value), "contains", path.as_deref())
        }
        Assertion::NotContains { value, path } => {
            regex(&javascript::literal(value), "not_contains", path.as_deref())
        }
        Assertion::Regex { value, path } => {
            let pattern = javascript::translate(value).map_err(|reason| {
                format!(
                    "the pattern `{value}` cannot be said in JavaScript, which `claude plugin eval` \
                     matches with: {reason}"
                )
            })?;
            regex(&pattern, "contains", path.as_deref())
        }
        Assertion::FileExists { path, exists } => {
            document(&format!("type: file_exists\npath: {}\nexists: {exists}\n", quoted(path)), "")
        }
        Assertion::CommandExit { .. } => {
            return Err(
                "`claude plugin eval` cannot run the command of a `command_exit` assertion"
                    .to_owned(),
            );
        }
    })
}

fn regex(pattern: &Pattern, mode: &str, path: Option<&str>) -> String {
    let mut front_matter = format!("type: regex\nmatch: {mode}\n");
    if !pattern.flags.is_empty() {
        let _ = writeln!(front_matter, "flags: {}", pattern.flags);
    }
    if let Some(path) = path {
        let _ = writeln!(front_matter, "target: {{source: file, path: {}}}", quoted(path));
    }
    document(&front_matter, &pattern.source)
}
