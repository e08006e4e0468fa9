//! Writes the files of the repository that follow from the code: JSON Schemas and the reference of
//! the command line. `--check` compares instead and fails on a difference.

mod reference;
mod tables;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

fn files() -> Vec<(&'static str, String)> {
    vec![
        ("contracts/fixture-run.v1.schema.json", json(&proctor_formats::fixture_run::schema())),
        ("docs/reference/cli.md", reference::markdown(proctor_cli::command())),
        ("docs/reference/evidence.md", tables::markdown()),
        ("schemas/attack-report.schema.json", json(&proctor_report::attack::schema())),
        ("schemas/conformance-fixture.schema.json", json(&proctor_formats::conformance::schema())),
        ("schemas/conformance-report.schema.json", json(&proctor_report::conformance::schema())),
        ("schemas/eval-activation.schema.json", json(&proctor_report::eval::activation_schema())),
        (
            "schemas/eval-activation-comparison.schema.json",
            json(&proctor_report::eval::comparison_schema()),
        ),
        ("schemas/eval-case.schema.json", json(&proctor_formats::eval::case_schema())),
        ("schemas/eval-calibration.schema.json", json(&proctor_report::eval::calibration_schema())),
        (
            "schemas/eval-import.schema.json",
            json(&proctor_formats::eval::import::ImportReport::schema()),
        ),
        ("schemas/eval-lint.schema.json", json(&proctor_report::eval::lint_schema())),
        ("schemas/eval-list.schema.json", json(&proctor_report::eval::listing_schema())),
        ("schemas/eval-recommendations.schema.json", json(&proctor_report::eval::advice_schema())),
        ("schemas/eval-report.schema.json", json(&proctor_report::eval::run_schema())),
        ("schemas/eval-search.schema.json", json(&proctor_report::eval::search_schema())),
        ("schemas/judge-calibration.schema.json", json(&proctor_report::judge::schema())),
        ("schemas/experiment.v2.schema.json", json(&proctor_formats::experiment::schema())),
        (
            "schemas/experiment-findings.schema.json",
            json(&proctor_report::experiment::findings_schema()),
        ),
        (
            "schemas/harness-event.schema.json",
            json(&proctor_report::experiment::harness_event_schema()),
        ),
        ("schemas/experiment-run.schema.json", json(&proctor_report::experiment::run_schema())),
        ("schemas/experiment-runs.schema.json", json(&proctor_report::experiment::runs_schema())),
        ("schemas/run-stream.schema.json", json(&proctor_exchange::stream::schema())),
        ("schemas/run-verify.schema.json", json(&proctor_report::experiment::verify_schema())),
        (
            "schemas/experiment-variants.schema.json",
            json(&proctor_report::experiment::variants_schema()),
        ),
        ("schemas/comparison.schema.json", json(&proctor_report::measure::comparison_schema())),
        ("schemas/metrics.schema.json", json(&proctor_report::measure::metrics_schema())),
        ("schemas/power.schema.json", json(&proctor_report::measure::power_schema())),
        ("schemas/score-report.schema.json", json(&proctor_report::score::schema())),
    ]
}

fn json(schema: &Value) -> String {
    format!("{schema:#}\n")
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("the crate lies two levels below the root").to_owned()
}

/// The files that differ from what is in the repository.
fn stale() -> Vec<(&'static str, String)> {
    let mut files = files();
    files.retain(|(path, text)| {
        fs_err::read_to_string(root().join(path)).ok().as_ref() != Some(text)
    });
    files
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]
fn main() -> ExitCode {
    let check = match env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(_) => {
            eprintln!("usage: cargo xtask codegen [--check]");
            return ExitCode::FAILURE;
        }
    };
    let stale = stale();
    for (path, text) in &stale {
        if check {
            eprintln!("{path} is not what the code says; `cargo xtask codegen` writes it anew");
        } else if let Err(error) = write(path, text) {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        } else {
            println!("wrote {path}");
        }
    }
    if check && !stale.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn write(path: &str, text: &str) -> std::io::Result<()> {
    let path = root().join(path);
    if let Some(directory) = path.parent() {
        fs_err::create_dir_all(directory)?;
    }
    fs_err::write(path, text)
}
