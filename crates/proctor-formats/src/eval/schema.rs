//! The format of case files as a JSON Schema, for editors and other tools.

use serde_json::{Value, json};

use super::assertion::Type;
use super::case_file::MAX_ITEMS;

/// JSON Schema (draft 2020-12) of a case file.
///
/// It accepts whatever is read without a mistake. It cannot say that ids are unique, that a pattern
/// is one of RE2, what a path may be, or what lies behind a path.
pub fn case_schema() -> Value {
    let mut own = case_properties();
    let top = json!({
        "$schema": { "description": "The schema of this file, for editors.", "type": "string" },
        "schema_version": {
            "description": "The version of the format.",
            "enum": [0, 1],
            "default": 1
        }
    });
    if let (Some(own), Some(top)) = (own.as_object_mut(), top.as_object()) {
        own.extend(top.clone());
        // Beside `cases` the keys of a case are ignored.
        let cases = json!({
            "description": "The cases.",
            "type": "array",
            "minItems": 1,
            "items": { "$ref": "#/$defs/case" }
        });
        own.insert("cases".to_owned(), cases);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Skill eval cases",
        "description": "What is asked of an agent that has a skill, and what must hold. A list \
                        `cases`, or one case at the top level.",
        "type": "object",
        "additionalProperties": false,
        "properties": own,
        "oneOf": [
            {
                "required": ["cases"],
                "properties": {
                    "id": false, "prompt": false, "prompt_file": false, "expect_trigger": false
                }
            },
            {
                "required": ["expect_trigger"],
                "properties": { "cases": false },
                "$ref": "#/$defs/rules"
            }
        ],
        "$defs": {
            "case": case(),
            "rules": rules(),
            "file": file(),
            "assertion": assertion(),
            "item": item(),
            "path": {
                "type": "string",
                "minLength": 1,
                "not": { "pattern": "^(/|~|[A-Za-z]:)" }
            }
        }
    })
}

fn case() -> Value {
    json!({
        "description": "One prompt and what must come of it.",
        "type": "object",
        "additionalProperties": false,
        "required": ["id", "expect_trigger"],
        "properties": case_properties(),
        "$ref": "#/$defs/rules"
    })
}

/// What the keys of a case demand of each other.
fn rules() -> Value {
    json!({
        "oneOf": [{ "required": ["prompt"] }, { "required": ["prompt_file"] }],
        "not": { "required": ["rubric", "rubric_items"] },
        "dependentSchemas": {
            "rubric_min_score": {
                "anyOf": [{ "required": ["rubric"] }, { "required": ["rubric_items"] }]
            }
        },
        "if": {
            "required": ["near_miss"],
            "properties": { "near_miss": { "minItems": 1 } }
        },
        "then": { "properties": { "expect_trigger": { "const": true } } }
    })
}

fn case_properties() -> Value {
    let word = |description: &str, others: &str| {
        json!({
            "description": description,
            "type": "string",
            "pattern": format!("^[a-z0-9][a-z0-9{others}]*$")
        })
    };
    let list = |description: &str, items: Value| json!({ "description": description, "type": "array", "items": items, "default": [] });
    json!({
        "id": word("Unique among the cases of the skill; the file's name for one case.", "._-"),
        "description": { "description": "One line for people.", "type": "string" },
        "prompt": {
            "description": "What the agent is asked.",
            "type": "string",
            "pattern": "\\S"
        },
        "prompt_file": {
            "description": "A file with the prompt, relative to this one.",
            "$ref": "#/$defs/path"
        },
        "expect_trigger": { "description": "Whether the skill should fire.", "type": "boolean" },
        "near_miss": list(
            "Prompts that look alike and must not fire the skill.",
            json!({ "type": "string", "pattern": "\\S" })
        ),
        "files": list(
            "Files that lie in the working directory first.",
            json!({ "$ref": "#/$defs/file" })
        ),
        "assertions": list("What must hold afterwards.", json!({ "$ref": "#/$defs/assertion" })),
        "rubric": {
            "description": "What a grader model judges the answer by.",
            "type": "string",
            "pattern": "\\S"
        },
        "rubric_items": {
            "description": "A weighted checklist instead of a rubric.",
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_ITEMS,
            "items": { "$ref": "#/$defs/item" }
        },
        "rubric_min_score": {
            "description": "The score from which an answer passes.",
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "default": 0.7
        },
        "model": {
            "description": "The model for this case alone.",
            "type": "string",
            "pattern": "\\S"
        },
        "tags": list("Words to select by.", word("A tag.", "._:-"))
    })
}

fn file() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["path"],
        "properties": {
            "path": {
                "description": "Where it lies, relative to the working directory.",
                "$ref": "#/$defs/path"
            },
            "content": { "description": "What it holds.", "type": "string" },
            "source": {
                "description": "A file to copy, relative to this one.",
                "$ref": "#/$defs/path"
            }
        },
        "not": { "required": ["content", "source"] }
    })
}

fn item() -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["text"],
        "properties": {
            "text": {
                "description": "The criterion as the grader reads it.",
                "type": "string",
                "pattern": "\\S"
            },
            "weight": {
                "description": "Its share of the score.",
                "type": "number",
                "exclusiveMinimum": 0,
                "default": 1
            }
        }
    })
}

fn assertion() -> Value {
    let types: Vec<&str> = Type::ALL.iter().map(|kind| kind.name()).collect();
    let rules: Vec<Value> = Type::ALL.iter().map(|kind| assertion_rule(*kind)).collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["type"],
        "properties": {
            "type": { "description": "What is looked at.", "enum": types },
            "value": {
                "description": "A text, or a pattern of RE2 for `regex`.",
                "type": "string",
                "minLength": 1
            },
            "path": {
                "description": "The file that is looked at instead of the answer.",
                "$ref": "#/$defs/path"
            },
            "exists": {
                "description": "Whether the file must be there.",
                "type": "boolean",
                "default": true
            },
            "command": {
                "description": "Run by the shell in the working directory.",
                "type": "string",
                "pattern": "\\S"
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

/// What one type needs and refuses.
fn assertion_rule(kind: Type) -> Value {
    let refused: serde_json::Map<String, Value> =
        kind.refused().iter().map(|key| ((*key).to_owned(), json!(false))).collect();
    let required = match kind {
        Type::Contains | Type::NotContains | Type::Regex => "value",
        Type::FileExists => "path",
        Type::CommandExit => "command",
    };
    json!({
        "if": { "properties": { "type": { "const": kind.name() } }, "required": ["type"] },
        "then": { "required": [required], "properties": refused }
    })
}
