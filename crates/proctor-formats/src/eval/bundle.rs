//! Skills as a plugin of Claude Code, and whether a bundle is still what was bundled.
//!
//! A bundle holds `.claude-plugin/plugin.json`, every skill under `skills/`, and the eval cases when
//! `[plugin] include_evals` says so. `.ai-rulez-generated.json` beside them records the digest of
//! each file; its shape is that of ai-rulez, its digests are SHA-256.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fs, str};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Digest;
use serde::{Deserialize, Serialize};

use super::EVALS_NAME;
use super::layout::Project;
use super::paths::clean;
use super::settings::PluginSettings;
use super::walk::{Candidate, Entry, is_junk, is_no_material, walk};
use crate::read_file::open;

/// The file that records the digest of every other file of a bundle.
pub const SIDECAR: &str = ".ai-rulez-generated.json";

/// The manifest of a plugin of Claude Code.
pub const MANIFEST: &str = ".claude-plugin/plugin.json";

/// The version of the sidecar's shape.
const SIDECAR_VERSION: &str = "v1";

/// The longest sidecar that is read.
const MAX_SIDECAR_BYTES: u64 = 16 * 1024 * 1024;

/// Why there is no bundle, or nothing to compare it with.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Without a name there is no plugin.
    #[error("the plugin has no name; add `name` under `[plugin]` to proctor.toml")]
    NoName,
    /// A name that Claude Code refuses.
    #[error(
        "{name:?} is no name for a plugin; use lower-case letters, digits and `-`, first a letter \
         or a digit"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// There is no skill to bundle.
    #[error("there are no skills to bundle in {folder}")]
    NoSkills {
        /// Where skills were looked for.
        folder: Utf8PathBuf,
    },
    /// Something cannot be listed, read or written.
    #[error("{path}: {message}")]
    Path {
        /// The file or folder.
        path: String,
        /// Why.
        message: String,
    },
    /// The sidecar cannot be used.
    #[error("{file}: {message}")]
    Sidecar {
        /// The file.
        file: Utf8PathBuf,
        /// Why.
        message: String,
    },
}

impl BundleError {
    fn path(path: &Path, message: impl Into<String>) -> Self {
        Self::Path { path: path.to_string_lossy().into_owned(), message: message.into() }
    }
}

/// What a bundle consists of, sidecar aside.
#[derive(Debug)]
pub struct Bundle {
    /// The name of the plugin.
    pub name: String,
    /// The ids of its skills.
    pub skills: Vec<String>,
    /// How many of the files are eval material.
    pub eval_files: usize,
    files: BTreeMap<String, Source>,
}

/// Where the bytes of a bundled file come from.
#[derive(Debug)]
enum Source {
    Text(String),
    File(PathBuf),
}

#[derive(Serialize)]
struct Manifest<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sidecar {
    schema_version: String,
    source_hash: String,
    outputs: BTreeMap<String, Output>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    content_hash: String,
}

impl Bundle {
    /// Lists what the bundle of a project consists of; nothing is written.
    pub fn plan(project: &Project, settings: &PluginSettings) -> Result<Self, BundleError> {
        let name = settings.name.clone().ok_or(BundleError::NoName)?;
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        if !name.starts_with(plain) || !name.chars().all(|c| plain(c) || c == '-') {
            return Err(BundleError::Name { name });
        }
        if project.skills.is_empty() {
            return Err(BundleError::NoSkills { folder: project.configuration.clone() });
        }
        let manifest = Manifest {
            name: &name,
            version: settings.version.as_deref(),
            description: settings.description.as_deref(),
        };
        let manifest = serde_json::to_string_pretty(&manifest)
            .map_err(|error| BundleError::path(Path::new(MANIFEST), error.to_string()))?;
        let mut planner = Planner { bounds: bounds(project)?, files: BTreeMap::new() };
        planner.files.insert(MANIFEST.to_owned(), Source::Text(manifest + "\n"));
        for skill in &project.skills {
            let prefix = format!("skills/{}", skill.id);
            planner.folder(skill.folder.as_std_path(), &prefix, |candidate| {
                is_junk(candidate.name)
                    || candidate.name == b".git"
                    || (candidate.is_top && candidate.name == EVALS_NAME.as_bytes())
            })?;
        }
        let without_evals = planner.files.len();
        if settings.include_evals {
            for skill in &project.skills {
                let evals = skill.folder.join(EVALS_NAME);
                planner.evals(&evals, &format!("skills/{}/{EVALS_NAME}", skill.id))?;
            }
            let content = match &settings.content_root {
                Some(folder) => project.root.join(folder),
                None => project.configuration.clone(),
            };
            planner.evals(&content.join(EVALS_NAME), EVALS_NAME)?;
        }
        Ok(Self {
            name,
            skills: project.skills.iter().map(|skill| skill.id.clone()).collect(),
            eval_files: planner.files.len() - without_evals,
            files: planner.files,
        })
    }

    /// How many files there are, sidecar aside.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none, which never happens: the manifest is one.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Writes the bundle into an empty folder, the sidecar last.
    pub fn write(&self, folder: &Utf8Path) -> Result<(), BundleError> {
        let mut outputs = BTreeMap::new();
        let mut sources = Digest::stream();
        for (path, source) in &self.files {
            let target = folder.join(path);
            let digest = source.copy(target.as_std_path())?;
            sources.update(format!("{path}\0{digest}\n").as_bytes());
            outputs.insert(path.clone(), Output { content_hash: format!("sha256:{digest}") });
        }
        let sidecar = Sidecar {
            schema_version: SIDECAR_VERSION.to_owned(),
            source_hash: format!("sha256:{}", sources.finish()),
            outputs,
        };
        let target = folder.join(SIDECAR);
        let text = serde_json::to_string_pretty(&sidecar).map_err(io::Error::other);
        text.and_then(|text| fs::write(&target, text + "\n"))
            .map_err(|error| BundleError::path(target.as_std_path(), written(&error)))
    }
}

fn written(error: &io::Error) -> String {
    format!("cannot be written: {error}")
}

fn read(error: &io::Error) -> String {
    format!("cannot be read: {error}")
}

impl Source {
    /// Copies the bytes, with the permission to execute, and gives their digest.
    fn copy(&self, target: &Path) -> Result<Digest, BundleError> {
        let fail = |error: io::Error| BundleError::path(target, written(&error));
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        match self {
            Self::Text(text) => {
                fs::write(target, text).map_err(fail)?;
                Ok(Digest::of(text.as_bytes()))
            }
            Self::File(source) => {
                let (mut file, _) = open(source)
                    .map_err(|diagnostic| BundleError::path(source, diagnostic.message))?;
                let mut copy = fs::File::create_new(target).map_err(fail)?;
                let digest = digest(&mut file, |piece| copy.write_all(piece));
                let digest = digest.map_err(fail)?;
                let mode = file.metadata().map_err(fail)?.permissions().mode();
                let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
                fs::set_permissions(target, fs::Permissions::from_mode(mode)).map_err(fail)?;
                Ok(digest)
            }
        }
    }
}

/// The digest of a file, each piece of which `with` is given.
fn digest(
    file: &mut impl Read,
    mut with: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Digest> {
    let mut stream = Digest::stream();
    let mut buffer = [0; 16 * 1024];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(stream.finish());
        }
        let piece = buffer.get(..count).unwrap_or_default();
        stream.update(piece);
        with(piece)?;
    }
}

/// The real folders that links may lead into.
fn bounds(project: &Project) -> Result<Vec<PathBuf>, BundleError> {
    let real = |folder: &Utf8Path| {
        fs::canonicalize(folder)
            .map_err(|error| BundleError::path(folder.as_std_path(), read(&error)))
    };
    Ok(vec![real(&project.root)?, real(&project.configuration)?])
}

struct Planner {
    bounds: Vec<PathBuf>,
    files: BTreeMap<String, Source>,
}

impl Planner {
    /// Adds the eval material of a folder that may be missing.
    fn evals(&mut self, folder: &Utf8Path, prefix: &str) -> Result<(), BundleError> {
        if fs::symlink_metadata(folder).is_err() {
            return Ok(());
        }
        self.inside(folder.as_std_path())?;
        self.folder(folder.as_std_path(), prefix, is_no_material)
    }

    fn folder(
        &mut self,
        folder: &Path,
        prefix: &str,
        leave_out: impl Fn(&Candidate<'_>) -> bool,
    ) -> Result<(), BundleError> {
        let entries = walk(folder, leave_out);
        let entries = entries.map_err(|error| BundleError::path(folder, read(&error)))?;
        for entry in entries {
            let path = entry.path(folder);
            let Ok(relative) = str::from_utf8(&entry.relative) else {
                let message = "its name is not UTF-8; rename it";
                return Err(BundleError::path(&path, message));
            };
            let source = self.source(&entry, path)?;
            self.files.insert(format!("{prefix}/{relative}"), Source::File(source));
        }
        Ok(())
    }

    /// A bundle holds no links: what one leads to is copied when it is a file of the project.
    fn source(&self, entry: &Entry, path: PathBuf) -> Result<PathBuf, BundleError> {
        if !entry.is_link {
            return Ok(path);
        }
        let real = self.inside(&path)?;
        if !real.is_file() {
            let message = "is a link to something other than a file; put a copy in its place";
            return Err(BundleError::path(&path, message));
        }
        Ok(real)
    }

    fn inside(&self, path: &Path) -> Result<PathBuf, BundleError> {
        let real = fs::canonicalize(path).map_err(|error| BundleError::path(path, read(&error)))?;
        if !self.bounds.iter().any(|bound| real.starts_with(bound)) {
            let message = "leads out of the project; put a copy into it";
            return Err(BundleError::path(path, message));
        }
        Ok(real)
    }
}

/// A difference between a bundle and its sidecar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drift {
    /// A file has other bytes.
    Edited(String),
    /// A file is not there.
    Missing(String),
    /// Nothing is known of the file.
    Extra(String),
    /// A link stands where a file was.
    Link(String),
}

/// What a bundle is compared with, and how it differs.
#[derive(Debug, PartialEq, Eq)]
pub struct Verified {
    /// How many files the sidecar records.
    pub recorded: usize,
    /// The differences, by kind and path; none when the bundle is what was bundled.
    pub drift: BTreeSet<Drift>,
}

/// Compares every file of a bundle with the sidecar.
pub fn verify_bundle(folder: &Utf8Path) -> Result<Verified, BundleError> {
    let sidecar = read_sidecar(folder)?;
    let entries = walk(folder.as_std_path(), |_| false);
    let entries = entries.map_err(|error| BundleError::path(folder.as_std_path(), read(&error)))?;
    let mut missing: BTreeSet<&str> = sidecar.outputs.keys().map(String::as_str).collect();
    let mut drift = BTreeSet::new();
    for entry in &entries {
        let shown = entry.shown();
        let known = str::from_utf8(&entry.relative).ok();
        if known == Some(SIDECAR) {
            continue;
        }
        let Some(output) = known.and_then(|path| sidecar.outputs.get(path)) else {
            drift.insert(Drift::Extra(shown));
            continue;
        };
        missing.remove(shown.as_str());
        if entry.is_link {
            drift.insert(Drift::Link(shown));
            continue;
        }
        let path = entry.path(folder.as_std_path());
        let (mut file, _) =
            open(&path).map_err(|diagnostic| BundleError::path(&path, diagnostic.message))?;
        let digest = digest(&mut file, |_| Ok(()));
        let digest = digest.map_err(|error| BundleError::path(&path, read(&error)))?;
        if format!("sha256:{digest}") != output.content_hash {
            drift.insert(Drift::Edited(shown));
        }
    }
    drift.extend(missing.into_iter().map(|path| Drift::Missing(path.to_owned())));
    Ok(Verified { recorded: sidecar.outputs.len(), drift })
}

fn read_sidecar(folder: &Utf8Path) -> Result<Sidecar, BundleError> {
    let file = folder.join(SIDECAR);
    let fail = |message: String| BundleError::Sidecar { file: file.clone(), message };
    if fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(fail("is a link; the sidecar of a bundle is a file".to_owned()));
    }
    let (opened, length) =
        open(file.as_std_path()).map_err(|diagnostic| fail(diagnostic.message))?;
    if length > MAX_SIDECAR_BYTES {
        return Err(fail(format!("is {length} bytes long; the limit is {MAX_SIDECAR_BYTES}")));
    }
    let mut bytes = Vec::new();
    opened.take(MAX_SIDECAR_BYTES).read_to_end(&mut bytes).map_err(|error| fail(read(&error)))?;
    let sidecar: Sidecar = serde_json::from_slice(&bytes)
        .map_err(|error| fail(format!("is no sidecar of a bundle: {error}")))?;
    if sidecar.schema_version != SIDECAR_VERSION {
        let message = format!("has the schema version {:?}", sidecar.schema_version);
        return Err(fail(format!("{message}; {SIDECAR_VERSION} is known")));
    }
    for (path, Output { content_hash }) in &sidecar.outputs {
        if clean(path).as_deref() != Ok(path) || path == SIDECAR {
            return Err(fail(format!("records {path:?}, which is no path inside a bundle")));
        }
        if !content_hash.starts_with("sha256:") {
            let message = format!("records {path:?} with a digest other than SHA-256");
            return Err(fail(format!("{message}; verify it with the tool that wrote it")));
        }
    }
    Ok(sidecar)
}
