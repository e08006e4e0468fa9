//! Runs that are no longer wanted.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::run::{PlannedTrial, RunKind};

use super::journal::{Journal, Line};
use super::read::{JOURNAL, StoredRun};
use super::write::{lock, refuse_links};
use super::{RunError, Runs};

/// The file of a trial that holds what its agent left, which takes the most room.
const WORKSPACE: &str = "workspace.tar.zst";
/// Where runs lie between the moment when they are taken out of the list and that when they are gone.
const TRASH: &str = "trash";

/// What is to stay. A run goes when any of the limits says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rule {
    /// The latest so many stay.
    pub keep: Option<usize>,
    /// Those that are not older stay.
    pub older_than: Option<Duration>,
    /// The latest that take no more bytes together stay.
    pub max_size: Option<u64>,
    /// Only runs of this kind are looked at; the others stay and count for nothing.
    pub kind: Option<RunKind>,
    /// Whether runs go that are not finished.
    pub unfinished: bool,
}

/// A run, as the rule sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its id.
    pub run_id: String,
    /// Which way of testing made it.
    pub kind: RunKind,
    /// When it was made, in seconds since 1970.
    pub created_at: u64,
    /// Bytes on the disk.
    pub size: u64,
    /// Whether somebody works on it.
    pub is_busy: bool,
    /// Whether all of its trials are finished.
    pub is_finished: bool,
}

/// What becomes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It stays.
    Stays,
    /// It goes.
    Goes,
    /// The rule would have it go, and somebody works on it.
    Busy,
    /// The rule would have it go, and it is not finished.
    Unfinished,
}

/// What becomes of each of `candidates`, which stand with the latest first. `now` is in seconds since
/// 1970.
pub fn fates(candidates: &[Candidate], rule: &Rule, now: u64) -> Vec<Fate> {
    let (mut count, mut size) = (0_usize, 0_u64);
    let mut fate = |run: &Candidate| {
        if rule.kind.is_some_and(|kind| kind != run.kind) {
            return Fate::Stays;
        }
        count += 1;
        size = size.saturating_add(run.size);
        let age = Duration::from_secs(now.saturating_sub(run.created_at));
        let goes = rule.keep.is_some_and(|keep| count > keep)
            || rule.older_than.is_some_and(|limit| age > limit)
            || rule.max_size.is_some_and(|limit| size > limit);
        match (goes, run.is_busy, run.is_finished || rule.unfinished) {
            (false, ..) => Fate::Stays,
            (true, true, _) => Fate::Busy,
            (true, false, false) => Fate::Unfinished,
            (true, false, true) => Fate::Goes,
        }
    };
    candidates.iter().map(&mut fate).collect()
}

impl Runs {
    /// Takes a run away: out of the list first, in one step, and then from the disk. Gives the bytes
    /// that it had.
    ///
    /// # Errors
    ///
    /// [`RunError::Busy`] when somebody works on it.
    pub fn remove(&self, run_id: &str) -> Result<u64, RunError> {
        let folder = self.folder_of(run_id);
        refuse_links(&self.folder, run_id)?;
        let lock = lock(&folder, run_id)?;
        let size = size_of(&folder)?;
        let trash = self.trash();
        fs::create_dir_all(&trash).map_err(RunError::io(&trash))?;
        let gone = trash.join(run_id);
        fs::rename(&folder, &gone).map_err(RunError::io(&folder))?;
        drop(lock);
        remove_all(&gone)?;
        // Fails while another process has something in it.
        let _ = fs::remove_dir(&trash);
        Ok(size)
    }

    /// Takes away what a removal that was interrupted has left, and what a process has left that died
    /// before its run was in the list.
    pub fn empty_trash(&self) -> Result<(), RunError> {
        remove_all(&self.trash())?;
        let aside = self.aside();
        let entries = match aside.folder.read_dir_utf8() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(RunError::io(&aside.folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(RunError::io(&aside.folder))?;
            match lock(entry.path(), entry.file_name()) {
                Ok(_lock) => remove_all(entry.path())?,
                Err(RunError::Busy { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn trash(&self) -> Utf8PathBuf {
        self.folder.parent().unwrap_or(&self.folder).join(TRASH)
    }

    /// The bytes of the workspaces that are kept of a run.
    pub fn workspaces_of(&self, run_id: &str) -> Result<u64, RunError> {
        let run = StoredRun::open(&self.folder_of(run_id))?;
        let mut size = 0_u64;
        for trial in &run.plan.trials {
            size = size.saturating_add(workspace_of(&run, trial)?.map_or(0, |(_, size)| size));
        }
        Ok(size)
    }

    /// Takes the workspaces of a run away and leaves everything else: what is queried and compared
    /// stays, and only tests cannot run again. Gives the bytes that they had.
    ///
    /// # Errors
    ///
    /// [`RunError::Busy`] when somebody works on the run.
    pub fn drop_workspaces(&self, run_id: &str) -> Result<u64, RunError> {
        let folder = self.folder_of(run_id);
        refuse_links(&self.folder, run_id)?;
        let _lock = lock(&folder, run_id)?;
        let run = StoredRun::open(&folder)?;
        let (mut journal, _) = Journal::open(&folder.join(JOURNAL))?;
        let mut freed = 0;
        for trial in &run.plan.trials {
            let Some((path, size)) = workspace_of(&run, trial)? else { continue };
            // First the journal, so that a file that is gone was never lost.
            let line = Line::Dropped { trial: trial.id.clone(), file: WORKSPACE.to_owned() };
            journal.add(&line).map_err(RunError::io(&path))?;
            fs::remove_file(&path).map_err(RunError::io(&path))?;
            freed += size;
        }
        Ok(freed)
    }
}

/// The kept workspace of a trial, with its size.
fn workspace_of(
    run: &StoredRun,
    trial: &PlannedTrial,
) -> Result<Option<(Utf8PathBuf, u64)>, RunError> {
    refuse_links(&run.folder, &trial.path)?;
    let path = run.trial_folder(trial).join(WORKSPACE);
    let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file);
    Ok(metadata.map(|metadata| (path, metadata.len())))
}

/// Removes a folder that another process may be removing, too.
fn remove_all(folder: &Utf8Path) -> Result<(), RunError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(RunError::io(folder)(error)),
        _ => Ok(()),
    }
}

/// The bytes of all files below a folder. A file with several names in it counts once.
pub fn size_of(folder: &Utf8Path) -> Result<u64, RunError> {
    let (mut size, mut seen) = (0_u64, BTreeSet::new());
    let mut left = vec![folder.to_owned()];
    while let Some(at) = left.pop() {
        let entries = match at.read_dir_utf8() {
            // It may be going away just now.
            Err(error) if error.kind() == io::ErrorKind::NotFound && at != folder => continue,
            entries => entries.map_err(RunError::io(&at))?,
        };
        for entry in entries {
            let entry = entry.map_err(RunError::io(&at))?;
            let metadata = match fs::symlink_metadata(entry.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata.map_err(RunError::io(entry.path()))?,
            };
            if metadata.is_dir() {
                left.push(entry.path().to_owned());
            } else if metadata.nlink() == 1 || seen.insert((metadata.dev(), metadata.ino())) {
                size = size.saturating_add(metadata.len());
            }
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: u64 = 86_400;

    fn run(days_old: u64, size: u64) -> Candidate {
        Candidate {
            run_id: format!("x-{days_old}"),
            kind: RunKind::Experiment,
            created_at: (100 - days_old) * DAY,
            size,
            is_busy: false,
            is_finished: true,
        }
    }

    fn fate_of(runs: &[Candidate], rule: Rule) -> Vec<Fate> {
        fates(runs, &rule, 100 * DAY)
    }

    #[test]
    fn any_limit_is_enough() {
        use Fate::{Goes, Stays};
        let runs = [run(1, 10), run(2, 10), run(40, 10)];
        let keep = |keep| Rule { keep: Some(keep), ..Rule::default() };
        assert_eq!(fate_of(&runs, keep(1)), [Stays, Goes, Goes]);
        let older_than = Some(Duration::from_secs(30 * DAY));
        assert_eq!(fate_of(&runs, Rule { older_than, ..keep(2) }), [Stays, Stays, Goes]);
        assert_eq!(fate_of(&runs, Rule { older_than, ..keep(1) }), [Stays, Goes, Goes]);
        let size = |max| Rule { max_size: Some(max), ..Rule::default() };
        assert_eq!(fate_of(&runs, size(20)), [Stays, Stays, Goes]);
        assert_eq!(fate_of(&runs, size(9)), [Goes, Goes, Goes]);
        assert_eq!(fate_of(&runs, Rule::default()), [Stays, Stays, Stays]);
    }

    #[test]
    fn what_is_worked_on_or_not_finished_stays() {
        let busy = Candidate { is_busy: true, is_finished: false, ..run(50, 1) };
        let open = Candidate { is_finished: false, ..run(60, 1) };
        let other = Candidate { kind: RunKind::Conformance, ..run(70, 1) };
        let runs = [busy, open, other];
        let rule = Rule { keep: Some(0), kind: Some(RunKind::Experiment), ..Rule::default() };
        assert_eq!(fate_of(&runs, rule), [Fate::Busy, Fate::Unfinished, Fate::Stays]);
        let all = Rule { unfinished: true, ..rule };
        assert_eq!(fate_of(&runs, all), [Fate::Busy, Fate::Goes, Fate::Stays]);
    }

    proptest! {
        /// More room and more runs to keep never lead to more that goes.
        #[test]
        fn a_wider_rule_spares_what_a_narrow_one_spares(
            sizes in prop::collection::vec(0_u64..50, 0..12),
            keep in 0_usize..12,
            max in 0_u64..300,
            more in 0_u64..100,
        ) {
            let runs: Vec<_> =
                sizes.iter().zip(1..).map(|(size, days)| run(days, *size)).collect();
            let narrow = Rule { keep: Some(keep), max_size: Some(max), ..Rule::default() };
            let wide = Rule { keep: Some(keep + 1), max_size: Some(max + more), ..narrow };
            for (narrow, wide) in fate_of(&runs, narrow).into_iter().zip(fate_of(&runs, wide)) {
                prop_assert!(narrow == Fate::Goes || wide == Fate::Stays);
            }
        }
    }
}
