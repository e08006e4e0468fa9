//! Which files a session is seen to have read.

use std::collections::BTreeSet;

use proctor_model::event::ToolStatus;
use proctor_model::{Action, Event, EventKind};

/// Follows the explicit reads of a session, event by event.
///
/// A read whose result is missing counts: nothing says that it failed. A `cat` in a shell, and
/// files that a program loads by itself, give no such event.
#[derive(Debug, Default)]
pub struct Reads {
    /// Ids and paths as given, in the order of the calls.
    calls: Vec<(String, String)>,
    /// Ids of calls whose result is no success.
    failed: BTreeSet<String>,
}

impl Reads {
    /// Looks at the next event.
    pub fn observe(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolCall { id, action: Action::Read { path }, .. } => {
                self.calls.push((id.clone(), path.clone()));
            }
            EventKind::ToolResult { id, status, .. } if *status != ToolStatus::Ok => {
                self.failed.insert(id.clone());
            }
            _ => {}
        }
    }

    /// The paths of the reads that did not fail, as the agent gave them, each once, in the order of
    /// the calls.
    pub fn into_paths(self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let succeeded = self.calls.into_iter().filter(|(id, _)| !self.failed.contains(id));
        succeeded.map(|(_, path)| path).filter(|path| seen.insert(path.clone())).collect()
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
        numbered.map(|(kind, seq)| Event { seq, line: seq + 1, parent: None, kind }).collect()
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
}
