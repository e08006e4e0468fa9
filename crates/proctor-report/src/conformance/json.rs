//! The report as JSON.

use proctor_model::conformance::report::Report;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::inert_json;

/// The report as indented JSON with a final newline.
///
/// Characters that act on a terminal are written as escapes, which changes no value.
pub fn render_json(report: &Report) -> String {
    // Serialising fails for keys that are no strings and for types that refuse; a report has
    // neither.
    let json = serde_json::to_string_pretty(report).expect("a report is always JSON");
    inert_json(&json) + "\n"
}

/// JSON Schema (draft 2020-12) of the report.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Report>();
    schema.insert("title".to_owned(), "Conformance report".into());
    schema.to_value()
}
