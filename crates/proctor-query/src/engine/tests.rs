use proctor_model::event::{Role, ToolStatus};
use proctor_model::run::TestStatus;
use proctor_model::{Action, Event, EventKind};
use serde_json::{Value, json};

use super::*;
use crate::TestOutput;

fn evidence() -> Evidence {
    let run = Dimensions {
        run_id: "claude::cold::00ff".to_owned(),
        run_request_id: "x-01".to_owned(),
        agent: "claude".to_owned(),
        model: Some("claude-sonnet-5".to_owned()),
        prompt_id: "cold".to_owned(),
        extension_id: None,
        repeat_idx: 0,
        ..Dimensions::default()
    };
    let mut evidence = Evidence::new(&run).unwrap();
    let message = |role, text: &str| EventKind::Message { role, text: text.to_owned() };
    let call = |id: &str, name: &str, action, input| EventKind::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        action,
        input,
    };
    let result = |id: &str, status, text: &str| EventKind::ToolResult {
        id: id.to_owned(),
        status,
        text: text.to_owned(),
    };
    let kinds = [
        message(Role::User, "Use PostHog"),
        message(Role::Assistant, "I looked at Amplitude"),
        call(
            "t1",
            "Read",
            Action::Read { path: "skills/a/SKILL.md".to_owned() },
            json!({"file_path": "skills/a/SKILL.md"}),
        ),
        call("t2", "Bash", Action::Shell { command: "ls".to_owned() }, json!({"command": "ls"})),
        result("t2", ToolStatus::Error, "no"),
        result("t1", ToolStatus::Ok, "# A"),
        message(Role::Assistant, "Done"),
    ];
    let events: Vec<Event> = kinds
        .into_iter()
        .map(|kind| Event { seq: 0, line: 1, parent: None, ts_ms: None, kind })
        .collect();
    evidence.add_events(&events).unwrap();
    evidence
}

fn rows(statement: &str) -> Value {
    let answer = evidence().query(statement, 100).unwrap_or_else(|error| panic!("{error}"));
    answer.rows.into_iter().map(|row| Value::Array(row.into_values().collect())).collect()
}

fn refused(statement: &str) -> String {
    evidence().query(statement, 100).unwrap_err().to_string()
}

#[test]
fn what_the_agent_said_leaves_out_what_it_was_asked() {
    let said = "SELECT count(*) FROM events WHERE source IN ('stdout', 'transcript') \
                AND payload ILIKE '%posthog%'";
    assert_eq!(rows(said), json!([[0]]));
    assert_eq!(rows("SELECT count() FROM events WHERE payload ILIKE '%posthog%'"), json!([[1]]));
}

#[test]
fn the_example_of_the_documents_is_answered() {
    let statement = "
        SELECT payload
        FROM events
        WHERE kind = 'tool_call'
          AND positionCaseInsensitive(payload, 'skill.MD') > 0";
    let payload =
        r#"{"tool_name":"Read","status":"in_progress","input":{"file_path":"skills/a/SKILL.md"}}"#;
    assert_eq!(rows(statement), json!([[payload]]));
}

#[test]
fn calls_are_merged_over_their_rows() {
    let statement = "SELECT tool_call_id, tool_name, status, input, output, first_source_seq, \
                     last_source_seq FROM sd_current_tool_calls ORDER BY first_source_seq";
    assert_eq!(
        rows(statement),
        json!([
            ["t1", "Read", "completed", r#"{"file_path":"skills/a/SKILL.md"}"#, "# A", 3, 6],
            ["t2", "Bash", "failed", r#"{"command":"ls"}"#, "no", 4, 5],
        ])
    );
    assert_eq!(
        rows("SELECT file_path FROM sd_current_tool_calls WHERE file_path != ''"),
        json!([["skills/a/SKILL.md"]])
    );
}

#[test]
fn functions_give_what_clickhouse_gives() {
    for (expression, expected) in [
        ("substring('hello', 2, 3)", json!("ell")),
        ("substring('hello', -3)", json!("llo")),
        ("length('äb')", json!(3)),
        ("position('abcabc', 'c')", json!(3)),
        ("position('abcabc', 'x')", json!(0)),
        ("positionCaseInsensitive('aBc', 'bC')", json!(2)),
        ("match('a1b', '[0-9]')", json!(1)),
        ("extract('v=17;', 'v=([0-9]+)')", json!("17")),
        ("replaceRegexpAll('a1b2', '([0-9])', '<\\\\1>')", json!("a<1>b<2>")),
        ("'ABC' LIKE 'abc'", json!(0)),
        ("'ABC' ILIKE '%b%'", json!(1)),
        ("7 / 2", json!(3.5)),
        ("intDiv(7, 2)", json!(3)),
        ("toUInt64('42')", json!(42)),
        ("coalesce(NULL, 'x')", json!("x")),
        ("if(1 = 1, 'y', 'n')", json!("y")),
        ("multiIf(0, 'a', 1, 'b', 'c')", json!("b")),
        (r#"JSONExtractString('{"a":{"b":"c"}}', 'a', 'b')"#, json!("c")),
        (r#"JSONExtractInt('{"a":[1,2,3]}', 'a', -1)"#, json!(3)),
        (r#"JSONHas('{"a":1}', 'b')"#, json!(0)),
        ("JSONLength('[1,2]')", json!(2)),
        (r#"JSONExtractRaw('{"a": {"x": 1}}', 'a')"#, json!(r#"{"x":1}"#)),
        ("empty('')", json!(1)),
        ("greatest(1, 3, 2)", json!(3)),
    ] {
        assert_eq!(rows(&format!("SELECT {expression}")), json!([[expected]]), "{expression}");
    }
}

#[test]
fn aggregates_over_nothing_are_zero_where_clickhouse_says_so() {
    assert_eq!(
        rows("SELECT sumIf(source_seq, 0), countIf(kind = 'x'), count() FROM events"),
        json!([[0, 0, 7]])
    );
    assert_eq!(
        rows("SELECT argMax(kind, source_seq), argMin(kind, source_seq) FROM events"),
        json!([["message", "message"]])
    );
    assert_eq!(rows("SELECT quantile(0.5)(source_seq) FROM events"), json!([[4.0]]));
    assert_eq!(rows("SELECT uniqExact(tool_call_id, status) FROM events"), json!([[4]]));
}

#[test]
fn windows_and_subqueries_work() {
    let statement = "WITH calls AS (SELECT * FROM events WHERE kind = 'tool_call') \
        SELECT tool_call_id, row_number() OVER (PARTITION BY tool_call_id ORDER BY source_seq) AS n \
        FROM calls ORDER BY source_seq LIMIT 3";
    assert_eq!(rows(statement), json!([["t1", 1], ["t2", 1], ["t2", 2]]));
}

#[test]
fn a_limit_leaves_rows_out_and_says_so() {
    let answer = evidence().query("SELECT kind FROM events", 3).unwrap();
    assert_eq!((answer.rows.len(), answer.is_truncated), (3, true));
    let answer = evidence().query("SELECT kind FROM events", 7).unwrap();
    assert_eq!((answer.rows.len(), answer.is_truncated), (7, false));
}

#[test]
fn a_wrong_name_is_told_apart_from_no_rows() {
    let said = refused("SELECT text FROM events");
    assert!(said.starts_with("unknown column `text`"), "{said}");
    assert!(said.contains("the columns of events are run_id, run_request_id"), "{said}");
    assert_eq!(
        refused("SELECT 1 FROM event_s").split(';').next(),
        Some("unknown table `event_s`, did you mean `events`?")
    );
    assert!(refused(r#"SELECT "nothing" FROM events"#).contains("unknown column"));
    assert!(refused("SELECT match('a', '(')").contains("the pattern cannot be used"));
}

#[test]
fn nothing_can_be_changed_and_nothing_else_can_be_read() {
    for statement in ["DELETE FROM event", "ATTACH 'x' AS y", "PRAGMA writable_schema = 1"] {
        refused(statement);
    }
    let mut evidence = evidence();
    let _ = evidence.query("SELECT name FROM sqlite_master", 10);
    assert_eq!(evidence.query("SELECT count() FROM events", 1).unwrap().rows[0]["count()"], 7);
}

#[test]
fn the_columns_that_are_listed_are_those_that_are_there() {
    for table in schema::tables() {
        let columns = schema::columns(table).unwrap();
        let answer = evidence().query(&format!("SELECT * FROM {table}"), 1).unwrap();
        assert_eq!(answer.columns, columns, "{table}");
    }
}

#[test]
fn tests_of_a_run_are_rows() {
    let mut evidence = evidence();
    let test = TestOutput {
        name: "builds",
        status: TestStatus::Failed,
        reason: None,
        exit_code: Some(1),
        duration_ms: 5,
        stdout: "out",
        stderr: "err",
    };
    evidence.add_test(&test).unwrap();
    let answer = evidence.query("SELECT test_name, exit_code, stderr_tail FROM test_output", 9);
    let row = &answer.unwrap().rows[0];
    assert_eq!(json!(row), json!({"test_name": "builds", "exit_code": 1, "stderr_tail": "err"}));
}

#[test]
fn every_example_of_the_documentation_is_answered() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/evidence.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```sql\n").skip(1).map(|block| block.split("```").next().unwrap());
    let statements: Vec<&str> = blocks.flat_map(|block| block.split("\n\n")).collect();
    assert!(statements.len() > 5);
    for statement in statements {
        let answer = evidence().query(statement, 10);
        assert!(answer.is_ok(), "{statement}: {answer:?}");
    }
}
