//! Experiments: trials in sandboxes of their own, graded by scripts that the agent never sees.
//!
//! [`run`] takes variants that are resolved and a list of trials that are due, and hands each
//! finished trial to a [`Shelf`]. The phases of a trial stand in `trial`, top to bottom.

mod agent;
pub mod agents;
mod cap;
mod desk;
mod draft;
mod evidence;
mod examine;
mod log;
mod retest;
mod room;
mod run;
mod script;
mod shelf;
mod stage;
mod trial;

pub use agents::{AgentError, AgentErrors, AgentPlan, Ground, Play, exit_reason, prepare};
pub use cap::{Bound, Cap, Paid, Payee, UnknownCost, cost};
pub use retest::{Left, Past};
pub use run::{Cell, Counts, Due, Event, Settings, Stopped, run};
pub use shelf::Shelf;

/// The name under which tests ask for evidence.
pub const QUERY_PROGRAM: &str = "ax-run-query";
/// The name under which tests look at repositories.
pub const GIT_PROGRAM: &str = "git";
/// Names the workspace; set for tests alone.
pub const WORKSPACE_VARIABLE: &str = "PROCTOR_WORKSPACE";
/// Holds the key without which no question is answered; set for tests alone.
pub const KEY_VARIABLE: &str = "AX_API_KEY";
/// Names the socket on which the run answers; set for tests alone.
pub const SOCKET_VARIABLE: &str = "PROCTOR_EVIDENCE_SOCKET";
