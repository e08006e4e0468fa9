//! Copying a fixture's input into a workspace.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, OpenOptionsExt as _, PermissionsExt as _, symlink,
};
use std::path::{Component, Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

/// Links in a row after which the system gives up too (`path_resolution(7)`).
const MAX_LINKS: u32 = 40;
/// Refused entries that an error lists by name.
const LISTED: usize = 20;

/// How much may be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageLimits {
    /// Files, folders and links together.
    pub entries: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

impl Default for StageLimits {
    /// 100,000 entries and 2 GiB.
    fn default() -> Self {
        Self { entries: 100_000, bytes: 2 << 30 }
    }
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Staged {
    /// Files, folders and links together.
    pub entries: u64,
    /// Bytes of all files together.
    pub bytes: u64,
}

/// An entry of the tree that is not copied, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its path below the tree's root.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

/// Which limit was passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`StageLimits::entries`].
    Entries,
    /// [`StageLimits::bytes`].
    Bytes,
}

/// Why a tree was not copied. The tree itself is never changed.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The tree holds what cannot be copied safely. Nothing was copied.
    #[error("cannot copy `{}`: {}", root.display(), List(refusals))]
    Refused {
        /// The root of the tree.
        root: PathBuf,
        /// All of it, in the order of the paths.
        refusals: Vec<Refusal>,
    },
    /// The tree is too large.
    #[error(
        "cannot copy `{}`: more than {most} {what} (at `{path}`)",
        root.display(),
        what = match limit { Limit::Entries => "files, folders and links", Limit::Bytes => "bytes" },
        path = path.display()
    )]
    TooLarge {
        /// The root of the tree.
        root: PathBuf,
        /// The first entry beyond the limit.
        path: PathBuf,
        /// Which limit.
        limit: Limit,
        /// Its value.
        most: u64,
    },
    /// The system refused something; a full disk is reported so.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was to be done, as a verb.
        action: &'static str,
        /// With which file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

struct List<'a>(&'a [Refusal]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, refusal) in self.0.iter().take(LISTED).enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}`{}` {}", refusal.path.display(), refusal.reason)?;
        }
        match self.0.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StageError {
    let path = path.to_owned();
    move |source| StageError::Io { action, path, source }
}

/// Copies what is below `from` into the folder `into`: files with their modes, folders, and links
/// that stay inside. The whole tree is looked at first, so that a refusal names everything and
/// nothing is copied. Nothing that exists in `into` is overwritten.
///
/// Not copied are set-user-ID, set-group-ID and sticky bits, owners, times and hard links.
pub fn stage_input(from: &Path, into: &Path, limits: &StageLimits) -> Result<Staged, StageError> {
    stage_some(from, into, limits, &|_| true)
}

/// Like [`stage_input`], but of what is below `from` only that whose path there is `wanted`; a
/// folder that is not is not looked into.
pub fn stage_some(
    from: &Path,
    into: &Path,
    limits: &StageLimits,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<Staged, StageError> {
    let survey = Survey::of(from, limits, wanted)?;
    if !survey.refusals.is_empty() {
        return Err(StageError::Refused { root: from.into(), refusals: survey.refusals });
    }
    let mut staged = Staged { entries: 0, bytes: 0 };
    let mut modes = Vec::new();
    for entry in survey.entries {
        let (source, target) = (from.join(&entry.path), into.join(&entry.path));
        match entry.kind {
            Kind::Folder { mode } => {
                create_folder(&target)?;
                modes.push((target, mode));
            }
            Kind::Link { to } => symlink(to, &target).map_err(failed("create", &target))?,
            Kind::File => {
                let left = limits.bytes - staged.bytes;
                let Some(bytes) = copy_file(&source, &target, left)? else {
                    return Err(StageError::TooLarge {
                        root: from.into(),
                        path: entry.path,
                        limit: Limit::Bytes,
                        most: limits.bytes,
                    });
                };
                staged.bytes += bytes;
            }
        }
        staged.entries += 1;
    }
    // Last, and from the inside out: a folder that may not be written must be filled by then.
    for (folder, mode) in modes.into_iter().rev() {
        set_mode(&folder, mode)?;
    }
    Ok(staged)
}

enum Kind {
    Folder { mode: u32 },
    File,
    Link { to: PathBuf },
}

struct Entry {
    path: PathBuf,
    kind: Kind,
}

/// The tree as it was found: folders before what is in them, names in order.
struct Survey<'a> {
    root: &'a Path,
    entries: Vec<Entry>,
    refusals: Vec<Refusal>,
}

impl<'a> Survey<'a> {
    fn of(
        root: &'a Path,
        limits: &StageLimits,
        wanted: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, StageError> {
        let mut survey = Self { root, entries: Vec::new(), refusals: Vec::new() };
        let mut bytes = 0_u64;
        // Sorted in reverse, so that the first name is taken first.
        let mut left = names(root, Path::new(""))?;
        while let Some(path) = left.pop() {
            if !wanted(&path) {
                continue;
            }
            let too_large = |limit, most| StageError::TooLarge {
                root: root.into(),
                path: path.clone(),
                limit,
                most,
            };
            if (survey.entries.len() + survey.refusals.len()) as u64 >= limits.entries {
                return Err(too_large(Limit::Entries, limits.entries));
            }
            let full = root.join(&path);
            let metadata = fs::symlink_metadata(&full).map_err(failed("look at", &full))?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                left.extend(names(root, &path)?);
                let mode = metadata.permissions().mode();
                survey.entries.push(Entry { path, kind: Kind::Folder { mode } });
            } else if kind.is_file() {
                bytes = bytes.saturating_add(metadata.len());
                if bytes > limits.bytes {
                    return Err(too_large(Limit::Bytes, limits.bytes));
                }
                survey.entries.push(Entry { path, kind: Kind::File });
            } else if kind.is_symlink() {
                survey.link(path)?;
            } else {
                let what = if kind.is_fifo() {
                    "is a named pipe"
                } else if kind.is_socket() {
                    "is a socket"
                } else {
                    "is a device"
                };
                survey.refusals.push(Refusal { path, reason: what.to_owned() });
            }
        }
        Ok(survey)
    }

    fn link(&mut self, path: PathBuf) -> Result<(), StageError> {
        let full = self.root.join(&path);
        let to = fs::read_link(&full).map_err(failed("read the link", &full))?;
        match resolve(self.root, &path) {
            Ok(()) => self.entries.push(Entry { path, kind: Kind::Link { to } }),
            Err(Astray::Leaves) => {
                let reason = format!("is a link that leaves the tree (to `{}`)", to.display());
                self.refusals.push(Refusal { path, reason });
            }
            Err(Astray::Loops) => {
                let reason = format!("is a link in a loop (to `{}`)", to.display());
                self.refusals.push(Refusal { path, reason });
            }
        }
        Ok(())
    }
}

/// What is wrong with a link.
#[derive(Debug, PartialEq, Eq)]
enum Astray {
    Leaves,
    Loops,
}

/// Follows a link as the system would, with `root` as the end of the world. A link to what does
/// not exist is in order.
fn resolve(root: &Path, link: &Path) -> Result<(), Astray> {
    let mut place = PathBuf::new();
    let mut steps: VecDeque<OsString> = link.iter().map(OsString::from).collect();
    let mut links = 0;
    while let Some(step) = steps.pop_front() {
        if step == ".." {
            if !place.pop() {
                return Err(Astray::Leaves);
            }
            continue;
        }
        place.push(&step);
        // What does not exist cannot be a link; then only the steps count.
        let Ok(to) = fs::read_link(root.join(&place)) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Err(Astray::Loops);
        }
        place.pop();
        for component in to.components().rev() {
            match component {
                Component::Normal(name) => steps.push_front(name.to_owned()),
                Component::ParentDir => steps.push_front("..".into()),
                Component::CurDir => {}
                Component::RootDir | Component::Prefix(_) => return Err(Astray::Leaves),
            }
        }
    }
    Ok(())
}

/// The paths of what is in a folder, the last name first.
fn names(root: &Path, folder: &Path) -> Result<Vec<PathBuf>, StageError> {
    // Joining an empty path would leave a slash at the end.
    let full = if folder.as_os_str().is_empty() { root.to_owned() } else { root.join(folder) };
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(&full)?.map(|entry| Ok(folder.join(entry?.file_name()))).collect()
    };
    let mut paths = list().map_err(failed("list", &full))?;
    paths.sort_by(|a, b| b.cmp(a));
    Ok(paths)
}

fn create_folder(path: &Path) -> Result<(), StageError> {
    match DirBuilder::new().mode(0o700).create(path) {
        // The installer may have been here; a link to a folder is not one.
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists
                && fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) =>
        {
            Ok(())
        }
        other => other.map_err(failed("create", path)),
    }
}

/// Copies one file and its mode. `None` when it holds more than `most` bytes.
fn copy_file(source: &Path, target: &Path, most: u64) -> Result<Option<u64>, StageError> {
    // It was a regular file a moment ago; if it no longer is, nothing may block or lead elsewhere.
    let open = File::options().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(source);
    let reading = open.map_err(failed("read", source))?;
    let metadata = reading.metadata().map_err(failed("read", source))?;
    let mut writing = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(target)
        .map_err(failed("create", target))?;
    let copied = io::copy(&mut reading.take(most.saturating_add(1)), &mut writing)
        .map_err(failed("write", target))?;
    let mode = Permissions::from_mode(metadata.permissions().mode() & 0o777);
    writing.set_permissions(mode).map_err(failed("set the mode of", target))?;
    Ok((copied <= most).then_some(copied))
}

fn set_mode(path: &Path, mode: u32) -> Result<(), StageError> {
    fs::set_permissions(path, Permissions::from_mode(mode & 0o777))
        .map_err(failed("set the mode of", path))
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    struct Trees {
        _temp: tempfile::TempDir,
        from: PathBuf,
        into: PathBuf,
    }

    fn trees() -> Trees {
        let temp = tempfile::tempdir().unwrap();
        let [from, into] = ["from", "into"].map(|name| {
            let path = temp.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        });
        Trees { _temp: temp, from, into }
    }

    impl Trees {
        fn stage(&self) -> Result<Staged, StageError> {
            self.stage_within(&StageLimits::default())
        }

        fn stage_within(&self, limits: &StageLimits) -> Result<Staged, StageError> {
            stage_input(&self.from, &self.into, limits)
        }

        fn refusals(&self) -> Vec<String> {
            match self.stage() {
                Err(StageError::Refused { refusals, .. }) => {
                    assert_eq!(fs::read_dir(&self.into).unwrap().count(), 0, "nothing is copied");
                    refusals.iter().map(|r| format!("{} {}", r.path.display(), r.reason)).collect()
                }
                other => panic!("{other:?}"),
            }
        }

        fn file(&self, name: &str, content: &str, mode: u32) {
            let path = self.from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        }

        fn link(&self, name: &str, to: &str) {
            symlink(to, self.from.join(name)).unwrap();
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn what_is_not_wanted_is_neither_copied_nor_refused() {
        let trees = trees();
        trees.file("SKILL.md", "x", 0o644);
        trees.file("evals/case", "y", 0o644);
        trees.link("evals/out", "/etc/passwd");
        let wanted = |path: &Path| path != Path::new("evals");
        let staged = stage_some(&trees.from, &trees.into, &StageLimits::default(), &wanted);
        assert_eq!(staged.unwrap(), Staged { entries: 1, bytes: 1 });
        assert!(!trees.into.join("evals").exists());
    }

    #[test]
    fn files_keep_content_and_mode() {
        let trees = trees();
        trees.file("run.sh", "echo", 0o755);
        trees.file("a/b/secret", "x", 0o600);
        trees.file("a/setuid", "y", 0o4711);
        trees.file("empty", "", 0o444);
        fs::set_permissions(trees.from.join("a"), Permissions::from_mode(0o555)).unwrap();
        let staged = trees.stage().unwrap();
        assert_eq!(staged, Staged { entries: 6, bytes: 6 });
        assert_eq!(fs::read_to_string(trees.into.join("run.sh")).unwrap(), "echo");
        let modes = ["run.sh", "a/b/secret", "a/setuid", "empty", "a"]
            .map(|name| mode(&trees.into.join(name)));
        assert_eq!(modes, [0o755, 0o600, 0o711, 0o444, 0o555]);
    }

    #[test]
    fn links_that_stay_inside_are_kept() {
        let trees = trees();
        trees.file("a/file", "x", 0o644);
        trees.link("a/up", "..");
        trees.link("a/self", "../a/up/a/file");
        trees.link("dangling", "a/none/../../soon");
        trees.stage().unwrap();
        let target = |name: &str| fs::read_link(trees.into.join(name)).unwrap();
        assert_eq!(target("a/up"), Path::new(".."));
        assert_eq!(target("dangling"), Path::new("a/none/../../soon"));
        assert_eq!(fs::read_to_string(trees.into.join("a/self")).unwrap(), "x");
    }

    #[test]
    fn everything_that_is_refused_is_named() {
        let trees = trees();
        trees.file("s1/s2/file", "x", 0o644);
        trees.link("s1/s2/root", "../..");
        trees.link("absolute", "/etc/passwd");
        trees.link("loop", "loop2");
        trees.link("loop2", "loop");
        // By its letters alone this one would stay inside.
        trees.link("sly", "s1/s2/root/../x");
        trees.link("there-and-back", "../from/s1");
        mkfifo(&trees.from.join("pipe"), Mode::S_IRWXU).unwrap();
        let socket = trees.from.join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(socket).unwrap();
        assert_eq!(
            trees.refusals(),
            [
                "absolute is a link that leaves the tree (to `/etc/passwd`)",
                "loop is a link in a loop (to `loop2`)",
                "loop2 is a link in a loop (to `loop`)",
                "pipe is a named pipe",
                "sly is a link that leaves the tree (to `s1/s2/root/../x`)",
                "socket is a socket",
                "there-and-back is a link that leaves the tree (to `../from/s1`)",
            ]
        );
    }

    #[test]
    fn a_long_list_is_cut_in_the_message_only() {
        let trees = trees();
        for number in 0..30 {
            trees.link(&format!("l{number:02}"), "/");
        }
        assert_eq!(trees.refusals().len(), 30);
        let message = trees.stage().unwrap_err().to_string();
        assert!(message.ends_with("`l19` is a link that leaves the tree (to `/`); and 10 more"));
    }

    #[test]
    fn limits_name_the_entry_beyond() {
        let trees = trees();
        trees.file("a", "12345", 0o644);
        trees.file("b", "12345", 0o644);
        let limits = StageLimits { entries: 2, bytes: 10 };
        assert_eq!(trees.stage_within(&limits).unwrap(), Staged { entries: 2, bytes: 10 });
        let message = |entries, bytes| {
            let error = trees.stage_within(&StageLimits { entries, bytes }).unwrap_err();
            error.to_string().replace(trees.from.to_str().unwrap(), "FROM")
        };
        assert_eq!(message(2, 9), "cannot copy `FROM`: more than 9 bytes (at `b`)");
        assert_eq!(
            message(1, 10),
            "cannot copy `FROM`: more than 1 files, folders and links (at `b`)"
        );
    }

    #[test]
    fn a_file_that_hides_its_size_is_still_bounded() {
        // The system states zero bytes for it.
        let source = Path::new("/proc/self/status");
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(copy_file(source, &temp.path().join("x"), 10).unwrap(), None);
    }

    #[test]
    fn nothing_is_overwritten_or_written_through_a_link() {
        let trees = trees();
        trees.file("a/file", "new", 0o644);
        fs::create_dir(trees.into.join("a")).unwrap();
        fs::write(trees.into.join("a/file"), "old").unwrap();
        let error = trees.stage().unwrap_err();
        assert!(error.to_string().ends_with("into/a/file`: File exists (os error 17)"), "{error}");
        assert_eq!(fs::read_to_string(trees.into.join("a/file")).unwrap(), "old");

        fs::remove_dir_all(trees.into.join("a")).unwrap();
        symlink(&trees.from, trees.into.join("a")).unwrap();
        assert!(matches!(trees.stage(), Err(StageError::Io { action: "create", .. })));
    }

    #[test]
    fn a_full_disk_names_the_file() {
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join("file"), "x").unwrap();
        // Every write to this device fails as on a full disk.
        let mut full = File::options().write(true).open("/dev/full").unwrap();
        let mut reading = File::open(temp.path().join("file")).unwrap();
        let error = io::copy(&mut reading, &mut full).map_err(failed("write", Path::new("x")));
        let message = error.unwrap_err().to_string();
        assert_eq!(message, "cannot write `x`: No space left on device (os error 28)");
    }

    #[test]
    fn a_missing_tree_is_named() {
        let trees = trees();
        let error = stage_input(&trees.from.join("no"), &trees.into, &StageLimits::default());
        let message = error.unwrap_err().to_string();
        assert!(message.starts_with("cannot list `") && message.contains("/no`: "), "{message}");
    }
}
