//! Rooms: the temporary folders in which trials take place.
//!
//! ```text
//! BASE/                  mode 0700, ours
//!   lock                 held while a run is entered or judged dead
//!   run-4711/            one a Proctor process
//!     lock               held as long as that process lives
//!     0-example/         one a room
//!       workspace/
//!       tmp/
//! ```
//!
//! One lock a run, and not one a room, keeps file descriptors for what needs them.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::geteuid;

use crate::remove::remove_tree;
use crate::tree::{self, Survivor};

/// The environment variable by which the processes of a room are found again; its value is the
/// room's root.
pub const ROOM_VARIABLE: &str = "PROCTOR_ROOM";

const LOCK: &str = "lock";
const RUN_PREFIX: &str = "run-";
/// Of a room's label this much goes into its name; sockets below it have 108 bytes for their path.
const LABEL_LENGTH: usize = 24;

/// Why a room cannot be had, or not be cleared away.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// The base folder belongs to somebody else, or others may write in it.
    #[error("`{path}` cannot hold rooms: {reason}; remove it, or set TMPDIR to another folder")]
    UnsafeBase {
        /// The base folder.
        path: Utf8PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The system refused something.
    #[error("cannot {action} `{path}`: {source}")]
    Io {
        /// What was to be done, as a verb.
        action: &'static str,
        /// With which file or folder.
        path: Utf8PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

fn failed(action: &'static str, path: &Utf8Path) -> impl FnOnce(io::Error) -> RoomError {
    let path = path.to_owned();
    move |source| RoomError::Io { action, path, source }
}

/// The rooms of this process. They stay as long as this or any [`Room`] of it does.
#[derive(Debug)]
pub struct Rooms {
    base: Utf8PathBuf,
    run: Arc<Run>,
}

#[derive(Debug)]
struct Run {
    folder: Utf8PathBuf,
    rooms: AtomicU64,
    /// Locked; the system unlocks it when this process ends, however it ends.
    _lock: File,
}

/// What was found of dead runs.
#[derive(Debug, Default)]
pub struct Reaped {
    /// The rooms and other remains that were removed, in the order of their names.
    pub removed: Vec<Utf8PathBuf>,
    /// The processes that were still alive in them.
    pub killed: Vec<Survivor>,
    /// What could not be removed. It is tried again at the next start.
    pub failures: Vec<RoomError>,
}

impl Rooms {
    /// Enters a new run below `base`, which is created when it is not there; its parent must be.
    pub fn open(base: &Utf8Path) -> Result<Self, RoomError> {
        let base = claim_base(base)?;
        let _held = lock_base(&base)?;
        let pid = std::process::id();
        // A number can come again: after a restart, or in another container with the same base.
        for attempt in 0_u32.. {
            let folder = match attempt {
                0 => base.join(format!("{RUN_PREFIX}{pid}")),
                _ => base.join(format!("{RUN_PREFIX}{pid}-{attempt}")),
            };
            match create_folder(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(failed("create", &folder)(error)),
            }
            let path = folder.join(LOCK);
            let lock = File::create_new(&path).map_err(failed("create", &path))?;
            lock.try_lock().map_err(|error| failed("lock", &path)(error.into()))?;
            let run = Run { folder, rooms: AtomicU64::new(0), _lock: lock };
            return Ok(Self { base, run: Arc::new(run) });
        }
        Err(failed("create a run in", &base)(io::ErrorKind::AlreadyExists.into()))
    }

    /// A new, empty room. The label only serves people who look at paths.
    pub fn create(&self, label: &str) -> Result<Room, RoomError> {
        let number = self.run.rooms.fetch_add(1, Ordering::Relaxed);
        let label: String = label
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(LABEL_LENGTH)
            .collect();
        let root = self.run.folder.join(format!("{number}-{label}"));
        let room = Room {
            workspace: root.join("workspace"),
            tmp: root.join("tmp"),
            root,
            removed: false,
            _run: Arc::clone(&self.run),
        };
        for folder in [&room.root, &room.workspace, &room.tmp] {
            create_folder(folder).map_err(failed("create", folder))?;
        }
        Ok(room)
    }

    /// Clears away what runs that were killed have left: first the processes that carry the mark of
    /// their rooms, then the rooms. Runs that are alive are not touched, nor are those that another
    /// process is clearing away.
    pub fn reap(&self) -> Result<Reaped, RoomError> {
        let mut reaped = Reaped::default();
        for (folder, _lock) in self.dead_runs()? {
            let mark = folder.as_std_path();
            reaped.killed.extend(tree::kill_where(|process| {
                tree::environment_points_into(process, ROOM_VARIABLE, mark)
            }));
            let before = reaped.failures.len();
            for path in entries(&folder).map_err(failed("list", &folder))? {
                if path.file_name().is_some_and(|name| name != LOCK) {
                    reaped.remove(&path);
                }
            }
            if reaped.failures.len() == before {
                // The lock goes last: until then, whoever comes next finds the run again.
                for path in [folder.join(LOCK), folder] {
                    if let Err(error) = remove_tree(path.as_std_path()) {
                        reaped.failures.push(failed("remove", &path)(error));
                    }
                }
            }
        }
        Ok(reaped)
    }

    /// The runs whose process is gone, each with its lock, now ours.
    fn dead_runs(&self) -> Result<Vec<(Utf8PathBuf, Option<File>)>, RoomError> {
        // Nobody can be between the creation of a run and its locking meanwhile.
        let _held = lock_base(&self.base)?;
        let mut dead = Vec::new();
        for folder in entries(&self.base).map_err(failed("list", &self.base))? {
            // A name that is not UTF-8 is none of ours.
            let Ok(folder) = Utf8PathBuf::from_path_buf(folder) else { continue };
            let is_run = folder.file_name().is_some_and(|name| name.starts_with(RUN_PREFIX));
            if !is_run || folder == self.run.folder {
                continue;
            }
            let path = folder.join(LOCK);
            match File::open(&path) {
                Ok(lock) => match lock.try_lock() {
                    Ok(()) => dead.push((folder, Some(lock))),
                    Err(TryLockError::WouldBlock) => {}
                    Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
                },
                // Killed between two steps of its creation or of its removal.
                Err(error) if error.kind() == io::ErrorKind::NotFound => dead.push((folder, None)),
                Err(error) => return Err(failed("open", &path)(error)),
            }
        }
        Ok(dead)
    }
}

impl Reaped {
    fn remove(&mut self, path: &Path) {
        // What an agent has put beside its room may have any name.
        let shown = Utf8PathBuf::from(path.to_string_lossy().into_owned());
        match remove_tree(path) {
            Ok(()) => self.removed.push(shown),
            Err(error) => self.failures.push(failed("remove", &shown)(error)),
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // When a room could not be removed this fails, and the next start tries again.
        let only_lock = |left: Vec<PathBuf>| left.iter().all(|path| path.ends_with(LOCK));
        if entries(&self.folder).is_ok_and(only_lock) {
            let _ = remove_tree(self.folder.as_std_path());
        }
    }
}

/// One room. Dropping it removes it with everything in it.
#[derive(Debug)]
pub struct Room {
    root: Utf8PathBuf,
    workspace: Utf8PathBuf,
    tmp: Utf8PathBuf,
    removed: bool,
    _run: Arc<Run>,
}

impl Room {
    /// The room itself: what Proctor keeps beside the workspace goes here.
    pub fn root(&self) -> &Utf8Path {
        &self.root
    }

    /// The folder in which the agent works; nothing but what was staged is in it.
    pub fn workspace(&self) -> &Utf8Path {
        &self.workspace
    }

    /// A folder to serve as `TMPDIR`, so that litter goes with the room.
    pub fn tmp(&self) -> &Utf8Path {
        &self.tmp
    }

    /// Removes the room, and says what stood in the way; dropping it cannot. No process may be at
    /// work in it any more.
    pub fn remove(mut self) -> Result<(), RoomError> {
        self.removed = true;
        remove_tree(self.root.as_std_path()).map_err(failed("remove", &self.root))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.removed {
            let _ = remove_tree(self.root.as_std_path());
        }
    }
}

/// The base, absolute and without links in its parents, when it is safe: a folder of this user that
/// nobody else can enter.
fn claim_base(base: &Utf8Path) -> Result<Utf8PathBuf, RoomError> {
    match create_folder(base) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed("create", base)(error)),
    }
    let metadata = fs::symlink_metadata(base).map_err(failed("look at", base))?;
    let reason = if !metadata.is_dir() {
        Some("it is not a folder")
    } else if metadata.uid() != geteuid().as_raw() {
        Some("it belongs to another user")
    } else if metadata.mode() & 0o077 != 0 {
        Some("other users may enter it")
    } else {
        None
    };
    match reason {
        Some(reason) => Err(RoomError::UnsafeBase { path: base.to_owned(), reason }),
        None => base.canonicalize_utf8().map_err(failed("resolve", base)),
    }
}

fn lock_base(base: &Utf8Path) -> Result<File, RoomError> {
    let path = base.join(LOCK);
    let open = || {
        let file = File::options().create(true).truncate(false).write(true).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    open().map_err(failed("lock", &path))
}

fn create_folder(path: &Utf8Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// What is in a folder, in the order of the names.
fn entries(folder: &Utf8Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.sort();
    Ok(paths)
}
