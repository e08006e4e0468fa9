//! What `proctor experiment validate` finds.

use std::fmt;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! rules {
    ($($level:ident $variant:ident $code:literal $description:literal,)*) => {
        /// A rule. Its code never changes.
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
        )]
        pub enum Rule {
            $(
                #[doc = $description]
                #[serde(rename = $code)]
                $variant,
            )*
        }

        impl Rule {
            /// Every rule: errors first.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code.
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code,)* }
            }

            /// What it finds, as one sentence fragment.
            pub fn description(self) -> &'static str {
                match self { $(Self::$variant => $description,)* }
            }

            /// How bad its findings are.
            pub fn level(self) -> Level {
                match self { $(Self::$variant => Level::$level,)* }
            }
        }
    };
}

rules! {
    Error Yaml "yaml" "the file cannot be read, or is not one YAML document",
    Error Version "version" "a `schema_version` other than 2; version 1 is converted by `migrate`",
    Error Shape "shape" "an unknown key, a missing one, a value of the wrong type or range",
    Error Name "name" "a name or id that breaks the rule of its kind",
    Error Empty "empty" "an empty text where one is needed",
    Error DuplicateName "duplicate-name" "two things of one kind with the same name",
    Error Reference "reference" "a value that begins with `axp://` and is no `axp://secrets/<slug>`",
    Error Dest "dest" "a destination that is no place below the workspace",
    Error DestCollision "dest-collision" "two files that would lie at the same place",
    Error Mcp "mcp" "members of an MCP server that do not belong to its type",
    Error UndeclaredVariable "undeclared-variable" "an MCP server takes a variable that its variant does not declare",
    Error IncompleteVariant "incomplete-variant" "a part of the matrix without agents or without prompts",
    Error NoVariants "no-variants" "no variant is left",
    Error DuplicateVariant "duplicate-variant" "two variants with the same id",
    Error TooLarge "too-large" "more variants or files than anybody can run",
    Error MissingSource "missing-source" "a source, skill or script that is not there or cannot be read",
    Error Pin "pin" "a source whose content is not that of its `sha256`",
    Error UnboundSlot "unbound-slot" "a slot that no `--file` binds",
    Error MissingValue "missing-value" "a secret that no place has",
    Error AnswerLeaked "answer-leaked" "the content of a test's answer file also lies where the agent sees it",
    Error GateCannotPass "gate-cannot-pass" "a gate that the experiment states and so many trials cannot pass",
    Note FileName "file-name" "the id is not the file's name",
    Note ProductType "product-type" "a product type that is none of CLI, SDK, MCP, Skill, Docs, API",
    Note CompleteTemplate "complete-template" "a complete matrix that gives no variants because it has extensions",
    Note PairNeverRuns "pair-never-runs" "an agent or a model that no variant keeps, because no pair fits",
    Note ModelTwice "model-twice" "an agent with a model of its own beside a list of models",
    Note UnknownAgent "unknown-agent" "an agent that Proctor has no adapter for",
    Note ProctorOnly "proctor-only" "a key that only Proctor knows; other tools refuse the file",
    Note SkillFile "skill-file" "a skill folder without SKILL.md, which no agent takes for a skill",
    Note ReservedVariable "reserved-variable" "a variable whose name belongs to the run",
    Note PlanMode "plan-mode" "an agent that may not write, beside tests that read what it wrote",
    Note VisibleAnswer "visible-answer" "a file by whose name an answer, a grader or a test lies where the agent sees it",
    Note AnswerInView "answer-in-view" "the content of a test's file also lies where the agent sees it",
    Note ListedNotUsed "listed-not-used" "a test takes the mention of a skill or tool for its use",
    Note TraceRead "trace-read" "a test reads the trace file, which is not staged",
    Note MissingEvidencePasses "missing-evidence-passes" "a test passes when its evidence is missing",
    Note TextColumn "text-column" "a query asks `events` for a column that it does not have",
    Note RowLimit "row-limit" "a query that is cut after 100 rows",
    Note OneAgentEvidence "one-agent-evidence" "a test reads a field that one agent alone writes",
    Note VacuousTest "vacuous-test" "a test that always gives the same answer",
    Note UnreachableGate "unreachable-gate" "a gate that so few trials cannot pass",
    Note TestTimeout "test-timeout" "a test that may need longer than a test is given",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// How bad a finding is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The file cannot be run.
    Error,
    /// It can be run, and may not measure what its author means.
    Note,
}

impl Level {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Note => "note",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One finding. Findings are ordered by file and place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The file, as the user named it.
    #[schemars(with = "String")]
    pub file: Utf8PathBuf,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// How bad it is.
    pub severity: Level,
    /// The rule.
    pub code: Rule,
    /// What was found, and what to do.
    pub message: String,
}

/// `<file>:<line>:<column>: <error|note> <code>: <message>`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, severity, code, message } = self;
        write!(f, "{file}:{line}:{column}: {severity} {code}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_words_and_unique() {
        let mut codes: Vec<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
        for rule in Rule::ALL {
            assert!(rule.code().bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{rule}");
            assert_eq!(serde_json::to_string(rule).unwrap(), format!("\"{rule}\""));
        }
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Rule::ALL.len());
    }
}
