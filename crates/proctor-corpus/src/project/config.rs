//! `.cratis/ai.json`: what the project chose. Committed, and owned by the project.

use std::collections::BTreeMap;

use proctor_model::{Diagnostic, Diagnostics, nearest};

use super::{invalid, read_json};
use crate::CONFIGURATION;
use crate::error::InstallError;
use crate::json::Json;
use crate::selection::Selection;
use crate::tree::Tree;

/// The version that is written; whatever stands in a file is accepted.
const SCHEMA_VERSION: &str = "1.0";
/// Bytes of the file.
const LIMIT: u64 = 4 << 20;
const LISTS: [&str; 3] = ["harnesses", "profiles", "languages"];

/// What a project chose to install.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectConfig {
    /// The three lists; one that is absent is empty.
    pub selection: Selection,
    /// Settings of MCP servers by id.
    pub mcp_servers: BTreeMap<String, McpSetting>,
    /// What its author probably did not mean.
    pub warnings: Vec<String>,
    document: Vec<(String, Json)>,
}

/// A project's setting for an MCP server of the corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpSetting {
    /// Whether it is registered with the harnesses; true unless the file says otherwise.
    pub enabled: bool,
    /// The directory that it works on, relative to the project.
    pub root: Option<String>,
}

impl ProjectConfig {
    /// Reads the file; `None` when there is none. A list of the wrong type is an error: read as
    /// empty, it would quietly install nothing.
    pub(super) fn read(tree: &Tree) -> Result<Option<Self>, InstallError> {
        let Some(json) = read_json(tree, CONFIGURATION, LIMIT)? else { return Ok(None) };
        let Json::Object(document) = json else {
            let message = format!("{}, expected an object", json.kind());
            return Err(invalid(Diagnostic::error(message).in_file(CONFIGURATION)));
        };
        let mut mistakes = Diagnostics::default();
        let [harnesses, profiles, languages] =
            LISTS.map(|name| list(&document, name, &mut mistakes));
        let mcp_servers = mcp_servers(&document, &mut mistakes);
        if mistakes.has_errors() {
            return Err(InstallError::Invalid(mistakes));
        }
        let selection = Selection { harnesses, profiles, languages };
        let warnings = misspelt(&document);
        Ok(Some(Self { selection, mcp_servers, warnings, document }))
    }

    /// The text of the file for a selection: members keep their order and value, missing ones are
    /// added at the end.
    pub(super) fn text(previous: Option<&Self>, selection: &Selection) -> String {
        let mut document = previous.map(|config| config.document.clone()).unwrap_or_default();
        let lists = [&selection.harnesses, &selection.profiles, &selection.languages];
        set(&mut document, "schemaVersion", Json::String(SCHEMA_VERSION.to_owned()));
        for (name, values) in LISTS.into_iter().zip(lists) {
            set(&mut document, name, Json::strings(values));
        }
        Json::Object(document).to_indented()
    }
}

fn set(document: &mut Vec<(String, Json)>, name: &str, value: Json) {
    match document.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => document.push((name.to_owned(), value)),
    }
}

fn member<'a>(document: &'a [(String, Json)], name: &str) -> Option<&'a Json> {
    document.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

fn mistake(field: impl Into<String>, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(message).in_file(CONFIGURATION).field(field)
}

fn list(document: &[(String, Json)], name: &str, mistakes: &mut Diagnostics) -> Vec<String> {
    let Some(value) = member(document, name) else { return Vec::new() };
    let Some(items) = value.items() else {
        let message = format!("{}, expected an array of strings", value.kind());
        mistakes.push(mistake(name, message));
        return Vec::new();
    };
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        match item.text() {
            Some(text) => texts.push(text.to_owned()),
            None => mistakes.push(mistake(
                format!("{name}[{index}]"),
                format!("{}, expected a string", item.kind()),
            )),
        }
    }
    texts
}

fn mcp_servers(
    document: &[(String, Json)],
    mistakes: &mut Diagnostics,
) -> BTreeMap<String, McpSetting> {
    let mut servers = BTreeMap::new();
    let Some(value) = member(document, "mcpServers") else { return servers };
    let Some(members) = value.members() else {
        let message = format!("{}, expected an object", value.kind());
        mistakes.push(mistake("mcpServers", message));
        return servers;
    };
    for (id, value) in members {
        let at = format!("mcpServers.{id}");
        if let Some(setting) = mcp_setting(&at, value, mistakes) {
            servers.insert(id.clone(), setting);
        }
    }
    servers
}

fn mcp_setting(at: &str, value: &Json, mistakes: &mut Diagnostics) -> Option<McpSetting> {
    let Some(members) = value.members() else {
        mistakes.push(mistake(at, format!("{}, expected an object", value.kind())));
        return None;
    };
    let mut setting = McpSetting { enabled: true, root: None };
    for (name, value) in members {
        let field = format!("{at}.{name}");
        match (name.as_str(), value) {
            ("enabled", Json::Bool(enabled)) => setting.enabled = *enabled,
            ("enabled", other) => {
                mistakes.push(mistake(field, format!("{}, expected a boolean", other.kind())));
            }
            ("root", Json::String(root)) => match root_offence(root) {
                None => setting.root = Some(root.clone()),
                Some(offence) => mistakes.push(
                    mistake(field, format!("`{root}` {offence}"))
                        .hint("write a directory relative to the project, with `/`"),
                ),
            },
            ("root", other) => {
                mistakes.push(mistake(field, format!("{}, expected a string", other.kind())));
            }
            _ => mistakes.push(unknown_key(field, name)),
        }
    }
    Some(setting)
}

fn unknown_key(field: String, name: &str) -> Diagnostic {
    let diagnostic = mistake(field, "unknown key, expected `enabled` or `root`");
    match nearest(name, ["enabled", "root"]) {
        Some(known) => diagnostic.hint(format!("did you mean `{known}`?")),
        None => diagnostic,
    }
}

/// Why a directory is no portable one below the project. Hosts expand `$` and braces, Windows
/// gives `\` and `:` a meaning.
fn root_offence(root: &str) -> Option<&'static str> {
    if root.trim().is_empty() {
        Some("is empty")
    } else if root.starts_with('/') {
        Some("is absolute")
    } else if root.split('/').any(|segment| segment == "..") {
        Some("leaves the project")
    } else if root.contains(['\\', ':', '$', '{', '}', '\0', '\r', '\n']) {
        Some("holds a character that is not portable")
    } else {
        None
    }
}

/// Keys of the user's are kept whatever they are called, but a near miss of a list is worth a word.
fn misspelt(document: &[(String, Json)]) -> Vec<String> {
    let missing: Vec<&str> =
        LISTS.into_iter().filter(|name| member(document, name).is_none()).collect();
    document
        .iter()
        .filter(|(name, value)| value.items().is_some() && !LISTS.contains(&name.as_str()))
        .filter_map(|(name, _)| Some((name, nearest(name, missing.iter().copied())?)))
        .map(|(name, known)| {
            format!("`{CONFIGURATION}` has `{name}` and no `{known}`; did you mean `{known}`?")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;

    fn read(text: &str) -> Result<Option<ProjectConfig>, InstallError> {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".cratis")).unwrap();
        std::fs::write(temp.path().join(CONFIGURATION), text).unwrap();
        ProjectConfig::read(&Tree::new(Utf8Path::from_path(temp.path()).unwrap()))
    }

    #[test]
    fn a_rewrite_keeps_every_value_and_its_order() {
        let text = "\u{feff}{\n\t\"version\": 1.10, \"profiles\": [\"a\"], \"schemaVersion\": 1,\n\
                    \"systemOne\": {\"z\": null, \"a\": [1e2]}, \"harnesses\": []\n}\n";
        let config = read(text).unwrap().unwrap();
        let selection = Selection { harnesses: vec!["pi".into()], ..config.selection.clone() };
        insta::assert_snapshot!(ProjectConfig::text(Some(&config), &selection), @r#"
        {
          "version": 1.10,
          "profiles": [
            "a"
          ],
          "schemaVersion": "1.0",
          "systemOne": {
            "z": null,
            "a": [
              1e2
            ]
          },
          "harnesses": [
            "pi"
          ],
          "languages": []
        }
        "#);
    }

    #[test]
    fn a_new_file_has_the_four_members() {
        insta::assert_snapshot!(ProjectConfig::text(None, &Selection::default()), @r#"
        {
          "schemaVersion": "1.0",
          "harnesses": [],
          "profiles": [],
          "languages": []
        }
        "#);
    }

    #[test]
    fn absent_lists_are_empty_and_near_misses_are_named() {
        let config =
            read(r#"{"profile": ["a"], "harnesses": ["pi"], "notes": []}"#).unwrap().unwrap();
        assert!(config.selection.profiles.is_empty());
        insta::assert_snapshot!(config.warnings.join("\n"), @"`.cratis/ai.json` has `profile` and no `profiles`; did you mean `profiles`?");
        assert!(read("{}").unwrap().unwrap().warnings.is_empty());
    }

    #[test]
    fn every_mistake_names_file_and_key() {
        let text = r#"{"harnesses": "claude", "profiles": [1, "a", null], "languages": null,
            "mcpServers": {"a": 1, "b": {"enabeld": true, "root": "../x", "other": 1},
                "c": {"enabled": 1, "root": 2}, "d": {"root": "/x"}, "e": {"root": "${x}"}}}"#;
        insta::assert_snapshot!(read(text).unwrap_err(), @r"
        .cratis/ai.json: harnesses: a string, expected an array of strings
        .cratis/ai.json: profiles[0]: a number, expected a string
        .cratis/ai.json: profiles[2]: null, expected a string
        .cratis/ai.json: languages: null, expected an array of strings
        .cratis/ai.json: mcpServers.a: a number, expected an object
        .cratis/ai.json: mcpServers.b.enabeld: unknown key, expected `enabled` or `root` (hint: did you mean `enabled`?)
        .cratis/ai.json: mcpServers.b.root: `../x` leaves the project (hint: write a directory relative to the project, with `/`)
        .cratis/ai.json: mcpServers.b.other: unknown key, expected `enabled` or `root`
        .cratis/ai.json: mcpServers.c.enabled: a number, expected a boolean
        .cratis/ai.json: mcpServers.c.root: a number, expected a string
        .cratis/ai.json: mcpServers.d.root: `/x` is absolute (hint: write a directory relative to the project, with `/`)
        .cratis/ai.json: mcpServers.e.root: `${x}` holds a character that is not portable (hint: write a directory relative to the project, with `/`)
        ");
        insta::assert_snapshot!(read(r#"{"harnesses": [], "harnesses": ["pi"]}"#).unwrap_err(),
            @".cratis/ai.json:1:19: `harnesses` stands twice in one object (hint: keep one of them)");
        insta::assert_snapshot!(read("[]").unwrap_err(), @".cratis/ai.json: an array, expected an object");
        insta::assert_snapshot!(read("").unwrap_err(), @".cratis/ai.json: the file is empty, expected JSON");
    }

    #[test]
    fn mcp_settings_are_read() {
        let config = read(r#"{"mcpServers": {"a": {}, "b": {"enabled": false, "root": "./m"}}}"#);
        let servers = config.unwrap().unwrap().mcp_servers;
        assert_eq!(servers["a"], McpSetting { enabled: true, root: None });
        assert_eq!(servers["b"], McpSetting { enabled: false, root: Some("./m".into()) });
    }
}
