//! Which files a session is seen to have read.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::event::ToolStatus;
use proctor_model::{Action, Event, EventKind};

/// The most bytes of ids and paths that are remembered, so that a session of nothing but reads does
/// not fill the memory. Later reads are passed over, and so prove nothing.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// What a call takes beside its id and its path.
const CALL_BYTES: usize = 128;

/// Follows the explicit reads of a session, event by event.
///
/// A read whose result is missing counts: nothing says that it failed. A `cat` in a shell, and
/// files that a program loads by itself, give no such event.
#[derive(Debug, Default)]
pub struct Reads {
    /// In the order of the calls.
    calls: Vec<Call>,
    /// Places in `calls` by the id of the call.
    by_id: BTreeMap<String, Vec<usize>>,
    bytes: usize,
}

#[derive(Debug)]
struct Call {
    /// As the agent gave it.
    path: String,
    /// Whether its result is no success.
    failed: bool,
}

impl Reads {
    /// Looks at the next event.
    pub fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolCall { id, action: Action::Read { path }, .. } => self.call(id, path),
            EventKind::ToolResult { id, status, .. } if *status != ToolStatus::Ok => {
                for &at in self.by_id.get(id).into_iter().flatten() {
                    if let Some(call) = self.calls.get_mut(at) {
                        call.failed = true;
                    }
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, id: &str, path: &str) {
        let bytes = self.bytes + id.len() + path.len() + CALL_BYTES;
        if bytes <= MAX_BYTES {
            self.bytes = bytes;
            self.by_id.entry(id.to_owned()).or_default().push(self.calls.len());
            self.calls.push(Call { path: path.to_owned(), failed: false });
        }
    }

    /// The paths of the reads that did not fail, as the agent gave them, each once, in the order of
    /// the calls.
    pub fn into_paths(self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let succeeded = self.calls.into_iter().filter(|call| !call.failed).map(|call| call.path);
        succeeded.filter(|path| seen.insert(path.clone())).collect()
    }
}

impl<'a> FromIterator<&'a Event> for Reads {
    fn from_iter<T: IntoIterator<Item = &'a Event>>(events: T) -> Self {
        let mut reads = Self::default();
        events.into_iter().for_each(|event| reads.observe(event));
        reads
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn events(kinds: Vec<EventKind>) -> Vec<Event> {
        let numbered = kinds.into_iter().zip(0..);
        numbered
            .map(|(kind, seq)| Event { seq, line: seq + 1, parent: None, ts_ms: None, kind })
            .collect()
    }

    fn call(id: &str, action: Action) -> EventKind {
        EventKind::ToolCall { id: id.into(), name: "T".into(), action, input: Value::Null }
    }

    fn read(id: &str, path: &str) -> EventKind {
        call(id, Action::Read { path: path.into() })
    }

    fn result(id: &str, status: ToolStatus) -> EventKind {
        EventKind::ToolResult { id: id.into(), status, text: String::new() }
    }

    #[test]
    fn reads_count_unless_they_failed_or_were_denied() {
        let events = events(vec![
            read("1", "z.md"),
            read("2", "missing.md"),
            read("3", "secret.md"),
            result("1", ToolStatus::Ok),
            result("2", ToolStatus::Error),
            result("3", ToolStatus::Denied),
            read("4", "a.md"),
            read("5", "z.md"),
            call("6", Action::Shell { command: "cat b.md".into() }),
        ]);
        assert_eq!(Reads::from_iter(&events).into_paths(), ["z.md", "a.md"]);
    }
    #[test]
    fn a_failed_call_does_not_take_its_namesakes_path_along() {
        let events = events(vec![
            read("1", "a.md"),
            result("1", ToolStatus::Error),
            read("2", "a.md"),
            result("3", ToolStatus::Error),
        ]);
        assert_eq!(Reads::from_iter(&events).into_paths(), ["a.md"]);
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let path = "x".repeat(MAX_BYTES / 4);
        let mut reads = Reads::default();
        for id in 0..100 {
            for event in events(vec![read(&id.to_string(), &format!("{id}{path}"))]) {
                reads.observe(&event);
            }
        }
        assert_eq!(reads.into_paths().len(), 3);
    }
}
