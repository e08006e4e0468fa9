//! The contract as a JSON Schema, for editors and other tools.

use proctor_model::recorded::run::FixtureRun;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use serde_json::Value;

/// JSON Schema (draft 2020-12) of a fixture-run, from the types that it is read into.
///
/// It accepts whatever [`super::Document`] accepts. It cannot see duplicate keys, numbers beyond
/// doubles, nesting and sizes, and it knows fewer kinds of white space.
pub fn schema() -> Value {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<FixtureRun>();
    RecursiveTransform(drop_null_default).transform(&mut schema);
    schema.to_value()
}

/// `null` is what Rust calls a field that was left out; the contract refuses it.
fn drop_null_default(schema: &mut Schema) {
    if schema.get("default").is_some_and(Value::is_null) {
        schema.remove("default");
    }
}
