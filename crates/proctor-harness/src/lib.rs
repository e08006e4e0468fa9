//! Agent programs: one module each, for its command line and for the meaning of its output.
//!
//! The crate is pure. An [`Adapter`] says which program to start with which arguments, and hands
//! out a [`StreamParser`] that turns the program's standard output into [`proctor_model::Event`]s
//! and, at the end, one [`proctor_model::Outcome`]. It starts no process, reads no environment and
//! no clock, and no output makes it panic: what a stream holds is the work of an agent, so it is
//! hostile input.
//!
//! To add a program, write a module with an `Adapter` and a `Dialect` and add a line to
//! [`adapters`].

mod acp;
mod adapter;
mod claude;
mod codex;
mod conclude;
mod failure;
mod json;
mod lines;
mod neutral;
mod reads;
mod recording;
mod scripted;
mod servers;
mod sessions;
mod stream;
mod tools;

pub use acp::{PERMISSION_ALLOWED, PERMISSION_CANCELLED};
pub use adapter::{
    Adapter, Credentials, Enforces, ExitKind, HomeFile, Login, MAX_ARGUMENT_BYTES, OwnFolder,
    RoomRequest, SessionCommand, SessionEnd, SessionRequest, SessionSummary, StreamParser,
    Unavailable,
};
pub use claude::CLAUDE_ENVIRONMENT;
pub use failure::is_unsupported_model;
pub use lines::MAX_LINE_BYTES;
pub use neutral::meaning;
pub use reads::Reads;
pub use recording::{MAX_RECORDING_BYTES, Recording, RecordingError, read_recording, replay};
pub use sessions::{SessionFile, session_files};
pub use stream::MAX_EVENTS;

/// Every agent program that Proctor can drive, in the order in which they are listed to people.
pub fn adapters() -> &'static [&'static dyn Adapter] {
    &[&claude::Claude, &codex::Codex, &scripted::Scripted::Named]
}

/// The adapter that plays any agent and spends nothing; it is in no list.
pub fn mock() -> &'static dyn Adapter {
    &scripted::Scripted::Mock
}

/// The adapter of every program that speaks the Agent Client Protocol. It needs a room, and the
/// command in its request, so it is in no list.
pub fn acp() -> &'static dyn Adapter {
    &acp::Acp
}

/// The adapter with this id; ids are compared without regard to ASCII case.
pub fn find(id: &str) -> Option<&'static dyn Adapter> {
    adapters().iter().copied().find(|adapter| adapter.id().eq_ignore_ascii_case(id))
}
