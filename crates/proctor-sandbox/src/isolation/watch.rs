//! The limit of disk use. No file system counts for us, so somebody has to look.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;

use super::holder::Holder;
use crate::cancel::Cancel;
use crate::control::Control;
use crate::tree::sharing_numbers;
use crate::workspace::walk::{disk_use, open_root};

/// How often the free space is looked at, which costs nothing.
const TICK: Duration = Duration::from_millis(50);
/// How often the folders are added up at least, and how many times as long as that took.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSES: u32 = 50;

/// What is known of one sandbox.
#[derive(Debug)]
pub(super) struct Watched {
    folders: Vec<PathBuf>,
    limit: u64,
    /// The socket of the sandbox's first process, with which everything ends.
    holder: Option<Arc<Control>>,
    /// The number of that process, whose space of process numbers is the sandbox's.
    first: Option<i32>,
    /// The bytes that were free when it began.
    begun: u64,
    /// The words that end what runs just now.
    words: Mutex<Words>,
    exceeded: AtomicBool,
}

impl Watched {
    pub(super) fn new(folders: Vec<PathBuf>, limit: u64, holder: Option<&Holder>) -> Arc<Self> {
        let (words, exceeded) = (Mutex::default(), AtomicBool::new(false));
        let (first, holder) = (holder.map(|holder| holder.pid), holder.map(Holder::control));
        let begun = folders.first().and_then(|folder| free(folder)).unwrap_or(0);
        Arc::new(Self { folders, limit, holder, first, begun, words, exceeded })
    }

    pub(super) fn exceeded(&self) -> bool {
        self.exceeded.load(Ordering::SeqCst)
    }

    /// Has `word` given when the limit is passed, as long as what is returned lasts.
    pub(super) fn telling(&self, word: &Cancel) -> Telling<'_> {
        let number = {
            let mut words = lock(&self.words);
            words.next += 1;
            let number = words.next;
            words.by_number.insert(number, word.clone());
            number
        };
        if self.exceeded() {
            word.cancel();
        }
        Telling { watched: self, number }
    }

    fn end(&self) {
        self.exceeded.store(true, Ordering::SeqCst);
        if let Some(holder) = &self.holder {
            holder.hang_up();
        }
        lock(&self.words).by_number.values().for_each(Cancel::cancel);
    }

    /// The bytes that it has put on the disk. `all` looks everywhere.
    fn used(&self, all: bool) -> u64 {
        let folders = self.folders.iter().filter_map(|folder| open_root(folder).ok());
        let used = folders.map(|folder| disk_use(folder.as_fd(), self.limit, all));
        let nameless = self.first.filter(|_| all).map_or(0, nameless);
        used.fold(nameless, u64::saturating_add)
    }

    /// The bytes that are free on the disk.
    fn free(&self) -> Option<u64> {
        free(self.folders.first()?)
    }
}

fn free(folder: &Path) -> Option<u64> {
    let space = statvfs(folder).ok()?;
    Some(space.blocks_free().saturating_mul(space.fragment_size()))
}

/// The bytes of files without a name that the processes beside `first` hold open. What they have only
/// mapped, or only sent to one another, is not seen.
fn nameless(first: i32) -> u64 {
    const BLOCK: u64 = 512;
    let mut seen = BTreeSet::new();
    let mut bytes = 0_u64;
    for process in sharing_numbers(first) {
        let open = fs::read_dir(format!("/proc/{}/fd", process.pid));
        for entry in open.into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(file) = fs::metadata(&path) else { continue };
            if file.is_file()
                && file.nlink() == 0
                && statfs(&path).is_ok_and(|it| it.filesystem_type() != TMPFS_MAGIC)
                && seen.insert((file.dev(), file.ino()))
            {
                bytes = bytes.saturating_add(file.blocks().saturating_mul(BLOCK));
            }
        }
    }
    bytes
}

#[derive(Debug, Default)]
struct Words {
    next: u64,
    by_number: BTreeMap<u64, Cancel>,
}

/// A word that is given when a limit is passed.
pub(super) struct Telling<'a> {
    watched: &'a Watched,
    number: u64,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        lock(&self.watched.words).by_number.remove(&self.number);
    }
}

/// One look at a sandbox.
struct Look {
    watched: Weak<Watched>,
    /// When the folders are added up again, whatever the disk says.
    next: Instant,
    /// As much free space as this or less means that they are added up at once.
    alarm: u64,
}

/// Looks at sandboxes from a thread of its own.
#[derive(Debug, Default)]
pub(super) struct Watcher(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    news: Condvar,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    looks: Vec<Look>,
    running: bool,
    over: bool,
}

impl Watcher {
    /// Looks at a sandbox as long as it lasts.
    pub(super) fn watch(&self, watched: &Arc<Watched>) {
        let look = Look {
            watched: Arc::downgrade(watched),
            next: Instant::now() + PAUSE,
            alarm: watched.free().unwrap_or(0).saturating_sub(watched.limit / 2),
        };
        let mut state = lock(&self.0.state);
        state.looks.push(look);
        if !state.running {
            let shared = Arc::clone(&self.0);
            state.running = thread::Builder::new()
                .name("disk-watch".into())
                .spawn(move || shared.run())
                .is_ok();
        }
        self.0.news.notify_all();
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        lock(&self.0.state).over = true;
        self.0.news.notify_all();
    }
}

impl Shared {
    fn run(&self) {
        let mut state = lock(&self.state);
        while !state.over {
            if state.looks.is_empty() {
                state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let mut looks = std::mem::take(&mut state.looks);
            drop(state);
            looks.retain_mut(Look::again);
            state = lock(&self.state);
            state.looks.append(&mut looks);
            if !state.over {
                let waited = self.news.wait_timeout(state, TICK);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }
}

impl Look {
    /// Looks, and says whether it is worth another.
    fn again(&mut self) -> bool {
        let Some(watched) = self.watched.upgrade() else { return false };
        let now = Instant::now();
        let free = watched.free().unwrap_or(u64::MAX);
        if now < self.next && free > self.alarm {
            return true;
        }
        // Those who hide what they write can hide only where it is, and not that it is gone.
        let hidden = watched.begun.saturating_sub(free) > watched.limit;
        let used = watched.used(hidden);
        if used > watched.limit {
            watched.end();
            return false;
        }
        self.next = now + PAUSE.max(now.elapsed() * PAUSES);
        // When half of what is left has been taken, by whomever.
        self.alarm = free.saturating_sub((watched.limit - used) / 2);
        true
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
