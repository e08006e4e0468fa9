//! Skill evals for readers: the report of a run, what the rules find, proposals for the estimate,
//! and what to do about each skill.
//!
//! The formats that programs read, and the columns of those for people, are those of ai-rulez.

mod activation;
mod advice;
mod annotations;
mod calibration;
mod junit;
mod lint;
mod listing;
mod markdown;
mod sarif;
mod search;
mod table;
mod text;
mod words;

use proctor_model::eval::EvalReport;
use proctor_model::json::go;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

pub use activation::{
    activation_annotations, activation_json, activation_markdown, activation_schema,
    activation_summary, comparison_annotations, comparison_json, comparison_markdown,
    comparison_schema, comparison_summary,
};
pub use advice::{advice_json, advice_schema, advice_text};
pub use annotations::{lint_annotations, run_annotations};
pub use calibration::{calibration_json, calibration_schema, calibration_text};
pub use junit::run_junit;
pub use lint::{lint_json, lint_schema, lint_text};
pub use listing::{listing_json, listing_schema, listing_text};
pub use markdown::run_markdown;
pub use sarif::lint_sarif;
pub use search::{search_block, search_json, search_json_line, search_schema, search_text};
pub use text::{run_summary, run_text};

use crate::inert_json;

/// The report of a run as JSON.
pub fn run_json(report: &EvalReport) -> String {
    json(report)
}

/// JSON Schema (draft 2020-12) of [`run_json`].
pub fn run_schema() -> Value {
    schema::<EvalReport>("Report of proctor eval run")
}

fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}

/// Indented JSON with a final line feed, in which nothing acts on a terminal.
fn json(value: &impl Serialize) -> String {
    // Fails for keys that are no strings; reports have none.
    inert_json(&go::pretty(value).expect("a report is always JSON"))
}

/// The same on one line.
fn json_line(value: &impl Serialize) -> String {
    inert_json(&go::compact(value).expect("a report is always JSON")) + "\n"
}

#[cfg(test)]
mod tests;
