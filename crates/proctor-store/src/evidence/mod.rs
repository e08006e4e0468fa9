//! The evidence of runs, ready to be asked.
//!
//! The folders of runs are the truth. `.proctor/evidence.sqlite` is what was read of them, so that it
//! need not be read again: a trial is loaded anew when its files are not what they were. It may be
//! deleted at any time, and is made anew when it is damaged or of another version. Where it cannot be
//! kept, the evidence is in memory.

mod lock;
mod trial;

use std::fs;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::run::PlannedTrial;
use proctor_query::{Evidence, QueryError, Scope};

use self::lock::Lock;
use crate::runs::{FOLDER, Listed, RunError, Runs, StoredRun};

/// The name of the file in the folder of a project for what Proctor keeps.
const FILE: &str = "evidence.sqlite";
/// Trials and bytes that are loaded as one: others need not wait long, and little is lost.
const TRIALS_AT_ONCE: usize = 64;
const BYTES_AT_ONCE: u64 = 64 << 20;

/// The evidence of runs as they are on the disk now.
#[derive(Debug)]
pub struct Kept {
    /// What can be asked.
    pub evidence: Evidence,
    /// What a reader must know: what could not be read, and why the evidence is not kept.
    pub problems: Vec<String>,
    /// Trials that were read of their files for this.
    pub loaded: usize,
    file: Option<(Utf8PathBuf, Lock)>,
}

/// Why there is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The runs cannot be read.
    #[error(transparent)]
    Runs(#[from] RunError),
    /// The store refuses it.
    #[error(transparent)]
    Query(#[from] QueryError),
}

impl Kept {
    /// The evidence of the runs in `scope`, of the project at `root`.
    ///
    /// # Errors
    ///
    /// [`EvidenceError`] when there is none; a run that cannot be read is a problem of the answer.
    pub fn open(root: &Utf8Path, scope: &Scope) -> Result<Self, EvidenceError> {
        let (runs, mut problems) = wanted(root, scope)?;
        let on_disk = on_disk(root, &runs, scope).unwrap_or_else(|error| {
            problems.push(format!("what was read of the runs cannot be kept: {error}"));
            None
        });
        let (filled, file) = match on_disk {
            Some(OnDisk { filled, path, lock }) => (filled, Some((path, lock))),
            None => (Filled::of(Evidence::in_memory()?, &runs, scope)?, None),
        };
        let Filled { evidence, loaded } = filled;
        let found = evidence.problems()?;
        problems
            .extend(found.into_iter().map(|((_, trial), problem)| format!("{trial}: {problem}")));
        Ok(Self { evidence, problems, loaded, file })
    }

    /// Throws away what is kept, because it turned out to be damaged; the next question makes it anew.
    pub fn discard(self) {
        let Self { evidence, file, .. } = self;
        drop(evidence);
        if let Some((path, lock)) = file
            && lock.alone().is_some()
        {
            remove(&path);
        }
    }
}

/// Evidence that is what is on the disk.
struct Filled {
    evidence: Evidence,
    loaded: usize,
}

impl Filled {
    fn of(mut evidence: Evidence, runs: &[StoredRun], scope: &Scope) -> Result<Self, QueryError> {
        let loaded = fill(&mut evidence, runs, scope)?;
        Ok(Self { evidence, loaded })
    }

    fn at(path: &Utf8Path, runs: &[StoredRun], scope: &Scope) -> Result<Self, QueryError> {
        Self::of(Evidence::open(path.as_std_path())?, runs, scope)
    }
}

/// The same in a file.
struct OnDisk {
    filled: Filled,
    path: Utf8PathBuf,
    lock: Lock,
}

/// What is kept, brought up to date; `None` where nothing can be kept, or there is nothing to keep.
fn on_disk(
    root: &Utf8Path,
    runs: &[StoredRun],
    scope: &Scope,
) -> Result<Option<OnDisk>, QueryError> {
    let folder = root.join(FOLDER);
    let path = folder.join(FILE);
    if runs.is_empty() || !is_plain(&path) {
        return Ok(None);
    }
    let Ok(mut lock) = Lock::shared(&folder) else { return Ok(None) };
    if path.exists() {
        match Filled::at(&path, runs, scope) {
            Ok(filled) => return Ok(Some(OnDisk { filled, path, lock })),
            Err(QueryError::Damaged(_) | QueryError::Foreign) => {}
            Err(error) => return Err(error),
        }
        let Some(alone) = lock.alone() else { return Ok(None) };
        lock = alone;
    } else {
        let Ok(alone) = lock.alone_at_last() else { return Ok(None) };
        lock = alone;
    }
    // Nobody else has it open now; but somebody may have made it while this one waited.
    match Evidence::open(path.as_std_path()) {
        Ok(_) => {}
        Err(QueryError::Damaged(_) | QueryError::Foreign) => {
            remove(&path);
            drop(Evidence::open(path.as_std_path())?);
        }
        Err(error) => return Err(error),
    }
    let Ok(lock) = lock.for_all() else { return Ok(None) };
    Ok(Some(OnDisk { filled: Filled::at(&path, runs, scope)?, path, lock }))
}

/// The runs in scope, and why others could not be read.
fn wanted(root: &Utf8Path, scope: &Scope) -> Result<(Vec<StoredRun>, Vec<String>), RunError> {
    let is_wanted = |run: &StoredRun| match scope {
        Scope::All => true,
        Scope::Experiment(id) => run.plan.experiment_id == *id,
        Scope::Run(id) => run.plan.run_id == *id,
        Scope::Trial(id) => run.plan.trials.iter().any(|trial| trial.id == *id),
    };
    let (mut runs, mut problems) = (Vec::new(), Vec::new());
    for Listed { name, run } in Runs::of(root).list()? {
        match run {
            Ok(run) if is_wanted(&run) => runs.push(run),
            Err(problem) if *scope == Scope::All => problems.push(format!("{name}: {problem}")),
            Ok(_) | Err(_) => {}
        }
    }
    // The order in which they were made.
    runs.reverse();
    Ok((runs, problems))
}

/// A trial, and the state in which its files are.
struct Due<'a> {
    run: &'a StoredRun,
    trial: &'a PlannedTrial,
    stamp: trial::Stamp,
}

/// Makes the evidence in scope what is on the disk. Returns how many trials were read.
fn fill(evidence: &mut Evidence, runs: &[StoredRun], scope: &Scope) -> Result<usize, QueryError> {
    evidence.show(scope)?;
    let mut known = evidence.stamps()?;
    let mut due = Vec::new();
    for run in runs {
        for trial in &run.plan.trials {
            if !run.was_started(trial) || matches!(scope, Scope::Trial(id) if *id != trial.id) {
                continue;
            }
            let stamp = trial::Stamp::of(run, trial);
            let key = (run.plan.run_id.clone(), trial.id.clone());
            if known.remove(&key).as_deref() != Some(&stamp.text) {
                due.push(Due { run, trial, stamp });
            }
        }
    }
    if !known.is_empty() {
        evidence.within(|evidence| {
            known.keys().try_for_each(|(run, trial)| evidence.remove(run, trial))
        })?;
    }
    let mut rest = due.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(at_once(rest));
        evidence.within(|evidence| load(evidence, now))?;
        rest = later;
    }
    Ok(due.len())
}

/// How many of them are loaded as one.
fn at_once(due: &[Due<'_>]) -> usize {
    let mut bytes = 0;
    let fits = due.iter().take(TRIALS_AT_ONCE).take_while(|due| {
        let is_room = bytes < BYTES_AT_ONCE;
        bytes += due.stamp.bytes;
        is_room
    });
    fits.count().max(1)
}

fn load(evidence: &mut Evidence, due: &[Due<'_>]) -> Result<(), QueryError> {
    // Another process may have done it while this one waited.
    let known = evidence.stamps()?;
    for due in due {
        let key = (due.run.plan.run_id.clone(), due.trial.id.clone());
        if known.get(&key) != Some(&due.stamp.text) {
            trial::load(evidence, due.run, due.trial, &due.stamp)?;
        }
    }
    Ok(())
}

/// Whether a file is a plain one, or not there: a link may lead anywhere.
fn is_plain(path: &Utf8Path) -> bool {
    match path.symlink_metadata() {
        Ok(found) => found.is_file(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Takes the file away, and what SQLite keeps beside it. What cannot be taken away cannot be opened
/// either, which is told then.
fn remove(path: &Utf8Path) {
    for beside in ["", "-wal", "-shm", "-journal"] {
        let _ = fs::remove_file(format!("{path}{beside}"));
    }
}

#[cfg(test)]
mod tests;
