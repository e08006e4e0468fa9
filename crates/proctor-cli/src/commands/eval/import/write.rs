//! Writing several files so that either all of them are there afterwards or nothing has changed.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::import::NewFile;
use tempfile::{Builder, NamedTempFile, TempDir};

use crate::error::CommandError;

/// Refuses targets that may not be written: files that are there, unless `force` is given; folders;
/// and whatever lies behind a link.
pub(super) fn check(folder: &Utf8Path, files: &[NewFile], force: bool) -> Result<(), CommandError> {
    let mut existing = Vec::new();
    for file in files {
        let target = folder.join(&file.path);
        for above in above(folder, &target) {
            match fs::symlink_metadata(&above) {
                Ok(metadata) if !metadata.is_dir() => {
                    let message = format!("{above} is no folder of its own");
                    return Err(CommandError::usage(message).hint("move it out of the way"));
                }
                _ => {}
            }
        }
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_dir() => {
                let message = format!("{target} is a folder");
                return Err(CommandError::usage(message).hint("move it out of the way"));
            }
            Ok(_) => existing.push(file.path.as_str()),
            Err(_) => {}
        }
    }
    if existing.is_empty() || force {
        return Ok(());
    }
    existing.sort_unstable();
    let verb = if existing.len() == 1 { "exists" } else { "exist" };
    let message = format!("{} already {verb} in {folder}", existing.join(", "));
    Err(CommandError::usage(message).hint("replace with `--force`"))
}

/// The folders between `folder` and a file below it, the upper ones first.
fn above(folder: &Utf8Path, target: &Utf8Path) -> Vec<Utf8PathBuf> {
    let mut folders: Vec<Utf8PathBuf> =
        target.ancestors().skip(1).take_while(|above| *above != folder).map(Into::into).collect();
    folders.reverse();
    folders
}

/// Writes the files below `folder`. After an error everything is as it was.
pub(super) fn write_all(
    folder: &Utf8Path,
    files: &[NewFile],
    force: bool,
) -> Result<(), CommandError> {
    check(folder, files, force)?;
    let mut done = Done::default();
    let written = done.write(folder, files, force);
    if written.is_err() {
        done.undo();
    }
    written.map_err(|(path, error)| {
        CommandError::usage(format!("{path} cannot be written: {error}"))
            .hint("nothing was imported")
    })
}

/// What was done so far.
#[derive(Default)]
struct Done {
    folders: Vec<Utf8PathBuf>,
    /// Files, and where what they replaced lies.
    files: Vec<(Utf8PathBuf, Option<Utf8PathBuf>)>,
    /// Gone when this is dropped.
    staging: Option<TempDir>,
}

type Failed = (Utf8PathBuf, io::Error);

impl Done {
    fn write(&mut self, folder: &Utf8Path, files: &[NewFile], force: bool) -> Result<(), Failed> {
        let missing: Vec<&Utf8Path> =
            folder.ancestors().take_while(|above| !above.exists()).collect();
        for above in missing.into_iter().rev() {
            self.make_folder(above)?;
        }
        // On the same file system, so that every file appears at once and whole.
        let staging = Builder::new().prefix(".import-").tempdir_in(folder);
        let staging = self.staging.insert(staging.map_err(|error| (folder.to_owned(), error))?);
        let staging = Utf8PathBuf::from_path_buf(staging.path().to_owned())
            .map_err(|_| (folder.to_owned(), io::Error::other("its path is not UTF-8")))?;
        let mut staged = Vec::new();
        for file in files {
            let temporary = stage(&staging, &file.content);
            staged.push(temporary.map_err(|error| (folder.join(&file.path), error))?);
        }
        for (index, (file, temporary)) in files.iter().zip(staged).enumerate() {
            let target = folder.join(&file.path);
            for above in above(folder, &target) {
                if !above.exists() {
                    self.make_folder(&above)?;
                }
            }
            let replaced = force.then(|| staging.join(format!("replaced-{index}")));
            self.place(&target, temporary, replaced).map_err(|error| (target, error))?;
        }
        Ok(())
    }

    fn make_folder(&mut self, folder: &Utf8Path) -> Result<(), Failed> {
        fs::create_dir(folder).map_err(|error| (folder.to_owned(), error))?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    /// Puts a file in its place. What is there is moved to `replaced`, a link as a link.
    fn place(
        &mut self,
        target: &Utf8Path,
        temporary: NamedTempFile,
        replaced: Option<Utf8PathBuf>,
    ) -> io::Result<()> {
        let mut kept = None;
        if let Some(replaced) = replaced
            && fs::symlink_metadata(target).is_ok()
        {
            fs::rename(target, &replaced)?;
            kept = Some(replaced);
        }
        let placed = temporary.persist_noclobber(target);
        match (placed, kept) {
            (Ok(_), kept) => {
                self.files.push((target.to_owned(), kept));
                Ok(())
            }
            (Err(error), Some(kept)) => {
                fs::rename(kept, target)?;
                Err(error.error)
            }
            (Err(error), None) => Err(error.error),
        }
    }

    /// Best effort: the first error is the one to be reported.
    fn undo(self) {
        for (file, replaced) in self.files.into_iter().rev() {
            let _ = fs::remove_file(&file);
            if let Some(replaced) = replaced {
                let _ = fs::rename(replaced, file);
            }
        }
        drop(self.staging);
        for folder in self.folders.into_iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn stage(folder: &Utf8Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file =
        Builder::new().permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder)?;
    file.write_all(content)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;

    use super::*;

    fn file(path: &str, content: &str) -> NewFile {
        NewFile { path: path.to_owned(), content: content.as_bytes().to_vec() }
    }

    /// Every file and link below a folder, with what it holds.
    fn listed(folder: &Utf8Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir_utf8().unwrap() {
                let entry = entry.unwrap();
                let kind = entry.file_type().unwrap();
                let path = entry.path().to_owned();
                let text = if kind.is_dir() {
                    folders.push(path.clone());
                    "/".to_owned()
                } else if kind.is_symlink() {
                    format!("-> {}", path.read_link_utf8().unwrap())
                } else {
                    fs::read_to_string(&path).unwrap()
                };
                found.insert(path.into_string(), text);
            }
        }
        found
    }

    fn temporary() -> (TempDir, Utf8PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap();
        (folder, path)
    }

    #[test]
    fn files_are_written_with_their_folders() {
        let (_guard, root) = temporary();
        let folder = root.join("a/b");
        write_all(&folder, &[file("x", "1"), file("c/d/y", "2")], false).unwrap();
        assert_eq!(fs::read_to_string(folder.join("c/d/y")).unwrap(), "2");
        assert_eq!(listed(&folder).len(), 4);
        let mode = fs::metadata(folder.join("x")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }

    #[test]
    fn nothing_is_replaced_without_force_and_links_are_replaced_with_it() {
        let (_guard, root) = temporary();
        let folder = root.join("cases");
        fs::create_dir(&folder).unwrap();
        fs::write(root.join("victim"), "keep").unwrap();
        symlink("../victim", folder.join("x")).unwrap();
        fs::write(folder.join("y"), "old").unwrap();
        let files = [file("x", "1"), file("y", "2"), file("z", "3")];
        let before = listed(&root);
        let error = format!("{:?}", write_all(&folder, &files, false).unwrap_err());
        assert!(error.contains("x, y already exist"), "{error}");
        assert_eq!(listed(&root), before);
        write_all(&folder, &files, true).unwrap();
        assert_eq!(fs::read_to_string(root.join("victim")).unwrap(), "keep");
        assert_eq!(fs::read_to_string(folder.join("x")).unwrap(), "1");
        assert!(!folder.join("x").is_symlink());
        assert_eq!(listed(&folder).len(), 3);
    }

    #[test]
    fn links_and_files_in_place_of_folders_are_refused() {
        let (_guard, root) = temporary();
        let folder = root.join("cases");
        fs::create_dir_all(folder.join("w")).unwrap();
        symlink(&root, folder.join("fixtures")).unwrap();
        fs::write(folder.join("f"), "").unwrap();
        for (path, expected) in [
            ("fixtures/x", "no folder of its own"),
            ("f/x", "no folder of its own"),
            ("w", "is a folder"),
        ] {
            let error = write_all(&folder, &[file("a", "1"), file(path, "2")], true).unwrap_err();
            assert!(format!("{error:?}").contains(expected), "{error:?}");
            assert!(!folder.join("a").exists());
        }
    }

    #[test]
    fn a_failure_half_way_leaves_everything_as_it_was() {
        let (_guard, root) = temporary();
        let folder = root.join("cases");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("x"), "old").unwrap();
        let before = listed(&root);
        // No file system takes so long a name.
        let long = "n".repeat(300);
        let files = [file("x", "1"), file("new/y", "2"), file(&long, "3")];
        let error = write_all(&folder, &files, true).unwrap_err();
        assert!(format!("{error:?}").contains("cannot be written"), "{error:?}");
        assert_eq!(listed(&root), before);
        let absent = root.join("absent/deeper");
        assert!(write_all(&absent, &[file("x", "1"), file(&long, "3")], false).is_err());
        assert_eq!(listed(&root), before);
    }
}
