//! `proctor experiment query`.

mod metrics;

use proctor_model::{ExitCode, nearest};
use proctor_query::Scope;
use proctor_store::runs::Runs;

use crate::ask::Asking;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor experiment query`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor experiment query greetings
  proctor experiment query greetings --group-by agent --metric test-pass-rate,cost
  proctor experiment query latest --group-by agent,prompt --metric pass-rate,pass^3
  proctor experiment query greetings --where agent=claude --group-by exit_reason --format csv
  proctor experiment query greetings sql \"SELECT agent, avg(num_turns) FROM measurements GROUP BY 1\"
  proctor experiment query greetings sql --tables

For metrics ID is an experiment, with all of its runs, or a run or a trial as `proctor run view`
takes it; `sql` asks about an experiment, in the tables of `proctor query`.

Keys: agent, model, effort, prompt, environment, product, extension, variant, status, exit_reason,
repeat, run. Metrics: test-pass-rate, pass-rate, cost, wall-clock, agent-time, tokens, input-tokens,
output-tokens, tool-calls, tool-failures, tests-failed, turns, pass@K, pass^K. Other spellings such
as promptId and testPassRate are taken too.

Trials that are errors are counted, and are in no figure. Rates have Wilson's interval of 95 %,
means that of the bootstrap; where prompts repeat, by prompt. What a number of trials does not allow
is undefined, with the reason. docs/statistics.md has the formulas.

Exit codes: 0 it was answered; 2 it has no answer: there are no such trials, or a key, a metric, a
value or a word of the statement is not known.")]
pub(crate) struct Args {
    /// The experiment; for metrics also a run or a trial.
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    measuring: metrics::Measuring,
    #[command(subcommand)]
    form: Option<Form>,
}

/// Other ways to ask than by metrics.
#[derive(clap::Subcommand)]
enum Form {
    /// Ask what happened, in SQL.
    Sql(Asking),
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    match &args.form {
        None => args.measuring.measure(&args.id, context),
        Some(Form::Sql(_)) if args.measuring.is_asked_for() => {
            Err(CommandError::usage("metrics and groups are not for `sql`")
                .hint("options of the statement stand behind `sql`"))
        }
        Some(Form::Sql(asking)) => {
            // A server has experiments that were run elsewhere.
            let id =
                if asking.is_elsewhere() { args.id.clone() } else { known(&args.id, context)? };
            asking.ask(&Scope::Experiment(id), context)
        }
    }
}

/// The id of an experiment that has a run.
fn known(id: &str, context: &Context) -> Result<String, CommandError> {
    let listed = Runs::of(&context.cwd).list().map_err(CommandError::usage)?;
    let mut ids: Vec<String> =
        listed.into_iter().filter_map(|listed| Some(listed.run.ok()?.plan.experiment_id)).collect();
    ids.sort();
    ids.dedup();
    if ids.iter().any(|known| known == id) {
        return Ok(id.to_owned());
    }
    let near = nearest(id, ids.iter().map(String::as_str));
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(CommandError::usage(format!("no run here is of an experiment `{id}`{near}"))
        .hint("`proctor run list` has the runs of this project"))
}
