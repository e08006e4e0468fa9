//! Setups and what they bring: files, variables, servers, checks, skills.

use proctor_model::experiment::{
    FileEntry, FileSource, McpEnv, McpHeader, McpServer, McpTransport, Name, Rule, SecretSlug,
    Setup, SetupCheck, Skill, Value, Variable, VariableName,
};
use proctor_model::{Diagnostic, Digest};

use super::axes::for_people;
use super::values::{dest, host_path, name, script, unique, value, without_nul, words};
use crate::tree::{Field, Kind, Object, Problems, choice, list, text};

/// The keys of a setup.
pub(in crate::experiment) const SETUP_KEYS: [&str; 10] = [
    "name",
    "script",
    "description",
    "tags",
    "files",
    "environment_variables",
    "secrets",
    "mcp_servers",
    "setup_checks",
    "skills",
];

/// The keys of a file.
pub(in crate::experiment) const FILE_KEYS: [&str; 4] = ["name", "source", "sha256", "dest"];

/// The keys of a variable.
pub(in crate::experiment) const VARIABLE_KEYS: [&str; 2] = ["name", "value"];

/// The keys of a setup check.
pub(in crate::experiment) const CHECK_KEYS: [&str; 2] = ["name", "script"];

/// The keys of a skill.
pub(in crate::experiment) const SKILL_KEYS: [&str; 2] = ["name", "source"];

/// The keys of an MCP server that belong to every type.
const SERVER_KEYS: [&str; 2] = ["name", "type"];

/// The keys of an MCP server that is started.
pub(in crate::experiment) const STDIO_KEYS: [&str; 3] = ["command", "args", "env"];

/// The keys of an MCP server that is called.
pub(in crate::experiment) const REMOTE_KEYS: [&str; 2] = ["url", "headers"];

/// Names that belong to the run.
const RESERVED: [&str; 2] = ["AX_", "AXP_"];

/// Reads a script, one setup or a list of setups.
pub(super) fn read_setups(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Setup>> {
    match field.node().kind {
        Kind::String(_) => script(field, problems).map(|script| vec![Setup::script(script)]),
        Kind::Object(_) => read_setup(field, problems).map(|setup| vec![setup]),
        Kind::Array(_) => list("setups", read_setup)(field, problems),
        _ => {
            problems.push(field.expected("a script, a setup or a list of setups"));
            None
        }
    }
}

fn read_setup(field: &Field<'_>, problems: &mut Problems) -> Option<Setup> {
    let object = Object::at(field, "a setup: an object", problems)?;
    object.deny_unknown(&SETUP_KEYS, problems);
    let name = object.optional("name", problems, name);
    let script = object.or("script", String::new(), problems, script);
    let files = object.or("files", Vec::new(), problems, read_files);
    let variables = object.or("environment_variables", Vec::new(), problems, read_variables);
    let secrets = object.or("secrets", Vec::new(), problems, read_legacy_secrets);
    let mcp_servers = object.or("mcp_servers", Vec::new(), problems, read_servers);
    let checks = object.or("setup_checks", Vec::new(), problems, read_checks);
    let skills = object.or("skills", Vec::new(), problems, read_skills);
    let (description, tags) = for_people(&object, problems)?;
    Some(Setup {
        name: name?,
        script: script?,
        description,
        tags,
        files: files?,
        variables: with_secrets(variables?, secrets?),
        mcp_servers: mcp_servers?,
        checks: checks?,
        skills: skills?,
    })
}

/// Reads files.
pub(super) fn read_files(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<FileEntry>> {
    unique("files", |file: &FileEntry| file.name.to_string(), read_file)(field, problems)
}

fn read_file(field: &Field<'_>, problems: &mut Problems) -> Option<FileEntry> {
    let object = Object::at(field, "a file: an object with `name` and `dest`", problems)?;
    object.deny_unknown(&FILE_KEYS, problems);
    let name: Option<Name> = object.required("name", problems, name);
    let source = object.optional("source", problems, host_path);
    let sha256 = object.optional("sha256", problems, |field, problems| {
        let written = text(field, problems)?;
        let digest = Digest::from_hex(&written);
        if digest.is_none() {
            problems.push(field.expected("a SHA-256 digest: 64 hexadecimal digits"));
        }
        digest
    });
    let dest = object.required("dest", problems, dest);
    let source = match source? {
        Some(path) => FileSource::Path(path),
        None => FileSource::Slot,
    };
    let name = name?;
    if source == FileSource::Slot && name.as_str().contains(['=', ':']) {
        let error = field.error("the name of a file without `source` holds `=` or `:`");
        let hint = "`--file NAME=PATH` could not name it";
        problems.push(error.rule(Rule::Name).hint(hint));
        return None;
    }
    Some(FileEntry { name, source, sha256: sha256?, dest: dest?, at: field.node().location })
}

/// Reads variables.
pub(super) fn read_variables(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Variable>> {
    unique(
        "variables",
        |one: &Variable| one.name.to_string(),
        |field, problems| {
            let object =
                Object::at(field, "a variable: an object with `name` and `value`", problems)?;
            object.deny_unknown(&VARIABLE_KEYS, problems);
            let name = object.required("name", problems, variable_name);
            let value = object.required("value", problems, value);
            Some(Variable { name: name?, value: value? })
        },
    )(field, problems)
}

fn variable_name(field: &Field<'_>, problems: &mut Problems) -> Option<VariableName> {
    let variable: VariableName = name(field, problems)?;
    if RESERVED.iter().any(|prefix| variable.as_str().starts_with(prefix)) {
        let message =
            format!("`{variable}` belongs to the run, which may set it to something else");
        problems.push(field.warning(message).rule(Rule::ReservedVariable));
    }
    Some(variable)
}

/// Reads the `secrets` of early files: names of variables that must be found somewhere.
pub(super) fn read_legacy_secrets(
    field: &Field<'_>,
    problems: &mut Problems,
) -> Option<Vec<Variable>> {
    let variable = |name: VariableName| {
        let value = Value::Secret(SecretSlug::from(&name));
        Variable { name, value }
    };
    list("names of variables", |field, problems| variable_name(field, problems).map(variable))(
        field, problems,
    )
}

/// Variables, and the secrets among which there is none of the same name: such were always merged
/// in silence.
pub(super) fn with_secrets(mut variables: Vec<Variable>, secrets: Vec<Variable>) -> Vec<Variable> {
    for secret in secrets {
        if variables.iter().all(|variable| variable.name != secret.name) {
            variables.push(secret);
        }
    }
    variables
}

fn read_checks(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<SetupCheck>> {
    unique(
        "setup checks",
        |check: &SetupCheck| check.name.to_string(),
        |field, problems| {
            let what = "a setup check: an object with `name` and `script`";
            let object = Object::at(field, what, problems)?;
            object.deny_unknown(&CHECK_KEYS, problems);
            let name = object.required("name", problems, name);
            let script = object.required("script", problems, script);
            Some(SetupCheck { name: name?, script: script? })
        },
    )(field, problems)
}

fn read_skills(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<Skill>> {
    unique(
        "skills",
        |skill: &Skill| skill.name.to_string(),
        |field, problems| {
            let object =
                Object::at(field, "a skill: an object with `name` and `source`", problems)?;
            object.deny_unknown(&SKILL_KEYS, problems);
            let name = object.required("name", problems, |field, problems| {
                let folder: Name = name(field, problems)?;
                if folder.as_str().contains('/') || matches!(folder.as_str(), "." | "..") {
                    problems.push(field.expected("the name of a folder").rule(Rule::Name));
                    return None;
                }
                Some(folder)
            });
            let source = object.required("source", problems, host_path);
            Some(Skill { name: name?, source: source?, at: field.node().location })
        },
    )(field, problems)
}

fn read_servers(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<McpServer>> {
    unique("MCP servers", |one: &McpServer| one.name.to_string(), read_server)(field, problems)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Stdio,
    Http,
    Sse,
}

fn read_server(field: &Field<'_>, problems: &mut Problems) -> Option<McpServer> {
    let object = Object::at(field, "an MCP server: an object with `name` and `type`", problems)?;
    let known = [&SERVER_KEYS[..], &STDIO_KEYS, &REMOTE_KEYS].concat();
    object.deny_unknown(&known, problems);
    let types = [("stdio", Type::Stdio), ("http", Type::Http), ("sse", Type::Sse)];
    let name = object.required("name", problems, name);
    let kind =
        object.required("type", problems, |field, problems| choice(&types)(field, problems))?;
    let transport = if kind == Type::Stdio {
        deny(&object, &REMOTE_KEYS, "stdio", problems);
        let command = object.required("command", problems, program);
        let args = object.or("args", Vec::new(), problems, list("strings", argument));
        let env = object.or("env", Vec::new(), problems, read_env);
        McpTransport::Stdio { command: command?, args: args?, env: env? }
    } else {
        let word = if kind == Type::Http { "http" } else { "sse" };
        deny(&object, &STDIO_KEYS, word, problems);
        let url = object.required("url", problems, read_url);
        let headers = object.or("headers", Vec::new(), problems, read_headers);
        let (url, headers) = (url?, headers?);
        if kind == Type::Http {
            McpTransport::Http { url, headers }
        } else {
            McpTransport::Sse { url, headers }
        }
    };
    Some(McpServer { name: name?, transport, at: field.node().location })
}

/// Pushes an error for every key that belongs to servers of another type.
fn deny(object: &Object<'_>, keys: &[&str], kind: &str, problems: &mut Problems) {
    for member in keys.iter().filter_map(|key| object.get(key)) {
        let message = format!("does not belong to a server of type `{kind}`");
        problems.push(object.key_error(member, message).rule(Rule::Mcp));
    }
}

fn argument(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let text = text(field, problems)?;
    without_nul(field, text, problems)
}

fn program(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let text = words(field, problems)?;
    without_nul(field, text, problems)
}

fn read_env(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<McpEnv>> {
    unique(
        "variables",
        |one: &McpEnv| one.name.to_string(),
        |field, problems| {
            let object = Object::at(field, "an object with `name` and `from`", problems)?;
            object.deny_unknown(&["name", "from", "value"], problems);
            if let Some(member) = object.get("value") {
                let error: Diagnostic = object.key_error(member, "values do not stand at a server");
                let hint = "declare it in `environment_variables`, and name it in `from`";
                problems.push(error.rule(Rule::Mcp).hint(hint));
                return None;
            }
            let to = object.required("name", problems, name);
            let from = object.required("from", problems, name);
            Some(McpEnv { name: to?, from: from? })
        },
    )(field, problems)
}

fn read_url(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let url = program(field, problems)?;
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    if rest.is_none_or(|rest| rest.is_empty() || url.chars().any(char::is_whitespace)) {
        problems.push(field.expected("an `http://` or `https://` address").rule(Rule::Mcp));
        return None;
    }
    Some(url)
}

fn read_headers(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<McpHeader>> {
    list("headers", |field, problems| {
        let object = Object::at(field, "a header: an object with `name` and `value`", problems)?;
        object.deny_unknown(&["name", "value"], problems);
        let name = object.required("name", problems, |field, problems| {
            let name = words(field, problems)?;
            let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
            if !name.bytes().all(token) {
                problems.push(field.expected("the name of a header").rule(Rule::Mcp));
                return None;
            }
            Some(name)
        });
        let value = object.required("value", problems, |field, problems| {
            let value = value(field, problems)?;
            if matches!(&value, Value::Literal(text) if text.contains(['\r', '\n'])) {
                problems.push(field.expected("the value of a header, one line").rule(Rule::Mcp));
                return None;
            }
            Some(value)
        });
        Some(McpHeader { name: name?, value: value? })
    })(field, problems)
}
