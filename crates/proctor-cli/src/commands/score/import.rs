//! `proctor score import`.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use proctor_formats::fixture_run;
use proctor_formats::fixture_run::import::{IMPORTERS, Imported, Input, importer};
use proctor_model::ExitCode;
use proctor_model::recorded::run;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor score import`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor score import --from longmemeval questions.json hypotheses.jsonl > runs.jsonl
  proctor score import --from locomo locomo10.json answers.jsonl > runs.jsonl
  proctor score import --from promptfoo results.json --category forgetting > runs.jsonl

NAME        FILE                                 ANSWERS
longmemeval [{question_id, question, answer}]    a line {question_id, hypothesis} each
locomo      [{sample_id, qa: [...]}], or         a line {question, answer, sample_id?} each
            [{question, answer, golden_answer}]  none: they are in FILE
promptfoo   what `--output results.json` wrote   none: they are in FILE

Prints a run a line. What does not map, or not as it was meant, is listed on standard error.

Exit codes: 0 the file was read; 3 it cannot be read, or wrong usage.")]
pub(crate) struct Args {
    /// What the file is.
    #[arg(long, value_name = "NAME", value_parser = names())]
    from: String,
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The file with the answers, where they are not in the first.
    #[arg(value_name = "ANSWERS")]
    answers: Option<PathBuf>,
    /// The category of what does not tell its own.
    #[arg(long, value_name = "CATEGORY")]
    category: Option<Category>,
    /// The kind of what does not tell its own.
    #[arg(long, value_name = "KIND")]
    kind: Option<Kind>,
}

/// How many characters of what did not map are shown, since some of it is text of strangers.
const LISTED: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Category {
    Forgetting,
    Chronology,
    EntityConfusion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Positive,
    Negative,
    Malformed,
    MissingData,
    Adversarial,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(IMPORTERS.iter().map(|importer| importer.name))
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let importer = importer(&args.from)
        .ok_or_else(|| CommandError::usage(format!("no importer is named `{}`", args.from)))?;
    let mut file = BufReader::new(open(&args.file, context)?);
    let answers = args.answers.as_ref().map(|path| open(path, context)).transpose()?;
    let mut answers = answers.map(BufReader::new);
    let input = Input {
        file: &mut file,
        answers: answers.as_mut().map(|answers| answers as _),
        category: args.category.map(category),
        kind: args.kind.map(kind),
    };
    let imported = importer.import(input).map_err(|error| {
        CommandError::usage(format!("{}: {error}", args.file.display()))
            .hint(format!("importer `{}` reads {}", importer.name, importer.reads))
    })?;
    let Imported { runs, unmapped } = imported;
    context.printer.bytes(|out| {
        for run in &runs {
            serde_json::to_writer(&mut *out, run)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    })?;
    for entry in &unmapped {
        let line = format!("{}: {}", entry.place, entry.what);
        context.printer.note(&proctor_report::one_line(&line, LISTED));
    }
    let (runs, unmapped) = (runs.len(), unmapped.len());
    context.printer.note(&format!("runs: {runs}; not mapped, or not as it was meant: {unmapped}"));
    Ok(ExitCode::SUCCESS)
}

fn open(path: &Path, context: &Context) -> Result<std::fs::File, CommandError> {
    fixture_run::open(&context.cwd.as_std_path().join(path))
        .map_err(|violation| CommandError::usage(format!("{}: {violation}", path.display())))
}

fn category(category: Category) -> run::Category {
    match category {
        Category::Forgetting => run::Category::Forgetting,
        Category::Chronology => run::Category::Chronology,
        Category::EntityConfusion => run::Category::EntityConfusion,
    }
}

fn kind(kind: Kind) -> run::Kind {
    match kind {
        Kind::Positive => run::Kind::Positive,
        Kind::Negative => run::Kind::Negative,
        Kind::Malformed => run::Kind::Malformed,
        Kind::MissingData => run::Kind::MissingData,
        Kind::Adversarial => run::Kind::Adversarial,
    }
}
