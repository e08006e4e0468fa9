//! Rooms for trials, and processes that end when they are told to.
//!
//! - [`Launcher::run`] drives one program from one thread: deadline, stall watchdogs, output as it
//!   comes, and when it returns no descendant of the program is alive. It knows nothing of agents
//!   or cases.
//! - [`Rooms`] hands out temporary folders, and clears away what a killed run left behind.
//! - [`stage_input`] and [`git_skeleton`] furnish a room.
//! - [`isolation`] keeps a trial apart from the machine and from other trials; [`workspace`] is
//!   what it starts from, what it leaves, and what differs.
//!
//! # How a tree is killed
//!
//! Process groups do not hold a tree together: a child that calls `setsid(2)` leaves its group, and
//! one that forks twice leaves its parent. So every program runs below a small process of its own,
//! the [`launcher`], which is a *child subreaper*: orphans become its children, whatever they do,
//! and it sees every one of them until `wait(2)` says that there is none left. The launcher listens
//! on a socket; when Proctor dies, even by `kill -9`, that socket closes and the launcher clears the
//! tree away by itself.
//!
//! By itself this bounds accidents, not attacks: a program that kills its launcher on purpose and
//! hides from its session and its environment gets away. Who runs hostile programs runs them in a
//! sandbox.

mod alone;
mod cancel;
mod capture;
mod control;
mod files;
mod git;
pub mod isolation;
pub mod launcher;
mod remove;
mod rooms;
mod spawn;
mod stage;
mod supervise;
mod sys;
mod tree;
pub mod workspace;

pub use alone::become_alone;
pub use cancel::Cancel;
pub use capture::Capture;
pub use git::{GitError, git_skeleton};
pub use rooms::{ROOM_VARIABLE, Reaped, Room, RoomError, Rooms};
pub use spawn::{Spawn, SpawnError, find_program};
pub use stage::{Limit, Refusal, StageError, StageLimits, Staged, stage_input, stage_some};
pub use supervise::{Ending, Finished, Launcher, Limits, Stall, Stream};
pub use sys::is_ignored;
pub use tree::Survivor;
