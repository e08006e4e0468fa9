//! Runs of Proctor: see [`crate::stream`].

use std::io::{self, BufReader, Read};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proctor_formats::tree::Problems;
use proctor_model::run::TrialRecord;
use proctor_model::{Diagnostic, Location, Outcome, OutcomeClass, Usage};
use serde_json::Value;

use super::{Intake, Session, Source, scan};
use crate::lines::{self, Line};
use crate::stream::{Encoding, FORMAT, StreamLine, VERSION};

/// The most bytes that the files of a run may have together.
const MAX_FILES: u64 = 4 << 30;

/// Files that are made from the record and the events.
const RESERVED: [&str; 4] = ["run.json", "layout.json", "manifest.json", "events.jsonl"];

pub(super) fn recognises(line: &Value) -> bool {
    line.get("type").and_then(Value::as_str) == Some("run") && line.get("format").is_some()
}

/// Whether a path stays below the folder that it is joined to, and is one that people can read.
fn is_plain(path: &str) -> bool {
    const PARTS: usize = 8;
    let is_part = |part: &str| {
        !part.is_empty()
            && part.len() <= 255
            && !part.starts_with('.')
            && !part.chars().any(|c| c.is_control() || c == '\\')
    };
    let first = path.split('/').next().unwrap_or_default();
    path.split('/').count() <= PARTS
        && path.split('/').all(is_part)
        && !RESERVED.contains(&path)
        // The folder of another repetition.
        && !first.bytes().all(|byte| byte.is_ascii_digit())
}

pub(super) fn read(
    source: Source,
    intake: &mut dyn Intake,
    problems: &mut Problems,
) -> io::Result<()> {
    let mut stream =
        Stream { reader: BufReader::new(source.file), number: 0, problems, files: 0, bytes: 0 };
    stream.run(intake)
}

struct Stream<'a, R> {
    reader: BufReader<R>,
    number: u32,
    problems: &'a mut Problems,
    files: u64,
    bytes: u64,
}

impl<R: Read> Stream<'_, R> {
    fn run(&mut self, intake: &mut dyn Intake) -> io::Result<()> {
        match self.line()? {
            Some(StreamLine::Run { format, version, .. }) if format == FORMAT => {
                if version != VERSION {
                    let known = format!("version {version} of the stream is not known");
                    let hint = format!("this program reads version {VERSION}");
                    self.error(Diagnostic::error(known).hint(hint));
                    return Ok(());
                }
            }
            Some(_) => {
                self.wrong(&format!("the first line is not that of a `{FORMAT}`"));
                return Ok(());
            }
            None => return Ok(()),
        }
        let (mut trials, mut events) = (0_u64, 0_u64);
        let mut open: Option<TrialRecord> = None;
        while let Some(line) = self.line()? {
            match line {
                StreamLine::Run { .. } => {
                    self.wrong("a second run begins");
                    return Ok(());
                }
                StreamLine::Trial { record, .. } => {
                    let cost = record.usage.and_then(|usage| usage.cost_usd);
                    if let Some(cost) = cost.filter(|cost| Usage::dollars(*cost).is_none()) {
                        self.wrong(&format!("`cost_usd` is {cost}, which is no amount"));
                        return Ok(());
                    }
                    if let Some(record) = open.replace(record) {
                        intake.end(session(record))?;
                    }
                    trials += 1;
                    intake.begin()?;
                }
                StreamLine::Event { event } if open.is_some() => {
                    events += 1;
                    intake.event(event)?;
                }
                StreamLine::File { path, encoding, data, last } if open.is_some() => {
                    if !is_plain(&path) {
                        self.wrong(&format!("`{path}` is no path of a file of a trial"));
                        return Ok(());
                    }
                    self.files += 1;
                    let Some(first) = self.decode(encoding, data) else { return Ok(()) };
                    let mut pieces =
                        Pieces { path: &path, held: io::Cursor::new(first), last, stream: self };
                    intake.raw(&path, &mut pieces)?;
                    if self.problems.has_errors() {
                        return Ok(());
                    }
                }
                StreamLine::Event { .. } | StreamLine::File { .. } => {
                    self.wrong("it stands before the first trial");
                    return Ok(());
                }
                StreamLine::End { trials: all, events: said, files } => {
                    if let Some(record) = open.take() {
                        intake.end(session(record))?;
                    }
                    if (all, said, files) != (trials, events, self.files) {
                        self.wrong(&format!(
                            "the run has {all} trials, {said} events and {files} files, and \
                             {trials}, {events} and {} stand here",
                            self.files
                        ));
                    }
                    return Ok(());
                }
            }
        }
        if !self.problems.has_errors() {
            self.wrong("the stream was cut: its last line is missing");
        }
        Ok(())
    }

    /// The next line; `None` at the end, and after a mistake.
    fn line(&mut self) -> io::Result<Option<StreamLine>> {
        let Some(line) = lines::next(&mut self.reader)? else { return Ok(None) };
        self.number = self.number.saturating_add(1);
        let Line::Whole { bytes, torn } = line else {
            self.wrong("the line is too long");
            return Ok(None);
        };
        if scan::values(&bytes).count > scan::MOST {
            self.wrong(&format!("the line has more than {} values", scan::MOST));
            return Ok(None);
        }
        match serde_json::from_slice(&bytes) {
            Ok(line) => Ok(Some(line)),
            Err(_) if torn => {
                self.wrong("the stream was cut in the middle of this line");
                Ok(None)
            }
            Err(error) => {
                self.wrong(&format!("the line is none of a `{FORMAT}`: {error}"));
                Ok(None)
            }
        }
    }

    fn decode(&mut self, encoding: Encoding, data: String) -> Option<Vec<u8>> {
        let bytes = match encoding {
            Encoding::Utf8 => data.into_bytes(),
            Encoding::Base64 => match STANDARD.decode(data) {
                Ok(bytes) => bytes,
                Err(error) => {
                    self.wrong(&format!("the piece of a file is no base64: {error}"));
                    return None;
                }
            },
        };
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        if self.bytes > MAX_FILES {
            self.wrong("the files of the run are larger than 4 GiB");
            return None;
        }
        Some(bytes)
    }

    fn wrong(&mut self, message: &str) {
        self.error(Diagnostic::error(message));
    }

    fn error(&mut self, diagnostic: Diagnostic) {
        self.problems.push(diagnostic.at(Location { line: self.number.max(1), column: 1 }));
    }
}

/// A file whose pieces follow each other. It ends early after a mistake, which is among the problems.
struct Pieces<'s, 'p, R> {
    path: &'s str,
    held: io::Cursor<Vec<u8>>,
    last: bool,
    stream: &'s mut Stream<'p, R>,
}

impl<R: Read> Read for Pieces<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.held.read(buffer)?;
            if length > 0 || self.last || buffer.is_empty() {
                return Ok(length);
            }
            match self.stream.line()? {
                Some(StreamLine::File { path, encoding, data, last }) if path == self.path => {
                    self.last = last;
                    match self.stream.decode(encoding, data) {
                        Some(bytes) => self.held = io::Cursor::new(bytes),
                        None => self.last = true,
                    }
                }
                _ => {
                    if !self.stream.problems.has_errors() {
                        let path = self.path;
                        self.stream.wrong(&format!("the rest of file `{path}` is missing"));
                    }
                    self.last = true;
                }
            }
        }
    }
}

fn session(record: TrialRecord) -> Session {
    let nothing = || Outcome::new(OutcomeClass::CutShort, "no session began");
    Session {
        agent: Some(record.coordinates.agent.clone()),
        model: record.coordinates.model.clone(),
        prompt_id: Some(record.coordinates.prompt_id.clone()),
        repeat_idx: record.repeat_idx,
        span_ms: Some((record.started_at, record.ended_at)),
        outcome: record.outcome.clone().unwrap_or_else(nothing),
        usage: record.usage,
        grades: Vec::new(),
        warnings: Vec::new(),
        record: Some(Box::new(record)),
    }
}

#[cfg(test)]
mod tests {
    use super::is_plain;

    #[test]
    fn paths_stay_in_the_folder_of_their_trial() {
        for path in ["agent.log", "tests/a.stdout.log", "fs-diff/000000.json", "workspace.tar.zst"]
        {
            assert!(is_plain(path), "{path}");
        }
        for path in [
            "",
            "/etc/passwd",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            ".x",
            "a/.x",
            "run.json",
            "events.jsonl",
            "1/run.json",
            "a\\b",
            "a\nb",
            "a\0b",
            "a/b/c/d/e/f/g/h/i",
        ] {
            assert!(!is_plain(path), "{path:?}");
        }
    }
}
