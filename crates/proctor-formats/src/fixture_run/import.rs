//! Importers: fixture-runs from the files that people have.
//!
//! An importer says for every question, answer and assertion of its input what became of it: a run,
//! or an entry in the list of what did not map. What cannot be said in contract version 1 is never
//! approximated in silence.
//!
//! A new importer is a module here and a line in [`IMPORTERS`].

mod gold;
mod locomo;
mod longmemeval;
mod promptfoo;
#[cfg(test)]
mod tests;

use std::io::{BufRead, Read};

use proctor_model::recorded::run::{Category, Kind};
use serde_json::{Map, Value, json};

/// Every importer, by name.
pub const IMPORTERS: &[Importer] = &[locomo::IMPORTER, longmemeval::IMPORTER, promptfoo::IMPORTER];

/// The importer with this name.
pub fn importer(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().find(|importer| importer.name == name)
}

/// How the files of one origin are read.
#[derive(Debug)]
pub struct Importer {
    /// The name for `--from`.
    pub name: &'static str,
    /// What its file is, in one line.
    pub reads: &'static str,
    /// What its second file with the answers is, in one line; `None` when the answers are in the
    /// first.
    pub answers: Option<&'static str>,
    run: fn(Input<'_>) -> Result<Imported, ImportError>,
}

impl Importer {
    /// Reads the input.
    pub fn import(&self, input: Input<'_>) -> Result<Imported, ImportError> {
        (self.run)(input)
    }
}

/// What an importer reads.
pub struct Input<'a> {
    /// The file.
    pub file: &'a mut dyn Read,
    /// The file with the answers, in JSON Lines.
    pub answers: Option<&'a mut dyn BufRead>,
    /// The category of what does not tell its own.
    pub category: Option<Category>,
    /// The kind of what does not tell its own.
    pub kind: Option<Kind>,
}

/// What an importer made of its input.
#[derive(Debug, Default, PartialEq)]
pub struct Imported {
    /// Fixture-runs, in the order of the input.
    pub runs: Vec<Value>,
    /// What did not map, or not as it was meant.
    pub unmapped: Vec<Unmapped>,
}

/// Something of the input that did not map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmapped {
    /// Where it stands, in the words of the input.
    pub place: String,
    /// What it is and what that means for the run.
    pub what: String,
}

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is not what the importer reads.
    #[error("this is not {expected}: {source}")]
    File {
        /// What the importer reads.
        expected: &'static str,
        /// What is wrong and where.
        source: serde_json::Error,
    },
    /// A line of the file with the answers is not what the importer reads.
    #[error("line {line} of the answers is not {expected}: {message}")]
    Answers {
        /// The line, from 1.
        line: usize,
        /// What the importer reads.
        expected: &'static str,
        /// What is wrong.
        message: String,
    },
    /// Answers were given to an importer that finds them in its file, or that needs them.
    #[error("importer `{importer}` reads the answers from its one file; leave the second out")]
    NoAnswersFile {
        /// The importer.
        importer: &'static str,
    },
}

impl Imported {
    fn unmapped(&mut self, place: impl Into<String>, what: impl Into<String>) {
        self.unmapped.push(Unmapped { place: place.into(), what: what.into() });
    }
}

/// A fixture-run under construction.
struct Draft<'a> {
    id: &'a str,
    category: Category,
    kind: Kind,
    query: Value,
    /// Where the fixture comes from: an extra key, kept in the file and not scored.
    source: Value,
    expected: Map<String, Value>,
    /// `actual`; `None` when the system gave no answer.
    actual: Option<Map<String, Value>>,
}

impl Draft<'_> {
    fn finish(self) -> Value {
        let mut run = json!({
            "contractVersion": "1",
            "fixture": {
                "id": self.id,
                "category": self.category,
                "kind": self.kind,
                "query": self.query,
                "source": self.source,
                "expected": self.expected,
            },
        });
        if let (Some(actual), Value::Object(members)) = (self.actual, &mut run) {
            members.insert("actual".to_owned(), Value::Object(actual));
        }
        run
    }
}

/// `actual` with this answer; without one when it is no scalar.
fn answered(answer: Option<&Value>) -> Map<String, Value> {
    let scalar =
        answer.filter(|answer| answer.is_string() || answer.is_number() || answer.is_boolean());
    scalar.map(|answer| ("answer".to_owned(), answer.clone())).into_iter().collect()
}

/// The longest line of a file with answers: 16 MiB.
const MAX_LINE: u64 = super::MAX_BYTES;

/// The objects of a file in JSON Lines; blank lines are passed over.
fn json_lines(
    file: &mut dyn BufRead,
    expected: &'static str,
) -> Result<Vec<Map<String, Value>>, ImportError> {
    let mut objects = Vec::new();
    for line in 1.. {
        let wrong = |message: String| ImportError::Answers { line, expected, message };
        let mut bytes = Vec::new();
        let read = (&mut *file)
            .take(MAX_LINE + 1)
            .read_until(b'\n', &mut bytes)
            .map_err(|error| wrong(error.to_string()))?;
        if read == 0 {
            break;
        }
        if bytes.len() as u64 > MAX_LINE {
            return Err(wrong(format!("longer than {MAX_LINE} bytes")));
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        if bytes.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        objects.push(serde_json::from_slice(bytes).map_err(|error| wrong(error.to_string()))?);
    }
    Ok(objects)
}
