//! `proctor run push`.

use proctor_clickhouse::server::Pushed;
use proctor_clickhouse::tables;
use proctor_model::ExitCode;
use proctor_model::run::PlannedTrial;

use super::find::find;
use crate::commands::experiment::engine::FAILED;
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::store::{explain, push, server};

/// Arguments of `proctor run push`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run push latest --store clickhouse://ci@metrics.example:8443/proctor?secure
  proctor run push greetings-01J --store clickhouse://localhost/proctor

Sends the evidence of finished trials to a ClickHouse server, where the runs of many machines land.
What is there already is not sent again, and nothing is there twice, however often this is run. The
server must have the database; the tables are made in it.

Exit codes: 0 every finished trial is there; 1 some are not; 2 the server or the run is not there;
130 interrupted.")]
pub(crate) struct Args {
    /// The run, or a trial of it.
    #[arg(value_name = "ID")]
    id: String,
    /// The server: `clickhouse://user@host:port/database`, with `?secure` for TLS. The password is
    /// that of `PROCTOR_CLICKHOUSE_PASSWORD`.
    #[arg(long, value_name = "URL")]
    store: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let found = find(&args.id, context)?;
    let wanted = found.trial.as_ref();
    let is_wanted = |trial: &&PlannedTrial| wanted.is_none_or(|wanted| wanted.id == trial.id);
    let (finished, unfinished): (Vec<&PlannedTrial>, Vec<&PlannedTrial>) = found
        .run
        .plan
        .trials
        .iter()
        .filter(is_wanted)
        .partition(|trial| found.run.status(trial).is_some());
    let server = server(&args.store, context)?;
    let tables = tables();
    server.prepare(&tables).map_err(explain)?;
    let cancel = interrupt::cancel_on_signal(context.printer)?;
    let (mut sent, mut rows, mut there, mut failed) = (0_usize, 0_u64, 0_usize, 0_usize);
    for trial in finished {
        let is_cancelled = || cancel.is_cancelled();
        match push(&server, &tables, &context.cwd, &trial.id, &is_cancelled) {
            Ok(Pushed::Written(count)) => (sent, rows) = (sent + 1, rows + count),
            Ok(Pushed::WasThere) => there += 1,
            Err(_) if cancel.is_cancelled() => {
                context.printer.note("interrupted: the same command goes on");
                return Ok(ExitCode::INTERRUPTED);
            }
            // What cannot be read here does not keep the others from the server.
            Err(proctor_clickhouse::Error::Rows(why)) => {
                context.printer.warning(&format!("{} was not sent: {why}", trial.id));
                failed += 1;
            }
            Err(error) => {
                let why = explain(error);
                return Err(why.hint("nothing is lost: run the same command later"));
            }
        }
    }
    let left = unfinished.len();
    let unfinished = if left == 0 { String::new() } else { format!(", {left} not finished") };
    context.printer.data(&format!(
        "{}: {sent} trials sent ({rows} rows), {there} there before{unfinished}\n",
        server.address()
    ))?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { FAILED })
}
