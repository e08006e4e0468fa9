//! `proctor conformance`: guidance corpora, their installation, and fixtures over them.

mod common;
mod install;
mod status;
pub(crate) mod test;
mod uninstall;
mod update;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// The commands under `proctor conformance`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Install a slice of a guidance corpus into this project.
    Install(install::Args),
    /// Bring the installed slice up to date with the corpus.
    Update(update::Args),
    /// Say what is installed and what was changed since.
    Status(status::Args),
    /// Remove what was installed.
    Uninstall(uninstall::Args),
    /// Run conformance fixtures in temporary workspaces.
    Test(test::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        match self {
            Self::Install(args) => install::run(&args, context),
            Self::Update(args) => update::run(&args, context),
            Self::Status(args) => status::run(&args, context),
            Self::Uninstall(args) => uninstall::run(&args, context),
            Self::Test(args) => test::run(&args, context),
        }
    }
}
