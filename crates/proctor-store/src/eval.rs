//! Skill evals: the results file, what signs it, and what decides whether a run need not be
//! repeated.
//!
//! [`load`] reads the file and says of each record whether it may be believed; [`update`] changes
//! it under a lock and replaces it whole. [`after_run`] and its kin say what a record becomes.
//! [`changed_files`] narrows a run to what a change touches, and [`advise`] says what the results
//! mean for each skill.

mod advice;
mod attestation;
mod cache;
mod changed;
mod file;
mod fingerprint;
mod key;
mod logs;
mod mac;
mod pair;
mod results;
mod runs;

pub use advice::{Marks, SkillFacts, advise};
pub use attestation::{AttestationError, attestation_path, read_attestation, write_attestation};
pub use cache::{ActivationInputs, CacheInputs, Lookup, lookup, lookup_activation};
pub use changed::{ChangedError, ChangedFiles, changed_files};
pub use file::{MAX_RESULTS_BYTES, load, update};
pub use fingerprint::{Programs, command_fingerprint, native_fingerprint, plugin_eval_fingerprint};
pub use key::{KEY_FILE_NAME, Key, KeyError, user_folder};
pub use logs::{FEEDBACK_FILE, FeedbackLog, LogError, MAX_LOG_BYTES, UsageLog, Uses};
pub use pair::{PairError, PrivateKey, PublicKey};
pub use results::{Results, ResultsError, Stored, Trust};
pub use runs::{after_replay, after_run};
