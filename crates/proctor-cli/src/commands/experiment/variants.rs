//! `proctor experiment variants`.

use camino::Utf8PathBuf;
use proctor_formats::experiment::{self, Purpose, select};
use proctor_model::ExitCode;
use proctor_model::experiment::{Variant, VariantRow};
use proctor_report::experiment as report;

use super::common::{self, Narrow, has_errors};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor experiment variants`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor experiment variants experiment.yaml
  proctor experiment variants experiment.yaml --prompt cold --format json
  proctor experiment variants experiment.yaml --variant 'claude::anthropic-claude-sonnet-5::cold'

An id is made of agent, model, effort, prompt, environment, product and extension, as far as a
variant has them. The fingerprint changes with everything that a trial consists of, also with the
content of staged files.

Exit codes: 0 listed; 2 the experiment is wrong, or nothing matches.")]
pub(crate) struct Args {
    /// The experiment.
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
    /// How to print the variants.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
    #[command(flatten)]
    narrow: Narrow,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let loaded = match common::load(&args.file, context) {
        Ok(loaded) => loaded,
        Err(code) => return Ok(code),
    };
    let purpose = Purpose::Validate { repeat: None };
    let looked = experiment::preflight(&loaded.experiment, &args.file, &loaded.folder, purpose);
    let chosen = select(looked.variants, &args.narrow.selection()).map_err(CommandError::usage)?;
    let rows: Vec<VariantRow> = chosen.iter().map(Variant::row).collect();
    let text = match args.format {
        Output::Text => report::variants_text(&rows),
        Output::Json => report::variants_json(&rows),
    };
    context.printer.data(&text)?;
    if has_errors(&looked.findings) {
        let message = "sources are missing or wrong, and the fingerprints are made without them: \
                       see `proctor experiment validate`";
        context.printer.warning(message);
    }
    Ok(ExitCode::SUCCESS)
}
