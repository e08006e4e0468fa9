//! `proctor run resume`.

use std::num::NonZeroUsize;

use camino::Utf8Path;
use proctor_formats::experiment::Selection;
use proctor_model::ExitCode;
use proctor_model::run::{PlannedTrial, RunPlan};
use proctor_runner::experiment::{Past, Play};
use proctor_store::runs::{RunWriter, Runs, StoredRun};

use super::find::find_run;
use super::kind::{Wish, allow};
use super::rerun::left;
use crate::commands::experiment::engine::{Ready, Work, cap, dollars, play, summary, verdict};
use crate::commands::experiment::format::{Format, Shown};
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run resume`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run resume
  proctor run resume greetings-01J --env TOKEN
  proctor run resume latest --max-cost 40

Trials that are finished stay as they are; one that was under way begins anew. The experiment and
its sources must be what they were. Options and files with variables are those of the run; what was
given by `--env` is kept nowhere and must be given again. A cap of money counts all that the run has
cost, and what was set aside for agents that did not live to say it.

Exit codes: as of `proctor experiment run`.")]
pub(crate) struct Args {
    /// The run; the latest that is not finished unless given.
    #[arg(value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    again: Again,
}

/// What every command that goes on with a run is told.
#[derive(clap::Args)]
pub(super) struct Again {
    /// Set a variable: NAME=VALUE, or NAME to take it from the environment.
    #[arg(long = "env", value_name = "VARIABLE")]
    pub(super) env: Vec<String>,
    /// US dollars that the run may cost, in place of those of before; what it has cost counts.
    #[arg(long, value_name = "USD", value_parser = dollars)]
    pub(super) max_cost: Option<f64>,
    /// How many trials run side by side.
    #[arg(short, long, value_name = "N", default_value = "4")]
    pub(super) jobs: NonZeroUsize,
    /// How to print the results.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let run = match &args.id {
        Some(id) => find_run(id, context)?,
        None => latest_unfinished(context)?,
    };
    allow(&run.plan, Wish::Resume)?;
    let (writer, mut run) = RunWriter::resume(&run.folder).map_err(CommandError::usage)?;
    args.again.put_cap(&mut run.plan);
    let trials: Vec<&PlannedTrial> = run.unfinished().collect();
    if trials.is_empty() {
        context.printer.note("every trial is finished");
        let summary = summary(&run)?;
        context.printer.data(&args.again.format.render(&summary, Shown::Problems, context))?;
        return Ok(verdict(&run.plan, &summary));
    }
    let past = past(&run, &trials, context)?;
    let Some(ready) = same(&run, &trials, context)? else { return Ok(ExitCode::USAGE) };
    let options = &run.plan.options;
    // No agent works in a retest, so none is looked for.
    let play = if past.is_empty() { play(options) } else { Play::Mock };
    let cells = ready.cells(options, &args.again.env, play, context)?;
    let cap = cap(options, Some(&run), &cells, context)?;
    if args.again.max_cost.is_some() {
        writer.replan(&run.plan).map_err(CommandError::usage)?;
    }
    let (due, all) = (trials.len(), run.plan.trials.len());
    context.printer.note(&format!("run {}: {due} of {all} trials are left", run.plan.run_id));
    let work = Work {
        ready: &ready,
        cells: &cells,
        plan: &run.plan,
        trials,
        past: &past,
        writer: &writer,
        jobs: args.again.jobs,
        cap,
        store: None,
    };
    work.execute(args.again.format, context)
}

impl Again {
    /// Puts the cap in place of the one that the plan has.
    pub(super) fn put_cap(&self, plan: &mut RunPlan) {
        plan.options.max_cost_usd = self.max_cost.or(plan.options.max_cost_usd);
    }
}

/// For each trial of a retest the one whose tests it runs again; nothing for other runs.
fn past(
    run: &StoredRun,
    trials: &[&PlannedTrial],
    context: &Context,
) -> Result<Vec<Past>, CommandError> {
    let Some(original) = &run.plan.retest_of else { return Ok(Vec::new()) };
    let gone = |why: String| {
        CommandError::usage(format!("the run {original}, whose tests run again, {why}"))
    };
    let folder = Runs::of(&context.cwd).folder_of(original);
    let original = StoredRun::open(&folder).map_err(|error| gone(format!("is gone: {error}")))?;
    let one = |trial: &&PlannedTrial| {
        let lost = || gone(format!("no longer has what {} needs", trial.id));
        let old = original.plan.trials.iter().find(|old| old.path == trial.path);
        let old = old.ok_or_else(lost)?;
        let record = original.record(old).map_err(CommandError::usage)?.ok_or_else(lost)?;
        Ok(Past { folder: original.trial_folder(old), record, left: left(&original) })
    };
    trials.iter().map(one).collect()
}

fn latest_unfinished(context: &Context) -> Result<StoredRun, CommandError> {
    let listed = Runs::of(&context.cwd).list().map_err(CommandError::usage)?;
    let runs = listed.into_iter().filter_map(|listed| listed.run.ok());
    let is_open = |run: &StoredRun| {
        run.worker.is_none() && run.plan.kind.is_experiment() && run.unfinished().next().is_some()
    };
    let run = runs.into_iter().find(is_open);
    let run = run.ok_or_else(|| {
        CommandError::usage("every run of an experiment here is finished or running")
    })?;
    context.printer.note(&format!("the latest that is not finished is {}", run.plan.run_id));
    Ok(run)
}

/// The experiment of a run, which must be what it was; `None` when its errors were told.
pub(super) fn same(
    run: &StoredRun,
    trials: &[&PlannedTrial],
    context: &Context,
) -> Result<Option<Ready>, CommandError> {
    let changed = |message: String| {
        CommandError::usage(message).hint("`proctor experiment run` makes a new run of it")
    };
    let file = Utf8Path::new(&run.plan.experiment_file);
    let mut variants: Vec<String> = trials.iter().map(|trial| trial.variant_id.clone()).collect();
    variants.dedup();
    let digest = proctor_model::Digest::of(&fs_err::read(file)?);
    if format!("sha256:{digest}") != run.plan.experiment_digest {
        return Err(changed(format!("{file} has changed since the run was made")));
    }
    let selection = Selection { variants, ..Selection::default() };
    let ready = Ready::read(file, &run.plan.options, &selection, context)?;
    let Some(ready) = ready else { return Ok(None) };
    let bound = ready.bound();
    let mut known = run.plan.options.bound.iter();
    if let Some((name, _)) = known.find(|(name, digest)| bound.get(*name) != Some(digest)) {
        return Err(changed(format!("what `--file` binds to {name} has changed since then")));
    }
    for variant in &ready.variants {
        let is_same = |trial: &&&PlannedTrial| {
            trial.variant_id != variant.id.as_str() || trial.fingerprint == variant.fingerprint
        };
        if !trials.iter().all(|trial| is_same(&trial)) {
            let files = variant.staged_files().chain(variant.tests.iter().flat_map(|t| &t.files));
            let mut names: Vec<String> = files.map(|file| format!("`{}`", file.name)).collect();
            names.dedup();
            return Err(changed(format!(
                "a source of variant {} has changed since the run was made: one of {}",
                variant.id,
                if names.is_empty() { "its scripts".to_owned() } else { names.join(", ") }
            )));
        }
    }
    Ok(Some(ready))
}
