//! The installable files of a corpus, each read and marked at most once.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::sync::{Arc, OnceLock};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Digest;

use crate::error::CorpusError;
use crate::marker::mark;
use crate::selection::RuleNeeds;
use crate::tree::{ReadError, path_offence, read_regular};

/// The directories whose files may be installed.
const CATEGORIES: [&str; 6] = ["agents", "harnesses", "hooks", "prompts", "rules", "skills"];
/// Bytes of one file.
const FILE_LIMIT: u64 = 64 << 20;
/// Files of a corpus; the largest known one has about a thousand.
const COUNT_LIMIT: usize = 100_000;
/// Directories inside directories.
const DEPTH_LIMIT: usize = 64;

/// A file as it is installed.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub(crate) bytes: Arc<[u8]>,
    pub(crate) digest: Digest,
    pub(crate) executable: bool,
    /// What it asks of a selection, when it is a rule.
    pub(crate) needs: RuleNeeds,
}

/// The files by their path relative to the corpus's `.cratis/ai`.
#[derive(Debug)]
pub(super) struct Assets {
    root: Utf8PathBuf,
    /// The root with links resolved; what files that are links must stay inside.
    real_root: Utf8PathBuf,
    files: BTreeMap<String, OnceLock<Content>>,
}

impl Assets {
    /// Lists the files below `root`; nothing is read yet.
    pub(super) fn list(root: &Utf8Path, described: &[&str]) -> Result<Self, CorpusError> {
        let mut assets = Self {
            root: root.to_owned(),
            real_root: root.canonicalize_utf8().map_err(|source| read_error(root, source))?,
            files: BTreeMap::new(),
        };
        for category in CATEGORIES {
            if assets.root.join(category).is_dir() {
                assets.walk(category, 0)?;
            }
        }
        for &name in described {
            assets.files.insert(name.to_owned(), OnceLock::new());
        }
        Ok(assets)
    }

    fn walk(&mut self, directory: &str, depth: usize) -> Result<(), CorpusError> {
        let path = self.root.join(directory);
        if depth == DEPTH_LIMIT {
            let limit = format!("{DEPTH_LIMIT} levels");
            return Err(CorpusError::TooBig { path, excess: "lies too deep", limit });
        }
        let entries = std::fs::read_dir(&path).map_err(|source| read_error(&path, source))?;
        for entry in entries {
            let entry = entry.map_err(|source| read_error(&path, source))?;
            let kind = entry.file_type().map_err(|source| read_error(&path, source))?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| path_offence(name).is_none()) else {
                return Err(CorpusError::Unsafe {
                    path: path.join(&*name.to_string_lossy()),
                    reason: "its name is not UTF-8 or holds a backslash or a control character",
                });
            };
            let relative = format!("{directory}/{name}");
            if kind.is_dir() {
                self.walk(&relative, depth + 1)?;
            } else {
                self.files.insert(relative, OnceLock::new());
            }
            if self.files.len() > COUNT_LIMIT {
                let limit = format!("{COUNT_LIMIT} files");
                let path = self.root.clone();
                return Err(CorpusError::TooBig { path, excess: "holds too many files", limit });
            }
        }
        Ok(())
    }

    /// The paths that start with `prefix`, in byte order.
    pub(super) fn below(&self, prefix: &str) -> Vec<&str> {
        self.files
            .range(prefix.to_owned()..)
            .map(|(path, _)| path.as_str())
            .take_while(|path| path.starts_with(prefix))
            .collect()
    }

    /// The file at `path`, which [`Assets::below`] or the caller of [`Assets::list`] named.
    pub(super) fn content(&self, path: &str) -> Result<Content, CorpusError> {
        let Some(asset) = self.files.get(path) else {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(read_error(&self.root.join(path), source));
        };
        if let Some(known) = asset.get() {
            return Ok(known.clone());
        }
        let content = self.read(path)?;
        Ok(asset.get_or_init(|| content).clone())
    }

    fn read(&self, relative: &str) -> Result<Content, CorpusError> {
        let path = self.resolve(relative)?;
        let metadata = std::fs::metadata(&path).map_err(|source| read_error(&path, source))?;
        let raw = read_regular(&path, FILE_LIMIT).map_err(|error| match error {
            ReadError::Io(source) => read_error(&path, source),
            ReadError::NotRegular(path) => CorpusError::Unsafe {
                path,
                reason: "it is no regular file; put a file in its place",
            },
            ReadError::TooLong(limit) => CorpusError::TooBig {
                path: path.clone(),
                excess: "is too long",
                limit: format!("{} MiB", limit >> 20),
            },
        })?;
        let bytes = mark(relative, &raw);
        Ok(Content {
            digest: Digest::of(&bytes),
            executable: metadata.mode() & 0o111 != 0 || raw.starts_with(b"#!"),
            needs: if relative.starts_with("rules/") {
                RuleNeeds::read(relative, &raw)
            } else {
                RuleNeeds::default()
            },
            bytes: Arc::from(bytes.as_ref()),
        })
    }

    /// A link counts as the file that it leads to, as long as that lies in the corpus.
    fn resolve(&self, relative: &str) -> Result<Utf8PathBuf, CorpusError> {
        let path = self.root.join(relative);
        if !path.is_symlink() {
            return Ok(path);
        }
        let real = path.canonicalize_utf8().map_err(|source| read_error(&path, source))?;
        if !real.starts_with(&self.real_root) {
            let reason = "it is a link that leaves the corpus; put a file in its place";
            return Err(CorpusError::Unsafe { path, reason });
        }
        Ok(real)
    }
}

pub(super) fn read_error(path: &Utf8Path, source: io::Error) -> CorpusError {
    CorpusError::Read { path: path.to_owned(), source }
}
