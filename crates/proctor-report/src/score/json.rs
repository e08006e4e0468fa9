//! JSON: two spaces a level, keys in the order of the model, only mandatory escapes.

use std::io::{self, Write};

use proctor_model::recorded::report::{RunReport, SetReport, Summary};
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value, json};

/// How many bytes [`run`] puts between runs: a comma.
pub(super) const SEPARATOR: u64 = 1;

/// Where the runs of a set stand.
const RUN_DEPTH: usize = 2;

/// A run alone as a whole document, or as an element behind another one.
pub(super) fn run(report: &RunReport<'_>, single: bool, out: &mut Vec<u8>) {
    if single {
        write(report, 0, out);
        out.push(b'\n');
    } else {
        out.extend_from_slice(b",\n    ");
        write(report, RUN_DEPTH, out);
    }
}

/// Everything of a set up to its first run.
pub(super) fn head(summary: &Summary) -> String {
    let mut out = Vec::new();
    write(summary, 0, &mut out);
    let text = String::from_utf8(out).unwrap_or_default();
    format!("{},\n  \"runs\": [", text.strip_suffix("\n}").unwrap_or(&text))
}

/// Everything of a set after its last run.
pub(super) fn foot(summary: &Summary) -> String {
    let close = if summary.counts.total() == 0 { "]" } else { "\n  ]" };
    format!("{close}\n}}\n")
}

/// JSON Schema (draft 2020-12) of the report: of one run, or of a set.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let alone = generator.subschema_for::<RunReport<'_>>().to_value();
    let set = generator.subschema_for::<SetReport<'_>>().to_value();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Report of proctor score",
        "description": "The report of one run that was scored by itself, or of a set of runs.",
        "anyOf": [alone, set],
        "$defs": generator.definitions(),
    })
}

fn write(value: &impl Serialize, depth: usize, out: &mut Vec<u8>) {
    let mut serializer = Serializer::with_formatter(out, Indented { depth, has_value: false });
    // Fails for keys that are no strings and for writers that fail; there are neither.
    value.serialize(&mut serializer).expect("a report is always JSON");
}

/// As `serde_json::ser::PrettyFormatter`, which cannot begin inside another document.
struct Indented {
    depth: usize,
    has_value: bool,
}

impl Indented {
    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        const SPACES: &[u8; 64] = &[b' '; 64];
        writer.write_all(b"\n")?;
        let mut left = 2 * self.depth;
        while left > 0 {
            let some = left.min(SPACES.len());
            writer.write_all(&SPACES[..some])?;
            left -= some;
        }
        Ok(())
    }

    fn open<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn close<W: Write + ?Sized>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(writer)?;
        }
        self.has_value = true;
        writer.write_all(bracket)
    }

    fn element<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.has_value = true;
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }
}

impl Formatter for Indented {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.element(w, first)
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.element(w, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
