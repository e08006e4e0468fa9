//! `proctor plugin verify`.

use std::fmt::Write as _;

use camino::Utf8PathBuf;
use proctor_formats::eval::{Drift, verify_bundle};
use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor plugin verify`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor plugin verify plugins/billing

Every file is compared with the digest that the bundle's .ai-rulez-generated.json records.

Exit codes: 0 nothing has changed; 1 a file was edited, removed, added or replaced by a link; 2
there is no bundle to compare with.")]
pub(crate) struct Args {
    /// The folder of the bundle.
    #[arg(value_name = "DIR")]
    folder: Utf8PathBuf,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let folder = &args.folder;
    let verified = verify_bundle(&context.cwd.join(folder)).map_err(CommandError::usage)?;
    let mut text = String::new();
    for drift in &verified.drift {
        let (path, what) = match drift {
            Drift::Edited(path) => (path, "edited"),
            Drift::Missing(path) => (path, "missing"),
            Drift::Extra(path) => (path, "not recorded"),
            Drift::Link(path) => (path, "a link in place of the file"),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{what}: {}", proctor_report::inert(path).replace('\n', "\\n"));
    }
    let (recorded, changed) = (verified.recorded, verified.drift.len());
    let _ = match changed {
        0 => writeln!(text, "{folder}: {recorded} files are what was bundled"),
        _ => writeln!(text, "{folder}: {changed} difference(s) to the {recorded} files recorded"),
    };
    context.printer.data(&text)?;
    Ok(if changed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
