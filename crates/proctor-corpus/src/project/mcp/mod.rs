//! MCP servers of a corpus, registered in each harness's own configuration file.
//!
//! A harness keeps the servers of a project as members of a file that belongs to the user, so only
//! the member is ours: it is added, replaced and removed by itself, every other byte stays, and a
//! member that somebody else wrote or edited is a conflict that force does not override.
//!
//! Which file, which member and which arguments is known for one server, `screenplay`: it takes its
//! project from `--project-root` or `--project-root-env`. Any other server, and any harness without
//! such a file, is reported as unsupported. Pi reaches servers through an extension that the corpus
//! may bring.

mod document;

use std::collections::BTreeMap;

use proctor_model::Diagnostic;

use super::config::ProjectConfig;
use super::invalid;
use super::manifest::{Manifest, McpEntry};
use super::steps::Step;
use crate::corpus::McpServer;
use crate::error::{Conflict, ConflictKind, InstallError};
use crate::json::Json;
use crate::slice::Slice;
use crate::tree::{Entry, Tree};
use document::Document;

/// The server whose project arguments are known.
const KNOWN_SERVER: &str = "screenplay";
/// Either file is the extension by which Pi reaches servers.
const PI_EXTENSION: [&str; 2] =
    ["harnesses/pi/extensions/cratis-mcp.ts", "harnesses/pi/extensions/cratis-mcp/index.ts"];

/// Where a harness keeps the servers of a project: file, collection.
const PLACES: [(&str, &str, &str); 6] = [
    ("claude", ".mcp.json", "mcpServers"),
    ("codex", ".codex/config.toml", "mcp_servers"),
    ("copilot", ".vscode/mcp.json", "servers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("opencode", "opencode.json", "mcp"),
    ("opencode", "opencode.jsonc", "mcp"),
];

/// Whether a recorded entry is one that an installation can have made.
pub(super) fn is_ours(entry: &McpEntry) -> bool {
    let place = (entry.harness.as_str(), entry.path.as_str(), entry.collection.as_str());
    PLACES.contains(&place) && entry.id == KNOWN_SERVER
}

/// What an installation does with MCP servers.
#[derive(Debug, Default)]
pub(super) struct McpPlan {
    pub(super) entries: Vec<McpEntry>,
    pub(super) unsupported: Vec<String>,
    pub(super) extensions: Vec<String>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) actions: Vec<String>,
    pub(super) steps: Vec<Step>,
}

impl McpPlan {
    /// Plans the registration of the slice's servers and the removal of those of before.
    pub(super) fn install(
        tree: &Tree,
        slice: &Slice,
        config: Option<&ProjectConfig>,
        previous: &Manifest,
    ) -> Result<Self, InstallError> {
        let mut plan = Self::default();
        let mut desired = Vec::new();
        let mut roots = Vec::new();
        for server in slice.mcp_servers() {
            let setting = config.and_then(|config| config.mcp_servers.get(&server.id));
            if setting.is_some_and(|setting| !setting.enabled) {
                continue;
            }
            let reached = plan.register(tree, slice, server, previous, &mut desired)?;
            if let Some(root) =
                setting.and_then(|setting| setting.root.as_deref()).filter(|_| reached)
            {
                roots.push(normal(root));
            }
        }
        let mut documents = Documents::new(tree);
        plan.remove_unwanted(&previous.mcp_servers, &desired, &mut documents)?;
        plan.add_wanted(desired, &previous.mcp_servers, &mut documents)?;
        plan.make_roots(tree, &roots)?;
        plan.steps.extend(documents.steps());
        Ok(plan)
    }

    /// Plans the removal of every entry.
    pub(super) fn uninstall(tree: &Tree, previous: &Manifest) -> Result<Self, InstallError> {
        let mut plan = Self::default();
        let mut documents = Documents::new(tree);
        plan.remove_unwanted(&previous.mcp_servers, &[], &mut documents)?;
        plan.steps.extend(documents.steps());
        Ok(plan)
    }

    /// Whether any harness reaches the server.
    fn register(
        &mut self,
        tree: &Tree,
        slice: &Slice,
        server: &McpServer,
        previous: &Manifest,
        desired: &mut Vec<McpEntry>,
    ) -> Result<bool, InstallError> {
        let mut reached = false;
        for harness in slice.harness_ids() {
            let name = format!("{harness}/{}", server.id);
            if harness.as_str() == "pi" && server.id == KNOWN_SERVER {
                if PI_EXTENSION.iter().any(|file| slice.has_file(file)) {
                    if !previous.extensions.contains(&name) {
                        self.actions.push(format!("Configured MCP {name} by its extension"));
                    }
                    self.extensions.push(name);
                    reached = true;
                } else {
                    self.unsupported.push(format!(
                        "{name}: the corpus brings no MCP extension for this harness"
                    ));
                }
            } else if let Some(entry) = entry(tree, harness, server)? {
                desired.push(entry);
                reached = true;
            } else {
                self.unsupported.push(format!("{name}: no way to register it is known"));
            }
        }
        Ok(reached)
    }

    fn remove_unwanted(
        &mut self,
        previous: &[McpEntry],
        desired: &[McpEntry],
        documents: &mut Documents<'_>,
    ) -> Result<(), InstallError> {
        for entry in previous {
            let document = documents.get(&entry.path)?;
            if !is_installed(entry, document.get(&entry.collection, &entry.id)?.as_ref()) {
                self.conflicts.push(conflict(entry, ConflictKind::EditedMcpEntry));
                continue;
            }
            if desired.iter().any(|other| same_member(entry, other)) {
                continue;
            }
            if document.remove(&entry.collection, &entry.id, &entry.installed)? {
                let McpEntry { harness, id, path, .. } = entry;
                self.actions.push(format!("Removed MCP {harness}/{id} from {path}"));
            } else {
                self.conflicts.push(conflict(entry, ConflictKind::EditedMcpEntry));
            }
        }
        Ok(())
    }

    fn add_wanted(
        &mut self,
        desired: Vec<McpEntry>,
        previous: &[McpEntry],
        documents: &mut Documents<'_>,
    ) -> Result<(), InstallError> {
        for entry in desired {
            let owned = previous.iter().find(|other| same_member(&entry, other));
            let document = documents.get(&entry.path)?;
            let current = document.get(&entry.collection, &entry.id)?;
            match (owned, current) {
                (None, Some(_)) => {
                    self.conflicts.push(conflict(&entry, ConflictKind::ForeignMcpEntry));
                    continue;
                }
                // Reported as edited already.
                (Some(owned), current) if !is_installed(owned, current.as_ref()) => continue,
                (_, Some(current)) if current.same_as(&entry.installed) => {}
                (owned, _) => {
                    let old = owned.map(|owned| &owned.installed);
                    if !document.set(&entry.collection, &entry.id, old, &entry.installed)? {
                        self.conflicts.push(conflict(&entry, ConflictKind::EditedMcpEntry));
                        continue;
                    }
                    let McpEntry { harness, id, path, .. } = &entry;
                    self.actions.push(format!("Configured MCP {harness}/{id} in {path}"));
                }
            }
            self.entries.push(entry);
        }
        Ok(())
    }

    fn make_roots(&mut self, tree: &Tree, roots: &[String]) -> Result<(), InstallError> {
        for root in roots.iter().filter(|root| !root.is_empty()) {
            match tree
                .entry(root)
                .map_err(|source| super::io_error("read", tree.at(root), source))?
            {
                Entry::Directory => {}
                Entry::Absent => {
                    self.steps.push(Step::Directory { path: root.clone() });
                    self.actions.push(format!("Created MCP directory {root}"));
                }
                Entry::Blocked(path) => {
                    self.conflicts.push(Conflict { path, kind: ConflictKind::NotOurs });
                }
                _ => {
                    let path = root.clone();
                    self.conflicts.push(Conflict { path, kind: ConflictKind::NotOurs });
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with the registered servers: edited entries, and settings that no longer fit.
pub(super) fn drift(
    tree: &Tree,
    config: Option<&ProjectConfig>,
    manifest: &Manifest,
) -> Result<(Vec<String>, Vec<String>), InstallError> {
    let mut documents = Documents::new(tree);
    let mut edited = Vec::new();
    for entry in &manifest.mcp_servers {
        let document = documents.get(&entry.path)?;
        if !is_installed(entry, document.get(&entry.collection, &entry.id)?.as_ref()) {
            edited.push(member(entry));
        }
    }
    let registered = manifest.mcp_servers.iter().map(|entry| entry.id.as_str());
    let extended = manifest.extensions.iter().filter_map(|name| name.split('/').nth(1));
    let mut ids: Vec<&str> = registered.chain(extended).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut problems = Vec::new();
    for id in ids {
        let Some(setting) = config.and_then(|config| config.mcp_servers.get(id)) else { continue };
        if !setting.enabled {
            problems.push(format!("mcpServers.{id}.enabled"));
        } else if let Some(root) =
            setting.root.as_deref().map(normal).filter(|root| !root.is_empty())
        {
            let entry = tree.entry(&root);
            let entry = entry.map_err(|source| super::io_error("read", tree.at(&root), source))?;
            if entry != Entry::Directory {
                problems.push(root);
            }
        }
    }
    Ok((edited, problems))
}

/// The member that registers `server` with `harness`; `None` when no way is known.
fn entry(tree: &Tree, harness: &str, server: &McpServer) -> Result<Option<McpEntry>, InstallError> {
    let harness = harness.to_ascii_lowercase();
    let place = PLACES.iter().find(|(id, _, _)| *id == harness);
    let Some((_, path, collection)) = place.filter(|_| server.id == KNOWN_SERVER) else {
        return Ok(None);
    };
    let path = if harness == "opencode" { opencode_file(tree)? } else { *path };
    let project: &[&str] = match harness.as_str() {
        // Claude Code does not expand variables in arguments; it sets this one for the server.
        "claude" => &["--project-root-env", "CLAUDE_PROJECT_DIR"],
        "copilot" | "cursor" => &["--project-root", "${workspaceFolder}"],
        _ => &["--project-root", "."],
    };
    let mut args = server.args.clone();
    args.extend(project.iter().map(|&arg| arg.to_owned()));
    let text = |value: &str| Json::String(value.to_owned());
    let command = text(&server.command);
    let members = match harness.as_str() {
        "codex" => vec![("command", command), ("args", Json::strings(&args))],
        "opencode" => {
            args.insert(0, server.command.clone());
            vec![
                ("type", text("local")),
                ("command", Json::strings(&args)),
                ("enabled", Json::Bool(true)),
            ]
        }
        _ => vec![("type", text("stdio")), ("command", command), ("args", Json::strings(&args))],
    };
    let installed = members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Ok(Some(McpEntry {
        path: path.to_owned(),
        collection: (*collection).to_owned(),
        id: server.id.clone(),
        installed: Json::Object(installed),
        harness,
    }))
}

/// The configuration file that `opencode` uses here; with both, the user has to choose.
fn opencode_file(tree: &Tree) -> Result<&'static str, InstallError> {
    let [json, jsonc] = ["opencode.json", "opencode.jsonc"];
    let exists = |path| {
        let entry = tree.entry(path);
        let entry = entry.map_err(|source| super::io_error("read", tree.at(path), source))?;
        Ok::<_, InstallError>(entry != Entry::Absent)
    };
    match (exists(json)?, exists(jsonc)?) {
        (true, true) => Err(invalid(
            Diagnostic::error(format!(
                "`{jsonc}` exists as well, so no MCP server can be registered"
            ))
            .in_file(json)
            .hint("keep one of the two"),
        )),
        (false, true) => Ok(jsonc),
        _ => Ok(json),
    }
}

/// The configuration files of harnesses, each read once.
struct Documents<'a> {
    tree: &'a Tree,
    read: BTreeMap<String, Document>,
}

impl<'a> Documents<'a> {
    fn new(tree: &'a Tree) -> Self {
        Self { tree, read: BTreeMap::new() }
    }

    fn get(&mut self, path: &str) -> Result<&mut Document, InstallError> {
        if !self.read.contains_key(path) {
            let document = Document::read(self.tree, path)?;
            self.read.insert(path.to_owned(), document);
        }
        self.read.get_mut(path).ok_or_else(|| InstallError::NotRegular { path: self.tree.at(path) })
    }

    fn steps(self) -> impl Iterator<Item = Step> {
        self.read.into_iter().filter_map(|(path, document)| document.step(path))
    }
}

fn is_installed(entry: &McpEntry, current: Option<&Json>) -> bool {
    current.is_some_and(|current| current.same_as(&entry.installed))
}

fn same_member(a: &McpEntry, b: &McpEntry) -> bool {
    (&a.path, &a.collection, &a.id) == (&b.path, &b.collection, &b.id)
}

fn member(entry: &McpEntry) -> String {
    format!("{}:{}.{}", entry.path, entry.collection, entry.id)
}

fn conflict(entry: &McpEntry, kind: ConflictKind) -> Conflict {
    Conflict { path: member(entry), kind }
}

/// A project-relative directory without `.` and empty segments; empty for the project itself.
fn normal(root: &str) -> String {
    let segments: Vec<_> =
        root.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    segments.join("/")
}
