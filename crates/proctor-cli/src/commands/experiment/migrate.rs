//! `proctor experiment migrate`.

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment;
use proctor_model::ExitCode;

use super::common::{complain, has_errors, write_new};
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor experiment migrate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor experiment migrate old.yaml > new.yaml
  proctor experiment migrate old.yaml --output new.yaml

Each variant of version 1 becomes an extension with its prompt, and with an environment that carries
its setup. Scripts are taken over as they stand; those that read what version 2 does not have are
named on standard error. Comments are lost.

Exit codes: 0 converted; 2 the file is no experiment of version 1, or what came of it needs work.")]
pub(crate) struct Args {
    /// The experiment.
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
    /// Where to write the new file, which must not be there [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<Utf8PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let bytes = experiment::bytes_of(&args.file, &context.cwd.join(&args.file));
    let migrated = bytes.and_then(|bytes| experiment::migrate(&args.file, &bytes));
    let migration = match migrated {
        Ok(migration) => migration,
        Err(findings) => {
            complain(&findings, context);
            return Ok(ExitCode::USAGE);
        }
    };
    let shown = args.output.as_deref().unwrap_or(Utf8Path::new("-"));
    match &args.output {
        Some(output) => write_new(&context.cwd.join(output), &migration.text)?,
        None => context.printer.data(&migration.text)?,
    }
    for note in &migration.notes {
        context.printer.warning(note);
    }
    let findings = experiment::read(shown, migration.text.as_bytes()).findings;
    if has_errors(&findings) {
        complain(&findings, context);
        return Ok(ExitCode::USAGE);
    }
    Ok(ExitCode::SUCCESS)
}
