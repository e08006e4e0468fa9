//! Sessions that other programs recorded: one module a format, one line in [`importers`].

mod inspect;
mod own;
mod scan;
mod session;

use std::fs::File;
use std::io::{self, Read};

use camino::Utf8PathBuf;
use proctor_formats::tree::Problems;
use proctor_harness::SessionFile;
use proctor_model::run::TrialRecord;
use proctor_model::{Event, Outcome, Usage};

/// Bytes at the start of a file that tell its format.
pub const HEAD: usize = 256 * 1024;

/// Lines of it that are looked at.
const HEAD_LINES: usize = 200;

/// A file that is to be read.
#[derive(Debug)]
pub struct Source {
    /// Its name as the user wrote it: for messages.
    pub name: Utf8PathBuf,
    /// The file, at its start.
    pub file: File,
}

/// A session without its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The agent program; `None` when the format does not tell.
    pub agent: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// What the task is called, where the format has a name for it.
    pub prompt_id: Option<String>,
    /// Which repetition, from 0.
    pub repeat_idx: u32,
    /// The first and the last moment that is known, in milliseconds since 1970.
    pub span_ms: Option<(u64, u64)>,
    /// How it ended.
    pub outcome: Outcome,
    /// What it used, as far as the format says.
    pub usage: Option<Usage>,
    /// What the other tool thought of it.
    pub grades: Vec<Grade>,
    /// The record of a trial of Proctor: it has everything above, and more.
    pub record: Option<Box<TrialRecord>>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// A grade that another tool gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grade {
    /// What was graded.
    pub name: String,
    /// Whether it passed; `None` for a grade that is neither.
    pub passed: Option<bool>,
    /// The grade itself, as text.
    pub value: String,
    /// What the tool says about it.
    pub explanation: Option<String>,
}

/// Takes sessions in, one after the other: [`begin`](Self::begin), events and files,
/// [`end`](Self::end). It redacts what it keeps.
pub trait Intake {
    /// A session begins.
    fn begin(&mut self) -> io::Result<()>;

    /// An event of it, in order.
    fn event(&mut self, event: Event) -> io::Result<()>;

    /// A file of it, by its path below the folder of the trial. The path has only plain parts.
    fn raw(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()>;

    /// It is over.
    fn end(&mut self, session: Session) -> io::Result<()>;
}

/// The stream that a session was read from, beside its events.
pub const STREAM: &str = "agent-events.jsonl";

/// The same for formats that are one document.
pub const DOCUMENT: &str = "source.json";

/// The source of events that an export has put into a log of inspect.
pub(crate) const OURS: &str = inspect::OURS;

/// A format that can be read.
pub struct Importer {
    /// The name by which people ask for it. Several formats of one program share a name.
    pub name: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    reader: Reader,
}

enum Reader {
    Lines(&'static SessionFile),
    Atif,
    Inspect,
    Own,
}

impl Importer {
    /// Reads a file: whatever is wrong with it goes to `problems`. When there is an error among them,
    /// nothing that was taken in can be relied on.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or `intake` fails.
    pub fn read(
        &self,
        source: Source,
        intake: &mut dyn Intake,
        problems: &mut Problems,
    ) -> io::Result<()> {
        match &self.reader {
            Reader::Lines(format) => session::read(format, source, intake, problems),
            Reader::Atif => crate::atif::read(source, intake, problems),
            Reader::Inspect => inspect::read(source, intake, problems),
            Reader::Own => own::read(source, intake, problems),
        }
    }

    fn recognises(&self, head: &[u8], lines: &[serde_json::Value]) -> bool {
        match &self.reader {
            Reader::Lines(format) => lines.iter().any(|line| format.recognises(line)),
            Reader::Atif => crate::atif::recognises(head),
            Reader::Inspect => inspect::recognises(head),
            Reader::Own => lines.first().is_some_and(own::recognises),
        }
    }
}

/// Every format that can be read, in the order in which they are tried.
pub fn importers() -> Vec<Importer> {
    let own = Importer {
        name: "jsonl",
        title: "run of Proctor (`run export --format jsonl`)",
        reader: Reader::Own,
    };
    let inspect = Importer {
        name: "inspect",
        title: "log of inspect (.eval, .json)",
        reader: Reader::Inspect,
    };
    let atif = Importer { name: "atif", title: "trajectory in ATIF", reader: Reader::Atif };
    let lines = proctor_harness::session_files().iter().map(|format| Importer {
        name: format.name,
        title: format.title,
        reader: Reader::Lines(format),
    });
    // Documents last: a line of a session may quote what they are told by.
    [own].into_iter().chain(lines).chain([atif, inspect]).collect()
}

/// The format of a file by its first bytes ([`HEAD`] of them are enough), among those of a name when
/// one is given.
pub fn detect(head: &[u8], name: Option<&str>) -> Option<Importer> {
    let lines: Vec<serde_json::Value> = head
        .split(|byte| *byte == b'\n')
        .take(HEAD_LINES)
        .filter_map(|line| serde_json::from_slice(line.trim_ascii()).ok())
        .collect();
    let mut importers = importers();
    importers.retain(|importer| name.is_none_or(|name| importer.name == name));
    let found = importers.iter().position(|importer| importer.recognises(head, &lines))?;
    Some(importers.swap_remove(found))
}

/// The first format of a name, for a file that no format recognises.
pub fn named(name: &str) -> Option<Importer> {
    importers().into_iter().find(|importer| importer.name == name)
}

#[cfg(test)]
mod round;
#[cfg(test)]
mod tests;
