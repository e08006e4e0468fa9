//! `proctor conformance test`.

use std::num::NonZeroUsize;
use std::time::Duration;

use camino::Utf8PathBuf;
use proctor_corpus::{Compat, InstallError};
use proctor_model::ExitCode;
use proctor_model::conformance::report::Report;
use proctor_model::run::RunKind;
use proctor_runner::archive::Archive;
use proctor_runner::conformance::plan::HarnessMode;
use proctor_runner::conformance::{ExamineError, Examined, Machine, Options, examine};

use super::common::{self, NAME_A_CORPUS, choose_corpus, items};
use crate::archive::RunArchive;
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::progress::ConformanceProgress;

/// Arguments of `proctor conformance test`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor conformance test --source ../AI --install-only
  proctor conformance test --source ../AI --harnesses claude,codex --output json
  proctor conformance test --fixture example --timeout 60 --max-budget-usd 0.25

Running harnesses can spend model quota; `--install-only` never does.
This is filesystem separation, not a security boundary: trust the fixtures that you run.

`observed_load` is `observed` only when the transcript holds an explicit read of the path. Claude
loads CLAUDE.md and .claude/rules by itself, and codex has no read tool: both show `unknown` even
when everything works.

Sessions are kept in .proctor/runs/; `proctor run view` and `proctor query` work on them.

Exit codes: 0 all passed or skipped, or nothing selected; 1 a check, harness or fixture failed;
2 usage or installation error; 130 interrupted.")]
#[expect(clippy::struct_excessive_bools, reason = "they are independent switches of the command")]
pub(crate) struct Args {
    /// Harnesses, separated by commas [default: those of the configuration that can be run].
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    harnesses: Vec<String>,
    /// Run only the fixture with this name; repeat to run several.
    #[arg(long = "fixture", value_name = "NAME")]
    fixtures: Vec<String>,
    /// Directory of fixtures [default: Evaluations/conformance in the corpus].
    #[arg(long = "fixtures", value_name = "DIR")]
    fixtures_root: Option<Utf8PathBuf>,
    /// Corpus checkout; without it `CRATIS_AI_SOURCE`, then `source` in proctor.toml.
    #[arg(long, value_name = "DIR")]
    source: Option<Utf8PathBuf>,
    /// How to print the report.
    #[arg(short, long, visible_alias = "format", value_name = "FORMAT", default_value = "text")]
    output: Output,
    /// Lower, never raise, each fixture's timeout, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    timeout: Option<u64>,
    /// Lower, never raise, each fixture's budget in US dollars.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    max_budget_usd: Option<f64>,
    /// Run install-phase checks only, without any harness.
    #[arg(long)]
    install_only: bool,
    /// Keep redacted transcripts in a temporary folder.
    #[arg(long)]
    keep_transcripts: bool,
    /// Exit with 1 when no fixture ran successfully.
    #[arg(long)]
    fail_on_empty: bool,
    /// Select rules as the reference tool does: no languages drop C# and TypeScript rules.
    #[arg(long)]
    compat: bool,
    /// How many trials run side by side [default: the number of processors].
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Give a harness up that prints nothing for this many seconds after its start.
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    first_output_timeout: u64,
    /// Give a harness up that falls silent for this many seconds.
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = clap::value_parser!(u64).range(1..=MAX_SECONDS))]
    stall_timeout: u64,
}

/// A year: far above any real bound, and far below what the clock can add.
const MAX_SECONDS: u64 = 365 * 24 * 60 * 60;

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("expected an amount above 0, such as 0.25".to_owned()),
    }
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let options = options(args, context)?;
    let archive = RunArchive::new(&context.cwd, RunKind::Conformance, "conformance");
    let examined = execute(&options, Some(&archive), context)?;
    name_unknown_fixtures(&examined, context);
    archive.report(&proctor_report::conformance::render_json(&examined.report));
    archive.tell(context);
    print(&examined.report, args.output, context)?;
    Ok(exit_code(&examined, args.fail_on_empty))
}

/// Runs with progress on standard error and an interrupt that ends the run cleanly.
pub(crate) fn execute(
    options: &Options,
    archive: Option<&RunArchive>,
    context: &Context,
) -> Result<Examined, CommandError> {
    let cancel = interrupt::cancel_on_signal(context.printer)?;
    let machine = Machine {
        env: &context.env,
        redactor: &context.redactor,
        cancel: &cancel,
        temporary: &context.temporary,
        proctor: &context.proctor,
        archive: archive.map(|archive| archive as &dyn Archive),
    };
    let mut progress = ConformanceProgress::new();
    let examined = examine(options, &machine, &mut |event| progress.show(&event));
    progress.finish();
    examined.map_err(explain)
}

/// Prints the report to standard output.
pub(crate) fn print(
    report: &Report,
    output: Output,
    context: &Context,
) -> Result<(), CommandError> {
    let text = match output {
        Output::Json => proctor_report::conformance::render_json(report),
        Output::Text => proctor_report::conformance::render_text(report, &context.printer.styles()),
    };
    Ok(context.printer.data(&text)?)
}

fn options(args: &Args, context: &Context) -> Result<Options, CommandError> {
    let corpus = choose_corpus(args.source.as_ref(), context)?;
    let harnesses = items(&args.harnesses);
    let seconds = Duration::from_secs;
    Ok(Options {
        project: context.cwd.clone(),
        corpus,
        fixtures_root: args.fixtures_root.clone(),
        harnesses: (!harnesses.is_empty()).then_some(harnesses),
        fixtures: args.fixtures.clone(),
        harness_mode: if args.install_only { HarnessMode::InstallOnly } else { HarnessMode::Run },
        compat: if args.compat { Compat::Reference } else { Compat::Proctor },
        timeout: args.timeout.map(seconds),
        max_budget_usd: args.max_budget_usd,
        first_output: seconds(args.first_output_timeout),
        between_output: seconds(args.stall_timeout),
        slots: args.jobs.unwrap_or_else(default_slots),
        keep_transcripts: args.keep_transcripts,
    })
}

/// As many trials side by side as there are processors.
pub(crate) fn default_slots() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

fn name_unknown_fixtures(examined: &Examined, context: &Context) {
    if examined.unknown_fixtures.is_empty() {
        return;
    }
    let known = match examined.known_fixtures.as_slice() {
        [] => "there are no fixtures".to_owned(),
        names => format!("known fixtures: {}", names.join(", ")),
    };
    let unknown = examined.unknown_fixtures.join("`, `");
    // A name with a line break must not forge a line of its own.
    let warning = format!("no fixture is named `{unknown}`; {known}").replace('\n', "\\n");
    context.printer.warning(&warning);
}

fn exit_code(examined: &Examined, fail_on_empty: bool) -> ExitCode {
    let summary = examined.report.summary;
    if examined.unfinished > 0 {
        ExitCode::INTERRUPTED
    } else if summary.failed + summary.errors > 0 || (fail_on_empty && summary.passed == 0) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn explain(error: ExamineError) -> CommandError {
    let message = CommandError::usage(&error);
    match error {
        ExamineError::Installation(error @ InstallError::NotInstalled { .. }) => {
            common::explain(&error).hint("or name a corpus to test it by itself: `--source DIR`")
        }
        ExamineError::Installation(error) => common::explain(&error),
        ExamineError::Corpus(error) => common::explain(&error.into()),
        ExamineError::Modified { .. } => message
            .hint("`proctor conformance update --force` restores the files")
            .hint("`--source DIR` tests a corpus without an installation"),
        ExamineError::NoCorpus => message.hint(NAME_A_CORPUS),
        ExamineError::UnknownHarness { known, .. } => {
            message.hint(format!("harnesses that can be run: {}", known.join(", ")))
        }
        _ => message,
    }
}
