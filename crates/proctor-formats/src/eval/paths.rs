//! Paths that case files name, and what may be read through them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use proctor_model::Diagnostic;

use super::MAX_FILE_BYTES;
use crate::read_file::{inaccessible, open};
use crate::tree::{Field, Problems, text};

/// Reads a relative path that stays inside its folder, and removes what says nothing: `./a//b`
/// becomes `a/b`.
pub(super) fn relative_path(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let path = text(field, problems)?;
    match clean(&path) {
        Ok(clean) => Some(clean),
        Err(offence) => {
            problems.push(field.error(offence));
            None
        }
    }
}

/// The path without empty and `.` segments and with `..` resolved in the text, or why it may not
/// stand. A backslash is an ordinary character.
fn clean(path: &str) -> Result<String, &'static str> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        return Err("is empty; name a file");
    }
    if path.contains('\0') {
        return Err("contains a NUL character");
    }
    if path.starts_with(['/', '~']) {
        return Err("must be relative: no leading `/` or `~`");
    }
    if bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':') {
        return Err("must be relative: no drive letter");
    }
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop().ok_or("must stay inside its folder: too many `..`")?;
            }
            name => segments.push(name),
        }
    }
    if segments.is_empty() {
        return Err("names a folder; name a file");
    }
    Ok(segments.join("/"))
}

/// The bytes of a regular file of at most [`MAX_FILE_BYTES`].
pub(super) fn read_bounded(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let (mut file, length) = open(path)?;
    let mut bytes = Vec::new();
    if length <= MAX_FILE_BYTES {
        // One byte more than allowed tells a file that grew.
        let mut limited = (&mut file).take(MAX_FILE_BYTES + 1);
        limited.read_to_end(&mut bytes).map_err(|error| inaccessible(path, &error))?;
    }
    if length > MAX_FILE_BYTES || bytes.len() as u64 > MAX_FILE_BYTES {
        let length = length.max(bytes.len() as u64);
        return Err(Diagnostic::error(format!(
            "is {length} bytes long; the limit is {MAX_FILE_BYTES} bytes (1 MiB)"
        )));
    }
    Ok(bytes)
}

/// An eval folder, as the bound of everything that its case files may read.
#[derive(Debug)]
pub(super) struct Bound {
    real: PathBuf,
}

impl Bound {
    pub(super) fn new(eval_folder: &Path) -> std::io::Result<Self> {
        Ok(Self { real: fs::canonicalize(eval_folder)? })
    }

    /// Reads `relative`, which is clean, below `folder`. Links are followed and must not leave the
    /// eval folder.
    pub(super) fn read(&self, folder: &Path, relative: &str) -> Result<Vec<u8>, Diagnostic> {
        let path = folder.join(relative);
        let real = fs::canonicalize(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound if fs::symlink_metadata(&path).is_err() => {
                Diagnostic::error("there is no such file beside the case file")
            }
            _ => inaccessible(&path, &error),
        })?;
        if !real.starts_with(&self.real) {
            return Err(Diagnostic::error("leads out of the eval folder through a link")
                .hint("copy the file into the eval folder"));
        }
        read_bounded(&real)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_are_cleaned_or_refused() {
        for (path, expected) in [
            ("a", Ok("a")),
            ("./a//b/./c/", Ok("a/b/c")),
            ("a/../b", Ok("b")),
            ("..a/b..", Ok("..a/b..")),
            ("a\\..\\b", Ok("a\\..\\b")),
            ("é:x", Ok("é:x")),
            ("", Err("empty")),
            (".", Err("names a folder")),
            ("a/..", Err("names a folder")),
            ("..", Err("too many")),
            ("a/../../b", Err("too many")),
            ("/a", Err("no leading")),
            ("~/a", Err("no leading")),
            ("~user", Err("no leading")),
            ("C:x", Err("drive letter")),
            ("a\0b", Err("NUL")),
        ] {
            match (clean(path), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{path:?}"),
                (Err(found), Err(part)) => assert!(found.contains(part), "{path:?}: {found}"),
                (found, _) => panic!("{path:?}: {found:?}"),
            }
        }
    }
}
