//! `proctor query`.

use proctor_model::ExitCode;
use proctor_query::Scope;

use crate::ask::Asking;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor query`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor query --tables
  proctor query \"DESCRIBE events\"
  proctor query \"SELECT agent, model, countIf(status = 'pass') AS passed, count() AS n
    FROM verdicts GROUP BY agent, model\"
  proctor query \"SELECT command FROM sd_current_tool_calls WHERE command ILIKE '%rm -rf%'\" --all

It asks all runs of the project: experiments, conformance tests, skill evals and imported sessions.
Nothing can be changed by a question.

Exit codes: 0 it was answered; 2 it has no answer.")]
pub(crate) struct Args {
    #[command(flatten)]
    asking: Asking,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    args.asking.ask(&Scope::All, context)
}
