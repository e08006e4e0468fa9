//! `index.jsonl`: what happened to the trials of a run, in order.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};

use camino::Utf8Path;
use proctor_model::Digest;
use proctor_model::run::TrialStatus;
use serde::{Deserialize, Serialize};

use super::RunError;
use super::verify::Dropped;

/// One line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line {
    /// A trial begins; what an earlier attempt left of it is gone.
    Started {
        /// Its id.
        trial: String,
    },
    /// An agent is about to work, in a run that may not cost more than some amount.
    SetAside {
        /// Its trial.
        trial: String,
        /// US dollars: what it may cost as far as is known.
        usd: f64,
    },
    /// A trial is finished, and its record is whole.
    Finished {
        /// Its id.
        trial: String,
        /// The verdict.
        status: TrialStatus,
        /// The digest of its `manifest.json`; none in journals of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        manifest: Option<String>,
    },
    /// A file of a finished trial was taken away to make room.
    Dropped {
        /// The trial.
        trial: String,
        /// The file, relative to its folder.
        file: String,
    },
    /// No more trials were started, since the run could have cost more than it may.
    Capped {
        /// Why, for people.
        reason: String,
    },
}

/// A line as it is written: each carries the digest of the one before it, so that none can be
/// changed or taken out without all that follow it.
#[derive(Serialize, Deserialize)]
struct Chained<L> {
    #[serde(flatten)]
    line: L,
    /// `sha256:` and the digest of the line before, without its line feed; of nothing for the first.
    /// None in journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prev: Option<String>,
}

fn digest(line: &str) -> String {
    format!("sha256:{}", Digest::of(line.as_bytes()))
}

/// What the journal says of the trials that it names.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Progress {
    /// The digests of manifests of finished trials, where the journal has them.
    pub(super) manifests: BTreeMap<String, String>,
    /// Files that were taken away.
    pub(super) dropped: Dropped,
    /// Lines that do not follow the one before them.
    pub(super) breaks: Vec<u64>,
    /// Whether any line carries the digest of the one before.
    pub(super) is_chained: bool,
    /// Whether the last line was torn off.
    pub(super) is_torn: bool,
    /// `None` for a trial that was started and not finished.
    pub(super) trials: BTreeMap<String, Option<TrialStatus>>,
    /// What was set aside for the agents of trials.
    pub(super) money: BTreeMap<String, SetAside>,
    /// Why no more trials were started.
    pub(super) capped: Option<String>,
}

/// What was set aside for the agent of a trial, in US dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct SetAside {
    /// By the attempt that was finished, or is the last one.
    pub last: Option<f64>,
    /// By attempts before it, which did not live to say what they cost.
    pub lost: f64,
}

impl SetAside {
    fn lose(&mut self) {
        self.lost += self.last.take().unwrap_or(0.0);
    }
}

/// The journal of a run, open for writing.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    /// The digest of its last line.
    last: String,
}

/// The longest journal that is read.
const MAX_BYTES: u64 = 1 << 30;

impl Journal {
    /// Opens the journal at `path` and reads it. A torn last line is cut off, so that the next line
    /// is not joined to it.
    pub(super) fn open(path: &Utf8Path) -> Result<(Self, Progress), RunError> {
        let open = || OpenOptions::new().create(true).read(true).append(true).open(path);
        let mut file = open().map_err(RunError::io(path))?;
        let text = read(&mut file).map_err(RunError::io(path))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let (lines, torn) = text.split_at(whole);
        if !torn.is_empty() {
            let cut = || {
                file.set_len(whole as u64)?;
                file.sync_all()
            };
            cut().map_err(RunError::io(path))?;
        }
        let progress = progress(path, lines)?;
        let last = digest(lines.lines().next_back().unwrap_or_default());
        Ok((Self { file, last }, progress))
    }

    /// Adds a line; when this returns it is on the disk.
    pub(super) fn add(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(&Chained { line, prev: Some(self.last.clone()) })?;
        let last = digest(&text);
        text.push('\n');
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(text.as_bytes())?;
        self.last = last;
        self.file.sync_data()
    }
}

/// What a journal that somebody else may be writing says.
pub(super) fn peek(path: &Utf8Path) -> Result<Progress, RunError> {
    let text = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        opened => opened.and_then(|mut file| read(&mut file)).map_err(RunError::io(path))?,
    };
    let whole = text.rfind('\n').map_or(0, |end| end + 1);
    let progress = progress(path, text.get(..whole).unwrap_or_default())?;
    Ok(Progress { is_torn: whole < text.len(), ..progress })
}

fn read(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Progress {
    /// Holds a line against the one before it. Lines without a digest may only come first: they are
    /// those of an earlier version.
    fn follow(&mut self, number: u64, last: &str, prev: Option<&str>) {
        let follows = match prev {
            None => !self.is_chained,
            Some(prev) => prev == digest(last),
        };
        self.is_chained |= prev.is_some();
        if !follows {
            self.breaks.push(number);
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Started { trial } => {
                self.capped = None;
                if let Some(money) = self.money.get_mut(&trial) {
                    money.lose();
                }
                self.manifests.remove(&trial);
                self.trials.insert(trial, None);
            }
            Line::SetAside { trial, usd } => {
                let money = self.money.entry(trial).or_default();
                money.lose();
                money.last = Some(usd);
            }
            Line::Finished { trial, status, manifest } => {
                match manifest {
                    Some(manifest) => self.manifests.insert(trial.clone(), manifest),
                    None => self.manifests.remove(&trial),
                };
                self.trials.insert(trial, Some(status));
            }
            Line::Dropped { trial, file } => {
                self.dropped.entry(trial).or_default().insert(file);
            }
            Line::Capped { reason } => self.capped = Some(reason),
        }
    }
}

fn progress(path: &Utf8Path, text: &str) -> Result<Progress, RunError> {
    let mut progress = Progress::default();
    let mut last = "";
    for (number, text) in (1..).zip(text.lines()) {
        let line: Chained<Line> = serde_json::from_str(text).map_err(|error| {
            RunError::Damaged { path: path.to_owned(), reason: format!("line {number}: {error}") }
        })?;
        progress.follow(number, last, line.prev.as_deref());
        last = text;
        progress.take(line.line);
    }
    Ok(progress)
}
