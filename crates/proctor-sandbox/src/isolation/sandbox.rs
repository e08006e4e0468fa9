//! A sandbox, from its opening to its end.

use std::ffi::CString;
use std::fmt;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag};
use nix::unistd::{Gid, Uid, fchownat};
use proctor_model::Isolation;

use super::cgroup::Group;
use super::container::Container;
use super::entry::{Become, Entry, FenceKind};
use super::holder::Holder;
use super::spec::{AGENT_ID, User};
use super::watch::Watched;
use super::{SandboxError, failed};
use crate::cancel::Cancel;
use crate::rooms::Room;
use crate::spawn::{Spawn, SpawnError};
use crate::supervise::{Ending, Finished, Launcher, Limits, Stream};
use crate::workspace::place::{PlaceError, Placed, place, take_out};
use crate::workspace::walk::{Kind, Next, open_beneath, open_root, walk};
use crate::workspace::{Baseline, Prepared, Snapshot, WorkspaceError};

/// Why a sandbox was ended from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// It took more of the disk than [`RoomLimits::disk`](super::RoomLimits::disk).
    Disk,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk => f.write_str("it wrote more to the disk than its limit allows"),
        }
    }
}

/// A sandbox that is open.
///
/// Setups can write into the workspace and, where workspaces are overlays, below `/usr/local`; what
/// they install there is also in the forks that tests run in, where it can be changed and is then
/// forgotten. The rest of the system is read-only
/// (`/usr`) or not the host's and forgotten at the end (`/etc`, `/var`, `/root`, `/tmp`, the home).
///
/// Programs that run in it one after another share its files and its processes: what a setup has started as a daemon is there when the agent comes. Dropping it ends
/// every process in it, and leaves no mount.
#[derive(Debug)]
pub struct Sandbox<'a> {
    pub(super) launcher: &'a Launcher,
    pub(super) places: Places,
    pub(super) entry: Entry,
    pub(super) isolation: Isolation,
    /// The workspace as programs inside see it.
    pub(super) folder: OwnedFd,
    /// The fence around the agent.
    pub(super) fence: FenceKind,
    /// The limit of the agent's processes.
    pub(super) processes: Option<u64>,
    /// How a program becomes the agent's user; `None` where there is no root inside.
    pub(super) agent: Option<Become>,
    pub(super) inside: Option<Inside>,
    pub(super) watched: Option<Arc<Watched>>,
    pub(super) placings: AtomicU64,
}

/// Where things are, seen from inside.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) workspace: PathBuf,
    pub(super) home: PathBuf,
    pub(super) tmp: PathBuf,
}

/// What ends in this order.
#[derive(Debug)]
pub(super) struct Inside {
    pub(super) holder: Option<Holder>,
    pub(super) container: Option<Container>,
    pub(super) group: Group,
    pub(super) prepared: Prepared,
}

impl Sandbox<'_> {
    /// What it really is.
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// The workspace, seen from inside: `/workspace` where there is a file tree of its own.
    pub fn workspace(&self) -> &Path {
        &self.places.workspace
    }

    /// The home of the agent, seen from inside; empty at first.
    pub fn home(&self) -> &Path {
        &self.places.home
    }

    /// The folder for temporary files, seen from inside.
    pub fn tmp(&self) -> &Path {
        &self.places.tmp
    }

    /// Why it was ended from outside, if it was. A program that ran then is reported as cancelled
    /// or killed.
    pub fn violation(&self) -> Option<Violation> {
        self.watched.as_ref().filter(|watched| watched.exceeded()).map(|_| Violation::Disk)
    }

    /// Runs a program in it, exactly as [`Launcher::run`] does, but for this: the folder to run in,
    /// and the program or the `PATH` to find it on, are those inside; and what a program that
    /// ends by itself leaves behind (`setsid ... &`) lives on until the sandbox closes.
    /// Where the sandbox has no process numbers of its own, nothing lives on.
    pub fn run(
        &self,
        user: User,
        spawn: &Spawn,
        limits: &Limits,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Finished, SpawnError> {
        let entry = self.entry(user);
        let io = |source| SpawnError::Io { program: PathBuf::from(&spawn.program), source };
        let word = cancel.linked().map_err(io)?;
        let _telling = self.watched.as_ref().map(|watched| watched.telling(&word));
        let other;
        let spawn = match &self.inside {
            Some(Inside { container: Some(container), .. }) => {
                other = container.enter(user, spawn).map_err(io)?;
                let finished = self.launcher.run(&other, limits, &word, sink)?;
                if !matches!(finished.ending, Ending::Exited(_)) {
                    // What was ended is the engine's program, and not what it has started.
                    container.kill_all();
                }
                return Ok(finished);
            }
            // What this process leaves behind when it is killed is found by the mark.
            Some(Inside { holder: None, prepared, .. }) => {
                other = spawn.clone().marked(&prepared.room);
                &other
            }
            _ => spawn,
        };
        self.launcher.run_in(Some(&entry), spawn, limits, &word, sink)
    }

    fn entry(&self, user: User) -> Entry {
        let mut entry = self.entry.clone();
        match user {
            User::Setup => entry.root = self.agent.is_some(),
            User::Agent => {
                entry.agent = self.agent;
                entry.processes = self.processes;
                entry.fence = self.fence.clone();
            }
        }
        entry
    }

    /// Whether the agent cannot have written where setups install programs.
    fn system_is_ours(&self) -> bool {
        self.agent == Some(Become::Another) || self.fence != FenceKind::Open
    }

    fn inside(&self) -> Result<&Inside, SandboxError> {
        self.inside.as_ref().ok_or_else(|| SandboxError::Ended { said: "it was closed".into() })
    }

    /// Gives the agent what setups have written into the workspace, so that it can work with it.
    pub fn hand_over(&self) -> Result<(), SandboxError> {
        if self.agent != Some(Become::Another) {
            return Ok(());
        }
        let (owner, group) = (Some(Uid::from_raw(AGENT_ID)), Some(Gid::from_raw(AGENT_ID)));
        let upper = self.inside()?.prepared.upper();
        let give = || {
            let upper = open_root(&upper)?;
            walk(upper.as_fd(), &mut |entry| {
                let given = entry.stat.st_uid == AGENT_ID && entry.stat.st_gid == AGENT_ID;
                if given || entry.kind() == Kind::Whiteout {
                    return Ok(Next::Enter);
                }
                // By the way that programs inside take, so that the overlay knows of it.
                let (folder, name) = split(entry.path);
                let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
                let folder = open_beneath(self.folder.as_fd(), &CString::new(folder)?, flags)?;
                let name = CString::new(name)?;
                let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
                match fchownat(&folder, name.as_c_str(), owner, group, flags) {
                    // A daemon may have removed it meanwhile.
                    Ok(()) | Err(Errno::ENOENT) => Ok(Next::Enter),
                    Err(errno) => Err(errno.into()),
                }
            })?;
            Ok(())
        };
        give().map_err(failed("hand over the workspace"))
    }

    /// The state of the workspace just now, as what later ones are compared with.
    pub fn baseline(&self) -> Result<Baseline, SandboxError> {
        Ok(Baseline::take(&self.inside()?.prepared)?)
    }

    /// A copy of the workspace just now, into a room, while nothing in the sandbox runs: afterwards
    /// everything goes on. Where process numbers are not its own, nothing can be stopped, and the
    /// caller must see to it that nothing runs.
    pub fn snapshot(&self, room: Room) -> Result<Arc<Snapshot>, SandboxError> {
        let inside = self.inside()?;
        let copy = || inside.prepared.copy(room, self.system_is_ours());
        let copied = match &inside.holder {
            Some(holder) => holder.while_stopped(copy)?,
            None => copy(),
        };
        Ok(copied?)
    }

    /// Ends everything in it, and takes the workspace as it stands then. This costs nothing,
    /// however large the workspace is.
    pub fn close(mut self) -> Result<Arc<Snapshot>, SandboxError> {
        let with_system = self.system_is_ours();
        let inside = self.inside.take();
        let Some(Inside { holder, container, group, prepared }) = inside else {
            return Err(SandboxError::Ended { said: "it was closed".into() });
        };
        drop(holder);
        drop(container);
        drop(group);
        Ok(prepared.close(with_system))
    }

    /// Puts a file or folder of the host into the workspace, whatever an agent has put in the way;
    /// `dest` is relative to the workspace.
    pub fn place(&self, source: &Path, dest: &Path) -> Result<Placed, PlaceError> {
        let number = self.placings.fetch_add(1, Ordering::Relaxed);
        place(self.folder.as_fd(), source, dest, number)
    }

    /// Takes out again what [`place`](Self::place) has put in, and puts back what was in the way.
    pub fn unplace(&self, placed: &Placed) -> Result<(), SandboxError> {
        take_out(self.folder.as_fd(), placed).map_err(failed("clean the workspace"))
    }
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b".", path),
    }
}

impl From<WorkspaceError> for SandboxError {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}
