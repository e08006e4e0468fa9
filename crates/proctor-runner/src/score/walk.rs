//! Everything in a directory that may be a run.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::Gitignore;
use proctor_formats::fixture_run;
use proctor_model::recorded::run::Violation;

use super::inputs::{
    Entry, Found, InputError, Kind, What, built, file, id, pattern_builder, text_of,
};

/// The file in which a directory leaves runs out, in the syntax of `.gitignore`.
const IGNORE_FILE: &str = ".fixturerunignore";

/// Directories of build products and of other people's code.
const LEFT_OUT: [&str; 2] = ["node_modules", "target"];

/// A walk through the directory `root`, which the report calls `name`.
pub(super) struct Walk<'w> {
    pub(super) root: &'w Path,
    pub(super) name: &'w Path,
    pub(super) exclude: &'w Gitignore,
    pub(super) found: &'w mut Found,
}

/// The patterns of a directory and of those above it.
struct Patterns {
    here: Gitignore,
    above: Option<Rc<Patterns>>,
}

impl Patterns {
    /// The patterns nearest to the path decide, and in one file the last that fits.
    fn ignore(patterns: Option<&Rc<Self>>, path: &Path, is_dir: bool) -> bool {
        let mut next = patterns;
        while let Some(patterns) = next {
            match patterns.here.matched(path, is_dir) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = patterns.above.as_ref(),
            }
        }
        false
    }
}

impl Walk<'_> {
    /// Adds what it finds. Links to directories are not followed, so that it ends.
    pub(super) fn run(mut self) -> Result<(), InputError> {
        let mut open: Vec<(PathBuf, Option<Rc<Patterns>>)> = vec![(PathBuf::new(), None)];
        while let Some((directory, above)) = open.pop() {
            let listed = fs::read_dir(self.root.join(&directory))
                .and_then(Iterator::collect::<Result<Vec<DirEntry>, _>>);
            let listed = match listed {
                Ok(listed) => listed,
                Err(error) => {
                    self.fault(&directory, format!("directory cannot be read: {error}"));
                    continue;
                }
            };
            let has_patterns = listed.iter().any(|entry| entry.file_name() == IGNORE_FILE);
            let patterns = if has_patterns {
                Some(Rc::new(Patterns { here: self.patterns(&directory)?, above }))
            } else {
                above
            };
            for entry in listed {
                let path = directory.join(entry.file_name());
                if let Some(below) = self.entry(&entry, path, patterns.as_ref()) {
                    open.push((below, patterns.clone()));
                }
            }
        }
        Ok(())
    }

    /// Adds an entry; gives it back when it is a directory to walk through.
    fn entry(
        &mut self,
        entry: &DirEntry,
        path: PathBuf,
        patterns: Option<&Rc<Patterns>>,
    ) -> Option<PathBuf> {
        let kind = Kind::of(&path);
        let file_type = match entry.file_type() {
            Ok(file_type) => file_type,
            Err(error) => {
                self.fault(&path, format!("cannot be read: {error}"));
                return None;
            }
        };
        let real = self.root.join(&path);
        let linked = file_type.is_symlink();
        let is_dir = file_type.is_dir() || (linked && real.is_dir());
        if !is_dir && kind.is_none() {
            return None;
        }
        let name = entry.file_name();
        let hidden = name.as_encoded_bytes().starts_with(b".")
            || (is_dir && LEFT_OUT.iter().any(|left_out| name == *left_out));
        let ignored = || {
            self.exclude.matched(&path, is_dir).is_ignore()
                || Patterns::ignore(patterns, &path, is_dir)
        };
        if hidden || (is_dir && linked) || ignored() {
            self.found.skipped += 1;
            return None;
        }
        if is_dir {
            return Some(path);
        }
        match fs::metadata(&real) {
            Ok(_) if linked && !self.holds(&real) => {
                let message = "is a link out of the directory; name the file itself to score it";
                self.fault(&path, message);
            }
            Ok(metadata) => {
                let entry = Entry { label: self.label(&path), what: file(&real, &metadata) };
                self.found.entries.push((entry, Some(id(&metadata))));
            }
            Err(error) => {
                let fault = fixture_run::open(&real).err();
                let message = fault.map_or_else(|| error.to_string(), |fault| fault.message);
                self.fault(&path, message);
            }
        }
        None
    }

    /// Whether a path, links followed, lies in the directory.
    fn holds(&self, path: &Path) -> bool {
        match (self.root.canonicalize(), path.canonicalize()) {
            (Ok(root), Ok(path)) => path.starts_with(root),
            _ => false,
        }
    }

    fn label(&self, path: &Path) -> String {
        text_of(&self.name.join(path))
    }

    fn fault(&mut self, path: &Path, message: impl Into<String>) {
        let what = What::Fault(Violation::new("", message));
        let label = self.label(path);
        let label = if label.is_empty() { ".".to_owned() } else { label };
        self.found.entries.push((Entry { label, what }, None));
    }

    fn patterns(&self, directory: &Path) -> Result<Gitignore, InputError> {
        let file = directory.join(IGNORE_FILE);
        let shown = self.label(&file);
        let refuse = |message| InputError::IgnoreFile { path: shown.clone(), message };
        let bytes = fixture_run::read(&self.root.join(&file)).map_err(|v| refuse(v.message))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse("is no UTF-8".to_owned()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut builder = pattern_builder(directory);
        for (number, line) in (1..).zip(text.lines()) {
            builder.add_line(None, line).map_err(|error| InputError::Glob {
                glob: line.to_owned(),
                place: format!(" in {shown}:{number}"),
                message: error.to_string(),
            })?;
        }
        built(&builder)
    }
}
