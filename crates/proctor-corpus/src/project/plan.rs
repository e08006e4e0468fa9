//! Deciding what an installation, an update or a removal changes; nothing is written here.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8PathBuf;

use super::config::ProjectConfig;
use super::drift::{self, Change, Modified};
use super::instructions::Takeover;
use super::manifest::{ManagedFile, Manifest};
use super::mcp::McpPlan;
use super::steps::Step;
use super::{io_error, read_error};
use crate::error::{Conflict, ConflictKind, InstallError};
use crate::links::{Instructions, Integration};
use crate::slice::Slice;
use crate::tree::{Entry, ReadError, Tree};
use crate::{CONFIGURATION, INSTALLATION_MANIFEST, MANAGED_DIRECTORY};

/// The changes that were decided on; with conflicts there are none.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) actions: Vec<String>,
    pub(super) conflicts: Vec<Conflict>,
    pub(super) unsupported: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// What is known of a project before anything is planned.
pub(super) struct Project<'a> {
    pub(super) tree: &'a Tree,
    pub(super) config: Option<ProjectConfig>,
    pub(super) manifest: Option<Manifest>,
}

impl<'a> Project<'a> {
    pub(super) fn read(tree: &'a Tree) -> Result<Self, InstallError> {
        let config = ProjectConfig::read(tree)?;
        let manifest = Manifest::read(tree)?;
        Ok(Self { tree, config, manifest })
    }

    /// Plans the installation of a slice over whatever was installed before. Conflicts are looked
    /// for in a fixed order: MCP entries, paths of the user's, changed files without force.
    pub(super) fn plan_install(self, slice: &Slice, force: bool) -> Result<Plan, InstallError> {
        let previous = self.manifest.unwrap_or_default();
        let config = self.config.as_ref();
        let mut mcp = McpPlan::install(self.tree, slice, config, &previous)?;
        let unsupported = mcp.unsupported.clone();
        let refused =
            |conflicts| Ok(Plan { conflicts, unsupported: unsupported.clone(), ..Plan::default() });
        if !mcp.conflicts.is_empty() {
            return refused(mcp.conflicts);
        }
        let takeover = Takeover::plan(self.tree, slice)?;
        let instructions =
            if takeover.found { Instructions::Project } else { Instructions::General };
        let planner = Planner::new(self.tree, &previous)?;
        let links = slice.links(instructions);
        let mut not_ours = planner.not_ours(slice, &links)?;
        not_ours.extend(takeover.conflicts);
        if !not_ours.is_empty() {
            return refused(sorted(not_ours));
        }
        if !force && !planner.modified.is_empty() {
            return refused(planner.changed());
        }

        let mut plan = Plan {
            unsupported: unsupported.clone(),
            notes: slice.notes().to_vec(),
            ..Plan::default()
        };
        plan.notes.extend(config.iter().flat_map(|config| config.warnings.clone()));
        plan.notes.extend(takeover.notes);
        plan.actions.extend(takeover.actions);
        plan.steps.extend(takeover.steps);
        let (files, integrations) = planner.apply(slice, links, &mut plan)?;
        plan.actions.append(&mut mcp.actions);
        plan.steps.append(&mut mcp.steps);
        let text = ProjectConfig::text(config, slice.selection());
        plan.steps.extend(planner.text(CONFIGURATION, text)?);
        let mut manifest = Manifest {
            revision: slice.revision().to_owned(),
            files,
            integrations,
            mcp_servers: mcp.entries,
            unsupported: mcp.unsupported,
            extensions: mcp.extensions,
        };
        plan.steps.extend(planner.text(INSTALLATION_MANIFEST, manifest.text())?);
        Ok(plan)
    }

    /// Plans the removal of everything that was installed. The project's choice stays.
    pub(super) fn plan_uninstall(self, force: bool) -> Result<Plan, InstallError> {
        let Some(previous) = self.manifest else { return Ok(Plan::default()) };
        let mut mcp = McpPlan::uninstall(self.tree, &previous)?;
        if !mcp.conflicts.is_empty() {
            return Ok(Plan { conflicts: mcp.conflicts, ..Plan::default() });
        }
        let planner = Planner::new(self.tree, &previous)?;
        if !force && !planner.modified.is_empty() {
            return Ok(Plan { conflicts: planner.changed(), ..Plan::default() });
        }
        let mut plan = Plan::default();
        planner.remove_files(|_| true, &mut plan)?;
        planner.remove_links(|_| true, &mut plan)?;
        plan.actions.append(&mut mcp.actions);
        plan.steps.append(&mut mcp.steps);
        plan.steps.push(Step::Remove { path: INSTALLATION_MANIFEST.to_owned() });
        Ok(plan)
    }
}

/// Compares what is wanted with what was installed before and with what is there.
struct Planner<'a> {
    tree: &'a Tree,
    /// What was changed since, by path relative to the project.
    modified: BTreeMap<String, Change>,
    /// What was installed before.
    files: BTreeMap<&'a str, &'a ManagedFile>,
    links: BTreeMap<&'a str, &'a Integration>,
}

impl<'a> Planner<'a> {
    fn new(tree: &'a Tree, previous: &'a Manifest) -> Result<Self, InstallError> {
        let modified = drift::files_and_links(tree, previous)?;
        let files = previous.files.iter().map(|file| (file.destination.as_str(), file));
        let links = previous.integrations.iter().map(|link| (link.path.as_str(), link));
        Ok(Self {
            tree,
            modified: modified.into_iter().map(|Modified { path, kind }| (path, kind)).collect(),
            files: files.collect(),
            links: links.collect(),
        })
    }

    /// Plans files and links, and gives those that are managed afterwards.
    fn apply(
        &self,
        slice: &Slice,
        links: BTreeMap<String, Integration>,
        plan: &mut Plan,
    ) -> Result<(Vec<ManagedFile>, Vec<Integration>), InstallError> {
        let files = self.write_files(slice, plan)?;
        self.remove_files(|file| !slice.has_file(&file.destination), plan)?;
        self.remove_links(|link| !links.contains_key(&link.path), plan)?;
        Ok((files, self.make_links(links, plan)?))
    }

    fn entry(&self, path: &str) -> Result<Entry, InstallError> {
        self.tree.entry(path).map_err(|source| io_error("read", self.at(path), source))
    }

    fn at(&self, path: &str) -> Utf8PathBuf {
        self.tree.at(path)
    }

    /// The step that gives a file this text, unless it has it.
    fn text(&self, path: &str, text: String) -> Result<Option<Step>, InstallError> {
        let limit = text.len() as u64;
        match self.tree.read(path, limit) {
            Ok(Some(bytes)) if bytes == text.as_bytes() => Ok(None),
            Ok(_) | Err(ReadError::TooLong(_)) => Ok(Some(Step::text(path.to_owned(), text))),
            Err(error) => Err(read_error(self.tree, path, error)),
        }
    }

    /// Wanted paths where something stands that no installation put there.
    fn not_ours(
        &self,
        slice: &Slice,
        links: &BTreeMap<String, Integration>,
    ) -> Result<Vec<Conflict>, InstallError> {
        let mut paths = BTreeSet::new();
        for file in slice.files() {
            let destination = file.destination();
            match self.entry(&managed(destination))? {
                Entry::Absent => {}
                Entry::File { .. } | Entry::Link { .. } if self.files.contains_key(destination) => {
                }
                Entry::Blocked(by) => _ = paths.insert(by),
                _ => _ = paths.insert(destination.to_owned()),
            }
        }
        for link in links.values() {
            match self.entry(&link.path)? {
                Entry::Absent => {}
                Entry::Link { target, .. } if target == link.target => {}
                Entry::Blocked(by) => _ = paths.insert(by),
                _ if link.preserve_existing => {}
                Entry::File { .. } | Entry::Link { .. }
                    if self.links.contains_key(link.path.as_str()) => {}
                _ => _ = paths.insert(link.path.clone()),
            }
        }
        let kind = ConflictKind::NotOurs;
        Ok(paths.into_iter().map(|path| Conflict { path, kind }).collect())
    }

    fn changed(&self) -> Vec<Conflict> {
        let conflicts = self.modified.iter().map(|(path, &kind)| {
            let modified = Modified { path: path.clone(), kind };
            Conflict { path: modified.listed().to_owned(), kind: ConflictKind::Changed }
        });
        sorted(conflicts.collect())
    }

    fn write_files(
        &self,
        slice: &Slice,
        plan: &mut Plan,
    ) -> Result<Vec<ManagedFile>, InstallError> {
        let mut files = Vec::with_capacity(slice.files().len());
        for file in slice.files() {
            let destination = file.destination().to_owned();
            let path = managed(&destination);
            let hash = file.digest().upper_hex();
            let entry = self.entry(&path)?;
            let word = if entry == Entry::Absent { "Added" } else { "Updated" };
            plan.actions.push(format!("{word} {destination}"));
            let same_content = !self.modified.contains_key(&path)
                && self.files.get(destination.as_str()).is_some_and(|old| old.hash == hash);
            let same_mode = matches!(entry, Entry::File { mode, .. }
                if (mode & 0o111 != 0) == file.executable());
            if !(same_content && same_mode) {
                let bytes = file.bytes().clone();
                plan.steps.push(Step::Write { path, bytes, executable: Some(file.executable()) });
            }
            files.push(ManagedFile { destination, hash });
        }
        Ok(files)
    }

    fn remove_files(
        &self,
        unwanted: impl Fn(&ManagedFile) -> bool,
        plan: &mut Plan,
    ) -> Result<(), InstallError> {
        for file in self.files.values().filter(|file| unwanted(file)) {
            let path = managed(&file.destination);
            match self.entry(&path)? {
                Entry::Absent => {}
                Entry::File { .. } | Entry::Link { .. } => {
                    plan.actions.push(format!("Removed {}", file.destination));
                    plan.steps.push(Step::Remove { path });
                }
                _ => plan.notes.push(format!("`{path}` is no managed file any more and was left")),
            }
        }
        Ok(())
    }

    fn remove_links(
        &self,
        unwanted: impl Fn(&Integration) -> bool,
        plan: &mut Plan,
    ) -> Result<(), InstallError> {
        for link in self.links.values().filter(|link| unwanted(link)) {
            let path = link.path.clone();
            match self.entry(&path)? {
                Entry::Absent => {}
                Entry::Link { .. } => {
                    plan.actions.push(format!("Removed {path}"));
                    plan.steps.push(Step::Remove { path });
                }
                // Content that nobody else has: no record makes it ours.
                _ => plan.notes.push(format!("`{path}` is no link any more and was left")),
            }
        }
        Ok(())
    }

    /// Makes the wanted links and gives those that are ours.
    fn make_links(
        &self,
        links: BTreeMap<String, Integration>,
        plan: &mut Plan,
    ) -> Result<Vec<Integration>, InstallError> {
        let mut ours = Vec::with_capacity(links.len());
        for (path, link) in links {
            let known = self.links.contains_key(path.as_str());
            match self.entry(&path)? {
                Entry::Link { target, .. } if target == link.target => {
                    if known {
                        ours.push(link);
                    }
                    continue;
                }
                Entry::Absent => {}
                entry if link.preserve_existing => {
                    let stays = !known || !matches!(entry, Entry::Link { .. });
                    if stays {
                        if known {
                            plan.notes.push(format!("`{path}` is yours now and was left"));
                        }
                        continue;
                    }
                }
                _ => {}
            }
            plan.actions.push(format!("Configured {path}"));
            plan.steps.push(Step::Link { path, target: link.target.clone() });
            ours.push(link);
        }
        Ok(ours)
    }
}

fn managed(destination: &str) -> String {
    format!("{MANAGED_DIRECTORY}/{destination}")
}

fn sorted(mut conflicts: Vec<Conflict>) -> Vec<Conflict> {
    conflicts.sort();
    conflicts.dedup();
    conflicts
}
