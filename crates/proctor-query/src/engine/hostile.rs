//! Statements of somebody who means ill, or does not know better.

use super::*;
use crate::JsonLines;

fn evidence() -> Evidence {
    let mut evidence = Evidence::new(&Dimensions::default()).unwrap();
    let text = "x".repeat(1_000);
    let event = proctor_model::Event {
        seq: 0,
        line: 1,
        parent: None,
        ts_ms: None,
        kind: proctor_model::EventKind::Reasoning { text },
    };
    evidence.add_events(std::iter::repeat_n(&event, 200)).unwrap();
    evidence
}

/// Everything that is kept, as text.
fn everything(evidence: &mut Evidence) -> String {
    let mut text = Vec::new();
    for table in schema::tables() {
        let mut lines = JsonLines::new(&mut text);
        evidence.rows(table, &mut lines).unwrap();
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn whatever_would_change_or_read_something_else_is_refused() {
    let mut evidence = evidence();
    let before = everything(&mut evidence);
    for statement in [
        "DELETE FROM events",
        "DELETE FROM stored_event",
        "INSERT INTO stored_trial SELECT * FROM stored_trial",
        "UPDATE events SET payload = ''",
        "REPLACE INTO stored_event VALUES (1)",
        "DROP VIEW events",
        "DROP TABLE stored_event",
        "CREATE TABLE x (a UInt8)",
        "CREATE TABLE x AS SELECT * FROM events",
        "CREATE TRIGGER t AFTER INSERT ON stored_event BEGIN SELECT 1; END",
        "ALTER TABLE stored_event ADD COLUMN x",
        "ATTACH DATABASE '/etc/passwd' AS y",
        "DETACH DATABASE main",
        "PRAGMA writable_schema = 1",
        "PRAGMA hard_heap_limit = 1",
        "VACUUM INTO '/tmp/x'",
        "BEGIN",
        "COMMIT",
        "SAVEPOINT x",
        "EXPLAIN SELECT 1",
        "REINDEX",
        "SELECT load_extension('x')",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('x', 'y')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT sqlite_version()",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM sqlite_temp_master",
        "SELECT * FROM pragma_database_list",
        "SELECT * FROM pragma_table_info('events')",
        "SELECT * FROM dbstat",
        "SELECT * FROM json_each('[1]')",
        "SELECT * FROM generate_series(1, 10)",
        "SELECT * FROM stored_event",
        "SELECT payload FROM main.stored_event",
        "WITH x AS (SELECT payload FROM stored_event) SELECT * FROM x",
        "SELECT (SELECT max(payload) FROM stored_event)",
        "SELECT 1; DELETE FROM stored_event",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT * FROM file('/etc/passwd')",
        "SELECT * FROM url('http://127.0.0.1/')",
        "",
        "--",
        ";",
        "\0",
    ] {
        assert!(evidence.query(statement, 10).is_err(), "{statement}");
    }
    assert_eq!(everything(&mut evidence), before);
    assert_eq!(evidence.query("SELECT count() AS n FROM events", 1).unwrap().rows[0]["n"], 200);
}

#[test]
fn what_would_never_end_is_ended() {
    let mut evidence = evidence();
    let limits = Limits { rows: 10, time: Duration::from_millis(200) };
    for sql in [
        "SELECT count() FROM events a, events b, events c, events d, events e",
        "SELECT max(a.payload || b.payload || c.payload) FROM events a, events b, events c, events d",
        "SELECT count() FROM events a, events b, events c WHERE match(a.kind || b.payload || c.payload, 'y')",
        "SELECT a.payload FROM events a, events b, events c, events d ORDER BY b.payload || a.payload",
    ] {
        let statement = Statement::parse(sql).unwrap();
        let mut lines = JsonLines::new(Vec::new());
        let answered = evidence.answer(&statement, &limits, &mut lines);
        assert_eq!(answered, Err(QueryError::TimedOut(limits.time)), "{sql}");
    }
    // It can be asked again.
    assert_eq!(evidence.query("SELECT count() AS n FROM events", 1).unwrap().rows[0]["n"], 200);
}

#[test]
fn recursion_without_an_end_is_refused_or_ended() {
    let mut evidence = evidence();
    let limits = Limits { rows: usize::MAX, time: Duration::from_millis(200) };
    for sql in [
        "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT count() FROM r",
        "WITH RECURSIVE r AS (SELECT 'x' AS n UNION ALL SELECT n || n FROM r) SELECT max(n) FROM r",
    ] {
        let ended = Statement::parse(sql).and_then(|statement| {
            evidence.answer(&statement, &limits, &mut JsonLines::new(io::sink()))
        });
        assert!(ended.is_err(), "{sql}");
    }
}

#[test]
fn a_text_has_a_greatest_length() {
    let mut evidence = evidence();
    for sql in [
        "SELECT length(randomblob(1000000000))",
        "SELECT zeroblob(1000000000)",
        "SELECT printf('%1000000000d', 1)",
        "SELECT replace(payload, 'x', payload || payload || payload || payload || payload || payload \
         || payload || payload || payload || payload || payload || payload || payload || payload \
         || payload || payload || payload || payload || payload || payload || payload || payload \
         || payload || payload || payload || payload || payload || payload || payload || payload \
         || payload || payload || payload || payload || payload || payload || payload || payload) \
         AS n FROM events LIMIT 1",
    ] {
        assert!(evidence.query(sql, 1).is_err(), "{sql}");
    }
}

#[test]
fn an_answer_in_memory_has_a_greatest_size() {
    let mut evidence = evidence();
    // 200 rows of about 2 KB.
    let statement = Statement::parse("SELECT payload FROM events").unwrap();
    let limits = Limits { rows: usize::MAX, ..Limits::default() };
    let mut of = |room| {
        let collected = evidence.answer(&statement, &limits, &mut Collector::new(room));
        let mut lines = JsonLines::new(crate::wire::Bounded::new(room));
        (collected, evidence.answer(&statement, &limits, &mut lines))
    };
    let all = Ok(Ending { rows: 200, is_truncated: false });
    assert_eq!(of(1 << 20), (all.clone(), all));
    assert_eq!(of(100_000), (Err(QueryError::TooLarge), Err(QueryError::TooLarge)));
}

#[test]
fn a_reader_that_has_gone_ends_the_statement() {
    struct Gone;
    impl Sink for Gone {
        fn columns(&mut self, _: &[Heading]) -> io::Result<()> {
            Ok(())
        }
        fn row(&mut self, _: &[Cell<'_>]) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
    let mut evidence = evidence();
    let statement = Statement::parse("SELECT payload FROM events").unwrap();
    let ended = evidence.answer(&statement, &Limits::default(), &mut Gone);
    let Err(QueryError::Output { kind, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(kind, io::ErrorKind::BrokenPipe);
}

#[test]
fn a_view_shows_its_scope_alone_whatever_is_called_so() {
    let mut evidence = Evidence::in_memory().unwrap();
    for name in ["a", "it's", "b' OR 1 = 1 --"] {
        let trial = Dimensions {
            run_id: name.to_owned(),
            run_request_id: format!("run of {name}"),
            ..Dimensions::default()
        };
        evidence.begin(&trial, "").unwrap();
        let event = proctor_model::Event {
            seq: 0,
            line: 1,
            parent: None,
            ts_ms: None,
            kind: proctor_model::EventKind::Reasoning { text: name.to_owned() },
        };
        evidence.add_events([&event]).unwrap();
    }
    let mut shown = |scope: Scope| {
        evidence.show(&scope).unwrap();
        let answer =
            evidence.query("SELECT DISTINCT run_id FROM events ORDER BY run_id", 9).unwrap();
        answer.rows.iter().map(|row| row["run_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(shown(Scope::All), ["a", "b' OR 1 = 1 --", "it's"]);
    assert_eq!(shown(Scope::Trial("it's".to_owned())), ["it's"]);
    assert_eq!(shown(Scope::Run("run of b' OR 1 = 1 --".to_owned())), ["b' OR 1 = 1 --"]);
    assert_eq!(shown(Scope::Experiment("none".to_owned())), [] as [&str; 0]);
}
