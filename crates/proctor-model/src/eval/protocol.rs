//! Version 1 of the protocol between `proctor eval run` and a runner: one request in, one response
//! out. Only the shapes; who checks a response against its request is the runner's crate.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use super::case::{Assertion, ExpandedCase, RubricItem};
use super::is_default;

/// The version that both sides must name.
pub const PROTOCOL_VERSION: i64 = 1;

/// The key of runs in which no skill loaded, in [`CaseResult::fired_counts`].
pub const NONE_FIRED: &str = "none";

/// What a runner is asked to do.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Request {
    /// [`PROTOCOL_VERSION`].
    pub version: i64,
    /// What is asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub mode: Mode,
    /// Of activation only: `native`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface: Option<String>,
    /// The skill under test; empty when only capabilities are asked for.
    pub skill: SkillRef,
    /// Of activation only: every skill that is installed, the one under test included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<SkillRef>,
    /// The harness.
    pub harness: String,
    /// The model; absent leaves it to the harness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Repetitions of each case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// Model turns of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u64>,
    /// Whether each case is to be run without the skill too.
    pub ablation: bool,
    /// US dollars that are left; absent means no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// The cases, with everything that they need.
    pub cases: Vec<RequestCase>,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// To run cases; the field is then absent and the variable empty.
    #[default]
    Cases,
    /// To say which skills load.
    Activation,
    /// To say what the runner can do.
    Capabilities,
}

impl Mode {
    /// The value of `AI_RULEZ_EVAL_MODE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cases => "",
            Self::Activation => "activation",
            Self::Capabilities => "capabilities",
        }
    }
}

/// A skill as a runner is told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SkillRef {
    /// The id.
    pub id: String,
    /// Its folder, absolute. Its `evals` folder is no part of the skill that a harness loads.
    pub dir: String,
    /// Its digest.
    pub digest: String,
    /// Of activation only: what its front matter says it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A case as a runner is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestCase {
    /// The id.
    pub id: String,
    /// One line for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What the agent is asked.
    pub prompt: String,
    /// Whether the skill should fire.
    pub expect_trigger: bool,
    /// Files to create first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<RequestFile>,
    /// What must hold afterwards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assertions: Vec<Assertion>,
    /// The rubric; a checklist stands here as text too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric: Option<String>,
    /// The checklist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric_items: Option<Vec<RubricItem>>,
    /// The score from which the answer passes, as the case says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric_min_score: Option<f64>,
    /// The model for this case alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Words to select by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The case that the near-miss prompt belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near_miss_of: Option<String>,
    /// Of activation only: the skill under test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Of activation only: repetitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
}

/// A file that the runner creates in the working directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RequestFile {
    /// Relative to the working directory and inside it.
    pub path: String,
    /// What it holds; absent for an empty file. JSON carries text only: bytes that are not UTF-8
    /// are replaced.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content: String,
}

impl From<&ExpandedCase> for RequestCase {
    fn from(case: &ExpandedCase) -> Self {
        let rubric = case.rubric.as_ref();
        Self {
            id: case.id.clone(),
            description: case.description.clone(),
            prompt: case.prompt.clone(),
            expect_trigger: case.expect_trigger,
            files: case
                .files
                .iter()
                .map(|file| RequestFile {
                    path: file.path.clone(),
                    content: String::from_utf8_lossy(&file.content).into_owned(),
                })
                .collect(),
            assertions: case.assertions.clone(),
            rubric: rubric.map(|rubric| rubric.text().into_owned()),
            rubric_items: rubric.and_then(|rubric| rubric.items()).map(<[RubricItem]>::to_vec),
            rubric_min_score: rubric.and_then(|rubric| rubric.min_score),
            model: case.model.clone(),
            tags: case.tags.clone(),
            near_miss_of: case.near_miss_of.clone(),
            target: None,
            runs: None,
        }
    }
}

/// What a runner answers. Unknown fields are ignored; nothing here has been checked.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Response {
    /// Must be [`PROTOCOL_VERSION`].
    pub version: i64,
    /// What happened, one entry a case and arm.
    #[serde(deserialize_with = "null_as_default")]
    pub results: Vec<CaseResult>,
    /// US dollars for everything, when the runner knows no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What the runner can do.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
    /// On which surfaces it can measure activation.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub surfaces: Vec<String>,
}

/// Go writes an empty list as `null`.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// What happened to one case in one arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CaseResult {
    /// The case.
    pub case: String,
    /// `with` or `without` the skill; see [`Arm`].
    pub arm: String,
    /// Whether the skill fired; required with the skill.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub triggered: Option<bool>,
    /// The runner's own verdict on the outcome, which wins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The final answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The folder in which the case ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work_dir: Option<String>,
    /// The grade of the rubric, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric_score: Option<f64>,
    /// The reason for the grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rubric_rationale: Option<String>,
    /// Tokens in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<i64>,
    /// Tokens out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<i64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Of activation: runs in which each skill loaded, and [`NONE_FIRED`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fired_counts: Option<BTreeMap<String, i64>>,
    /// Of activation: repetitions that are usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<i64>,
    /// Of activation: repetitions that failed, not counted in `runs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errored_runs: Option<i64>,
    /// Whether the runner cannot run the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<bool>,
    /// Why not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why there is no result; empty counts as absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CaseResult {
    /// Whether the runner cannot run the case.
    pub fn is_skipped(&self) -> bool {
        self.skipped == Some(true)
    }

    /// Why there is no result.
    pub fn failure(&self) -> Option<&str> {
        self.error.as_deref().filter(|error| !error.is_empty())
    }
}

/// With the skill, or without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arm {
    /// The skill is installed.
    With,
    /// It is not.
    Without,
}

impl Arm {
    /// The word in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::With => "with",
            Self::Without => "without",
        }
    }

    /// The arm that the protocol calls `word`.
    pub fn named(word: &str) -> Option<Self> {
        [Self::With, Self::Without].into_iter().find(|arm| arm.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::super::case::{Criteria, FixtureFile, Place, Rubric};
    use super::*;
    use crate::Location;
    use crate::json::go;

    #[test]
    fn a_request_holds_what_a_runner_needs_and_nothing_empty() {
        let case = ExpandedCase {
            id: "deploy-basic".to_owned(),
            description: None,
            prompt: "Deploy <it>".to_owned(),
            expect_trigger: true,
            files: vec![
                FixtureFile { path: "a".to_owned(), content: b"x".to_vec() },
                FixtureFile { path: "b".to_owned(), content: Vec::new() },
            ],
            assertions: vec![Assertion::Contains { value: "eu".to_owned(), path: None }],
            rubric: Some(Rubric {
                criteria: Criteria::Items(vec![RubricItem {
                    text: "t".to_owned(),
                    weight: Some(2.0),
                }]),
                min_score: Some(0.5),
            }),
            model: None,
            tags: vec!["smoke".to_owned()],
            near_miss_of: None,
            place: Place { file: "f".into(), location: Location { line: 1, column: 1 } },
        };
        let request = Request {
            version: PROTOCOL_VERSION,
            mode: Mode::Cases,
            surface: None,
            skill: SkillRef {
                id: "s".to_owned(),
                dir: "/p".to_owned(),
                digest: "sha256:a".to_owned(),
                description: None,
            },
            skills: Vec::new(),
            harness: "codex".to_owned(),
            model: None,
            runs: None,
            max_turns: None,
            ablation: false,
            max_cost_usd: Some(2.5),
            cases: vec![(&case).into()],
        };
        assert_eq!(
            go::compact(&request).unwrap(),
            concat!(
                r#"{"version":1,"skill":{"id":"s","dir":"/p","digest":"sha256:a"},"#,
                r#""harness":"codex","ablation":false,"max_cost_usd":2.5,"cases":[{"#,
                r#""id":"deploy-basic","prompt":"Deploy \u003cit\u003e","expect_trigger":true,"#,
                r#""files":[{"path":"a","content":"x"},{"path":"b"}],"#,
                r#""assertions":[{"type":"contains","value":"eu"}],"#,
                r#""rubric":"Score the answer against this weighted checklist (total weight 2). "#,
                r#"The score is the sum of the weights of the satisfied items divided by the total "#,
                r#"weight, from 0 to 1.\n1. (weight 2) t","rubric_items":[{"text":"t","weight":2}],"#,
                r#""rubric_min_score":0.5,"tags":["smoke"]}]}"#,
            )
        );
    }

    #[test]
    fn a_response_may_leave_out_and_add_what_it_likes() {
        let response: Response = serde_json::from_str(
            r#"{"version": 1, "results": [
                {"case": "a", "arm": "with", "triggered": true, "fired": ["x"], "error": ""}
            ], "later": {}}"#,
        )
        .unwrap();
        assert_eq!(response.results[0].triggered, Some(true));
        assert_eq!(response.results[0].failure(), None);
        assert!(!response.results[0].is_skipped());
        assert_eq!(Arm::named("without"), Some(Arm::Without));
        assert_eq!(Arm::named("With"), None);
        assert_eq!(serde_json::from_str::<Response>("{}").unwrap(), Response::default());
        assert!(serde_json::from_str::<Response>(r#"{"cost_usd": 1e999}"#).is_err());
    }

    #[test]
    fn capabilities_are_asked_for_without_a_skill() {
        let request = Request {
            version: 1,
            mode: Mode::Capabilities,
            surface: None,
            skill: SkillRef::default(),
            skills: Vec::new(),
            harness: "claude".to_owned(),
            model: None,
            runs: None,
            max_turns: None,
            ablation: false,
            max_cost_usd: None,
            cases: Vec::new(),
        };
        let text = go::compact(&request).unwrap();
        assert!(text.starts_with(r#"{"version":1,"mode":"capabilities","skill":{"id":"""#));
        assert_eq!(Mode::Capabilities.as_str(), "capabilities");
    }
}
