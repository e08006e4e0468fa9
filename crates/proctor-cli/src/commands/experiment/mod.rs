//! `proctor experiment`: agents x models x prompts x products, graded by scripts.

pub(crate) mod common;
mod create;
pub(crate) mod engine;
pub(crate) mod format;
mod migrate;
mod query;
pub(crate) mod run;
mod schema;
mod shelf;
mod validate;
mod variants;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// The commands under `proctor experiment`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Write a new experiment from a template.
    Create(create::Args),
    /// Print the JSON Schema of experiments, for editors.
    Schema(schema::Args),
    /// Say everything that is wrong with experiments, and what may mislead.
    Validate(validate::Args),
    /// List the variants of an experiment.
    #[command(visible_alias = "resolve")]
    Variants(variants::Args),
    /// Run an experiment on this machine.
    Run(Box<run::Args>),
    /// Measure the trials of an experiment or a run, by group; or ask about them in SQL.
    Query(Box<query::Args>),
    /// Convert an experiment of version 1.
    Migrate(migrate::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        match self {
            Self::Create(args) => create::run(&args, context),
            Self::Schema(args) => schema::run(&args, context),
            Self::Validate(args) => validate::run(&args, context),
            Self::Variants(args) => variants::run(&args, context),
            Self::Run(args) => run::run(&args, context),
            Self::Query(args) => query::run(&args, context),
            Self::Migrate(args) => migrate::run(&args, context),
        }
    }
}
