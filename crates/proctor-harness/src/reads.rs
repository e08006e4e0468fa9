//! Which files a session is seen to have read.

use std::collections::BTreeSet;

use proctor_model::event::ToolStatus;
use proctor_model::{Action, Event, EventKind};

/// The paths of explicit reads that did not fail, as the agent gave them, each once, in the order
/// of the calls.
///
/// A read whose result is missing counts: nothing says that it failed. A `cat` in a shell, and
/// files that a program loads by itself, give no such event.
pub fn observed_reads(events: &[Event]) -> Vec<String> {
    let failed: BTreeSet<&str> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolResult { id, status, .. } if *status != ToolStatus::Ok => {
                Some(id.as_str())
            }
            _ => None,
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut paths = Vec::new();
    for event in events {
        if let EventKind::ToolCall { id, action: Action::Read { path }, .. } = &event.kind
            && !failed.contains(id.as_str())
            && seen.insert(path.as_str())
        {
            paths.push(path.clone());
        }
    }
    paths
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
        assert_eq!(observed_reads(&events), ["z.md", "a.md"]);
    }
}
