//! Conformance testing: install a slice of guidance in a fresh workspace, let a harness work in
//! it, and check what it left.

mod command;
mod draft;
mod examine;
mod load;
pub mod plan;
mod record;
mod run;
mod transcript;
mod trial;
mod words;

pub use examine::{CorpusChoice, ExamineError, Examined, Machine, Options, Progress, examine};
pub use run::{Event, Finished, Settings, TrialPhase, run};
