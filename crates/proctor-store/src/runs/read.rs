//! Runs as they are found on disk.

use std::fs::File;
use std::io::{self, Read};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::run::{
    PLAN_VERSION, PlannedTrial, RunPlan, TRIAL_VERSION, TrialRecord, TrialStatus, UnfinishedTrial,
};
use serde::de::DeserializeOwned;

use super::journal::{self, Progress, SetAside};
use super::{RunError, Runs};

/// The longest plan or record that is read.
const MAX_BYTES: u64 = 256 << 20;

/// A run on disk.
#[derive(Debug, Clone)]
pub struct StoredRun {
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// What it consists of.
    pub plan: RunPlan,
    /// Whether somebody works on it now, and which process.
    pub worker: Option<u32>,
    pub(super) progress: Progress,
}

impl StoredRun {
    /// Reads the run in `folder`.
    pub fn open(folder: &Utf8Path) -> Result<Self, RunError> {
        let path = folder.join(PLAN);
        let plan: RunPlan = read_json(&path)?;
        if plan.schema_version != PLAN_VERSION {
            return Err(RunError::Version { path, found: plan.schema_version });
        }
        if let Some(reason) = misplaced(folder, &plan) {
            return Err(RunError::Damaged { path, reason });
        }
        let progress = journal::peek(&folder.join(JOURNAL))?;
        Ok(Self { folder: folder.to_owned(), plan, worker: worker(folder), progress })
    }

    /// The verdict on a trial; `None` when it is not finished.
    pub fn status(&self, trial: &PlannedTrial) -> Option<TrialStatus> {
        self.progress.trials.get(&trial.id).copied().flatten()
    }

    /// Whether the trial was begun, finished or not.
    pub fn was_started(&self, trial: &PlannedTrial) -> bool {
        self.progress.trials.contains_key(&trial.id)
    }

    /// The trials that are not finished, in order.
    pub fn unfinished(&self) -> impl Iterator<Item = &PlannedTrial> {
        self.plan.trials.iter().filter(|trial| self.status(trial).is_none())
    }

    /// What was set aside for the agent of a trial, under a cap of money.
    pub fn set_aside(&self, trial: &PlannedTrial) -> SetAside {
        self.progress.money.get(&trial.id).copied().unwrap_or_default()
    }

    /// The trials that are not finished, in order, with why.
    pub fn unfinished_trials(&self) -> Vec<UnfinishedTrial> {
        let one = |trial: &PlannedTrial| UnfinishedTrial {
            run_id: trial.id.clone(),
            variant_id: trial.variant_id.clone(),
            repeat_idx: trial.repeat_idx,
            not_started: self.progress.capped.clone(),
        };
        self.unfinished().map(one).collect()
    }

    /// The folder of a trial.
    pub fn trial_folder(&self, trial: &PlannedTrial) -> Utf8PathBuf {
        self.folder.join(&trial.path)
    }

    /// The record of a finished trial; `None` when it is not finished.
    pub fn record(&self, trial: &PlannedTrial) -> Result<Option<TrialRecord>, RunError> {
        if self.status(trial).is_none() {
            return Ok(None);
        }
        let path = self.trial_folder(trial).join(RECORD);
        let record: TrialRecord = read_json(&path)?;
        if record.schema_version != TRIAL_VERSION {
            return Err(RunError::Version { path, found: record.schema_version });
        }
        if record.run_id != trial.id {
            let reason = format!("it is the record of {}", record.run_id);
            return Err(RunError::Damaged { path, reason });
        }
        Ok(Some(record))
    }

    /// The records of all finished trials, in the order of the plan.
    pub fn records(&self) -> Result<Vec<TrialRecord>, RunError> {
        let records = self.plan.trials.iter().map(|trial| self.record(trial));
        records.filter_map(Result::transpose).collect()
    }

    /// The experiment as it was when the run was made.
    pub fn experiment(&self) -> Result<Vec<u8>, RunError> {
        read(&self.folder.join(EXPERIMENT))
    }
}

/// A run in a list.
#[derive(Debug, Clone)]
pub struct Listed {
    /// The name of its folder.
    pub name: String,
    /// What stands in it, or why that cannot be read.
    pub run: Result<StoredRun, String>,
}

impl Runs {
    /// Every run, the latest first.
    pub fn list(&self) -> Result<Vec<Listed>, RunError> {
        let entries = match self.folder.read_dir_utf8() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(RunError::io(&self.folder))?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(RunError::io(&self.folder))?;
            if entry.path().join(PLAN).is_file() {
                names.push(entry.file_name().to_owned());
            }
        }
        // The last 26 characters begin with the time.
        let time = |name: &str| name.get(name.len().saturating_sub(26)..).map(str::to_owned);
        names.sort_by_cached_key(|name| (time(name), name.clone()));
        let listed = names.into_iter().rev().map(|name| {
            let run = StoredRun::open(&self.folder.join(&name)).map_err(|error| error.to_string());
            Listed { name, run }
        });
        Ok(listed.collect())
    }
}

/// Why a plan cannot be that of the run in `folder`. What is done to a run by its id, and to its trials
/// by their paths, is done to no other folder.
fn misplaced(folder: &Utf8Path, plan: &RunPlan) -> Option<String> {
    if folder.file_name() != Some(plan.run_id.as_str()) {
        let id = &plan.run_id;
        return Some(format!("it is the plan of run {id}, whose folder has that name"));
    }
    let outside = plan.trials.iter().find(|trial| !is_trial_path(&trial.path))?;
    let PlannedTrial { id, path, .. } = outside;
    Some(format!("the folder `{path}` of trial {id} is not below `variants/`"))
}

fn is_trial_path(path: &str) -> bool {
    let plain =
        |part: &str| !part.is_empty() && part != "." && part != ".." && !part.contains('\0');
    path.strip_prefix("variants/").is_some_and(|below| below.split('/').all(plain))
}

pub(super) const PLAN: &str = "group.json";
pub(super) const JOURNAL: &str = "index.jsonl";
pub(super) const EXPERIMENT: &str = "experiment.yaml";
pub(super) const LOCK: &str = "lock";
pub(super) const RECORD: &str = "run.json";
pub(super) const REPORT: &str = "report.json";

fn read_json<T: DeserializeOwned>(path: &Utf8Path) -> Result<T, RunError> {
    let bytes = read(path)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| RunError::Damaged { path: path.to_owned(), reason: error.to_string() })
}

pub(super) fn read(path: &Utf8Path) -> Result<Vec<u8>, RunError> {
    let read = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(MAX_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(RunError::io(path))
}

/// The process that holds the lock of a run; `None` when nobody does. 0 when it does not say.
fn worker(folder: &Utf8Path) -> Option<u32> {
    let mut file = File::open(folder.join(LOCK)).ok()?;
    if file.try_lock_shared().is_ok() {
        return None;
    }
    let mut text = String::new();
    (&mut file).take(32).read_to_string(&mut text).ok()?;
    Some(text.trim().parse().unwrap_or(0))
}
