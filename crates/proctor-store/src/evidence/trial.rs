//! One trial: whether its files are what they were, and what stands in them.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;

use proctor_model::Event;
use proctor_model::run::PlannedTrial;
use proctor_query::{Dimensions, Evidence, QueryError};

use crate::runs::StoredRun;

const EVENTS: &str = "events.jsonl";
const RECORD: &str = "run.json";
/// The longest event that is read, in bytes.
const LONGEST_EVENT: u64 = 64 << 20;

/// The state of a trial's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Equal for equal states.
    pub(super) text: String,
    /// How much there is to read.
    pub(super) bytes: u64,
}

impl Stamp {
    /// As they are now. What changes after this is seen the next time.
    pub(super) fn of(run: &StoredRun, trial: &PlannedTrial) -> Self {
        let folder = run.trial_folder(trial);
        let status = run.status(trial).map_or("unfinished", |status| status.as_str());
        let state = |found: &Metadata| {
            format!("{}.{}.{}.{}", found.len(), found.ino(), found.mtime(), found.mtime_nsec())
        };
        let [events, record] =
            [EVENTS, RECORD].map(|name| folder.join(name).symlink_metadata().ok());
        let bytes = [&events, &record].into_iter().flatten().map(Metadata::len).sum();
        let [events, record] =
            [events, record].map(|found| found.as_ref().map_or_else(String::new, state));
        Self { text: format!("{status} {events} {record}"), bytes }
    }
}

/// Loads a trial anew.
pub(super) fn load(
    evidence: &mut Evidence,
    run: &StoredRun,
    trial: &PlannedTrial,
    stamp: &Stamp,
) -> Result<(), QueryError> {
    let record = run.record(trial);
    let dimensions = match &record {
        Ok(Some(record)) => {
            Dimensions { run_kind: run.plan.kind.to_string(), ..Dimensions::from(record) }
        }
        _ => planned(run, trial),
    };
    evidence.begin(&dimensions, &stamp.text)?;
    let mut problems = Vec::new();
    let is_finished = run.status(trial).is_some();
    match File::open(run.trial_folder(trial).join(EVENTS)) {
        Ok(file) if file.metadata().is_ok_and(|found| found.is_file()) => {
            problems.extend(events(evidence, BufReader::new(file), is_finished)?);
        }
        Ok(_) => problems.push(format!("{EVENTS} is no file")),
        // A trial without an agent has none.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => problems.push(format!("{EVENTS} cannot be read: {error}")),
    }
    match record {
        Ok(Some(record)) => evidence.finish(&record)?,
        Ok(None) => {}
        Err(error) => problems.push(error.to_string()),
    }
    if problems.is_empty() { Ok(()) } else { evidence.note(&problems.join("; ")) }
}

/// What is known of a trial without a record.
fn planned(run: &StoredRun, trial: &PlannedTrial) -> Dimensions {
    let agent = trial.variant_id.split("::").next().unwrap_or_default();
    Dimensions {
        run_id: trial.id.clone(),
        run_request_id: run.plan.run_id.clone(),
        agent: agent.to_owned(),
        repeat_idx: trial.repeat_idx,
        run_kind: run.plan.kind.to_string(),
        experiment_id: run.plan.experiment_id.clone(),
        variant_id: trial.variant_id.clone(),
        ..Dimensions::default()
    }
}

/// Loads events up to the last whole line, and says what could not be read. A last line without an
/// end is being written, unless the trial `is_finished`.
fn events(
    evidence: &mut Evidence,
    mut reader: impl BufRead,
    is_finished: bool,
) -> Result<Option<String>, QueryError> {
    let mut damage = Damage::default();
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let ended = match read_line(&mut reader, &mut line) {
            Ok(ended) => ended,
            Err(error) => {
                damage.add(number, &error.to_string());
                break;
            }
        };
        match ended {
            Ended::Nothing => break,
            Ended::Torn if !is_finished => break,
            Ended::TooLong => damage.add(number, "it is longer than 64 MiB"),
            Ended::Whole | Ended::Torn => match event(&line) {
                Ok(event) => evidence.add_events([&event])?,
                Err(error) => damage.add(number, &error.to_string()),
            },
        }
    }
    Ok(damage.told())
}

fn event(line: &[u8]) -> serde_json::Result<Event> {
    // What is no UTF-8 is mended, as everywhere, rather than lost.
    serde_json::from_str(&String::from_utf8_lossy(line))
}

/// How a line ended.
enum Ended {
    Whole,
    Torn,
    TooLong,
    Nothing,
}

fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Ended> {
    reader.take(LONGEST_EVENT).read_until(b'\n', line)?;
    if line.is_empty() {
        return Ok(Ended::Nothing);
    }
    if line.pop_if(|last| *last == b'\n').is_some() {
        return Ok(Ended::Whole);
    }
    if (line.len() as u64) < LONGEST_EVENT {
        return Ok(Ended::Torn);
    }
    reader.skip_until(b'\n')?;
    Ok(Ended::TooLong)
}

/// Lines that cannot be read.
#[derive(Default)]
struct Damage {
    lines: u64,
    first: Option<(u64, String)>,
}

impl Damage {
    fn add(&mut self, number: u64, reason: &str) {
        self.lines += 1;
        self.first.get_or_insert_with(|| (number, reason.to_owned()));
    }

    fn told(self) -> Option<String> {
        let (number, reason) = self.first?;
        let rest = match self.lines {
            1 => String::new(),
            lines => format!(", and {} more", lines - 1),
        };
        Some(format!("{EVENTS} line {number} cannot be read and is left out: {reason}{rest}"))
    }
}
