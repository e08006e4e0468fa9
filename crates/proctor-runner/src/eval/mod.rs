//! Skill evals: runners, and the loop that has them run one skill after the other.
//!
//! A [`Runner`] runs the cases of one skill and answers in the words of the protocol; [`run`] judges
//! and scores the answers, keeps the budget, and tells of each skill when it is finished. It keeps
//! nothing itself: who calls it stores results.
//!
//! To add a runner, write a module with a `Runner` and add a line to the registry.

pub mod activation;
pub mod answer;
mod calibrate;
mod command;
mod environment;
mod flow;
mod grader;
mod install;
mod judge;
mod kept;
mod native;
mod plugin_eval;
mod program;
mod purse;
mod registry;
mod relay;
mod runner;
mod search;
mod searchable;

pub use calibrate::{Calibrated, Calibration, question_tokens};
pub use flow::{Event, Job, Ran, Settings, SkillRun, Stopped, Task, run};
pub use grader::{Graded, Grader, NoGrade};
pub use kept::Kept;
pub use registry::{NoRunner, Options, names, runner};
pub use runner::{Answer, Call, CallError, JudgedRun, Machine, Runner, Told};
pub use search::Searcher;
pub use searchable::Searchable;
