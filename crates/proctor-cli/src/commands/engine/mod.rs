//! `proctor engine`: what answers questions in SQL.

mod install;
mod list;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// The commands under `proctor engine`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Say which engines there are, where, and of which version.
    List(list::Args),
    /// Install ClickHouse as a library, for the whole of its SQL.
    Install(install::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        match self {
            Self::List(args) => list::run(&args, context),
            Self::Install(args) => install::run(&args, context),
        }
    }
}
