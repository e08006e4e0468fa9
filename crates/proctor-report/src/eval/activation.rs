//! Measurements of activation for readers.

mod annotations;
mod comparison;
mod markdown;
#[cfg(test)]
mod tests;
mod words;

use proctor_model::eval::ActivationReport;
use proctor_model::eval::comparison::ComparisonReport;
use serde_json::Value;

pub use annotations::{activation_annotations, comparison_annotations};
pub use comparison::{comparison_markdown, comparison_summary};
pub use markdown::activation_markdown;
pub use words::activation_summary;

use super::{json, schema};

/// The report of a measurement of activation as JSON.
pub fn activation_json(report: &ActivationReport) -> String {
    json(report)
}

/// JSON Schema (draft 2020-12) of [`activation_json`].
pub fn activation_schema() -> Value {
    schema::<ActivationReport>("Report of proctor eval run --mode activation")
}

/// The comparison of two descriptions as JSON.
pub fn comparison_json(report: &ComparisonReport) -> String {
    json(report)
}

/// JSON Schema (draft 2020-12) of [`comparison_json`].
pub fn comparison_schema() -> Value {
    schema::<ComparisonReport>("Report of proctor eval run --mode activation --against")
}
