//! Skill evals: what the results of a runner come to.
//!
//! The way: [`judge`] turns what a runner says of one case and arm into an [`ArmResult`],
//! [`case_report`] puts the arms of a case together, [`score`] counts the cases. [`spend`] and
//! [`Budget`] keep the accounts. All of it is pure; files are read through [`Files`], and commands
//! are run by whoever calls, before it asks for a judgement. [`activation`] does the same for
//! measurements of which skill is chosen.

pub mod activation;
mod assertion;
mod calibrate;
mod case;
mod estimate;
mod files;
pub mod grader;
mod outcome;
mod prices;
mod round;
mod score;
mod spend;
mod tokens;
mod vote;

pub use assertion::{Evidence, Files, answers};
pub use calibrate::{CalibrationFilter, calibrate};
pub use case::{CaseUsage, case_report};
pub use estimate::{
    CaseLoad, JUDGE_OUTPUT_TOKENS, RunPlan, estimate_activation, estimate_cases, estimate_record,
    listing_tokens, total,
};
pub use files::{MAX_FILE_BYTES, WorkDir};
pub use outcome::{ArmResult, Grade, Outcome, RubricBy, judge};
pub use prices::{DEFAULT_MODEL, FALLBACK_MODEL, PRICES, Price, PriceOverrides, PriceTable};
pub use round::{rate, round4};
pub use score::{score, warnings};
pub use spend::{Budget, Charge, Handed, Rates, Spend, case_usage, spend};
pub use tokens::count_tokens;
pub use vote::{Vote, VotedRun, majority, vote};
