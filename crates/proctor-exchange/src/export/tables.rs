//! Tables in Parquet, one file each, for `DuckDB`, pandas and ClickHouse: the set that the local mode
//! of the reference has, and what Proctor knows beside it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;

use camino::Utf8Path;
use proctor_model::event::{Role, ToolStatus};
use proctor_model::moment::LAST_MS;
use proctor_model::run::{TestStatus, TrialRecord};
use proctor_model::{Event, EventKind};
use proctor_query::parquet::{
    ParquetColumn, ParquetKind as Kind, ParquetValue as Cell, ParquetWriter,
};
use proctor_redact::Redactor;
use serde::Serialize;

use super::{ExportError, Format, Lost, Writer};
use crate::run::{Run, Trial, bytes_of};

pub(super) const FORMAT: Format = Format {
    name: "parquet",
    title: "tables in Parquet, one file each, for DuckDB, pandas and ClickHouse",
    writer: Writer::Folder { write },
    lacks: "files of more than 64 MiB, of which `artifacts` has the size alone",
};

/// The longest file that is a value.
const MAX_FILE: u64 = 64 << 20;

/// A table: its name and its columns. A `!` after the kind's letter means that it has no nulls.
type Shape = (&'static str, &'static [(&'static str, Kind, bool)]);

const RUN: (&str, Kind, bool) = ("run_group_id", Kind::Text, true);
const TRIAL: (&str, Kind, bool) = ("eval_id", Kind::Text, true);

const EXPERIMENT_RUNS: Shape = (
    "experiment_runs",
    &[
        RUN,
        ("experiment_id", Kind::Text, true),
        ("created_at", Kind::Milliseconds, true),
        ("proctor_version", Kind::Text, true),
        ("retest_of", Kind::Text, false),
        ("planned", Kind::UInt, true),
        ("finished", Kind::UInt, true),
        ("plan_json", Kind::Text, true),
        ("experiment", Kind::Text, false),
    ],
);
const RUNS: Shape = (
    "runs",
    &[
        RUN,
        TRIAL,
        ("variant_id", Kind::Text, true),
        ("repeat_idx", Kind::UInt, true),
        ("agent", Kind::Text, true),
        ("model", Kind::Text, false),
        ("effort", Kind::Text, false),
        ("prompt_id", Kind::Text, true),
        ("environment", Kind::Text, false),
        ("product", Kind::Text, false),
        ("extension_id", Kind::Text, false),
        ("status", Kind::Text, true),
        ("exit_reason", Kind::Text, true),
        ("reason", Kind::Text, false),
        ("started_at", Kind::Milliseconds, true),
        ("ended_at", Kind::Milliseconds, true),
        ("num_turns", Kind::UInt, false),
        ("tool_calls_total", Kind::UInt, true),
        ("tool_calls_failed", Kind::UInt, true),
        ("input_tokens", Kind::UInt, false),
        ("output_tokens", Kind::UInt, false),
        ("cached_read_tokens", Kind::UInt, false),
        ("cached_write_tokens", Kind::UInt, false),
        ("reasoning_tokens", Kind::UInt, false),
        ("cost_usd_micros", Kind::Int, false),
        ("record_json", Kind::Text, true),
    ],
);
const AGENT_EVENTS: Shape = (
    "agent_events",
    &[
        RUN,
        TRIAL,
        ("seq", Kind::UInt, true),
        ("line", Kind::UInt, true),
        ("ts", Kind::Milliseconds, false),
        ("kind", Kind::Text, true),
        ("parent_tool_call_id", Kind::Text, false),
        ("raw_json", Kind::Text, true),
    ],
);
const MESSAGES: Shape = (
    "messages",
    &[
        RUN,
        TRIAL,
        ("seq", Kind::UInt, true),
        ("ts", Kind::Milliseconds, false),
        ("kind", Kind::Text, true),
        ("role", Kind::Text, true),
        ("text", Kind::Text, true),
    ],
);
const TOOL_CALLS: Shape = (
    "tool_calls",
    &[
        RUN,
        TRIAL,
        ("tool_call_id", Kind::Text, true),
        ("seq", Kind::UInt, true),
        ("tool_name", Kind::Text, true),
        ("action", Kind::Text, true),
        ("argument", Kind::Text, false),
        ("status", Kind::Text, true),
        ("started_at", Kind::Milliseconds, false),
        ("ended_at", Kind::Milliseconds, false),
        ("raw_input", Kind::Text, true),
        ("raw_output", Kind::Text, false),
    ],
);
const HARNESS_SPANS: Shape = (
    "harness_spans",
    &[
        RUN,
        TRIAL,
        ("span_idx", Kind::UInt, true),
        ("name", Kind::Text, true),
        ("started_at", Kind::Milliseconds, true),
        ("duration_ms", Kind::UInt, true),
    ],
);
const TESTS: Shape = (
    "tests",
    &[
        RUN,
        TRIAL,
        ("test_idx", Kind::UInt, true),
        ("test_name", Kind::Text, true),
        ("status", Kind::Text, true),
        ("exit_code", Kind::Int, false),
        ("duration_ms", Kind::UInt, true),
        ("reason", Kind::Text, false),
        ("stdout_tail", Kind::Text, true),
        ("stderr_tail", Kind::Text, true),
    ],
);
const CHECKS: Shape = (
    "checks",
    &[
        RUN,
        TRIAL,
        ("check_idx", Kind::UInt, true),
        ("check_name", Kind::Text, true),
        ("check_kind", Kind::Text, true),
        ("status", Kind::Text, true),
        ("reason", Kind::Text, false),
        ("exit_code", Kind::Int, false),
        ("duration_ms", Kind::UInt, false),
    ],
);
const ARTIFACTS: Shape = (
    "artifacts",
    &[
        RUN,
        TRIAL,
        ("path", Kind::Text, true),
        ("size", Kind::UInt, true),
        ("content", Kind::Bytes, false),
    ],
);

/// The tables in the order of [`Tables`].
const ALL: [Shape; 9] = [
    EXPERIMENT_RUNS,
    RUNS,
    AGENT_EVENTS,
    MESSAGES,
    TOOL_CALLS,
    HARNESS_SPANS,
    TESTS,
    CHECKS,
    ARTIFACTS,
];

fn write(run: &Run, redactor: &Redactor, folder: &Utf8Path) -> Result<Lost, ExportError> {
    let mut tables = Tables::create(folder)?;
    let mut lost = Lost::default();
    tables.add(EXPERIMENT_RUNS, about(run, redactor)?)?;
    for trial in &run.trials {
        let base = [Cell::from(run.plan.run_id.as_str()), trial.record.run_id.as_str().into()];
        let mut rows = Rows { tables: &mut tables, base, redactor };
        rows.record(&trial.record)?;
        rows.events(run, trial)?;
        rows.files(run, trial, &mut lost)?;
    }
    tables.finish()?;
    Ok(lost)
}

struct Tables(BTreeMap<&'static str, ParquetWriter<BufWriter<File>>>);

impl Tables {
    fn create(folder: &Utf8Path) -> Result<Self, ExportError> {
        let mut tables = BTreeMap::new();
        for (name, columns) in ALL {
            let file = File::create_new(folder.join(format!("{name}.parquet")))?;
            let columns = columns.iter().map(|(name, kind, required)| ParquetColumn {
                name: (*name).to_owned(),
                kind: *kind,
                required: *required,
            });
            tables.insert(name, ParquetWriter::new(BufWriter::new(file), columns.collect())?);
        }
        Ok(Self(tables))
    }

    fn add(&mut self, (name, _): Shape, row: Vec<Cell>) -> Result<(), ExportError> {
        match self.0.get_mut(name) {
            Some(table) => Ok(table.row(row)?),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<(), ExportError> {
        for (_, table) in self.0 {
            table.finish()?;
        }
        Ok(())
    }
}

fn about(run: &Run, redactor: &Redactor) -> Result<Vec<Cell>, ExportError> {
    let plan = &run.plan;
    let clean = |text: &String| redactor.text(text).into_owned();
    Ok(vec![
        plan.run_id.as_str().into(),
        plan.experiment_id.as_str().into(),
        moment(plan.created_at.saturating_mul(1000)),
        plan.proctor_version.as_str().into(),
        plan.retest_of.clone().into(),
        (plan.trials.len() as u64).into(),
        (run.trials.len() as u64).into(),
        json(plan, redactor)?.into(),
        run.experiment.as_ref().map(clean).into(),
    ])
}

/// A value as JSON without secrets.
fn json(value: &impl Serialize, redactor: &Redactor) -> Result<String, ExportError> {
    let mut value = serde_json::to_value(value)?;
    redactor.json(&mut value);
    Ok(value.to_string())
}

struct Rows<'a> {
    tables: &'a mut Tables,
    base: [Cell; 2],
    redactor: &'a Redactor,
}

impl Rows<'_> {
    fn add(&mut self, shape: Shape, row: Vec<Cell>) -> Result<(), ExportError> {
        let mut cells = self.base.to_vec();
        cells.extend(row);
        self.tables.add(shape, cells)
    }

    fn clean(&self, text: &str) -> Cell {
        self.redactor.text(text).into_owned().into()
    }

    fn maybe(&self, text: Option<&String>) -> Cell {
        text.map(|text| self.redactor.text(text).into_owned()).into()
    }

    fn record(&mut self, record: &TrialRecord) -> Result<(), ExportError> {
        let of = &record.coordinates;
        let usage = record.usage.unwrap_or_default();
        let row = vec![
            record.variant_id.as_str().into(),
            u64::from(record.repeat_idx).into(),
            of.agent.as_str().into(),
            of.model.clone().into(),
            of.effort.clone().into(),
            of.prompt_id.as_str().into(),
            of.environment.clone().into(),
            of.product.clone().into(),
            of.extension_id.clone().into(),
            record.status.as_str().into(),
            record.exit_reason.as_str().into(),
            self.maybe(record.reason.as_ref()),
            moment(record.started_at),
            moment(record.ended_at),
            usage.turns.into(),
            record.tool_calls.into(),
            record.tool_calls_failed.into(),
            usage.input_tokens.into(),
            usage.output_tokens.into(),
            usage.cache_read_tokens.into(),
            usage.cache_write_tokens.into(),
            usage.reasoning_tokens.into(),
            usage.cost_usd.and_then(micros).into(),
            json(record, self.redactor)?.into(),
        ];
        self.add(RUNS, row)?;
        let mut at = record.started_at;
        for (index, phase) in (0_u64..).zip(&record.phases) {
            let name = phase.phase.as_str();
            let row = vec![index.into(), name.into(), moment(at), phase.duration_ms.into()];
            self.add(HARNESS_SPANS, row)?;
            at = at.saturating_add(phase.duration_ms);
        }
        self.graded(record)
    }

    fn graded(&mut self, record: &TrialRecord) -> Result<(), ExportError> {
        let mut index = 0_u64;
        for check in &record.checks {
            let passed = if check.exit_code == 0 { TestStatus::Passed } else { TestStatus::Failed };
            let row = vec![
                index.into(),
                check.name.as_str().into(),
                "setup_check".into(),
                passed.as_str().into(),
                Cell::Null,
                i64::from(check.exit_code).into(),
                check.duration_ms.into(),
            ];
            self.add(CHECKS, row)?;
            index += 1;
        }
        for (number, test) in (0_u64..).zip(&record.tests) {
            let code: Cell = test.exit_code.map(i64::from).into();
            let reason = self.maybe(test.reason.as_ref());
            let row = vec![
                index.into(),
                test.name.as_str().into(),
                "test".into(),
                test.status.as_str().into(),
                reason.clone(),
                code.clone(),
                test.duration_ms.into(),
            ];
            self.add(CHECKS, row)?;
            index += 1;
            let row = vec![
                number.into(),
                test.name.as_str().into(),
                test.status.as_str().into(),
                code,
                test.duration_ms.into(),
                reason,
                self.clean(&test.stdout_tail),
                self.clean(&test.stderr_tail),
            ];
            self.add(TESTS, row)?;
        }
        for check in &record.graded {
            let row = vec![
                index.into(),
                check.name.as_str().into(),
                check.kind.as_str().into(),
                check.status.as_str().into(),
                self.maybe(check.reason.as_ref()),
                Cell::Null,
                Cell::Null,
            ];
            self.add(CHECKS, row)?;
            index += 1;
        }
        Ok(())
    }

    fn events(&mut self, run: &Run, trial: &Trial) -> Result<(), ExportError> {
        let mut calls = Calls::default();
        let mut failure = None;
        run.events(trial, &mut |event| {
            if let Err(error) = self.event(&event, &mut calls) {
                failure = Some(error);
                return Err(std::io::ErrorKind::Other.into());
            }
            Ok(())
        })
        .or_else(|error| failure.take().map_or(Err(error.into()), Err))?;
        for call in calls.all {
            let row = vec![
                call.id.into(),
                call.seq.into(),
                call.name.into(),
                call.action.into(),
                call.argument.into(),
                call.status.into(),
                call.started.map_or(Cell::Null, moment),
                call.ended.map_or(Cell::Null, moment),
                call.input.into(),
                call.output.into(),
            ];
            self.add(TOOL_CALLS, row)?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, calls: &mut Calls) -> Result<(), ExportError> {
        let mut value = serde_json::to_value(event)?;
        self.redactor.json(&mut value);
        let kind = value.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default();
        let row = vec![
            event.seq.into(),
            event.line.into(),
            event.ts_ms.map_or(Cell::Null, moment),
            kind.into(),
            event.parent.clone().into(),
            value.to_string().into(),
        ];
        self.add(AGENT_EVENTS, row)?;
        let said = match &event.kind {
            EventKind::Message { role, text } => Some(("message", *role, text)),
            EventKind::Reasoning { text } => Some(("reasoning", Role::Assistant, text)),
            _ => None,
        };
        if let Some((kind, role, text)) = said {
            let role = match role {
                Role::Assistant => "assistant",
                Role::User => "user",
                Role::Harness => "harness",
            };
            let text = self.clean(text);
            let row = vec![
                event.seq.into(),
                event.ts_ms.map_or(Cell::Null, moment),
                kind.into(),
                role.into(),
                text,
            ];
            self.add(MESSAGES, row)?;
        }
        calls.take(event, self.redactor);
        Ok(())
    }

    fn files(&mut self, run: &Run, trial: &Trial, lost: &mut Lost) -> Result<(), ExportError> {
        for file in run.files(trial)? {
            let content = bytes_of(file.host.as_std_path(), MAX_FILE)?;
            if content.is_none() {
                lost.add("files of more than 64 MiB");
            }
            let content = content.map_or(Cell::Null, Cell::Bytes);
            let row = vec![file.path.as_str().into(), file.size.into(), content];
            self.add(ARTIFACTS, row)?;
        }
        Ok(())
    }
}

/// A moment, which is never later than readers of tables know.
fn moment(milliseconds: u64) -> Cell {
    milliseconds.min(LAST_MS).into()
}

/// Millionths of a dollar; `None` for what is no amount.
fn micros(dollars: f64) -> Option<i64> {
    let micros = (dollars * 1e6).round();
    #[expect(clippy::cast_possible_truncation, reason = "the range is looked at")]
    (micros.is_finite() && micros.abs() < 9e15).then_some(micros as i64)
}

/// Calls of tools with what came back of them.
#[derive(Default)]
struct Calls {
    all: Vec<Call>,
    /// The last call of each id.
    places: BTreeMap<String, usize>,
}

struct Call {
    id: String,
    seq: u64,
    name: String,
    action: String,
    argument: Option<String>,
    status: &'static str,
    started: Option<u64>,
    ended: Option<u64>,
    input: String,
    output: Option<String>,
}

impl Calls {
    fn take(&mut self, event: &Event, redactor: &Redactor) {
        match &event.kind {
            EventKind::ToolCall { id, name, action, input } => {
                let mut input = input.clone();
                redactor.json(&mut input);
                let mut meaning = serde_json::to_value(action).unwrap_or_default();
                redactor.json(&mut meaning);
                let word = meaning.get("action").and_then(|word| word.as_str());
                let argument = ["path", "command", "name", "pattern", "target"]
                    .iter()
                    .find_map(|key| Some(meaning.get(key)?.as_str()?.to_owned()));
                let of_server = || {
                    let (server, tool) = (meaning.get("server")?, meaning.get("tool")?);
                    Some(format!("{}/{}", server.as_str()?, tool.as_str()?))
                };
                self.places.insert(id.clone(), self.all.len());
                self.all.push(Call {
                    id: id.clone(),
                    seq: event.seq,
                    name: name.clone(),
                    action: word.unwrap_or("other").to_owned(),
                    argument: argument.or_else(of_server),
                    status: "in_progress",
                    started: event.ts_ms,
                    ended: None,
                    input: input.as_str().map_or_else(|| input.to_string(), str::to_owned),
                    output: None,
                });
            }
            EventKind::ToolResult { id, status, text } => {
                let place = self.places.get(id).copied();
                let Some(call) = place.and_then(|place| self.all.get_mut(place)) else { return };
                call.status = match status {
                    ToolStatus::Ok => "completed",
                    ToolStatus::Error => "failed",
                    ToolStatus::Denied => "denied",
                };
                call.ended = event.ts_ms;
                call.output = Some(redactor.text(text).into_owned());
            }
            _ => {}
        }
    }
}
