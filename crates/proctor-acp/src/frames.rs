//! The record of a session: one line a frame.

use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use proctor_model::OutcomeClass;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::wire::Message;

/// The kind of what is no frame, or none that the protocol has.
const UNKNOWN: &str = "unknown";

/// The longest kind that an agent can make up.
const MAX_KIND: usize = 64;

/// Prints the record.
pub(crate) struct Recorder<W> {
    out: W,
    seq: u64,
}

#[derive(Serialize)]
struct Meta {
    seq: u64,
    ts_ns: u64,
    kind: &'static str,
    axp_layout_version: &'static str,
    stream_version: &'static str,
    producer: &'static str,
}

#[derive(Serialize)]
struct Frame<'a> {
    seq: u64,
    ts_ns: u64,
    direction: &'static str,
    kind: &'a str,
    session_id: Option<&'a str>,
    tool_call_id: Option<&'a str>,
    raw_json: &'a str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

#[derive(Serialize)]
struct End<'a> {
    seq: u64,
    ts_ns: u64,
    kind: &'static str,
    outcome: OutcomeClass,
    reason: &'a str,
    message: &'a str,
}

impl<W: Write> Recorder<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, seq: 0 }
    }

    /// The first line.
    pub(crate) fn meta(&mut self) -> io::Result<()> {
        let (seq, ts_ns) = self.next();
        self.line(&Meta {
            seq,
            ts_ns,
            kind: "axp_meta",
            axp_layout_version: "1.0",
            stream_version: "acp/1",
            producer: concat!("proctor/", env!("CARGO_PKG_VERSION")),
        })
    }

    /// A frame that is sent. Its kind is that of its method, or `response`.
    pub(crate) fn sent(
        &mut self,
        method: Option<&str>,
        params: &Value,
        raw: &str,
    ) -> io::Result<()> {
        let kind = method.map_or_else(|| "response".to_owned(), snake_cased);
        let session_id = params.get("sessionId").and_then(Value::as_str);
        self.frame("out", &kind, session_id, None, raw, false)
    }

    /// A line that was received, and the frame in it.
    pub(crate) fn received(&mut self, line: &[u8], message: Option<&Message>) -> io::Result<()> {
        let raw = String::from_utf8_lossy(line);
        let (kind, params) = match message {
            None => (UNKNOWN.to_owned(), None),
            Some(Message::Response { .. }) => ("response".to_owned(), None),
            Some(Message::Request { method, params, .. }) => (snake_cased(method), Some(params)),
            Some(Message::Notification { method, params }) => {
                let update = params.get("update").and_then(|update| update.get("sessionUpdate"));
                match update.and_then(Value::as_str).filter(|_| method == "session/update") {
                    Some(update) => (plain(update), Some(params)),
                    None => (snake_cased(method), Some(params)),
                }
            }
        };
        let session_id = params.and_then(|params| params.get("sessionId")?.as_str());
        let tool_call_id = params.and_then(tool_call_id);
        self.frame("in", &kind, session_id, tool_call_id, &raw, false)
    }

    /// The start of a line that is too long to be a frame.
    pub(crate) fn too_long(&mut self, start: &[u8]) -> io::Result<()> {
        self.frame("in", UNKNOWN, None, None, &String::from_utf8_lossy(start), true)
    }

    /// The last line of a session that ended otherwise than by an answer.
    pub(crate) fn end(
        &mut self,
        outcome: OutcomeClass,
        reason: &str,
        message: &str,
    ) -> io::Result<()> {
        let (seq, ts_ns) = self.next();
        self.line(&End { seq, ts_ns, kind: "proctor_end", outcome, reason, message })
    }

    fn frame(
        &mut self,
        direction: &'static str,
        kind: &str,
        session_id: Option<&str>,
        tool_call_id: Option<&str>,
        raw_json: &str,
        truncated: bool,
    ) -> io::Result<()> {
        let (seq, ts_ns) = self.next();
        self.line(&Frame {
            seq,
            ts_ns,
            direction,
            kind,
            session_id,
            tool_call_id,
            raw_json,
            truncated,
        })
    }

    fn next(&mut self) -> (u64, u64) {
        let seq = self.seq;
        self.seq += 1;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        (seq, u64::try_from(now.as_nanos()).unwrap_or(u64::MAX))
    }

    /// In one piece, so that whoever kills this program finds whole lines.
    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}

/// The call that an update or a question is about.
fn tool_call_id(params: &Map<String, Value>) -> Option<&str> {
    let part = params.get("update").or_else(|| params.get("toolCall"))?;
    part.get("toolCallId")?.as_str()
}

/// `session/new` as `session_new`.
fn snake_cased(method: &str) -> String {
    plain(&method.replace('/', "_"))
}

/// A kind that an agent names, when it is a plain word.
fn plain(kind: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let named = !kind.is_empty() && kind.len() <= MAX_KIND && kind.bytes().all(is_plain);
    // Kinds of ours tell how the session went.
    let is_ours = matches!(kind, "axp_meta" | "proctor_end" | "response");
    if named && !is_ours { kind.to_owned() } else { UNKNOWN.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(record: impl FnOnce(&mut Recorder<Vec<u8>>) -> io::Result<()>) -> String {
        let mut recorder = Recorder::new(Vec::new());
        record(&mut recorder).unwrap();
        let text = String::from_utf8(recorder.out).unwrap();
        let (before, after) = text.split_once("\"ts_ns\":").unwrap();
        format!("{before}{}", after.split_once(',').unwrap().1)
    }

    fn received(line: &str) -> String {
        let message = Message::parse(line.as_bytes());
        recorded(|recorder| recorder.received(line.as_bytes(), message.as_ref()))
    }

    #[test]
    fn lines_have_the_layout_of_the_format() {
        insta::assert_snapshot!(recorded(Recorder::meta), @r#"{"seq":0,"kind":"axp_meta","axp_layout_version":"1.0","stream_version":"acp/1","producer":"proctor/0.1.0"}"#);
        let update = r#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t"}}}"#;
        insta::assert_snapshot!(received(update), @r#"{"seq":0,"direction":"in","kind":"tool_call","session_id":"s","tool_call_id":"t","raw_json":"{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"t\"}}}"}"#);
    }

    #[test]
    fn an_agent_cannot_make_up_the_kinds_that_are_ours() {
        for (method, kind) in [
            ("session/request_permission", "session_request_permission"),
            ("fs/read_text_file", "fs_read_text_file"),
            ("proctor/end", "unknown"),
            ("response", "unknown"),
            ("axp_meta", "unknown"),
            ("Ärger", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(snake_cased(method), kind);
        }
        assert_eq!(plain(&"x".repeat(MAX_KIND + 1)), "unknown");
        assert!(received("noise \u{7f}").contains(r#""kind":"unknown","session_id":null"#));
    }
}
