//! `proctor conformance install`.

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor conformance install`.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _context: &mut Context) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
