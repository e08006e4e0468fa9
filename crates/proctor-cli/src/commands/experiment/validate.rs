//! `proctor experiment validate`.

use std::num::NonZeroU32;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::{self, Purpose};
use proctor_model::ExitCode;
use proctor_model::experiment::Finding;
use proctor_report::experiment as report;

use super::common::has_errors;
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor experiment validate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor experiment validate experiment.yaml
  proctor experiment validate experiments/*.yaml --format json
  proctor experiment validate experiment.yaml --repeat 3

Errors are what cannot run: wrong shape, names, variants, files that meet or are not there. Notes
are what may not measure what you mean: answers where the agent sees them, tests that pass without
evidence, gates that cannot be passed. Each has a code; docs/experiments.md explains them. Slots
without a source are bound by `run --file`, and are not looked for here.

Exit codes: 0 no errors; 2 an error.")]
pub(crate) struct Args {
    /// Experiments.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<Utf8PathBuf>,
    /// How to print the findings.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
    /// How many trials of each variant you mean to run: says whether that can prove anything.
    #[arg(long, value_name = "N")]
    repeat: Option<NonZeroU32>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let mut all = Vec::new();
    for file in &args.files {
        all.extend(validate(file, args.repeat, context));
    }
    let text = match args.format {
        Output::Text => report::findings_text(&all, &context.printer.styles()),
        Output::Json => report::findings_json(&all),
    };
    context.printer.data(&text)?;
    Ok(if has_errors(&all) { ExitCode::USAGE } else { ExitCode::SUCCESS })
}

fn validate(file: &Utf8Path, repeat: Option<NonZeroU32>, context: &Context) -> Vec<Finding> {
    let path = context.cwd.join(file);
    let reading = experiment::read_path(file, &path);
    let mut findings = reading.findings;
    if let Some(experiment) = reading.experiment {
        let folder = path.parent().unwrap_or(&context.cwd);
        let looked = experiment::preflight(&experiment, file, folder, Purpose::Validate { repeat });
        findings.extend(looked.findings);
        findings.sort_by_key(|finding| (finding.line, finding.column));
        if !has_errors(&findings) {
            let variants = looked.variants.len();
            let tests = experiment.tests.len();
            context.printer.note(&format!("{file}: valid; variants: {variants}, tests: {tests}"));
        }
    }
    findings
}
