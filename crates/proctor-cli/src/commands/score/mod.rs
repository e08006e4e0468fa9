//! `proctor score`: recorded runs of memory systems against the checks of their fixtures.

mod import;

use std::fmt::Write as _;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use proctor_formats::fixture_run::{self, adapters};
use proctor_model::ExitCode;
use proctor_model::recorded::report::Verdict;
use proctor_report::score as report;
use proctor_report::score::Renderer;
use proctor_runner::score::{Inputs, Labels, Options, Scored, score};

use crate::context::Context;
use crate::error::CommandError;

/// Wrong usage, and every reason for which a set of runs cannot be scored: 2 is `unknown`.
pub(crate) const USAGE: ExitCode = ExitCode(3);

/// Arguments of `proctor score`.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  proctor score run.json --human
  proctor score --adapter transcript vendor-run.json --human
  proctor score fixtures/ --format junit > report.xml
  proctor score runs.jsonl --labels labels.csv --format markdown

A PATH is a file with one run, a `.jsonl` file with a run a line, a directory, or `-` for one run
from standard input. In directories, `.json` and `.jsonl` files count; hidden ones, `node_modules`,
`target`, linked directories and what `.fixturerunignore` or --exclude name are left out and
counted.

Exit codes, worst first: 3 a run breaks the contract, or wrong usage; 1 a check fails; 2 evidence
is missing, or there is nothing to score; 0 every run passes. With --self-test: 0 every run scores
what its fixture foresees, 1 one does not."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// What to score.
    #[arg(value_name = "PATH", required_unless_present_any = ["schema", "adapters"])]
    paths: Vec<PathBuf>,
    /// Read each run's `payload` as this vendor writes it; `--adapters` lists them.
    #[arg(long, value_name = "NAME", value_parser = adapter_names())]
    adapter: Option<String>,
    /// With an adapter for memory rows: the field by which `order` is sorted.
    #[arg(long, value_name = "FIELD", requires = "adapter")]
    order_by: Option<String>,
    /// How to print the report.
    #[arg(short, long, value_name = "FORMAT", default_value = "json")]
    format: Format,
    /// Print the report for people: the same as `--format text`.
    #[arg(long, conflicts_with = "format")]
    human: bool,
    /// Which occurrences of a value count.
    #[arg(long, value_name = "MODE", default_value = "substring")]
    boundary: Boundary,
    /// Leave out what matches, in the syntax of `.gitignore`; repeat for several.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Hold the verdicts against what the kinds of the fixtures foresee.
    #[arg(long)]
    self_test: bool,
    /// Say how far verdicts agree with the labels in this file: a line `ID,pass` or `ID,fail` each,
    /// with the id of a fixture or the path of a run.
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// How many runs are scored side by side [default: the number of processors].
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print the JSON Schema of a fixture-run and do nothing else.
    #[arg(long, exclusive = true)]
    schema: bool,
    /// List the adapters and what each reads, and do nothing else.
    #[arg(long, exclusive = true)]
    adapters: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Make fixture-runs of the files of benchmarks and other tools.
    Import(import::Args),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For programs.
    Json,
    /// For people.
    Text,
    /// JUnit XML, for build servers.
    Junit,
    /// For comments and summaries.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Boundary {
    /// Everywhere: `Berlin` is in `Berliner`.
    Substring,
    /// Only whole words.
    Word,
}

fn adapter_names() -> PossibleValuesParser {
    PossibleValuesParser::new(adapters::ADAPTERS.iter().map(|adapter| adapter.name))
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let done = match &args.command {
        Some(Command::Import(args)) => import::run(args, context),
        None if args.schema => print_schema(context),
        None if args.adapters => print_adapters(context),
        None => run_score(args, context),
    };
    done.map_err(|error| error.with_code(USAGE))
}

fn run_score(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let options = options(args, context)?;
    let inputs = Inputs::gather(&args.paths, context.cwd.as_std_path(), &args.exclude)
        .map_err(CommandError::usage)?;
    for complaint in inputs.complaints() {
        context.printer.error(complaint, &[]);
    }
    let single = options.stands_alone(&inputs);
    let renderer = Renderer { format: format(args), single, styles: context.printer.styles() };
    let scored = score(inputs, &mut io::stdin().lock(), &options, &|run, out| {
        renderer.run(run, out);
    })
    .map_err(CommandError::usage)?;
    if scored.duplicates_unfinished {
        context.printer.warning("there are too many ids to compare all of them with each other");
    }
    let verdict = scored.summary.verdict;
    print(scored, &renderer, context)?;
    Ok(verdict.exit_code())
}

fn options(args: &Args, context: &Context) -> Result<Options, CommandError> {
    let adapter = args.adapter.as_deref().and_then(adapters::adapter);
    if let (Some(adapter), Some(_)) = (adapter, &args.order_by)
        && !adapter.orders_rows
    {
        let name = adapter.name;
        return Err(CommandError::usage(format!("adapter `{name}` has no rows to sort"))
            .hint("leave `--order-by` out"));
    }
    let labels =
        args.labels.as_ref().map(|path| Labels::read(&context.cwd.as_std_path().join(path)));
    Ok(Options {
        boundary: match args.boundary {
            Boundary::Substring => proctor_grade::text::Boundary::Substring,
            Boundary::Word => proctor_grade::text::Boundary::Word,
        },
        adapter,
        order_by: args.order_by.clone(),
        self_test: args.self_test,
        labels: labels.transpose().map_err(CommandError::usage)?,
        workers: args.jobs.unwrap_or_else(processors),
        temporary: context.temporary.clone().into(),
    })
}

fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn format(args: &Args) -> report::Format {
    match args.format {
        _ if args.human => report::Format::Text,
        Format::Json => report::Format::Json,
        Format::Text => report::Format::Text,
        Format::Junit => report::Format::Junit,
        Format::Markdown => report::Format::Markdown,
    }
}

fn print(scored: Scored, renderer: &Renderer, context: &Context) -> io::Result<()> {
    let Scored { summary, runs, .. } = scored;
    context.printer.bytes(|out| {
        out.write_all(renderer.head(&summary).as_bytes())?;
        runs.copy_to(renderer.separator(), out)?;
        out.write_all(renderer.foot(&summary).as_bytes())
    })
}

fn print_schema(context: &Context) -> Result<ExitCode, CommandError> {
    let text = serde_json::to_string_pretty(&fixture_run::schema()).map_err(io::Error::from)?;
    context.printer.data(&format!("{text}\n"))?;
    Ok(Verdict::Pass.exit_code())
}

fn print_adapters(context: &Context) -> Result<ExitCode, CommandError> {
    let mut text = String::new();
    for adapter in adapters::ADAPTERS {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<17} {:<10} {}",
            adapter.name,
            adapter.subject.as_str(),
            adapter.reads
        );
    }
    context.printer.data(&text)?;
    Ok(Verdict::Pass.exit_code())
}
