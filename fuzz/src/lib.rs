//! What fuzz targets share.

use std::io::{self, Read, Seek as _, Write as _};

use proctor_exchange::import::{Intake, Session, Source, importers};
use proctor_formats::tree::Problems;
use proctor_harness::{ExitKind, SessionEnd, SessionSummary, find};
use proctor_model::{Event, OutcomeClass};

/// A session stream of the agent program `harness`: the first byte chooses where it is split and
/// how the process ended, the rest is the stream.
///
/// Whatever the bytes are, the split makes no difference, events are numbered without a gap, their
/// lines ascend, and only a completed session has an answer.
pub fn session_stream(harness: &str, data: &[u8]) {
    let Some((&choice, stream)) = data.split_first() else { return };
    let exit = match choice % 4 {
        0 => None,
        1 => Some(ExitKind::Code(0)),
        2 => Some(ExitKind::Code(i32::from(choice))),
        _ => Some(ExitKind::Signal(i32::from(choice / 4))),
    };
    let end = SessionEnd { exit, ..SessionEnd::default() };
    let whole = read(harness, [stream], &end);
    let parts = read(harness, stream.chunks(usize::from(choice / 4) + 1), &end);
    assert_eq!(whole, parts);

    let (events, summary) = whole;
    assert!((0..).zip(&events).all(|(seq, event)| event.seq == seq));
    assert!(events.is_sorted_by_key(|event| event.line));
    let completed = summary.outcome.class == OutcomeClass::Completed;
    assert!(completed || summary.final_text.is_none());
}

fn read<'a>(
    harness: &str,
    parts: impl IntoIterator<Item = &'a [u8]>,
    end: &SessionEnd<'_>,
) -> (Vec<Event>, SessionSummary) {
    let mut events = Vec::new();
    let mut parser = find(harness).expect("an adapter of this name").parser();
    for part in parts {
        parser.push(part, &mut |event| events.push(event));
    }
    let summary = parser.finish(end, &mut |event| events.push(event));
    (events, summary)
}

/// A file that is imported in every format of this name.
///
/// Whatever the bytes are: files have plain paths, every session that begins either ends or has an
/// error with it.
pub fn import(name: &str, data: &[u8]) {
    for importer in importers().into_iter().filter(|importer| importer.name == name) {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(data).expect("room for it");
        file.rewind().expect("a file that can be rewound");
        let mut kept = Kept::default();
        let mut problems = Problems::new("f".into());
        let source = Source { name: "f".into(), file };
        importer.read(source, &mut kept, &mut problems).expect("no failure of the system");
        assert!(problems.has_errors() || kept.begun == kept.ended);
        problems.finish().to_string();
    }
}

#[derive(Default)]
struct Kept {
    begun: u64,
    ended: u64,
}

impl Intake for Kept {
    fn begin(&mut self) -> io::Result<()> {
        self.begun += 1;
        Ok(())
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        serde_json::to_string(&event).map(drop).map_err(io::Error::from)
    }

    fn raw(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        assert!(path.split('/').all(|name| !["", ".", ".."].contains(&name)), "{path:?}");
        io::copy(content, &mut io::sink()).map(drop)
    }

    fn end(&mut self, _: Session) -> io::Result<()> {
        self.ended += 1;
        Ok(())
    }
}
