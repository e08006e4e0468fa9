//! Sandboxes: what keeps a trial apart from the machine and from other trials.
//!
//! ```text
//! let sandboxes = Sandboxes::new(launcher, &rooms)?;          // once a process
//! let base = Base::freeze(folder)?;                           // staged files; once a variant
//! let mut sandbox = sandboxes.open(&spec, Workspace::new(&base, rooms.create("trial")?))?;
//! sandbox.run(User::Setup, &spawn, &limits, &cancel, sink)?;  // setups; daemons stay
//! sandbox.hand_over()?;                                       // what setups wrote is the agent's
//! let before = sandbox.baseline()?;
//! sandbox.run(User::Agent, &spawn, &limits, &cancel, sink)?;
//! let live = sandbox.snapshot(rooms.create("live")?)?;        // only when live tests follow
//! let after = sandbox.close()?;                               // kills all; costs nothing
//! let diff = before.diff(&after, &DiffLimits::default())?;
//! let fork = sandboxes.open(&spec, after.fork(rooms.create("tests")?)?)?;
//! let placed = fork.place(&source, "tests/data.json")?; ... fork.unplace(placed)?;
//! after.save(&file)?; Snapshot::load(&base, &file, room)?;    // for a retest
//! ```

//!
//! # What holds by what, with bubblewrap
//!
//! | | |
//! |---|---|
//! | files | a mount namespace: `/usr` read-only, a few files of `/etc`, what was bound; everything else is the trial's own |
//! | processes | a process namespace, whose first process ends with Proctor, and everything with it |
//! | IPC, host name, control groups | namespaces |
//! | network | a namespace with a loopback device alone, for [`Network::None`] |
//! | users | a user namespace. Where Proctor is root, everybody is who they are in it, the agent is user 1000, and root inside keeps eight harmless capabilities, which count inside only |
//! | `/proc/sys` | read-only: to these files root inside is root, whatever capabilities it lacks |
//! | the agent | no new privileges, no capability, Landlock: writing in the workspace, its home and `/tmp` alone, no abstract sockets of the host |
//! | processes, memory | control groups of version 1 or 2 where groups can be made; for the agent `RLIMIT_NPROC` too, which is counted by user namespace and so by sandbox |
//! | file size, open files | `RLIMIT_FSIZE`, `RLIMIT_NOFILE` |
//! | disk | looked at 20 times a second; who passes the limit is ended |
//!
//! Who is not root has one user only: then root inside and the agent (user 1000 by a user namespace
//! more) are the same outside, and only Landlock keeps the agent from what setups made.
//!
//! Programs enter one by one. The launcher joins the process namespace for its children, which then
//! enter the rest, and give up what they are not to have; while they are half outside nobody can
//! look into them, since they cannot be traced. The launcher itself stays outside and sees all of
//! the tree by its own numbers.

mod bwrap;
mod cgroup;
mod container;
mod detect;
pub(crate) mod entry;
mod fence;
mod holder;
mod report;
mod sandbox;
mod sandboxes;
mod spec;
mod stages;
mod watch;

use std::ffi::OsString;
use std::io;

pub use detect::{Available, Bubblewrap};
pub use sandbox::{Sandbox, Violation};
pub use sandboxes::Sandboxes;
pub use spec::{
    AGENT_ID, Bind, Engine, HOME, LAUNCHER, Network, RoomLimits, SandboxSpec, User, WORKSPACE,
    Wanted,
};

use crate::workspace::WorkspaceError;

/// Why there is no sandbox, or no longer one.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// It cannot be had on this machine.
    #[error("this sandbox cannot be had here: {reason}")]
    Unavailable {
        /// Why not.
        reason: String,
    },
    /// A step of its making failed.
    #[error("cannot make a sandbox: cannot {step}: {source}")]
    Step {
        /// What was to be done, as a verb.
        step: String,
        /// What the system says.
        source: io::Error,
    },
    /// It ended, or did not begin.
    #[error("the sandbox has ended: {said}")]
    Ended {
        /// What was said last, if anything was.
        said: String,
    },
    /// What runs in it could not be stopped for a moment.
    #[error("the processes in the sandbox could not be stopped within two seconds")]
    NotStopped,
    /// Its workspace cannot be had or kept.
    #[error(transparent)]
    Workspace(WorkspaceError),
    /// The system refused something.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was to be done, as a verb.
        action: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

fn failed(action: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
    move |source| SandboxError::Io { action, source }
}

/// Is what `args`, which follow `__launch`, ask for, when that belongs to sandboxes.
pub(crate) fn forms(args: &[OsString]) -> Option<i32> {
    let (form, rest) = args.split_first()?;
    match form.to_str()? {
        stages::OUTER => Some(stages::outer(rest)),
        stages::HOLD => Some(stages::hold()),
        entry::ENTER => Some(entry::main(rest)),
        _ => None,
    }
}
