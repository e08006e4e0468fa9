//! A question, what it may cost, and what can come of it.

use std::path::PathBuf;
use std::time::Duration;

/// How long a statement may take.
pub(crate) const TIME: Duration = Duration::from_mins(1);
/// What the engine gets beyond that to say that the time is over, before it is taken to hang.
pub(crate) const GRACE: Duration = Duration::from_secs(15);
/// The memory that a statement may take, in bytes.
const MEMORY: u64 = 4 << 30;
/// The largest answer, in bytes.
pub(crate) const MAX_ANSWER: u64 = 256 << 20;

/// The error number of a result with too many rows or bytes.
const TOO_MANY_ROWS: &str = "Code: 396.";

/// A question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Query<'a> {
    /// The statement, as it was written.
    pub sql: &'a str,
    /// The format of the answer by ClickHouse's name, where the statement names none.
    pub format: &'a str,
    /// The most rows that are wanted.
    pub limit: u64,
}

/// What the engine answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The rows in the format that was asked for, byte by byte as the engine wrote them.
    pub body: Vec<u8>,
    /// Whether rows were left out because of the limit.
    pub is_truncated: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The library is not installed.
    #[error("ClickHouse is not installed on this machine; looked for {}", .looked.join(", "))]
    NotInstalled {
        /// Where it was looked for.
        looked: Vec<String>,
    },
    /// The engine cannot be started.
    #[error("ClickHouse cannot be started: {0}")]
    Start(String),
    /// The engine's process is gone.
    #[error("ClickHouse ended in the middle of a statement ({how}){said}")]
    Crashed {
        /// How it ended.
        how: String,
        /// The end of what it said, after a line break; may be empty.
        said: String,
    },
    /// It took too long.
    #[error("the statement was ended after {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The answer is too long.
    #[error("the answer is larger than {} MiB", MAX_ANSWER >> 20)]
    TooLarge,
    /// The engine refuses the statement, in its own words.
    #[error("{0}")]
    Refused(String),
    /// The statement writes its answer to a file.
    #[error("INTO OUTFILE: a statement may not write files; redirect the output instead")]
    Outfile,
    /// The rows to be put in cannot be had.
    #[error("{0}")]
    Rows(String),
    /// A file cannot be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The server.
    #[error(transparent)]
    Server(#[from] crate::server::ServerError),
}

/// Settings of the engine: names and values.
pub(crate) type Settings = Vec<(String, String)>;

/// Whether a question is asked for the first time, or only for as many rows as are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// More rows than are wanted are an error, so that an answer is known to be whole.
    Whole,
    /// More rows are left out.
    Cut,
}

/// Asks with `ask`, which passes settings on to the engine. An answer of too many rows is asked for
/// once more, cut: that way every format is the engine's own, and what is cut is known for certain.
pub(crate) fn ask_within(
    query: &Query<'_>,
    mut ask: impl FnMut(&Settings) -> Result<Vec<u8>, Error>,
) -> Result<Answer, Error> {
    if writes_a_file(query.sql) {
        return Err(Error::Outfile);
    }
    match ask(&settings(query.limit, Pass::Whole)) {
        Ok(body) => Ok(Answer { body, is_truncated: false }),
        Err(Error::Refused(message)) if message.starts_with(TOO_MANY_ROWS) => {
            let body = ask(&settings(query.limit, Pass::Cut))?;
            Ok(Answer { body, is_truncated: true })
        }
        Err(error) => Err(error),
    }
}

fn settings(limit: u64, pass: Pass) -> Settings {
    let mut settings = vec![
        ("max_execution_time", TIME.as_secs()),
        ("max_memory_usage", MEMORY),
        ("max_result_bytes", MAX_ANSWER),
        // Older servers write large numbers as texts, in which nobody can count.
        ("output_format_json_quote_64bit_integers", 0),
        // 0 would be no limit.
        ("max_result_rows", limit.max(1)),
    ];
    if pass == Pass::Cut {
        settings.push(("limit", limit.max(1)));
    }
    let mut settings: Settings =
        settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
    let mode = if pass == Pass::Whole { "throw" } else { "break" };
    settings.push(("result_overflow_mode".to_owned(), mode.to_owned()));
    settings
}

/// Whether a statement holds `INTO OUTFILE`, which ClickHouse obeys even where it may only read.
/// It is refused here for the sake of a clear message; the wall is that the engine's process may
/// write nothing.
fn writes_a_file(sql: &str) -> bool {
    let words: Vec<String> = words(sql).collect();
    words.windows(2).any(|pair| pair == ["into", "outfile"])
}

/// The bare words of a statement in lower case, without comments and texts.
fn words(sql: &str) -> impl Iterator<Item = String> {
    let mut rest = sql;
    std::iter::from_fn(move || {
        loop {
            let first = rest.chars().next()?;
            if first.is_ascii_alphabetic() || first == '_' {
                let end = rest
                    .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
                    .unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                rest = after;
                return Some(word.to_ascii_lowercase());
            }
            let skipped = match first {
                '\'' | '"' | '`' => quoted(rest, first),
                '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
                '#' => rest.find('\n').unwrap_or(rest.len()),
                '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |at| at + 2),
                // A text is no word, and what stands on both sides of one is not side by side.
                other => other.len_utf8(),
            };
            rest = rest.get(skipped..).unwrap_or_default();
            if matches!(first, '\'' | '"' | '`') {
                return Some(String::new());
            }
        }
    })
}

/// The length of the quoted text at the start.
fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, char) in text.char_indices().skip(1) {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if char == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUERY: Query<'_> = Query { sql: "SELECT 1", format: "CSV", limit: 5 };

    fn value<'a>(settings: &'a Settings, name: &str) -> Option<&'a str> {
        settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[test]
    fn an_answer_within_the_limit_is_asked_for_once() {
        let mut asked = 0;
        let answer = ask_within(&QUERY, |settings| {
            asked += 1;
            assert_eq!(value(settings, "max_result_rows"), Some("5"));
            assert_eq!(value(settings, "result_overflow_mode"), Some("throw"));
            assert_eq!(value(settings, "limit"), None);
            Ok(b"1\n".to_vec())
        })
        .unwrap();
        assert_eq!((asked, answer.is_truncated), (1, false));
    }

    #[test]
    fn one_beyond_it_is_cut_and_says_so() {
        let mut asked = 0;
        let answer = ask_within(&QUERY, |settings| {
            asked += 1;
            if asked == 1 {
                return Err(Error::Refused("Code: 396. DB::Exception: Limit".to_owned()));
            }
            assert_eq!(value(settings, "limit"), Some("5"));
            assert_eq!(value(settings, "result_overflow_mode"), Some("break"));
            Ok(Vec::new())
        })
        .unwrap();
        assert_eq!((asked, answer.is_truncated), (2, true));
    }

    #[test]
    fn other_refusals_are_final() {
        let mut asked = 0;
        let error = ask_within(&QUERY, |_| {
            asked += 1;
            Err(Error::Refused("Code: 47. DB::Exception: x".to_owned()))
        });
        assert!(matches!(error, Err(Error::Refused(_))));
        assert_eq!(asked, 1);
    }

    #[test]
    fn a_limit_of_nothing_is_not_no_limit() {
        assert_eq!(value(&settings(0, Pass::Cut), "max_result_rows"), Some("1"));
    }

    #[test]
    fn files_are_written_by_no_statement() {
        for sql in [
            "SELECT 1 INTO OUTFILE 'x'",
            "select 1 into\n/* */ -- 'x\n outfile 'x'",
            "select 'it\\'s', \"a\" into outfile 'x'",
        ] {
            assert!(writes_a_file(sql), "{sql}");
            let query = Query { sql, ..QUERY };
            assert!(matches!(ask_within(&query, |_| panic!("asked")), Err(Error::Outfile)));
        }
        for sql in [
            "SELECT 'INTO OUTFILE'",
            "SELECT 1 -- into outfile",
            "SELECT outfile FROM into_it",
            "SELECT into 'x' outfile",
            "SELECT 'unended",
            "/* unended",
        ] {
            assert!(!writes_a_file(sql), "{sql}");
        }
    }
}
