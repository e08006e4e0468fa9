//! Cases before they have an id and a place.

use proctor_model::Digest;
use proctor_model::eval::{Assertion, Rubric};

use super::report::ScenarioReport;
use super::rubric::Criterion;

/// A scenario after mapping.
#[derive(Debug)]
pub(super) struct Draft {
    /// What became of the input; the name and the source are set, what is written is not.
    pub(super) report: ScenarioReport,
    /// At least one.
    pub(super) cases: Vec<NewCase>,
    /// Where the cases go, when the importer knows.
    pub(super) file: Option<CaseFile>,
}

/// Where the cases of a draft go.
#[derive(Debug)]
pub(super) struct CaseFile {
    /// The skill that they are about, which is the folder of the file.
    pub(super) skill: Option<String>,
    /// The name of the file without its ending; a number is added when it is taken.
    pub(super) stem: String,
}

impl Draft {
    /// No cases yet; `digest` is that of the files that define the scenario.
    pub(super) fn new(source: &str, digest: Digest) -> Self {
        let report = ScenarioReport {
            source: source.to_owned(),
            source_sha256: format!("sha256:{digest}"),
            ..ScenarioReport::default()
        };
        Self { report, cases: Vec::new(), file: None }
    }
}

/// A case after mapping.
#[derive(Debug)]
pub(super) struct NewCase {
    /// What the id is made of.
    pub(super) name: String,
    /// Unique in the import; empty until it is given.
    pub(super) id: String,
    pub(super) description: Option<String>,
    pub(super) prompt: NewPrompt,
    pub(super) expect_trigger: bool,
    pub(super) near_miss: Vec<String>,
    pub(super) files: Vec<NewFixture>,
    pub(super) assertions: Vec<NewAssertion>,
    /// The criteria that the rubric was made of, for lifting.
    pub(super) criteria: Vec<Criterion>,
    pub(super) rubric: Option<Rubric>,
    pub(super) model: Option<String>,
    pub(super) tags: Vec<String>,
}

impl NewCase {
    /// A case that says nothing but its prompt.
    pub(super) fn new(name: impl Into<String>, prompt: NewPrompt, source: &str) -> Self {
        Self {
            name: name.into(),
            id: String::new(),
            description: None,
            prompt,
            expect_trigger: true,
            near_miss: Vec::new(),
            files: Vec::new(),
            assertions: Vec::new(),
            criteria: Vec::new(),
            rubric: None,
            model: None,
            tags: vec![format!("imported:{source}")],
        }
    }
}

/// Where a prompt is written.
#[derive(Debug)]
pub(super) enum NewPrompt {
    /// In the case.
    Inline(String),
    /// In a file of its own.
    File(String),
}

impl NewPrompt {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Inline(text) | Self::File(text) => text,
        }
    }
}

/// A file that the case brings along.
#[derive(Debug)]
pub(super) struct NewFixture {
    /// Clean and relative.
    pub(super) path: String,
    pub(super) content: NewContent,
}

/// Where a fixture is written.
#[derive(Debug)]
pub(super) enum NewContent {
    /// In the case.
    Inline(String),
    /// In a file of its own.
    Copied(Vec<u8>),
}

/// An assertion, and the criterion that it was lifted from.
#[derive(Debug)]
pub(super) struct NewAssertion {
    pub(super) assertion: Assertion,
    pub(super) lifted_from: Option<String>,
}

impl From<Assertion> for NewAssertion {
    fn from(assertion: Assertion) -> Self {
        Self { assertion, lifted_from: None }
    }
}
