//! What the commands under `proctor conformance` share: the choice of a corpus, reports, advice.

use camino::Utf8PathBuf;
use proctor_corpus::{Conflict, ConflictKind, Corpus, CorpusError, InstallError, InstallReport};
use proctor_model::ExitCode;
use proctor_report::{inert, inert_json};
use proctor_runner::conformance::CorpusChoice;
use serde_json::{Value, json};

use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;
use crate::settings::Settings;

/// The way out when no corpus is named anywhere.
pub(super) const NAME_A_CORPUS: &str = "name the corpus with `--source DIR`, the variable \
    CRATIS_AI_SOURCE, or `source` under `[conformance]` in proctor.toml";

/// Where the corpus comes from: `--source`, then `CRATIS_AI_SOURCE`, then proctor.toml.
///
/// Paths stay as they are written, so that reports say the same on every machine.
pub(super) fn choose_corpus(
    source: Option<&Utf8PathBuf>,
    context: &Context,
) -> Result<CorpusChoice, CommandError> {
    Ok(if let Some(path) = source {
        CorpusChoice::Named(path.clone())
    } else if let Some(path) = context.var("CRATIS_AI_SOURCE") {
        CorpusChoice::Environment(path.into())
    } else {
        CorpusChoice::Settings(Settings::load(&context.cwd)?.conformance_source())
    })
}

/// Opens the corpus; `None` when none is named.
pub(super) fn find_corpus(
    source: Option<&Utf8PathBuf>,
    context: &Context,
) -> Result<Option<Corpus>, CommandError> {
    let path = match choose_corpus(source, context)? {
        CorpusChoice::Named(path) | CorpusChoice::Environment(path) => Some(path),
        CorpusChoice::Settings(path) => path,
    };
    path.map(|path| Corpus::open(&path)).transpose().map_err(|error| explain(&error.into()))
}

/// Opens the corpus, which has to be named.
pub(super) fn require_corpus(
    source: Option<&Utf8PathBuf>,
    context: &Context,
) -> Result<Corpus, CommandError> {
    find_corpus(source, context)?
        .ok_or_else(|| CommandError::usage("no corpus is named").hint(NAME_A_CORPUS))
}

/// Prints what an installation or removal did, and refuses when something stood in the way.
pub(super) fn print_report(
    report: &InstallReport,
    output: Output,
    context: &Context,
) -> Result<ExitCode, CommandError> {
    match output {
        Output::Json => print_json(json_report(report), context)?,
        Output::Text => {
            let lines: String = report.actions.iter().flat_map(|line| [line, "\n"]).collect();
            print_text(&lines, context)?;
        }
    }
    let clean = |text: &str| context.redactor.text(text).into_owned();
    for server in &report.unsupported_mcp_servers {
        context.printer.warning(&clean(&format!("MCP server not registered: {server}")));
    }
    for note in &report.notes {
        context.printer.note(&clean(note));
    }
    if !report.conflicts.is_empty() {
        return Err(refusal(&report.conflicts, context));
    }
    if report.actions.is_empty() {
        context.printer.note("there is nothing to do");
    } else if report.dry_run {
        context.printer.note("dry run: nothing was changed");
    }
    Ok(ExitCode::SUCCESS)
}

/// The report as programs read it.
fn json_report(report: &InstallReport) -> Value {
    let conflicts: Vec<_> = report.conflicts.iter().map(|conflict| &conflict.path).collect();
    json!({
        "actions": report.actions,
        "conflicts": conflicts,
        "unsupportedMcpServers": report.unsupported_mcp_servers,
        "dryRun": report.dry_run,
    })
}

/// Prints a JSON document to standard output.
pub(super) fn print_json(mut value: Value, context: &Context) -> Result<(), CommandError> {
    context.redactor.json(&mut value);
    let text = serde_json::to_string_pretty(&value).map_err(std::io::Error::from)?;
    Ok(context.printer.data(&(inert_json(&text) + "\n"))?)
}

/// Prints lines to standard output.
pub(super) fn print_text(text: &str, context: &Context) -> Result<(), CommandError> {
    Ok(context.printer.data(&inert(&context.redactor.text(text)))?)
}

fn refusal(conflicts: &[Conflict], context: &Context) -> CommandError {
    let mut message = "nothing was changed, because of".to_owned();
    for conflict in conflicts {
        message.push_str("\n  ");
        message.push_str(&conflict.to_string());
    }
    let error = CommandError::usage(context.redactor.text(&message));
    let is = |kind| conflicts.iter().any(|conflict| conflict.kind == kind);
    if is(ConflictKind::Changed) {
        error.hint("`--force` replaces them; `proctor conformance status` says how they differ")
    } else if is(ConflictKind::NotOurs) {
        error.hint("move them away; `--force` never replaces what no installation made")
    } else {
        error.hint("remove or rename these entries; `--force` never replaces them")
    }
}

/// An error of the installer with advice.
pub(super) fn explain(error: &InstallError) -> CommandError {
    let message = CommandError::usage(error);
    match error {
        InstallError::NotInstalled { .. } => {
            message.hint("install a slice first: `proctor conformance install --help`")
        }
        InstallError::CutOff { .. } => message
            .hint("`proctor conformance update` goes back to the state before it and starts again"),
        InstallError::Busy { .. } => message.hint("wait until it has finished"),
        InstallError::Corpus(CorpusError::NotACorpus { .. }) => {
            message.hint("name the root of a corpus checkout")
        }
        _ => message,
    }
}

/// The items of comma-separated lists, trimmed; empty ones are dropped.
pub(super) fn items(lists: &[String]) -> Vec<String> {
    lists.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
}
