//! `proctor transcript show`.

use std::io;

use camino::Utf8PathBuf;
use clap::builder::PossibleValuesParser;
use proctor_harness::{Adapter, RecordingError, adapters, find, read_recording, replay};
use proctor_model::ExitCode;
use proctor_report::{inert, inert_json};

use super::text::Renderer;
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;
use crate::printer::Printer;

/// Arguments of `proctor transcript show`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor transcript show --harness claude session.jsonl
  proctor transcript show --harness codex session.jsonl --format json

FILE is what the agent program printed to standard output: for claude with
`--output-format stream-json --verbose`, for codex with `exec --json`. Values of variables whose
names contain KEY, TOKEN or SECRET, and known shapes of tokens, are redacted.

A recording does not hold the exit of the process: the stream alone decides the outcome.

Exit codes: 0 the recording was read, whatever its outcome; 2 it cannot be read.")]
pub(crate) struct Args {
    /// The agent program that printed the recording.
    #[arg(long, value_name = "NAME", ignore_case = true, value_parser = names())]
    harness: String,
    /// The recording.
    #[arg(value_name = "FILE")]
    file: Utf8PathBuf,
    /// How to print it.
    #[arg(short, long, visible_alias = "output", value_name = "FORMAT", default_value = "text")]
    format: Output,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(adapters().iter().map(|adapter| adapter.id()))
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let adapter = find(&args.harness).ok_or_else(|| {
        CommandError::usage(format!("no agent program is named `{}`", args.harness))
    })?;
    let path = context.cwd.join(&args.file);
    let file = fs_err::File::open(&path)?;
    match args.format {
        Output::Json => json(adapter, file, context),
        Output::Text => text(adapter, file, context),
    }
    .map_err(|error| match error {
        RecordingError::Io(error) => error.into(),
        RecordingError::TooLarge => CommandError::usage(format!("{path}: {error}"))
            .hint("cut it at the end of a line: the start of a recording can be read by itself"),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn json(
    adapter: &dyn Adapter,
    file: fs_err::File,
    context: &Context,
) -> Result<(), RecordingError> {
    let recording = read_recording(adapter, file)?;
    let mut value = serde_json::to_value(&recording.transcript).map_err(io::Error::from)?;
    drop(recording.transcript);
    context.redactor.json(&mut value);
    let json = serde_json::to_string_pretty(&value).map_err(io::Error::from)?;
    context.printer.data(&inert_json(&json))?;
    warn(&recording.warnings, context);
    Ok(())
}

fn text(
    adapter: &dyn Adapter,
    file: fs_err::File,
    context: &Context,
) -> Result<(), RecordingError> {
    let clean = |text: &str| inert(&context.redactor.text(text)).into_owned();
    let renderer = Renderer { styles: context.printer.styles(), clean: Box::new(clean) };
    let mut page = Page { printer: context.printer, text: String::new(), printed: Ok(()) };
    let summary = replay(adapter, file, &mut |event| page.push(&renderer.event(&event)))?;
    page.push(&renderer.ending(&summary));
    page.print();
    page.printed?;
    warn(&summary.warnings, context);
    Ok(())
}

/// Text on its way to standard output, printed in large pieces while a recording is being read.
struct Page {
    printer: Printer,
    text: String,
    printed: io::Result<()>,
}

impl Page {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 64 * 1024 {
            self.print();
        }
    }

    fn print(&mut self) {
        if self.printed.is_ok() {
            self.printed = self.printer.data(&self.text);
        }
        self.text.clear();
    }
}

fn warn(warnings: &[String], context: &Context) {
    for warning in warnings {
        context.printer.warning(&context.redactor.text(warning));
    }
}
