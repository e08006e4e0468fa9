//! The format of `fixture.json` as a JSON Schema, for editors and other tools.

use serde_json::{Value, json};

use super::check::{CHECK_KEYS, Type};
use super::parse::LARGEST_BOUND;

/// JSON Schema (draft 2020-12) of `fixture.json`.
///
/// It accepts whatever [`super::parse_fixture`] accepts. It cannot say that `name` is the
/// directory's name, that whole numbers are written without a fraction, or what a path may be.
pub fn schema() -> Value {
    let names = |description: &str| {
        json!({
            "description": description,
            "type": "array",
            "items": { "$ref": "#/$defs/nonBlank" },
            "default": []
        })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Conformance fixture",
        "description": "What to install, what to ask an agent, and what must hold afterwards.",
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "prompt", "checks"],
        "properties": {
            "$schema": { "description": "The schema of this file, for editors." },
            "name": {
                "description": "The name of the directory that the file lies in.",
                "$ref": "#/$defs/nonBlank"
            },
            "description": { "description": "One line for people.", "type": "string" },
            "prompt": {
                "description": "What the agent is asked.",
                "$ref": "#/$defs/nonBlank"
            },
            "profiles": names("Profiles to install; empty inherits the invoking selection."),
            "languages": names("Languages to install for; empty inherits the invoking selection."),
            "harnesses": names("Ids of the harnesses that it is for; empty means any."),
            "expected_instruction_paths": {
                "description": "Paths whose explicit reading is reported; they decide nothing.",
                "type": "array",
                "items": { "type": "string" },
                "default": []
            },
            "checks": {
                "description": "What must hold. At least one check of the result phase is not \
                                optional.",
                "type": "array",
                "items": { "$ref": "#/$defs/check" },
                "contains": {
                    "properties": {
                        "phase": { "const": "result" },
                        "optional": { "const": false }
                    }
                }
            },
            "bounds": { "$ref": "#/$defs/bounds" },
            "expected_output": { "description": "Accepted and ignored: no model judges." }
        },
        "$defs": {
            "nonBlank": { "type": "string", "pattern": "\\S" },
            "bounds": bounds(),
            "check": check()
        }
    })
}

fn bounds() -> Value {
    let whole = |description: &str| {
        json!({
            "description": description,
            "type": "integer",
            "minimum": 1,
            "maximum": LARGEST_BOUND
        })
    };
    json!({
        "description": "Limits of one trial.",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "timeout_seconds": whole("Wall clock for the whole trial; 300 when left out."),
            "max_budget_usd": {
                "description": "US dollars for the model.",
                "type": "number",
                "exclusiveMinimum": 0
            },
            "max_turns": whole("Model turns.")
        }
    })
}

fn check() -> Value {
    let types: Vec<&str> = Type::ALL.iter().map(|kind| kind.name()).collect();
    let rules: Vec<Value> = Type::ALL.iter().map(|kind| rule(*kind)).collect();
    json!({
        "type": "object",
        "propertyNames": { "enum": CHECK_KEYS },
        "required": ["type"],
        "properties": {
            "type": { "description": "What is looked at.", "enum": types },
            "phase": {
                "description": "Before the agent runs, or after it.",
                "enum": ["install", "result"],
                "default": "result"
            },
            "optional": {
                "description": "An optional check is reported and never decides.",
                "type": "boolean",
                "default": false
            },
            "path": {
                "description": "One path, relative to the workspace; nothing in it is special.",
                "type": "string",
                "minLength": 1
            },
            "glob": {
                "description": "Paths relative to the workspace: `*` within a segment, `**` as \
                                a segment for any number of directories, nothing else is special.",
                "type": "string",
                "minLength": 1
            },
            "pattern": {
                "description": ".NET regular expression, searched for in the whole of each file; \
                                `^` and `$` are its ends unless it has `(?m)`.",
                "type": "string"
            },
            "run": {
                "description": "Executable and arguments; there is no shell.",
                "type": "array",
                "minItems": 1,
                "prefixItems": [{ "$ref": "#/$defs/nonBlank" }],
                "items": { "type": "string" }
            },
            "exit_code": {
                "description": "The exit code that the command must end with.",
                "type": "integer",
                "minimum": i32::MIN,
                "maximum": i32::MAX,
                "default": 0
            }
        },
        "allOf": rules
    })
}

/// What one `type` needs and refuses.
fn rule(kind: Type) -> Value {
    let mut then = serde_json::Map::new();
    let mut refused: serde_json::Map<String, Value> =
        kind.refused().iter().map(|(key, _)| ((*key).to_owned(), json!(false))).collect();
    match kind {
        Type::FileExists | Type::FileAbsent => {
            then.insert(
                "oneOf".to_owned(),
                json!([
                    { "required": ["path"] },
                    { "required": ["glob"] }
                ]),
            );
        }
        Type::FileMatches | Type::FileNotMatches => {
            then.insert("required".to_owned(), json!(["pattern"]));
            then.insert(
                "oneOf".to_owned(),
                json!([
                    { "required": ["path"] },
                    { "required": ["glob"] }
                ]),
            );
        }
        Type::Command => {
            then.insert("required".to_owned(), json!(["run"]));
            refused.insert("phase".to_owned(), json!({ "const": "result" }));
        }
    }
    then.insert("properties".to_owned(), Value::Object(refused));
    json!({
        "if": { "properties": { "type": { "const": kind.name() } }, "required": ["type"] },
        "then": then
    })
}
