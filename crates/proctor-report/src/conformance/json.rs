//! The report as JSON.

use std::fmt::Write as _;

use proctor_model::conformance::report::Report;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::inert::acts;

/// The report as indented JSON with a final newline.
///
/// Characters that act on a terminal are written as escapes, which changes no value.
pub fn render_json(report: &Report) -> String {
    // Serialising fails for keys that are no strings and for types that refuse; a report has
    // neither.
    let json = serde_json::to_string_pretty(report).expect("a report is always JSON");
    let mut text = String::with_capacity(json.len() + 1);
    for character in json.chars() {
        // Inside strings such a character may stand raw; outside of them there is none.
        if acts(character) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(character);
        }
    }
    text.push('\n');
    text
}

/// JSON Schema (draft 2020-12) of the report.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Report>();
    schema.insert("title".to_owned(), "Conformance report".into());
    schema.to_value()
}
