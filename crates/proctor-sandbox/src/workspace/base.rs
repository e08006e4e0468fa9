//! The states of a workspace.

use std::fmt;
use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use nix::fcntl::AtFlags;
use nix::unistd::{Gid, Uid, fchownat, geteuid};
use proctor_model::{Digest, Layering};

use super::build::{copy_tree, dress_like, make_folder};
use super::flatten::flatten;
use super::manifest::{Known, Manifest, ReadLimits};
use super::system;
use super::walk::{Next, open_root, walk};
use super::{WorkspaceError, failed};
use crate::isolation::AGENT_ID;
use crate::rooms::Room;

/// A frozen tree from which trials start. Nobody may change it as long as it is used.
pub struct Base {
    folder: PathBuf,
    manifest: OnceLock<Manifest>,
}

impl fmt::Debug for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Base").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Base {
    /// Takes a folder of ours with everything in it. Where Proctor is root, all of it is given to
    /// the agent's user, as it is the agent's workspace.
    pub fn freeze(folder: impl Into<PathBuf>) -> Result<Arc<Self>, WorkspaceError> {
        let folder = folder.into();
        if geteuid().is_root() {
            give_to_agent(&folder).map_err(failed("change the owner of", &folder))?;
        }
        Ok(Arc::new(Self { folder, manifest: OnceLock::new() }))
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What is in it. The first call reads every file.
    pub fn manifest(&self) -> Result<&Manifest, WorkspaceError> {
        if let Some(manifest) = self.manifest.get() {
            return Ok(manifest);
        }
        let read =
            || Manifest::of_tree(open_root(&self.folder)?, &ReadLimits::default(), &Known::new());
        let manifest = read().map_err(failed("read", &self.folder))?;
        Ok(self.manifest.get_or_init(|| manifest))
    }

    /// One digest for all of it; see [`Manifest::root`].
    pub fn digest(&self) -> Result<Digest, WorkspaceError> {
        Ok(self.manifest()?.root())
    }
}

/// Gives everything below a folder, and the folder, to the agent's user.
fn give_to_agent(folder: &Path) -> io::Result<()> {
    let root = open_root(folder)?;
    let (owner, group) = (Some(Uid::from_raw(AGENT_ID)), Some(Gid::from_raw(AGENT_ID)));
    walk(root.as_fd(), &mut |entry| {
        if entry.stat.st_uid != AGENT_ID || entry.stat.st_gid != AGENT_ID {
            let flags = AtFlags::AT_SYMLINK_NOFOLLOW;
            fchownat(entry.folder, entry.name, owner, group, flags)?;
        }
        Ok(Next::Enter)
    })?;
    Ok(nix::unistd::fchown(&root, owner, group)?)
}

/// What a workspace starts from.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Base(Arc<Base>),
    Snapshot(Arc<Snapshot>),
}

impl Origin {
    /// The folders that an overlay of it consists of, the uppermost first.
    fn layers(&self) -> Vec<PathBuf> {
        match self {
            Self::Base(base) => vec![base.folder.clone()],
            Self::Snapshot(snapshot) => snapshot.layers(),
        }
    }

    /// What setups have put into [`SYSTEM`](super::system::SYSTEM), the uppermost first.
    fn system(&self) -> Vec<PathBuf> {
        match self {
            Self::Base(_) => Vec::new(),
            Self::Snapshot(snapshot) => snapshot.system.clone(),
        }
    }

    pub(super) fn manifest(&self) -> Result<Manifest, WorkspaceError> {
        match self {
            Self::Base(base) => base.manifest().cloned(),
            Self::Snapshot(snapshot) => snapshot.manifest(),
        }
    }

    pub(super) fn base(&self) -> &Arc<Base> {
        match self {
            Self::Base(base) => base,
            Self::Snapshot(snapshot) => snapshot.origin.base(),
        }
    }
}

/// A workspace that is not in use yet.
#[derive(Debug)]
pub struct Workspace {
    pub(super) origin: Origin,
    room: Room,
}

impl Workspace {
    /// One that shows what the base has. What is changed goes into the room.
    pub fn new(base: &Arc<Base>, mut room: Room) -> Self {
        room.remove_later();
        Self { origin: Origin::Base(Arc::clone(base)), room }
    }

    /// Gets it ready to be mounted, or, as a copy, to be used.
    pub(crate) fn prepare(self, layering: Layering) -> Result<Prepared, WorkspaceError> {
        let first = matches!(self.origin, Origin::Base(_));
        let (lowers, system) = (self.origin.layers(), self.origin.system());
        let prepared = Prepared {
            origin: self.origin,
            room: self.room,
            layering,
            lowers,
            system,
            keeps_system: first && layering == Layering::Overlay,
        };
        match layering {
            Layering::Overlay => {
                let upper = prepared.upper();
                let make = || {
                    let folder = make_folder(&upper)?;
                    make_folder(prepared.room.root().join(WORK).as_std_path())?;
                    // An overlay's root has what its upper folder has.
                    let lowest = prepared.lowers.first().map_or(upper.as_path(), PathBuf::as_path);
                    dress_like(open_root(lowest)?.as_fd(), folder.as_fd())?;
                    if prepared.keeps_system { system::prepare(&prepared.room) } else { Ok(()) }
                };
                make().map_err(failed("prepare", &upper))?;
            }
            Layering::Copy => {
                let folder = prepared.upper();
                flatten(&prepared.lowers, &folder)
                    .map_err(failed("copy a workspace to", &folder))?;
            }
        }
        Ok(prepared)
    }
}

/// A workspace in use.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(super) origin: Origin,
    pub(crate) room: Room,
    pub(crate) layering: Layering,
    /// The uppermost first.
    pub(crate) lowers: Vec<PathBuf>,
    /// What earlier setups have put into [`SYSTEM`](super::system::SYSTEM), the uppermost first.
    pub(crate) system: Vec<PathBuf>,
    /// Whether what is written there is kept: of a trial, and not of a fork for tests.
    pub(crate) keeps_system: bool,
}

impl Prepared {
    /// What is changed: the overlay's upper folder, or the copy itself.
    pub(crate) fn upper(&self) -> PathBuf {
        self.room.workspace().into()
    }

    /// Copies what was changed so far. Nothing may be at work in it meanwhile. `with_system` says
    /// whether only setups can have written there.
    pub(crate) fn copy(
        &self,
        room: Room,
        with_system: bool,
    ) -> Result<Arc<Snapshot>, WorkspaceError> {
        let to = PathBuf::from(room.workspace());
        let upper = self.upper();
        let mut system = self.system.clone();
        let copy = |from: &Path, to: &Path| {
            let copy = || copy_tree(open_root(from)?.as_fd(), make_folder(to)?.as_fd());
            copy().map_err(failed("copy", from))
        };
        copy(&upper, &to)?;
        if with_system && self.keeps_system {
            let (from, to) = (system::upper(&self.room), system::upper(&room));
            copy(&from, &to)?;
            system.insert(0, to);
        }
        Ok(Snapshot::new(self.origin.clone(), to, self.layering, system, room))
    }

    /// What was changed, as it stands. Nothing is at work in it any more.
    pub(crate) fn close(mut self, with_system: bool) -> Arc<Snapshot> {
        let top = self.upper();
        if with_system && self.keeps_system {
            self.system.insert(0, system::upper(&self.room));
        }
        Snapshot::new(self.origin, top, self.layering, self.system, self.room)
    }
}

/// The folder in a room that the workspace's overlay works in.
pub(crate) const WORK: &str = "work";

/// A workspace as a trial left it. It lies in the room of that trial, which lasts as long as this.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) origin: Origin,
    /// An upper layer over the origin, or the whole tree.
    pub(super) top: PathBuf,
    pub(super) layering: Layering,
    /// What setups have put into [`SYSTEM`](super::system::SYSTEM), the uppermost first.
    pub(super) system: Vec<PathBuf>,
    _room: Room,
}

impl Snapshot {
    pub(super) fn new(
        origin: Origin,
        top: PathBuf,
        layering: Layering,
        system: Vec<PathBuf>,
        room: Room,
    ) -> Arc<Self> {
        Arc::new(Self { origin, top, layering, system, _room: room })
    }

    /// A workspace that starts from it, without any of its processes. What is changed there goes
    /// into `room`, and never into this.
    pub fn fork(self: &Arc<Self>, mut room: Room) -> Workspace {
        room.remove_later();
        Workspace { origin: Origin::Snapshot(Arc::clone(self)), room }
    }

    /// What is in it. Reads every file that the trial changed, and those of the base when nobody
    /// has yet.
    pub fn manifest(&self) -> Result<Manifest, WorkspaceError> {
        self.manifest_knowing(&Known::new())
    }

    pub(super) fn manifest_knowing(&self, known: &Known) -> Result<Manifest, WorkspaceError> {
        let limits = ReadLimits::default();
        let below = match self.layering {
            Layering::Overlay => Some(self.origin.manifest()?),
            Layering::Copy => None,
        };
        let read = || {
            let top = open_root(&self.top)?;
            match below {
                Some(below) => below.overlaid(top, &limits, known),
                None => Manifest::of_tree(top, &limits, known),
            }
        };
        read().map_err(failed("read", &self.top))
    }

    fn layers(&self) -> Vec<PathBuf> {
        let mut layers = vec![self.top.clone()];
        if self.layering == Layering::Overlay {
            layers.extend(self.origin.layers());
        }
        layers
    }
}
