//! `proctor eval calibrate-estimate`.

use proctor_grade::eval::{CalibrationFilter, calibrate};
use proctor_model::ExitCode;
use proctor_report::eval as report;

use super::common::{self, Place};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor eval calibrate-estimate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor eval calibrate-estimate
  proctor eval calibrate-estimate --model haiku --format json

Reads the recorded runs that your own key signed, and writes nothing. What it proposes is a table
to copy into the settings.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Only runs of this harness.
    #[arg(long, value_name = "ID")]
    harness: Option<String>,
    /// Only runs of this model.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Mark a group of fewer runs as of low confidence.
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_samples: u64,
    /// How to print the proposals.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let project = args.place.project(context)?;
    let results = args.place.load(&project, common::load_key(context).as_ref(), context)?;
    let filter = CalibrationFilter {
        harness: args.harness.as_deref(),
        model: args.model.as_deref(),
        min_samples: args.min_samples,
    };
    let records = results.records().map(|stored| (stored.record(), stored.is_believed()));
    let calibration = calibrate(records, &filter);
    let text = match args.format {
        Output::Text => report::calibration_text(&calibration, &context.printer.styles()),
        Output::Json => report::calibration_json(&calibration),
    };
    context.printer.data(&text)?;
    Ok(ExitCode::SUCCESS)
}
