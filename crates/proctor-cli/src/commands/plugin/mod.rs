//! `proctor plugin`: skills as a plugin of Claude Code.

mod bundle;
mod verify;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// The commands under `proctor plugin`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Write the skills of the project, and their eval cases if wanted, as a plugin.
    Bundle(bundle::Args),
    /// Check that a bundle is what was bundled.
    Verify(verify::Args),
}

impl Command {
    pub(crate) fn run(self, context: &Context) -> Result<ExitCode, CommandError> {
        match self {
            Self::Bundle(args) => bundle::run(&args, context),
            Self::Verify(args) => verify::run(&args, context),
        }
    }
}
