//! `proctor conformance status`.

use std::fmt::Write as _;

use camino::Utf8PathBuf;
use proctor_corpus::{Change, Modified, Status};
use proctor_model::ExitCode;
use serde_json::{Value, json};

use super::common::{explain, find_corpus, print_json, print_text};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor conformance status`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor conformance status
  proctor conformance status --source ../AI --output json

Changes nothing. With a corpus at hand its revision is compared with the installed one; another
revision may leave this project's files as they are.

`line endings only` means that a file is as it was installed but for `\\r\\n` line ends, which git
writes when `core.autocrlf` is set.

Exit codes: 0 everything is as it was installed; 1 something was changed; 2 not installed, wrong
usage or an error.")]
pub(crate) struct Args {
    /// Corpus to compare with; without it `CRATIS_AI_SOURCE`, then `source` in proctor.toml.
    #[arg(long, value_name = "DIR")]
    source: Option<Utf8PathBuf>,
    /// How to print it.
    #[arg(short, long, visible_alias = "format", value_name = "FORMAT", default_value = "text")]
    output: Output,
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let corpus = find_corpus(args.source.as_ref(), context)?;
    let status =
        proctor_corpus::status(&context.cwd, corpus.as_ref()).map_err(|error| explain(&error))?;
    match args.output {
        Output::Json => print_json(json_status(&status), context)?,
        Output::Text => print_text(&text_status(&status), context)?,
    }
    for warning in &status.config.warnings {
        context.printer.warning(&context.redactor.text(warning));
    }
    for server in &status.unsupported_mcp_servers {
        let warning = format!("MCP server not registered: {server}");
        context.printer.warning(&context.redactor.text(&warning));
    }
    if status.modified.iter().any(|modified| modified.kind == Change::LineEndingsOnly) {
        context.printer.note(
            "git writes `\\r\\n` when `core.autocrlf` is set; the line `.cratis/ai/** -text` in \
             .gitattributes stops it",
        );
    }
    Ok(if status.modified.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn json_status(status: &Status) -> Value {
    let selection = &status.config.selection;
    let listed: Vec<_> = status.modified.iter().map(Modified::listed).collect();
    let changes: Vec<_> = status
        .modified
        .iter()
        .map(|modified| json!({"path": modified.path, "kind": kind(modified.kind)}))
        .collect();
    json!({
        "harnesses": selection.harnesses,
        "profiles": selection.profiles,
        "languages": selection.languages,
        "sourceRevision": status.revision,
        "availableSourceRevision": status.available_revision,
        "updateAvailable": status.update_available,
        "modifiedFiles": listed,
        "changes": changes,
        "mcpServers": status.mcp_servers,
        "mcpExtensions": status.mcp_extensions,
        "unsupportedMcpServers": status.unsupported_mcp_servers,
    })
}

/// The kind of a change as programs read it.
fn kind(change: Change) -> &'static str {
    match change {
        Change::Modified => "modified",
        Change::Missing => "missing",
        Change::LineEndingsOnly => "lineEndingsOnly",
        Change::LinkChanged => "linkChanged",
        Change::McpEntryChanged => "mcpEntryChanged",
        Change::McpSettingDiffers => "mcpSettingDiffers",
    }
}

fn text_status(status: &Status) -> String {
    let selection = &status.config.selection;
    let list = |values: &[String], none: &str| match values {
        [] => none.to_owned(),
        values => values.join(", "),
    };
    let available = match (&status.available_revision, status.update_available) {
        (Some(revision), Some(true)) => format!(" (the corpus is at {revision})"),
        (Some(_), Some(false)) => " (the same as the corpus)".to_owned(),
        _ => String::new(),
    };
    let mut text = format!(
        "revision   {}{available}\nprofiles   {}\nharnesses  {}\nlanguages  {}\n",
        status.revision,
        list(&selection.profiles, "none"),
        list(&selection.harnesses, "none"),
        list(&selection.languages, "any"),
    );
    let mcp: Vec<_> = status.mcp_servers.iter().chain(&status.mcp_extensions).cloned().collect();
    if !mcp.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "MCP        {}", mcp.join(", "));
    }
    match status.modified.as_slice() {
        [] => text.push_str("changed    nothing\n"),
        modified => {
            let _ = writeln!(text, "changed    {}", modified.len());
            for Modified { path, kind } in modified {
                let _ = writeln!(text, "  {path}: {}", kind.as_str());
            }
        }
    }
    text
}
