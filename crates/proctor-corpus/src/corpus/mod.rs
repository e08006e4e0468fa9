//! A corpus checkout: what it offers and which of its files a selection needs.

mod assets;
mod catalog;
mod revision;

use std::collections::BTreeSet;
use std::io;
use std::sync::OnceLock;

use camino::{Utf8Path, Utf8PathBuf};

pub(crate) use assets::Content;
pub use catalog::CorpusManifest;
pub(crate) use catalog::McpServer;

use crate::error::CorpusError;
use crate::links::Harness;
use crate::selection::{Compat, RuleMatch, Selection};
use crate::slice::{Slice, SliceFile};
use crate::tree::{ReadError, read_regular};
use crate::{MANAGED_DIRECTORY, MCP_SERVERS, PROFILE_CATALOG};
use assets::{Assets, read_error};
use catalog::{Catalog, parse_mcp_servers};

/// Bytes of one of the files that describe a corpus.
const DESCRIPTION_LIMIT: u64 = 16 << 20;
/// Installed whole, whatever the selection.
const ALWAYS: [&str; 3] = ["agents/", "hooks/", "prompts/"];

/// A corpus checkout. Its files are read when a slice first needs them, and then kept: slices are
/// cheap, and a corpus must not be edited under a process that has opened it.
#[derive(Debug)]
pub struct Corpus {
    root: Utf8PathBuf,
    manifest: CorpusManifest,
    catalog: Catalog,
    /// `None`: the corpus has no list of MCP servers, and neither that nor the catalog is installed.
    mcp_servers: Option<Vec<McpServer>>,
    assets: Assets,
    revision: OnceLock<String>,
}

impl Corpus {
    /// Opens the checkout whose root is `dir`: reads `.cratis/ai/manifest.json`, the profile catalog
    /// and the optional list of MCP servers, and lists the installable files.
    ///
    /// # Errors
    /// Everything but [`CorpusError::Selection`].
    pub fn open(dir: &Utf8Path) -> Result<Self, CorpusError> {
        let ai = dir.join(MANAGED_DIRECTORY);
        let missing = |missing| CorpusError::NotACorpus { dir: dir.to_owned(), missing };
        let manifest_path = ai.join("manifest.json");
        let manifest =
            describe(&manifest_path)?.ok_or_else(|| missing(".cratis/ai/manifest.json"))?;
        let manifest = CorpusManifest::parse(&manifest_path, &manifest)?;
        let catalog_path = ai.join(PROFILE_CATALOG);
        let catalog =
            describe(&catalog_path)?.ok_or_else(|| missing(".cratis/ai/profile-catalog.json"))?;
        let catalog = Catalog::parse(&catalog_path, &catalog)?;
        let servers_path = ai.join(MCP_SERVERS);
        let mcp_servers = describe(&servers_path)?
            .map(|text| parse_mcp_servers(&servers_path, &text))
            .transpose()?;
        let described: &[&str] =
            if mcp_servers.is_some() { &[MCP_SERVERS, PROFILE_CATALOG] } else { &[] };
        let assets = Assets::list(&ai, described)?;
        let root = dir.to_owned();
        Ok(Self { root, manifest, catalog, mcp_servers, assets, revision: OnceLock::new() })
    }

    /// The directory that was opened.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// What the corpus offers.
    pub fn manifest(&self) -> &CorpusManifest {
        &self.manifest
    }

    /// The commit that is checked out. Without git, or outside a checkout, the directory's
    /// modification time in UTC, as in `2026-10-25T06:07:08.1234567Z`. Asked once.
    pub fn revision(&self) -> String {
        self.revision.get_or_init(|| revision::of(&self.root)).clone()
    }

    /// The selected profiles and all that they compose, as far as `languages` allows: a composed
    /// profile belongs when it lists no languages, when none are selected, when it lists
    /// `language-agnostic`, or when it shares one with the selection. An empty list, unlike an
    /// absent one, shares none.
    ///
    /// # Errors
    /// [`CorpusError::Selection`] with every profile that the catalog does not describe.
    pub fn closure(
        &self,
        profiles: &[String],
        languages: &[String],
    ) -> Result<BTreeSet<String>, CorpusError> {
        self.catalog.closure(profiles, languages)
    }

    /// The files and links that a selection installs. Without a harness these are the files that
    /// no harness has for itself, and no links.
    ///
    /// # Errors
    /// [`CorpusError::Selection`] with everything that is not offered; errors of reading.
    pub fn slice(&self, selection: &Selection, compat: Compat) -> Result<Slice, CorpusError> {
        let mistakes = self.manifest.mistakes(selection);
        if !mistakes.is_empty() {
            return Err(CorpusError::Selection(mistakes));
        }
        let closure = self.closure(&selection.profiles, &selection.languages)?;
        let mut notes = Vec::new();
        let mut wanted = BTreeSet::new();
        if self.mcp_servers.is_some() {
            wanted.extend([MCP_SERVERS, PROFILE_CATALOG]);
        }
        wanted.extend(self.rules(&closure, selection, compat, &mut notes)?);
        wanted.extend(ALWAYS.iter().flat_map(|category| self.assets.below(category)));
        for skill in self.catalog.skills(&closure) {
            wanted.extend(self.skill(skill));
        }
        let mut harnesses = Vec::new();
        for id in self.harness_ids(selection) {
            let prefix = format!("harnesses/{id}/");
            wanted.extend(self.assets.below(&prefix));
            match Harness::from_id(id) {
                Some(harness) => harnesses.push(harness),
                None => notes.push(format!(
                    "no links are known for harness `{id}`; only its files are installed"
                )),
            }
        }
        let files = self.contents(&wanted)?;
        let mcp_servers = self.mcp_servers.iter().flatten();
        let mcp_servers = mcp_servers
            .filter(|server| server.profiles.iter().any(|profile| closure.contains(profile)))
            .cloned()
            .collect();
        let ids = self.harness_ids(selection).map(str::to_owned).collect();
        Ok(Slice::new(
            selection.clone(),
            self.revision(),
            files,
            harnesses,
            ids,
            mcp_servers,
            notes,
        ))
    }

    /// The selected harnesses as the manifest spells them, each once, in the order of selection.
    fn harness_ids(&self, selection: &Selection) -> impl Iterator<Item = &str> {
        let mut ids: Vec<&str> = Vec::new();
        for selected in &selection.harnesses {
            let known = self.manifest.harnesses.iter().find(|id| id.eq_ignore_ascii_case(selected));
            if let Some(id) = known.filter(|id| !ids.contains(&id.as_str())) {
                ids.push(id);
            }
        }
        ids.into_iter()
    }

    fn rules<'a>(
        &'a self,
        closure: &BTreeSet<String>,
        selection: &Selection,
        compat: Compat,
        notes: &mut Vec<String>,
    ) -> Result<Vec<&'a str>, CorpusError> {
        let mut rules = Vec::new();
        let mut unconstrained = 0_usize;
        for path in self.assets.below("rules/") {
            let needs = self.assets.content(path)?.needs;
            match needs.matches(closure, &selection.languages, compat) {
                RuleMatch::Yes => rules.push(path),
                RuleMatch::Unconstrained => {
                    rules.push(path);
                    unconstrained += 1;
                }
                RuleMatch::No => {}
            }
        }
        if unconstrained > 0 {
            let rules = if unconstrained == 1 { "rule" } else { "rules" };
            notes.push(format!(
                "no language is selected, so {unconstrained} {rules} for C# or TypeScript came \
                 along; `--compat` leaves such rules out, as the Cratis CLI does"
            ));
        }
        Ok(rules)
    }

    /// The files of a skill but those that test it.
    fn skill(&self, name: &str) -> Vec<&str> {
        let mut paths = self.assets.below(&format!("skills/{name}/"));
        paths.retain(|path| !path.ends_with("/verification.json") && !path.contains("/evals/"));
        paths
    }

    fn contents(&self, wanted: &BTreeSet<&str>) -> Result<Vec<SliceFile>, CorpusError> {
        wanted.iter().map(|path| Ok(SliceFile::new(path, self.assets.content(path)?))).collect()
    }
}

/// The text of a file that describes a corpus; `None` when there is none.
fn describe(path: &Utf8Path) -> Result<Option<String>, CorpusError> {
    let bytes = match read_regular(path, DESCRIPTION_LIMIT) {
        Ok(bytes) => bytes,
        Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(ReadError::Io(source)) => return Err(read_error(path, source)),
        Err(ReadError::NotRegular(path)) => {
            return Err(CorpusError::Unsafe { path, reason: "it is no regular file" });
        }
        Err(ReadError::TooLong(limit)) => {
            let limit = format!("{} MiB", limit >> 20);
            let path = path.to_owned();
            return Err(CorpusError::TooBig { path, excess: "is too long", limit });
        }
    };
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(Some(text))
}
