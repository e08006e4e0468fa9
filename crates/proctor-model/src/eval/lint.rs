//! What `proctor eval lint` finds: rules, severities, places.

use std::fmt;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Location;

/// A rule. Codes and names are those of ai-rulez, and never change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Rule {
    /// A skill without eval cases.
    #[serde(rename = "AR962")]
    EvalsMissing,
    /// A case file with a mistake.
    #[serde(rename = "AR996")]
    EvalCaseInvalid,
    /// A skill that changed after its last passing run.
    #[serde(rename = "AR997")]
    EvalStale,
    /// A pass rate below the mark.
    #[serde(rename = "AR998")]
    EvalScoreLow,
    /// A results file that cannot be read.
    #[serde(rename = "AR9A0")]
    EvalResultsInvalid,
    /// A recorded recall or precision below its mark.
    #[serde(rename = "AR9A1")]
    ActivationLow,
    /// A sibling that wins too many of a skill's prompts.
    #[serde(rename = "AR9A2")]
    SkillConfusable,
    /// Cases for a skill that may not fire by itself.
    #[serde(rename = "AR9A3")]
    ActivationPolicyConflict,
    /// A prompt that gives the skill's name away.
    #[serde(rename = "AR9A4")]
    ActivationPromptNamesSkill,
    /// Something in an imported scenario that has no place in a case.
    #[serde(rename = "AR9A5")]
    EvalImportUnmapped,
}

impl Rule {
    /// Every rule, by code.
    pub const ALL: [Self; 10] = [
        Self::EvalsMissing,
        Self::EvalCaseInvalid,
        Self::EvalStale,
        Self::EvalScoreLow,
        Self::EvalResultsInvalid,
        Self::ActivationLow,
        Self::SkillConfusable,
        Self::ActivationPolicyConflict,
        Self::ActivationPromptNamesSkill,
        Self::EvalImportUnmapped,
    ];

    /// The code.
    pub fn code(self) -> &'static str {
        match self {
            Self::EvalsMissing => "AR962",
            Self::EvalCaseInvalid => "AR996",
            Self::EvalStale => "AR997",
            Self::EvalScoreLow => "AR998",
            Self::EvalResultsInvalid => "AR9A0",
            Self::ActivationLow => "AR9A1",
            Self::SkillConfusable => "AR9A2",
            Self::ActivationPolicyConflict => "AR9A3",
            Self::ActivationPromptNamesSkill => "AR9A4",
            Self::EvalImportUnmapped => "AR9A5",
        }
    }

    /// The name for people, which settings accept in place of the code.
    pub fn name(self) -> &'static str {
        match self {
            Self::EvalsMissing => "evals-missing",
            Self::EvalCaseInvalid => "eval-case-invalid",
            Self::EvalStale => "eval-stale",
            Self::EvalScoreLow => "eval-score-low",
            Self::EvalResultsInvalid => "eval-results-invalid",
            Self::ActivationLow => "activation-low",
            Self::SkillConfusable => "skill-confusable",
            Self::ActivationPolicyConflict => "activation-policy-conflict",
            Self::ActivationPromptNamesSkill => "activation-prompt-names-skill",
            Self::EvalImportUnmapped => "eval-import-unmapped",
        }
    }

    /// What it looks for, as one sentence fragment.
    pub fn description(self) -> &'static str {
        match self {
            Self::EvalsMissing => "the skill has no eval cases",
            Self::EvalCaseInvalid => "a case file has a mistake, so none of its skill's cases runs",
            Self::EvalStale => "the skill changed after the last run that passed",
            Self::EvalScoreLow => "the recorded pass rate is below the mark",
            Self::EvalResultsInvalid => "the results file cannot be read",
            Self::ActivationLow => "the recorded recall or precision is below its mark",
            Self::SkillConfusable => "another skill wins too many of the skill's prompts",
            Self::ActivationPolicyConflict => {
                "the skill has cases that expect it to fire and is not allowed to fire by itself"
            }
            Self::ActivationPromptNamesSkill => "a prompt gives the skill's name away",
            Self::EvalImportUnmapped => {
                "something in an imported scenario has no place in a case file"
            }
        }
    }

    /// The severity when nothing is configured; `None` when it is then off.
    pub fn default_severity(self) -> Option<LintSeverity> {
        match self {
            Self::EvalCaseInvalid | Self::EvalResultsInvalid => Some(LintSeverity::Error),
            Self::ActivationPolicyConflict => Some(LintSeverity::Warning),
            Self::EvalImportUnmapped => Some(LintSeverity::Info),
            Self::EvalsMissing
            | Self::EvalStale
            | Self::EvalScoreLow
            | Self::ActivationLow
            | Self::SkillConfusable
            | Self::ActivationPromptNamesSkill => None,
        }
    }

    /// The rule with this code or name; letter case does not count.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| {
            rule.code().eq_ignore_ascii_case(word) || rule.name().eq_ignore_ascii_case(word)
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.code())
    }
}

/// How bad a finding is; greater is worse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LintSeverity {
    /// Good to know.
    Info,
    /// Should be looked at.
    Warning,
    /// Must be mended.
    Error,
}

impl LintSeverity {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LintSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One finding. Findings are ordered by file, place and code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The rule.
    pub code: Rule,
    /// The rule's name.
    pub name: String,
    /// How bad it is, by the settings.
    pub severity: LintSeverity,
    /// The file, relative to the project root where it lies below it.
    #[schemars(with = "String")]
    pub file: Utf8PathBuf,
    /// Where in the file.
    pub location: Location,
    /// The skill that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill: Option<String>,
    /// What was found.
    pub message: String,
    /// What to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// `file:line:column: severity CODE name: message (hint: ...)`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, name, severity, file, location: Location { line, column }, .. } = self;
        write!(f, "{file}:{line}:{column}: {severity} {code} {name}: {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " (hint: {hint})"),
            None => Ok(()),
        }
    }
}

/// The version of the lint report's shape.
pub const LINT_SCHEMA_VERSION: u32 = 1;

/// Everything that the rules find in a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LintReport {
    /// [`LINT_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// How many skills were looked at.
    pub skills: u64,
    /// How many findings are errors.
    pub errors: u64,
    /// How many are warnings.
    pub warnings: u64,
    /// How many are good to know.
    pub infos: u64,
    /// The severity from which a finding makes the check fail.
    pub fail_on: LintSeverity,
    /// Whether one does.
    pub failed: bool,
    /// The findings, by file, place and code.
    pub findings: Vec<Finding>,
}

impl LintReport {
    /// Counts the findings of so many skills.
    pub fn new(skills: u64, findings: Vec<Finding>, fail_on: LintSeverity) -> Self {
        let count = |severity| findings.iter().filter(|f| f.severity == severity).count() as u64;
        Self {
            schema_version: LINT_SCHEMA_VERSION,
            skills,
            errors: count(LintSeverity::Error),
            warnings: count(LintSeverity::Warning),
            infos: count(LintSeverity::Info),
            fail_on,
            failed: findings.iter().any(|finding| finding.severity >= fail_on),
            findings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_by_code_and_name() {
        for rule in Rule::ALL {
            assert_eq!(Rule::named(&rule.code().to_lowercase()), Some(rule));
            assert_eq!(Rule::named(rule.name()), Some(rule));
            assert_eq!(serde_json::to_string(&rule).unwrap(), format!("\"{rule}\""));
        }
        assert_eq!(Rule::named("AR001"), None);
        assert!(LintSeverity::Error > LintSeverity::Warning);
    }

    #[test]
    fn a_finding_is_one_line() {
        let finding = Finding {
            code: Rule::EvalsMissing,
            name: Rule::EvalsMissing.name().to_owned(),
            severity: LintSeverity::Warning,
            file: "skills/a/SKILL.md".into(),
            location: Location { line: 1, column: 1 },
            skill: Some("a".to_owned()),
            message: "skill `a` has no eval cases".to_owned(),
            hint: Some("add one".to_owned()),
        };
        assert_eq!(
            finding.to_string(),
            "skills/a/SKILL.md:1:1: warning AR962 evals-missing: skill `a` has no eval cases \
             (hint: add one)"
        );
        let report = LintReport::new(3, vec![finding.clone()], LintSeverity::Error);
        assert_eq!((report.errors, report.warnings, report.failed), (0, 1, false));
        assert!(LintReport::new(3, vec![finding], LintSeverity::Warning).failed);
    }
}
