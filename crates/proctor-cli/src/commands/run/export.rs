//! `proctor run export`.

use std::io::{self, BufWriter, Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use clap::builder::PossibleValuesParser;
use proctor_exchange::export::{ExportError, Format, Lost, Writer, formats};
use proctor_exchange::run::{Run, Trial};
use proctor_model::ExitCode;
use proctor_store::runs::Found;

use super::find::find;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run export`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run export latest --format jsonl > run.jsonl
  proctor run export latest --format parquet --output tables
  proctor run export greetings-01J --format eval
  proctor run export TRIAL --format atif > trajectory.json
  proctor run export latest --format otlp --output traces.jsonl

  jsonl    everything, as a stream of JSON lines that `proctor run import` reads
  parquet  a folder of tables in Parquet, one file each
  eval     logs of inspect, one for each agent and model
  atif     trajectories in ATIF, one a trial
  otlp     traces of OpenTelemetry in JSON, one trial a line

What is one text goes to standard output unless `--output` names a file; archives, tables and
several documents go to a file or folder of the current folder, called after the run. Nothing that
exists is overwritten. What a format cannot hold is counted on standard error. Only finished trials
are written.

Exit codes: 0; 2 there is no such run, or it cannot be written.")]
pub(crate) struct Args {
    /// The run, or a trial of it.
    #[arg(value_name = "ID", default_value = "latest")]
    id: String,
    /// In which format.
    #[arg(short, long, value_name = "FORMAT", value_parser = names())]
    format: String,
    /// Where to; a folder for formats of several files.
    #[arg(short, long, value_name = "PATH")]
    output: Option<Utf8PathBuf>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(formats().iter().map(|format| format.name))
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let found = find(&args.id, context)?;
    if found.run.worker.is_some() {
        context
            .printer
            .note("it is still running: the trials that are finished by now are written");
    }
    let run = source(found)?;
    if run.trials.is_empty() {
        let message = format!("run {} has no finished trial", run.plan.run_id);
        return Err(CommandError::usage(message));
    }
    let format = formats()
        .iter()
        .find(|format| format.name == args.format)
        .ok_or_else(|| CommandError::usage(format!("there is no format `{}`", args.format)))?;
    let lost = write(format, &run, args.output.as_deref(), context)?;
    if !lost.is_empty() {
        let kinds = lost.kinds().collect::<Vec<_>>().join(", ");
        context.printer.note(&format!("left out, since {} cannot hold it: {kinds}", format.name));
    }
    Ok(ExitCode::SUCCESS)
}

fn source(found: Found) -> Result<Run, CommandError> {
    let Found { run, trial } = found;
    let experiment = run.experiment().ok();
    let experiment = experiment.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut plan = run.plan.clone();
    if let Some(trial) = trial {
        plan.trials = vec![trial];
    }
    let mut trials = Vec::new();
    for planned in &plan.trials {
        if let Some(record) = run.record(planned).map_err(CommandError::usage)? {
            trials.push(Trial { planned: planned.clone(), record });
        }
    }
    Ok(Run { folder: run.folder, plan, experiment, trials })
}

fn write(
    format: &Format,
    run: &Run,
    output: Option<&Utf8Path>,
    context: &Context,
) -> Result<Lost, CommandError> {
    let redactor = &context.redactor;
    let default = |ending: &str| Utf8PathBuf::from(format!("{}{ending}", run.plan.run_id));
    match &format.writer {
        Writer::Text { write } => to(output, context, &mut |out| write(run, redactor, out)),
        Writer::Documents { names, write, is_text } => {
            let names = names(run);
            if names.len() == 1 {
                let named = default(&format!(".{}", format.name));
                let output = output.or_else(|| (!is_text).then_some(named.as_path()));
                return to(output, context, &mut |out| write(run, 0, redactor, out));
            }
            let named = default(&format!("-{}", format.name));
            let folder = context.cwd.join(output.unwrap_or(&named));
            let lost = to_folder(&folder, || {
                let mut lost = Lost::default();
                for (place, name) in names.iter().enumerate() {
                    let path = folder.join(name);
                    lost.extend(to_file(&path, &mut |out| write(run, place, redactor, out))?);
                }
                Ok(lost)
            })?;
            context.printer.note(&format!("{} files are in {folder}", names.len()));
            Ok(lost)
        }
        Writer::Folder { write } => {
            let named = default(&format!("-{}", format.name));
            let folder = context.cwd.join(output.unwrap_or(&named));
            let lost =
                to_folder(&folder, || write(run, redactor, &folder).map_err(CommandError::usage))?;
            context.printer.note(&format!("the tables are in {folder}"));
            Ok(lost)
        }
    }
}

type Write<'a> = &'a mut dyn FnMut(&mut dyn io::Write) -> Result<Lost, ExportError>;

/// Writes to a file, or to standard output when none is named.
fn to(
    output: Option<&Utf8Path>,
    context: &Context,
    write: Write<'_>,
) -> Result<Lost, CommandError> {
    if let Some(path) = output {
        let path = context.cwd.join(path);
        let lost = to_file(&path, write)?;
        context.printer.note(&format!("it is in {path}"));
        return Ok(lost);
    }
    let mut lost = Ok(Lost::default());
    context.printer.bytes(|out| {
        let mut out = BufWriter::new(out);
        lost = write(&mut out);
        match &lost {
            Ok(_) => out.flush(),
            // A reader that has gone is no failure.
            Err(ExportError::Io(error)) => Err(io::Error::new(error.kind(), error.to_string())),
            Err(_) => Ok(()),
        }
    })?;
    match lost {
        Err(ExportError::Io(_)) => Ok(Lost::default()),
        lost => lost.map_err(CommandError::usage),
    }
}

/// Writes a file that is new and whole, or none.
fn to_file(path: &Utf8Path, write: Write<'_>) -> Result<Lost, CommandError> {
    let file = fs_err::OpenOptions::new().write(true).create_new(true).open(path.as_std_path())?;
    let mut out = BufWriter::new(file);
    let written = write(&mut out).map_err(CommandError::usage).and_then(|lost| {
        out.flush()?;
        Ok(lost)
    });
    if written.is_err() {
        // Half a file would pass for a whole one.
        fs_err::remove_file(path)?;
    }
    written
}

/// Writes a folder that is new and has all of its files, or none.
fn to_folder(
    path: &Utf8Path,
    write: impl FnOnce() -> Result<Lost, CommandError>,
) -> Result<Lost, CommandError> {
    fs_err::create_dir(path).map_err(|error| {
        CommandError::from(error).hint("name a folder that is not there yet: `--output PATH`")
    })?;
    let written = write();
    if written.is_err() {
        fs_err::remove_dir_all(path)?;
    }
    written
}
