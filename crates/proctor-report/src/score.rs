//! The report of `proctor score`, in four formats.
//!
//! A report is a head, the runs and a foot. The runs are rendered one by one and far away from
//! each other, so that a report of any length needs no memory; head and foot are rendered once all
//! of them are known.

mod json;
mod junit;
mod markdown;
mod outcome;
mod text;
mod words;

use proctor_model::recorded::report::{RunReport, Summary};

pub use json::schema;

use crate::Styles;

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For programs.
    Json,
    /// For people.
    Text,
    /// For build servers.
    Junit,
    /// For comments and summaries.
    Markdown,
}

/// Writes reports.
#[derive(Debug, Clone, Copy)]
pub struct Renderer {
    /// The format.
    pub format: Format,
    /// Whether the report is of one run alone.
    pub single: bool,
    /// The styles of [`Format::Text`].
    pub styles: Styles,
}

impl Renderer {
    /// Appends one run. Of the runs of a report, joined in their order, the first
    /// [`Renderer::separator`] bytes do not count.
    pub fn run(&self, report: &RunReport<'_>, out: &mut Vec<u8>) {
        match self.format {
            Format::Json => json::run(report, self.single, out),
            Format::Text => text::run(report, self.single, &self.styles, out),
            Format::Junit => junit::run(report, out),
            Format::Markdown => markdown::run(report, out),
        }
    }

    /// How many bytes separate a run from the one before it.
    pub fn separator(&self) -> u64 {
        match self.format {
            Format::Json if !self.single => json::SEPARATOR,
            _ => 0,
        }
    }

    /// What stands before the runs.
    pub fn head(&self, summary: &Summary) -> String {
        match self.format {
            Format::Json if !self.single => json::head(summary),
            Format::Json | Format::Text => String::new(),
            Format::Junit => junit::head(summary),
            Format::Markdown => markdown::head(summary),
        }
    }

    /// What stands after the runs.
    pub fn foot(&self, summary: &Summary) -> String {
        match self.format {
            Format::Json if !self.single => json::foot(summary),
            Format::Text if !self.single => text::foot(summary, &self.styles),
            Format::Junit => junit::foot(),
            Format::Json | Format::Text | Format::Markdown => String::new(),
        }
    }
}

#[cfg(test)]
mod tests;
