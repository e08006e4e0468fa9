//! Skill evals: cases as declared, and the documents that runners, results and reports consist of.
//!
//! The shapes of the files and of the runner protocol are those of ai-rulez, so that its trees,
//! results and runners work unchanged: key order, omission of empty values and number texts
//! matter, because records are signed over them. Write these documents with [`crate::json::go`].

pub mod activation;
pub mod advice;
pub mod calibration;
pub mod case;
pub mod comparison;
pub mod estimate;
pub mod lint;
pub mod listing;
pub mod protocol;
pub mod re2;
pub mod record;
pub mod report;
pub mod search;

pub use activation::{
    ActivationReport, ActivationStatus, PromptActivation, PromptStatus, SkillActivation,
};
pub use case::{Assertion, Case, Criteria, ExpandedCase, FixtureFile, Place, Rubric, RubricItem};
pub use estimate::{Estimate, EstimateParams, EstimateRecord};
pub use lint::{Finding, LintReport, LintSeverity, Rule};
pub use listing::{ListedResult, ListedSkill, Listing, ResultState};
pub use record::{ActivationRecord, PassMark, Score, SkillRecord, StolenBy, Store};
pub use report::{CaseReport, CaseStatus, EvalReport, Problem, SkillReport, SkillStatus};
pub use search::{Search, SearchHit, SearchMatch};

/// For `skip_serializing_if`: the value is the one that a reader assumes when it is left out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
