//! What really stood between a trial and the machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bound::Enforcement;

/// By which means trials are kept apart.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum IsolationLevel {
    /// Namespaces made with bubblewrap, with Landlock inside where the kernel has it.
    Bubblewrap,
    /// Landlock alone: no namespaces, so that trials see each other's processes.
    Landlock,
    /// A container of podman or docker.
    Container,
    /// Nothing but folders and a process tree.
    None,
}

impl IsolationLevel {
    /// Its name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Landlock => "landlock",
            Self::Container => "container",
            Self::None => "none",
        }
    }
}

/// How a trial's workspace came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Layering {
    /// An overlay: the base is shared, and only what the trial changed is its own.
    Overlay,
    /// A copy of the base.
    Copy,
}

/// One barrier or limit: whether it held, and by what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guard {
    /// Whether it was enforced.
    pub status: Enforcement,
    /// The limit's value, for a limit that was asked for; bytes or a count, as the field says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// By what it was enforced, or why it was not.
    pub how: String,
}

impl Guard {
    /// A barrier that held.
    pub fn enforced(how: impl Into<String>) -> Self {
        Self { status: Enforcement::Enforced, limit: None, how: how.into() }
    }

    /// A barrier that was wanted and was not there.
    pub fn not_enforced(why: impl Into<String>) -> Self {
        Self { status: Enforcement::NotEnforced, limit: None, how: why.into() }
    }

    /// A barrier that nobody asked for.
    pub fn not_requested() -> Self {
        Self { status: Enforcement::NotRequested, limit: None, how: String::new() }
    }

    /// The same, of a limit.
    #[must_use]
    pub fn of(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Whether it held.
    pub fn holds(&self) -> bool {
        self.status == Enforcement::Enforced
    }
}

impl Isolation {
    /// What sessions of conformance tests and skill evals have: a workspace and a process tree that
    /// are their own, and no barrier.
    pub fn folders() -> Self {
        let open = || Guard::not_enforced("the session has a folder of its own and no sandbox");
        Self {
            level: IsolationLevel::None,
            workspace: Layering::Copy,
            files: open(),
            processes: open(),
            ipc: open(),
            network: Guard::not_requested(),
            users: open(),
            landlock: open(),
            max_processes: Guard::not_requested(),
            max_memory: Guard::not_requested(),
            max_file_size: Guard::not_requested(),
            max_open_files: Guard::not_requested(),
            max_disk: Guard::not_requested(),
        }
    }
}

/// What a trial really had. What is `enforced` here was enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// The means.
    pub level: IsolationLevel,
    /// How the workspace came about.
    pub workspace: Layering,
    /// A file tree of its own: no other trial, no home of the host, no file of the experiment.
    pub files: Guard,
    /// Process numbers of its own: no process outside can be seen or signalled.
    pub processes: Guard,
    /// System V and POSIX message queues, semaphores and shared memory of its own.
    pub ipc: Guard,
    /// No network. `not_requested` where the network of the host was asked for.
    pub network: Guard,
    /// The agent is another user than setups and tests, and not root.
    pub users: Guard,
    /// Landlock around the agent.
    pub landlock: Guard,
    /// Most processes and threads at a time.
    pub max_processes: Guard,
    /// Most memory, in bytes.
    pub max_memory: Guard,
    /// Largest file that can be written, in bytes.
    pub max_file_size: Guard,
    /// Most files a process has open.
    pub max_open_files: Guard,
    /// Most that the trial can add to the disk, in bytes.
    pub max_disk: Guard,
}
