//! `proctor demo`.

use std::num::NonZeroUsize;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_corpus::Compat;
use proctor_model::conformance::report::Report;
use proctor_model::{CheckStatus, ExitCode};
use proctor_runner::conformance::plan::HarnessMode;
use proctor_runner::conformance::{CorpusChoice, Options};

use super::conformance::test::{execute, print};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor demo`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor demo
  TMPDIR=/var/tmp proctor demo

Needs no credentials, no agent program and no network. The last lines say where the sample project
and its report lie, and how to test it once more. The folder stays; remove it when you are done.

Exit codes: 0 the sample gave the results that it is there to show; 101 it gave others, which is a
bug in Proctor; 2 it could not be run; 130 interrupted.")]
pub(crate) struct Args {}

/// The files of the sample, and what they hold.
macro_rules! sample {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../demo/", $path)))),+]
    };
}

const SAMPLE: &[(&str, &str)] = sample![
    "corpus/.cratis/ai/manifest.json",
    "corpus/.cratis/ai/profile-catalog.json",
    "corpus/.cratis/ai/hooks/settings.template.json",
    "corpus/.cratis/ai/rules/general.md",
    "corpus/.cratis/ai/rules/notes.md",
    "corpus/.cratis/ai/skills/write-note/SKILL.md",
    "corpus/Evaluations/conformance/follows-the-rules/fixture.json",
    "corpus/Evaluations/conformance/follows-the-rules/agent.yaml",
    "corpus/Evaluations/conformance/follows-the-rules/input/notes/old.md",
    "corpus/Evaluations/conformance/forgets-the-status/fixture.json",
    "corpus/Evaluations/conformance/forgets-the-status/agent.yaml",
    "corpus/Evaluations/conformance/loses-its-provider/fixture.json",
    "corpus/Evaluations/conformance/loses-its-provider/agent.yaml",
];

/// What the sample is there to show: a pass, a failure of the agent, a failure of its provider.
const EXPECTED: [(&str, CheckStatus); 3] = [
    ("follows-the-rules", CheckStatus::Passed),
    ("forgets-the-status", CheckStatus::Failed),
    ("loses-its-provider", CheckStatus::Error),
];

pub(crate) fn run(_: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let folder = lay_out(&context.temporary)?;
    let examined = execute(&options(&folder), None, context)?;
    if examined.unfinished > 0 {
        return Ok(ExitCode::INTERRUPTED);
    }
    let report = examined.report;
    context
        .printer
        .note("Three fixtures with the built-in scripted agent: one keeps the rules, one");
    context.printer.note("forgets one, and one loses its model provider, which proves nothing.\n");
    print(&report, Output::Text, context)?;
    let file = folder.join("report.json");
    fs_err::write(file.as_std_path(), proctor_report::conformance::render_json(&report))?;
    context.printer.note(&format!("\nsample project  {folder}"));
    context.printer.note(&format!("report          {file}"));
    context.printer.note(&format!(
        "again           cd {folder} && proctor conformance test --source corpus --harnesses scripted"
    ));
    if shown(&report) { Ok(ExitCode::SUCCESS) } else { Ok(ExitCode::BUG) }
}

/// Whether the demo showed what it is there to show.
fn shown(report: &Report) -> bool {
    let found = report.results.iter().map(|result| (result.fixture.as_str(), result.status));
    found.eq(EXPECTED)
}

fn lay_out(temporary: &Utf8Path) -> Result<Utf8PathBuf, CommandError> {
    let folder = tempfile::Builder::new().prefix("proctor-demo-").tempdir_in(temporary)?.keep();
    let folder = Utf8PathBuf::from_path_buf(folder)
        .map_err(|path| CommandError::usage(format!("{} is not UTF-8", path.display())))?;
    for (path, text) in SAMPLE {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent.as_std_path())?;
        }
        fs_err::write(path.as_std_path(), text)?;
    }
    Ok(folder)
}

fn options(folder: &Utf8Path) -> Options {
    Options {
        project: folder.to_owned(),
        corpus: CorpusChoice::Named(folder.join("corpus")),
        fixtures_root: None,
        harnesses: Some(vec!["scripted".to_owned()]),
        fixtures: Vec::new(),
        harness_mode: HarnessMode::Run,
        compat: Compat::Proctor,
        timeout: None,
        max_budget_usd: None,
        first_output: Duration::from_mins(1),
        between_output: Duration::from_mins(1),
        slots: NonZeroUsize::MIN,
        keep_transcripts: false,
    }
}
