//! `proctor eval`: do skills fire when they should, and do they help?

mod calibrate_estimate;
mod common;
mod import;
mod keygen;
mod lint;
mod list;
mod report;
mod run;

use proctor_model::ExitCode;

pub(crate) use self::run::amount;

use crate::context::Context;
use crate::error::CommandError;

/// Everything for which there is no result: wrong usage, wrong settings, a refusal, an interrupt.
/// 2 says that there is one and that it is bad.
pub(crate) const COULD_NOT_RUN: ExitCode = ExitCode(1);

/// A skill does not pass, or a finding is bad enough.
const FAILED: ExitCode = ExitCode(2);

/// The commands under `proctor eval`.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Run the eval cases of skills and score the skills.
    Run(Box<run::Args>),
    /// Check case files and recorded results against the rules.
    Lint(lint::Args),
    /// Recommend what to do with each skill.
    Report(report::Args),
    /// Propose assumptions for the estimate of costs from recorded runs.
    CalibrateEstimate(calibrate_estimate::Args),
    /// Make cases of the suites that were written for other tools.
    Import(import::Args),
    /// List the skills of the project, their cases and their recorded results.
    List(list::Args),
    /// Make a pair of keys for signatures that others can check.
    Keygen(keygen::Args),
}

impl Command {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        let done = match self {
            Self::Run(args) => run::run(&args, context),
            Self::Lint(args) => lint::run(&args, context),
            Self::Report(args) => report::run(&args, context),
            Self::CalibrateEstimate(args) => calibrate_estimate::run(&args, context),
            Self::Import(args) => import::run(&args, context),
            Self::List(args) => list::run(&args, context),
            Self::Keygen(args) => keygen::run(&args, context),
        };
        done.map_err(|error| error.with_code(COULD_NOT_RUN))
    }
}
