//! `proctor run`: what every way of testing left, and what can be done with it.

mod cancel;
mod export;
pub(crate) mod find;
mod import;
mod kind;
mod list;
mod prune;
mod push;
mod query;
mod rerun;
mod resume;
mod verify;
mod view;

use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// The commands under `proctor run`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// List the runs of the project, the latest first.
    List(list::Args),
    /// Say what a run or a trial came to.
    View(view::Args),
    /// Ask what happened in a run or a trial, in SQL.
    Query(query::Args),
    /// Go on with a run that was interrupted.
    Resume(resume::Args),
    /// Run trials without a result again, test again what is kept, or fill the cells of a run.
    Rerun(rerun::Args),
    /// Send a run to a ClickHouse server.
    Push(push::Args),
    /// End a run that is under way; what is finished stays.
    Cancel(cancel::Args),
    /// Hold what is kept of runs against its digests, and work out every verdict once more.
    Verify(verify::Args),
    /// Remove runs that are old or take too much room.
    Prune(prune::Args),
    /// Write a run in a format of others: JSON lines, Parquet, inspect, ATIF, OpenTelemetry.
    Export(export::Args),
    /// Take sessions that another program recorded as a run.
    Import(import::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        match self {
            Self::List(args) => list::run(&args, context),
            Self::View(args) => view::run(&args, context),
            Self::Query(args) => query::run(&args, context),
            Self::Resume(args) => resume::run(&args, context),
            Self::Rerun(args) => rerun::run(&args, context),
            Self::Push(args) => push::run(&args, context),
            Self::Cancel(args) => cancel::run(&args, context),
            Self::Verify(args) => verify::run(&args, context),
            Self::Prune(args) => prune::run(&args, context),
            Self::Export(args) => export::run(&args, context),
            Self::Import(args) => import::run(&args, context),
        }
    }
}
