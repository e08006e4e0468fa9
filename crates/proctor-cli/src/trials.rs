//! The finished trials that a command is about.

use std::fs::File;
use std::io::Read as _;

use camino::Utf8Path;
use proctor_grade::measure::Pool;
use proctor_model::nearest;
use proctor_model::run::{RUN_REPORT_VERSION, RunReport};
use proctor_store::runs::{Runs, StoredRun};

use crate::commands::run::find::find;
use crate::context::Context;
use crate::error::CommandError;

/// The longest report that is read.
const MAX_BYTES: u64 = 1 << 30;

/// The trials that `id` means: of all runs of the experiment with this id, of a run, or one trial.
pub(crate) fn trials(id: &str, context: &Context) -> Result<Pool, CommandError> {
    let mut runs = Vec::new();
    let mut experiments = Vec::new();
    for listed in Runs::of(&context.cwd).list().map_err(CommandError::usage)? {
        match listed.run {
            Ok(run) if run.plan.experiment_id == id => runs.push(run),
            Ok(run) => experiments.push(run.plan.experiment_id),
            // Whether it is one of the experiment cannot be told.
            Err(problem) => context.printer.warning(&format!("{}: {problem}", listed.name)),
        }
    }
    let pool = if runs.is_empty() {
        let near = nearest(id, experiments.iter().map(String::as_str)).map(str::to_owned);
        let found = find(id, context).map_err(|error| match near {
            Some(near) => error.hint(format!("there are runs of an experiment `{near}`")),
            None => error,
        })?;
        let mut run = found.run;
        if let Some(trial) = found.trial {
            run.plan.trials = vec![trial];
        }
        note_unfinished(&run, context);
        let records = run.records().map_err(CommandError::usage)?;
        Pool::of_run(&run.plan, records)
    } else {
        let mut read = Vec::new();
        for run in runs.into_iter().rev() {
            note_unfinished(&run, context);
            let records = run.records().map_err(CommandError::usage)?;
            read.push((run.plan, records));
        }
        Pool::of_experiment(read)
    };
    if pool.trials.is_empty() {
        return Err(CommandError::usage(format!("no trial of `{id}` is finished")));
    }
    Ok(pool)
}

/// The same, or the trials of a file that `proctor run view --format json` wrote.
pub(crate) fn trials_or_file(id: &str, context: &Context) -> Result<Pool, CommandError> {
    let is_file = Utf8Path::new(id).extension() == Some("json") || id.contains('/');
    if is_file { from_file(Utf8Path::new(id), context) } else { trials(id, context) }
}

fn from_file(path: &Utf8Path, context: &Context) -> Result<Pool, CommandError> {
    let wrong = |what: String| {
        CommandError::usage(format!("{path} {what}"))
            .hint("`proctor run view RUN --format json > FILE` writes such a file")
    };
    let mut text = Vec::new();
    let file = File::open(context.cwd.join(path));
    let read = file.and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    read.map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let report: RunReport = serde_json::from_slice(&text)
        .map_err(|error| wrong(format!("is no report of a run: {error}")))?;
    if report.schema_version != RUN_REPORT_VERSION {
        let version = report.schema_version;
        return Err(wrong(format!(
            "has schema_version {version}, which this version does not know"
        )));
    }
    if report.trials.is_empty() {
        return Err(wrong("has no finished trial".to_owned()));
    }
    if report.finished < report.planned {
        let (finished, planned) = (report.finished, report.planned);
        context.printer.warning(&format!("{path}: {finished} of {planned} trials were finished"));
    }
    Ok(Pool::of_records(&report.run_id, report.trials))
}

/// Says when a run is not all there.
fn note_unfinished(run: &StoredRun, context: &Context) {
    let (id, missing) = (&run.plan.run_id, run.unfinished().count());
    if missing > 0 {
        let planned = run.plan.trials.len();
        let running = if run.worker.is_some() { "; it is still running" } else { "" };
        let message = format!("run {id}: {missing} of {planned} trials are not finished{running}");
        context.printer.warning(&message);
    }
}
