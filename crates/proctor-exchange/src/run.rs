//! A run on disk, as exporters see it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Event;
use proctor_model::run::{PlannedTrial, RunPlan, TrialRecord};

use crate::lines::{self, Line};

/// What happened in a trial, one event a line.
pub(crate) const EVENTS: &str = "events.jsonl";

/// Files that a trial's other files are written from, or that hold the place of the folder itself.
const BOOKS: [&str; 4] = ["run.json", "layout.json", "manifest.json", EVENTS];

/// A run and its finished trials.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its folder.
    pub folder: Utf8PathBuf,
    /// What it consists of.
    pub plan: RunPlan,
    /// The experiment as it was; `None` when nothing describes it.
    pub experiment: Option<String>,
    /// The trials that are finished, in the order of the plan.
    pub trials: Vec<Trial>,
}

/// A finished trial.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Its place in the plan.
    pub planned: PlannedTrial,
    /// What it came to.
    pub record: TrialRecord,
}

/// A file of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialFile {
    /// Its path below the folder of the trial.
    pub path: String,
    /// Where it is.
    pub host: Utf8PathBuf,
    /// Its size in bytes.
    pub size: u64,
}

impl Run {
    /// The folder of a trial.
    pub fn folder_of(&self, trial: &Trial) -> Utf8PathBuf {
        self.folder.join(&trial.planned.path)
    }

    /// Hands out the events of a trial, in order. A trial without any has no file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or a line is no event, which is named; or when `each` fails.
    pub fn events(
        &self,
        trial: &Trial,
        each: &mut dyn FnMut(Event) -> io::Result<()>,
    ) -> io::Result<()> {
        let path = self.folder_of(trial).join(EVENTS);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|error| at(&path, &error))?,
        };
        let mut reader = BufReader::new(file);
        let mut number = 0_u64;
        while let Some(line) = lines::next(&mut reader).map_err(|error| at(&path, &error))? {
            number += 1;
            let Line::Whole { bytes, .. } = line else {
                return Err(io::Error::other(format!("{path}:{number}: the line is too long")));
            };
            let event = serde_json::from_slice(&bytes)
                .map_err(|error| io::Error::other(format!("{path}:{number}: {error}")))?;
            each(event)?;
        }
        Ok(())
    }

    /// The files of a trial beside its record and its events, in the order of their paths. Links and
    /// what is no file are left out, and so are the folders of other repetitions.
    ///
    /// # Errors
    ///
    /// When a folder cannot be read.
    pub fn files(&self, trial: &Trial) -> io::Result<Vec<TrialFile>> {
        let mut files = Vec::new();
        collect(&self.folder_of(trial), "", &mut files)?;
        files.sort_by(|one: &TrialFile, other| one.path.cmp(&other.path));
        Ok(files)
    }
}

fn at(path: &Utf8Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path}: {error}"))
}

fn collect(folder: &Utf8Path, below: &str, files: &mut Vec<TrialFile>) -> io::Result<()> {
    for entry in folder.read_dir_utf8().map_err(|error| at(folder, &error))? {
        let entry = entry.map_err(|error| at(folder, &error))?;
        let kind = entry.file_type().map_err(|error| at(folder, &error))?;
        let name = entry.file_name();
        let path = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        // A folder of nothing but digits is another repetition.
        let is_repetition = below.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if kind.is_dir() && !is_repetition {
            collect(entry.path(), &path, files)?;
        } else if kind.is_file() && !(below.is_empty() && BOOKS.contains(&name)) {
            let size = entry.metadata().map_err(|error| at(folder, &error))?.len();
            files.push(TrialFile { path, host: entry.path().to_owned(), size });
        }
    }
    Ok(())
}

/// The bytes of a file of at most `limit`; `None` when it is longer.
pub(crate) fn bytes_of(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
