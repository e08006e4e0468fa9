//! Runs as they are kept: what was planned, and what each trial came to.
//!
//! A *run* is one invocation, of whichever way of testing, and holds *trials*: one execution of one
//! variant each. The names of the files are those of AX's local layout; the path of every trial stands
//! in the plan.

mod harness;
mod plan;
mod report;
mod trial;
mod verify;

pub use harness::{HarnessEvent, HarnessEventKind, PermissionAnswer, ScriptRole};
pub use plan::{PLAN_VERSION, PlannedTrial, RunKind, RunOptions, RunPlan};
pub use report::{RUN_REPORT_VERSION, RunReport, Tally, UnfinishedTrial, VariantTally};
pub use trial::{
    Coordinates, ExitReason, GradedCheck, GradedStatus, PhaseName, PhaseRecord, ScriptRecord,
    TRIAL_VERSION, TestRecord, TestStatus, TrialRecord, TrialStatus,
};
pub use verify::{Problem, ProblemKind, VERIFY_REPORT_VERSION, VerifiedRun, VerifyReport};
