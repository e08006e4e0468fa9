//! Runs in the formats of others: one module a format, one line in [`formats`].

mod atif;
mod inspect;
mod jsonl;
mod lost;
mod otlp;
mod tables;

use std::io::{self, Write};

use camino::Utf8Path;
use proctor_redact::Redactor;

use crate::run::Run;

pub use lost::Lost;

/// A format that a run can be written in.
pub struct Format {
    /// The name by which people ask for it.
    pub name: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// How it is written.
    pub writer: Writer,
    /// What it cannot hold, whatever the run: for the documentation.
    pub lacks: &'static str,
}

/// How a format is written.
pub enum Writer {
    /// As one text.
    Text {
        /// Writes it.
        write: fn(&Run, &Redactor, &mut dyn Write) -> Result<Lost, ExportError>,
    },
    /// As one document for each part of the run: a trial, or trials that belong together.
    Documents {
        /// The names of the documents, with their endings; never the same one twice.
        names: fn(&Run) -> Vec<String>,
        /// Writes the one with this place among the names.
        write: fn(&Run, usize, &Redactor, &mut dyn Write) -> Result<Lost, ExportError>,
        /// Whether it is text.
        is_text: bool,
    },
    /// As files in a folder that is there and empty.
    Folder {
        /// Writes them.
        write: fn(&Run, &Redactor, &Utf8Path) -> Result<Lost, ExportError>,
    },
}

/// Why a run cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The run cannot be read, or what is written cannot be written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A Parquet file cannot be written.
    #[error(transparent)]
    Parquet(#[from] proctor_query::parquet::ParquetError),
    /// An archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Zip(#[from] zip::result::ZipError),
    /// Something has no JSON.
    #[error("cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The name of a document of a trial: the last parts of its folder.
fn document_name(trial: &crate::run::Trial, ending: &str) -> String {
    let path = trial.planned.path.strip_prefix("variants/").unwrap_or(&trial.planned.path);
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = path.chars().map(plain).collect();
    format!("{}.{ending}", name.trim_start_matches('.'))
}

/// Every format, in the order in which they are listed to people.
pub fn formats() -> &'static [Format] {
    const FORMATS: &[Format] =
        &[jsonl::FORMAT, tables::FORMAT, inspect::FORMAT, atif::FORMAT, otlp::FORMAT];
    FORMATS
}
