//! Inputs in portions that are worth a worker's while, each small however large the input is.

use std::borrow::Cow;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use proctor_formats::fixture_run::{self, MAX_BYTES};
use proctor_model::recorded::run::Violation;

use super::inputs::{Entry, What};

/// So many bytes make a portion.
const PORTION: usize = 256 * 1024;

/// So many files make a portion, however small they are.
const FILES: usize = 64;

/// A portion of work.
pub(super) enum Batch {
    /// Files that the worker reads.
    Files(Vec<(String, PathBuf)>),
    /// A text that was read already, or why it was not.
    Text(String, Result<Vec<u8>, Violation>),
    /// Whole lines of a file, the first of them with this number, counted from 1.
    Lines(Arc<str>, u64, Vec<u8>),
}

/// One run and where it stands.
pub(super) struct Source<'b> {
    name: Cow<'b, str>,
    line: Option<u64>,
    pub(super) bytes: Result<Cow<'b, [u8]>, Violation>,
}

impl Source<'_> {
    /// `file`, or `file:line`.
    pub(super) fn label(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.name),
            None => self.name.to_string(),
        }
    }
}

impl Batch {
    /// The runs, read where that was left to do. Blank lines are none.
    pub(super) fn sources(&self) -> Vec<Source<'_>> {
        match self {
            Self::Files(files) => files
                .iter()
                .map(|(label, path)| Source {
                    name: label.into(),
                    line: None,
                    bytes: fixture_run::read(path).map(Cow::Owned),
                })
                .collect(),
            Self::Text(label, text) => {
                let bytes = text.as_deref().map(Cow::Borrowed).map_err(Clone::clone);
                vec![Source { name: label.into(), line: None, bytes }]
            }
            Self::Lines(label, first, text) => text
                .split(|byte| *byte == b'\n')
                .zip(*first..)
                .filter(|(line, _)| !line.trim_ascii().is_empty())
                .map(|(line, number)| Source {
                    name: label.as_ref().into(),
                    line: Some(number),
                    bytes: Ok(line.into()),
                })
                .collect(),
        }
    }
}

/// Gives every entry to `send`, in order, until that says no.
pub(super) fn feed(entries: Vec<Entry>, stdin: &mut dyn Read, send: &mut dyn FnMut(Batch) -> bool) {
    let mut files = Files::default();
    for Entry { label, what } in entries {
        let go_on = match what {
            What::File(path, length) => {
                files.paths.push((label, path));
                files.bytes += length;
                !files.are_enough() || files.send(send)
            }
            What::Lines(path) => files.send(send) && lines_of(&label, &path, send),
            What::Stdin => files.send(send) && send(Batch::Text(label, whole(stdin))),
            What::Fault(fault) => files.send(send) && send(Batch::Text(label, Err(fault))),
        };
        if !go_on {
            return;
        }
    }
    files.send(send);
}

/// Files that wait for company.
#[derive(Default)]
struct Files {
    paths: Vec<(String, PathBuf)>,
    bytes: u64,
}

impl Files {
    fn are_enough(&self) -> bool {
        self.paths.len() >= FILES || self.bytes >= PORTION as u64
    }

    /// Sends them, if there are any.
    fn send(&mut self, send: &mut dyn FnMut(Batch) -> bool) -> bool {
        let Self { paths, .. } = std::mem::take(self);
        paths.is_empty() || send(Batch::Files(paths))
    }
}

/// Standard input, at most one byte more than a run may have.
fn whole(stdin: &mut dyn Read) -> Result<Vec<u8>, Violation> {
    let mut bytes = Vec::new();
    match stdin.take(MAX_BYTES + 1).read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(Violation::new("", format!("cannot be read: {error}"))),
    }
}

fn lines_of(label: &str, path: &Path, send: &mut dyn FnMut(Batch) -> bool) -> bool {
    match fixture_run::open(path) {
        Ok(file) => Lines::new(label, file).feed(send),
        Err(fault) => send(Batch::Text(label.to_owned(), Err(fault))),
    }
}

/// A file that is read in portions of whole lines.
struct Lines<R> {
    label: Arc<str>,
    file: R,
    /// The number of the line that comes next.
    line: u64,
    /// The line of which the end has not been seen.
    rest: Vec<u8>,
    /// How long that line is, once it is too long to be kept.
    too_long: Option<u64>,
    /// Whether there was anything but white space.
    any: bool,
}

impl Lines<File> {
    fn new(label: &str, file: File) -> Self {
        Self { label: label.into(), file, line: 1, rest: Vec::new(), too_long: None, any: false }
    }
}

impl<R: Read> Lines<R> {
    fn feed(mut self, send: &mut dyn FnMut(Batch) -> bool) -> bool {
        loop {
            let start = self.rest.len();
            let mut portion = std::mem::take(&mut self.rest);
            portion.reserve(PORTION);
            let read = (&mut self.file).take(PORTION as u64).read_to_end(&mut portion);
            let end = match read {
                Ok(count) => count == 0,
                Err(error) => {
                    let fault = Violation::new("", format!("cannot be read: {error}"));
                    return send(Batch::Text(format!("{}:{}", self.label, self.line), Err(fault)));
                }
            };
            if !self.portion(portion, start, end, send) {
                return false;
            }
            if end {
                // A file that lost all its runs must not leave a set that passes without them.
                let message = "the file is empty; expected a fixture-run a line";
                let label = || self.label.to_string();
                return self.any || send(Batch::Text(label(), Err(Violation::new("", message))));
            }
        }
    }

    /// Sends the whole lines of a portion of which the bytes from `fresh` on are new.
    fn portion(
        &mut self,
        mut portion: Vec<u8>,
        fresh: usize,
        end: bool,
        send: &mut dyn FnMut(Batch) -> bool,
    ) -> bool {
        if let Some(length) = self.too_long {
            let first = memchr::memchr(b'\n', &portion);
            let length = length + first.unwrap_or(portion.len()) as u64;
            if first.is_none() && !end {
                self.too_long = Some(length);
                return true;
            }
            self.too_long = None;
            if !self.send_too_long(length, send) {
                return false;
            }
            portion.drain(..first.map_or(portion.len(), |at| at + 1));
        }
        let last = portion.get(fresh..).and_then(|new| memchr::memrchr(b'\n', new));
        let whole = match last {
            _ if end => portion.len(),
            Some(at) => fresh + at + 1,
            None => 0,
        };
        self.rest = portion.split_off(whole);
        if self.rest.len() as u64 > MAX_BYTES {
            self.too_long = Some(self.rest.len() as u64);
            self.rest = Vec::new();
        }
        if portion.is_empty() {
            return true;
        }
        self.any = self.any || !portion.trim_ascii_start().is_empty();
        let first = self.line;
        self.line += memchr::memchr_iter(b'\n', &portion).count() as u64;
        send(Batch::Lines(Arc::clone(&self.label), first, portion))
    }

    fn send_too_long(&mut self, length: u64, send: &mut dyn FnMut(Batch) -> bool) -> bool {
        let message = format!("line is {length} bytes long; the limit is {MAX_BYTES} bytes");
        let label = format!("{}:{}", self.label, self.line);
        self.line += 1;
        self.any = true;
        send(Batch::Text(label, Err(Violation::new("", message))))
    }
}
