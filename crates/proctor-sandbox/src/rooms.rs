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

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use camino::{Utf8Path, Utf8PathBuf};
use nix::fcntl::OFlag;
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
    /// What ran in the room has put something else in the place of its workspace.
    #[error("the workspace is no longer the folder that was made for it: {reason}")]
    WorkspaceReplaced {
        /// What is there instead.
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
    janitor: Janitor,
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
            let (rooms, janitor) = (AtomicU64::new(0), Janitor::default());
            let run = Run { folder, rooms, janitor, _lock: lock };
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
        create_folder(&root).map_err(failed("create", &root))?;
        let mut room = Room {
            workspace: root.join("workspace"),
            tmp: root.join("tmp"),
            root,
            identity: None,
            removed: false,
            later: false,
            run: Arc::clone(&self.run),
        };
        room.identity = identity(&room.root);
        for folder in [&room.workspace, &room.tmp] {
            create_folder(folder).map_err(failed("create", folder))?;
        }
        Ok(room)
    }

    /// Clears away what runs that were killed have left: first the processes that carry the mark of
    /// their rooms, then the rooms. Runs that are alive are not touched, nor are those that another
    /// process is clearing away.
    pub fn reap(&self) -> Result<Reaped, RoomError> {
        let mut reaped = Reaped::default();
        for (folder, state) in self.other_runs(&mut reaped.failures)? {
            match state {
                State::Taken => {}
                State::NoFolder => reaped.remove(folder.as_std_path()),
                State::Dead(_lock) => {
                    let mark = folder.as_std_path();
                    reaped.killed.extend(tree::kill_where(|process| {
                        tree::environment_points_into(process, ROOM_VARIABLE, mark)
                    }));
                    reaped.clear_away(&folder);
                }
            }
        }
        Ok(reaped)
    }

    /// Everything in the base under the name of a run, but for this one, in the order of the names.
    /// The locks of dead runs are ours from now on.
    fn other_runs(
        &self,
        failures: &mut Vec<RoomError>,
    ) -> Result<Vec<(Utf8PathBuf, State)>, RoomError> {
        // Nobody can be between the creation of a run and its locking meanwhile.
        let _held = lock_base(&self.base)?;
        let mut runs = Vec::new();
        for folder in entries(&self.base).map_err(failed("list", &self.base))? {
            // A name that is not UTF-8 is none of ours.
            let Ok(folder) = Utf8PathBuf::from_path_buf(folder) else { continue };
            let is_run = folder.file_name().is_some_and(|name| name.starts_with(RUN_PREFIX));
            if is_run && folder != self.run.folder {
                match State::of(&folder) {
                    Ok(state) => runs.push((folder, state)),
                    Err(error) => failures.push(error),
                }
            }
        }
        Ok(runs)
    }
}

/// What is behind the name of a run. The agents of a run can reach everything in the base, so none
/// of it may be trusted to be what it was.
enum State {
    /// Its process is alive, or another process is clearing it away.
    Taken,
    /// Its process is gone; its lock is ours, unless there is none.
    Dead(Option<File>),
    /// No run of ours: a file, a link, a pipe.
    NoFolder,
}

impl State {
    fn of(folder: &Utf8Path) -> Result<Self, RoomError> {
        let metadata = fs::symlink_metadata(folder).map_err(failed("look at", folder))?;
        if !metadata.is_dir() {
            return Ok(Self::NoFolder);
        }
        if metadata.mode() & 0o700 != 0o700 {
            // When it is not ours to change, what follows says so.
            let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
        }
        let path = folder.join(LOCK);
        match open_lock(&path, File::options().read(true)) {
            Ok(Some(lock)) => match lock.try_lock() {
                Ok(()) => Ok(Self::Dead(Some(lock))),
                Err(TryLockError::WouldBlock) => Ok(Self::Taken),
                Err(TryLockError::Error(error)) => Err(failed("lock", &path)(error)),
            },
            Ok(None) => Ok(Self::Dead(None)),
            // Killed between two steps of its creation or of its removal.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Dead(None)),
            Err(error) => Err(failed("open", &path)(error)),
        }
    }
}

impl Reaped {
    /// Removes what is in the folder of a dead run, and the folder.
    fn clear_away(&mut self, folder: &Utf8Path) {
        let before = self.failures.len();
        match entries(folder) {
            Ok(paths) => {
                for path in paths.iter().filter(|path| !path.ends_with(LOCK)) {
                    self.remove(path);
                }
            }
            Err(error) => self.failures.push(failed("list", folder)(error)),
        }
        if self.failures.len() > before {
            return;
        }
        // The lock goes last: until then, whoever comes next finds the run again.
        for path in [&folder.join(LOCK), folder] {
            if let Err(error) = remove_tree(path.as_std_path()) {
                self.failures.push(failed("remove", path)(error));
            }
        }
    }

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
        self.janitor.finish();
        // When a room could not be removed this fails, and the next start tries again.
        let only_lock = |left: Vec<PathBuf>| left.iter().all(|path| path.ends_with(LOCK));
        if entries(&self.folder).is_ok_and(only_lock) {
            let _ = remove_tree(self.folder.as_std_path());
        }
    }
}

/// Removes rooms in the background.
#[derive(Debug, Default)]
struct Janitor(Mutex<Option<(SyncSender<Utf8PathBuf>, JoinHandle<()>)>>);

impl Janitor {
    /// Rooms that may wait; whoever brings more waits too, so that the disk does not fill.
    const WAITING: usize = 64;

    /// Gives the room back when there is nobody to take it.
    fn take(&self, room: Utf8PathBuf) -> Result<(), Utf8PathBuf> {
        let mut janitor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if janitor.is_none() {
            let (sender, receiver) = sync_channel::<Utf8PathBuf>(Self::WAITING);
            let work = move || {
                for room in receiver {
                    // What cannot be removed, the next start tries again.
                    let _ = remove_tree(room.as_std_path());
                }
            };
            let thread = thread::Builder::new().name("janitor".into()).spawn(work);
            *janitor = thread.ok().map(|thread| (sender, thread));
        }
        let sender = janitor.as_ref().map(|(sender, _)| sender.clone());
        // Others need not wait with us.
        drop(janitor);
        match sender {
            Some(sender) => sender.send(room).map_err(|back| back.0),
            None => Err(room),
        }
    }

    fn finish(&self) {
        let janitor = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = janitor {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// One room. Dropping it removes it with everything in it.
#[derive(Debug)]
pub struct Room {
    root: Utf8PathBuf,
    workspace: Utf8PathBuf,
    tmp: Utf8PathBuf,
    /// Of the room's folder as it was made.
    identity: Option<(u64, u64)>,
    removed: bool,
    /// Whether nobody need wait for its removal.
    later: bool,
    run: Arc<Run>,
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

    /// Whether the workspace is still a folder of this room. What runs in a room can put a link in
    /// its place, and whatever is done in the workspace would be done where the link leads.
    pub fn check_workspace(&self) -> Result<(), RoomError> {
        let is_folder = |path: &Utf8Path| match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(()),
            Ok(metadata) if metadata.is_symlink() => Err("a link is there"),
            Ok(_) => Err("something else is there"),
            Err(_) => Err("nothing is there"),
        };
        let result =
            is_folder(&self.root).and_then(|()| is_folder(&self.workspace)).and_then(|()| {
                match identity(&self.root) {
                    found if found == self.identity => Ok(()),
                    _ => Err("the folder around it is another"),
                }
            });
        result.map_err(|reason| RoomError::WorkspaceReplaced { reason })
    }

    /// Lets the removal go on in the background when the room is dropped, but no longer than this
    /// process's rooms last. On some disks every folder that is removed takes milliseconds.
    pub(crate) fn remove_later(&mut self) {
        self.later = true;
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
        if self.removed {
            return;
        }
        let root = std::mem::take(&mut self.root);
        let here = if self.later { self.run.janitor.take(root).err() } else { Some(root) };
        if let Some(root) = here {
            let _ = remove_tree(root.as_std_path());
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
    let file = open_lock(&path, File::options().create(true).truncate(false).write(true))
        .map_err(failed("open", &path))?;
    let Some(file) = file else {
        return Err(RoomError::UnsafeBase { path, reason: "it is not a regular file" });
    };
    file.lock().map_err(failed("lock", &path))?;
    Ok(file)
}

/// Opens a lock file, and nothing that an agent has put in its place: no link is followed, and no
/// pipe is waited for. `None` when it is no regular file.
fn open_lock(path: &Utf8Path, options: &mut OpenOptions) -> io::Result<Option<File>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    match options.custom_flags(flags.bits()).open(path) {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        Err(error) => match fs::symlink_metadata(path) {
            Ok(metadata) if !metadata.is_file() => Ok(None),
            _ => Err(error),
        },
    }
}

/// Device and number of a folder, which no other folder has at the same time.
fn identity(path: &Utf8Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
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
