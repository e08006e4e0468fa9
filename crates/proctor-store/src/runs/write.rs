//! Runs that are being worked on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Digest;
use proctor_model::run::{PlannedTrial, RunPlan, TrialRecord};
use serde::Serialize;

use super::journal::{Journal, Line};
use super::manifest::{self, MANIFEST};
use super::read::{EXPERIMENT, JOURNAL, LOCK, PLAN, RECORD, REPORT, StoredRun};
use super::{RunError, Runs};
use crate::whole::replace;

/// The name of the folder of runs that are not in the list yet.
const ASIDE: &str = "incoming";
/// The version of the layout of a trial's folder.
const LAYOUT_VERSION: u32 = 1;

/// A run that this process alone works on; threads may share it.
#[derive(Debug)]
pub struct RunWriter {
    folder: Utf8PathBuf,
    journal: Mutex<Journal>,
    /// Held until the writer is dropped.
    _lock: File,
}

impl Runs {
    /// Makes a run. `experiment` is empty for one that no experiment file describes.
    pub fn create(&self, plan: &RunPlan, experiment: &[u8]) -> Result<RunWriter, RunError> {
        let folder = self.folder_of(&plan.run_id);
        fs::create_dir_all(&folder).map_err(RunError::io(&folder))?;
        self.keep_out_of_git()?;
        let lock = lock(&folder, &plan.run_id)?;
        if !experiment.is_empty() {
            write(&folder, EXPERIMENT, experiment)?;
        }
        write_json(&folder, PLAN, plan)?;
        let (journal, _) = Journal::open(&folder.join(JOURNAL))?;
        Ok(RunWriter { folder, journal: Mutex::new(journal), _lock: lock })
    }

    /// Makes a run that is in no list until [`RunWriter::publish`]: what becomes of it before that is
    /// nothing that anybody counts.
    pub fn create_aside(&self, plan: &RunPlan) -> Result<RunWriter, RunError> {
        self.aside().create(plan, b"")
    }

    /// Where runs lie that are not in the list yet.
    pub(super) fn aside(&self) -> Self {
        Self { folder: self.folder.parent().unwrap_or(&self.folder).join(ASIDE) }
    }

    /// Records may hold what an agent came across: they are nothing for a repository.
    fn keep_out_of_git(&self) -> Result<(), RunError> {
        let Some(folder) = self.folder.parent() else { return Ok(()) };
        let path = folder.join(".gitignore");
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            opened => {
                opened.and_then(|mut file| file.write_all(b"*\n")).map_err(RunError::io(&path))
            }
        }
    }
}

impl RunWriter {
    /// Goes on with a run.
    ///
    /// # Errors
    ///
    /// [`RunError::Busy`] when another process works on it.
    pub fn resume(folder: &Utf8Path) -> Result<(Self, StoredRun), RunError> {
        let plan = StoredRun::open(folder)?.plan;
        let lock = lock(folder, &plan.run_id)?;
        let (journal, _) = Journal::open(&folder.join(JOURNAL))?;
        // Read again, now that nobody else writes.
        let mut run = StoredRun::open(folder)?;
        run.worker = None;
        let writer = Self { folder: folder.to_owned(), journal: Mutex::new(journal), _lock: lock };
        Ok((writer, run))
    }

    /// The folder of the run.
    pub fn folder(&self) -> &Utf8Path {
        &self.folder
    }

    /// Puts a run into the list that was made aside, in one step.
    pub fn publish(mut self, runs: &Runs) -> Result<Self, RunError> {
        let name = self.folder.file_name().unwrap_or_default();
        let listed = runs.folder_of(name);
        let publish = || {
            fs::create_dir_all(&runs.folder)?;
            fs::rename(&self.folder, &listed)?;
            File::open(&runs.folder)?.sync_all()
        };
        publish().map_err(RunError::io(&listed))?;
        self.folder = listed;
        Ok(self)
    }

    /// Replaces the plan: trials are added, never taken away.
    pub fn replan(&self, plan: &RunPlan) -> Result<(), RunError> {
        write_json(&self.folder, PLAN, plan)
    }

    /// Begins a trial: its folder is empty, whatever an earlier attempt has left in it.
    pub fn start(&self, trial: &PlannedTrial) -> Result<TrialFolder, RunError> {
        let path = self.folder.join(&trial.path);
        refuse_links(&self.folder, &trial.path)?;
        self.add(&Line::Started { trial: trial.id.clone() })?;
        clear(&path, &trial.path).map_err(RunError::io(&path))?;
        fs::create_dir_all(&path).map_err(RunError::io(&path))?;
        let folder = TrialFolder { path };
        folder.write_json("layout.json", &Layout { layout_version: LAYOUT_VERSION })?;
        Ok(folder)
    }

    /// Ends a trial: its record is whole on the disk, the digests of all its files are taken, and then
    /// the journal says so. Nothing may be written into its folder any more.
    pub fn finish(&self, trial: &PlannedTrial, record: &TrialRecord) -> Result<(), RunError> {
        let folder = self.folder.join(&trial.path);
        write_json(&folder, RECORD, record)?;
        let bytes = json(&folder, &manifest::of_trial(&folder, &trial.path)?)?;
        write(&folder, MANIFEST, &bytes)?;
        let manifest = Some(format!("sha256:{}", Digest::of(&bytes)));
        self.add(&Line::Finished { trial: trial.id.clone(), status: record.status, manifest })
    }

    /// Keeps what a command said of the whole run.
    pub fn report(&self, bytes: &[u8]) -> Result<(), RunError> {
        write(&self.folder, REPORT, bytes)
    }

    /// Says what the agent of a trial, which begins now, may cost; on the disk when this returns.
    pub fn set_aside(&self, trial: &PlannedTrial, usd: f64) -> Result<(), RunError> {
        self.add(&Line::SetAside { trial: trial.id.clone(), usd })
    }

    /// Says that no more trials were started, and why.
    pub fn capped(&self, reason: &str) -> Result<(), RunError> {
        self.add(&Line::Capped { reason: reason.to_owned() })
    }

    fn add(&self, line: &Line) -> Result<(), RunError> {
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.add(line).map_err(RunError::io(&self.folder.join(JOURNAL)))
    }
}

/// What stands in `layout.json`.
#[derive(Serialize)]
struct Layout {
    layout_version: u32,
}

/// The folder of a trial that is being worked on.
#[derive(Debug, Clone)]
pub struct TrialFolder {
    path: Utf8PathBuf,
}

impl TrialFolder {
    /// Where it is.
    pub fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Makes a file in it, and the folders above it.
    pub fn file(&self, name: &str) -> Result<File, RunError> {
        let path = self.path.join(name);
        let make = || {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            File::create(&path)
        };
        make().map_err(RunError::io(&path))
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), RunError> {
        let mut file = self.file(name)?;
        file.write_all(bytes).map_err(RunError::io(&self.path.join(name)))
    }

    /// Writes a file of JSON in it.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<(), RunError> {
        self.write(name, &json(&self.path, value)?)
    }
}

/// Refuses a folder of a run that is reached through a link: it may lie anywhere.
pub(super) fn refuse_links(run: &Utf8Path, below: &str) -> Result<(), RunError> {
    let mut path = run.to_owned();
    for part in below.split('/') {
        path.push(part);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
            let reason = "it is a link, which may lead out of the run".to_owned();
            return Err(RunError::Damaged { path, reason });
        }
    }
    Ok(())
}

/// Takes away what an earlier attempt left. Repetitions that lie below the first one stay.
fn clear(path: &Utf8Path, relative: &str) -> io::Result<()> {
    let entries = match path.read_dir_utf8() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if manifest::is_repetition(relative, entry.file_name()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

pub(super) fn lock(folder: &Utf8Path, run_id: &str) -> Result<File, RunError> {
    let path = folder.join(LOCK);
    let open =
        || OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
    let mut file = open().map_err(RunError::io(&path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => {
            let pid = fs::read_to_string(&path).ok().and_then(|text| text.trim().parse().ok());
            return Err(RunError::Busy { run_id: run_id.to_owned(), pid });
        }
        // Some network file systems have no locks.
        Err(fs::TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
        Err(fs::TryLockError::Error(error)) => return Err(RunError::io(&path)(error)),
    }
    let mut name = || {
        file.set_len(0)?;
        write!(file, "{}", std::process::id())
    };
    name().map_err(RunError::io(&path))?;
    Ok(file)
}

fn json(folder: &Utf8Path, value: &impl Serialize) -> Result<Vec<u8>, RunError> {
    let mut bytes =
        serde_json::to_vec_pretty(value).map_err(|error| RunError::io(folder)(error.into()))?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn write_json(folder: &Utf8Path, name: &str, value: &impl Serialize) -> Result<(), RunError> {
    write(folder, name, &json(folder, value)?)
}

fn write(folder: &Utf8Path, name: &str, bytes: &[u8]) -> Result<(), RunError> {
    let path = folder.join(name);
    replace(folder.as_std_path(), path.as_std_path(), bytes).map_err(RunError::io(&path))
}
