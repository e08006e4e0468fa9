//! `proctor experiment schema`.

use proctor_formats::experiment;
use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor experiment schema`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor experiment schema > experiment.v2.schema.json

An editor with a YAML language server completes a file that begins with

  # yaml-language-server: $schema=experiment.v2.schema.json")]
pub(crate) struct Args {}

pub(super) fn run(_: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    context.printer.data(&format!("{:#}\n", experiment::schema()))?;
    Ok(ExitCode::SUCCESS)
}
