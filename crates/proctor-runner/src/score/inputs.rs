//! What is to be scored: paths, made into a list in the order of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use proctor_formats::fixture_run;
use proctor_model::recorded::run::Violation;

use super::walk::Walk;

/// The path that stands for standard input.
const STDIN: &str = "-";

/// Everything to score, by name.
#[derive(Debug)]
pub struct Inputs {
    entries: Vec<Entry>,
    skipped: u64,
    single: bool,
    complaints: Vec<String>,
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// How the report calls it.
    pub(super) label: String,
    /// Where its runs come from.
    pub(super) what: What,
}

/// Where runs come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A file with one run, and its length.
    File(PathBuf, u64),
    /// A file with a run a line.
    Lines(PathBuf),
    /// Standard input, with one run.
    Stdin,
    /// Nowhere: it cannot be read.
    Fault(Violation),
}

/// Why inputs cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A pattern that leaves files out is none.
    #[error("`{glob}` is no pattern{place}: {message}")]
    Glob {
        /// The pattern.
        glob: String,
        /// Where it stands: empty for an option, or ` in file:line`.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// A file of patterns cannot be read.
    #[error("{path} cannot be used: {message}")]
    IgnoreFile {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// Standard input was asked for more than once.
    #[error("standard input can be read only once; name `-` once")]
    StdinTwice,
}

/// Entries under construction, each with what tells a file from all others.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) entries: Vec<(Entry, Option<FileId>)>,
    pub(super) skipped: u64,
}

/// Device and inode.
pub(super) type FileId = (u64, u64);

impl Inputs {
    /// Lists what `paths` name, relative ones below `cwd`: files, directories with all that is in
    /// them, and `-` for standard input. `exclude` has patterns in the syntax of `.gitignore`.
    ///
    /// One directory alone gives names relative to it. Otherwise names begin with the path as it
    /// was given, or with its last part when it is absolute, and as many more as tell it from the
    /// others: no report tells where on a disk it was made.
    pub fn gather(paths: &[PathBuf], cwd: &Path, exclude: &[String]) -> Result<Self, InputError> {
        let exclude = excludes(exclude)?;
        let mut found = Found::default();
        let mut complaints = Vec::new();
        let mut single = paths.len() == 1;
        for (path, shown) in paths.iter().zip(names(paths)) {
            if path == Path::new(STDIN) {
                let entry = Entry { label: STDIN.to_owned(), what: What::Stdin };
                if found.entries.iter().any(|(other, _)| *other == entry) {
                    return Err(InputError::StdinTwice);
                }
                found.entries.push((entry, None));
                continue;
            }
            let real = cwd.join(path);
            let metadata = std::fs::metadata(&real);
            if metadata.as_ref().is_ok_and(Metadata::is_dir) {
                let name = if single { PathBuf::new() } else { shown };
                single = false;
                Walk { root: &real, name: &name, exclude: &exclude, found: &mut found }.run()?;
                continue;
            }
            let label = text_of(&shown);
            if exclude.matched(&label, false).is_ignore() {
                found.skipped += 1;
                continue;
            }
            let what = match &metadata {
                Ok(metadata) => file(&real, metadata),
                // Opening it gives the reason in the words of all other files.
                Err(_) => What::Fault(fixture_run::open(&real).err().unwrap_or_else(vanished)),
            };
            if let What::Fault(fault) = &what {
                complaints.push(format!("{}: {fault}", text_of(path).replace('\n', "\\n")));
            }
            single &= !matches!(what, What::Lines(_));
            found.entries.push((Entry { label, what }, metadata.ok().map(|m| id(&m))));
        }
        let (entries, skipped) = found.sorted();
        single &= entries.len() == 1;
        Ok(Self { entries, skipped, single, complaints })
    }

    /// Whether it is one run, named by itself, so that its report stands alone.
    pub fn is_single(&self) -> bool {
        self.single
    }

    /// Paths that were named and cannot be read, for standard error.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    pub(super) fn into_entries(self) -> Vec<Entry> {
        self.entries
    }
}

impl Found {
    /// By name, each file once.
    fn sorted(self) -> (Vec<Entry>, u64) {
        let Self { mut entries, mut skipped } = self;
        entries.sort();
        let mut seen = BTreeSet::new();
        entries.retain(|(_, id)| {
            let again = id.is_some_and(|id| !seen.insert(id));
            skipped += u64::from(again);
            !again
        });
        (entries.into_iter().map(|(entry, _)| entry).collect(), skipped)
    }
}

/// A file by its kind and the end of its name.
pub(super) fn file(path: &Path, metadata: &Metadata) -> What {
    if !metadata.is_file() {
        let message = "expected a file, found a pipe, socket or device";
        return What::Fault(Violation::new("", message));
    }
    match Kind::of(path) {
        Some(Kind::Lines) => What::Lines(path.to_owned()),
        _ => What::File(path.to_owned(), metadata.len()),
    }
}

/// What the end of a name says about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Run,
    Lines,
}

impl Kind {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?;
        if extension.eq_ignore_ascii_case("json") {
            Some(Self::Run)
        } else if extension.eq_ignore_ascii_case("jsonl") {
            Some(Self::Lines)
        } else {
            None
        }
    }
}

pub(super) fn id(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// Paths for a report: without `.` parts, and only so many of the last parts of an absolute one as
/// tell it from all others.
fn names(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = paths.iter().map(|path| name(path, 1)).collect();
    let longest = paths.iter().map(|path| path.components().count()).max().unwrap_or_default();
    for parts in 2..longest {
        let mut named: BTreeMap<&Path, BTreeSet<&Path>> = BTreeMap::new();
        for (name, path) in names.iter().zip(paths) {
            named.entry(name).or_default().insert(path);
        }
        let shared: Vec<bool> = names
            .iter()
            .map(|name| named.get(name.as_path()).is_some_and(|p| p.len() > 1))
            .collect();
        if !shared.contains(&true) {
            break;
        }
        for ((shown, path), _) in
            names.iter_mut().zip(paths).zip(shared).filter(|(_, shared)| *shared)
        {
            *shown = name(path, parts);
        }
    }
    names
}

/// A path without `.` parts; of an absolute one the last `parts` parts.
fn name(path: &Path, parts: usize) -> PathBuf {
    let named: Vec<Component<'_>> = path
        .components()
        .filter(|part| !matches!(part, Component::CurDir | Component::RootDir))
        .collect();
    let left_out = if path.is_absolute() { named.len().saturating_sub(parts) } else { 0 };
    named.into_iter().skip(left_out).collect()
}

/// A path as text; bytes that are no UTF-8 become `\xff`.
pub(super) fn text_of(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

fn vanished() -> Violation {
    Violation::new("", "changed while it was looked at")
}

fn excludes(globs: &[String]) -> Result<Gitignore, InputError> {
    let mut builder = pattern_builder(Path::new(""));
    for glob in globs {
        // Only in a file does `#` begin a comment.
        let escaped = if glob.starts_with('#') { format!("\\{glob}") } else { glob.clone() };
        builder.add_line(None, &escaped).map_err(|error| InputError::Glob {
            glob: glob.clone(),
            place: String::new(),
            message: error.to_string(),
        })?;
    }
    built(&builder)
}

/// A builder for the patterns of a directory. A bracket that is never closed is a slip, and not a
/// name with a bracket in it.
pub(super) fn pattern_builder(directory: &Path) -> GitignoreBuilder {
    let mut builder = GitignoreBuilder::new(directory);
    builder.allow_unclosed_class(false);
    builder
}

pub(super) fn built(builder: &GitignoreBuilder) -> Result<Gitignore, InputError> {
    builder.build().map_err(|error| InputError::Glob {
        glob: "the patterns together".to_owned(),
        place: String::new(),
        message: error.to_string(),
    })
}
