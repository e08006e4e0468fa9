//! `proctor engine list`.

use std::fmt::Write as _;

use proctor_clickhouse::install::version_in;
use proctor_clickhouse::local::{Engine, Places, Start, find};
use proctor_model::ExitCode;
use proctor_report::one_line;
use serde::Serialize;

use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor engine list`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor engine list
  proctor engine list --format json

ClickHouse is looked for where PROCTOR_LIBCHDB says, else where `proctor engine install` puts it, in
LD_LIBRARY_PATH, /usr/local/lib and /usr/lib. It is started once, to see that it works.

Exit codes: 0; 2 the list cannot be printed.")]
pub(crate) struct Args {
    /// How to print the list.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

/// An engine as the list has it.
#[derive(Debug, Default, Serialize)]
struct Row {
    name: &'static str,
    /// `null` when it does not work.
    version: Option<String>,
    /// `null` for what is built in, or not there.
    path: Option<String>,
    /// In bytes.
    size: Option<u64>,
    /// The version of the package that was installed.
    package: Option<String>,
    /// Why it does not work.
    problem: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let sqlite = Row {
        name: "sqlite",
        version: Some(proctor_query::sqlite_version().to_owned()),
        ..Row::default()
    };
    let rows = [sqlite, clickhouse(context)];
    let text = match args.format {
        Output::Json => serde_json::to_string_pretty(&rows).map_err(CommandError::usage)? + "\n",
        Output::Text => rows.iter().map(text).collect(),
    };
    context.printer.data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn clickhouse(context: &Context) -> Row {
    let places = Places::of(&context.env);
    let mut row = Row { name: "clickhouse", ..Row::default() };
    if let Some(found) = find(&places) {
        row.package = found.path.parent().and_then(version_in);
        row.path = Some(found.path.display().to_string());
        row.size = Some(found.size);
    } else {
        row.problem = Some("not installed; `proctor engine install clickhouse` fetches it".into());
        return row;
    }
    let start = Start {
        proctor: context.proctor.as_std_path(),
        places: &places,
        temporary: context.temporary.as_std_path(),
    };
    match Engine::start(&start) {
        Ok(engine) => row.version = Some(engine.version().to_owned()),
        Err(error) => row.problem = Some(error.to_string()),
    }
    row
}

fn text(row: &Row) -> String {
    let mut text = format!("{:<11} {:<11}", row.name, row.version.as_deref().unwrap_or("-"));
    // Writing to a string cannot fail.
    match (&row.path, row.size) {
        (Some(path), Some(size)) => {
            let _ = write!(text, " {} ({} MB)", one_line(path, 400), size / 1_000_000);
        }
        _ if row.problem.is_none() => text.push_str(" built in"),
        _ => {}
    }
    if let Some(problem) = &row.problem {
        let _ = write!(text, " {}", one_line(problem, 1000));
    }
    text + "\n"
}
