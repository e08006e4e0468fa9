//! A trajectory for each trial: see [`crate::atif`].

use std::io::Write;

use proctor_redact::Redactor;
use serde_json::json;

use super::{ExportError, Format, Lost, Writer, document_name};
use crate::atif::{Identity, write as trajectory};
use crate::run::Run;

pub(super) const FORMAT: Format = Format {
    name: "atif",
    title: "trajectories of the Agent Trajectory Interchange Format, one a trial",
    writer: Writer::Documents { names, write, is_text: true },
    lacks: "changes of files, retries, notices, lifecycle events, final lines, lines that nobody \
            knows, the moments of single calls and results; outputs of tests; raw files",
};

fn names(run: &Run) -> Vec<String> {
    run.trials.iter().map(|trial| document_name(trial, "trajectory.json")).collect()
}

fn write(
    run: &Run,
    place: usize,
    redactor: &Redactor,
    out: &mut dyn Write,
) -> Result<Lost, ExportError> {
    let Some(trial) = run.trials.get(place) else { return Ok(Lost::default()) };
    let mut events = Vec::new();
    run.events(trial, &mut |event| {
        events.push(event);
        Ok(())
    })?;
    let record = &trial.record;
    let identity = Identity {
        agent: record.coordinates.agent.clone(),
        model: record.coordinates.model.clone(),
        session_id: record.run_id.clone(),
        usage: record.usage,
        facts: json!({
            "run_id": run.plan.run_id,
            "trial_id": record.run_id,
            "variant_id": record.variant_id,
            "repeat_idx": record.repeat_idx,
            "coordinates": record.coordinates,
            "status": record.status,
            "exit_reason": record.exit_reason,
            "outcome": record.outcome,
            "tests": record.tests.iter().map(|test| json!({
                "name": test.name, "status": test.status, "exit_code": test.exit_code,
            })).collect::<Vec<_>>(),
        }),
    };
    let (mut document, mut lost) = trajectory(&identity, &events);
    for test in &record.tests {
        if !test.stdout_tail.is_empty() || !test.stderr_tail.is_empty() {
            lost.add("outputs of tests");
        }
    }
    redactor.json(&mut document);
    serde_json::to_writer_pretty(&mut *out, &document)?;
    out.write_all(b"\n")?;
    Ok(lost)
}
