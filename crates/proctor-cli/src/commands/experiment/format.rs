//! How a run is printed.

use proctor_model::run::RunReport;
use proctor_report::experiment as report;

use crate::context::Context;

/// The ways to print a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For programs: one JSON document.
    Json,
    /// For comments and summaries.
    Markdown,
    /// For build servers: JUnit XML, a suite for each trial.
    Junit,
}

/// How much a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    /// What did not pass, and figures.
    Problems,
    /// Every test of every trial.
    Tests,
}

impl Format {
    /// The report in this format. All but texts have every test anyway.
    pub(crate) fn render(self, run: &RunReport, shown: Shown, context: &Context) -> String {
        match self {
            Self::Text => {
                let styles = context.printer.styles();
                let tests = match shown {
                    Shown::Problems => String::new(),
                    Shown::Tests => report::tests_text(run, &styles),
                };
                tests + &report::run_text(run, &styles)
            }
            Self::Json => report::run_json(run),
            Self::Markdown => report::run_markdown(run),
            Self::Junit => report::run_junit(run),
        }
    }
}
