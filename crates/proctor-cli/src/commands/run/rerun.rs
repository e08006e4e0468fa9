//! `proctor run rerun`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::Selection;
use proctor_model::ExitCode;
use proctor_model::experiment::Variant;
use proctor_model::run::{PlannedTrial, RunKind, TrialRecord, TrialStatus};
use proctor_runner::experiment::{Left, Past, Play};
use proctor_store::runs::{RunWriter, StoredRun};

use super::find::find;
use super::kind::{Wish, allow};
use super::resume::{Again, same};
use crate::commands::experiment::engine::{Ready, Work, cap, create, play};
use crate::commands::experiment::run::{Origin, new_plan, new_trial};
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run rerun`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run rerun latest
  proctor run rerun latest --to 5 --max-cost 20
  proctor run rerun latest --tests
  proctor run rerun greetings-01J --tests --experiment edited.yaml

Alone, it runs the trials of a run that have no result (errors, and what was cancelled) again, as a
new run that names the old one. `--to N` adds trials to the run itself until each of its variants
has N with a result. `--tests` runs no agent: the tests of the experiment as it is now run over the
workspaces and the evidence that were kept, as a new run that names the old one.

Exit codes: as of `proctor experiment run`.")]
pub(crate) struct Args {
    /// The run, or a trial of it.
    #[arg(value_name = "ID")]
    id: String,
    /// Run tests again, and no agent.
    #[arg(long, conflicts_with_all = ["to", "max_cost"])]
    tests: bool,
    /// The experiment with the tests, instead of that of the run.
    #[arg(long, value_name = "FILE", requires = "tests")]
    experiment: Option<Utf8PathBuf>,
    /// Fill each variant up to so many trials with a result.
    #[arg(long, value_name = "N")]
    to: Option<NonZeroU32>,
    /// Taken for compatibility: everything runs on this machine.
    #[arg(long, hide = true)]
    local: bool,
    #[command(flatten)]
    again: Again,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let found = find(&args.id, context)?;
    let mut run = found.run;
    allow(&run.plan, if args.tests { Wish::Retest } else { Wish::Rerun })?;
    match (args.tests, args.to) {
        (true, _) => {
            if let Some(trial) = found.trial {
                run.plan.trials = vec![trial];
            }
            tests(args, &run, context)
        }
        (false, Some(to)) => fill(args, &run, to.get(), context),
        (false, None) => {
            if let Some(trial) = found.trial {
                run.plan.trials = vec![trial];
            }
            again(args, &run, context)
        }
    }
}

/// Runs what has no result once more, as a new run.
fn again(args: &Args, run: &StoredRun, context: &Context) -> Result<ExitCode, CommandError> {
    refuse_running(run)?;
    let has_result = |trial: &&PlannedTrial| {
        matches!(run.status(trial), Some(TrialStatus::Pass | TrialStatus::Fail))
    };
    let old: Vec<&PlannedTrial> =
        run.plan.trials.iter().filter(|trial| !has_result(trial)).collect();
    if old.is_empty() {
        context.printer.note("every trial has a result");
        return Ok(ExitCode::SUCCESS);
    }
    let Some(ready) = same(run, &old, context)? else { return Ok(ExitCode::USAGE) };
    let mut trials = Vec::new();
    for trial in old {
        let variant = variant_of(&ready.variants, trial)?;
        trials.push(new_trial(variant, trial.repeat_idx, trial.path.clone())?);
    }
    let mut options = run.plan.options.clone();
    options.max_cost_usd = args.again.max_cost.or(options.max_cost_usd);
    let cells = ready.cells(&options, &args.again.env, play(&options), context)?;
    let cap = cap(&options, None, &cells, context)?;
    let rerun_of = Some(run.plan.run_id.clone());
    let plan = new_plan(&ready, options, Origin { rerun_of, ..Origin::default() }, trials)?;
    let writer = create(&plan, &ready, context)?;
    let work = Work {
        ready: &ready,
        cells: &cells,
        plan: &plan,
        trials: plan.trials.iter().collect(),
        past: &[],
        writer: &writer,
        jobs: args.again.jobs,
        cap,
        store: None,
    };
    work.execute(args.again.format, context)
}

/// Adds trials to the run until each variant has enough with a result.
fn fill(
    args: &Args,
    run: &StoredRun,
    to: u32,
    context: &Context,
) -> Result<ExitCode, CommandError> {
    if run.plan.retest_of.is_some() {
        return Err(CommandError::usage("a retest has no agents: fill the run that it tests"));
    }
    let (writer, mut run) = RunWriter::resume(&run.folder).map_err(CommandError::usage)?;
    args.again.put_cap(&mut run.plan);
    let all: Vec<&PlannedTrial> = run.plan.trials.iter().collect();
    let Some(ready) = same(&run, &all, context)? else { return Ok(ExitCode::USAGE) };
    let options = &run.plan.options;
    let cells = ready.cells(options, &args.again.env, play(options), context)?;
    let cap = cap(options, Some(&run), &cells, context)?;
    let mut plan = run.plan.clone();
    let mut due: Vec<String> = run.unfinished().map(|trial| trial.id.clone()).collect();
    for variant in &ready.variants {
        let added = missing(&run, variant, to)?;
        due.extend(added.iter().map(|trial| trial.id.clone()));
        plan.trials.extend(added);
    }
    // Variant by variant, repetition by repetition.
    let mut order = BTreeMap::new();
    for trial in &run.plan.trials {
        let next = order.len();
        order.entry(trial.variant_id.clone()).or_insert(next);
    }
    plan.trials.sort_by_key(|trial| (order.get(&trial.variant_id).copied(), trial.repeat_idx));
    writer.replan(&plan).map_err(CommandError::usage)?;
    context.printer.note(&format!("run {}: {} trials to go", plan.run_id, due.len()));
    let work = Work {
        ready: &ready,
        cells: &cells,
        plan: &plan,
        trials: plan.trials.iter().filter(|trial| due.contains(&trial.id)).collect(),
        past: &[],
        writer: &writer,
        jobs: args.again.jobs,
        cap,
        store: None,
    };
    work.execute(args.again.format, context)
}

/// The trials that a variant lacks, beside those that are planned and not finished.
fn missing(run: &StoredRun, variant: &Variant, to: u32) -> Result<Vec<PlannedTrial>, CommandError> {
    let of: Vec<&PlannedTrial> =
        run.plan.trials.iter().filter(|trial| trial.variant_id == variant.id.as_str()).collect();
    let counts = of.iter().filter(|trial| run.status(trial) != Some(TrialStatus::Error)).count();
    let lacking = (to as usize).saturating_sub(counts);
    let first = of.iter().map(|trial| trial.repeat_idx + 1).max().unwrap_or(0);
    let Some(path) = of.first().map(|trial| trial.path.as_str()) else { return Ok(Vec::new()) };
    // `variants/NAME` or `variants/NAME/N`.
    let folder: Vec<&str> = path.split('/').take(2).collect();
    let folder = folder.join("/");
    let repeats = (first..).take(lacking);
    repeats.map(|repeat| new_trial(variant, repeat, format!("{folder}/{repeat}"))).collect()
}

/// Runs the tests again over what is kept, as a new run.
fn tests(args: &Args, run: &StoredRun, context: &Context) -> Result<ExitCode, CommandError> {
    refuse_running(run)?;
    let options = run.plan.options.clone();
    if run.plan.experiment_file.is_empty() && args.experiment.is_none() {
        let message = format!("run {} names no experiment whose tests could run", run.plan.run_id);
        return Err(CommandError::usage(message).hint("name one: `--experiment FILE`"));
    }
    let file = Utf8Path::new(&run.plan.experiment_file);
    let file = args.experiment.as_deref().unwrap_or(file);
    let ready = Ready::read(file, &options, &Selection::default(), context)?;
    let Some(mut ready) = ready else { return Ok(ExitCode::USAGE) };
    let mut trials = Vec::new();
    let mut past = Vec::new();
    for trial in &run.plan.trials {
        let Some(record) = run.record(trial).map_err(CommandError::usage)? else {
            context.printer.warning(&format!("{} is not finished and is left out", trial.id));
            continue;
        };
        let imported = run.plan.kind == RunKind::Imported;
        let Some(variant) = variant_for(&ready.variants, trial, &record, imported) else {
            let message = format!("{} is left out: {file} has no such variant", trial.id);
            context.printer.warning(&message);
            continue;
        };
        trials.push(new_trial(variant, trial.repeat_idx, trial.path.clone())?);
        past.push(Past { folder: run.trial_folder(trial), record, left: left(run) });
    }
    if trials.is_empty() {
        return Err(CommandError::usage("no trial of the run can be tested again"));
    }
    ready.variants.retain(|variant| trials.iter().any(|t| t.variant_id == variant.id.as_str()));
    // No agent works, so none is looked for.
    let cells = ready.cells(&options, &args.again.env, Play::Mock, context)?;
    let retest_of = Some(run.plan.run_id.clone());
    let plan = new_plan(&ready, options, Origin { retest_of, ..Origin::default() }, trials)?;
    let writer = create(&plan, &ready, context)?;
    let work = Work {
        ready: &ready,
        cells: &cells,
        plan: &plan,
        trials: plan.trials.iter().collect(),
        past: &past,
        writer: &writer,
        jobs: args.again.jobs,
        cap: None,
        store: None,
    };
    work.execute(args.again.format, context)
}

/// What is there of the workspaces of a run.
pub(super) fn left(run: &StoredRun) -> Left {
    if run.plan.kind != RunKind::Imported {
        return Left::Saved;
    }
    let given = run.folder.join(super::import::WORKSPACE);
    Left::Given(given.is_dir().then_some(given))
}

/// The variant with whose tests a trial is graded: its own; for a session from elsewhere the one that
/// agrees with it in most, since the experiment was not there when it was recorded.
fn variant_for<'a>(
    variants: &'a [Variant],
    trial: &PlannedTrial,
    record: &TrialRecord,
    imported: bool,
) -> Option<&'a Variant> {
    let own = variants.iter().find(|variant| variant.id.as_str() == trial.variant_id);
    if own.is_some() || !imported {
        return own;
    }
    let of = &record.coordinates;
    let agreement = |variant: &Variant| {
        let row = variant.row();
        let prompt = row.prompt == of.prompt_id;
        let agent = row.agent == of.agent;
        (prompt, agent, agent && row.model == of.model)
    };
    let best = variants.iter().map(agreement).max()?;
    let mut likely = variants.iter().filter(|variant| agreement(variant) == best);
    match (likely.next(), likely.next()) {
        // One that agrees in nothing will do when there is no other.
        (Some(variant), None) if best.0 || variants.len() == 1 => Some(variant),
        // Several prompts, one of which it is, have the tests of that prompt.
        (Some(variant), Some(_)) if best.0 => Some(variant),
        _ => None,
    }
}

fn variant_of<'a>(
    variants: &'a [Variant],
    trial: &PlannedTrial,
) -> Result<&'a Variant, CommandError> {
    let variant = variants.iter().find(|variant| variant.id.as_str() == trial.variant_id);
    variant.ok_or_else(|| CommandError::usage(format!("there is no variant {}", trial.variant_id)))
}

fn refuse_running(run: &StoredRun) -> Result<(), CommandError> {
    match run.worker {
        None => Ok(()),
        Some(_) => Err(CommandError::usage(format!("run {} is not over", run.plan.run_id))
            .hint("wait for it, or end it with `proctor run cancel`")),
    }
}
