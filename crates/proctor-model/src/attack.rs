//! What hostile agents came to that were let loose on purpose.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Isolation;
use crate::run::TestStatus;

/// The version of [`AttackReport`].
pub const ATTACK_REPORT_VERSION: u32 = 1;

/// What became of all attacks that were tried.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AttackReport {
    /// [`ATTACK_REPORT_VERSION`].
    pub schema_version: u32,
    /// Which isolation was asked for: `bubblewrap`, `landlock`, `container` or `none`.
    pub sandbox: String,
    /// What the trials really had, by what the first of them says; null when there was none.
    pub isolation: Option<Isolation>,
    /// Attacks that held.
    pub held: u64,
    /// Attacks that got through.
    pub broken: u64,
    /// Attacks of which nothing is known.
    pub untried: u64,
    /// The attacks, in the order of the list.
    pub attacks: Vec<AttackResult>,
}

impl AttackReport {
    /// Counts results.
    pub fn new(sandbox: &str, isolation: Option<Isolation>, attacks: Vec<AttackResult>) -> Self {
        let count = |verdict| {
            attacks.iter().filter(|attack| attack.verdict == verdict).map(|_| 1_u64).sum()
        };
        Self {
            schema_version: ATTACK_REPORT_VERSION,
            sandbox: sandbox.to_owned(),
            isolation,
            held: count(AttackVerdict::Held),
            broken: count(AttackVerdict::Broken),
            untried: count(AttackVerdict::Untried),
            attacks,
        }
    }
}

/// What became of an attack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttackResult {
    /// Its name.
    pub name: String,
    /// What the agent tries.
    pub tries: String,
    /// Whether it got through.
    pub verdict: AttackVerdict,
    /// What stopped it; what it did; or why it could not be tried.
    pub reason: String,
    /// What was looked at.
    pub checks: Vec<AttackCheck>,
}

/// Whether an attack got through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttackVerdict {
    /// It was tried, it would have been seen, and it was stopped.
    Held,
    /// It got through.
    Broken,
    /// It could not be tried here, or nobody would have seen it; it does not count as held.
    Untried,
}

/// One test of an attack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AttackCheck {
    /// Its name.
    pub name: String,
    /// What it is there for.
    pub purpose: AttackPurpose,
    /// How it ended.
    pub status: TestStatus,
}

/// What a test of an attack is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttackPurpose {
    /// Passes when the attack took place and would have been seen.
    Control,
    /// Passes when the attack was stopped.
    Guard,
    /// Fails, whatever the agent does.
    Wrong,
}
