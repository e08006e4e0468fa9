//! Runs as the runner sees them.

use std::collections::BTreeMap;
use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::Preflight;
use proctor_model::experiment::document::{Contents, document};
use proctor_model::experiment::{Experiment, Variant};
use proctor_model::json::canonical;
use proctor_model::run::{PlannedTrial, TrialRecord};
use proctor_runner::experiment::Shelf;
use proctor_store::runs::{RunWriter, TrialFolder};
use serde::Serialize;
use serde_json::Value;

/// A run on disk.
pub(super) struct Kept<'a> {
    pub(super) writer: &'a RunWriter,
    pub(super) experiment: &'a Experiment,
    pub(super) preflight: &'a Preflight,
    pub(super) contents: Contents,
    /// By id.
    pub(super) variants: BTreeMap<&'a str, &'a Variant>,
}

/// One file that is staged for the agent.
#[derive(Serialize)]
struct Staged<'a> {
    /// Null for a file that nobody declared.
    name: Option<&'a str>,
    dest: &'a str,
    source: Option<&'a Utf8Path>,
    digest: Option<String>,
}

impl Kept<'_> {
    /// What the trial is to be: JSON, which is YAML too.
    fn describe(&self, variant: &Variant, folder: &TrialFolder) -> io::Result<()> {
        let mut text = Vec::new();
        canonical(&document(self.experiment, variant, &self.contents), &mut text);
        let value: Value = serde_json::from_slice(&text)?;
        folder.write_json("resolved-variant.yaml", &value).map_err(io::Error::other)?;
        let declared = variant.staged_files().map(|file| {
            let source = self.preflight.source_of(variant, file);
            (Some(file.name.as_str()), file.dest.as_str(), source)
        });
        let extra = self.preflight.extra.iter();
        let extra = extra.map(|(dest, source)| (None, dest.as_str(), Some(source)));
        let staged: Vec<Staged<'_>> = declared
            .chain(extra)
            .map(|(name, dest, source)| Staged {
                name,
                dest,
                source: source.map(|source| source.host.as_path()),
                digest: source.map(|source| format!("sha256:{}", source.digest)),
            })
            .collect();
        if staged.is_empty() {
            return Ok(());
        }
        folder.write_json("staging.json", &staged).map_err(io::Error::other)
    }
}

impl Shelf for Kept<'_> {
    fn start(&self, trial: &PlannedTrial) -> io::Result<Utf8PathBuf> {
        let folder = self.writer.start(trial).map_err(io::Error::other)?;
        if let Some(variant) = self.variants.get(trial.variant_id.as_str()) {
            self.describe(variant, &folder)?;
        }
        Ok(folder.path().to_owned())
    }

    fn set_aside(&self, trial: &PlannedTrial, usd: f64) -> io::Result<()> {
        self.writer.set_aside(trial, usd).map_err(io::Error::other)
    }

    fn finish(&self, trial: &PlannedTrial, record: &TrialRecord) -> io::Result<()> {
        self.writer.finish(trial, record).map_err(io::Error::other)
    }
}
