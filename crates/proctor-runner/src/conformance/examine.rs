//! `proctor conformance test` as a library call: from options to a report.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroUsize;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use nix::unistd::getuid;
use proctor_corpus::{Compat, Corpus, CorpusError, InstallError, Modified, ProjectConfig};
use proctor_formats::conformance::{DiscoverError, Discovery, discover};
use proctor_model::conformance::report::{Mode, Report, Selection, Source};
use proctor_model::{Diagnostic, nearest};
use proctor_redact::Redactor;
use proctor_sandbox::{Cancel, Launcher, RoomError, Rooms};

use super::plan::{Candidate, HarnessMode, Planned, Request, Selections, plan};
use super::run::{Event, Settings, run};
use super::transcript::transcript_folder;
use crate::archive::Archive;

/// The folder of fixtures in a corpus.
const FIXTURES: &str = "Evaluations/conformance";

/// What the user asked for.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project that is tested; never changed.
    pub project: Utf8PathBuf,
    /// The corpus, and how it was named.
    pub corpus: CorpusChoice,
    /// Replaces the corpus's own folder of fixtures.
    pub fixtures_root: Option<Utf8PathBuf>,
    /// Harness ids as written; `None` takes the default of the mode.
    pub harnesses: Option<Vec<String>>,
    /// Fixture names; empty means all.
    pub fixtures: Vec<String>,
    /// Whether harnesses are run at all.
    pub harness_mode: HarnessMode,
    /// Whose rule selection applies to an empty list of languages.
    pub compat: Compat,
    /// Lowers, never raises, each fixture's timeout.
    pub timeout: Option<Duration>,
    /// Lowers, never raises, each fixture's budget in US dollars.
    pub max_budget_usd: Option<f64>,
    /// How long a harness may be silent before its first output.
    pub first_output: Duration,
    /// How long a harness may be silent between outputs.
    pub between_output: Duration,
    /// How many trials run side by side.
    pub slots: NonZeroUsize,
    /// Whether redacted transcripts are kept.
    pub keep_transcripts: bool,
}

/// Where the corpus is, and who said so. The first two are source mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorpusChoice {
    /// `--source`.
    Named(Utf8PathBuf),
    /// The environment variable `CRATIS_AI_SOURCE`.
    Environment(Utf8PathBuf),
    /// The project's own settings: normal mode, against a clean installation.
    Settings(Option<Utf8PathBuf>),
}

/// What a run needs of the machine.
pub struct Machine<'a> {
    /// The environment of harnesses and command checks.
    pub env: &'a BTreeMap<String, String>,
    /// Applied to everything that is kept or reported.
    pub redactor: &'a Redactor,
    /// Ends the run early.
    pub cancel: &'a Cancel,
    /// The folder for temporary files.
    pub temporary: &'a Utf8Path,
    /// The `proctor` program itself: launcher and scripted agent.
    pub proctor: &'a Utf8Path,
    /// Keeps the sessions.
    pub archive: Option<&'a dyn Archive>,
}

/// What a run found.
#[derive(Debug)]
pub struct Examined {
    /// The report.
    pub report: Report,
    /// How many planned trials did not finish because the run was cancelled.
    pub unfinished: usize,
    /// Fixture names that were asked for and are not there.
    pub unknown_fixtures: Vec<String>,
    /// Every fixture name that is there.
    pub known_fixtures: Vec<String>,
}

/// Why there is no report: usage and installation errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExamineError {
    /// Normal mode with an installation that was changed.
    #[error("the installation was changed:\n{}", list(.modified))]
    Modified {
        /// What was changed.
        modified: Vec<Modified>,
    },
    /// Nobody says where the corpus is.
    #[error("no corpus: nothing says where the guidance comes from")]
    NoCorpus,
    /// The corpus is at fault.
    #[error(transparent)]
    Corpus(#[from] CorpusError),
    /// The project's files are at fault, or nothing is installed in normal mode.
    #[error(transparent)]
    Installation(#[from] InstallError),
    /// The fixtures cannot be looked through.
    #[error(transparent)]
    Fixtures(#[from] DiscoverError),
    /// A harness that no adapter runs.
    #[error("unknown harness `{harness}`{}", suggestion(.nearest.as_deref()))]
    UnknownHarness {
        /// As written.
        harness: String,
        /// The nearest known id.
        nearest: Option<String>,
        /// Every known id.
        known: Vec<String>,
    },
    /// Workspaces cannot be made.
    #[error(transparent)]
    Rooms(#[from] RoomError),
    /// The folder for transcripts cannot be made.
    #[error("no folder for transcripts: {0}")]
    Transcripts(#[from] io::Error),
}

fn list(modified: &[Modified]) -> String {
    modified.iter().map(|m| format!("  {m}")).collect::<Vec<_>>().join("\n")
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// Everything that is known before anything is run.
struct Prepared {
    mode: Mode,
    corpus: Corpus,
    source_kind: &'static str,
    discovery: Discovery,
    planned: Vec<Planned>,
}

impl Prepared {
    /// Likely slips in the root, and in the valid fixtures that are planned; mistakes of invalid
    /// ones stand in their results.
    fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        let planned: BTreeSet<usize> =
            self.planned.iter().map(|planned| planned.candidate).collect();
        let fixtures =
            planned.into_iter().map(|candidate| &self.discovery.fixtures[candidate].parsed);
        let valid = fixtures.filter(|parsed| parsed.fixture.is_some());
        self.discovery.warnings.0.iter().chain(valid.flat_map(|parsed| &parsed.diagnostics.0))
    }
}

/// Plans and runs, and tells `observe` what happens; the plan's length comes first.
pub fn examine(
    options: &Options,
    machine: &Machine<'_>,
    observe: &mut dyn FnMut(Progress),
) -> Result<Examined, ExamineError> {
    let prepared = prepare(options)?;
    observe(Progress::Planned(prepared.planned.len()));
    let rooms = Rooms::open(&machine.temporary.join(format!("proctor-{}", getuid())))?;
    let reaped = rooms.reap()?;
    let transcripts = match (options.keep_transcripts, options.harness_mode) {
        (true, HarnessMode::Run) => Some(transcript_folder(machine.temporary)?),
        _ => None,
    };
    let settings = Settings {
        harness_mode: options.harness_mode,
        corpus: &prepared.corpus,
        compat: options.compat,
        launcher: &Launcher::new(machine.proctor.as_std_path()),
        rooms: &rooms,
        env: machine.env,
        redactor: machine.redactor,
        cancel: machine.cancel,
        slots: options.slots,
        timeout: options.timeout,
        max_budget_usd: options.max_budget_usd,
        first_output: options.first_output,
        between_output: options.between_output,
        transcripts: transcripts.as_deref(),
        proctor: machine.proctor,
        archive: machine.archive,
    };
    let fixtures = &prepared.discovery.fixtures;
    let mut tell = |event| observe(Progress::Event(event));
    let finished = run(&settings, fixtures, &prepared.planned, &mut tell);

    let mut warnings: Vec<String> = prepared.warnings().map(ToString::to_string).collect();
    warnings.extend(reaped.failures.iter().map(|failure| format!("left over: {failure}")));
    warnings.extend(finished.notes);
    if finished.unfinished > 0 {
        let planned = prepared.planned.len();
        warnings
            .push(format!("interrupted: {} of {planned} runs did not finish", finished.unfinished));
    }
    let source =
        Source { kind: prepared.source_kind.to_owned(), revision: prepared.corpus.revision() };
    let known_fixtures: Vec<String> = fixtures.iter().map(|f| f.name.clone()).collect();
    let unknown = |name: &&String| !known_fixtures.contains(name);
    Ok(Examined {
        report: Report::new(
            prepared.mode,
            source,
            machine.redactor.skipped(),
            warnings,
            finished.results,
        ),
        unfinished: finished.unfinished,
        unknown_fixtures: options.fixtures.iter().filter(unknown).cloned().collect(),
        known_fixtures,
    })
}

/// What is told while a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// How many trials are planned.
    Planned(usize),
    /// Something happened in one.
    Event(Event),
}

fn prepare(options: &Options) -> Result<Prepared, ExamineError> {
    let config = proctor_corpus::project_config(&options.project)?;
    let (selections, source_kind, path) = match &options.corpus {
        CorpusChoice::Named(path) => (Selections::AsDeclared, "path", path),
        CorpusChoice::Environment(path) => (Selections::AsDeclared, "environment", path),
        CorpusChoice::Settings(path) => {
            proctor_corpus::check_clean(&options.project)?
                .map_err(|modified| ExamineError::Modified { modified })?;
            let path = path.as_ref().ok_or(ExamineError::NoCorpus)?;
            (Selections::Intersect, "settings", path)
        }
    };
    check_harnesses(options)?;
    let corpus = Corpus::open(path)?;
    let root = options.fixtures_root.clone().unwrap_or_else(|| path.join(FIXTURES));
    let discovery = discover(&root)?;
    let request = request(options, selections, config, &corpus);
    let candidates: Vec<Candidate<'_>> = discovery
        .fixtures
        .iter()
        .map(|entry| Candidate { name: &entry.name, fixture: entry.parsed.fixture.as_ref() })
        .collect();
    let planned = plan(&request, &candidates, has_default_adapter);
    let mode = match (options.harness_mode, selections) {
        (HarnessMode::InstallOnly, _) => Mode::InstallOnly,
        (HarnessMode::Run, Selections::AsDeclared) => Mode::Source,
        (HarnessMode::Run, Selections::Intersect) => Mode::Normal,
    };
    Ok(Prepared { mode, corpus, source_kind, discovery, planned })
}

/// Whether a configured harness is run by default: one that the corpus knows and an adapter runs.
fn has_default_adapter(id: &str) -> bool {
    proctor_harness::find(id).is_some_and(|adapter| adapter.corpus_harness().is_some())
}

/// Outside of `--install-only` every requested harness needs an adapter.
fn check_harnesses(options: &Options) -> Result<(), ExamineError> {
    if options.harness_mode == HarnessMode::InstallOnly {
        return Ok(());
    }
    let known: Vec<&str> = proctor_harness::adapters().iter().map(|adapter| adapter.id()).collect();
    for harness in options.harnesses.iter().flatten() {
        if proctor_harness::find(harness).is_none() {
            return Err(ExamineError::UnknownHarness {
                harness: harness.clone(),
                nearest: nearest(harness, known.iter().copied()).map(str::to_owned),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    Ok(())
}

/// The invoking selection: the project's, or else everything that the corpus offers.
fn request(
    options: &Options,
    selections: Selections,
    config: Option<ProjectConfig>,
    corpus: &Corpus,
) -> Request {
    let offered = corpus.manifest();
    let (configured, invoking) = match config {
        Some(config) => (
            config.selection.harnesses,
            Selection {
                profiles: config.selection.profiles,
                languages: config.selection.languages,
            },
        ),
        None => (
            offered.harnesses.clone(),
            Selection { profiles: offered.profiles.clone(), languages: offered.languages.clone() },
        ),
    };
    Request {
        selections,
        harness_mode: options.harness_mode,
        fixtures: options.fixtures.clone(),
        harnesses: options.harnesses.clone(),
        configured,
        invoking,
    }
}
