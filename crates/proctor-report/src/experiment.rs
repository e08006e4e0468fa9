//! Reports about experiments.

mod findings;
mod junit;
mod list;
mod markdown;
mod run;
#[cfg(test)]
mod tests;
mod variants;
mod verify;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::Value;

pub use findings::{findings_json, findings_schema, findings_text};
pub use junit::run_junit;
pub use list::{RunRow, bytes_text, runs_json, runs_schema, runs_text};
pub use markdown::run_markdown;
pub use run::{harness_event_schema, run_json, run_schema, run_text, tests_text};
pub use variants::{variants_json, variants_schema, variants_text};
pub use verify::{verify_json, verify_schema, verify_text};

use crate::inert_json;

/// Indented JSON with a final line feed, in which nothing acts on a terminal.
pub(crate) fn json(value: &impl Serialize) -> String {
    // Fails for keys that are no strings; reports have none.
    let text = serde_json::to_string_pretty(value).expect("a report is always JSON");
    format!("{}\n", inert_json(&text))
}

pub(crate) fn schema<T: JsonSchema>(title: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<T>();
    schema.insert("title".to_owned(), title.into());
    schema.to_value()
}
