//! The nouns of Proctor: what every way of testing agents has in common.
//!
//! This crate does no I/O, reads no clock and holds no policy. Types that are written to disk or
//! printed as JSON derive `Serialize` here, and nowhere else, so that the shape of every file can
//! be read in one place.

pub mod bound;
pub mod check;
pub mod conformance;
pub mod diagnostic;
pub mod digest;
pub mod eval;
pub mod event;
pub mod exit;
pub mod json;
pub mod outcome;
pub mod recorded;
pub mod transcript;
pub mod usage;

pub use bound::{Bound, Enforcement};
pub use check::{CheckResult, CheckStatus};
pub use diagnostic::{Diagnostic, Diagnostics, Location, Severity, nearest};
pub use digest::Digest;
pub use event::{Action, Event, EventKind};
pub use exit::ExitCode;
pub use outcome::{Outcome, OutcomeClass};
pub use transcript::Transcript;
pub use usage::Usage;
