//! What a sandbox is to be.

use std::path::{Path, PathBuf};

/// Where the workspace is, seen from inside.
pub const WORKSPACE: &str = "/workspace";
/// The home of the agent, seen from inside; empty at first.
pub const HOME: &str = "/home/agent";
/// Where this executable is, seen from inside a sandbox of bubblewrap.
pub const LAUNCHER: &str = "/run/proctor/launch";
/// The number of the agent's user inside, and of its group.
pub const AGENT_ID: u32 = 1000;

/// The means by which a trial is to be kept apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Namespaces made with bubblewrap, Landlock inside where the kernel has it.
    Bubblewrap,
    /// Landlock alone. There is no `/workspace`: see `Sandbox::workspace`.
    Landlock,
    /// A container.
    Container {
        /// Of which program.
        engine: Engine,
        /// The image, as the program names it, which is never pulled; it needs `sh` and `sleep`.
        image: String,
    },
    /// Folders and process trees only.
    None,
}

/// A program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Engine {
    /// podman.
    Podman,
    /// docker.
    Docker,
}

impl Engine {
    /// The first one that is installed.
    pub fn installed() -> Option<Self> {
        super::container::installed()
    }

    /// The program's name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// Which network there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// A loopback device, and nothing behind it.
    None,
    /// That of the host.
    Host,
}

/// Who runs a program in a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// Who runs setups, checks and tests: root inside. It has no power outside: it cannot make
    /// devices, mount, or see other processes. Where Proctor is not root itself, root and the agent
    /// are two names of one user, and [`Isolation::users`](proctor_model::Isolation::users) says so.
    Setup,
    /// The agent: never root, and without any capability.
    Agent,
}

/// How much a sandbox may use; `None` is no limit. What cannot be enforced on this machine is
/// reported as `not_enforced`, and never silently dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoomLimits {
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Bytes of a single file.
    pub file_size: Option<u64>,
    /// Open files a process.
    pub open_files: Option<u64>,
    /// Bytes that workspace, home and temporary files together may add to the disk. A trial that
    /// passes it is ended within a fraction of a second: `Violation::Disk`.
    pub disk: Option<u64>,
}

impl RoomLimits {
    /// 1,024 processes, 8 GiB of memory, files of 4 GiB, 8,192 open files, 16 GiB of disk: more
    /// than an agent needs, and less than a machine has.
    pub fn usual() -> Self {
        const GIB: u64 = 1 << 30;
        Self {
            processes: Some(1_024),
            memory: Some(8 * GIB),
            file_size: Some(4 * GIB),
            open_files: Some(8_192),
            disk: Some(16 * GIB),
        }
    }
}

/// Something of the host that is to be seen inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bind {
    /// Its path outside: a file, a folder or a socket.
    pub from: PathBuf,
    /// Its path inside: absolute, and not below a folder that is seen from the host anyway
    /// (`/usr`, `/bin`, `/lib`, ...), unless there is something of that name.
    pub to: PathBuf,
}

impl Bind {
    /// The same path inside and outside.
    pub fn same(path: impl AsRef<Path>) -> Self {
        Self { from: path.as_ref().into(), to: path.as_ref().into() }
    }
}

/// What a sandbox is to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxSpec {
    /// The means. There is no falling back: what is not to be had is an error.
    pub wanted: Wanted,
    /// Which network there is.
    pub network: Network,
    /// How much may be used.
    pub limits: RoomLimits,
    /// What else of the host is seen inside, read-only, beyond the system's own folders: programs
    /// of agents that are installed elsewhere, and sockets. Who may connect to a socket is decided
    /// by its mode.
    pub binds: Vec<Bind>,
}

impl SandboxSpec {
    /// Bubblewrap, the host's network, the usual limits, nothing beyond the system.
    pub fn bubblewrap() -> Self {
        Self {
            wanted: Wanted::Bubblewrap,
            network: Network::Host,
            limits: RoomLimits::usual(),
            binds: Vec::new(),
        }
    }
}
