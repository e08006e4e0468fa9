//! Opening sandboxes.

use std::fs::{self, Permissions};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use nix::unistd::{Gid, Uid, chown, geteuid};
use proctor_model::Layering;

use super::bwrap::Tree;
use super::cgroup::{Group, Groups, Resource};
use super::container::{self, Container, Folders};
use super::detect::{Available, Bubblewrap, probe};
use super::entry::{Become, Entry, FenceKind};
use super::holder::{Holder, Overlay, Plan};
use super::report::{self, Facts};
use super::sandbox::{Inside, Places, Sandbox};
use super::spec::{AGENT_ID, Engine, HOME, Network, RoomLimits, SandboxSpec, WORKSPACE, Wanted};
use super::watch::{Watched, Watcher};
use super::{SandboxError, failed};
use crate::rooms::{Room, RoomError, Rooms};
use crate::supervise::Launcher;
use crate::workspace::system::{self, SYSTEM};
use crate::workspace::walk::{disk_use, open_root};
use crate::workspace::{Prepared, WORK, Workspace};

/// The folder in a room that is the agent's home.
const HOME_FOLDER: &str = "home";

/// Makes sandboxes. One a process is enough, and threads can share it.
#[derive(Debug)]
pub struct Sandboxes {
    pub(super) launcher: Launcher,
    /// What all sandboxes have in common.
    shared: Room,
    available: OnceLock<Available>,
    groups: OnceLock<Groups>,
    watcher: Watcher,
    number: AtomicU64,
}

impl Sandboxes {
    /// `launcher` starts everything that runs in sandboxes; what they share lies in a room of
    /// `rooms`.
    pub fn new(launcher: Launcher, rooms: &Rooms) -> Result<Self, RoomError> {
        Ok(Self {
            launcher,
            shared: rooms.create("sandboxes")?,
            available: OnceLock::new(),
            groups: OnceLock::new(),
            watcher: Watcher::default(),
            number: AtomicU64::new(0),
        })
    }

    /// What can be had on this machine, by trying. The first call takes some 20 ms.
    pub fn available(&self) -> &Available {
        self.available.get_or_init(|| probe(self.launcher.exe(), self.shared.root().as_std_path()))
    }

    /// Whether sandboxes of this kind can be had here at all: nothing is made.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Unavailable`] with the reason.
    pub fn check(&self, wanted: &Wanted) -> Result<(), SandboxError> {
        let reason = match wanted {
            Wanted::Bubblewrap => self.available().bubblewrap.as_ref().err().cloned(),
            Wanted::Landlock => self
                .available()
                .landlock
                .is_none()
                .then(|| "the kernel has no Landlock, or does not allow it".to_owned()),
            Wanted::Container { engine, image } => container::problem(*engine, image),
            Wanted::None => None,
        };
        reason.map_or(Ok(()), |reason| Err(SandboxError::Unavailable { reason }))
    }

    /// Opens a sandbox over a workspace. When it closes, so does everything that ran in it.
    pub fn open(
        &self,
        spec: &SandboxSpec,
        workspace: Workspace,
    ) -> Result<Sandbox<'_>, SandboxError> {
        match &spec.wanted {
            Wanted::Bubblewrap => self.open_bubblewrap(spec, workspace),
            Wanted::Landlock if self.available().landlock.is_none() => {
                let reason = "the kernel has no Landlock, or does not allow it".to_owned();
                Err(SandboxError::Unavailable { reason })
            }
            Wanted::Landlock | Wanted::None => self.open_plain(spec, workspace),
            Wanted::Container { engine, image } => {
                self.open_container(spec, *engine, image, workspace)
            }
        }
    }

    fn open_bubblewrap(
        &self,
        spec: &SandboxSpec,
        workspace: Workspace,
    ) -> Result<Sandbox<'_>, SandboxError> {
        let available = self.available();
        let bubblewrap = available
            .bubblewrap
            .as_ref()
            .map_err(|reason| SandboxError::Unavailable { reason: reason.clone() })?;
        let root = geteuid().is_root();
        let layering = if bubblewrap.overlay.is_ok() { Layering::Overlay } else { Layering::Copy };
        let prepared = workspace.prepare(layering)?;
        let home = furnish(&prepared.room, root)?;
        let group = self.group(&spec.limits);
        let overlays = overlays(&prepared, bubblewrap);
        let tree = Tree {
            exe: self.launcher.exe(),
            etc: &bubblewrap.etc,
            workspace: match overlays.first() {
                Some(overlay) => &overlay.target,
                None => prepared.room.workspace().as_std_path(),
            },
            system: overlays.get(1).map(|overlay| overlay.target.as_path()),
            home: &home,
            tmp: prepared.room.tmp().as_std_path(),
            network: spec.network,
            binds: &spec.binds,
        };
        let holder = Holder::start(&Plan {
            exe: self.launcher.exe(),
            bwrap: &bubblewrap.program,
            overlays: overlays.clone(),
            arguments: tree.arguments(),
            group: &group,
        })?;
        let folder = holder.workspace().map_err(failed("look into the sandbox"))?;
        let entry = Entry {
            holder: Some((holder.pid, holder.start)),
            user_space: root,
            net_space: spec.network == Network::None,
            groups: group.doors(),
            open_files: spec.limits.open_files,
            file_size: spec.limits.file_size,
            ..Entry::default()
        };
        let facts = Facts { layering, root, landlock: available.landlock, group: &group };
        Ok(Sandbox {
            isolation: report::bubblewrap(spec, &facts),
            watched: self.watch(spec, &prepared, &home, Some(&holder)),
            launcher: &self.launcher,
            places: Places { workspace: WORKSPACE.into(), home: HOME.into(), tmp: "/tmp".into() },
            entry,
            folder,
            fence: available.landlock.map_or(FenceKind::Open, |_| FenceKind::Inner),
            processes: spec.limits.processes,
            agent: Some(if root { Become::Another } else { Become::Renamed }),
            inside: Some(Inside { holder: Some(holder), container: None, prepared, group }),
            placings: AtomicU64::new(0),
        })
    }

    /// A sandbox that is no more than folders, perhaps with a fence around them.
    fn open_plain(
        &self,
        spec: &SandboxSpec,
        workspace: Workspace,
    ) -> Result<Sandbox<'_>, SandboxError> {
        let prepared = workspace.prepare(Layering::Copy)?;
        let home = furnish(&prepared.room, false)?;
        let group = self.group(&spec.limits);
        let room = &prepared.room;
        let places = Places {
            workspace: room.workspace().into(),
            home: home.clone(),
            tmp: room.tmp().into(),
        };
        let fence = match spec.wanted {
            Wanted::Landlock => FenceKind::Only {
                writable: vec![places.workspace.clone(), home.clone(), places.tmp.clone()],
                readable: spec.binds.iter().map(|bind| bind.from.clone()).collect(),
                network: spec.network == Network::Host,
            },
            _ => FenceKind::Open,
        };
        let entry = Entry {
            groups: group.doors(),
            open_files: spec.limits.open_files,
            file_size: spec.limits.file_size,
            fence: fence.clone(),
            ..Entry::default()
        };
        let folder = open_root(&places.workspace)
            .map_err(|errno| failed("look into the sandbox")(errno.into()))?;
        let facts = Facts {
            layering: Layering::Copy,
            root: geteuid().is_root(),
            landlock: self.available().landlock,
            group: &group,
        };
        Ok(Sandbox {
            isolation: report::plain(spec, &facts),
            watched: self.watch(spec, &prepared, &home, None),
            launcher: &self.launcher,
            places,
            entry,
            folder,
            fence,
            processes: None,
            agent: None,
            inside: Some(Inside { holder: None, container: None, prepared, group }),
            placings: AtomicU64::new(0),
        })
    }

    fn open_container(
        &self,
        spec: &SandboxSpec,
        engine: Engine,
        image: &str,
        workspace: Workspace,
    ) -> Result<Sandbox<'_>, SandboxError> {
        let root = geteuid().is_root();
        let prepared = workspace.prepare(Layering::Copy)?;
        let home = furnish(&prepared.room, root)?;
        let room = &prepared.room;
        let folders = Folders {
            own: room.root().as_std_path(),
            workspace: room.workspace().as_std_path(),
            home: &home,
            tmp: room.tmp().as_std_path(),
        };
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let container = Container::start(spec, engine, image, &folders, number)?;
        let folder = open_root(folders.workspace)
            .map_err(|errno| failed("look into the sandbox")(errno.into()))?;
        Ok(Sandbox {
            isolation: report::container(spec, engine),
            watched: self.watch(spec, &prepared, &home, None),
            launcher: &self.launcher,
            places: Places { workspace: WORKSPACE.into(), home: HOME.into(), tmp: "/tmp".into() },
            entry: Entry::default(),
            folder,
            fence: FenceKind::Open,
            processes: None,
            agent: root.then_some(Become::Another),
            inside: Some(Inside {
                holder: None,
                container: Some(container),
                prepared,
                group: Group::default(),
            }),
            placings: AtomicU64::new(0),
        })
    }

    fn group(&self, limits: &RoomLimits) -> Group {
        let mut wanted = Vec::new();
        wanted.extend(limits.processes.map(|limit| (Resource::Processes, limit)));
        wanted.extend(limits.memory.map(|limit| (Resource::Memory, limit)));
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.groups.get_or_init(Groups::find).create(number, &wanted)
    }

    fn watch(
        &self,
        spec: &SandboxSpec,
        prepared: &Prepared,
        home: &Path,
        holder: Option<&Holder>,
    ) -> Option<Arc<Watched>> {
        let limit = spec.limits.disk?;
        let room = &prepared.room;
        let folders =
            vec![prepared.upper(), home.to_owned(), room.tmp().into(), system::upper(room)];
        // What a copy begins with is not what the trial adds.
        let begun = match prepared.layering {
            Layering::Copy => {
                open_root(&prepared.upper()).map_or(0, |it| disk_use(it.as_fd(), u64::MAX, false))
            }
            Layering::Overlay => 0,
        };
        let limit = limit.saturating_add(begun);
        let watched = Watched::new(folders, limit, holder);
        self.watcher.watch(&watched);
        Some(watched)
    }
}

/// The overlays of a workspace: its own, and that for what setups install. None for a copy.
fn overlays(prepared: &Prepared, bubblewrap: &Bubblewrap) -> Vec<Overlay> {
    if prepared.layering == Layering::Copy {
        return Vec::new();
    }
    let room = PathBuf::from(prepared.room.root());
    let workspace = Overlay {
        folder: Some(room.clone()),
        upper: "workspace",
        work: WORK,
        lowers: prepared.lowers.clone(),
        target: bubblewrap.workspace.clone(),
    };
    let mut lowers = prepared.system.clone();
    lowers.push(SYSTEM.into());
    let system = Overlay {
        folder: prepared.keeps_system.then_some(room),
        upper: system::UPPER,
        work: system::WORK,
        lowers,
        target: bubblewrap.system.clone(),
    };
    if Path::new(SYSTEM).is_dir() { vec![workspace, system] } else { vec![workspace] }
}

/// Makes the home, and lets whom it concerns into it and into the folder for temporary files.
fn furnish(room: &Room, root: bool) -> Result<PathBuf, SandboxError> {
    let home = room.root().join(HOME_FOLDER).into_std_path_buf();
    let furnish = || {
        fs::create_dir(&home)?;
        if root {
            fs::set_permissions(&home, Permissions::from_mode(0o755))?;
            chown(&home, Some(Uid::from_raw(AGENT_ID)), Some(Gid::from_raw(AGENT_ID)))?;
            fs::set_permissions(room.tmp(), Permissions::from_mode(0o1777))?;
        }
        Ok(())
    };
    furnish().map_err(failed("furnish the sandbox"))?;
    Ok(home)
}
