//! Finding the fixtures of a root.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::{Diagnostic, Diagnostics, Location};

use super::parse::{Parsed, parse_fixture};
use crate::read_file::{inaccessible, read_file};
use crate::tree::Problems;

/// The file that makes a directory a fixture.
pub const FILE_NAME: &str = "fixture.json";

/// The directory beside it with the files that the agent starts from.
pub const INPUT_NAME: &str = "input";

/// What a fixtures root holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Discovery {
    /// The fixtures, valid or not, by directory name in byte order.
    pub fixtures: Vec<FixtureEntry>,
    /// Likely slips in directories that are no fixtures.
    pub warnings: Diagnostics,
}

/// One directory with a `fixture.json`.
#[derive(Debug, Clone, PartialEq)]
pub struct FixtureEntry {
    /// The directory's name, which is the fixture's name when the fixture is valid. Bytes that are
    /// not UTF-8 are replaced, and the fixture is then invalid.
    pub name: String,
    /// The directory.
    pub directory: Utf8PathBuf,
    /// Its `fixture.json`.
    pub file: Utf8PathBuf,
    /// Its `input` directory, when there is one.
    pub input: Option<Utf8PathBuf>,
    /// What the file says.
    pub parsed: Parsed,
}

/// Why a root cannot be looked through at all.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// Nothing is there.
    #[error("no fixtures root at {root}; name the directory with `--fixtures`")]
    Missing {
        /// The root.
        root: Utf8PathBuf,
    },
    /// Something else is there.
    #[error(
        "fixtures root {root} is not a directory; name the directory that holds \
         `<name>/fixture.json` with `--fixtures`"
    )]
    NotADirectory {
        /// The root.
        root: Utf8PathBuf,
    },
    /// It may not, or cannot, be listed.
    #[error(
        "fixtures root {root} cannot be listed; make it readable or name another with `--fixtures`"
    )]
    Unreadable {
        /// The root.
        root: Utf8PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Reads every `<root>/<name>/fixture.json`. A file that cannot be read is an entry that says so;
/// a directory without the file is no fixture.
pub fn discover(root: &Utf8Path) -> Result<Discovery, DiscoverError> {
    let names = list(root.as_std_path()).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => DiscoverError::Missing { root: root.to_owned() },
        io::ErrorKind::NotADirectory => DiscoverError::NotADirectory { root: root.to_owned() },
        _ => DiscoverError::Unreadable { root: root.to_owned(), source },
    })?;
    let mut discovery = Discovery { fixtures: Vec::new(), warnings: Diagnostics::default() };
    for name in names {
        if name == FILE_NAME {
            discovery.warnings.push(
                Diagnostic::warning("lies in the fixtures root itself and is not read")
                    .in_file(root.join(FILE_NAME))
                    .hint("a fixture has a directory of its own name in the root"),
            );
        }
        let directory = root.as_std_path().join(&name);
        // `symlink_metadata`: a broken or unreadable file is a fixture that cannot be read.
        match fs::symlink_metadata(directory.join(FILE_NAME)) {
            Ok(_) => discovery.fixtures.push(entry(root, &name)),
            Err(error) => no_fixture(root, &name, &error, &mut discovery),
        }
    }
    deny_shared_names(&mut discovery.fixtures);
    Ok(discovery)
}

/// The names in a directory, in byte order.
fn list(directory: &Path) -> io::Result<Vec<OsString>> {
    let mut names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort_unstable();
    Ok(names)
}

fn entry(root: &Utf8Path, name: &OsString) -> FixtureEntry {
    let shown = name.to_string_lossy().into_owned();
    let directory = root.join(&shown);
    let file = directory.join(FILE_NAME);
    let real = root.as_std_path().join(name);
    let read = match name.to_str() {
        Some(_) => read_file(&real.join(FILE_NAME)),
        None => Err(Diagnostic::error("the name of the fixture's directory is not UTF-8")
            .hint("rename the directory")),
    };
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(diagnostic) => {
            let mut problems = Problems::new(&file);
            problems.push(diagnostic);
            let parsed = Parsed::unreadable(problems);
            return FixtureEntry { name: shown, directory, file, input: None, parsed };
        }
    };
    let parsed = parse_fixture(&file, &bytes, &shown);
    let mut entry = FixtureEntry { name: shown, directory, file, input: None, parsed };
    let input = entry.directory.join(INPUT_NAME);
    match find_input(&real.join(INPUT_NAME)) {
        Ok(found) => entry.input = found.then_some(input),
        Err(diagnostic) => entry.invalidate(diagnostic.in_file(input)),
    }
    entry
}

impl FixtureEntry {
    fn invalidate(&mut self, diagnostic: Diagnostic) {
        self.parsed.fixture = None;
        self.parsed.diagnostics.push(diagnostic);
        self.parsed.diagnostics.sort();
    }
}

/// Whether there is an input directory, or what else is in its place.
fn find_input(input: &Path) -> Result<bool, Diagnostic> {
    match fs::metadata(input) {
        Ok(metadata) if metadata.is_dir() => Ok(true),
        Ok(_) => {
            Err(Diagnostic::error("expected a directory with the files that the agent starts from"))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && !input.is_symlink() => Ok(false),
        Err(error) => Err(inaccessible(input, &error)),
    }
}

/// A name in the root under which no `fixture.json` is found. Where that cannot be known, it is an
/// invalid fixture rather than none.
fn no_fixture(root: &Utf8Path, name: &OsString, error: &io::Error, discovery: &mut Discovery) {
    let directory = root.as_std_path().join(name);
    let hidden = name.as_bytes().starts_with(b".");
    match error.kind() {
        io::ErrorKind::NotFound if directory.is_dir() => {
            discovery.warnings.0.extend(likely_slip(root, name));
        }
        io::ErrorKind::NotFound if hidden => {}
        io::ErrorKind::NotADirectory => {}
        // A broken link, a link loop, a directory that may not be entered.
        _ => discovery.fixtures.push(entry(root, name)),
    }
}

/// A file that was probably meant as `fixture.json`, or a fixture one level too deep.
fn likely_slip(root: &Utf8Path, name: &OsString) -> Option<Diagnostic> {
    let directory = root.as_std_path().join(name);
    let shown = root.join(name.to_string_lossy().as_ref());
    let inside = list(&directory).ok()?;
    let misnamed =
        inside.iter().find(|name| name.as_bytes().to_ascii_lowercase().starts_with(b"fixture"));
    if let Some(misnamed) = misnamed {
        let warning = Diagnostic::warning(format!("is not read: a fixture is in {FILE_NAME}"));
        return Some(warning.in_file(shown.join(misnamed.to_string_lossy().as_ref())));
    }
    let nested = inside.iter().find(|name| directory.join(name).join(FILE_NAME).is_file())?;
    let file = shown.join(nested.to_string_lossy().as_ref()).join(FILE_NAME);
    let warning = Diagnostic::warning("is not read: it lies one directory too deep");
    Some(warning.in_file(file).hint(format!("name {shown} with `--fixtures`")))
}

/// Two fixtures of one name cannot be told apart in a selection or a report.
fn deny_shared_names(fixtures: &mut [FixtureEntry]) {
    let mut by_name: BTreeMap<String, Vec<(usize, Location)>> = BTreeMap::new();
    for (index, fixture) in fixtures.iter().enumerate() {
        if let Some(declared) = &fixture.parsed.declared {
            by_name.entry(declared.name.clone()).or_default().push((index, declared.location));
        }
    }
    let shared = by_name.into_values().filter(|places| places.len() > 1);
    for places in shared {
        let file = |at: usize| {
            let index = places.get(at).map(|(index, _)| *index);
            index.and_then(|index| fixtures.get(index)).map(|fixture| fixture.file.clone())
        };
        let (first, second) = (file(0), file(1));
        for (position, (index, location)) in places.iter().enumerate() {
            let other = if position == 0 { &second } else { &first };
            if let (Some(fixture), Some(other)) = (fixtures.get_mut(*index), other) {
                let diagnostic = Diagnostic::error(format!("{other} has the same name"));
                let file = fixture.file.clone();
                fixture.invalidate(
                    diagnostic.in_file(file).at(*location).field("name").hint("rename one of them"),
                );
            }
        }
    }
}
