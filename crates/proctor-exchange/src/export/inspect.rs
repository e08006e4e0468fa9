//! Logs of inspect (UK AISI), version 2: one `.eval` archive for the trials of each agent and model.
//!
//! A trial is a sample: its id the prompt's, its epoch the repetition and one. Beside the messages, in
//! which people look, each event stands as an `info` event, so that a log that comes back has lost
//! none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write;

use proctor_model::event::{Role, ToolStatus};
use proctor_model::moment::rfc3339;
use proctor_model::run::{Coordinates, GradedStatus, TestStatus, TrialRecord, TrialStatus};
use proctor_model::{Digest, Event, EventKind, Usage};
use proctor_redact::Redactor;
use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{ExportError, Format, Lost, Writer};
use crate::import::OURS;
use crate::run::{Run, Trial};

pub(super) const FORMAT: Format = Format {
    name: "eval",
    title: "logs of inspect, one for each agent and model",
    writer: Writer::Documents { names, write, is_text: false },
    lacks: "standard output of tests but in explanations, the experiment, raw files",
};

/// Trials of one agent, by everything but the prompt and the repetition.
struct Group<'a> {
    name: String,
    trials: Vec<&'a Trial>,
}

fn groups(run: &Run) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for trial in &run.trials {
        let name = name_of(&trial.record.coordinates);
        let place = *places.entry(name.clone()).or_insert_with(|| {
            groups.push(Group { name, trials: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(place) {
            group.trials.push(trial);
        }
    }
    groups
}

fn name_of(of: &Coordinates) -> String {
    let parts = [
        Some(&of.agent),
        of.model.as_ref(),
        of.effort.as_ref(),
        of.environment.as_ref(),
        of.product.as_ref(),
        of.extension_id.as_ref(),
    ];
    parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join("__")
}

fn names(run: &Run) -> Vec<String> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let groups = groups(run);
    let mut names: Vec<String> = groups
        .iter()
        .map(|group| group.name.chars().map(plain).collect::<String>())
        .map(|name| name.trim_start_matches('.').to_owned())
        .collect();
    // Different names may be the same when they are plain.
    for at in 0..names.len() {
        let is_taken = names.iter().take(at).any(|name| Some(name) == names.get(at));
        if let Some(name) = names.get_mut(at).filter(|name| is_taken || name.is_empty()) {
            let _ = write!(name, "-{at}");
        }
    }
    names.into_iter().map(|name| format!("{name}.eval")).collect()
}

fn write(
    run: &Run,
    place: usize,
    redactor: &Redactor,
    out: &mut dyn Write,
) -> Result<Lost, ExportError> {
    let groups = groups(run);
    let Some(group) = groups.get(place) else { return Ok(Lost::default()) };
    let mut zip = Archive { zip: ZipWriter::new_stream(out), redactor };
    let mut lost = Lost::default();
    let eval = eval(run, group);
    let plan = json!({ "name": "plan", "steps": [], "finish": null, "config": {} });
    let start = json!({ "version": 2, "eval": eval, "plan": plan });
    zip.add("_journal/start.json", start.clone())?;
    let mut summaries = Vec::new();
    let mut epochs = BTreeMap::new();
    let mut usages: BTreeMap<String, Usage> = BTreeMap::new();
    let mut scores: BTreeMap<String, Tally> = BTreeMap::new();
    for trial in &group.trials {
        // From 1: retests and imports may repeat the number of a repetition.
        let epoch = epochs.entry(trial.record.coordinates.prompt_id.as_str()).or_insert(0_u64);
        *epoch += 1;
        let (sample, mut summary) = sample(run, trial, *epoch, &mut lost)?;
        let (id, epoch) = (summary["id"].clone(), summary["epoch"].clone());
        let name = format!("samples/{}_epoch_{epoch}.json", id.as_str().unwrap_or_default());
        for (name, score) in sample["scores"].as_object().into_iter().flatten() {
            scores.entry(name.clone()).or_default().add(score["value"] == "C");
        }
        if let Some(usage) = trial.record.usage {
            let sum = usages.entry(model_of(&trial.record)).or_default();
            *sum = sum.plus(usage);
        }
        summary["completed"] = true.into();
        summaries.push(summary);
        zip.add(&name, sample)?;
    }
    zip.add("summaries.json", summaries.into())?;
    let header = header(run, group, &start, &scores, &usages);
    zip.add("header.json", header)?;
    zip.zip.finish()?;
    Ok(lost)
}

struct Archive<'a, W: Write> {
    zip: ZipWriter<zip::write::StreamWriter<W>>,
    redactor: &'a Redactor,
}

impl<W: Write> Archive<'_, W> {
    fn add(&mut self, name: &str, mut value: Value) -> Result<(), ExportError> {
        self.redactor.json(&mut value);
        // No moment and no mode: the same run gives the same bytes.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .last_modified_time(zip::DateTime::default());
        self.zip.start_file(name, options)?;
        let bytes = serde_json::to_vec(&value)?;
        self.zip.write_all(&bytes)?;
        Ok(())
    }
}

#[derive(Default)]
struct Tally {
    passed: u32,
    all: u32,
}

impl Tally {
    fn add(&mut self, passed: bool) {
        self.passed += u32::from(passed);
        self.all += 1;
    }
}

/// An id of 22 characters, as inspect makes them by chance; ours come from what they name.
fn short_id(of: &str) -> String {
    Digest::of(of.as_bytes()).to_string().chars().take(22).collect()
}

fn model_of(record: &TrialRecord) -> String {
    record.coordinates.model.clone().unwrap_or_else(|| "unknown".to_owned())
}

fn eval(run: &Run, group: &Group<'_>) -> Value {
    let plan = &run.plan;
    let model = group.trials.first().map(|trial| model_of(&trial.record)).unwrap_or_default();
    let agent = group.trials.first().map(|trial| trial.record.coordinates.agent.clone());
    let mut ids: Vec<&str> = Vec::new();
    for trial in &group.trials {
        let id = trial.record.coordinates.prompt_id.as_str();
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let epochs = group
        .trials
        .iter()
        .map(|trial| trial.record.repeat_idx.saturating_add(1))
        .max()
        .unwrap_or(1);
    json!({
        "eval_id": short_id(&format!("{} {}", plan.run_id, group.name)),
        "run_id": short_id(&plan.run_id),
        "created": rfc3339(plan.created_at.saturating_mul(1000)),
        "task": plan.experiment_id,
        "task_id": short_id(&plan.experiment_id),
        "task_version": 0,
        "task_args": {},
        "solver": agent,
        "solver_args": {},
        "dataset": {
            "name": plan.experiment_id, "location": null, "samples": ids.len(), "sample_ids": ids,
            "shuffled": false,
        },
        "model": model,
        "model_args": {},
        "config": { "epochs": epochs },
        "packages": { "proctor": plan.proctor_version },
        "metadata": { "proctor_run_id": plan.run_id, "proctor_group": group.name },
    })
}

fn header(
    run: &Run,
    group: &Group<'_>,
    start: &Value,
    scores: &BTreeMap<String, Tally>,
    usages: &BTreeMap<String, Usage>,
) -> Value {
    let records = || group.trials.iter().map(|trial| &trial.record);
    let began = records().map(|record| record.started_at).min().unwrap_or_default();
    let ended = records().map(|record| record.ended_at).max().unwrap_or_default();
    let errors = records().filter(|record| record.status == TrialStatus::Error).count();
    let scores: Vec<Value> = scores
        .iter()
        .map(|(name, tally)| {
            let accuracy = f64::from(tally.passed) / f64::from(tally.all.max(1));
            json!({
                "name": name, "scorer": name, "params": {}, "scored_samples": tally.all,
                "unscored_samples": group.trials.len() - tally.all as usize,
                "metrics": { "accuracy": { "name": "accuracy", "value": accuracy, "params": {} } },
            })
        })
        .collect();
    let usages: Map<String, Value> =
        usages.iter().map(|(model, usage)| (model.clone(), model_usage(usage))).collect();
    let is_whole = group.trials.len() >= planned(run, group);
    json!({
        "version": 2,
        "status": if is_whole { "success" } else { "cancelled" },
        "eval": start["eval"],
        "plan": start["plan"],
        "results": {
            "total_samples": planned(run, group),
            "completed_samples": group.trials.len() - errors,
            "scores": scores,
        },
        "stats": {
            "started_at": rfc3339(began), "completed_at": rfc3339(ended), "model_usage": usages,
        },
    })
}

/// How many trials of the variants of a group were planned.
fn planned(run: &Run, group: &Group<'_>) -> usize {
    let variants: BTreeSet<&str> =
        group.trials.iter().map(|trial| trial.planned.variant_id.as_str()).collect();
    let trials = run.plan.trials.iter();
    trials.filter(|trial| variants.contains(trial.variant_id.as_str())).count()
}

fn model_usage(usage: &Usage) -> Value {
    let (input, output) = (usage.input_tokens.unwrap_or(0), usage.output_tokens.unwrap_or(0));
    let read = usage.cache_read_tokens.unwrap_or(0);
    let cached = read.saturating_add(usage.cache_write_tokens.unwrap_or(0));
    json!({
        "input_tokens": input,
        "output_tokens": output,
        "total_tokens": input.saturating_add(output).saturating_add(cached),
        "input_tokens_cache_write": usage.cache_write_tokens,
        "input_tokens_cache_read": usage.cache_read_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
        "total_cost": usage.cost_usd,
    })
}

/// A trial as a sample, and its summary.
fn sample(
    run: &Run,
    trial: &Trial,
    epoch: u64,
    lost: &mut Lost,
) -> Result<(Value, Value), ExportError> {
    let record = &trial.record;
    let mut told = Told::default();
    let mut events = Vec::new();
    run.events(trial, &mut |event| {
        told.take(&event);
        let at = event.ts_ms.unwrap_or(record.started_at);
        events.push(json!({
            "event": "info", "source": OURS, "timestamp": rfc3339(at), "working_start": 0.0,
            "data": event,
        }));
        Ok(())
    })?;
    for test in record.tests.iter().filter(|test| !test.stdout_tail.is_empty()) {
        if test.status == TestStatus::Passed {
            lost.add("outputs of tests that passed");
        }
    }
    let model = model_of(record);
    let Told { asked, messages, answer, .. } = told;
    let id = &record.coordinates.prompt_id;
    let input = asked.unwrap_or_else(|| id.clone());
    let seconds = |ms: u64| std::time::Duration::from_millis(ms).as_secs_f64();
    let total = seconds(record.ended_at.saturating_sub(record.started_at));
    let usage = record.usage.as_ref().map(model_usage);
    let usages = usage.clone().map(|usage| json!({ model.as_str(): usage })).unwrap_or(json!({}));
    let scores = scores(record);
    let error = (record.status == TrialStatus::Error).then(|| {
        let why = record.reason.clone().unwrap_or_else(|| record.exit_reason.to_string());
        json!({ "message": why, "traceback": "", "traceback_ansi": "" })
    });
    let choice = json!({
        "message": {
            "role": "assistant", "content": answer.unwrap_or_default(), "source": "generate",
        },
        "stop_reason": "stop",
    });
    let sample = json!({
        "id": id,
        "epoch": epoch,
        "input": input,
        "target": "",
        "messages": messages,
        "output": { "model": model, "choices": [choice], "usage": usage },
        "scores": scores,
        "metadata": {
            "proctor_trial_id": record.run_id,
            "proctor_variant_id": record.variant_id,
            "proctor_status": record.status,
            "proctor_exit_reason": record.exit_reason,
            "proctor_coordinates": record.coordinates,
        },
        "store": {},
        "events": events,
        "model_usage": usages,
        "started_at": rfc3339(record.started_at),
        "completed_at": rfc3339(record.ended_at),
        "total_time": total,
        "working_time": total,
        "uuid": short_id(&record.run_id),
        "error": error,
        "attachments": {},
    });
    let summary = json!({
        "id": id, "epoch": epoch, "input": sample["input"], "target": "",
        "scores": scores, "model_usage": usages, "total_time": total, "working_time": total,
        "uuid": sample["uuid"], "error": record.reason.as_ref().filter(|_| error.is_some()),
    });
    Ok((sample, summary))
}

fn scores(record: &TrialRecord) -> Value {
    let mut scores = Map::new();
    for test in &record.tests {
        let value = match test.status {
            TestStatus::Passed => "C",
            TestStatus::Failed => "I",
            TestStatus::EvidenceError | TestStatus::Error | TestStatus::Skipped => "N",
        };
        let said = if test.stderr_tail.is_empty() { &test.stdout_tail } else { &test.stderr_tail };
        let why = test.reason.clone().or_else(|| (value != "C").then(|| said.clone()));
        let metadata = json!({ "status": test.status, "exit_code": test.exit_code });
        scores.insert(
            test.name.clone(),
            json!({ "value": value, "explanation": why, "metadata": metadata, "history": [] }),
        );
    }
    for check in &record.graded {
        let value = match check.status {
            GradedStatus::Passed => "C",
            GradedStatus::Failed => "I",
            GradedStatus::Error | GradedStatus::Skipped | GradedStatus::Unknown => "N",
        };
        let why = check.reason.as_ref().or(check.excerpt.as_ref());
        let metadata = json!({ "status": check.status, "kind": check.kind });
        scores.insert(
            check.name.clone(),
            json!({ "value": value, "explanation": why, "metadata": metadata, "history": [] }),
        );
    }
    scores.into()
}

/// What was said, as messages.
#[derive(Default)]
struct Told {
    asked: Option<String>,
    messages: Vec<Value>,
    answer: Option<String>,
    tools: BTreeMap<String, String>,
}

impl Told {
    fn take(&mut self, event: &Event) {
        match &event.kind {
            EventKind::Message { role, text } => {
                let name = match role {
                    Role::Assistant => "assistant",
                    Role::User => "user",
                    Role::Harness => "system",
                };
                if *role == Role::User {
                    self.asked.get_or_insert_with(|| text.clone());
                }
                if *role == Role::Assistant {
                    self.answer = Some(text.clone());
                }
                self.messages.push(json!({ "role": name, "content": text }));
            }
            EventKind::Reasoning { text } => {
                let part = json!({ "type": "reasoning", "reasoning": text });
                self.messages.push(json!({ "role": "assistant", "content": [part] }));
            }
            EventKind::ToolCall { id, name, input, .. } => {
                self.tools.insert(id.clone(), name.clone());
                let arguments =
                    if input.is_object() { input.clone() } else { json!({ "input": input }) };
                let call = json!({
                    "id": id, "function": name, "arguments": arguments, "type": "function",
                });
                self.call(call);
            }
            EventKind::ToolResult { id, status, text } => {
                let error = match status {
                    ToolStatus::Ok => None,
                    ToolStatus::Error => Some("unknown"),
                    ToolStatus::Denied => Some("permission"),
                };
                let error = error.map(|kind| json!({ "type": kind, "message": text }));
                self.messages.push(json!({
                    "role": "tool", "content": text, "tool_call_id": id,
                    "function": self.tools.get(id), "error": error,
                }));
            }
            _ => {}
        }
    }

    /// Calls belong to the message before them.
    fn call(&mut self, call: Value) {
        let last = self.messages.last_mut().filter(|last| last["role"] == "assistant");
        if let Some(Value::Object(last)) = last {
            let calls = last.entry("tool_calls").or_insert_with(|| json!([]));
            if let Value::Array(calls) = calls {
                calls.push(call);
            }
            return;
        }
        self.messages.push(json!({ "role": "assistant", "content": "", "tool_calls": [call] }));
    }
}
