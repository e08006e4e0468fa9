//! The list.

use super::{Column, Kind, Table};

const fn column(name: &'static str, kind: Kind, doc: &'static str) -> Column {
    Column { name, kind, nullable: false, doc }
}

const fn maybe(name: &'static str, kind: Kind, doc: &'static str) -> Column {
    Column { name, kind, nullable: true, doc }
}

// What the rows of a trial have in common.
const RUN_ID: Column = column("run_id", Kind::Text, "the trial");
const REQUEST: Column =
    column("run_request_id", Kind::Text, "the run that the trial belongs to: one invocation");
const AGENT: Column = column("agent", Kind::Word, "the agent program");
const MODEL: Column = maybe("model", Kind::Word, "the model; NULL for the agent's own choice");
const PROMPT: Column =
    column("prompt_id", Kind::Word, "the prompt, the fixture, or `skill/case` of a skill eval");
const EXTENSION: Column =
    maybe("resolved_extend_id", Kind::Word, "the extension; for nested ones the path");
const REPEAT: Column = column("repeat_idx", Kind::Count, "which repetition, from 0");

// What the rows of a tool call have in common.
const CALL_ID: Column = column("tool_call_id", Kind::Text, "the agent's id of the call");
const SKILL: Column = maybe("skill", Kind::Text, "the skill that the call invokes");
const FILE_PATH: Column = maybe(
    "file_path",
    Kind::Text,
    "the file that is read, written or changed, as the agent names it",
);
const MCP_SERVER: Column = maybe("mcp_server", Kind::Word, "the MCP server that is called");
const MCP_TOOL: Column = maybe("mcp_tool", Kind::Word, "the tool of that server");
const COMMAND: Column = maybe("command", Kind::Text, "the command line that is run");
const ACTION: Column = maybe(
    "action",
    Kind::Word,
    "what the call means, whatever the agent calls the tool: read, write, edit, shell, skill, mcp, \
     search, web, agent or other",
);
const ARGUMENT: Column = maybe(
    "argument",
    Kind::Text,
    "what it is done to: the path, command, skill, `server/tool`, pattern, address or subagent",
);

// How a trial ended.
const STATUS: Column = column("status", Kind::Word, "the verdict: pass, fail or error");
const EXIT_REASON: Column = column(
    "exit_reason",
    Kind::Word,
    "how the agent ended, or why there is none: end_turn, timeout, ...",
);
const INPUT_TOKENS: Column = maybe(
    "input_tokens",
    Kind::Count,
    "input tokens that were not read from a cache; NULL when not known",
);
const OUTPUT_TOKENS: Column =
    maybe("output_tokens", Kind::Count, "output tokens, reasoning included; NULL when not known");
const COST: Column =
    maybe("cost_usd_micros", Kind::Count, "millionths of a US dollar; NULL when not known");
const CALLS: Column = column("tool_calls_total", Kind::Count, "calls of tools");
const CALLS_FAILED: Column =
    column("tool_calls_failed", Kind::Count, "those of them that failed or were refused");

// What a test left.
const TEST_NAME: Column = column("test_name", Kind::Text, "the test");
const EXIT_CODE: Column = maybe(
    "exit_code",
    Kind::Whole,
    "its exit code; 128 and the signal's number; NULL when it did not run",
);

/// Tables and views that people may ask.
pub const TABLES: &[Table] = &[
    Table {
        name: "events",
        doc: "what happened in a session, one row an event; a call of a tool has several",
        key: &["run_request_id", "run_id", "source_seq"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            column(
                "source",
                Kind::Word,
                "`transcript` is what the agent said and did, `acp` what it was told and how the \
                 session ran",
            ),
            column(
                "kind",
                Kind::Word,
                "message, reasoning, tool_call, file_change, usage, lifecycle, harness_span or \
                 file_manifest",
            ),
            column("source_seq", Kind::Count, "the order within a trial, from 1"),
            maybe("tool_call_id", Kind::Text, "the call that the row belongs to"),
            maybe(
                "assertion_role",
                Kind::Word,
                "`primary` for what can be asserted on; `prompt` and `harness` for text that the \
                 agent was given; NULL elsewhere",
            ),
            column(
                "payload",
                Kind::Json,
                "JSON: `text` of messages; `tool_name`, `status`, `input`, `output` of calls",
            ),
            maybe("role", Kind::Word, "who said it: assistant, user or harness"),
            maybe("tool_name", Kind::Word, "the tool, as the agent calls it"),
            maybe("status", Kind::Word, "of a call: in_progress, completed, failed or denied"),
            SKILL,
            FILE_PATH,
            MCP_SERVER,
            MCP_TOOL,
            COMMAND,
            ACTION,
            ARGUMENT,
            maybe("parent_tool_call_id", Kind::Text, "the call under which a subagent did it"),
            maybe("ts_ms", Kind::Count, "when it was seen, in milliseconds since 1970"),
        ],
    },
    Table {
        name: "sd_current_tool_calls",
        doc: "calls of tools, one row each: the last final status, the last input and output",
        key: &["run_request_id", "run_id", "tool_call_id"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            CALL_ID,
            column("tool_name", Kind::Word, "the tool, as the agent calls it"),
            column("status", Kind::Word, "in_progress, completed, failed or denied"),
            column("input", Kind::Text, "the arguments, as JSON or text"),
            column("output", Kind::Text, "what came back; empty when nothing did"),
            SKILL,
            FILE_PATH,
            MCP_SERVER,
            MCP_TOOL,
            COMMAND,
            ACTION,
            ARGUMENT,
            column("first_source_seq", Kind::Count, "its first row in `events`"),
            column("last_source_seq", Kind::Count, "its last row in `events`"),
        ],
    },
    Table {
        name: "tool_calls",
        doc: "calls of tools by their older names",
        key: &["run_id", "source_seq"],
        columns: &[
            RUN_ID,
            column("status", Kind::Word, "in_progress, completed, failed or denied"),
            maybe("started_ts_ns", Kind::Count, "when it began, in nanoseconds since 1970"),
            column("raw_input", Kind::Text, "the arguments, as JSON or text"),
            column("raw_output", Kind::Text, "what came back; empty when nothing did"),
            column("source_seq", Kind::Count, "its first row in `events`"),
        ],
    },
    Table {
        name: "measurements",
        doc: "what a trial came to in figures, one row a finished trial",
        key: &["run_request_id", "run_id"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            EXTENSION,
            REPEAT,
            STATUS,
            EXIT_REASON,
            column("test_pass_count", Kind::Count, "tests, checks and assertions that passed"),
            column("test_fail_count", Kind::Count, "those that failed"),
            maybe("agent_time_ms", Kind::Count, "how long the agent worked; NULL when it did not"),
            maybe("num_turns", Kind::Count, "turns as the agent counts them; not to be compared"),
            CALLS,
            CALLS_FAILED,
            INPUT_TOKENS,
            OUTPUT_TOKENS,
            COST,
            column("run_kind", Kind::Word, "experiment, conformance, skill_eval or imported"),
            column("experiment_id", Kind::Word, "the experiment, or what else was run"),
            column("variant_id", Kind::Word, "the variant"),
            maybe("effort", Kind::Word, "the model's effort"),
            maybe("environment", Kind::Word, "the environment, or the arm of a skill eval"),
            maybe("product", Kind::Word, "the product"),
            column("started_at", Kind::Time, "when the trial began"),
            column("ended_at", Kind::Time, "when it ended"),
        ],
    },
    Table {
        name: "test_output",
        doc: "what tests said on standard error, one row a test",
        key: &["run_request_id", "run_id", "test_name"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            EXTENSION,
            REPEAT,
            TEST_NAME,
            EXIT_CODE,
            column("stderr_tail", Kind::Text, "the end of its standard error, at most 64 KiB"),
        ],
    },
    Table {
        name: "test_analysis",
        doc: "what tests printed, one row a test",
        key: &["run_request_id", "run_id", "test_name"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            EXTENSION,
            REPEAT,
            TEST_NAME,
            EXIT_CODE,
            column("stdout", Kind::Text, "the end of its standard output, at most 64 KiB"),
        ],
    },
    Table {
        name: "runs",
        doc: "finished trials by the columns of older tables, one row each",
        key: &["run_request_id", "run_id"],
        columns: &[
            RUN_ID,
            REQUEST,
            PROMPT,
            REPEAT,
            STATUS,
            EXIT_REASON,
            maybe("agent_started_at", Kind::Time, "when the agent began; NULL when it did not"),
            maybe("agent_ended_at", Kind::Time, "when it ended"),
            CALLS,
            column("tool_calls_succeeded", Kind::Count, "calls that did not fail"),
            CALLS_FAILED,
            INPUT_TOKENS,
            OUTPUT_TOKENS,
            COST,
        ],
    },
    Table {
        name: "agent_timeline_entries",
        doc: "what the agent said, one row a message",
        key: &["run_id", "seq_start"],
        columns: &[
            RUN_ID,
            column("entry_kind", Kind::Word, "`agent_message`"),
            column("text", Kind::Text, "the message"),
            column("seq_start", Kind::Count, "its row in `events`"),
        ],
    },
    Table {
        name: "checks",
        doc: "tests, setup checks, checks and assertions, one row each",
        key: &["run_request_id", "run_id", "check_idx"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            EXTENSION,
            REPEAT,
            column("check_name", Kind::Text, "its name"),
            column(
                "check_kind",
                Kind::Word,
                "`test`, `setup_check`, or the kind of a check or an assertion",
            ),
            column(
                "status",
                Kind::Word,
                "passed, failed, error, skipped, unknown, or evidence_error: a question of the test \
                 had no answer",
            ),
            maybe("reason", Kind::Text, "why it did not pass, where more is known"),
            EXIT_CODE,
            maybe("duration_ms", Kind::Count, "how long it took, in milliseconds"),
            column("check_idx", Kind::Count, "its place in the trial, from 0"),
        ],
    },
    Table {
        name: "verdicts",
        doc: "what trials came to and why, one row a finished trial",
        key: &["run_request_id", "run_id"],
        columns: &[
            RUN_ID,
            REQUEST,
            column("run_kind", Kind::Word, "experiment, conformance, skill_eval or imported"),
            AGENT,
            MODEL,
            PROMPT,
            EXTENSION,
            REPEAT,
            STATUS,
            EXIT_REASON,
            maybe("reason", Kind::Text, "what a reader must know about that"),
            maybe("isolation", Kind::Word, "what kept the trial apart: bubblewrap, landlock, ..."),
        ],
    },
    Table {
        name: "costs",
        doc: "what trials took, one row a finished trial; NULL is not known, which is not nothing",
        key: &["run_request_id", "run_id"],
        columns: &[
            RUN_ID,
            REQUEST,
            AGENT,
            MODEL,
            PROMPT,
            INPUT_TOKENS,
            OUTPUT_TOKENS,
            maybe("cached_read_tokens", Kind::Count, "input tokens read from a cache"),
            maybe("cached_write_tokens", Kind::Count, "input tokens written to a cache"),
            COST,
            maybe("cost_source", Kind::Word, "`agent` when the agent says what it cost"),
        ],
    },
];
