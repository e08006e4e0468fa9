//! The kernel's word on whether files were opened: no encoding and no path hides that.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, WatchDescriptor};

/// Folders of a skill that are guarded.
const MAX_FOLDERS: usize = 1000;
/// Openings that are remembered by name.
const MAX_NAMES: usize = 1000;

/// Guards files and folders from its creation on. Reading only tells; nothing is kept from anybody.
pub(super) struct Guard {
    inotify: Inotify,
    places: BTreeMap<WatchDescriptor, Utf8PathBuf>,
    opened: Mutex<Opened>,
}

#[derive(Default)]
struct Opened {
    count: usize,
    /// The first of them.
    names: Vec<String>,
}

/// A moment, as the number of openings before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(usize);

/// Why files cannot be guarded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum GuardError {
    /// The system refused something.
    #[error("{0}")]
    System(#[from] Errno),
    /// The file system does not tell what is opened.
    #[error("opening `{0}` was not told of")]
    Silent(Utf8PathBuf),
}

impl Guard {
    /// Guards `files`, and every file in `folder` but for what `spared` names in it. Links count for
    /// what they lead to.
    pub(super) fn new<'a>(
        files: impl Iterator<Item = &'a Utf8Path>,
        folder: Option<&Utf8Path>,
        spared: &str,
    ) -> Result<Self, GuardError> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK)?;
        let mut guard = Self { inotify, places: BTreeMap::new(), opened: Mutex::default() };
        for file in files {
            guard.add(file)?;
            guard.prove(file)?;
        }
        for folder in folder.map(|folder| folders(folder, spared)).unwrap_or_default() {
            guard.add(&folder.path)?;
            for link in folder.links {
                // One that leads nowhere leads to nothing that could be read.
                let _ = guard.add(&link);
            }
        }
        Ok(guard)
    }

    fn add(&mut self, path: &Utf8Path) -> Result<(), Errno> {
        let place = self.inotify.add_watch(path.as_std_path(), AddWatchFlags::IN_OPEN)?;
        self.places.insert(place, path.to_owned());
        Ok(())
    }

    /// Opens a file and sees that it is told: not every file system has the kernel see that.
    fn prove(&self, file: &Utf8Path) -> Result<(), GuardError> {
        let before = self.now();
        let opened = fs_err::File::open(file).is_ok();
        match self.opened_since(before) {
            None if opened => Err(GuardError::Silent(file.to_owned())),
            _ => Ok(()),
        }
    }

    /// This moment.
    pub(super) fn now(&self) -> Mark {
        Mark(self.drain().count)
    }

    /// The first file that anybody opened since then, as people call it.
    pub(super) fn opened_since(&self, mark: Mark) -> Option<String> {
        let opened = self.drain();
        let name = || opened.names.get(mark.0).cloned().unwrap_or_else(|| "a file".to_owned());
        (opened.count > mark.0).then(name)
    }

    fn drain(&self) -> std::sync::MutexGuard<'_, Opened> {
        // What a panic elsewhere has left is whole.
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        while let Ok(events) = self.inotify.read_events() {
            for event in events {
                if event.mask.contains(AddWatchFlags::IN_ISDIR) || !tells(event.mask) {
                    continue;
                }
                opened.count += 1;
                if opened.names.len() < MAX_NAMES {
                    let place = self.places.get(&event.wd);
                    let name = event.name.as_deref().and_then(|name| name.to_str());
                    let path = match (place, name) {
                        (Some(place), Some(name)) => place.join(name).into_string(),
                        (Some(place), None) => place.to_string(),
                        (None, _) => "a file".to_owned(),
                    };
                    opened.names.push(path);
                }
            }
        }
        opened
    }
}

/// Whether an event says that a file was opened, or that events were lost.
fn tells(mask: AddWatchFlags) -> bool {
    mask.intersects(AddWatchFlags::IN_OPEN | AddWatchFlags::IN_Q_OVERFLOW)
}

/// A folder, and the links in it.
struct Folder {
    path: Utf8PathBuf,
    links: Vec<Utf8PathBuf>,
}

/// A folder and those in it. What cannot be listed holds nothing that can be read by name.
fn folders(folder: &Utf8Path, spared: &str) -> Vec<Folder> {
    let mut folders = vec![Folder { path: folder.to_owned(), links: Vec::new() }];
    let mut next = 0;
    while let Some(parent) = folders.get_mut(next) {
        let (mut found, is_root) = (Vec::new(), next == 0);
        for entry in parent.path.read_dir_utf8().into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if is_root && entry.file_name() == spared {
                continue;
            }
            if kind.is_dir() {
                found.push(Folder { path: entry.into_path(), links: Vec::new() });
            } else if kind.is_symlink() && parent.links.len() < MAX_FOLDERS {
                parent.links.push(entry.into_path());
            }
        }
        folders.extend(found);
        folders.truncate(MAX_FOLDERS);
        next += 1;
    }
    folders
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn whatever_opens_a_file_is_seen() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap();
        for folder in ["skill/references", "skill/evals"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in ["skill/SKILL.md", "skill/references/a.md", "skill/evals/a", "cases", "other"] {
            fs::write(root.join(file), "text").unwrap();
        }
        fs::write(root.join("shared.md"), "text").unwrap();
        let link =
            |to: &str, name: &str| std::os::unix::fs::symlink(root.join(to), root.join(name));
        link("skill", "link").unwrap();
        link("shared.md", "skill/linked.md").unwrap();
        link("nowhere", "skill/dangling.md").unwrap();
        fs::hard_link(root.join("cases"), root.join("hard")).unwrap();
        let cases = root.join("cases");
        let files = || std::iter::once(cases.as_path());
        let guard = Guard::new(files(), Some(&root.join("link")), "evals").unwrap();
        let start = guard.now();
        for harmless in ["other", "skill/evals/a"] {
            fs::read(root.join(harmless)).unwrap();
        }
        fs::metadata(root.join("skill/SKILL.md")).unwrap();
        root.join("skill").read_dir_utf8().unwrap().for_each(drop);
        assert_eq!(guard.opened_since(start), None);
        for (read, shown) in [
            ("skill/SKILL.md", "link/SKILL.md"),
            ("skill/references/a.md", "link/references/a.md"),
            ("hard", "cases"),
            ("shared.md", "link/linked.md"),
        ] {
            let before = guard.now();
            fs::read(root.join(read)).unwrap();
            assert_eq!(guard.opened_since(before), Some(root.join(shown).into_string()));
            assert_eq!(guard.opened_since(guard.now()), None);
        }
        assert!(guard.opened_since(start).is_some());
    }

    #[test]
    fn more_openings_than_names_are_kept_count() {
        let temp = tempfile::tempdir().unwrap();
        let root = Utf8Path::from_path(temp.path()).unwrap();
        fs::write(root.join("a"), "").unwrap();
        let guard = Guard::new(std::iter::empty(), Some(root), "").unwrap();
        let open = |times| {
            for _ in 0..times {
                fs::read(root.join("a")).unwrap();
                guard.now();
            }
        };
        open(MAX_NAMES);
        let mark = guard.now();
        assert_eq!(guard.opened_since(mark), None);
        open(1);
        assert_eq!(guard.opened_since(mark), Some("a file".to_owned()));
    }

    #[test]
    fn what_is_not_there_cannot_be_guarded() {
        let missing = Utf8Path::new("/no/such/file");
        assert!(Guard::new(std::iter::once(missing), None, "").is_err());
    }
}
