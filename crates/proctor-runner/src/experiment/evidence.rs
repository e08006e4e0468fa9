//! What an agent does, on its way to the trial's folder and to the tests.

use std::io::{self, Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use fs_err::os::unix::fs::OpenOptionsExt as _;
use proctor_model::run::TrialRecord;
use proctor_model::{Event, EventKind};
use proctor_sandbox::Stream;

use super::room::TestRoom;
use super::script::ScriptEnd;
use super::trial::{Stop, Trial, broken};
use crate::session::Recorder;
use crate::streams::{Streams, now};
pub(super) use crate::streams::{write_json, write_redacted};

/// Events that wait to become rows.
const BATCH: usize = 512;

/// Keeps the streams and the events of an agent as they come, and counts.
pub(super) struct Counter<'a> {
    tests: &'a TestRoom,
    streams: Streams<'a>,
    batch: Vec<Event>,
}

impl<'a> Counter<'a> {
    pub(super) fn open(trial: &'a Trial<'_>, tests: &'a TestRoom) -> Result<Self, Stop> {
        let streams = Streams::open(trial.folder, trial.settings.redactor).map_err(broken)?;
        Ok(Self { tests, streams, batch: Vec::new() })
    }

    /// Takes the next event.
    pub(super) fn observe(&mut self, event: Event) {
        let event = Event { ts_ms: event.ts_ms.or_else(|| Some(now())), ..event };
        self.streams.observe(&event);
        self.push(event);
    }

    /// Adds what Proctor itself did or saw.
    pub(super) fn add(&mut self, kind: EventKind) {
        let event = self.streams.add(kind);
        self.push(event);
    }

    fn push(&mut self, event: Event) {
        self.batch.push(event);
        if self.batch.len() >= BATCH {
            self.load();
        }
    }

    fn load(&mut self) {
        let added = self.tests.desk().add_events(&self.batch);
        self.batch.clear();
        self.streams.note(added.map_err(io::Error::other));
    }

    /// The agent is done: what it said is on disk, and tests can ask about it.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.streams.close_raw();
        self.flush()
    }

    /// Everything is on disk, and tests can ask about it. What could not be kept is an error: a test
    /// that finds nothing must be able to rely on it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.load();
        let lost = |why| io::Error::other(format!("the evidence was not kept: {why}"));
        self.streams.flush().map_err(lost)
    }

    /// Puts the counts into the record.
    pub(super) fn close(self, record: &mut TrialRecord) {
        (record.tool_calls, record.tool_calls_failed) = self.streams.calls();
    }
}

impl Recorder for Counter<'_> {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        self.streams.record(stream, bytes);
    }
}

/// Adds what a script said to a log that holds several of them, and takes its own files away. A
/// stream that said nothing is left out.
pub(super) fn append(
    log: &Utf8Path,
    label: &str,
    streams: [&Utf8PathBuf; 2],
    end: Option<&ScriptEnd>,
) -> io::Result<()> {
    let mut log = fs_err::OpenOptions::new().create(true).append(true).mode(0o600).open(log)?;
    let end = match end {
        None => "no end".to_owned(),
        Some(end) if end.timed_out => format!("killed after {} ms", end.duration_ms),
        Some(end) => format!("exit {}, {} ms", end.exit_code, end.duration_ms),
    };
    writeln!(log, "== {label}: {end}")?;
    for (path, name) in streams.into_iter().zip(["stdout", "stderr"]) {
        let mut stream = match fs_err::File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if stream.metadata()?.len() > 0 {
            writeln!(log, "-- {name}")?;
            io::copy(&mut stream, &mut log)?;
            writeln!(log)?;
        }
        fs_err::remove_file(path)?;
    }
    Ok(())
}
