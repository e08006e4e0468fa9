//! Skill evals: the results file, what signs it, and what decides whether a run need not be
//! repeated.
//!
//! [`load`] reads the file and says of each record whether it may be believed; [`update`] changes
//! it under a lock and replaces it whole. [`after_run`] and its kin say what a record becomes.

mod cache;
mod file;
mod fingerprint;
mod key;
mod mac;
mod results;
mod runs;

pub use cache::{CacheInputs, Lookup, lookup};
pub use file::{MAX_RESULTS_BYTES, load, update};
pub use fingerprint::{Programs, command_fingerprint, native_fingerprint, plugin_eval_fingerprint};
pub use key::{KEY_FILE_NAME, Key, KeyError, user_folder};
pub use results::{Results, ResultsError, Stored, Trust};
pub use runs::{after_activation, after_replay, after_run};
