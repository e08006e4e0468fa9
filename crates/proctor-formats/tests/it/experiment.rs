//! Experiments: reading, rules, variants, notes, the disk.

mod disk;
mod matrix;
mod migrate;
mod notes;
mod rules;
mod schema;
mod shared;
mod values;

use camino::Utf8Path;
use proctor_formats::experiment::{Reading, read, resolve};
use proctor_model::experiment::document::Contents;
use proctor_model::experiment::{Experiment, Variant};

/// The axes that an experiment needs.
const AXES: &str = "agents: claude\nprompts: [Do it.]\n";

/// Reads `text` as `x.yaml`.
fn reading(text: &str) -> Reading {
    read(Utf8Path::new("x.yaml"), text.as_bytes())
}

/// The findings of `text`, one a line, without the file's name.
fn findings(text: &str) -> String {
    lines(&reading(text).findings)
}

fn lines(findings: &[proctor_model::experiment::Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let line = finding.to_string();
        line.strip_prefix("x.yaml:").unwrap_or(&line).to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// An experiment with the id `x` and `rest`, which begins in line 4; then one test and a limit.
fn with(rest: &str) -> String {
    format!(
        "schema_version: 2\nid: x\nname: X\n{}\n\
         tests:\n  - name: t\n    script: test -f /workspace/a\nlimits:\n  max_time_seconds: 60\n",
        rest.trim_end()
    )
}

/// An experiment with one agent, one prompt and a test with this script.
fn with_script(script: &str) -> String {
    let indented = script.replace('\n', "\n      ");
    format!(
        "schema_version: 2\nid: x\nname: X\n{AXES}tests:\n  - name: t\n    script: |\n      {indented}\n\
         limits:\n  max_time_seconds: 60\n"
    )
}

/// What a file that is right declares.
fn experiment(text: &str) -> Experiment {
    let reading = reading(text);
    reading.experiment.unwrap_or_else(|| panic!("{}", lines(&reading.findings)))
}

/// The variants of a file that is right.
fn variants(text: &str) -> Vec<Variant> {
    resolve(&experiment(text), &Contents::default())
}

/// Their ids.
fn ids(text: &str) -> Vec<String> {
    variants(text).into_iter().map(|variant| variant.id.to_string()).collect()
}
