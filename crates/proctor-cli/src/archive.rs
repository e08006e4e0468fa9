//! Runs of conformance tests and skill evals on disk: made when their first session is planned, so
//! that a command without sessions leaves none.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use proctor_model::run::{PLAN_VERSION, PlannedTrial, RunKind, RunOptions, RunPlan, TrialRecord};
use proctor_runner::archive::{Archive, Begun, SessionKey};
use proctor_store::runs::{RunWriter, Runs, run_id, trial_id, trial_path};

use crate::context::Context;

/// Failures to keep something that are told.
const MAX_TOLD: usize = 5;

/// A run of another kind than an experiment.
pub(crate) struct RunArchive {
    runs: Runs,
    kind: RunKind,
    /// What is run, as part of the run's id.
    name: &'static str,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: Option<(Arc<RunWriter>, RunPlan)>,
    finished: BTreeSet<String>,
    lost: Vec<String>,
}

impl RunArchive {
    /// The runs of the project at `root`.
    pub(crate) fn new(root: &Utf8Path, kind: RunKind, name: &'static str) -> Self {
        Self { runs: Runs::of(root), kind, name, state: Mutex::default() }
    }

    /// Says which run the sessions are in, and what could not be kept.
    pub(crate) fn tell(&self, context: &Context) {
        let state = self.state();
        if let Some((_, plan)) = &state.open {
            let sessions = match state.finished.len() {
                1 => "1 session".to_owned(),
                count => format!("{count} sessions"),
            };
            let id = &plan.run_id;
            context.printer.note(&format!("run {id} keeps {sessions}; `proctor run view {id}`"));
        }
        for why in state.lost.iter().take(MAX_TOLD) {
            context.printer.warning(&format!("not kept: {}", context.redactor.text(why)));
        }
        if let Some(more) = state.lost.len().checked_sub(MAX_TOLD).filter(|more| *more > 0) {
            context.printer.warning(&format!("not kept: {more} more"));
        }
    }

    /// Keeps the report of the command beside its sessions.
    pub(crate) fn report(&self, json: &str) {
        let mut state = self.state();
        let kept = state.open.as_ref().map(|(writer, _)| writer.report(json.as_bytes()));
        if let Some(Err(error)) = kept {
            state.lost.push(error.to_string());
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic elsewhere has left is whole: its parts are only ever replaced.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds sessions to the plan, and makes the run with the first of them.
    fn plan(&mut self, archive: &RunArchive, sessions: &[SessionKey]) -> io::Result<()> {
        let mut added = Vec::new();
        for session in sessions {
            let variant_id = self.variant_id(session);
            added.push(PlannedTrial {
                id: trial_id(&variant_id).map_err(io::Error::other)?,
                path: trial_path(&variant_id, session.repeat_idx),
                variant_id,
                fingerprint: session.fingerprint.clone(),
                repeat_idx: session.repeat_idx,
            });
        }
        if let Some((writer, plan)) = &mut self.open {
            plan.trials.extend(added);
            return writer.replan(plan).map_err(io::Error::other);
        }
        let plan = archive.new_plan(added)?;
        let writer = archive.runs.create(&plan, &[]).map_err(io::Error::other)?;
        self.open = Some((Arc::new(writer), plan));
        Ok(())
    }

    /// The variant of a session: what is under test is part of it when the same coordinates have been
    /// planned for something else, as where two descriptions of a skill are compared.
    fn variant_id(&self, session: &SessionKey) -> String {
        let usual = session.variant_id();
        let mut planned = self.open.iter().flat_map(|(_, plan)| &plan.trials);
        let is_taken = planned
            .any(|trial| trial.variant_id == usual && trial.fingerprint != session.fingerprint);
        let digest = session.fingerprint.trim_start_matches("sha256:");
        if is_taken { format!("{usual}::{}", digest.get(..8).unwrap_or(digest)) } else { usual }
    }

    fn find(&self, session: &SessionKey) -> Option<(&Arc<RunWriter>, &RunPlan, &PlannedTrial)> {
        let (writer, plan) = self.open.as_ref()?;
        let variant_id = self.variant_id(session);
        let mut trials = plan.trials.iter();
        let is_meant = |trial: &&PlannedTrial| {
            trial.variant_id == variant_id && trial.repeat_idx == session.repeat_idx
        };
        Some((writer, plan, trials.find(is_meant)?))
    }
}

impl RunArchive {
    fn new_plan(&self, trials: Vec<PlannedTrial>) -> io::Result<RunPlan> {
        Ok(RunPlan {
            schema_version: PLAN_VERSION,
            run_id: run_id(self.name).map_err(io::Error::other)?,
            kind: self.kind,
            experiment_id: self.name.to_owned(),
            created_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs()),
            proctor_version: env!("CARGO_PKG_VERSION").to_owned(),
            retest_of: None,
            rerun_of: None,
            experiment_file: String::new(),
            experiment_digest: String::new(),
            options: RunOptions {
                sandbox: "none".to_owned(),
                network: "host".to_owned(),
                ..RunOptions::default()
            },
            trials,
        })
    }
}

impl Archive for RunArchive {
    fn plan(&self, sessions: &[SessionKey]) -> io::Result<()> {
        self.state().plan(self, sessions)
    }

    fn start(&self, session: &SessionKey) -> io::Result<Begun> {
        let mut state = self.state();
        if state.find(session).is_none() {
            state.plan(self, std::slice::from_ref(session))?;
        }
        let found = state.find(session).ok_or_else(|| io::Error::other("it is in no plan"))?;
        let (writer, plan, trial) = found;
        let (writer, trial, run_id) = (Arc::clone(writer), trial.clone(), plan.run_id.clone());
        // Other sessions need not wait for the disk.
        drop(state);
        let folder = writer.start(&trial).map_err(io::Error::other)?;
        let (name, folder) = (self.name.to_owned(), folder.path().to_owned());
        Ok(Begun { run_id, name, trial, folder })
    }

    fn finish(&self, trial: &PlannedTrial, record: &TrialRecord) -> io::Result<()> {
        let writer = self.state().open.as_ref().map(|(writer, _)| Arc::clone(writer));
        if let Some(writer) = writer {
            writer.finish(trial, record).map_err(io::Error::other)?;
        }
        self.state().finished.insert(trial.id.clone());
        Ok(())
    }

    fn lost(&self, why: &str) {
        self.state().lost.push(why.to_owned());
    }
}
