//! One session a file, one JSON object a line: what `proctor-harness` reads.

use std::collections::BTreeSet;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use proctor_formats::tree::Problems;
use proctor_harness::{MAX_RECORDING_BYTES, SessionEnd, SessionFile};
use proctor_model::{Diagnostic, Event, EventKind, Location};

use super::{Intake, STREAM, Session, Source};

pub(super) fn read(
    format: &SessionFile,
    mut source: Source,
    intake: &mut dyn Intake,
    problems: &mut Problems,
) -> io::Result<()> {
    // Somebody may be writing it: what stands there now is what is read.
    let length = source.file.metadata()?.len();
    if length > MAX_RECORDING_BYTES {
        let limit = MAX_RECORDING_BYTES >> 20;
        problems.push(
            Diagnostic::error(format!("the file is larger than {limit} MiB"))
                .hint("cut it at the end of a line: the start of a session can be read by itself"),
        );
        return Ok(());
    }
    intake.begin()?;
    let mut watch = Watch::default();
    let mut failure = None;
    let mut parser = format.parser();
    let mut buffer = vec![0; 64 * 1024];
    let mut limited = (&mut source.file).take(length);
    loop {
        let read = match limited.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let bytes = buffer.get(..read).unwrap_or_default();
        parser.push(bytes, &mut |event| watch.take(event, intake, problems, &mut failure));
    }
    let summary = parser.finish(&SessionEnd::default(), &mut |event| {
        watch.take(event, intake, problems, &mut failure);
    });
    if let Some(error) = failure {
        return Err(error);
    }
    if !watch.recognised {
        problems.push(
            Diagnostic::error(format!("no line of it is of a {}", format.title))
                .hint("`--from` names another format"),
        );
        return Ok(());
    }
    let mut warnings = summary.warnings;
    if watch.sessions.len() > 1 {
        let count = watch.sessions.len();
        warnings.push(format!("lines of {count} sessions stand in the file, and are read as one"));
    }
    source.file.seek(SeekFrom::Start(0))?;
    intake.raw(STREAM, &mut (&mut source.file).take(length))?;
    intake.end(Session {
        agent: format.agent.map(str::to_owned),
        model: watch.model,
        prompt_id: None,
        repeat_idx: 0,
        span_ms: watch.span_ms,
        outcome: summary.outcome,
        usage: summary.usage,
        grades: Vec::new(),
        record: None,
        warnings,
    })
}

/// What events say about the session as a whole.
#[derive(Default)]
struct Watch {
    model: Option<String>,
    span_ms: Option<(u64, u64)>,
    recognised: bool,
    /// The ids of sessions, as far as they are looked at.
    sessions: BTreeSet<String>,
}

/// The most ids of sessions that are told apart.
const MAX_SESSIONS: usize = 1000;

impl Watch {
    fn take(
        &mut self,
        event: Event,
        intake: &mut dyn Intake,
        problems: &mut Problems,
        failure: &mut Option<io::Error>,
    ) {
        if let EventKind::Session { session_id: Some(id), .. } = &event.kind
            && self.sessions.len() < MAX_SESSIONS
        {
            self.sessions.insert(id.clone());
        }
        match &event.kind {
            EventKind::Session { model: Some(model), .. } => {
                self.model.get_or_insert_with(|| model.clone());
                self.recognised = true;
            }
            EventKind::Garbage { excerpt } => {
                let line = u32::try_from(event.line).unwrap_or(u32::MAX);
                let message = format!("the line is no JSON object in UTF-8: `{excerpt}`");
                let place = Location { line, column: 1 };
                problems.push(Diagnostic::warning(message).at(place));
            }
            EventKind::Unknown { .. } => {}
            _ => self.recognised = true,
        }
        if let Some(now) = event.ts_ms {
            let (first, last) = self.span_ms.unwrap_or((now, now));
            self.span_ms = Some((first.min(now), last.max(now)));
        }
        if failure.is_none() {
            *failure = intake.event(event).err();
        }
    }
}
