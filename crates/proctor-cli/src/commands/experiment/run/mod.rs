//! `proctor experiment run`.

mod args;

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::ExitCode;
use proctor_model::experiment::{Variant, directory_names};
use proctor_model::run::{PLAN_VERSION, PlannedTrial, RunKind, RunOptions, RunPlan};
use proctor_report::experiment as report;
use proctor_store::runs::{run_id, trial_id};

pub(crate) use self::args::Args;
use super::engine::{Kind, Ready, Work, cap, create, play};
use super::format::Format;
use crate::context::Context;
use crate::error::CommandError;

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    if args.image.is_some() && args.sandbox != Kind::Container {
        return Err(CommandError::usage("`--image` belongs to `--sandbox container`"));
    }
    let options = options(args);
    let server = args.store.server(context)?;
    let ready = Ready::read(&args.file, &options, &args.narrow.selection(), context)?;
    let Some(ready) = ready else { return Ok(ExitCode::USAGE) };
    if !args.allow_unsandboxed {
        ready.refuse_unsandboxed(&options)?;
    }
    let cells = ready.cells(&options, &args.env, play(&options), context)?;
    let cap = cap(&options, None, &cells, context)?;
    if args.dry_run {
        return dry_run(args, &ready.variants, context);
    }
    let trials = planned(&ready.variants, args.repeat.get())?;
    let plan = new_plan(&ready, options, Origin::default(), trials)?;
    let writer = create(&plan, &ready, context)?;
    let work = Work {
        ready: &ready,
        cells: &cells,
        plan: &plan,
        trials: plan.trials.iter().collect(),
        past: &[],
        writer: &writer,
        jobs: args.jobs,
        cap,
        store: server.as_ref(),
    };
    work.execute(args.format, context)
}

fn options(args: &Args) -> RunOptions {
    RunOptions {
        mock: args.mock,
        check_only: args.check_only,
        sandbox: args.sandbox.as_str().to_owned(),
        image: args.image.clone(),
        network: args.network.as_str().to_owned(),
        test_timeout_seconds: args.test_timeout.get(),
        files: args.files.clone(),
        bound: BTreeMap::new(),
        env_files: args.env_files.iter().map(ToString::to_string).collect(),
        max_cost_usd: args.max_cost,
    }
}

fn dry_run(args: &Args, variants: &[Variant], context: &Context) -> Result<ExitCode, CommandError> {
    let rows: Vec<_> = variants.iter().map(Variant::row).collect();
    let text = match args.format {
        Format::Json => report::variants_json(&rows),
        Format::Text | Format::Markdown | Format::Junit => report::variants_text(&rows),
    };
    context.printer.data(&text)?;
    let trials = variants.len() as u64 * u64::from(args.repeat.get());
    context.printer.note(&format!("{trials} trials would run; nothing was written"));
    Ok(ExitCode::SUCCESS)
}

/// The trials, variant by variant.
pub(crate) fn planned(
    variants: &[Variant],
    repeat: u32,
) -> Result<Vec<PlannedTrial>, CommandError> {
    let folders = directory_names(variants.iter().map(|variant| &variant.id));
    let mut trials = Vec::new();
    for (variant, folder) in variants.iter().zip(folders) {
        for repeat_idx in 0..repeat {
            let path = match repeat {
                1 => format!("variants/{folder}"),
                _ => format!("variants/{folder}/{repeat_idx}"),
            };
            trials.push(new_trial(variant, repeat_idx, path)?);
        }
    }
    Ok(trials)
}

/// One more trial of a variant.
pub(crate) fn new_trial(
    variant: &Variant,
    repeat_idx: u32,
    path: String,
) -> Result<PlannedTrial, CommandError> {
    let variant_id = variant.id.to_string();
    Ok(PlannedTrial {
        id: trial_id(&variant_id).map_err(CommandError::usage)?,
        variant_id,
        fingerprint: variant.fingerprint.clone(),
        repeat_idx,
        path,
    })
}

/// The run that a run comes from.
#[derive(Debug, Default)]
pub(crate) struct Origin {
    /// Its tests run again.
    pub(crate) retest_of: Option<String>,
    /// Its trials without a result do.
    pub(crate) rerun_of: Option<String>,
}

/// A run that is made now.
pub(crate) fn new_plan(
    ready: &Ready,
    options: RunOptions,
    Origin { retest_of, rerun_of }: Origin,
    trials: Vec<PlannedTrial>,
) -> Result<RunPlan, CommandError> {
    Ok(RunPlan {
        schema_version: PLAN_VERSION,
        run_id: run_id(ready.experiment.id.as_str()).map_err(CommandError::usage)?,
        kind: RunKind::Experiment,
        experiment_id: ready.experiment.id.to_string(),
        created_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
        proctor_version: env!("CARGO_PKG_VERSION").to_owned(),
        retest_of,
        rerun_of,
        experiment_file: ready.file.to_string(),
        experiment_digest: ready.digest(),
        options: RunOptions { bound: ready.bound(), ..options },
        trials,
    })
}
