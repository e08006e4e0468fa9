//! `proctor experiment query ID --group-by KEY --metric M`.

use clap::ValueEnum;
use proctor_grade::measure::{Filter, GroupKey, Metric, metrics};
use proctor_model::ExitCode;
use proctor_model::measure::MetricsReport;
use proctor_report::measure as report;

use crate::context::Context;
use crate::error::CommandError;
use crate::trials::trials;

/// What is measured when nothing is asked for.
const USUAL: [Metric; 4] =
    [Metric::PassRate, Metric::TestPassRate, Metric::Cost, Metric::WallClock];

/// What is measured, and how it is printed.
#[derive(Debug, clap::Args)]
pub(super) struct Measuring {
    /// What trials are grouped by.
    #[arg(long, value_name = "KEY", value_delimiter = ',')]
    group_by: Vec<GroupKey>,
    /// What is measured of each group.
    #[arg(long, value_name = "METRIC", value_delimiter = ',')]
    metric: Vec<Metric>,
    /// Only trials with this value; several values of one key add up, several keys narrow.
    #[arg(long = "where", value_name = "KEY=VALUE")]
    filters: Vec<Filter>,
    /// How to print the figures.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The most groups; a warning says when there are more.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: one JSON document.
    Json,
    /// For comments and summaries.
    Markdown,
    /// For spreadsheets: a line a group and metric.
    Csv,
}

impl Measuring {
    /// Whether one of its options is there.
    pub(super) fn is_asked_for(&self) -> bool {
        !self.group_by.is_empty() || !self.metric.is_empty() || !self.filters.is_empty()
    }

    /// Measures the trials that `id` means.
    pub(super) fn measure(&self, id: &str, context: &Context) -> Result<ExitCode, CommandError> {
        let mut pool = trials(id, context)?;
        pool.narrow(&self.filters).map_err(CommandError::usage)?;
        let wanted = if self.metric.is_empty() { &USUAL[..] } else { &self.metric };
        let mut found = metrics(id, pool, &self.filters, &self.group_by, wanted);
        let groups = found.groups.len();
        found.groups.truncate(self.limit);
        context.printer.data(&self.format.render(&found, context))?;
        if groups > self.limit {
            let limit = self.limit;
            context.printer.warning(&format!(
                "{groups} groups, of which the first {limit} are printed; `--limit {groups}` prints all"
            ));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Format {
    fn render(self, found: &MetricsReport, context: &Context) -> String {
        match self {
            Self::Text => report::metrics_text(found, &context.printer.styles()),
            Self::Json => report::metrics_json(found),
            Self::Markdown => report::metrics_markdown(found),
            Self::Csv => report::metrics_csv(found),
        }
    }
}
