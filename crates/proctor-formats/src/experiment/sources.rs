//! What stands on the disk behind the paths of an experiment.
//!
//! A folder is taken whole, but for `.git` at any depth and for what `.axpignore` files in it leave
//! out (the syntax of `.gitignore`); these files themselves are left out too. Links inside a folder
//! stay links. The digest of a file is the SHA-256 of its content; that of a folder is the SHA-256
//! over its items in byte order of their paths, each as kind, path and content digest (a link's
//! target, nothing for an empty folder), every one ended by NUL. The kinds are `f`, `x` for
//! executable, `l` and `d`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use ignore::WalkBuilder;
use proctor_model::experiment::document::Contents;
use proctor_model::{Diagnostic, Digest};

use crate::read_file::{inaccessible, open};

/// How many files and folders the sources of one experiment may hold.
pub const MAX_ITEMS: usize = 200_000;

/// The file in a folder that says what of it is not staged.
pub const IGNORE_FILE: &str = ".axpignore";

/// The sources of an experiment that are there, by path as written in its file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources(pub BTreeMap<Utf8PathBuf, Source>);

impl Sources {
    /// The digests of everything, for fingerprints.
    pub fn contents(&self) -> Contents {
        Contents(self.0.iter().map(|(path, source)| (path.clone(), source.digest)).collect())
    }
}

/// A file or folder of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is.
    pub host: Utf8PathBuf,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// What is in it, in byte order of the paths; one item with an empty path for a file.
    pub items: Vec<Item>,
    /// The digest of all of it.
    pub digest: Digest,
}

impl Source {
    /// Where an item is on the host.
    pub fn host_path(&self, item: &Item) -> Utf8PathBuf {
        if item.path.is_empty() { self.host.clone() } else { self.host.join(&item.path) }
    }
}

/// Something in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Its path below the source, with `/`.
    pub path: String,
    /// What it is.
    pub kind: ItemKind,
}

/// What an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// A file.
    File {
        /// Whether its owner may execute it.
        is_executable: bool,
        /// Its length in bytes.
        length: u64,
        /// The digest of its content.
        digest: Digest,
    },
    /// A symbolic link.
    Link {
        /// What it says.
        target: String,
    },
    /// A folder with nothing in it.
    EmptyFolder,
}

/// Looks at one source. `budget` is how many more items there may be.
pub fn survey(host: &Utf8Path, budget: &mut usize) -> Result<Source, Diagnostic> {
    let metadata = fs::metadata(host).map_err(|error| inaccessible(host.as_std_path(), &error))?;
    if !metadata.is_dir() {
        spend(budget)?;
        let kind = file(host.as_std_path())?;
        let digest = match &kind {
            ItemKind::File { digest, .. } => *digest,
            ItemKind::Link { .. } | ItemKind::EmptyFolder => Digest::of(b""),
        };
        let items = vec![Item { path: String::new(), kind }];
        return Ok(Source { host: host.to_owned(), is_folder: false, items, digest });
    }
    let items = folder(host, budget)?;
    let digest = folder_digest(&items);
    Ok(Source { host: host.to_owned(), is_folder: true, items, digest })
}

fn spend(budget: &mut usize) -> Result<(), Diagnostic> {
    *budget = budget.checked_sub(1).ok_or_else(|| {
        Diagnostic::error(format!("the sources hold more than {MAX_ITEMS} files"))
            .hint(format!("leave some out with `{IGNORE_FILE}`"))
    })?;
    Ok(())
}

fn folder(host: &Utf8Path, budget: &mut usize) -> Result<Vec<Item>, Diagnostic> {
    let mut walk = WalkBuilder::new(host);
    walk.standard_filters(false)
        .add_custom_ignore_filename(IGNORE_FILE)
        .follow_links(false)
        .filter_entry(|entry| {
            let name = entry.file_name();
            entry.depth() == 0 || (name != ".git" && name != IGNORE_FILE)
        });
    let mut items = Vec::new();
    let mut folders = Vec::new();
    for entry in walk.build() {
        let entry = entry
            .map_err(|error| Diagnostic::error(format!("the folder cannot be read: {error}")))?;
        if entry.depth() == 0 {
            continue;
        }
        spend(budget)?;
        let path = relative(host, entry.path())?;
        let Some(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            folders.push(path);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path())
                .map_err(|error| inaccessible(entry.path(), &error))?
                .into_os_string()
                .into_string()
                .map_err(|_| not_utf8(&path))?;
            items.push(Item { path, kind: ItemKind::Link { target } });
        } else {
            let kind = file(entry.path()).map_err(|error| within(&path, error))?;
            items.push(Item { path, kind });
        }
    }
    items.sort_by(|a, b| a.path.cmp(&b.path));
    let empty: Vec<Item> = empty_folders(folders, &items);
    items.extend(empty);
    items.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(items)
}

/// The folders below which nothing is staged.
fn empty_folders(mut folders: Vec<String>, items: &[Item]) -> Vec<Item> {
    folders.sort_unstable();
    let filled = |folder: &String| {
        let inside = format!("{folder}/");
        let next = items.partition_point(|item| item.path.as_str() < inside.as_str());
        items.get(next).is_some_and(|item| item.path.starts_with(&inside))
    };
    let parents: std::collections::BTreeSet<&str> = folders
        .iter()
        .filter_map(|folder| folder.rsplit_once('/').map(|(parent, _)| parent))
        .collect();
    folders
        .iter()
        .filter(|folder| !filled(folder) && !parents.contains(folder.as_str()))
        .map(|folder| Item { path: folder.clone(), kind: ItemKind::EmptyFolder })
        .collect()
}

fn relative(host: &Utf8Path, path: &Path) -> Result<String, Diagnostic> {
    let below = path.strip_prefix(host).unwrap_or(path);
    below.to_str().map(str::to_owned).ok_or_else(|| not_utf8(&below.to_string_lossy()))
}

fn not_utf8(path: &str) -> Diagnostic {
    Diagnostic::error(format!("a name in it is not UTF-8: `{}`", path.escape_debug()))
}

fn within(path: &str, error: Diagnostic) -> Diagnostic {
    let message = format!("`{}` in it: {}", path.escape_debug(), error.message);
    Diagnostic { message, ..error }
}

fn file(path: &Path) -> Result<ItemKind, Diagnostic> {
    let (file, _) = open(path)?;
    let unreadable = |error: io::Error| inaccessible(path, &error);
    let mode = file.metadata().map_err(unreadable)?.permissions().mode();
    let (digest, length) = digest(file).map_err(unreadable)?;
    Ok(ItemKind::File { is_executable: mode & 0o100 != 0, length, digest })
}

fn digest(mut file: fs::File) -> io::Result<(Digest, u64)> {
    let mut stream = Digest::stream();
    let mut buffer = vec![0; 64 * 1024];
    let mut length = 0;
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            return Ok((stream.finish(), length));
        }
        stream.update(buffer.get(..read).unwrap_or_default());
        length += read as u64;
    }
}

fn folder_digest(items: &[Item]) -> Digest {
    let mut stream = Digest::stream();
    for Item { path, kind } in items {
        let (letter, rest) = match kind {
            ItemKind::File { is_executable: false, digest, .. } => ("f", digest.to_string()),
            ItemKind::File { is_executable: true, digest, .. } => ("x", digest.to_string()),
            ItemKind::Link { target } => ("l", target.clone()),
            ItemKind::EmptyFolder => ("d", String::new()),
        };
        for text in [letter, path, &rest] {
            stream.update(text.as_bytes());
            stream.update(b"\0");
        }
    }
    stream.finish()
}
