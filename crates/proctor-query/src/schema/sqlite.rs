//! What stands behind the tables in SQLite: base tables that nobody asks by themselves, and a view
//! for each table of [`super::TABLES`].
//!
//! A trial's number is a multiple of [`EVENTS_PER_TRIAL`], and an event's number is the trial's and
//! its place: rows of a trial lie together, and are found without an index.

use std::fmt::Write as _;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::EVIDENCE_VERSION;

/// Numbers between two trials.
pub(crate) const EVENTS_PER_TRIAL: i64 = 1 << 32;

/// The rows that the views show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of them.
    #[default]
    All,
    /// Those of the runs of one experiment.
    Experiment(String),
    /// Those of one run.
    Run(String),
    /// Those of one trial.
    Trial(String),
}

/// Marks a file as one of ours: "Prct".
const APPLICATION_ID: i64 = 0x5072_6374;

const TABLES: &str = "
CREATE TABLE stored_trial (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL, run_request_id TEXT NOT NULL, run_kind TEXT NOT NULL,
    experiment_id TEXT NOT NULL, variant_id TEXT NOT NULL,
    agent TEXT NOT NULL, model TEXT, prompt_id TEXT NOT NULL, resolved_extend_id TEXT,
    effort TEXT, environment TEXT, product TEXT, repeat_idx INTEGER NOT NULL,
    stamp TEXT NOT NULL, problem TEXT,
    status TEXT, exit_reason TEXT, reason TEXT, isolation TEXT,
    started_at TEXT, ended_at TEXT, agent_started_at TEXT, agent_ended_at TEXT,
    agent_time_ms INTEGER, num_turns INTEGER,
    test_pass_count INTEGER, test_fail_count INTEGER,
    tool_calls_total INTEGER, tool_calls_failed INTEGER,
    input_tokens INTEGER, output_tokens INTEGER,
    cached_read_tokens INTEGER, cached_write_tokens INTEGER,
    cost_usd_micros INTEGER, cost_source TEXT,
    UNIQUE (run_id, run_request_id));
CREATE INDEX stored_trial_request ON stored_trial (run_request_id);

CREATE TABLE stored_event (
    id INTEGER PRIMARY KEY,
    source TEXT NOT NULL, kind TEXT NOT NULL, tool_call_id TEXT, assertion_role TEXT, role TEXT,
    tool_name TEXT, status TEXT, skill TEXT, file_path TEXT, mcp_server TEXT, mcp_tool TEXT,
    command TEXT, action TEXT, argument TEXT, parent_tool_call_id TEXT, ts_ms INTEGER,
    payload TEXT NOT NULL);
CREATE INDEX stored_event_call ON stored_event (tool_call_id) WHERE tool_call_id IS NOT NULL;

CREATE TABLE stored_call (
    id INTEGER PRIMARY KEY,
    tool_call_id TEXT NOT NULL, tool_name TEXT NOT NULL, status TEXT NOT NULL,
    input_id INTEGER, output_id INTEGER, last_id INTEGER NOT NULL, skill TEXT, file_path TEXT,
    mcp_server TEXT, mcp_tool TEXT, command TEXT, action TEXT, argument TEXT, started_ts_ns INTEGER);

CREATE TABLE stored_check (
    id INTEGER PRIMARY KEY,
    check_name TEXT NOT NULL, check_kind TEXT NOT NULL, status TEXT NOT NULL, reason TEXT,
    exit_code INTEGER, duration_ms INTEGER, stdout TEXT NOT NULL, stderr_tail TEXT NOT NULL);
";

const VIEWS: &str = "
CREATE TEMP VIEW events AS
SELECT t.run_id, t.run_request_id, t.agent, t.model, t.prompt_id, e.source, e.kind,
       e.id - t.id AS source_seq, e.tool_call_id, e.assertion_role, e.payload, e.role, e.tool_name,
       e.status, e.skill, e.file_path, e.mcp_server, e.mcp_tool, e.command, e.action, e.argument,
       e.parent_tool_call_id, e.ts_ms
FROM stored_scope t CROSS JOIN stored_event e ON e.id > t.id AND e.id < t.id + 4294967296;

CREATE TEMP VIEW sd_current_tool_calls AS
SELECT t.run_id, t.run_request_id, t.agent, t.model, t.prompt_id, c.tool_call_id, c.tool_name,
       c.status,
       coalesce((SELECT call_part(e.payload, 'input') FROM stored_event e WHERE e.id = c.input_id), '')
         AS input,
       coalesce((SELECT call_part(e.payload, 'output') FROM stored_event e WHERE e.id = c.output_id), '')
         AS output,
       c.skill, c.file_path, c.mcp_server, c.mcp_tool, c.command, c.action, c.argument,
       c.id - t.id AS first_source_seq, c.last_id - t.id AS last_source_seq
FROM stored_scope t CROSS JOIN stored_call c ON c.id > t.id AND c.id < t.id + 4294967296;

CREATE TEMP VIEW tool_calls AS
SELECT t.run_id, c.status, c.started_ts_ns,
       coalesce((SELECT call_part(e.payload, 'input') FROM stored_event e WHERE e.id = c.input_id), '')
         AS raw_input,
       coalesce((SELECT call_part(e.payload, 'output') FROM stored_event e WHERE e.id = c.output_id), '')
         AS raw_output,
       c.id - t.id AS source_seq
FROM stored_scope t CROSS JOIN stored_call c ON c.id > t.id AND c.id < t.id + 4294967296;

CREATE TEMP VIEW measurements AS
SELECT run_id, run_request_id, agent, model, prompt_id, resolved_extend_id, repeat_idx, status,
       exit_reason, test_pass_count, test_fail_count, agent_time_ms, num_turns, tool_calls_total,
       tool_calls_failed, input_tokens, output_tokens, cost_usd_micros, run_kind, experiment_id,
       variant_id, effort, environment, product, started_at, ended_at
FROM stored_scope WHERE status IS NOT NULL;

CREATE TEMP VIEW test_output AS
SELECT t.run_id, t.run_request_id, t.agent, t.model, t.prompt_id, t.resolved_extend_id,
       t.repeat_idx, c.check_name AS test_name, c.exit_code, c.stderr_tail
FROM stored_scope t CROSS JOIN stored_check c ON c.id >= t.id AND c.id < t.id + 4294967296
WHERE c.check_kind = 'test';

CREATE TEMP VIEW test_analysis AS
SELECT t.run_id, t.run_request_id, t.agent, t.model, t.prompt_id, t.resolved_extend_id,
       t.repeat_idx, c.check_name AS test_name, c.exit_code, c.stdout
FROM stored_scope t CROSS JOIN stored_check c ON c.id >= t.id AND c.id < t.id + 4294967296
WHERE c.check_kind = 'test';

CREATE TEMP VIEW runs AS
SELECT run_id, run_request_id, prompt_id, repeat_idx, status, exit_reason, agent_started_at,
       agent_ended_at, tool_calls_total, max(tool_calls_total - tool_calls_failed, 0)
         AS tool_calls_succeeded, tool_calls_failed, input_tokens, output_tokens, cost_usd_micros
FROM stored_scope WHERE status IS NOT NULL;

CREATE TEMP VIEW agent_timeline_entries AS
SELECT t.run_id, 'agent_message' AS entry_kind, call_part(e.payload, 'text') AS text,
       e.id - t.id AS seq_start
FROM stored_scope t CROSS JOIN stored_event e ON e.id > t.id AND e.id < t.id + 4294967296
WHERE e.kind = 'message' AND e.role = 'assistant';

CREATE TEMP VIEW checks AS
SELECT t.run_id, t.run_request_id, t.agent, t.model, t.prompt_id, t.resolved_extend_id,
       t.repeat_idx, c.check_name, c.check_kind, c.status, c.reason, c.exit_code, c.duration_ms,
       c.id - t.id AS check_idx
FROM stored_scope t CROSS JOIN stored_check c ON c.id >= t.id AND c.id < t.id + 4294967296;

CREATE TEMP VIEW verdicts AS
SELECT run_id, run_request_id, run_kind, agent, model, prompt_id, resolved_extend_id, repeat_idx,
       status, exit_reason, reason, isolation
FROM stored_scope WHERE status IS NOT NULL;

CREATE TEMP VIEW costs AS
SELECT run_id, run_request_id, agent, model, prompt_id, input_tokens, output_tokens,
       cached_read_tokens, cached_write_tokens, cost_usd_micros, cost_source
FROM stored_scope WHERE status IS NOT NULL;
";

/// Makes the base tables, where there are none.
pub(crate) fn create(connection: &Connection) -> Result<()> {
    connection.execute_batch(TABLES)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", EVIDENCE_VERSION)
}

/// Whether nothing is in it yet.
pub(crate) fn is_empty(connection: &Connection) -> Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_master", [], |row| row.get(0))
}

/// Whether the base tables are there as this version makes them, and nothing else: the file may be
/// of another version, or of somebody who means ill.
pub(crate) fn is_current(connection: &Connection) -> Result<bool> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let made = |connection: &Connection| {
        let sql = "SELECT group_concat(name || char(10) || coalesce(sql, ''), char(10)) \
                   FROM (SELECT name, sql FROM sqlite_master ORDER BY name)";
        connection.query_row(sql, [], |row| row.get::<_, Option<String>>(0))
    };
    let fresh = Connection::open_in_memory()?;
    create(&fresh)?;
    Ok(number("application_id")? == APPLICATION_ID
        && number("user_version")? == i64::from(EVIDENCE_VERSION)
        && made(connection)? == made(&fresh)?)
}

/// Registers what the views need: `call_part(payload, key)`, a text as it is and anything else as JSON.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("call_part", 2, flags, |context| {
        let (ValueRef::Text(payload), ValueRef::Text(key)) =
            (context.get_raw(0), context.get_raw(1))
        else {
            return Ok(String::new());
        };
        Ok(part(payload, key))
    })
}

/// What has the key in an object; empty when nothing has, or it is null.
fn part(payload: &[u8], key: &[u8]) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Parts<'a> {
        #[serde(borrow)]
        input: Option<&'a RawValue>,
        #[serde(borrow)]
        output: Option<&'a RawValue>,
        #[serde(borrow)]
        text: Option<&'a RawValue>,
    }
    let parts: Parts<'_> = serde_json::from_slice(payload).unwrap_or_default();
    let found = match key {
        b"input" => parts.input,
        b"output" => parts.output,
        _ => parts.text,
    };
    let Some(raw) = found.map(RawValue::get) else { return String::new() };
    if raw.starts_with('"') {
        serde_json::from_str(raw).unwrap_or_default()
    } else {
        raw.to_owned()
    }
}

/// Makes the views show what is in `scope`. They belong to the connection, not to the file.
pub(crate) fn show(connection: &Connection, scope: &Scope) -> Result<()> {
    let equal = |column: &str, id: &str| format!("WHERE {column} = '{}'", id.replace('\'', "''"));
    let condition = match scope {
        Scope::All => String::new(),
        Scope::Experiment(id) => equal("experiment_id", id),
        Scope::Run(id) => equal("run_request_id", id),
        Scope::Trial(id) => equal("run_id", id),
    };
    let mut batch = String::from("DROP VIEW IF EXISTS temp.stored_scope;");
    for table in super::TABLES {
        // A string takes everything.
        let _ = write!(batch, "DROP VIEW IF EXISTS temp.{};", table.name);
    }
    let _ = write!(
        batch,
        "CREATE TEMP VIEW stored_scope AS SELECT * FROM main.stored_trial {condition};"
    );
    batch.push_str(VIEWS);
    connection.execute_batch(&batch)
}
