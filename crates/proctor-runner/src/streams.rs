//! What a session of an agent says, on its way to the folder of its trial: the raw streams, and the
//! events that they mean.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use proctor_model::event::ToolStatus;
use proctor_model::{Event, EventKind};
use proctor_redact::Redactor;
use proctor_sandbox::Stream;
use serde::Serialize;

use crate::lane::Lane;
use crate::session::Recorder;

/// The events, one a line.
pub(crate) const EVENTS: &str = "events.jsonl";
/// What the agent program printed to standard output.
pub(crate) const RAW: &str = "agent-events.jsonl";
/// What it printed to standard error.
pub(crate) const LOG: &str = "agent.log";
/// What the agent did to the workspace.
pub(crate) const FS_DIFF: &str = "fs-diff/000000.json";

/// Bytes of a raw stream, or of the events, that are kept: 1 GiB.
const MAX_BYTES: u64 = 1 << 30;

/// The streams and events of one session, kept as they come and without secrets, and counted.
pub(crate) struct Streams<'a> {
    redactor: &'a Redactor,
    out: Kept,
    err: Kept,
    events: BufWriter<File>,
    written: u64,
    /// The number of the next event.
    next: u64,
    calls: u64,
    failed: u64,
    /// The first failure to keep something.
    failure: Option<String>,
}

/// A raw stream.
struct Kept {
    lane: Option<Lane>,
    left: u64,
}

impl<'a> Streams<'a> {
    /// Makes the files, which must not be there.
    pub(crate) fn open(folder: &Utf8Path, redactor: &'a Redactor) -> io::Result<Self> {
        let kept = |name: &str| {
            let lane = Lane::open(folder.join(name), redactor)?;
            Ok::<_, io::Error>(Kept { lane: Some(lane), left: MAX_BYTES })
        };
        let events = std::fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(folder.join(EVENTS))?;
        Ok(Self {
            redactor,
            out: kept(RAW)?,
            err: kept(LOG)?,
            events: BufWriter::new(events),
            written: 0,
            next: 0,
            calls: 0,
            failed: 0,
            failure: None,
        })
    }

    /// Takes the next event of the agent's.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolCall { .. } => self.calls += 1,
            EventKind::ToolResult { status: ToolStatus::Error | ToolStatus::Denied, .. } => {
                self.failed += 1;
            }
            _ => {}
        }
        self.next = self.next.max(event.seq.saturating_add(1));
        let written = match event.ts_ms {
            Some(_) => self.write(event),
            None => self.write(&Event { ts_ms: Some(now()), ..event.clone() }),
        };
        self.note(written);
    }

    /// Adds what Proctor itself did or saw, and gives it as the event that it became.
    pub(crate) fn add(&mut self, kind: EventKind) -> Event {
        let event = Event { seq: self.next, line: 0, parent: None, ts_ms: Some(now()), kind };
        self.next += 1;
        let written = self.write(&event);
        self.note(written);
        event
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        if self.written >= MAX_BYTES {
            return Err(too_much("what the agent did"));
        }
        let mut value = serde_json::to_value(event)?;
        self.redactor.json(&mut value);
        let mut line = value.to_string();
        line.push('\n');
        self.written += line.len() as u64;
        self.events.write_all(line.as_bytes())
    }

    /// Notes a failure to keep something.
    pub(crate) fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure.get_or_insert_with(|| error.to_string());
        }
    }

    /// The raw streams are at their end and on disk.
    pub(crate) fn close_raw(&mut self) {
        for lane in [self.out.lane.take(), self.err.lane.take()].into_iter().flatten() {
            let closed = lane.close().map(|_| ());
            self.note(closed);
        }
    }

    /// All events so far are on disk. Gives the first failure since the last call.
    pub(crate) fn flush(&mut self) -> Result<(), String> {
        let flushed = self.events.flush();
        self.note(flushed);
        self.failure.take().map_or(Ok(()), Err)
    }

    /// Calls of tools, and those of them that failed or were refused.
    pub(crate) fn calls(&self) -> (u64, u64) {
        (self.calls, self.failed)
    }
}

impl Recorder for Streams<'_> {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        };
        let Some(lane) = &mut kept.lane else { return };
        let fits = usize::try_from(kept.left).unwrap_or(usize::MAX).min(bytes.len());
        lane.push(bytes.get(..fits).unwrap_or_default());
        kept.left -= fits as u64;
        if fits < bytes.len() {
            self.note(Err(too_much("what the agent printed")));
        }
    }
}

fn too_much(what: &str) -> io::Error {
    io::Error::other(format!("{what} is more than {} MiB; the rest is lost", MAX_BYTES >> 20))
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}

/// Writes a file of JSON, and the folders above it.
pub(crate) fn write_json(path: &Utf8Path, value: &impl Serialize) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    let mut bytes = serde_json::to_vec_pretty(value)?;
    bytes.push(b'\n');
    fs_err::write(path, bytes)
}

/// The same without secrets.
pub(crate) fn write_redacted(
    path: &Utf8Path,
    value: &impl Serialize,
    redactor: &Redactor,
) -> io::Result<()> {
    let mut value = serde_json::to_value(value)?;
    redactor.json(&mut value);
    write_json(path, &value)
}

/// A recorder that also follows events: a session hands streams and events to two places.
pub(crate) struct Shared<'a, T>(pub(crate) &'a RefCell<T>);

impl<T: Recorder> Recorder for Shared<'_, T> {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        self.0.borrow_mut().record(stream, bytes);
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::event::Role;
    use proctor_model::{Action, FsDiff, Usage};
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn events_are_kept_without_secrets_and_numbered_on() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let redactor = Redactor::new(["hunter2-hunter2".to_owned()]);
        let mut streams = Streams::open(folder, &redactor).unwrap();
        let event = |seq, kind| Event { seq, line: seq + 1, parent: None, ts_ms: None, kind };
        let said = EventKind::Message { role: Role::Assistant, text: "hunter2-hunter2".to_owned() };
        streams.observe(&event(0, said));
        let called = EventKind::ToolCall {
            id: "1".to_owned(),
            name: "Bash".to_owned(),
            action: Action::Shell { command: "x".to_owned() },
            input: json!({}),
        };
        streams.observe(&event(1, called));
        let (id, text) = ("1".to_owned(), String::new());
        streams.observe(&event(2, EventKind::ToolResult { id, status: ToolStatus::Denied, text }));
        streams.observe(&event(3, EventKind::Usage { usage: Usage::default() }));
        let manifest = EventKind::file_manifest(&FsDiff::default());
        assert_eq!(streams.add(manifest).seq, 4);
        streams.record(Stream::Out, b"key hunter2-hunter2\n");
        streams.close_raw();
        assert_eq!(streams.flush(), Ok(()));
        assert_eq!(streams.calls(), (1, 1));
        let text = std::fs::read_to_string(folder.join(EVENTS)).unwrap();
        let lines: Vec<Value> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert!(lines.iter().all(|line| line["ts_ms"].is_u64()));
        assert_eq!(lines[0]["text"], "[redacted]");
        assert_eq!((&lines[4]["kind"], &lines[4]["line"]), (&json!("file_manifest"), &json!(0)));
        let events: Vec<Event> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
        assert_eq!(std::fs::read_to_string(folder.join(RAW)).unwrap(), "key [redacted]\n");
        assert!(Streams::open(folder, &redactor).is_err());
    }

    #[test]
    fn a_stream_without_end_is_cut_and_said_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Utf8Path::from_path(folder.path()).unwrap();
        let redactor = Redactor::default();
        let mut streams = Streams::open(folder, &redactor).unwrap();
        streams.out.left = 3;
        streams.record(Stream::Out, b"four\n");
        streams.record(Stream::Out, b"more\n");
        streams.close_raw();
        assert!(streams.flush().unwrap_err().contains("the rest is lost"));
        assert_eq!(std::fs::read_to_string(folder.join(RAW)).unwrap(), "fou");
    }
}
