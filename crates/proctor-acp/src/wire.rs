//! Bytes of the agent to frames, with a bound on memory.

use std::io::{self, BufRead};
use std::sync::mpsc::SyncSender;

use serde_json::{Map, Value};

/// The longest frame, in bytes without its line feed. As a text within a line of the record it may
/// take twice as many, which a reader of the record must still accept.
pub(crate) const MAX_FRAME_BYTES: usize = 7 << 20;

/// How many bytes of a line that is too long are kept.
const KEPT_BYTES: usize = 1024;

/// A line of the agent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// The start of one that is longer than [`MAX_FRAME_BYTES`].
    TooLong(Vec<u8>),
}

/// Hands every line to `lines`, until the agent or the other side ends.
pub(crate) fn read_lines(mut reader: impl BufRead, lines: &SyncSender<Line>) {
    while let Ok(Some(line)) = read_line(&mut reader, MAX_FRAME_BYTES) {
        if lines.send(line).is_err() {
            return;
        }
    }
}

/// The next line that is not blank, without its line feed; `None` at the end.
fn read_line(reader: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let mut is_overlong = false;
    loop {
        let bytes = match reader.fill_buf() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let at_end = bytes.is_empty();
        let feed = bytes.iter().position(|byte| *byte == b'\n');
        let taken = bytes.get(..feed.unwrap_or(bytes.len())).unwrap_or(bytes);
        if !is_overlong && line.len() + taken.len() > limit {
            is_overlong = true;
            line.truncate(KEPT_BYTES);
        }
        let room = if is_overlong { KEPT_BYTES.saturating_sub(line.len()) } else { taken.len() };
        line.extend_from_slice(taken.get(..room).unwrap_or(taken));
        let consumed = taken.len() + usize::from(feed.is_some());
        reader.consume(consumed);
        if feed.is_none() && !at_end {
            continue;
        }
        if is_overlong {
            line.shrink_to_fit();
            return Ok(Some(Line::TooLong(line)));
        }
        if !line.trim_ascii().is_empty() {
            return Ok(Some(Line::Whole(line)));
        }
        if at_end {
            return Ok(None);
        }
        line.clear();
    }
}

/// A frame of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// It wants to be answered.
    Request { id: Value, method: String, params: Map<String, Value> },
    /// It wants nothing.
    Notification { method: String, params: Map<String, Value> },
    /// It answers the request with this number.
    Response { id: Option<u64>, answer: Result<Value, RpcError> },
}

/// What an agent says when it does not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RpcError {
    /// Its number.
    pub(crate) code: i64,
    /// Its words.
    pub(crate) message: String,
}

impl Message {
    /// The frame in a line; `None` when there is none.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let Ok(Value::Object(mut frame)) = serde_json::from_slice(line) else { return None };
        let id = frame.remove("id");
        if let Some(Value::String(method)) = frame.remove("method") {
            let params = match frame.remove("params") {
                Some(Value::Object(params)) => params,
                _ => Map::new(),
            };
            return Some(match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notification { method, params },
            });
        }
        let id = id.as_ref().and_then(Value::as_u64);
        if let Some(Value::Object(error)) = frame.get("error") {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
            let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
            let error = RpcError { code, message: message.to_owned() };
            return Some(Self::Response { id, answer: Err(error) });
        }
        let result = frame.remove("result")?;
        Some(Self::Response { id, answer: Ok(result) })
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use serde_json::json;

    use super::*;

    fn lines(text: &[u8], capacity: usize, limit: usize) -> Vec<Line> {
        let mut reader = BufReader::with_capacity(capacity, text);
        std::iter::from_fn(|| read_line(&mut reader, limit).unwrap()).collect()
    }

    #[test]
    fn lines_are_the_same_however_they_arrive() {
        let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
        for capacity in 1..12 {
            assert_eq!(lines(b"ab\n\n \r\ncd", capacity, 9), [whole("ab"), whole("cd")]);
            assert_eq!(
                lines(b"abc\nabcd\nx\n", capacity, 3),
                [whole("abc"), Line::TooLong(b"abcd".to_vec()), whole("x")]
            );
            assert_eq!(lines(b"", capacity, 3), []);
        }
    }

    #[test]
    fn of_a_line_that_is_too_long_little_is_kept() {
        let text = vec![b'x'; 100_000];
        let [Line::TooLong(start)] = &lines(&text, 4096, 50_000)[..] else { panic!() };
        assert_eq!(start.len(), KEPT_BYTES);
    }

    #[test]
    fn frames_are_told_apart() {
        let parse = |value: Value| Message::parse(value.to_string().as_bytes());
        let Some(Message::Request { id, method, .. }) = parse(json!({"id": null, "method": "m"}))
        else {
            panic!()
        };
        assert_eq!((id, method.as_str()), (Value::Null, "m"));
        let notification = parse(json!({"method": "m", "params": [1]}));
        assert!(matches!(notification, Some(Message::Notification { .. })));
        let answer = Ok(Value::Null);
        let expected = Some(Message::Response { id: Some(1), answer });
        assert_eq!(parse(json!({"id": 1, "result": null})), expected);
        let failed = parse(json!({"id": "1", "error": {"code": -32000, "message": "no"}}));
        let error = RpcError { code: -32000, message: "no".into() };
        assert_eq!(failed, Some(Message::Response { id: None, answer: Err(error) }));
        for nothing in [json!([]), json!(1), json!({}), json!({"id": 1}), json!({"method": 1})] {
            assert_eq!(parse(nothing.clone()), None, "{nothing}");
        }
        assert_eq!(Message::parse(b"{\"method\":\"\xff\"}"), None);
        assert_eq!(Message::parse(&vec![b'['; 100_000]), None);
    }
}
