//! Paths that case files name, and what may be read through them.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
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
pub(super) fn clean(path: &str) -> Result<String, &'static str> {
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
    let (file, length) = open(path)?;
    read_open(&file, length).map_err(|error| match error {
        ReadError::TooLong(length) => Diagnostic::error(format!(
            "is {length} bytes long; the limit is {MAX_FILE_BYTES} bytes (1 MiB)"
        )),
        ReadError::Io(error) => inaccessible(path, &error),
    })
}

enum ReadError {
    TooLong(u64),
    Io(io::Error),
}

fn read_open(file: &fs::File, length: u64) -> Result<Vec<u8>, ReadError> {
    if length > MAX_FILE_BYTES {
        return Err(ReadError::TooLong(length));
    }
    // One byte more tells the end of the file without another look, and a file that grew.
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default() + 1);
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ReadError::TooLong(bytes.len() as u64));
    }
    Ok(bytes)
}

/// An eval folder, as the bound of everything that its case files may read.
#[derive(Debug)]
pub(super) struct Bound {
    folder: PathBuf,
    real: PathBuf,
    handle: fs::File,
}

impl Bound {
    pub(super) fn new(eval_folder: &Path) -> io::Result<Self> {
        let handle = fs::OpenOptions::new()
            .read(true)
            .custom_flags(OFlag::O_DIRECTORY.bits())
            .open(eval_folder)?;
        Ok(Self { folder: eval_folder.to_owned(), real: fs::canonicalize(eval_folder)?, handle })
    }

    /// Reads `relative`, which is clean, below `folder`. Links are followed and must not leave the
    /// eval folder.
    pub(super) fn read(&self, folder: &Path, relative: &str) -> Result<Vec<u8>, Diagnostic> {
        if let Some(bytes) = self.read_beneath(folder, relative) {
            return Ok(bytes);
        }
        // Not so simple: an absolute link, an old kernel, or a mistake to be named.
        let path = folder.join(relative);
        let real = fs::canonicalize(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if fs::symlink_metadata(&path).is_err() => {
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

    /// The usual case in one look: the kernel itself refuses whatever leaves the eval folder.
    fn read_beneath(&self, folder: &Path, relative: &str) -> Option<Vec<u8>> {
        let path = folder.strip_prefix(&self.folder).ok()?.join(relative);
        let how = OpenHow::new()
            .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
            .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
        let file = fs::File::from(openat2(&self.handle, &path, how).ok()?);
        let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
        read_open(&file, metadata.len()).ok()
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
