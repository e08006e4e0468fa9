//! What the tests of this crate share.
#![allow(dead_code, reason = "each test file uses its own part")]

use proctor_harness::{Adapter, ExitKind, SessionEnd, SessionSummary, acp, adapters};
use proctor_model::{Event, OutcomeClass};

/// Everything that comes out of a session.
pub(crate) type Session = (Vec<Event>, SessionSummary);

/// Every adapter with lines of its own.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Adapter> {
    adapters().iter().copied().chain([acp()])
}

/// Reads a stream given in parts.
pub(crate) fn read_parts<'a>(
    harness: &str,
    parts: impl IntoIterator<Item = &'a [u8]>,
    end: &SessionEnd<'_>,
) -> Session {
    let mut events = Vec::new();
    let mut parser = all().find(|adapter| adapter.id() == harness).unwrap().parser();
    for part in parts {
        parser.push(part, &mut |event| events.push(event));
    }
    let summary = parser.finish(end, &mut |event| events.push(event));
    (events, summary)
}

/// Reads a stream in one piece.
pub(crate) fn read(harness: &str, stream: &[u8], end: &SessionEnd<'_>) -> Session {
    read_parts(harness, [stream], end)
}

/// Lines of a program that exited with `code`.
pub(crate) fn exited(harness: &str, lines: &[&str], code: i32) -> Session {
    let end = SessionEnd { exit: Some(ExitKind::Code(code)), ..SessionEnd::default() };
    read(harness, lines.join("\n").as_bytes(), &end)
}

/// Lines of a program whose session the caller ended.
pub(crate) fn ended_by(harness: &str, lines: &[&str], class: OutcomeClass) -> Session {
    let exit = Some(ExitKind::Signal(9));
    let end = SessionEnd { exit, ended_by: Some(class), ..SessionEnd::default() };
    read(harness, lines.join("\n").as_bytes(), &end)
}

pub(crate) fn class(session: &Session) -> OutcomeClass {
    session.1.outcome.class
}
