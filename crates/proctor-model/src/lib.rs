//! The nouns of Proctor: what every way of testing agents has in common.
//!
//! This crate does no I/O, reads no clock and holds no policy. Types that are written to disk or
//! printed as JSON derive `Serialize` here, and nowhere else, so that the shape of every file can
//! be read in one place.

pub mod acp;
pub mod attack;
pub mod bound;
pub mod check;
pub mod conformance;
pub mod diagnostic;
pub mod digest;
pub mod eval;
pub mod event;
pub mod exit;
pub mod experiment;
pub mod fs_diff;
pub mod isolation;
pub mod json;
pub mod judge;
pub mod llm;
pub mod measure;
pub mod moment;
pub mod outcome;
pub mod recorded;
pub mod run;
pub mod server;
pub mod transcript;
pub mod usage;

pub use acp::AcpJob;
pub use bound::{Bound, Enforcement};
pub use check::{CheckResult, CheckStatus};
pub use diagnostic::{Diagnostic, Diagnostics, Location, Severity, nearest};
pub use digest::Digest;
pub use event::{Action, Event, EventKind};
pub use exit::ExitCode;
pub use fs_diff::FsDiff;
pub use isolation::{Guard, Isolation, IsolationLevel, Layering};
pub use outcome::{Outcome, OutcomeClass};
pub use server::{ResolvedServer, ResolvedTransport};
pub use transcript::Transcript;
pub use usage::Usage;
