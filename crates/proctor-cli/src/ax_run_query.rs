//! `ax-run-query`: what tests ask for evidence with. It is this program under another name, and
//! speaks to the run over a socket, so that it needs nothing of the sandbox but itself.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;

use clap::Parser;
use proctor_query::wire::{DEFAULT_LIMIT, Question, Reply, ask};
use proctor_runner::experiment::{KEY_VARIABLE, QUERY_PROGRAM, SOCKET_VARIABLE};

/// Ask what happened in a run.
#[derive(Debug, Parser)]
#[command(
    name = QUERY_PROGRAM,
    about = "Ask what happened in a run, from one of its tests",
    after_help = "Examples:
  ax-run-query \"$AX_RUN_ID\" sql \"SELECT payload FROM events WHERE kind = 'tool_call'\"
  ax-run-query \"$AX_RUN_ID\" sql \"SELECT tool_name, status FROM sd_current_tool_calls\" --limit 10000
  ax-run-query \"$AX_RUN_ID\" sql \"SHOW TABLES\"
  ax-run-query \"$AX_RUN_ID\" sql \"DESCRIBE events\"

Prints one JSON object a row, and nothing for no rows. A question without an answer exits with 1:
let it fail the test."
)]
struct Args {
    /// The run: `$AX_RUN_ID`.
    #[arg(value_name = "RUN")]
    run_id: String,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Ask in SQL, in the dialect of ClickHouse.
    Sql {
        /// The statement.
        #[arg(value_name = "SQL", required_unless_present = "tables")]
        statement: Option<String>,
        /// List the tables.
        #[arg(long, conflicts_with = "statement")]
        tables: bool,
        /// The most rows.
        #[arg(long, value_name = "N", default_value_t = DEFAULT_LIMIT)]
        limit: usize,
        /// How to print rows: one JSON object a line.
        #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = ["json"])]
        format: String,
    },
}

/// Whether the program was started under this name.
pub(crate) fn is_asked_for(name: Option<&OsString>) -> bool {
    name.and_then(|name| Path::new(name).file_name()) == Some(OsStr::new(QUERY_PROGRAM))
}

/// Runs it, and returns the exit code.
pub(crate) fn main(args: &[OsString]) -> i32 {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => {
            // Nothing can be done when even this cannot be printed.
            let _ = error.print();
            return error.exit_code();
        }
    };
    match run(args) {
        Ok(()) => 0,
        Err(message) => {
            let _ = writeln!(io::stderr(), "{QUERY_PROGRAM}: {message}");
            1
        }
    }
}

fn run(args: Args) -> Result<(), String> {
    let What::Sql { statement, limit, .. } = args.what;
    let variable = |name: &str| {
        env::var(name).map_err(|_| format!("{name} is not set: this answers tests of a run alone"))
    };
    let question = Question {
        token: variable(KEY_VARIABLE)?,
        run_id: args.run_id,
        sql: statement.unwrap_or_else(|| "SHOW TABLES".to_owned()),
        limit,
    };
    let unreachable =
        |error: io::Error| format!("the evidence of the run is out of reach: {error}");
    let mut stream = UnixStream::connect(variable(SOCKET_VARIABLE)?).map_err(unreachable)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let reply = ask(&mut stream, &question, &mut out).map_err(unreachable)?;
    out.flush().or_else(|error| match error.kind() {
        // Whoever read the rows has seen enough.
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(format!("the rows cannot be printed: {error}")),
    })?;
    match reply {
        Reply::Failed { message } => Err(message),
        Reply::Rows { count, is_truncated: true, .. } => {
            let _ = writeln!(
                io::stderr(),
                "{QUERY_PROGRAM}: warning: there are more than these {count} rows; raise --limit"
            );
            Ok(())
        }
        Reply::Rows { .. } => Ok(()),
    }
}
