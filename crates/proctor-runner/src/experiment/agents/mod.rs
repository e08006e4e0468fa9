//! How an agent of an experiment becomes a session of a program in a room.
//!
//! [`prepare`] decides, before any sandbox is made, which program plays the agent, what of the
//! machine it must see, and which of the user's credentials it gets. The rest depends on where the
//! room has its home, and comes with the session.

mod exit;
mod furnish;
mod plan;
mod programs;
mod servers;
#[cfg(test)]
mod tests;

pub use exit::exit_reason;
pub use plan::{AgentError, AgentErrors, AgentPlan, Ground, Place, Play, prepare, skills};
