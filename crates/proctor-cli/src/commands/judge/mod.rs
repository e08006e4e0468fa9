//! `proctor judge`: the model that grades answers.

mod calibrate;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Everything for which there is no whole result: wrong usage, wrong settings, a refusal, a limit
/// that was reached, an interrupt.
pub(crate) const COULD_NOT_RUN: ExitCode = ExitCode(1);

/// The judge does not reach its mark.
const FAILED: ExitCode = ExitCode(2);

/// The commands under `proctor judge`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Compare the judge with people on answers that they labelled.
    Calibrate(calibrate::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        let done = match self {
            Self::Calibrate(args) => calibrate::run(&args, context),
        };
        done.map_err(|error| error.with_code(COULD_NOT_RUN))
    }
}
