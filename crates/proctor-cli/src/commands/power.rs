//! `proctor power`.

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::{self, Purpose};
use proctor_grade::measure::{PowerPlan, power};
use proctor_grade::stats::MOST_TRIALS;
use proctor_model::ExitCode;
use proctor_model::measure::PowerReport;
use proctor_report::measure as report;

use super::compare::share;
use crate::args::Output;
use crate::commands::experiment::common;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor power`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor power experiment.yaml --repeat 5
  proctor power experiment.yaml --repeat 5 --rate 0.7 --effect 0.1
  proctor power --n 40 --margin 0.05
  proctor power --n 20 --rate 0.95 --gate 0.9

Says, before anything is spent, which change of a pass rate so many trials can show, and how many an
effect needs. A FILE says how many prompts there are, and how many variants are compared: each
prompt of two variants, `--repeat` times, is a pair.

The gate is on a rate: the lower end of its interval of 95 % must reach it. The margin is that of
`proctor compare`.

Exit codes: 0; 1 so few trials cannot come to a verdict, or cannot pass the gate or show the margin;
2 wrong usage, or the experiment is wrong.")]
pub(crate) struct Args {
    /// An experiment.
    #[arg(value_name = "FILE", required_unless_present = "n", conflicts_with = "n")]
    file: Option<Utf8PathBuf>,
    /// How many trials each side has.
    #[arg(long, value_name = "N")]
    n: Option<NonZeroU64>,
    /// How many trials of each variant you mean to run.
    #[arg(long, value_name = "N", default_value = "1", conflicts_with = "n")]
    repeat: NonZeroU64,
    /// How many sides are held against the first; of a FILE as many as it has.
    #[arg(long, value_name = "N")]
    comparisons: Option<NonZeroU64>,
    /// The pass rate that you expect of the first side.
    #[arg(long, value_name = "SHARE", default_value = "0.5", value_parser = share)]
    rate: f64,
    /// A change of the pass rate that you want to see, as a share: says how many trials that takes.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    effect: Option<f64>,
    /// A pass rate that must be reached.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    gate: Option<f64>,
    /// How much lower a pass rate may be.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<f64>,
    /// The level of all comparisons together.
    #[arg(long, value_name = "P", default_value = "0.05", value_parser = share)]
    level: f64,
    /// How likely a change is to be seen.
    #[arg(long, value_name = "SHARE", default_value = "0.8", value_parser = share)]
    power: f64,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let (n, prompts, sides) = match (&args.file, args.n) {
        (Some(file), _) => {
            let Some((prompts, sides)) = size(file, context)? else { return Ok(ExitCode::USAGE) };
            let repeats = args.repeat.get();
            (prompts.saturating_mul(repeats), Some((prompts, repeats)), sides)
        }
        (None, Some(n)) => (n.get(), None, 2),
        (None, None) => return Err(CommandError::usage("neither a file nor `--n` says how many")),
    };
    if n > MOST_TRIALS {
        let message = format!("{n} trials a side are more than can be looked at");
        let most = format!("a plan has at most {MOST_TRIALS}");
        return Err(CommandError::usage(message).hint(most));
    }
    if let Some(effect) = args.effect
        && args.rate + effect > 1.0
        && args.rate < effect
    {
        let (rate, effect) = (args.rate, effect);
        return Err(CommandError::usage(format!(
            "a pass rate of {rate} can neither rise nor fall by {effect}"
        )));
    }
    let comparisons = args.comparisons.map_or(sides.saturating_sub(1).max(1), NonZeroU64::get);
    let found = power(&PowerPlan {
        n,
        prompts,
        comparisons,
        rate: args.rate,
        level: args.level,
        power: args.power,
        effect: args.effect,
        gate: args.gate,
        margin: args.margin,
    });
    let text = match args.format {
        Output::Text => report::power_text(&found, &context.printer.styles()),
        Output::Json => report::power_json(&found),
    };
    context.printer.data(&text)?;
    Ok(if can_pass(&found, args) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Whether what was asked for can come about. A gate or a margin asks for no comparison of its own.
fn can_pass(found: &PowerReport, args: &Args) -> bool {
    let gates = found.gate.is_none_or(|gate| gate.can_pass);
    let margins = found.margin.is_none_or(|margin| margin.can_pass);
    let decides = found.can_decide || args.gate.is_some() || args.margin.is_some();
    gates && margins && decides
}

/// How many prompts an experiment has, and how many variants of each are compared; `None` when it is
/// wrong, which is printed.
fn size(file: &Utf8Path, context: &Context) -> Result<Option<(u64, u64)>, CommandError> {
    let Ok(loaded) = common::load(file, context) else { return Ok(None) };
    let purpose = Purpose::Validate { repeat: None };
    let looked = experiment::preflight(&loaded.experiment, file, &loaded.folder, purpose);
    let variants = &looked.variants;
    let prompts: BTreeSet<String> = variants.iter().map(|variant| variant.row().prompt).collect();
    let (variants, prompts) = (variants.len() as u64, prompts.len() as u64);
    if prompts == 0 {
        return Err(CommandError::usage(format!("{file} has no variants")));
    }
    Ok(Some((prompts, variants / prompts)))
}
