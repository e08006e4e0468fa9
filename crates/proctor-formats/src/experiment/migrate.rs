//! Version 1 to version 2.
//!
//! Each variant of version 1 becomes an extension of the same id with one agent, one prompt and one
//! environment that carries its setup. Scripts are taken over as they stand.

mod read;
mod yaml;

use camino::Utf8Path;
use proctor_model::Diagnostic;
use proctor_model::experiment::{Finding, Rule};
use serde_json::{Map, Value, json};

use self::read::{Old, OldTest, Overrides};
use super::findings;
use crate::tree::{self, Problems};

/// A file of version 1 as one of version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// The text of the new file.
    pub text: String,
    /// What the author should know about it, each a sentence fragment.
    pub notes: Vec<String>,
}

/// Converts a file of version 1, or says what is wrong with it.
pub fn migrate(file: &Utf8Path, bytes: &[u8]) -> Result<Migration, Vec<Finding>> {
    let mut problems = Problems::new(file);
    let Some(root) = tree::yaml(bytes, &mut problems) else {
        return Err(findings(file, problems.finish(), Rule::Yaml));
    };
    let old = read::read(&root, &mut problems);
    // What variants share is written out for each of them.
    let written = old.as_ref().map_or(0, |old| old.variants.len().saturating_mul(bytes.len()));
    if written > MOST_WRITTEN {
        let error = Diagnostic::error("too many variants share too much to be written out");
        problems.push(error.rule(Rule::TooLarge));
    }
    match old {
        Some(old) if !problems.has_errors() => {
            let notes = notes(&old);
            Ok(Migration { text: yaml::document(&converted(old)), notes })
        }
        _ => Err(findings(file, problems.finish(), Rule::Shape)),
    }
}

/// How large what is written may become, at worst, in bytes.
const MOST_WRITTEN: usize = 256 * 1024 * 1024;

/// The agent of files that name none.
const DEFAULT_AGENT: &str = "claude";

fn converted(old: Old) -> Value {
    let extensions: Vec<Value> = old.variants.iter().map(|variant| {
        let own = &variant.overrides;
        let mut agent = json!({ "name": own.agent.as_ref().or(old.common.agent.as_ref()).map_or(DEFAULT_AGENT, String::as_str) });
        if let Some(model) = own.model.as_ref().or(old.common.model.as_ref()) {
            put(&mut agent, "model", json!(model));
        }
        let prompt = own.prompt.as_ref().or(old.common.prompt.as_ref());
        let mut extension = json!({ "id": variant.id });
        if let Some(tag) = &variant.tag {
            put(&mut extension, "tags", json!([tag]));
        }
        put(&mut extension, "agents", json!([agent]));
        if let Some(prompt) = prompt {
            put(&mut extension, "prompts", json!([{ "id": "task", "prompt": prompt }]));
        }
        if let Some(setup) = setup(&old.common, own) {
            put(&mut extension, "environments", json!([{ "name": "sandbox", "setup": [setup] }]));
        }
        extension
    }).collect();
    let mut new = json!({ "schema_version": 2, "id": old.id, "name": old.name });
    if let Some(description) = &old.description {
        put(&mut new, "description", json!(description));
    }
    put(&mut new, "extensions", Value::Array(extensions));
    for (key, list) in [("secrets", &old.common.secrets), ("files", &old.common.files)] {
        if !list.is_empty() {
            put(&mut new, key, json!(list));
        }
    }
    put(&mut new, "tests", tests(&old));
    put(&mut new, "limits", old.limits);
    new
}

/// What prepares the room of one variant: its own, after what all have.
fn setup(common: &Overrides, own: &Overrides) -> Option<Value> {
    let mut setup = json!({ "name": "setup" });
    if let Some(script) = &own.setup {
        put(&mut setup, "script", json!(script));
    }
    let both = |a: &[Value], b: &[Value]| [a, b].concat();
    let lists = [
        ("files", own.files.clone()),
        ("secrets", own.secrets.clone()),
        ("mcp_servers", both(&common.mcp_servers, &own.mcp_servers)),
        ("setup_checks", both(&common.setup_checks, &own.setup_checks)),
    ];
    for (key, list) in lists {
        if !list.is_empty() {
            put(&mut setup, key, Value::Array(list));
        }
    }
    let members = setup.as_object().map_or(0, Map::len);
    (members > 1).then_some(setup)
}

/// A flat list, unless a test reads the trace file: that is staged for the two buckets only.
fn tests(old: &Old) -> Value {
    let all = |tests: &[OldTest]| -> Vec<Value> {
        tests.iter().map(|test| json!({ "name": test.name, "script": test.script })).collect()
    };
    if old.tests().any(OldTest::reads_trace) {
        json!({ "application": all(&old.application), "introspection": all(&old.introspection) })
    } else {
        Value::Array([all(&old.application), all(&old.introspection)].concat())
    }
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Some(members) = object.as_object_mut() {
        members.insert(key.to_owned(), value);
    }
}

fn notes(old: &Old) -> Vec<String> {
    let mut notes =
        vec!["comments, anchors and aliases of the old file are not in the new one".to_owned()];
    if old.common.agent.is_none() {
        notes.push(format!("the old file names no agent: `{DEFAULT_AGENT}` was put in"));
    }
    for test in old.tests().filter(|test| test.reads_trace()) {
        notes.push(format!(
            "the test `{}` reads the trace file, and was taken over unchanged: Proctor stages that \
             file because the tests stand in two buckets; `ax-run-query` is the way of version 2",
            test.name
        ));
    }
    for test in old.tests().filter(|test| test.reads_variant_id()) {
        notes.push(format!(
            "the test `{}` reads the variant's id, which now is the whole id: the old one is its \
             last part, `${{AXP_VARIANT_ID##*::}}`",
            test.name
        ));
    }
    notes
}
