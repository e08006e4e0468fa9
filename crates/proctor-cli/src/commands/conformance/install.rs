//! `proctor conformance install`.

use camino::Utf8PathBuf;
use proctor_corpus::{Compat, CorpusManifest, InstallRequest, Manner, Selection};
use proctor_model::ExitCode;

use super::common::{explain, items, print_report, require_corpus};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor conformance install`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor conformance install --source ../AI --profiles cratis/chronicle --harnesses claude
  proctor conformance install --profiles cratis/documentation --harnesses claude,codex --dry-run
  proctor conformance install --profiles cratis/full --harnesses pi --languages csharp,typescript

The guidance goes to .cratis/ai, and each harness gets links into it. The choice is written to
.cratis/ai.json and a record of what was installed to .cratis/ai.manifest.json; commit all three.

All or nothing: when anything stands in the way, no file is changed. Files, links and MCP entries
that no installation made are never replaced. Managed files that were edited are replaced with
`--force` only.

Exit codes: 0 installed; 2 refused, wrong usage or an error.")]
pub(crate) struct Args {
    /// Profiles, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    profiles: Vec<String>,
    /// Harnesses, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    harnesses: Vec<String>,
    /// Languages, separated by commas [default: any].
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    languages: Vec<String>,
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
    let selection = Selection {
        harnesses: items(&args.harnesses),
        profiles: items(&args.profiles),
        languages: items(&args.languages),
    };
    require_choice(&selection, corpus.manifest())?;
    let request = InstallRequest {
        selection,
        compat: if args.compat { Compat::Reference } else { Compat::Proctor },
        manner: Manner { force: args.force, dry_run: args.dry_run },
    };
    let report = proctor_corpus::install(&context.cwd, &corpus, &request)
        .map_err(|error| explain(&error))?;
    print_report(&report, args.output, context)
}

/// Profiles and harnesses have no default: an empty choice would quietly install next to nothing.
fn require_choice(selection: &Selection, offered: &CorpusManifest) -> Result<(), CommandError> {
    let lists = [
        ("--profiles", "profiles", &selection.profiles, &offered.profiles),
        ("--harnesses", "harnesses", &selection.harnesses, &offered.harnesses),
    ];
    let missing: Vec<_> = lists.into_iter().filter(|(_, _, chosen, _)| chosen.is_empty()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let options: Vec<_> = missing.iter().map(|(option, ..)| format!("`{option}`")).collect();
    let error = CommandError::usage(format!("{} must be given", options.join(" and ")));
    Err(missing.iter().fold(error, |error, (_, name, _, offered)| {
        error.hint(format!("{name} of this corpus: {}", offered.join(", ")))
    }))
}
