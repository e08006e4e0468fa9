//! What `ax-run-query` in a test's room and the run say to each other: one line of JSON each way,
//! and then the rows.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::{Deserialize, Serialize};

use crate::answer::Ending;
use crate::engine::{Evidence, Limits, MAX_ANSWER_BYTES, QueryError, Statement};
use crate::format::Format;

/// Rows that are answered when nobody says how many.
pub const DEFAULT_LIMIT: usize = 100;
/// The most rows that can be asked for.
pub const MAX_LIMIT: usize = 1_000_000;
/// The longest line of a question, in bytes.
const MAX_QUESTION_BYTES: u64 = 1 << 20;

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The value of `AX_API_KEY`.
    pub token: String,
    /// The id of the run, whole.
    pub run_id: String,
    /// The statement.
    pub sql: String,
    /// The most rows that are wanted.
    pub limit: usize,
}

/// The answer: rows follow, one a line, and then the end of the stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Reply {
    /// Rows follow.
    Rows {
        /// How many.
        count: usize,
        /// How many bytes they are.
        bytes: u64,
        /// Whether rows were left out.
        is_truncated: bool,
    },
    /// There is no answer.
    Failed {
        /// Why, for people.
        message: String,
    },
}

/// Sends a question and prints the rows to `out`.
///
/// # Errors
///
/// When the connection breaks, or `out` does.
pub fn ask(
    stream: &mut (impl Read + Write),
    question: &Question,
    out: &mut dyn Write,
) -> io::Result<Reply> {
    serde_json::to_writer(&mut *stream, question)?;
    stream.write_all(b"\n")?;
    stream.flush()?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line)?;
    let reply: Reply = serde_json::from_str(&line)?;
    if let Reply::Rows { bytes, .. } = reply
        && io::copy(&mut answer.take(bytes), out)? != bytes
    {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(reply)
}

/// Reads a question.
///
/// # Errors
///
/// When it is no question, or too long.
pub fn read_question(stream: &mut impl Read) -> io::Result<Question> {
    let mut line = String::new();
    BufReader::new(stream.take(MAX_QUESTION_BYTES)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// The rows of an answer, written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    bytes: Vec<u8>,
    /// How it ended.
    pub ending: Ending,
}

/// Answers a statement with at most `limit` rows.
///
/// # Errors
///
/// [`QueryError`] when there is no answer, or a longer one than can be held.
pub fn answer(evidence: &mut Evidence, sql: &str, limit: usize) -> Result<Lines, QueryError> {
    let statement = Statement::parse(sql)?;
    let limits = Limits { rows: limit.min(MAX_LIMIT), ..Limits::default() };
    let mut out = Bounded::new(MAX_ANSWER_BYTES);
    let mut sink = statement.sink(Format::Lines, &mut out)?;
    let ending = evidence.answer(&statement, &limits, &mut *sink)?;
    drop(sink);
    Ok(Lines { bytes: out.bytes, ending })
}

/// Bytes, up to a number of them.
pub(crate) struct Bounded {
    bytes: Vec<u8>,
    room: usize,
}

impl Bounded {
    pub(crate) fn new(room: usize) -> Self {
        Self { bytes: Vec::new(), room }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::OutOfMemory)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sends an answer.
///
/// # Errors
///
/// When the connection breaks.
pub fn write_reply(stream: &mut impl Write, answer: &Result<Lines, QueryError>) -> io::Result<()> {
    let reply = match answer {
        Ok(Lines { bytes, ending }) => Reply::Rows {
            count: ending.rows,
            bytes: bytes.len() as u64,
            is_truncated: ending.is_truncated,
        },
        Err(error) => Reply::Failed { message: error.to_string() },
    };
    let mut line = serde_json::to_vec(&reply)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    if let Ok(lines) = answer {
        stream.write_all(&lines.bytes)?;
    }
    stream.flush()
}
