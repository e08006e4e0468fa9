//! What a file of version 1 holds.

use proctor_model::experiment::Rule;
use serde_json::{Value, json};

use crate::tree::{Field, Kind, Node, Object, Problems, list, non_blank, text};

/// An experiment of version 1.
pub(super) struct Old {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// What every variant has.
    pub(super) common: Overrides,
    pub(super) variants: Vec<OldVariant>,
    pub(super) application: Vec<OldTest>,
    pub(super) introspection: Vec<OldTest>,
    pub(super) limits: Value,
}

impl Old {
    pub(super) fn tests(&self) -> impl Iterator<Item = &OldTest> {
        self.application.iter().chain(&self.introspection)
    }
}

pub(super) struct OldVariant {
    pub(super) id: String,
    pub(super) tag: Option<String>,
    pub(super) overrides: Overrides,
}

/// What a variant may have of its own. Lists add to those of the top level, the rest replaces it.
/// Lists are taken over as they stand: their shape is that of version 2.
#[derive(Default)]
pub(super) struct Overrides {
    pub(super) setup: Option<String>,
    pub(super) prompt: Option<String>,
    pub(super) model: Option<Value>,
    pub(super) agent: Option<String>,
    pub(super) secrets: Vec<Value>,
    pub(super) files: Vec<Value>,
    pub(super) mcp_servers: Vec<Value>,
    pub(super) setup_checks: Vec<Value>,
}

pub(super) struct OldTest {
    pub(super) name: String,
    pub(super) script: String,
}

impl OldTest {
    pub(super) fn reads_trace(&self) -> bool {
        self.script.contains("AXP_TRACE_PATH") || self.script.contains("AX_TRACE_PATH")
    }

    pub(super) fn reads_variant_id(&self) -> bool {
        self.script.contains("AXP_VARIANT_ID") || self.script.contains("AX_VARIANT_ID")
    }
}

const SHARED_KEYS: [&str; 6] =
    ["model", "agent", "secrets", "files", "mcp_servers", "setup_checks"];

pub(super) fn read(root: &Node, problems: &mut Problems) -> Option<Old> {
    let field = Field::root(root);
    let object = Object::at(&field, "an experiment: an object", problems)?;
    check_version(&object, problems)?;
    let own = [
        "$schema",
        "schema_version",
        "id",
        "name",
        "description",
        "flow",
        "matrix",
        "tests",
        "limits",
    ];
    object.deny_unknown(&[&own[..], &SHARED_KEYS].concat(), problems);
    let id = object.required("id", problems, non_blank);
    let name = object.required("name", problems, non_blank);
    let description = object.optional("description", problems, non_blank);
    let mut common = overrides(&object, problems);
    common.prompt = object
        .optional("flow", problems, |field, problems| {
            let flow = Object::at(field, "an object with `prompt`", problems)?;
            flow.deny_unknown(&["prompt"], problems);
            flow.required("prompt", problems, non_blank)
        })
        .flatten();
    let variants = object.optional("matrix", problems, |field, problems| {
        let matrix = Object::at(field, "an object with `variant`", problems)?;
        matrix.deny_unknown(&["variant"], problems);
        matrix.required("variant", problems, list("variants", variant))
    });
    let tests = object.required("tests", problems, |field, problems| {
        let object =
            Object::at(field, "an object with `application` and `introspection`", problems)?;
        object.deny_unknown(&["application", "introspection"], problems);
        let application = object.or("application", Vec::new(), problems, list("tests", test));
        let introspection = object.or("introspection", Vec::new(), problems, list("tests", test));
        Some((application?, introspection?))
    });
    let limits = object.required("limits", problems, |field, _| Some(value(field.node())));
    let (application, introspection) = tests?;
    // Without a matrix there is one variant.
    let variants = variants?.unwrap_or_else(|| {
        vec![OldVariant { id: "default".to_owned(), tag: None, overrides: Overrides::default() }]
    });
    Some(Old {
        id: id?,
        name: name?,
        description: description?,
        common,
        variants,
        application,
        introspection,
        limits: limits?,
    })
}

fn check_version(object: &Object<'_>, problems: &mut Problems) -> Option<()> {
    let version = object.get("schema_version").map(|member| &member.value.kind);
    match version {
        Some(Kind::Number(written)) if written == "1" => Some(()),
        Some(Kind::Number(written)) if written == "2" => {
            let error = object.field().error("is of version 2 already");
            problems.push(error.rule(Rule::Version));
            None
        }
        _ => {
            let error = object.field().error("expected `schema_version: 1`");
            problems.push(error.rule(Rule::Version));
            None
        }
    }
}

fn variant(field: &Field<'_>, problems: &mut Problems) -> Option<OldVariant> {
    let object = Object::at(field, "a variant: an object with `id`", problems)?;
    object.deny_unknown(&["id", "tag", "overrides"], problems);
    let id = object.required("id", problems, non_blank);
    let tag = object.optional("tag", problems, non_blank);
    let overrides = object.or("overrides", Overrides::default(), problems, |field, problems| {
        let object = Object::at(field, "an object", problems)?;
        object.deny_unknown(&[&["setup", "prompt"][..], &SHARED_KEYS].concat(), problems);
        let mut own = overrides(&object, problems);
        own.setup = object.optional("setup", problems, non_blank).flatten();
        own.prompt = object.optional("prompt", problems, non_blank).flatten();
        Some(own)
    });
    Some(OldVariant { id: id?, tag: tag?, overrides: overrides? })
}

/// What both levels may have.
fn overrides(object: &Object<'_>, problems: &mut Problems) -> Overrides {
    let mut whole = |key| {
        let values = |field: &Field<'_>, _: &mut Problems| Some(value(field.node()));
        object.or(key, Vec::new(), problems, list("items", values)).unwrap_or_default()
    };
    let (secrets, files) = (whole("secrets"), whole("files"));
    let (mcp_servers, setup_checks) = (whole("mcp_servers"), whole("setup_checks"));
    let agent = object.optional("agent", problems, non_blank).flatten();
    let model = object.get("model").map(|member| value(&member.value));
    Overrides { model, agent, secrets, files, mcp_servers, setup_checks, ..Overrides::default() }
}

fn test(field: &Field<'_>, problems: &mut Problems) -> Option<OldTest> {
    let object = Object::at(field, "a test: an object with `name` and `script`", problems)?;
    object.deny_unknown(&["name", "script"], problems);
    let name = object.required("name", problems, non_blank);
    let script = object.required("script", problems, text);
    Some(OldTest { name: name?, script: script? })
}

/// A value as it stands.
fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        // The three numbers that JSON lacks stand as text, which the reader of version 2 refuses.
        Kind::Number(written) => serde_json::from_str(written).unwrap_or_else(|_| json!(written)),
        Kind::String(text) => Value::String(text.clone()),
        Kind::Array(items) => items.iter().map(value).collect(),
        Kind::Object(members) => Value::Object(
            members.iter().map(|member| (member.key.clone(), value(&member.value))).collect(),
        ),
    }
}
