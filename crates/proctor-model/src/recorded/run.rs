//! The fixture-run envelope: one recorded run of a memory system beside the fixture it was given.
//!
//! These are views into a [`Json`] value, so that reading a run copies none of its text.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};

use super::report::{CheckName, Verdict};
use crate::json::{Json, Number};

/// The key under which a fixture says what its run is meant to score, for the self-test.
pub const INTENDED_VERDICT: &str = "intendedVerdict";

/// The most values that `mustContain` or `mustNotContain` may list.
pub const MAX_NEEDLES: usize = 10_000;

/// A fixture together with what a system under test answered.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields, title = "fixture-run v1")]
pub struct FixtureRun<'a> {
    /// The schema of the file, for editors. Ignored.
    #[schemars(default, rename = "$schema", with = "String")]
    pub schema: Option<&'a str>,
    /// The version of the contract.
    pub contract_version: ContractVersion,
    /// The scenario and what is expected of an answer.
    pub fixture: Fixture<'a>,
    /// What the system answered. Left out, every check is `unknown`.
    #[schemars(default, with = "Actual")]
    pub actual: Option<Actual<'a>>,
}

/// The version of the contract; there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum ContractVersion {
    /// Version 1, written as a string.
    #[default]
    #[serde(rename = "1")]
    V1,
}

impl ContractVersion {
    /// The version as files write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "1",
        }
    }
}

/// The scenario and what is expected of an answer. Keys that are not listed are kept and ignored.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Fixture<'a> {
    /// Names the fixture; not blank.
    #[schemars(regex(pattern = r"\S"))]
    pub id: &'a str,
    /// The memory failure that the fixture is about.
    pub category: Category,
    /// The place of the fixture in the matrix.
    pub kind: Kind,
    /// What the system was asked. Echoed in the report, never scored.
    #[schemars(default, with = "Json")]
    pub query: Option<&'a Json<'a>>,
    /// What the system was told before. Echoed in the report, never scored.
    #[schemars(default, with = "Json")]
    pub memory: Option<&'a Json<'a>>,
    /// The checks. Without any the run is `unknown`.
    pub expected: Expected<'a>,
    /// What the self-test expects of the run; left out, it follows from `kind`. Never scored.
    #[schemars(default, with = "Json")]
    pub intended_verdict: Option<Verdict>,
}

/// The memory failure that a fixture is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Category {
    /// A replaced or withdrawn fact must stop showing.
    Forgetting,
    /// Events come back in the order in which they happened.
    Chronology,
    /// A fact is credited to the wrong person or thing.
    EntityConfusion,
}

impl Category {
    /// Every category, in the order of reports.
    pub const ALL: [Self; 3] = [Self::Forgetting, Self::Chronology, Self::EntityConfusion];

    /// The name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forgetting => "forgetting",
            Self::Chronology => "chronology",
            Self::EntityConfusion => "entity-confusion",
        }
    }
}

/// The place of a fixture in the matrix.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Kind {
    /// The system behaves as the fixture asks.
    Positive,
    /// The system misbehaves as the fixture foresees.
    Negative,
    /// The envelope breaks the contract.
    Malformed,
    /// A field that a check needs is absent.
    MissingData,
    /// The question or the memory is built to tempt a wrong answer.
    Adversarial,
}

impl Kind {
    /// Every kind, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::Positive, Self::Negative, Self::Malformed, Self::MissingData, Self::Adversarial];

    /// The name in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Positive => "positive",
            Self::Negative => "negative",
            Self::Malformed => "malformed",
            Self::MissingData => "missing-data",
            Self::Adversarial => "adversarial",
        }
    }

    /// What a run of this kind scores when the evaluator works and the fixture says nothing else.
    pub fn intended_verdict(self) -> Verdict {
        match self {
            Self::Positive => Verdict::Pass,
            Self::Negative | Self::Adversarial => Verdict::Fail,
            Self::Malformed => Verdict::Error,
            Self::MissingData => Verdict::Unknown,
        }
    }
}

/// The checks of a fixture. An unknown name breaks the contract.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expected<'a> {
    /// The answer is this value, but for case and white space.
    #[schemars(default, with = "Scalar")]
    pub answer_equals: Option<Scalar<'a>>,
    /// The answer contains each of these values.
    #[schemars(default, with = "Needles")]
    pub must_contain: Option<&'a [Json<'a>]>,
    /// The answer contains none of these values.
    #[schemars(default, with = "Needles")]
    pub must_not_contain: Option<&'a [Json<'a>]>,
    /// `actual.order` equals this list.
    #[schemars(default, with = "Vec<Json>")]
    pub order: Option<&'a [Json<'a>]>,
    /// `actual.entity` is this name, but for case and white space.
    #[schemars(default, with = "String", regex(pattern = r"\S"))]
    pub attributed_to: Option<&'a str>,
}

impl Expected<'_> {
    /// The names of the checks that are declared, in the order of reports.
    pub fn declared(&self) -> impl Iterator<Item = CheckName> {
        let declared = [
            self.answer_equals.is_some(),
            self.must_contain.is_some(),
            self.must_not_contain.is_some(),
            self.order.is_some(),
            self.attributed_to.is_some(),
        ];
        CheckName::ALL
            .into_iter()
            .zip(declared)
            .filter(|(_, declared)| *declared)
            .map(|(name, _)| name)
    }
}

/// What a system answered. Keys that are not listed are kept and ignored.
#[derive(Debug, Clone, Copy, Default, PartialEq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub struct Actual<'a> {
    /// The answer.
    #[schemars(default, with = "Scalar")]
    pub answer: Option<Scalar<'a>>,
    /// Things in the order in which the system gave them.
    #[schemars(default, with = "Vec<Json>")]
    pub order: Option<&'a [Json<'a>]>,
    /// Whom or what the answer is about.
    #[schemars(default, with = "String")]
    pub entity: Option<&'a str>,
    /// Whether the answer was cut off; then a value that is missing from it proves nothing.
    #[schemars(default)]
    pub truncated: bool,
}

/// A string, number or boolean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar<'a> {
    /// A string.
    String(&'a str),
    /// A number, as it was written.
    Number(&'a Number<'a>),
    /// A boolean.
    Bool(bool),
}

impl<'a> Scalar<'a> {
    /// The value as a scalar, unless it is null, a list or an object.
    pub fn of(value: &'a Json<'a>) -> Option<Self> {
        match value {
            Json::String(text) => Some(Self::String(text)),
            Json::Number(number) => Some(Self::Number(number)),
            Json::Bool(value) => Some(Self::Bool(*value)),
            Json::Null | Json::Array(_) | Json::Object(_) => None,
        }
    }

    /// The text that is compared: strings as they are, `true` and `false`, numbers as ECMAScript
    /// writes them.
    pub fn text(self) -> Cow<'a, str> {
        match self {
            Self::String(text) => Cow::Borrowed(text),
            Self::Number(number) => number.text(),
            Self::Bool(true) => Cow::Borrowed("true"),
            Self::Bool(false) => Cow::Borrowed("false"),
        }
    }
}

/// A place in a run that breaks the contract.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// JSON pointer (RFC 6901) to the value; empty for the whole document.
    pub pointer: String,
    /// What is wrong, what was expected, and what to do.
    pub message: String,
}

impl Violation {
    /// A violation at a pointer.
    pub fn new(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), message: message.into() }
    }
}

/// `pointer: message`; the whole document has no pointer.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.message)
    }
}

/// Writes numbers as they were read.
impl Serialize for Scalar<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::String(text) => serializer.serialize_str(text),
            Self::Number(number) => number.serialize(serializer),
            Self::Bool(value) => serializer.serialize_bool(*value),
        }
    }
}

impl JsonSchema for Scalar<'_> {
    fn schema_name() -> Cow<'static, str> {
        "scalar".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// The values of `mustContain` and `mustNotContain`, in a schema.
struct Needles;

impl JsonSchema for Needles {
    fn schema_name() -> Cow<'static, str> {
        "needles".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "maxItems": MAX_NEEDLES,
            "items": {
                "anyOf": [
                    { "type": "string", "pattern": r"\S" },
                    { "type": ["number", "boolean"] }
                ]
            }
        })
    }
}
