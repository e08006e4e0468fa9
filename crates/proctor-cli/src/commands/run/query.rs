//! `proctor run query`.

use proctor_model::ExitCode;
use proctor_query::Scope;

use super::find::find;
use crate::ask::Asking;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run query`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run query latest \"SELECT check_name, reason FROM checks WHERE status = 'failed'\"
  proctor run query greetings-01J sql \"SELECT * FROM costs\"
  proctor run query \"claude::hello::0123456789abcdef\" sql \"SELECT payload FROM events\" --limit 1000
  proctor run query latest --tables

The same tables as those of `proctor query`, with the rows of one run or of one trial. What a test
asks with `ax-run-query \"$AX_RUN_ID\" sql ...` can be asked here of the trial.

Exit codes: 0 it was answered; 2 it has no answer, or there is no such run.")]
pub(crate) struct Args {
    /// The run or the trial.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    asking: Asking,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let scope = match find(&args.id, context) {
        Ok(found) => match found.trial {
            Some(trial) => Scope::Trial(trial.id),
            None => Scope::Run(found.run.plan.run_id),
        },
        // A server has runs that were made elsewhere, by their whole ids.
        Err(_) if args.asking.is_elsewhere() && args.id.contains("::") => {
            Scope::Trial(args.id.clone())
        }
        Err(_) if args.asking.is_elsewhere() => Scope::Run(args.id.clone()),
        Err(error) => return Err(error),
    };
    args.asking.ask(&scope, context)
}
