//! A run: planned trials in slots, results in the order of the plan.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use camino::Utf8Path;
use proctor_corpus::{Compat, Corpus, CorpusError, Slice};
use proctor_formats::conformance::FixtureEntry;
use proctor_model::conformance::report::{Selection, TrialResult};
use proctor_redact::Redactor;
use proctor_sandbox::{Cancel, Launcher, Rooms};

use super::draft::{Draft, Ended};
use super::plan::{HarnessMode, Planned, Step};
use super::record::session_key;
use super::trial::Trial;
use crate::archive::{Archive, SessionKey};
use crate::pool::{self, Progress};

/// Everything that the trials of a run share.
pub struct Settings<'a> {
    /// Whether harnesses are run at all.
    pub harness_mode: HarnessMode,
    /// Where guidance comes from.
    pub corpus: &'a Corpus,
    /// Whose rule selection applies to an empty list of languages.
    pub compat: Compat,
    /// Starts and kills process trees.
    pub launcher: &'a Launcher,
    /// Where workspaces are made.
    pub rooms: &'a Rooms,
    /// The environment of harnesses and command checks.
    pub env: &'a BTreeMap<String, String>,
    /// Applied to everything that is kept or reported.
    pub redactor: &'a Redactor,
    /// Ends the run early.
    pub cancel: &'a Cancel,
    /// How many trials run side by side.
    pub slots: NonZeroUsize,
    /// Lowers, never raises, each fixture's timeout.
    pub timeout: Option<Duration>,
    /// Lowers, never raises, each fixture's budget in US dollars.
    pub max_budget_usd: Option<f64>,
    /// How long a harness may be silent before its first output.
    pub first_output: Duration,
    /// How long a harness may be silent between outputs.
    pub between_output: Duration,
    /// Where redacted transcripts are kept.
    pub transcripts: Option<&'a Utf8Path>,
    /// The `proctor` program, for the scripted agent.
    pub proctor: &'a Utf8Path,
    /// Keeps the sessions.
    pub archive: Option<&'a dyn Archive>,
}

/// What happens in a run, told as it happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A trial reached a phase.
    Phase {
        /// Index in the plan.
        trial: usize,
        /// The phase.
        phase: TrialPhase,
    },
    /// A trial is over.
    Finished {
        /// Index in the plan.
        trial: usize,
        /// Its result.
        result: Box<TrialResult>,
    },
}

/// The phases of a trial, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrialPhase {
    /// Input is staged and the slice installed.
    Install,
    /// The harness works.
    Harness,
    /// Result-phase checks run.
    Checks,
}

/// What a run leaves.
#[derive(Debug)]
pub struct Finished {
    /// Results of the trials that finished, in the order of the plan.
    pub results: Vec<TrialResult>,
    /// How many planned trials did not finish because the run was cancelled.
    pub unfinished: usize,
    /// What the installer noted about selections, each once, and then what the sessions gave rise
    /// to, in the order of the plan.
    pub notes: Vec<String>,
}

/// Carries out a plan. `observe` is called on this thread.
pub fn run(
    settings: &Settings<'_>,
    fixtures: &[FixtureEntry],
    planned: &[Planned],
    observe: &mut dyn FnMut(Event),
) -> Finished {
    let slices = Slices::new(settings);
    announce(settings, fixtures, planned);
    let mut trials: Vec<Option<Ended>> = planned.iter().map(|_| None).collect();
    pool::run(
        planned.len(),
        settings.slots,
        settings.cancel,
        |index, tell| carry_out(settings, &slices, fixtures, planned, index, tell),
        |index, message| Some(bug(settings, fixtures, &planned[index], &message)),
        |progress| match progress {
            Progress::Event(trial, phase) => observe(Event::Phase { trial, phase }),
            Progress::Done(_, None) => {}
            Progress::Done(trial, Some(ended)) => {
                observe(Event::Finished { trial, result: Box::new(ended.result.clone()) });
                trials[trial] = Some(ended);
            }
        },
    );
    let mut notes: Vec<String> = slices.into_notes().into_iter().collect();
    let mut results = Vec::with_capacity(trials.len());
    for ended in trials.into_iter().flatten() {
        notes.extend(ended.notes);
        results.push(ended.result);
    }
    Finished { unfinished: planned.len() - results.len(), results, notes }
}

/// Tells the archive of the sessions that are to come.
fn announce(settings: &Settings<'_>, fixtures: &[FixtureEntry], planned: &[Planned]) {
    let Some(archive) = settings.archive else { return };
    let session = |planned: &Planned| {
        let fixture = fixtures[planned.candidate].parsed.fixture.as_ref()?;
        let Step::Run { harness, .. } = &planned.step else { return None };
        session_key(settings, fixture, harness)
    };
    let sessions: Vec<SessionKey> = planned.iter().filter_map(session).collect();
    if !sessions.is_empty()
        && let Err(error) = archive.plan(&sessions)
    {
        archive.lost(&error.to_string());
    }
}

fn carry_out(
    settings: &Settings<'_>,
    slices: &Slices<'_>,
    fixtures: &[FixtureEntry],
    planned: &[Planned],
    index: usize,
    tell: &dyn Fn(TrialPhase),
) -> Option<Ended> {
    let planned = &planned[index];
    let entry = &fixtures[planned.candidate];
    match (&planned.step, &entry.parsed.fixture) {
        (Step::Skip { harness, reason }, Some(fixture)) => {
            Some(Draft::new(settings, fixture, harness).skipped(reason))
        }
        (Step::Run { harness, selection }, Some(fixture)) => {
            Trial { index, settings, slices, entry, fixture, harness, selection }.run(tell)
        }
        (Step::Invalid, _) | (_, None) => {
            Some(Draft::invalid(&entry.name, &entry.parsed.diagnostics))
        }
    }
}

/// The result of a trial that panicked.
fn bug(
    settings: &Settings<'_>,
    fixtures: &[FixtureEntry],
    planned: &Planned,
    message: &str,
) -> Ended {
    let entry = &fixtures[planned.candidate];
    // A panic may quote whatever was being worked on.
    let message = settings.redactor.text(message);
    let reason = format!("a bug in proctor ended this trial: {message}");
    if let Step::Skip { harness, .. } | Step::Run { harness, .. } = &planned.step
        && let Some(fixture) = &entry.parsed.fixture
    {
        return Draft::new(settings, fixture, harness).error(&reason);
    }
    let mut ended = Draft::invalid(&entry.name, &entry.parsed.diagnostics);
    ended.result.reason = Some(reason);
    ended
}

/// Slices by selection and harness: each is computed once and installed many times.
pub(super) struct Slices<'a> {
    corpus: &'a Corpus,
    compat: Compat,
    known: Mutex<BTreeMap<SliceKey, Arc<Slice>>>,
}

/// Profiles, languages and the harness whose integration files come along.
type SliceKey = (Vec<String>, Vec<String>, Option<String>);

impl<'a> Slices<'a> {
    fn new(settings: &Settings<'a>) -> Self {
        Self { corpus: settings.corpus, compat: settings.compat, known: Mutex::default() }
    }

    /// The slice for a selection, with the integration files of `harness`.
    pub(super) fn get(
        &self,
        selection: &Selection,
        harness: Option<&str>,
    ) -> Result<Arc<Slice>, CorpusError> {
        let key =
            (selection.profiles.clone(), selection.languages.clone(), harness.map(str::to_owned));
        // A panic elsewhere leaves the map whole: entries are only ever added.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slice) = known.get(&key) {
            return Ok(Arc::clone(slice));
        }
        let slice = Arc::new(self.corpus.slice(
            &proctor_corpus::Selection {
                harnesses: harness.map(str::to_owned).into_iter().collect(),
                profiles: selection.profiles.clone(),
                languages: selection.languages.clone(),
            },
            self.compat,
        )?);
        known.insert(key, Arc::clone(&slice));
        Ok(slice)
    }

    fn into_notes(self) -> BTreeSet<String> {
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        known.values().flat_map(|slice| slice.notes().iter().map(ToString::to_string)).collect()
    }
}
