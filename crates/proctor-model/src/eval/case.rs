//! Cases after validation. Wrong states cannot be written down here: parsing and every rule live
//! in `proctor-formats`.

use std::borrow::Cow;
use std::fmt::Write as _;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Location;
use crate::json::number_text;

/// The version of the case file format.
pub const CASE_SCHEMA_VERSION: i64 = 1;

/// The score that a rubric must reach when the case does not say.
pub const DEFAULT_RUBRIC_MIN_SCORE: f64 = 0.7;

/// The tag of cases that come from a near-miss prompt.
pub const NEAR_MISS_TAG: &str = "near-miss";

/// Where a case was written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file, relative to the project root where it lies below it.
    pub file: Utf8PathBuf,
    /// Where the case starts in it.
    pub location: Location,
}

/// One authored case, with its prompt file and its fixtures read.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique among the cases of its skill.
    pub id: String,
    /// One line for people.
    pub description: Option<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// Whether the skill should fire.
    pub expect_trigger: bool,
    /// Prompts that look alike and must not fire the skill; empty when none may be written.
    pub near_miss: Vec<String>,
    /// Files that lie in the working directory before the run.
    pub files: Vec<FixtureFile>,
    /// What must hold afterwards.
    pub assertions: Vec<Assertion>,
    /// What a grader model judges.
    pub rubric: Option<Rubric>,
    /// The model for this case alone.
    pub model: Option<String>,
    /// Words to select by.
    pub tags: Vec<String>,
    /// Where it was written.
    pub place: Place,
}

/// A case as it is run: authored, or derived from a near-miss prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpandedCase {
    /// Unique among the expanded cases of its skill.
    pub id: String,
    /// One line for people.
    pub description: Option<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// Whether the skill should fire.
    pub expect_trigger: bool,
    /// Files that lie in the working directory before the run.
    pub files: Vec<FixtureFile>,
    /// What must hold afterwards.
    pub assertions: Vec<Assertion>,
    /// What a grader model judges.
    pub rubric: Option<Rubric>,
    /// The model for this case alone.
    pub model: Option<String>,
    /// Words to select by.
    pub tags: Vec<String>,
    /// The case that the near-miss prompt belongs to.
    pub near_miss_of: Option<String>,
    /// Where it, or the case that it was derived from, was written.
    pub place: Place,
}

impl ExpandedCase {
    /// Whether nothing but the firing of the skill is measured.
    pub fn is_trigger_only(&self) -> bool {
        self.assertions.is_empty() && self.rubric.is_none()
    }
}

/// A file that the runner creates in the working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureFile {
    /// Relative to the working directory and inside it.
    pub path: String,
    /// What it holds; not always text.
    pub content: Vec<u8>,
}

/// One deterministic check on a run, as it stands in case files and in the runner protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Assertion {
    /// The answer contains a text, letter case counts.
    Contains {
        /// The text.
        value: String,
        /// The file in the working directory that is looked at instead of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// The answer does not contain a text, letter case counts.
    NotContains {
        /// The text.
        value: String,
        /// The file in the working directory that is looked at instead of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// A pattern matches somewhere in the answer.
    Regex {
        /// The pattern, in the syntax of RE2.
        value: String,
        /// The file in the working directory that is looked at instead of the answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// A file is there, or is not.
    FileExists {
        /// The file, relative to the working directory.
        path: String,
        /// Whether it must be there; left out when it must.
        #[serde(skip_serializing_if = "is_true")]
        exists: bool,
    },
    /// A shell command in the working directory exits with a code.
    CommandExit {
        /// The command.
        command: String,
        /// The code; left out when it is 0.
        #[serde(skip_serializing_if = "super::is_default")]
        exit_code: i32,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_true(value: &bool) -> bool {
    *value
}

impl Assertion {
    /// The word for `type` in files and reports.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Contains { .. } => "contains",
            Self::NotContains { .. } => "not_contains",
            Self::Regex { .. } => "regex",
            Self::FileExists { .. } => "file_exists",
            Self::CommandExit { .. } => "command_exit",
        }
    }

    /// The file that it looks at; `None` for the answer and for commands.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Contains { path, .. }
            | Self::NotContains { path, .. }
            | Self::Regex { path, .. } => path.as_deref(),
            Self::FileExists { path, .. } => Some(path),
            Self::CommandExit { .. } => None,
        }
    }
}

/// What a grader model judges an answer by.
#[derive(Debug, Clone, PartialEq)]
pub struct Rubric {
    /// The criteria.
    pub criteria: Criteria,
    /// The score, 0 to 1, from which the answer passes; `None` when the case does not say.
    pub min_score: Option<f64>,
}

/// The criteria of a rubric.
#[derive(Debug, Clone, PartialEq)]
pub enum Criteria {
    /// Free text.
    Text(String),
    /// A weighted checklist.
    Items(Vec<RubricItem>),
}

/// One criterion of a checklist.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RubricItem {
    /// The criterion as the grader reads it.
    pub text: String,
    /// Its share of the score, above 0; `None` counts 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
}

impl RubricItem {
    /// Its share of the score.
    pub fn effective_weight(&self) -> f64 {
        self.weight.unwrap_or(1.0)
    }
}

impl Rubric {
    /// The score, 0 to 1, from which an answer passes.
    pub fn pass_mark(&self) -> f64 {
        self.min_score.unwrap_or(DEFAULT_RUBRIC_MIN_SCORE)
    }

    /// The criteria as one text, which is all that a grader needs.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.criteria {
            Criteria::Text(text) => Cow::Borrowed(text),
            Criteria::Items(items) => Cow::Owned(checklist(items)),
        }
    }

    /// The checklist, when it is one.
    pub fn items(&self) -> Option<&[RubricItem]> {
        match &self.criteria {
            Criteria::Text(_) => None,
            Criteria::Items(items) => Some(items),
        }
    }
}

/// A checklist as text: how to score, then one line a criterion. Weights stand as the shortest
/// decimals without an exponent.
fn checklist(items: &[RubricItem]) -> String {
    let total: f64 = items.iter().map(RubricItem::effective_weight).sum();
    let mut text = format!(
        "Score the answer against this weighted checklist (total weight {}). The score is the sum \
         of the weights of the satisfied items divided by the total weight, from 0 to 1.",
        plain_decimal(total)
    );
    for (index, item) in items.iter().enumerate() {
        let weight = plain_decimal(item.effective_weight());
        // Writing to a string cannot fail.
        let _ = write!(text, "\n{}. (weight {weight}) {}", index + 1, item.text.trim());
    }
    text
}

fn plain_decimal(value: f64) -> String {
    let text = number_text(value);
    // Rust's plain formatting is exact and shortest too, and never uses an exponent.
    if text.contains('e') { format!("{value}") } else { text }
}

/// The cases as they are run: each one, then its near misses, which inherit model, tags and place.
pub fn expand(cases: &[Case]) -> Vec<ExpandedCase> {
    let mut expanded = Vec::with_capacity(cases.iter().map(|case| 1 + case.near_miss.len()).sum());
    for case in cases {
        expanded.push(ExpandedCase {
            id: case.id.clone(),
            description: case.description.clone(),
            prompt: case.prompt.clone(),
            expect_trigger: case.expect_trigger,
            files: case.files.clone(),
            assertions: case.assertions.clone(),
            rubric: case.rubric.clone(),
            model: case.model.clone(),
            tags: case.tags.clone(),
            near_miss_of: None,
            place: case.place.clone(),
        });
        expanded.extend(case.near_miss.iter().enumerate().map(|(index, prompt)| {
            let mut tags = case.tags.clone();
            if !tags.iter().any(|tag| tag == NEAR_MISS_TAG) {
                tags.push(NEAR_MISS_TAG.to_owned());
            }
            ExpandedCase {
                id: near_miss_id(&case.id, index),
                description: None,
                prompt: prompt.clone(),
                expect_trigger: false,
                files: Vec::new(),
                assertions: Vec::new(),
                rubric: None,
                model: case.model.clone(),
                tags,
                near_miss_of: Some(case.id.clone()),
                place: case.place.clone(),
            }
        }));
    }
    expanded
}

/// The id of the case that the near-miss prompt at `index`, from 0, becomes.
pub fn near_miss_id(case: &str, index: usize) -> String {
    format!("{case}.near-miss-{}", index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(id: &str) -> Case {
        Case {
            id: id.to_owned(),
            description: Some("d".to_owned()),
            prompt: "Deploy".to_owned(),
            expect_trigger: true,
            near_miss: Vec::new(),
            files: Vec::new(),
            assertions: Vec::new(),
            rubric: None,
            model: None,
            tags: Vec::new(),
            place: Place { file: "a.eval.yaml".into(), location: Location { line: 3, column: 5 } },
        }
    }

    #[test]
    fn near_misses_follow_their_case_and_carry_nothing_but_the_prompt() {
        let first = Case {
            near_miss: vec!["Explain".to_owned(), "Roll back".to_owned()],
            model: Some("haiku".to_owned()),
            tags: vec!["smoke".to_owned()],
            files: vec![FixtureFile { path: "a".to_owned(), content: Vec::new() }],
            ..case("a")
        };
        let tagged = Case {
            near_miss: vec!["x".to_owned()],
            tags: vec![NEAR_MISS_TAG.to_owned()],
            ..case("b")
        };
        let expanded = expand(&[first, tagged]);
        let ids: Vec<&str> = expanded.iter().map(|case| case.id.as_str()).collect();
        assert_eq!(ids, ["a", "a.near-miss-1", "a.near-miss-2", "b", "b.near-miss-1"]);
        let derived = &expanded[2];
        assert_eq!(derived.prompt, "Roll back");
        assert!(!derived.expect_trigger && derived.files.is_empty());
        assert_eq!(derived.tags, ["smoke", "near-miss"]);
        assert_eq!(derived.model.as_deref(), Some("haiku"));
        assert_eq!(derived.near_miss_of.as_deref(), Some("a"));
        assert_eq!(derived.place.location.line, 3);
        assert_eq!(expanded[4].tags, ["near-miss"]);
        assert!(derived.is_trigger_only());
    }

    #[test]
    fn a_checklist_is_one_text() {
        let item = |text: &str, weight| RubricItem { text: text.to_owned(), weight };
        let items = vec![
            item(" Registers the route\n", Some(3.0)),
            item("Returns 200", Some(0.5)),
            item("No new dependency", None),
        ];
        let rubric = Rubric { criteria: Criteria::Items(items), min_score: None };
        assert_eq!(
            rubric.text(),
            "Score the answer against this weighted checklist (total weight 4.5). The score is \
             the sum of the weights of the satisfied items divided by the total weight, from 0 \
             to 1.\n1. (weight 3) Registers the route\n2. (weight 0.5) Returns 200\n3. (weight 1) \
             No new dependency"
        );
        assert!((rubric.pass_mark() - 0.7).abs() < f64::EPSILON);
        assert_eq!(plain_decimal(1e21), "1000000000000000000000");
        assert_eq!(plain_decimal(1e-7), "0.0000001");
    }

    #[test]
    fn assertions_are_written_without_what_goes_without_saying() {
        let json = |assertion| serde_json::to_string(&assertion).unwrap();
        let contains = Assertion::Contains { value: "x".to_owned(), path: None };
        assert_eq!(json(contains), r#"{"type":"contains","value":"x"}"#);
        let exists = |exists| Assertion::FileExists { path: "a".to_owned(), exists };
        assert_eq!(json(exists(true)), r#"{"type":"file_exists","path":"a"}"#);
        assert_eq!(json(exists(false)), r#"{"type":"file_exists","path":"a","exists":false}"#);
        let command = |exit_code| Assertion::CommandExit { command: "true".to_owned(), exit_code };
        assert_eq!(json(command(0)), r#"{"type":"command_exit","command":"true"}"#);
        assert_eq!(json(command(3)), r#"{"type":"command_exit","command":"true","exit_code":3}"#);
    }
}
