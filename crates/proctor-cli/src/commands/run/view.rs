//! `proctor run view`.

use proctor_model::ExitCode;

use super::find::find;
use crate::commands::experiment::engine::{summary, verdict};
use crate::commands::experiment::format::{Format, Shown};
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run view`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run view
  proctor run view greetings-01J --tests
  proctor run view latest --format junit > results.xml

An id is that of a run or of a trial, or its beginning when nothing else begins so. Everything is
made of what is kept of each trial.

Exit codes: 0 every trial passed; 1 one failed or has no result; 2 there is no such run.")]
pub(crate) struct Args {
    /// The run or the trial.
    #[arg(value_name = "ID", default_value = "latest")]
    id: String,
    /// Every test and every check of every trial.
    #[arg(long)]
    tests: bool,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let found = find(&args.id, context)?;
    let mut run = found.run;
    if let Some(trial) = found.trial {
        run.plan.trials = vec![trial];
    }
    let summary = summary(&run)?;
    let shown = if args.tests { Shown::Tests } else { Shown::Problems };
    context.printer.data(&args.format.render(&summary, shown, context))?;
    if let Some(original) = &run.plan.retest_of {
        context.printer.note(&format!("its agents worked in run {original}"));
    }
    if let Some(original) = &run.plan.rerun_of {
        context.printer.note(&format!("it runs again what has no result in run {original}"));
    }
    if run.worker.is_some() {
        context.printer.note("it is still running");
    }
    Ok(verdict(&run.plan, &summary))
}
