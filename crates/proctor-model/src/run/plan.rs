//! What a run consists of: `group.json`.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`RunPlan`].
pub const PLAN_VERSION: u32 = 1;

/// Which way of testing made a run.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// `proctor experiment run`.
    #[default]
    Experiment,
    /// `proctor conformance test`.
    Conformance,
    /// `proctor eval run`.
    SkillEval,
    /// Sessions that another program recorded.
    Imported,
}

impl RunKind {
    /// The word in files and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Experiment => "experiment",
            Self::Conformance => "conformance",
            Self::SkillEval => "skill_eval",
            Self::Imported => "imported",
        }
    }

    /// Whether it is the kind that goes without saying in files.
    pub fn is_experiment(&self) -> bool {
        *self == Self::Experiment
    }
}

impl fmt::Display for RunKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What a run consists of, written before its first trial starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// [`PLAN_VERSION`].
    pub schema_version: u32,
    /// `<experiment id>-<ULID>`.
    pub run_id: String,
    /// Which way of testing made it; an experiment unless it says otherwise.
    #[serde(default, skip_serializing_if = "RunKind::is_experiment")]
    pub kind: RunKind,
    /// The id of the experiment; for other kinds the name of what was run.
    pub experiment_id: String,
    /// When the run was made, in seconds since 1970.
    pub created_at: u64,
    /// The version of Proctor that made it.
    pub proctor_version: String,
    /// The run whose trials were tested again; absent for one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retest_of: Option<String>,
    /// The run whose trials without a result are run once more; absent for one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<String>,
    /// The experiment file, absolute; relative sources are looked for beside it. Empty for a run
    /// that no experiment file describes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub experiment_file: String,
    /// `sha256:` and the digest of the experiment file; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub experiment_digest: String,
    /// How it is run.
    pub options: RunOptions,
    /// The trials, variant by variant, repetition by repetition.
    pub trials: Vec<PlannedTrial>,
}

/// How a run is run: what must be the same when it is resumed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunOptions {
    /// Whether every agent is played by the driver that spends nothing.
    pub mock: bool,
    /// Whether trials end before the agent: setups and checks alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub check_only: bool,
    /// `bubblewrap`, `landlock`, `container` or `none`.
    pub sandbox: String,
    /// The image, for containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// `host` or `none`.
    pub network: String,
    /// Seconds that one test may take.
    pub test_timeout_seconds: u64,
    /// Bindings of files, as they were given: `NAME=PATH`, `VARIANT:NAME=PATH`, `PATH::DEST`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// The digests of what they hold, by what they are bound to: `NAME`, `VARIANT:NAME`, `::DEST`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bound: BTreeMap<String, String>,
    /// Files with variables, as they were given. Values are never kept.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env_files: Vec<String>,
    /// US dollars that the run may cost; absent for no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

/// One trial of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedTrial {
    /// `<variant id>::<16 hexadecimal digits>`.
    pub id: String,
    /// The variant: for other kinds than experiments the coordinates that tell trials apart, joined
    /// with `::`.
    pub variant_id: String,
    /// Its fingerprint: a resumed run refuses a variant that changed. Empty where nothing is resumed.
    pub fingerprint: String,
    /// Which repetition, from 0.
    pub repeat_idx: u32,
    /// Its folder, relative to that of the run.
    pub path: String,
}
