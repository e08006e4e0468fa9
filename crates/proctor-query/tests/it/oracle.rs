//! ClickHouse itself, when `PROCTOR_LIBCHDB` names it: a process that holds the same tables.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use proctor_query::schema::TABLES;
use proctor_query::{Evidence, JsonLines};
use serde_json::{Value, json};

/// A process that asks `libchdb.so`.
pub(crate) struct ClickHouse {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl ClickHouse {
    /// `None` when no library is named.
    pub(crate) fn start(evidence: &mut Evidence) -> Option<Self> {
        let library = std::env::var_os("PROCTOR_LIBCHDB")?;
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/oracle.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(library)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let questions = child.stdin.take().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut this = Self { child, questions, answers };
        this.ask("SET session_timezone = 'UTC'", "Null").unwrap();
        for table in TABLES {
            let columns: Vec<String> = table
                .columns
                .iter()
                .map(|column| format!("`{}` {}", column.name, column.clickhouse_type()))
                .collect();
            let create =
                format!("CREATE TABLE {} ({}) ENGINE = Memory", table.name, columns.join(", "));
            this.ask(&create, "Null").unwrap();
            let mut lines = JsonLines::new(Vec::new());
            evidence.rows(table.name, &mut lines).unwrap();
            let rows = String::from_utf8(lines.into_inner()).unwrap();
            if !rows.is_empty() {
                this.ask(&format!("INSERT INTO {} FORMAT JSONEachRow {rows}", table.name), "Null")
                    .unwrap();
            }
        }
        Some(this)
    }

    /// The answer as text, or the code of the error with its message.
    pub(crate) fn ask(&mut self, sql: &str, format: &str) -> Result<String, String> {
        writeln!(self.questions, "{}", json!({"sql": sql, "format": format})).unwrap();
        self.questions.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).expect("the oracle answers");
        match answer.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(answer["text"].as_str().unwrap().to_owned()),
        }
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        // The library's threads would outlive a normal end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
