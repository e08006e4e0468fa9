//! `proctor eval lint`.

use camino::Utf8Path;
use clap::ValueEnum;
use proctor_formats::eval::{Evidence, Recorded, inspect, lint};
use proctor_model::eval::{LintReport, LintSeverity};
use proctor_model::{Diagnostic, ExitCode};
use proctor_report::eval as report;
use proctor_store::eval::{Results, ResultsError, Stored};

use super::FAILED;
use super::common::{self, Place};
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor eval lint`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor eval lint
  proctor eval lint --format sarif > evals.sarif
  proctor eval lint --fail-on warning

Which rules are on, and how bad their findings are, is settled under `[lint]` in the configuration
file of ai-rulez or in proctor.toml. Results that your own key did not sign are reported as
unverified; this command never makes a key.

Exit codes: 0 no finding is bad enough; 2 one is; 1 wrong settings or wrong usage.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// How to print the findings.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The severity from which a finding fails [default: `fail_on` of the settings, or error].
    #[arg(long, value_name = "SEVERITY")]
    fail_on: Option<FailOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Info,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let project = args.place.project(context)?;
    let settings = common::settings(&project, context)?;
    let fail_on = match args.fail_on {
        Some(FailOn::Error) => LintSeverity::Error,
        Some(FailOn::Warning) => LintSeverity::Warning,
        Some(FailOn::Info) => LintSeverity::Info,
        None => settings.fail_on,
    };
    let loaded = args.place.try_load(&project, common::load_key(context).as_ref(), context)?;
    let shown = project.shown(&args.place.results(&project, context));
    let skills: Vec<_> = project.skills.iter().collect();
    let inspected = inspect(&project, &skills);
    let findings = match (&loaded.results, loaded.distrust) {
        (Ok(results), None) => {
            let evidence = evidence(results);
            lint(&project, &inspected, Recorded::Records(&evidence), &settings)
        }
        // Who names a key asks for its signature: without it, what the file says counts for nothing.
        (Ok(_), Some(why)) => {
            let diagnostic = Diagnostic::error(why).in_file(shown);
            lint(&project, &inspected, Recorded::Unreadable(&diagnostic), &settings)
        }
        (Err(error), _) => {
            let diagnostic = unreadable(error, &shown);
            lint(&project, &inspected, Recorded::Unreadable(&diagnostic), &settings)
        }
    };
    let report = LintReport::new(skills.len() as u64, findings, fail_on);
    print(&report, args.format, context)?;
    Ok(if report.failed { FAILED } else { ExitCode::SUCCESS })
}

fn evidence<'a>(results: &'a Results) -> Vec<Evidence<'a>> {
    let of = |stored: &'a Stored| Evidence {
        record: stored.record(),
        is_verified: stored.is_believed(),
    };
    results.records().map(of).collect()
}

/// A results file that cannot be read, as a finding says it.
fn unreadable(error: &ResultsError, file: &Utf8Path) -> Diagnostic {
    let message = match error {
        ResultsError::Read { source, .. } | ResultsError::Write { source, .. } => {
            format!("the results file cannot be read: {source}")
        }
        ResultsError::Damaged { reason, .. } => format!("the results file is damaged: {reason}"),
        ResultsError::Version { found, .. } => {
            format!("the results file has schema_version {found}, which is not known")
        }
    };
    Diagnostic::error(message).in_file(file)
}

fn print(report: &LintReport, format: Format, context: &Context) -> Result<(), CommandError> {
    let text = match format {
        Format::Text => report::lint_text(report, &context.printer.styles()),
        Format::Json => report::lint_json(report),
        Format::Sarif => report::lint_sarif(report, env!("CARGO_PKG_VERSION")),
    };
    context.printer.data(&text)?;
    if common::in_github_actions(context) {
        common::annotate(&report::lint_annotations(&report.findings), context);
    }
    Ok(())
}
