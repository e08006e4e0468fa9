//! The variants of an experiment.

use proctor_model::experiment::VariantRow;
use serde_json::Value;

use crate::inert;

/// The ids, one a line: what `--variant` takes.
pub fn variants_text(rows: &[VariantRow]) -> String {
    let mut text = String::new();
    for row in rows {
        text.push_str(&inert(&row.id));
        text.push('\n');
    }
    text
}

/// The variants as a JSON array, in the order of the experiment.
pub fn variants_json(rows: &[VariantRow]) -> String {
    super::json(&rows)
}

/// JSON Schema (draft 2020-12) of [`variants_json`].
pub fn variants_schema() -> Value {
    super::schema::<Vec<VariantRow>>("Report of proctor experiment variants")
}
