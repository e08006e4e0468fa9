//! `harness-events.jsonl`: what Proctor did with a trial, line by line as it does it, so that also a
//! trial that was killed tells how far it came.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use camino::Utf8Path;
use proctor_harness::{PERMISSION_ALLOWED, PERMISSION_CANCELLED};
use proctor_model::event::ToolStatus;
use proctor_model::run::{
    HarnessEvent, HarnessEventKind, PermissionAnswer, PhaseName, ScriptRole, TrialRecord,
};
use proctor_model::{Event, EventKind};
use proctor_redact::Redactor;

use super::draft::now;
use super::script::{ScriptEnd, milliseconds};

/// The file in the folder of a trial.
const NAME: &str = "harness-events.jsonl";
/// Lines that an agent can cause; a longer file says nothing more.
const MOST: u64 = 10_000;

/// The log of one trial.
pub(super) struct Log<'a> {
    redactor: &'a Redactor,
    state: Mutex<State>,
}

struct State {
    file: File,
    seq: u64,
    phase: Option<(PhaseName, Instant)>,
    /// The first failure to write.
    failure: Option<String>,
}

impl<'a> Log<'a> {
    /// A new file in the folder of the trial.
    pub(super) fn open(folder: &Utf8Path, redactor: &'a Redactor) -> io::Result<Self> {
        let file = File::create(folder.join(NAME))?;
        let state = State { file, seq: 0, phase: None, failure: None };
        Ok(Self { redactor, state: Mutex::new(state) })
    }

    /// Adds a line.
    pub(super) fn tell(&self, kind: HarnessEventKind) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.write(kind, self.redactor);
    }

    /// A phase begins, and the one before it ends.
    pub(super) fn phase(&self, next: Option<PhaseName>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((phase, since)) = state.phase.take() {
            let duration_ms = milliseconds(since.elapsed());
            state.write(HarnessEventKind::PhaseEnd { phase, duration_ms }, self.redactor);
        }
        if let Some(phase) = next {
            state.write(HarnessEventKind::PhaseBegin { phase }, self.redactor);
            state.phase = Some((phase, Instant::now()));
        }
    }

    /// A script has ended.
    pub(super) fn script(&self, role: ScriptRole, name: &str, end: &ScriptEnd) {
        self.tell(HarnessEventKind::Script {
            role,
            name: name.to_owned(),
            exit_code: Some(end.exit_code),
            duration_ms: end.duration_ms,
            killed: end.timed_out,
        });
    }

    /// What the agent did, where it concerns the harness.
    pub(super) fn observe(&self, event: &Event) {
        let permission = |answer| HarnessEventKind::Permission { answer };
        let kind = match &event.kind {
            EventKind::Lifecycle { name } if name == PERMISSION_ALLOWED => {
                permission(PermissionAnswer::Allowed)
            }
            EventKind::Lifecycle { name } if name == PERMISSION_CANCELLED => {
                permission(PermissionAnswer::Cancelled)
            }
            EventKind::ToolResult { status: ToolStatus::Denied, .. } => {
                permission(PermissionAnswer::Denied)
            }
            EventKind::Retry { message, .. } => {
                HarnessEventKind::ProviderRetry { message: message.clone() }
            }
            _ => return,
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.seq < MOST {
            state.write(kind, self.redactor);
        }
    }

    /// The last line; a file that is not whole is a warning in the record.
    pub(super) fn close(&self, record: &mut TrialRecord) {
        self.phase(None);
        self.tell(HarnessEventKind::TrialEnd {
            status: record.status,
            exit_reason: record.exit_reason,
            reason: record.reason.clone(),
        });
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = &state.failure {
            record.warnings.push(format!("{NAME} was not kept: {failure}"));
        }
    }
}

impl State {
    fn write(&mut self, kind: HarnessEventKind, redactor: &Redactor) {
        if self.failure.is_some() {
            return;
        }
        let event = HarnessEvent { seq: self.seq, at_ms: now(), kind };
        self.seq += 1;
        let mut write = || {
            let mut value = serde_json::to_value(&event)?;
            redactor.json(&mut value);
            let mut line = serde_json::to_vec(&value)?;
            line.push(b'\n');
            self.file.write_all(&line)
        };
        let written: io::Result<()> = write();
        if let Err(error) = written {
            self.failure = Some(error.to_string());
        }
    }
}
