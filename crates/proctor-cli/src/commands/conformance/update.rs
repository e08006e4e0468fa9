//! `proctor conformance update`.

use camino::Utf8PathBuf;
use proctor_corpus::{Compat, Manner};
use proctor_model::ExitCode;

use super::common::{explain, print_report, require_corpus};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor conformance update`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor conformance update --source ../AI
  proctor conformance update --dry-run --output json

The choice in .cratis/ai.json stays as it is; `proctor conformance install` changes it.

Exit codes: 0 up to date; 2 refused, wrong usage or an error.")]
pub(crate) struct Args {
    /// Corpus checkout; without it `CRATIS_AI_SOURCE`, then `source` in proctor.toml.
    #[arg(long, value_name = "DIR")]
    source: Option<Utf8PathBuf>,
    /// Replace managed files that were edited.
    #[arg(short, long)]
    force: bool,
    /// Say what would be done, and do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Without languages, leave out the rules for C# and TypeScript, as the Cratis CLI does.
    #[arg(long)]
    compat: bool,
    /// How to print what was done.
    #[arg(short, long, visible_alias = "format", value_name = "FORMAT", default_value = "text")]
    output: Output,
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let corpus = require_corpus(args.source.as_ref(), context)?;
    let compat = if args.compat { Compat::Reference } else { Compat::Proctor };
    let manner = Manner { force: args.force, dry_run: args.dry_run };
    let report = proctor_corpus::update(&context.cwd, &corpus, compat, manner);
    print_report(&report.map_err(|error| explain(&error))?, args.output, context)
}
