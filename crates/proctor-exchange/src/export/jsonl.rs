//! Everything of a run as one stream of JSON lines: see [`crate::stream`].

use std::fs::File;
use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proctor_redact::Redactor;
use serde_json::Value;

use super::{ExportError, Format, Lost, Writer};
use crate::run::{Run, TrialFile};
use crate::stream::{Encoding, FORMAT as NAME, PIECE, StreamLine, VERSION};

pub(super) const FORMAT: Format = Format {
    name: "jsonl",
    title: "everything, as a stream of JSON lines that `run import` reads",
    writer: Writer::Text { write },
    lacks: "nothing of a finished trial; trials that are not finished are left out",
};

fn write(run: &Run, redactor: &Redactor, out: &mut dyn Write) -> Result<Lost, ExportError> {
    let mut lines = Lines { out, redactor };
    lines.add(&StreamLine::Run {
        format: NAME.to_owned(),
        version: VERSION,
        plan: run.plan.clone(),
        experiment: run.experiment.clone(),
    })?;
    let (mut events, mut files) = (0, 0);
    for trial in &run.trials {
        lines.add(&StreamLine::Trial {
            planned: trial.planned.clone(),
            record: trial.record.clone(),
        })?;
        run.events(trial, &mut |event| {
            events += 1;
            lines.add(&StreamLine::Event { event })
        })?;
        for file in run.files(trial)? {
            files += 1;
            lines.file(&file)?;
        }
    }
    let trials = run.trials.len() as u64;
    lines.add(&StreamLine::End { trials, events, files })?;
    let mut lost = Lost::default();
    for _ in run.trials.len()..run.plan.trials.len() {
        lost.add("trials that are not finished");
    }
    Ok(lost)
}

struct Lines<'a> {
    out: &'a mut dyn Write,
    redactor: &'a Redactor,
}

impl Lines<'_> {
    fn add(&mut self, line: &StreamLine) -> io::Result<()> {
        let mut value = serde_json::to_value(line)?;
        // Redacted when it was recorded; since then the user may have got other secrets.
        if !matches!(line, StreamLine::File { .. }) {
            self.redactor.json(&mut value);
        }
        self.value(&value)
    }

    fn value(&mut self, value: &Value) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// A file in pieces, byte for byte: what is text was redacted on its way to the disk.
    fn file(&mut self, file: &TrialFile) -> io::Result<()> {
        let mut source = File::open(&file.host)?;
        let mut piece = vec![0; PIECE];
        let mut held = fill(&mut source, &mut piece)?;
        loop {
            let now = piece.get(..held).unwrap_or_default().to_vec();
            let next = fill(&mut source, &mut piece)?;
            let (encoding, data) = match String::from_utf8(now) {
                Ok(text) => (Encoding::Utf8, text),
                Err(error) => (Encoding::Base64, STANDARD.encode(error.as_bytes())),
            };
            let (path, last) = (file.path.clone(), next == 0);
            self.add(&StreamLine::File { path, encoding, data, last })?;
            if last {
                return Ok(());
            }
            held = next;
        }
    }
}

/// Reads until the buffer is full or the source ends, and says how much that is.
fn fill(source: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut held = 0;
    while let Some(rest) = buffer.get_mut(held..).filter(|rest| !rest.is_empty()) {
        match source.read(rest) {
            Ok(0) => break,
            Ok(length) => held += length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(held)
}
