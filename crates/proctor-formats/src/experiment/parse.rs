//! The text of an experiment to what it declares.
//!
//! Shape, names, references and whatever else can be said about one value is said here; what takes
//! more than one is in [`super::rules`] and [`super::resolve`].

pub(super) mod agents;
pub(super) mod axes;
pub(super) mod setups;
pub(super) mod tests;
mod values;

use std::num::NonZeroU32;

use camino::Utf8Path;
use proctor_model::experiment::{Era, Experiment, Limits, Rule, Slug};

use self::axes::{read_axes, read_extensions};
use self::setups::{read_files, read_legacy_secrets, read_variables, with_secrets};
use self::tests::{read_limits, read_tests};
use self::values::{name, words};
use crate::tree::{Field, Kind, Node, Object, Problems};

/// The keys of the top level. `$schema` is for editors.
pub(super) const TOP_KEYS: [&str; 16] = [
    "$schema",
    "schema_version",
    "id",
    "name",
    "description",
    "agents",
    "models",
    "prompts",
    "environments",
    "products",
    "extensions",
    "environment_variables",
    "secrets",
    "files",
    "tests",
    "limits",
];

/// Keys that only version 1 has at its top level.
const V1_KEYS: [&str; 2] = ["flow", "matrix"];

/// Reads the tree of a file; `None` when it is none of version 2. After a mistake something stands
/// for what is wrong, so that the rest can be looked at: an axis with nothing on it, or a word.
pub(super) fn parse(file: &Utf8Path, root: &Node, problems: &mut Problems) -> Option<Experiment> {
    let field = Field::root(root);
    let object = Object::at(&field, "an experiment: an object with `schema_version: 2`", problems)?;
    check_version(&object, problems)?;
    object.deny_unknown(&TOP_KEYS, problems);
    let id = object.required("id", problems, name);
    let title = object.required("name", problems, words);
    let description = object.optional("description", problems, words);
    let axes = read_axes(&object, problems);
    let extensions = object.or("extensions", Vec::new(), problems, read_extensions);
    let variables = object.or("environment_variables", Vec::new(), problems, read_variables);
    let secrets = object.or("secrets", Vec::new(), problems, read_legacy_secrets);
    let files = object.or("files", Vec::new(), problems, read_files);
    let tests = object.required("tests", problems, read_tests);
    let limits = object.required("limits", problems, read_limits);
    let (era, tests) = tests.unwrap_or((Era::Current, Vec::new()));
    let experiment = Experiment {
        id: match id {
            Some(id) => id,
            None => "mistaken".parse().ok()?,
        },
        name: title.unwrap_or_default(),
        description: description.flatten(),
        era,
        axes,
        extensions: extensions.unwrap_or_default(),
        variables: with_secrets(variables.unwrap_or_default(), secrets.unwrap_or_default()),
        files: files.unwrap_or_default().into(),
        tests: tests.into(),
        limits: limits.unwrap_or(Limits {
            max_time_seconds: NonZeroU32::MIN,
            max_turns: None,
            max_cost_usd: None,
        }),
    };
    check_file_name(file, &object, problems);
    Some(experiment)
}

/// Only version 2 goes on: the keys of another would be a page of misleading mistakes.
fn check_version(object: &Object<'_>, problems: &mut Problems) -> Option<()> {
    const MIGRATE: &str = "`proctor experiment migrate` converts it";
    let Some(member) = object.get("schema_version") else {
        let missing = object.field().error("`schema_version` is missing").rule(Rule::Version);
        let is_v1 = V1_KEYS.iter().any(|key| object.get(key).is_some());
        let hint = if is_v1 {
            "this looks like version 1: write `schema_version: 1`, then \
             `proctor experiment migrate` converts it"
        } else {
            "write `schema_version: 2`"
        };
        problems.push(missing.hint(hint));
        return (!is_v1).then_some(());
    };
    let field = object.field().member("schema_version", &member.value);
    match &member.value.kind {
        Kind::Number(written) if written == "2" => Some(()),
        Kind::Number(written) if written == "1" => {
            let error = field.error("version 1 of the format is not run any more");
            problems.push(error.rule(Rule::Version).hint(MIGRATE));
            None
        }
        _ => {
            problems.push(field.expected("the whole number 2").rule(Rule::Version));
            None
        }
    }
}

/// The id should be the file's name without its ending, unless the file has the name that every
/// experiment may have.
fn check_file_name(file: &Utf8Path, object: &Object<'_>, problems: &mut Problems) {
    let (Some(member), Some(stem)) = (object.get("id"), file.file_stem()) else { return };
    if let Kind::String(id) = &member.value.kind
        && id != stem
        && stem != "experiment"
        && id.parse::<Slug>().is_ok()
    {
        let field = object.field().member("id", &member.value);
        let message = format!("the id is not the file's name, `{}`", stem.escape_debug());
        problems.push(field.warning(message).rule(Rule::FileName));
    }
}
