//! Sessions of agents that are kept as trials of a run. Who runs them need not know how, or where;
//! what cannot be kept is said, and changes nothing of what the sessions come to.

use std::io;
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::run::{
    Coordinates, ExitReason, GradedCheck, PhaseName, PhaseRecord, PlannedTrial, TRIAL_VERSION,
    TrialRecord, TrialStatus,
};
use proctor_model::{Event, EventKind, Isolation, Outcome, Usage};
use proctor_redact::Redactor;
use proctor_sandbox::Stream;
use proctor_sandbox::workspace::{DiffLimits, Manifest};

use crate::experiment::exit_reason;
use crate::session::Recorder;
use crate::streams::{FS_DIFF, Streams, now, write_redacted};

/// Keeps sessions; threads share it.
pub trait Archive: Sync {
    /// Sessions that are to come, told before the first of them begins.
    fn plan(&self, sessions: &[SessionKey]) -> io::Result<()>;

    /// A folder for a session that begins now: empty, whatever an earlier attempt has left in it.
    /// One that was not planned is planned now.
    fn start(&self, session: &SessionKey) -> io::Result<Begun>;

    /// Keeps the record of a session. When this returns, it is on the disk.
    fn finish(&self, trial: &PlannedTrial, record: &TrialRecord) -> io::Result<()>;

    /// A session, or a part of one, is not kept, and why.
    fn lost(&self, why: &str);
}

/// What tells a session from the others of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionKey {
    /// What it consists of.
    pub coordinates: Coordinates,
    /// Which repetition, from 0.
    pub repeat_idx: u32,
    /// The digest of what is under test, where that can be another in the same run; else empty.
    pub fingerprint: String,
}

impl SessionKey {
    /// The coordinates that tell it apart, joined with `::`.
    pub fn variant_id(&self) -> String {
        let Coordinates { agent, model, prompt_id, environment, .. } = &self.coordinates;
        let parts = [Some(agent), model.as_ref(), Some(prompt_id), environment.as_ref()];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join("::")
    }
}

/// A session that has begun.
#[derive(Debug, Clone)]
pub struct Begun {
    /// The run that it belongs to.
    pub run_id: String,
    /// The name of what is run.
    pub name: String,
    /// The session in the plan.
    pub trial: PlannedTrial,
    /// Its folder.
    pub folder: Utf8PathBuf,
}

/// How a session ended, and what it came to.
#[derive(Debug, Default)]
pub(crate) struct Conclusion {
    pub(crate) status: Option<TrialStatus>,
    /// Why, for everything but a pass.
    pub(crate) reason: Option<String>,
    /// `None` when no agent worked.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) usage: Option<Usage>,
    pub(crate) graded: Vec<GradedCheck>,
    pub(crate) warnings: Vec<String>,
}

/// One session on its way to the archive. Without an archive, and after a failure to keep the
/// session, it does nothing.
pub(crate) struct Keeping<'a>(Option<Box<Open<'a>>>);

struct Open<'a> {
    archive: &'a dyn Archive,
    redactor: &'a Redactor,
    coordinates: Coordinates,
    begun: Begun,
    streams: Streams<'a>,
    started_at: u64,
    phases: Vec<PhaseRecord>,
    /// The phase that is under way, and since when.
    phase: Option<(PhaseName, Instant)>,
    /// The workspace that the agent was given.
    before: Option<Manifest>,
}

impl<'a> Keeping<'a> {
    /// Keeps nothing.
    pub(crate) fn nothing() -> Self {
        Self(None)
    }

    /// Begins to keep a session.
    pub(crate) fn begin(
        archive: Option<&'a dyn Archive>,
        session: &SessionKey,
        redactor: &'a Redactor,
    ) -> Self {
        let Some(archive) = archive else { return Self(None) };
        let begun = archive.start(session).and_then(|begun| {
            let streams = Streams::open(&begun.folder, redactor)?;
            Ok((begun, streams))
        });
        let (begun, streams) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                archive.lost(&format!("{}: {error}", session.variant_id()));
                return Self(None);
            }
        };
        Self(Some(Box::new(Open {
            archive,
            redactor,
            coordinates: session.coordinates.clone(),
            begun,
            streams,
            started_at: now(),
            phases: Vec::new(),
            phase: None,
            before: None,
        })))
    }

    /// A phase begins, and the one before it ends.
    pub(crate) fn phase(&mut self, next: PhaseName) {
        if let Some(open) = &mut self.0 {
            open.end_phase();
            open.phase = Some((next, Instant::now()));
        }
    }

    /// Takes the next event.
    pub(crate) fn observe(&mut self, event: &Event) {
        if let Some(open) = &mut self.0 {
            open.streams.observe(event);
        }
    }

    /// Looks at the workspace before the agent is let in.
    pub(crate) fn before(&mut self, workspace: &Utf8Path) {
        if let Some(open) = &mut self.0 {
            let read = Manifest::of_folder(workspace.as_std_path());
            open.before = read.map_err(|error| open.streams.note(Err(other(error)))).ok();
        }
    }

    /// Looks at it again, and keeps what the agent did to it.
    pub(crate) fn after(&mut self, workspace: &Utf8Path) {
        let Some(open) = &mut self.0 else { return };
        let Some(before) = open.before.take() else { return };
        match before.diff_folder(workspace.as_std_path(), &DiffLimits::default()) {
            Ok(diff) => {
                open.streams.add(EventKind::file_manifest(&diff));
                let file = open.begun.folder.join(FS_DIFF);
                let written = write_redacted(&file, &diff, open.redactor);
                open.streams.note(written);
            }
            Err(error) => open.streams.note(Err(other(error))),
        }
    }

    /// Keeps the record, and gives it. A session that is dropped instead is one that was begun and
    /// not finished.
    pub(crate) fn finish(self, conclusion: Conclusion) -> Option<(PlannedTrial, TrialRecord)> {
        self.0.map(|open| open.finish(conclusion))
    }
}

fn other(error: impl std::fmt::Display) -> io::Error {
    io::Error::other(error.to_string())
}

impl Recorder for Keeping<'_> {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        if let Some(open) = &mut self.0 {
            open.streams.record(stream, bytes);
        }
    }
}

impl Open<'_> {
    fn end_phase(&mut self) {
        let Some((phase, since)) = self.phase.take() else { return };
        let duration_ms = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.phases.push(PhaseRecord { phase, duration_ms });
    }

    fn finish(mut self, conclusion: Conclusion) -> (PlannedTrial, TrialRecord) {
        self.end_phase();
        self.streams.close_raw();
        let lost = self.streams.flush().err();
        let record = self.record(conclusion, lost.as_deref());
        if let Some(lost) = lost {
            self.archive.lost(&format!("{}: {lost}", self.begun.trial.id));
        }
        if let Err(error) = self.archive.finish(&self.begun.trial, &record) {
            self.archive.lost(&format!("{}: {error}", self.begun.trial.id));
        }
        (self.begun.trial, record)
    }

    fn record(&self, conclusion: Conclusion, lost: Option<&str>) -> TrialRecord {
        let clean = |text: String| self.redactor.text(&text).into_owned();
        let Conclusion { status, reason, outcome, usage, mut graded, warnings } = conclusion;
        for check in &mut graded {
            check.reason = check.reason.take().map(clean);
            check.excerpt = check.excerpt.take().map(clean);
        }
        let (tool_calls, tool_calls_failed) = self.streams.calls();
        let lost = lost.map(|why| format!("evidence is missing: {why}"));
        TrialRecord {
            schema_version: TRIAL_VERSION,
            run_id: self.begun.trial.id.clone(),
            run_group_id: self.begun.run_id.clone(),
            scenario_id: self.begun.name.clone(),
            variant_id: self.begun.trial.variant_id.clone(),
            fingerprint: self.begun.trial.fingerprint.clone(),
            repeat_idx: self.begun.trial.repeat_idx,
            coordinates: self.coordinates.clone(),
            status: status.unwrap_or(TrialStatus::Error),
            exit_reason: outcome.as_ref().map_or(ExitReason::NeverStarted, exit_reason),
            reason: reason.map(clean),
            started_at: self.started_at,
            ended_at: now(),
            phases: self.phases.clone(),
            outcome: outcome
                .map(|outcome| Outcome { message: clean(outcome.message.clone()), ..outcome }),
            usage,
            tool_calls,
            tool_calls_failed,
            isolation: Some(Isolation::folders()),
            checks: Vec::new(),
            tests: Vec::new(),
            graded,
            warnings: warnings.into_iter().map(clean).chain(lost).collect(),
        }
    }
}
