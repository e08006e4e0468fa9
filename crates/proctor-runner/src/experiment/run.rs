//! A run: many trials side by side, each kept as soon as it is finished.

use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::time::Duration;

use camino::Utf8Path;
use proctor_formats::experiment::{Preflight, Values};
use proctor_model::experiment::Variant;
use proctor_model::run::{HarnessEventKind, PhaseName, PlannedTrial, TrialRecord, TrialStatus};
use proctor_redact::Redactor;
use proctor_sandbox::isolation::{SandboxSpec, Sandboxes};
use proctor_sandbox::{Cancel, Rooms};

use super::agents::AgentPlan;
use super::cap::{Aside, Cap, Payee};
use super::log::Log;
use super::retest::Past;
use super::shelf::Shelf;
use super::stage::Bases;
use super::trial::Trial;
use crate::pool::{self, Progress};

/// What holds for a whole run.
pub struct Settings<'a> {
    /// The run's id.
    pub run_id: &'a str,
    /// The experiment's id.
    pub experiment_id: &'a str,
    /// What the disk holds for the experiment.
    pub preflight: &'a Preflight,
    /// Makes sandboxes.
    pub sandboxes: &'a Sandboxes,
    /// What they are to be; what agents and tests need is added.
    pub spec: SandboxSpec,
    /// Where everything that is not kept lies.
    pub rooms: &'a Rooms,
    /// Applied to everything that is kept or told.
    pub redactor: &'a Redactor,
    /// Ends the run early.
    pub cancel: &'a Cancel,
    /// The `proctor` program.
    pub proctor: &'a Utf8Path,
    /// How long one test may take.
    pub test_timeout: Duration,
    /// Whether to stop before the agent: setups and checks alone.
    pub check_only: bool,
    /// How many trials run side by side.
    pub jobs: NonZeroUsize,
    /// The most that the run may cost; `None` is no cap.
    pub cap: Option<&'a Cap>,
}

/// One variant of a run, with what its trials need.
pub struct Cell<'a> {
    /// The variant.
    pub variant: &'a Variant,
    /// The values of its variables.
    pub values: Values,
    /// How its agent is driven.
    pub agent: AgentPlan,
}

/// A trial that is to be run.
#[derive(Debug, Clone, Copy)]
pub struct Due<'a> {
    /// The trial.
    pub trial: &'a PlannedTrial,
    /// The place of its variant among the cells.
    pub cell: usize,
    /// The trial whose agent's work is tested again; `None` when the agent is to work.
    pub past: Option<&'a Past>,
}

/// What happens in a run, told as it happens.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial enters a phase.
    Phase {
        /// Which trial, by its place among those that were due.
        index: usize,
        /// The phase.
        phase: PhaseName,
    },
    /// A trial never got a sandbox, and is tried once more.
    Again {
        /// Which trial.
        index: usize,
        /// Why.
        reason: &'a str,
    },
    /// A trial is finished and kept.
    Finished {
        /// Which trial.
        index: usize,
        /// What it came to.
        record: &'a TrialRecord,
    },
}

/// Why a run ended before its last trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Somebody interrupted it.
    Interrupted,
    /// What was measured could not be kept.
    NotKept(String),
    /// The trials that were not started could have cost more than the run may.
    Capped(String),
}

enum Tale {
    Phase(PhaseName),
    Again(String),
}

/// Runs the trials. Results are kept and told in the order in which they come; `None` means that all
/// of them ran.
pub fn run(
    settings: &Settings<'_>,
    cells: &[Cell<'_>],
    due: &[Due<'_>],
    shelf: &dyn Shelf,
    observe: &mut dyn FnMut(Event<'_>),
) -> Option<Stopped> {
    let bases = Bases::new(settings.rooms, settings.preflight, cells.len());
    let not_kept = Mutex::new(None::<String>);
    let give_up = |why: String| {
        let mut first = not_kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        first.get_or_insert(why);
        settings.cancel.cancel();
    };
    let one = |index: usize, tell: &dyn Fn(Tale)| -> Option<TrialRecord> {
        let due = due.get(index)?;
        let cell = cells.get(due.cell)?;
        let aside = match settings.cap.filter(|_| due.past.is_none() && !settings.check_only) {
            None => None,
            Some(cap) => {
                let row = cell.variant.row();
                let payee = Payee::new(&row.agent, row.model.as_deref());
                Some(cap.set_aside(payee, cell.agent.bound(), settings.cancel)?)
            }
        };
        match attempt(settings, &bases, cell, *due, aside.as_ref(), shelf, tell) {
            Ok(record) => {
                if let (Some(record), Some(aside)) = (&record, aside) {
                    aside.settle(record);
                }
                record
            }
            Err(why) => {
                give_up(why);
                None
            }
        }
    };
    pool::run(
        due.len(),
        settings.jobs,
        settings.cancel,
        one,
        |_, message| {
            give_up(format!("a bug in proctor ended a trial: {message}"));
            None
        },
        |progress| match progress {
            Progress::Event(index, Tale::Phase(phase)) => observe(Event::Phase { index, phase }),
            Progress::Event(index, Tale::Again(reason)) => {
                observe(Event::Again { index, reason: &reason });
            }
            Progress::Done(index, Some(record)) => {
                observe(Event::Finished { index, record: &record });
            }
            Progress::Done(_, None) => {}
        },
    );
    let not_kept = not_kept.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    match not_kept {
        Some(why) => Some(Stopped::NotKept(why)),
        None if settings.cancel.is_cancelled() => Some(Stopped::Interrupted),
        None => settings.cap.and_then(Cap::closed).map(Stopped::Capped),
    }
}

/// Runs one trial, twice when it never got a sandbox. `Err` says that it could not be kept.
fn attempt(
    settings: &Settings<'_>,
    bases: &Bases<'_>,
    cell: &Cell<'_>,
    due: Due<'_>,
    aside: Option<&Aside<'_>>,
    shelf: &dyn Shelf,
    tell: &dyn Fn(Tale),
) -> Result<Option<TrialRecord>, String> {
    let kept = |error: std::io::Error| format!("trial {} was not kept: {error}", due.trial.id);
    let once = |attempt: u32, reason: Option<&str>| {
        let folder = shelf.start(due.trial).map_err(kept)?;
        let log = Log::open(&folder, settings.redactor).map_err(kept)?;
        log.tell(HarnessEventKind::TrialBegin {
            trial: due.trial.id.clone(),
            attempt,
            reason: reason.map(str::to_owned),
        });
        let trial = Trial {
            settings,
            bases,
            planned: due.trial,
            index: due.cell,
            variant: cell.variant,
            values: &cell.values,
            agent: &cell.agent,
            folder: &folder,
            past: due.past,
            log: &log,
            shelf,
            aside,
        };
        Ok::<_, String>(trial.run(&|phase| tell(Tale::Phase(phase))))
    };
    let record = match once(1, None)? {
        Ok(record) => record,
        Err(starved) => {
            let reason = starved.reason.clone().unwrap_or_default();
            tell(Tale::Again(reason.clone()));
            once(2, Some(&reason))?.unwrap_or_else(|starved| Some(*starved))
        }
    };
    if let Some(record) = &record {
        shelf.finish(due.trial, record).map_err(kept)?;
    }
    Ok(record)
}

/// How many trials came to what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Passed.
    pub passed: u64,
    /// Failed.
    pub failed: u64,
    /// Without a result.
    pub errors: u64,
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, status: TrialStatus) {
        match status {
            TrialStatus::Pass => self.passed += 1,
            TrialStatus::Fail => self.failed += 1,
            TrialStatus::Error => self.errors += 1,
        }
    }
}
