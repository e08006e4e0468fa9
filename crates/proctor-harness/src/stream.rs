//! What all JSON Lines streams have in common: lines, numbers of events, garbage, limits.

use proctor_model::event::Role;
use proctor_model::moment::milliseconds;
use proctor_model::{Event, EventKind, Usage};
use serde_json::Value;

use crate::adapter::{SessionEnd, SessionSummary, StreamParser};
use crate::json::{self, Object};
use crate::lines::{Line, LineSplitter, MAX_LINE_BYTES};

/// The most events that one session gives. What comes later still counts for the outcome.
pub const MAX_EVENTS: u64 = 1_000_000;

/// The most calls without a result that are remembered, so that a stream of nothing else does not
/// fill the memory.
pub(crate) const MAX_OPEN_CALLS: usize = 100_000;

/// Characters of a garbage line that its event shows.
const GARBAGE_EXCERPT: usize = 200;

/// What one program's lines mean.
pub(crate) trait Dialect: Send {
    /// Takes the next line, an object.
    fn line(&mut self, object: Object, sink: &mut Sink<'_>);

    /// The stream ended: hands out what was held back.
    fn flush(&mut self, _sink: &mut Sink<'_>) {}

    /// Says how the session ended.
    fn finish(self, end: &Ending<'_>) -> SessionSummary;
}

/// How the stream and its process ended.
pub(crate) struct Ending<'a> {
    /// What the caller knows.
    pub(crate) end: &'a SessionEnd<'a>,
    /// Whether the stream held anything but blank lines.
    pub(crate) any_output: bool,
    /// Whether any line of it was one that the program is known to print.
    pub(crate) recognised: bool,
}

/// Where a dialect puts its events.
pub(crate) struct Sink<'a> {
    emit: &'a mut dyn FnMut(Event),
    /// Number of the next event.
    seq: &'a mut u64,
    line: u64,
    parent: Option<String>,
    ts_ms: Option<u64>,
    recognised: &'a mut bool,
}

impl Sink<'_> {
    /// Emits one event.
    pub(crate) fn event(&mut self, kind: EventKind) {
        *self.recognised |= !matches!(kind, EventKind::Unknown { .. } | EventKind::Garbage { .. });
        if *self.seq < MAX_EVENTS {
            let (seq, line) = (*self.seq, self.line);
            let (parent, ts_ms) = (self.parent.clone(), self.ts_ms);
            (self.emit)(Event { seq, line, parent, ts_ms, kind });
        }
        *self.seq = self.seq.saturating_add(1);
    }

    /// The events that follow come from a subagent under this tool call.
    pub(crate) fn under(&mut self, parent: Option<String>) {
        self.parent = parent;
    }

    pub(crate) fn message(&mut self, role: Role, text: &str) {
        self.event(EventKind::Message { role, text: text.to_owned() });
    }

    pub(crate) fn notice(&mut self, message: impl Into<String>) {
        self.event(EventKind::Notice { message: message.into() });
    }

    pub(crate) fn lifecycle(&mut self, name: &str) {
        self.event(EventKind::Lifecycle { name: name.to_owned() });
    }

    pub(crate) fn unknown(&mut self, name: impl Into<String>) {
        self.event(EventKind::Unknown { name: name.into() });
    }

    pub(crate) fn usage(&mut self, usage: Usage) {
        self.event(EventKind::Usage { usage });
    }
}

/// A parser of JSON Lines in one dialect.
pub(crate) struct JsonLines<D> {
    splitter: LineSplitter,
    reader: Reader<D>,
}

struct Reader<D> {
    dialect: D,
    /// Number of the current line, from 1.
    line: u64,
    /// Number of the next event.
    seq: u64,
    garbage: u64,
    any_output: bool,
    recognised: bool,
    /// Whether lines say when they were written.
    is_dated: bool,
}

impl<D: Dialect> JsonLines<D> {
    pub(crate) fn new(dialect: D) -> Self {
        let reader = Reader {
            dialect,
            line: 0,
            seq: 0,
            garbage: 0,
            any_output: false,
            recognised: false,
            is_dated: false,
        };
        Self { splitter: LineSplitter::new(MAX_LINE_BYTES), reader }
    }

    /// Takes the moment of each event from its line: `timestamp` or `ts_ns`.
    pub(crate) fn dated(dialect: D) -> Self {
        let mut lines = Self::new(dialect);
        lines.reader.is_dated = true;
        lines
    }
}

impl<D: Dialect> StreamParser for JsonLines<D> {
    fn push(&mut self, bytes: &[u8], emit: &mut dyn FnMut(Event)) {
        let reader = &mut self.reader;
        self.splitter.push(bytes, &mut |line| reader.take(line, emit));
    }

    fn finish(
        mut self: Box<Self>,
        end: &SessionEnd<'_>,
        emit: &mut dyn FnMut(Event),
    ) -> SessionSummary {
        let reader = &mut self.reader;
        self.splitter.finish(&mut |line| reader.take(line, emit));
        let (seq, recognised) = (&mut reader.seq, &mut reader.recognised);
        let mut sink = Sink { emit, seq, line: reader.line, parent: None, ts_ms: None, recognised };
        reader.dialect.flush(&mut sink);
        let Reader { dialect, seq, garbage, any_output, recognised, .. } = self.reader;
        let mut summary = dialect.finish(&Ending { end, any_output, recognised });
        if garbage > 0 {
            let lines = if garbage == 1 { "line is" } else { "lines are" };
            summary.warnings.push(format!("{garbage} {lines} not in the format of the stream"));
        }
        if seq > MAX_EVENTS {
            let dropped = seq - MAX_EVENTS;
            summary.warnings.push(format!(
                "only the first {MAX_EVENTS} events were kept; {dropped} more were left out"
            ));
        }
        summary
    }
}

impl<D: Dialect> Reader<D> {
    fn take(&mut self, line: Line<'_>, emit: &mut dyn FnMut(Event)) {
        self.line += 1;
        let (seq, recognised) = (&mut self.seq, &mut self.recognised);
        let mut sink = Sink { emit, seq, line: self.line, parent: None, ts_ms: None, recognised };
        let bytes = match line {
            Line::Whole(bytes) => bytes.trim_ascii(),
            Line::TooLong(start) => {
                self.any_output = true;
                self.garbage += 1;
                return sink.event(garbage(start));
            }
        };
        if bytes.is_empty() {
            return;
        }
        self.any_output = true;
        // `from_slice` checks UTF-8 and bounds the depth of nesting.
        if let Ok(Value::Object(object)) = serde_json::from_slice(bytes) {
            if self.is_dated {
                sink.ts_ms = moment_of(&object);
            }
            self.dialect.line(object, &mut sink);
        } else {
            self.garbage += 1;
            sink.event(garbage(bytes));
        }
    }
}

fn moment_of(line: &Object) -> Option<u64> {
    let in_words = json::text(line, "timestamp").and_then(milliseconds);
    in_words.or_else(|| Some(json::number::<u64>(line, "ts_ns")? / 1_000_000))
}

fn garbage(bytes: &[u8]) -> EventKind {
    // A character has at most 4 bytes: this is enough for the excerpt, however long the line is.
    let start = bytes.get(..GARBAGE_EXCERPT * 4 + 4).unwrap_or(bytes);
    EventKind::Garbage { excerpt: json::excerpt(&String::from_utf8_lossy(start), GARBAGE_EXCERPT) }
}

#[cfg(test)]
mod tests {
    use proctor_model::{Outcome, OutcomeClass};

    use super::*;

    /// Emits one lifecycle event a line, named by its `type`.
    struct Echo;

    impl Dialect for Echo {
        fn line(&mut self, object: Object, sink: &mut Sink<'_>) {
            sink.lifecycle(json::text(&object, "type").unwrap_or_default());
        }

        fn finish(self, _: &Ending<'_>) -> SessionSummary {
            let outcome = Outcome::new(OutcomeClass::Completed, "");
            SessionSummary { outcome, usage: None, final_text: None, warnings: Vec::new() }
        }
    }

    fn read(parts: &[&[u8]]) -> (Vec<Event>, SessionSummary) {
        let mut events = Vec::new();
        let mut parser = Box::new(JsonLines::new(Echo));
        for part in parts {
            parser.push(part, &mut |event| events.push(event));
        }
        let summary = parser.finish(&SessionEnd::default(), &mut |event| events.push(event));
        (events, summary)
    }

    #[test]
    fn lines_and_events_are_numbered_and_blank_lines_count_as_lines() {
        let (events, summary) = read(&[b"{\"type\":\"a\"}\r\n\n  \n{\"type\":\"b\"}"]);
        let places: Vec<_> = events.iter().map(|event| (event.seq, event.line)).collect();
        assert_eq!(places, [(0, 1), (1, 4)]);
        assert!(summary.warnings.is_empty());
    }

    #[test]
    fn what_is_no_json_object_is_garbage() {
        let deep = [b'['; 5000];
        for bytes in
            [&b"Error: no"[..], b"1", b"[]", b"\"x\"", b"{\"type\":", b"{\"a\":\"\xff\"}", &deep]
        {
            let (events, summary) = read(&[bytes]);
            assert!(matches!(events[0].kind, EventKind::Garbage { .. }), "{bytes:?}");
            assert_eq!(summary.warnings, ["1 line is not in the format of the stream"]);
        }
    }

    #[test]
    fn garbage_shows_its_first_characters() {
        let text = "ü ".repeat(500);
        let (events, _) = read(&[text.as_bytes()]);
        let EventKind::Garbage { excerpt } = &events[0].kind else { panic!("{events:?}") };
        assert_eq!(*excerpt, format!("{}…", "ü ".repeat(GARBAGE_EXCERPT / 2).trim_end()));
    }

    #[test]
    fn a_line_beyond_the_limit_is_garbage_and_the_next_line_is_read() {
        let mut bytes = vec![b' '; MAX_LINE_BYTES + 1];
        bytes.extend_from_slice(b"\n{\"type\":\"next\"}\n");
        let (events, summary) = read(&[&bytes]);
        assert!(matches!(events[0].kind, EventKind::Garbage { .. }));
        assert_eq!(events[1].kind, EventKind::Lifecycle { name: "next".into() });
        assert_eq!(summary.warnings.len(), 1);
    }

    #[test]
    fn events_beyond_the_limit_are_counted_and_left_out() {
        let mut count = 0;
        let mut parser = Box::new(JsonLines::new(Echo));
        let chunk = b"{}\n".repeat(1000);
        for _ in 0..=MAX_EVENTS / 1000 {
            parser.push(&chunk, &mut |_| count += 1);
        }
        let summary = parser.finish(&SessionEnd::default(), &mut |_| count += 1);
        assert_eq!(count, MAX_EVENTS);
        assert_eq!(
            summary.warnings,
            ["only the first 1000000 events were kept; 1000 more were left out"]
        );
    }
}
