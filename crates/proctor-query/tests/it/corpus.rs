//! The corpus: questions in files, with the answers that ClickHouse gave.
//!
//! `tests/corpus/*.sql` has the questions, each ended by a line with `;`. Beside each stands an
//! `.expected` file with what ClickHouse answered: names, types and rows; and, where this engine
//! refuses a question, with which words. `PROCTOR_LIBCHDB=... PROCTOR_RECORD=1` writes them anew;
//! `PROCTOR_LIBCHDB` alone asks ClickHouse again.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use proctor_query::{Evidence, Format, Limits, Statement};

use crate::evidence::evidence;
use crate::oracle::ClickHouse;

/// The format of the recorded answers, after two lines of names and types.
const FORMAT: &str = "JSONCompactEachRowWithNamesAndTypes";

/// What an engine said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// Names, types and rows, each on a line.
    Rows(Vec<String>),
    /// Why there are none.
    Refused(String),
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

fn questions(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut next = String::new();
    for line in text.lines() {
        if next.is_empty() && (line.trim().is_empty() || line.starts_with("--")) {
            continue;
        }
        if let Some(last) = line.strip_suffix(';') {
            next.push_str(last);
            all.push(std::mem::take(&mut next).trim().to_owned());
        } else {
            next.push_str(line);
            next.push('\n');
        }
    }
    assert!(next.is_empty(), "a question without an end: {next}");
    all
}

/// What this engine says.
pub(crate) fn ours(evidence: &mut Evidence, sql: &str) -> Said {
    let mut out = Vec::new();
    let answered = Statement::parse(sql).and_then(|statement| {
        let mut writer = Format::JsonCompactEachRow.sink(&mut out);
        let mut headed = Headed { inner: &mut *writer, head: None };
        let limits = Limits { rows: 10_000, ..Limits::default() };
        evidence.answer(&statement, &limits, &mut headed)?;
        Ok(headed.head.unwrap_or_default())
    });
    match answered {
        Err(error) => Said::Refused(error.to_string()),
        Ok(head) => {
            let rows = String::from_utf8(out).unwrap();
            Said::Rows(head.into_iter().chain(rows.lines().map(str::to_owned)).collect())
        }
    }
}

/// Keeps the names and types.
struct Headed<'a> {
    inner: &'a mut dyn proctor_query::Sink,
    head: Option<[String; 2]>,
}

impl proctor_query::Sink for Headed<'_> {
    fn columns(&mut self, columns: &[proctor_query::Heading]) -> std::io::Result<()> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        let types: Vec<String> = columns.iter().map(|column| column.ty.to_string()).collect();
        self.head = Some([serde_json::to_string(&names)?, serde_json::to_string(&types)?]);
        self.inner.columns(columns)
    }

    fn row(&mut self, cells: &[proctor_query::Cell<'_>]) -> std::io::Result<()> {
        self.inner.row(cells)
    }

    fn end(&mut self) -> std::io::Result<()> {
        self.inner.end()
    }
}

/// What ClickHouse says, in the words that are recorded.
pub(crate) fn theirs(clickhouse: &mut ClickHouse, sql: &str) -> Said {
    match clickhouse.ask(sql, FORMAT) {
        Ok(text) if text.is_empty() => Said::Refused("no answer".to_owned()),
        Ok(text) => {
            let mut lines = text.lines().map(str::to_owned);
            let names: Vec<String> =
                serde_json::from_str(&lines.next().unwrap_or_default()).unwrap();
            let types: Vec<String> =
                serde_json::from_str(&lines.next().unwrap_or_default()).unwrap();
            let types: Vec<String> = types.iter().map(|ty| plain_type(ty)).collect();
            let head =
                [serde_json::to_string(&names).unwrap(), serde_json::to_string(&types).unwrap()];
            Said::Rows(head.into_iter().chain(lines).collect())
        }
        Err(error) => {
            let code = error.rsplit('(').next().unwrap_or_default().trim_end_matches(')').trim();
            Said::Refused(code.trim_end_matches([')', '\n']).to_owned())
        }
    }
}

/// Types that mean the same to whoever reads an answer.
fn plain_type(ty: &str) -> String {
    let mut ty =
        ty.replace("DateTime64(3, 'UTC')", "DateTime64(3)").replace("DateTime('UTC')", "DateTime");
    while let Some(at) = ty.find("LowCardinality(") {
        let inner = &ty[at + "LowCardinality(".len()..];
        let mut depth = 1;
        let end = inner
            .find(|c: char| {
                depth += i32::from(c == '(') - i32::from(c == ')');
                depth == 0
            })
            .unwrap();
        ty = format!("{}{}{}", &ty[..at], &inner[..end], &inner[end + 1..]);
    }
    if ty.starts_with("Enum8(") { "String".to_owned() } else { ty }
}

fn is_ordered(sql: &str) -> bool {
    sql.to_ascii_uppercase().contains("ORDER BY")
}

/// Whether two answers are the same, in any order where none is asked for.
pub(crate) fn is_same(sql: &str, one: &[String], other: &[String]) -> bool {
    let sorted = |lines: &[String]| {
        let mut lines = lines.to_vec();
        if !is_ordered(sql) && lines.len() > 2 {
            lines[2..].sort();
        }
        lines
    };
    sorted(one) == sorted(other)
}

/// The recorded answers, by question.
fn recorded(path: &Path) -> BTreeMap<String, (Said, Option<String>)> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut all = BTreeMap::new();
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty()) {
        let mut question = Vec::new();
        let mut rows = Vec::new();
        let mut refused = None;
        let mut error = None;
        for line in block.lines() {
            if let Some(line) = line.strip_prefix("? ") {
                question.push(line);
            } else if let Some(words) = line.strip_prefix("refused: ") {
                refused = Some(words.to_owned());
            } else if let Some(code) = line.strip_prefix("clickhouse: ") {
                error = Some(code.to_owned());
            } else {
                rows.push(line.to_owned());
            }
        }
        let said = error.map_or(Said::Rows(rows), Said::Refused);
        all.insert(question.join("\n"), (said, refused));
    }
    all
}

fn write_block(out: &mut String, sql: &str, theirs: &Said, ours: &Said) {
    for line in sql.lines() {
        writeln!(out, "? {line}").unwrap();
    }
    if let Said::Refused(words) = ours {
        writeln!(out, "refused: {}", words.replace('\n', " ")).unwrap();
    }
    match theirs {
        Said::Refused(code) => writeln!(out, "clickhouse: {code}").unwrap(),
        Said::Rows(lines) => lines.iter().for_each(|line| writeln!(out, "{line}").unwrap()),
    }
    out.push('\n');
}

/// What is wrong with our answer.
fn verdict(sql: &str, theirs: &Said, ours: &Said, words: Option<&str>) -> Option<String> {
    match (theirs, ours) {
        (Said::Rows(theirs), Said::Rows(ours)) if is_same(sql, theirs, ours) => {
            words.map(|words| format!("no longer refused: {words}"))
        }
        (Said::Rows(theirs), Said::Rows(ours)) => Some(format!(
            "clickhouse: {}\n  here:       {}",
            theirs.join("\n    "),
            ours.join("\n    ")
        )),
        (Said::Refused(code), Said::Rows(ours)) => {
            Some(format!("clickhouse refuses it ({code}), here: {}", ours.join("\n    ")))
        }
        (_, Said::Refused(said)) if words == Some(&said.replace('\n', " ")) => None,
        (_, Said::Refused(said)) => Some(format!("refused: {said}\n  expected: {words:?}")),
    }
}

#[test]
fn answers_are_those_of_clickhouse() {
    let mut evidence = evidence();
    let mut clickhouse = ClickHouse::start(&mut evidence);
    let is_recording = std::env::var_os("PROCTOR_RECORD").is_some();
    let mut problems = Vec::new();
    let mut count = 0;
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "sql"));
    files.sort();
    for path in files {
        let expected = path.with_extension("expected");
        let known = recorded(&expected);
        let mut written = String::new();
        for sql in questions(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            let ours = ours(&mut evidence, &sql);
            // What would change the tables is not asked.
            let is_question =
                !matches!(&ours, Said::Refused(words) if words.starts_with("only SELECT"));
            let live = clickhouse.as_mut().map(|clickhouse| {
                if is_question {
                    theirs(clickhouse, &sql)
                } else {
                    Said::Refused("not asked".to_owned())
                }
            });
            let (theirs, words) = match (live, known.get(&sql)) {
                (Some(live), _) if is_recording => {
                    write_block(&mut written, &sql, &live, &ours);
                    let words = match &ours {
                        Said::Refused(words) => Some(words.replace('\n', " ")),
                        Said::Rows(_) => None,
                    };
                    (live, words)
                }
                (Some(live), Some((_, words))) => (live, words.clone()),
                (None, Some((said, words))) => (said.clone(), words.clone()),
                (_, None) => {
                    problems.push(format!("{sql}\n  is not recorded"));
                    continue;
                }
            };
            if let Some(problem) = verdict(&sql, &theirs, &ours, words.as_deref()) {
                problems.push(format!("{sql}\n  {problem}"));
            }
        }
        if is_recording && clickhouse.is_some() {
            fs::write(expected, written).unwrap();
        }
    }
    assert!(count >= 200, "{count} questions");
    assert!(problems.is_empty(), "{} of {count}:\n{}", problems.len(), problems.join("\n\n"));
}
