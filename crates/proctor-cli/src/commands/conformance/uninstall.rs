//! `proctor conformance uninstall`.

use proctor_corpus::Manner;
use proctor_model::ExitCode;

use super::common::{explain, print_report};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor conformance uninstall`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor conformance uninstall --dry-run
  proctor conformance uninstall --force

Removes what .cratis/ai.manifest.json lists and nothing else: .cratis/ai.json, files of yours and
directories stay.

Exit codes: 0 removed, or nothing was installed; 2 refused or an error.")]
pub(crate) struct Args {
    /// Remove managed files that were edited as well.
    #[arg(short, long)]
    force: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// How to print what was done.
    #[arg(short, long, visible_alias = "format", value_name = "FORMAT", default_value = "text")]
    output: Output,
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let manner = Manner { force: args.force, dry_run: args.dry_run };
    let report = proctor_corpus::uninstall(&context.cwd, manner);
    print_report(&report.map_err(|error| explain(&error))?, args.output, context)
}
