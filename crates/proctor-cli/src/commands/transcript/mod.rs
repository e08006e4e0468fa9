//! `proctor transcript`: recorded agent sessions.

mod show;
mod text;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// The commands under `proctor transcript`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Print the events of a recorded stream, and how the session ended.
    Show(show::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        match self {
            Self::Show(args) => show::run(&args, context),
        }
    }
}
