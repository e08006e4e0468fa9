//! Sessions on their way into a run.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_exchange::import::{Grade, Intake, Session};
use proctor_grade::recheck::{SCORE, imported_status};
use proctor_model::event::ToolStatus;
use proctor_model::run::{
    Coordinates, ExitReason, GradedCheck, GradedStatus, PlannedTrial, RunPlan, TRIAL_VERSION,
    TrialRecord,
};
use proctor_model::{Event, EventKind, OutcomeClass};
use proctor_store::runs::{RunWriter, trial_id, trial_path};

use super::{ARCHIVE, Args};
use crate::context::Context;
use crate::error::CommandError;

/// Where a session lies until all of it is known, below the folder of the run.
const INCOMING: &str = "incoming";

/// Numbers of repetitions end here: what is larger was meant as another number.
const MOST_REPEATS: u32 = 1_000_000;

/// Keeps sessions as trials.
pub(super) struct Keeper<'a> {
    args: &'a Args,
    writer: &'a RunWriter,
    plan: RunPlan,
    context: &'a Context,
    /// What a prompt is called that has no name: after the file.
    stem: String,
    open: Option<Open>,
    /// The repetitions that there are of each variant.
    repeats: BTreeMap<String, BTreeSet<u32>>,
}

struct Open {
    events: BufWriter<File>,
    calls: u64,
    failed: u64,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(
        args: &'a Args,
        writer: &'a RunWriter,
        plan: RunPlan,
        context: &'a Context,
    ) -> Self {
        let (stem, open, repeats) = (String::new(), None, BTreeMap::new());
        Self { args, writer, plan, context, stem, open, repeats }
    }

    /// The sessions that follow are from this file.
    pub(super) fn source(&mut self, file: &Utf8Path) {
        let stem = file.file_stem().unwrap_or("session");
        stem.trim_end_matches(".trajectory").clone_into(&mut self.stem);
    }

    /// How many sessions there are.
    pub(super) fn count(&self) -> usize {
        self.plan.trials.len()
    }

    /// Everything is taken.
    pub(super) fn finish(&self) -> Result<(), CommandError> {
        let folder = self.incoming();
        if folder.exists() {
            fs_err::remove_dir_all(folder)?;
        }
        Ok(())
    }

    fn incoming(&self) -> Utf8PathBuf {
        self.writer.folder().join(INCOMING)
    }

    /// Whose session it was, without secrets: names of folders are made of it.
    fn coordinates(&self, session: &Session) -> io::Result<Coordinates> {
        let args = self.args;
        let agent = args.agent.clone().or_else(|| session.agent.clone());
        let prompt = args.prompt.clone().or_else(|| session.prompt_id.clone());
        let known = session.record.as_ref().map(|record| record.coordinates.clone());
        let coordinates = Coordinates {
            agent: agent.unwrap_or_else(|| "acp".to_owned()),
            model: args.model.clone().or_else(|| session.model.clone()),
            prompt_id: prompt.unwrap_or_else(|| self.stem.clone()),
            ..known.unwrap_or_default()
        };
        let mut value = serde_json::to_value(coordinates)?;
        self.context.redactor.json(&mut value);
        Ok(serde_json::from_value(value)?)
    }

    /// The place of a session in the plan. No two sessions have the same one.
    fn place(&mut self, session: &Session, of: &Coordinates) -> io::Result<PlannedTrial> {
        let known = session.record.as_ref();
        let variant_id = known.map_or_else(
            || {
                let parts = [Some(&of.agent), of.model.as_ref(), Some(&of.prompt_id)];
                parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("::")
            },
            |record| record.variant_id.clone(),
        );
        let clean = |text: &str| self.context.redactor.text(text).into_owned();
        let variant_id = clean(&variant_id);
        let fingerprint = known.map(|record| clean(&record.fingerprint)).unwrap_or_default();
        let repeat_idx = free(self.repeats.entry(variant_id.clone()).or_default(), session);
        Ok(PlannedTrial {
            id: trial_id(&variant_id).map_err(io::Error::other)?,
            path: trial_path(&variant_id, repeat_idx),
            fingerprint,
            variant_id,
            repeat_idx,
        })
    }

    fn record(
        &self,
        session: Session,
        planned: &PlannedTrial,
        coordinates: Coordinates,
        open: &Open,
    ) -> TrialRecord {
        let plan = &self.plan;
        if let Some(record) = session.record {
            return TrialRecord {
                run_id: planned.id.clone(),
                run_group_id: plan.run_id.clone(),
                variant_id: planned.variant_id.clone(),
                fingerprint: planned.fingerprint.clone(),
                repeat_idx: planned.repeat_idx,
                coordinates,
                ..*record
            };
        }
        let exit_reason = exit_reason(session.outcome.class);
        let (started_at, ended_at) = session.span_ms.unwrap_or_default();
        let mut warnings = session.warnings;
        if session.grades.is_empty() {
            warnings.push("nothing has graded it yet".to_owned());
        }
        let graded: Vec<GradedCheck> = session.grades.into_iter().map(graded).collect();
        let message = Some(session.outcome.message.clone()).filter(|message| !message.is_empty());
        TrialRecord {
            schema_version: TRIAL_VERSION,
            run_id: planned.id.clone(),
            run_group_id: plan.run_id.clone(),
            scenario_id: plan.experiment_id.clone(),
            variant_id: planned.variant_id.clone(),
            fingerprint: planned.fingerprint.clone(),
            repeat_idx: planned.repeat_idx,
            coordinates,
            status: imported_status(exit_reason, &graded),
            exit_reason,
            reason: message,
            started_at,
            ended_at,
            phases: Vec::new(),
            outcome: Some(session.outcome),
            usage: session.usage,
            tool_calls: open.calls,
            tool_calls_failed: open.failed,
            isolation: None,
            checks: Vec::new(),
            tests: Vec::new(),
            graded,
            warnings,
        }
    }
}

impl Intake for Keeper<'_> {
    fn begin(&mut self) -> io::Result<()> {
        let folder = self.incoming();
        if folder.exists() {
            fs_err::remove_dir_all(&folder)?;
        }
        fs_err::create_dir(&folder)?;
        let events = BufWriter::new(File::create_new(folder.join("events.jsonl"))?);
        self.open = Some(Open { events, calls: 0, failed: 0 });
        Ok(())
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        match &event.kind {
            EventKind::ToolCall { .. } => open.calls += 1,
            EventKind::ToolResult { status: ToolStatus::Error | ToolStatus::Denied, .. } => {
                open.failed += 1;
            }
            _ => {}
        }
        let mut value = serde_json::to_value(&event)?;
        self.context.redactor.json(&mut value);
        serde_json::to_writer(&mut open.events, &value)?;
        open.events.write_all(b"\n")
    }

    fn raw(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let is_archive = path == ARCHIVE;
        let path = self.incoming().join(path);
        if let Some(folder) = path.parent() {
            fs_err::create_dir_all(folder)?;
        }
        let mut file = fs_err::OpenOptions::new().write(true).create_new(true).open(&path)?;
        // An archive is no text in which a secret could be found.
        if is_archive {
            io::copy(content, &mut file)?;
        } else {
            self.context.redactor.copy(content, &mut file)?;
        }
        Ok(())
    }

    fn end(&mut self, session: Session) -> io::Result<()> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.events.flush()?;
        let coordinates = self.coordinates(&session)?;
        let planned = self.place(&session, &coordinates)?;
        let record = self.record(session, &planned, coordinates, &open);
        let mut record = serde_json::to_value(&record)?;
        self.context.redactor.json(&mut record);
        let record: TrialRecord = serde_json::from_value(record)?;
        self.plan.trials.push(planned.clone());
        self.writer.replan(&self.plan).map_err(io::Error::other)?;
        let folder = self.writer.start(&planned).map_err(io::Error::other)?;
        for entry in self.incoming().read_dir_utf8()? {
            let entry = entry?;
            fs_err::rename(entry.path(), folder.path().join(entry.file_name()))?;
        }
        self.writer.finish(&planned, &record).map_err(io::Error::other)
    }
}

/// The number that a session has among the repetitions of its variant, or the next one that is free.
fn free(taken: &mut BTreeSet<u32>, session: &Session) -> u32 {
    let wanted = session.repeat_idx;
    let next = taken.last().map_or(0, |last| last.saturating_add(1));
    let number = if wanted < MOST_REPEATS && !taken.contains(&wanted) { wanted } else { next };
    taken.insert(number);
    number
}

fn exit_reason(class: OutcomeClass) -> ExitReason {
    match class {
        OutcomeClass::Completed => ExitReason::EndTurn,
        OutcomeClass::MaxOutput => ExitReason::MaxTokens,
        OutcomeClass::MaxTurns => ExitReason::MaxTurnRequests,
        OutcomeClass::Refused => ExitReason::Refusal,
        OutcomeClass::Budget => ExitReason::MaxCost,
        OutcomeClass::Interrupted => ExitReason::Cancelled,
        OutcomeClass::Timeout | OutcomeClass::Stalled => ExitReason::Timeout,
        OutcomeClass::AuthFailed
        | OutcomeClass::RateLimited
        | OutcomeClass::Overloaded
        | OutcomeClass::Quota
        | OutcomeClass::ApiError
        | OutcomeClass::ContextOverflow
        | OutcomeClass::CutShort
        | OutcomeClass::UsageError => ExitReason::DriverError,
    }
}

fn graded(grade: Grade) -> GradedCheck {
    GradedCheck {
        name: grade.name,
        kind: SCORE.to_owned(),
        status: match grade.passed {
            Some(true) => GradedStatus::Passed,
            Some(false) => GradedStatus::Failed,
            None => GradedStatus::Unknown,
        },
        optional: grade.passed.is_none(),
        reason: grade.explanation,
        excerpt: Some(grade.value),
    }
}
