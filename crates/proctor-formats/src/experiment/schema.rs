//! The format of experiments as a JSON Schema, for editors and other tools.

use proctor_model::experiment::name::MAX_NAME;
use serde_json::{Map, Value, json};

use super::parse::TOP_KEYS;
use super::parse::agents::{AGENT_KEYS, MODEL_KEYS};
use super::parse::axes::{ENVIRONMENT_KEYS, EXTENSION_KEYS, PRODUCT_KEYS, PROMPT_KEYS};
use super::parse::setups::{
    CHECK_KEYS, FILE_KEYS, REMOTE_KEYS, SETUP_KEYS, SKILL_KEYS, STDIO_KEYS, VARIABLE_KEYS,
};
use super::parse::tests::{BUCKETS, LIMIT_KEYS, TEST_KEYS};

/// JSON Schema (draft 2020-12) of an experiment of version 2, in both dialects.
///
/// It accepts whatever is read without a mistake. It cannot say that names differ, where files
/// would lie, which variants there are, or what lies behind a path.
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Experiment, version 2",
        "description": "Agents x models x prompts x environments x products, graded by scripts.",
        "type": "object",
        "additionalProperties": false,
        "required": ["schema_version", "id", "name", "tests", "limits"],
        "properties": top(),
        "$defs": definitions()
    })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string", "pattern": "\\S" })
}

fn list(description: &str, of: &str) -> Value {
    json!({
        "description": description,
        "type": "array",
        "items": { "$ref": format!("#/$defs/{of}") }
    })
}

fn axis(description: &str, of: &str) -> Value {
    json!({
        "description": description,
        "type": "array",
        "minItems": 1,
        "items": { "$ref": format!("#/$defs/{of}") }
    })
}

fn refer(description: &str, to: &str) -> Value {
    json!({ "description": description, "$ref": format!("#/$defs/{to}") })
}

/// The properties with these keys, each as `of` has it.
fn properties(keys: &[&str], of: impl Fn(&str) -> Value) -> Value {
    Value::Object(keys.iter().map(|key| ((*key).to_owned(), of(key))).collect::<Map<_, _>>())
}

fn object(description: &str, required: &[&str], properties: &Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties
    })
}

/// What levels of the matrix, and things on its axes, have in common.
fn common(key: &str) -> Value {
    match key {
        "agents" => json!({
            "description": "Who works: one agent or a list of them.",
            "anyOf": [
                { "$ref": "#/$defs/agent" },
                { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/agent" } }
            ]
        }),
        "models" => {
            axis("What they think with, crossed with the agents that can drive it.", "model")
        }
        "prompts" => axis("What is asked.", "prompt"),
        "environments" => axis("Where it happens.", "environment"),
        "products" => axis("What is examined.", "product"),
        "extensions" => list(
            "Parts of the matrix with axes of their own, which replace those here.",
            "extension",
        ),
        "description" => text("For people: the question, the bet, the limits of the answer."),
        "tags" => json!({
            "description": "Words to group by, such as `arm:control`.",
            "type": "array",
            "items": { "type": "string", "pattern": "\\S" }
        }),
        "environment_variables" => list("Seen by scripts, checks, agents and tests.", "variable"),
        "secrets" => {
            list("Old form: names of variables whose values are secrets.", "variable_name")
        }
        "files" => list("Files and folders that are staged below /workspace.", "file"),
        "commit" => text("Where it comes from; nothing reads it."),
        "setup" => json!({
            "description": "A bash script, one setup or a list of setups.",
            "anyOf": [
                { "$ref": "#/$defs/script" },
                { "$ref": "#/$defs/setup" },
                { "type": "array", "items": { "$ref": "#/$defs/setup" } }
            ]
        }),
        _ => Value::Bool(true),
    }
}

fn top() -> Value {
    properties(&TOP_KEYS, |key| match key {
        "$schema" => json!({ "description": "The schema of this file, for editors." }),
        "schema_version" => json!({ "description": "The version of the format.", "const": 2 }),
        "id" => refer("A stable id, which should be the file's name.", "kebab"),
        "name" => text("A title for people."),
        "tests" => json!({
            "description": "What decides whether a trial passes. The two buckets are an old form.",
            "anyOf": [
                { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/test" } },
                {
                    "type": "object",
                    "additionalProperties": false,
                    "minProperties": 1,
                    "properties": properties(
                        &BUCKETS.map(|(key, _)| key),
                        |_| json!({ "type": "array", "items": { "$ref": "#/$defs/test" } })
                    )
                }
            ]
        }),
        "limits" => refer("How long and how much an agent may work.", "limits"),
        other => common(other),
    })
}

fn definitions() -> Value {
    json!({
        "kebab": {
            "type": "string",
            "maxLength": MAX_NAME,
            "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"
        },
        "name": {
            "description": "On one line, without `::`.",
            "type": "string",
            "maxLength": MAX_NAME,
            "pattern": "\\S",
            "not": { "pattern": "::|[\\u0000-\\u001f\\u007f-\\u009f]" }
        },
        "variable_name": {
            "type": "string",
            "maxLength": MAX_NAME,
            "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"
        },
        "script": { "description": "Bash.", "type": "string", "pattern": "\\S" },
        "value": {
            "description": "A literal, or `axp://secrets/<slug>`.",
            "type": "string",
            "anyOf": [
                { "not": { "pattern": "^axp://" } },
                { "pattern": "^axp://secrets/[A-Za-z0-9][A-Za-z0-9._-]*$" }
            ]
        },
        "path": {
            "description": "On the host, relative to this file's folder.",
            "type": "string",
            "pattern": "\\S"
        },
        "dest": {
            "description": "Below /workspace.",
            "type": "string",
            "pattern": "[^./]|\\.\\.\\.|\\.[^./]",
            "not": { "pattern": "^/|(^|/)\\.\\.(/|$)|[\\u0000-\\u001f\\u007f-\\u009f]" }
        },
        "agent": agent(),
        "model": model(),
        "prompt": {
            "anyOf": [
                { "type": "string", "pattern": "\\S" },
                object("What is asked.", &["id", "prompt"], &properties(&PROMPT_KEYS, |key| match key {
                    "id" => refer("Its coordinate in variant ids.", "kebab"),
                    "prompt" => text("The text, sent as it stands."),
                    other => common(other),
                }))
            ]
        },
        "environment": object("Where it happens.", &["name"], &properties(&ENVIRONMENT_KEYS, |key| match key {
            "name" => refer("Its coordinate in variant ids.", "name"),
            other => common(other),
        })),
        "product": object("What is examined.", &["name"], &properties(&PRODUCT_KEYS, |key| match key {
            "name" => refer("Its coordinate in variant ids.", "name"),
            "type" => json!({
                "description": "CLI, SDK, MCP, Skill, Docs, API or a word of your own.",
                "type": "string",
                "pattern": "\\S",
                "examples": ["CLI", "SDK", "MCP", "Skill", "Docs", "API"]
            }),
            "version" => text("Its version; nothing reads it."),
            other => common(other),
        })),
        "extension": object("A part of the matrix.", &["id"], &properties(&EXTENSION_KEYS, |key| match key {
            "id" => refer("The last coordinate in variant ids.", "kebab"),
            other => common(other),
        })),
        "setup": object("A step of preparing a room.", &[], &properties(&SETUP_KEYS, setup)),
        "check": object("A script that must exit with 0.", &["name", "script"], &properties(&CHECK_KEYS, |key| match key {
            "name" => refer("Its name.", "name"),
            _ => refer("Run after all setups.", "script"),
        })),
        "skill": object("A skill that the agent finds.", &["name", "source"], &properties(&SKILL_KEYS, |key| match key {
            "name" => json!({
                "description": "The name of its folder there.",
                "$ref": "#/$defs/name",
                "not": { "pattern": "/|^\\.\\.?$" }
            }),
            _ => refer("Its folder.", "path"),
        })),
        "server": server(),
        "file": file(),
        "variable": object("An environment variable.", &["name", "value"], &properties(&VARIABLE_KEYS, |key| match key {
            "name" => refer("Its name.", "variable_name"),
            _ => refer("Its value.", "value"),
        })),
        "test": test(),
        "limits": limits()
    })
}

fn agent() -> Value {
    let name = |description: &str| {
        json!({
            "description": description,
            "type": "string",
            "maxLength": MAX_NAME,
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
            "examples": ["claude", "codex", "cursor"]
        })
    };
    json!({
        "anyOf": [
            name("The agent's name."),
            object("An agent.", &["name"], &properties(&AGENT_KEYS, |key| match key {
                "name" => name("The program: claude, codex or another that speaks ACP."),
                "model" => refer("The only model that it is run with.", "model"),
                "agent_mode" => json!({
                    "description": "`plan` lets it write nothing.",
                    "enum": ["plan", "build"]
                }),
                _ => json!({
                    "description": "The command that speaks the Agent Client Protocol. Proctor only.",
                    "type": "array",
                    "minItems": 1,
                    "prefixItems": [{ "type": "string", "pattern": "\\S" }],
                    "items": { "type": "string" }
                }),
            }))
        ]
    })
}

fn model() -> Value {
    json!({
        "anyOf": [
            { "$ref": "#/$defs/name" },
            object("A model.", &["name"], &properties(&MODEL_KEYS, |key| match key {
                "name" => refer("Its name with its provider.", "name"),
                "effort" => refer("low, medium, high, ...: as the agent calls it.", "name"),
                "context_window_size" => json!({
                    "description": "In tokens.",
                    "type": "integer",
                    "minimum": 1
                }),
                "thinking" => json!({
                    "description": "Whether or how it thinks aloud.",
                    "anyOf": [{ "type": "boolean" }, { "type": "string", "pattern": "\\S" }]
                }),
                _ => json!({ "description": "Its fast mode.", "type": "boolean" }),
            }))
        ]
    })
}

fn setup(key: &str) -> Value {
    match key {
        "name" => refer("Its name in logs.", "name"),
        "script" => refer("Bash, run as root before the agent starts.", "script"),
        "mcp_servers" => list("Servers that the agent may use.", "server"),
        "setup_checks" => list("Scripts that must exit with 0 before the agent starts.", "check"),
        "skills" => list("Skills, placed where the agent looks for them.", "skill"),
        other => common(other),
    }
}

fn server() -> Value {
    let name = refer("The name with which the agent prefixes its tools.", "name");
    let mut stdio = properties(&STDIO_KEYS, |key| match key {
        "command" => text("The program."),
        "args" => json!({
            "description": "Its arguments.",
            "type": "array",
            "items": { "type": "string" }
        }),
        _ => json!({
            "description": "Its environment, taken from declared variables.",
            "type": "array",
            "items": object("A variable.", &["name", "from"], &json!({
                "name": refer("Its name for the server.", "variable_name"),
                "from": refer("The declared variable.", "variable_name")
            }))
        }),
    });
    let mut remote = properties(&REMOTE_KEYS, |key| match key {
        "url" => {
            json!({ "description": "Its address.", "type": "string", "pattern": "^https?://\\S+$" })
        }
        _ => json!({
            "description": "Sent with every request.",
            "type": "array",
            "items": object("A header.", &["name", "value"], &json!({
                "name": { "type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" },
                "value": { "$ref": "#/$defs/value", "not": { "pattern": "[\\r\\n]" } }
            }))
        }),
    });
    for (members, kinds) in [(&mut stdio, json!(["stdio"])), (&mut remote, json!(["http", "sse"]))]
    {
        if let Some(members) = members.as_object_mut() {
            members.insert("name".to_owned(), name.clone());
            members.insert("type".to_owned(), json!({ "enum": kinds }));
        }
    }
    json!({
        "description": "A server of the Model Context Protocol.",
        "anyOf": [
            object("Started by the agent.", &["name", "type", "command"], &stdio),
            object("Called over the network.", &["name", "type", "url"], &remote)
        ]
    })
}

fn file() -> Value {
    let mut file = object(
        "A file or folder.",
        &["name", "dest"],
        &properties(&FILE_KEYS, |key| match key {
            "name" => refer("Its name.", "name"),
            "source" => refer("Where it is; left out, `--file NAME=PATH` binds it.", "path"),
            "sha256" => json!({
                "description": "What `sha256sum` must print for it.",
                "type": "string",
                "pattern": "^[0-9A-Fa-f]{64}$"
            }),
            _ => refer("Where it goes.", "dest"),
        }),
    );
    if let Some(members) = file.as_object_mut() {
        // The name of a slot must fit into `NAME=PATH`.
        let plain = json!({ "properties": { "name": { "not": { "pattern": "[=:]" } } } });
        members.insert("anyOf".to_owned(), json!([{ "required": ["source"] }, plain]));
    }
    file
}

fn test() -> Value {
    let mut test = object(
        "Passes when its script exits with 0.",
        &["name"],
        &properties(&TEST_KEYS, |key| match key {
            "name" => refer("Its name, unique in the experiment.", "kebab"),
            "script" => refer("Bash, run in /workspace.", "script"),
            "script_file" => {
                refer("A file with the script, never seen by the agent. Proctor only.", "path")
            }
            "files" => list("Staged right before the script; no agent sees them.", "file"),
            "when" => json!({
                "description": "`live` runs it in the agent's own room. Proctor only.",
                "enum": ["snapshot", "live"],
                "default": "snapshot"
            }),
            other => common(other),
        }),
    );
    if let Some(members) = test.as_object_mut() {
        let one = json!([{ "required": ["script"] }, { "required": ["script_file"] }]);
        members.insert("oneOf".to_owned(), one);
    }
    test
}

fn limits() -> Value {
    let whole = |description: &str| json!({ "description": description, "type": "integer", "minimum": 1, "maximum": u32::MAX });
    object(
        "Limits of a trial.",
        &["max_time_seconds"],
        &properties(&LIMIT_KEYS, |key| match key {
            "max_time_seconds" => whole("Wall clock of the agent phase."),
            "max_turns" => whole("Turns of the agent."),
            _ => json!({
                "description": "What the agent may cost, in US dollars.",
                "type": "number",
                "exclusiveMinimum": 0
            }),
        }),
    )
}
