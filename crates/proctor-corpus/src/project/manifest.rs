//! `.cratis/ai.manifest.json`: what was installed. Committed, and owned by the installers.

use std::collections::BTreeSet;

use proctor_model::{Diagnostic, Diagnostics};

use super::mcp;
use super::{invalid, read_json};
use crate::error::InstallError;
use crate::json::Json;
use crate::links::Integration;
use crate::tree::{Tree, parent, path_offence};
use crate::{INSTALLATION_MANIFEST, MANAGED_DIRECTORY};

/// Bytes of the file; a full installation of the largest known corpus takes a tenth of one MiB.
const LIMIT: u64 = 64 << 20;
/// The revision of an installation that has no record.
const UNKNOWN: &str = "unknown";

/// The record of an installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) revision: String,
    pub(super) files: Vec<ManagedFile>,
    pub(super) integrations: Vec<Integration>,
    pub(super) mcp_servers: Vec<McpEntry>,
    /// Selected MCP servers that could not be registered, as `harness/id: why`.
    pub(super) unsupported: Vec<String>,
    /// MCP servers that a harness reaches by an installed extension, as `harness/id`.
    pub(super) extensions: Vec<String>,
}

/// An installed file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ManagedFile {
    /// Relative to the managed directory; source and destination are always the same.
    pub(super) destination: String,
    /// Upper-case hexadecimal SHA-256 of the installed bytes.
    pub(super) hash: String,
}

/// A member of a harness's configuration file that an installation put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct McpEntry {
    pub(super) harness: String,
    /// The configuration file, relative to the project.
    pub(super) path: String,
    /// The member of the file that holds the servers.
    pub(super) collection: String,
    pub(super) id: String,
    pub(super) installed: Json,
}

impl Default for Manifest {
    fn default() -> Self {
        Self {
            revision: UNKNOWN.to_owned(),
            files: Vec::new(),
            integrations: Vec::new(),
            mcp_servers: Vec::new(),
            unsupported: Vec::new(),
            extensions: Vec::new(),
        }
    }
}

impl Manifest {
    /// Reads the record; `None` when there is none. Paths that leave their directory and links that
    /// lead elsewhere are refused: the record decides what is deleted.
    pub(super) fn read(tree: &Tree) -> Result<Option<Self>, InstallError> {
        let Some(json) = read_json(tree, INSTALLATION_MANIFEST, LIMIT)? else { return Ok(None) };
        if json.members().is_none() {
            let message = format!("{}, expected an object", json.kind());
            return Err(invalid(Diagnostic::error(message).in_file(INSTALLATION_MANIFEST)));
        }
        let mut reader = Reader { mistakes: Diagnostics::default() };
        let manifest = Self {
            revision: reader.string(&json, "", "SourceRevision").unwrap_or_default(),
            files: reader.list(&json, "Files", Reader::file),
            integrations: reader.list(&json, "Integrations", Reader::integration),
            mcp_servers: reader.list(&json, "McpServers", Reader::mcp_entry),
            unsupported: reader.list(&json, "UnsupportedMcpServers", Reader::text),
            extensions: reader.list(&json, "McpExtensions", Reader::text),
        };
        let destinations = manifest.files.iter().map(|file| file.destination.as_str());
        reader.once("Files", destinations);
        let paths = manifest.integrations.iter().map(|link| link.path.as_str());
        reader.once("Integrations", paths);
        if reader.mistakes.0.is_empty() {
            Ok(Some(manifest))
        } else {
            Err(InstallError::Invalid(reader.mistakes))
        }
    }

    /// The text of the record; files and links are put in byte order.
    pub(super) fn text(&mut self) -> String {
        self.files.sort_by(|a, b| a.destination.cmp(&b.destination));
        self.integrations.sort_by(|a, b| a.path.cmp(&b.path));
        object([
            ("SourceRevision", text(&self.revision)),
            ("Files", array(&self.files, file_json)),
            ("Integrations", array(&self.integrations, integration_json)),
            ("McpServers", array(&self.mcp_servers, mcp_entry_json)),
            ("UnsupportedMcpServers", Json::strings(&self.unsupported)),
            ("McpExtensions", Json::strings(&self.extensions)),
        ])
        .to_indented()
    }
}

fn text(value: &str) -> Json {
    Json::String(value.to_owned())
}

fn array<T>(items: &[T], json: impl Fn(&T) -> Json) -> Json {
    Json::Array(items.iter().map(json).collect())
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
}

fn file_json(file: &ManagedFile) -> Json {
    object([
        ("Source", text(&file.destination)),
        ("Destination", text(&file.destination)),
        ("Hash", text(&file.hash)),
    ])
}

fn integration_json(link: &Integration) -> Json {
    object([
        ("Path", text(&link.path)),
        ("Target", text(&link.target)),
        ("IsDirectory", Json::Bool(link.is_directory)),
        ("PreserveExisting", Json::Bool(link.preserve_existing)),
    ])
}

fn mcp_entry_json(entry: &McpEntry) -> Json {
    object([
        ("Harness", text(&entry.harness)),
        ("Path", text(&entry.path)),
        ("Collection", text(&entry.collection)),
        ("Id", text(&entry.id)),
        ("Installed", entry.installed.clone()),
        // What stood there before; always nothing, because entries of others are never replaced.
        ("Preimage", Json::Null),
    ])
}

struct Reader {
    mistakes: Diagnostics,
}

impl Reader {
    fn wrong(&mut self, field: impl Into<String>, message: impl Into<String>) {
        let diagnostic = Diagnostic::error(message).in_file(INSTALLATION_MANIFEST).field(field);
        self.mistakes.push(diagnostic);
    }

    /// An absent or null list is empty: older installers wrote fewer of them.
    fn list<T>(
        &mut self,
        json: &Json,
        name: &str,
        read: impl Fn(&mut Self, &Json, &str) -> Option<T>,
    ) -> Vec<T> {
        match json.get(name) {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(items)) => items
                .iter()
                .enumerate()
                .filter_map(|(index, item)| read(self, item, &format!("{name}[{index}]")))
                .collect(),
            Some(other) => {
                self.wrong(name, format!("{}, expected an array", other.kind()));
                Vec::new()
            }
        }
    }

    fn text(&mut self, json: &Json, at: &str) -> Option<String> {
        let value = json.text().map(str::to_owned);
        if value.is_none() {
            self.wrong(at, format!("{}, expected a string", json.kind()));
        }
        value
    }

    fn string(&mut self, json: &Json, at: &str, name: &str) -> Option<String> {
        let field = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        if let Some(value) = json.get(name) {
            self.text(value, &field)
        } else {
            self.wrong(field, "missing");
            None
        }
    }

    fn path(&mut self, json: &Json, at: &str, name: &str) -> Option<String> {
        let path = self.string(json, at, name)?;
        match path_offence(&path) {
            None => Some(path),
            Some(offence) => {
                self.wrong(format!("{at}.{name}"), format!("`{}` {offence}", path.escape_debug()));
                None
            }
        }
    }

    /// A flag that older installers left out reads as false.
    fn flag(&mut self, json: &Json, at: &str, name: &str) -> bool {
        match json.get(name) {
            Some(Json::Bool(value)) => *value,
            None => false,
            Some(other) => {
                let message = format!("{}, expected a boolean", other.kind());
                self.wrong(format!("{at}.{name}"), message);
                false
            }
        }
    }

    fn file(&mut self, json: &Json, at: &str) -> Option<ManagedFile> {
        let destination = self.path(json, at, "Destination");
        let hash = self.string(json, at, "Hash");
        Some(ManagedFile { destination: destination?, hash: hash? })
    }

    fn integration(&mut self, json: &Json, at: &str) -> Option<Integration> {
        let path = self.path(json, at, "Path");
        let target = self.string(json, at, "Target");
        let is_directory = self.flag(json, at, "IsDirectory");
        let preserve_existing = self.flag(json, at, "PreserveExisting");
        let (path, target) = (path?, target?);
        if !leads_into_managed(&path, &target) {
            let message = format!("`{}` leads out of `{MANAGED_DIRECTORY}`", target.escape_debug());
            self.wrong(format!("{at}.Target"), message);
            return None;
        }
        Some(Integration { path, target, is_directory, preserve_existing })
    }

    fn mcp_entry(&mut self, json: &Json, at: &str) -> Option<McpEntry> {
        let harness = self.string(json, at, "Harness");
        let path = self.path(json, at, "Path");
        let collection = self.string(json, at, "Collection");
        let id = self.string(json, at, "Id");
        let installed = json.get("Installed").cloned();
        if installed.is_none() {
            self.wrong(format!("{at}.Installed"), "missing");
        }
        let entry = McpEntry {
            harness: harness?,
            path: path?,
            collection: collection?,
            id: id?,
            installed: installed?,
        };
        if !mcp::is_ours(&entry) {
            let McpEntry { harness, path, collection, id, .. } = &entry;
            let message = format!("`{path}:{collection}.{id}` is no place for {harness}'s servers");
            self.wrong(at, message);
            return None;
        }
        Some(entry)
    }

    fn once<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        let mut seen = BTreeSet::new();
        for value in values {
            if !seen.insert(value) {
                self.wrong(name, format!("`{value}` is listed twice"));
            }
        }
    }
}

/// Whether a relative link at `path` leads below the managed directory, by its text alone.
fn leads_into_managed(path: &str, target: &str) -> bool {
    let mut at: Vec<&str> = parent(path).split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in target.split('/') {
        match segment {
            ".." => {
                if at.pop().is_none() {
                    return false;
                }
            }
            "." => {}
            "" => return false,
            name => at.push(name),
        }
    }
    let path = at.join("/");
    path.strip_prefix(MANAGED_DIRECTORY).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use camino::Utf8Path;

    fn read(text: &str) -> Result<Option<Manifest>, InstallError> {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir(temp.path().join(".cratis")).unwrap();
        std::fs::write(temp.path().join(INSTALLATION_MANIFEST), text).unwrap();
        Manifest::read(&Tree::new(Utf8Path::from_path(temp.path()).unwrap()))
    }

    const FULL: &str = r#"{
  "SourceRevision": "abc",
  "Files": [
    {
      "Source": "rules/t\u00E9.md",
      "Destination": "rules/t\u00E9.md",
      "Hash": "00"
    }
  ],
  "Integrations": [
    {
      "Path": ".claude/rules",
      "Target": "../.cratis/ai/rules",
      "IsDirectory": true,
      "PreserveExisting": false
    },
    {
      "Path": "AGENTS.md",
      "Target": ".cratis/ai/rules/general.md",
      "IsDirectory": false,
      "PreserveExisting": true
    }
  ],
  "McpServers": [
    {
      "Harness": "claude",
      "Path": ".mcp.json",
      "Collection": "mcpServers",
      "Id": "screenplay",
      "Installed": {
        "type": "stdio",
        "args": []
      },
      "Preimage": null
    }
  ],
  "UnsupportedMcpServers": [],
  "McpExtensions": [
    "pi/screenplay"
  ]
}"#;

    #[test]
    fn what_is_read_is_written_again_byte_for_byte() {
        assert_eq!(read(FULL).unwrap().unwrap().text(), FULL);
    }

    #[test]
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn a_published_record_is_written_again_byte_for_byte() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../../shared/data/conformance/ai.manifest.sample.json"
        );
        let Ok(published) = std::fs::read_to_string(path) else {
            eprintln!("skipped: no published record at hand");
            return;
        };
        assert_eq!(read(&published).unwrap().unwrap().text(), published);
    }

    #[test]
    fn order_is_that_of_bytes() {
        let file = |name: &str| ManagedFile { destination: name.into(), hash: "0".into() };
        let mut manifest = Manifest {
            files: ["b", "a.md", "Z", "a/b", "a-b"].map(file).into(),
            ..Manifest::default()
        };
        manifest.text();
        let order: Vec<_> = manifest.files.iter().map(|file| file.destination.as_str()).collect();
        assert_eq!(order, ["Z", "a-b", "a.md", "a/b", "b"]);
    }

    #[test]
    fn an_older_record_is_read() {
        let manifest = read(r#"{"SourceRevision": "x", "Files": null}"#).unwrap().unwrap();
        assert_eq!(manifest, Manifest { revision: "x".into(), ..Manifest::default() });
    }

    #[test]
    fn hostile_records_are_refused() {
        let text = r#"{"SourceRevision": 1, "Files": [
            {"Destination": "../../.git/config", "Hash": ""}, {"Destination": "/etc/x", "Hash": ""},
            {"Destination": "a\u0000b", "Hash": ""}, {"Destination": "ok", "Hash": ""},
            {"Destination": "ok", "Hash": ""}, {"Hash": 1}],
          "Integrations": [
            {"Path": "../x", "Target": ".cratis/ai/rules"},
            {"Path": "a", "Target": "/etc"}, {"Path": "a", "Target": "../.cratis/ai/rules"},
            {"Path": "b/c", "Target": "../.cratis/ai"}, {"Path": "b/c", "Target": "../.cratis/ai/x/../../y"},
            {"Path": "d", "Target": ".cratis/ai/x", "IsDirectory": "no"}],
          "McpServers": [{"Harness": "claude", "Path": ".bashrc", "Collection": "mcpServers",
            "Id": "screenplay", "Installed": {}}],
          "McpExtensions": "x"}"#;
        insta::assert_snapshot!(read(text).unwrap_err(), @r"
        .cratis/ai.manifest.json: SourceRevision: a number, expected a string
        .cratis/ai.manifest.json: Files[0].Destination: `../../.git/config` leaves its directory
        .cratis/ai.manifest.json: Files[1].Destination: `/etc/x` is absolute
        .cratis/ai.manifest.json: Files[2].Destination: `a\0b` holds a backslash or a control character
        .cratis/ai.manifest.json: Files[5].Destination: missing
        .cratis/ai.manifest.json: Files[5].Hash: a number, expected a string
        .cratis/ai.manifest.json: Integrations[0].Path: `../x` leaves its directory
        .cratis/ai.manifest.json: Integrations[1].Target: `/etc` leads out of `.cratis/ai`
        .cratis/ai.manifest.json: Integrations[2].Target: `../.cratis/ai/rules` leads out of `.cratis/ai`
        .cratis/ai.manifest.json: Integrations[3].Target: `../.cratis/ai` leads out of `.cratis/ai`
        .cratis/ai.manifest.json: Integrations[4].Target: `../.cratis/ai/x/../../y` leads out of `.cratis/ai`
        .cratis/ai.manifest.json: Integrations[5].IsDirectory: a string, expected a boolean
        .cratis/ai.manifest.json: McpServers[0]: `.bashrc:mcpServers.screenplay` is no place for claude's servers
        .cratis/ai.manifest.json: McpExtensions: a string, expected an array
        .cratis/ai.manifest.json: Files: `ok` is listed twice
        ");
    }
}
