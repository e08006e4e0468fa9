//! What became of the input, for people and for programs.

use std::fmt::Write as _;

use proctor_model::eval::{LintSeverity, Rule};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::IMPORTER_VERSION;
use super::document::{quoted, summarized};

/// The report of one import; its fields and their order are those of ai-rulez.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportReport {
    /// The version of the importers.
    pub importer: u32,
    /// The name of the importer.
    pub source: String,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The folder that takes the files.
    pub out: String,
    /// The scenarios, in the order of the input.
    pub scenarios: Vec<ScenarioReport>,
    /// One finding for each scenario with unmapped fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ImportFinding>,
}

/// What became of one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioReport {
    /// Its name.
    pub scenario: String,
    /// The path that it was found under, as it was given.
    pub source: String,
    /// `sha256:` and the digest of the files that define it.
    pub source_sha256: String,
    /// How many cases it makes.
    #[serde(skip)]
    pub cases: usize,
    /// What has a counterpart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mapped: Vec<String>,
    /// What the input does not say and the case must.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// What has no counterpart, by path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmapped: Vec<Unmapped>,
    /// Criteria that became assertions too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lifted: Vec<Lifted>,
    /// What somebody should read before these cases are run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The files, relative to the folder that takes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<String>,
}

/// A field of the input without a counterpart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Unmapped {
    /// The JSON path, like `$.criteria[0].category`, behind the file when there are several.
    pub path: String,
    /// The value in at most 80 characters.
    pub value: String,
    /// Where it belongs, when it has a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// A criterion that became an assertion too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Lifted {
    /// The name of the criterion, or its text.
    pub criterion: String,
    /// The assertion in words.
    pub assertion: String,
}

/// A finding of an import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportFinding {
    /// The rule, AR9A5.
    pub code: Rule,
    /// How bad it is.
    pub severity: LintSeverity,
    /// The scenario.
    pub scenario: String,
    /// What was found.
    pub message: String,
}

impl ImportReport {
    pub(super) fn new(source: &str) -> Self {
        Self {
            importer: IMPORTER_VERSION,
            source: source.to_owned(),
            dry_run: false,
            out: String::new(),
            scenarios: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The JSON Schema of the report.
    pub fn schema() -> serde_json::Value {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let mut schema = settings.into_generator().into_root_schema_for::<Self>();
        schema.insert("title".to_owned(), "Report of proctor eval import".into());
        schema.to_value()
    }

    /// The report for people.
    pub fn text(&self) -> String {
        let verb = if self.dry_run { "would write" } else { "wrote" };
        let mut text = String::new();
        for scenario in &self.scenarios {
            scenario.write(verb, &mut text);
        }
        text
    }
}

impl ScenarioReport {
    /// Writing to a string cannot fail.
    fn write(&self, verb: &str, out: &mut String) {
        let cases =
            if self.cases == 1 { "1 case".to_owned() } else { format!("{} cases", self.cases) };
        let _ = writeln!(out, "{verb} {} ({cases})", self.written.join(", "));
        for (label, lines) in [("mapped: ", &self.mapped), ("assumed:", &self.assumed)] {
            for line in lines {
                let _ = writeln!(out, "{label}  {line}");
            }
        }
        for Lifted { criterion, assertion } in &self.lifted {
            let criterion = quoted(&summarized(criterion));
            let _ = writeln!(out, "lifted:   criterion {criterion} -> {assertion}");
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "warning:  {}", quoted(warning));
        }
        if !self.unmapped.is_empty() {
            let (count, code) = (self.unmapped.len(), Rule::EvalImportUnmapped);
            let _ = writeln!(out, "unmapped ({count}), {code}:");
        }
        for Unmapped { path, value, hint } in &self.unmapped {
            let _ = write!(out, "  {path:<28} value {}", quoted(value));
            if let Some(hint) = hint {
                let _ = write!(out, "  -> {hint}");
            }
            out.push('\n');
        }
    }
}
