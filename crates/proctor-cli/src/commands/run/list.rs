//! `proctor run list`.

use proctor_model::ExitCode;
use proctor_report::experiment::{RunRow, runs_json, runs_text};
use proctor_store::runs::{Listed, Runs, StoredRun, size_of};

use super::kind::KindName;
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run list`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run list
  proctor run list --experiment greetings --format json

Exit codes: 0; 2 the runs cannot be read.")]
pub(crate) struct Args {
    /// Only runs of this experiment.
    #[arg(long, value_name = "ID")]
    experiment: Option<String>,
    /// Only runs of this kind.
    #[arg(long, value_name = "KIND")]
    kind: Option<KindName>,
    /// How to print the list.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let listed = Runs::of(&context.cwd).list().map_err(CommandError::usage)?;
    let rows: Vec<RunRow> = listed
        .into_iter()
        .map(row)
        .filter(|row| args.experiment.is_none() || row.experiment_id == args.experiment)
        .filter(|row| args.kind.is_none_or(|kind| row.kind == Some(kind.kind())))
        .collect();
    let text = match args.format {
        Output::Text => runs_text(&rows),
        Output::Json => runs_json(&rows),
    };
    context.printer.data(&text)?;
    if rows.is_empty() {
        context.printer.note(
            "no runs here; `proctor experiment run`, `conformance test` and `eval run` make them",
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn row(listed: Listed) -> RunRow {
    match listed.run {
        Ok(run) => read(&run),
        Err(problem) => RunRow { run_id: listed.name, problem: Some(problem), ..RunRow::default() },
    }
}

fn read(run: &StoredRun) -> RunRow {
    let mut row = RunRow {
        run_id: run.plan.run_id.clone(),
        kind: Some(run.plan.kind),
        experiment_id: Some(run.plan.experiment_id.clone()),
        created_at: Some(run.plan.created_at),
        retest_of: run.plan.retest_of.clone(),
        rerun_of: run.plan.rerun_of.clone(),
        planned: run.plan.trials.len() as u64,
        worker: run.worker,
        bytes: size_of(&run.folder).ok(),
        ..RunRow::default()
    };
    run.plan.trials.iter().filter_map(|trial| run.status(trial)).for_each(|status| row.add(status));
    row
}
