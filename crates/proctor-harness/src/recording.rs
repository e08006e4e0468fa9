//! Streams that somebody kept, read again.

use std::io::{self, Read};

use proctor_model::Event;
use proctor_model::transcript::Transcript;

use crate::adapter::{Adapter, SessionEnd, SessionSummary};

/// The largest recording that is read, in bytes.
pub const MAX_RECORDING_BYTES: u64 = 256 * 1024 * 1024;

/// A recording as events and what they add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What is printed and stored.
    pub transcript: Transcript,
    /// The agent's last answer, when the session completed.
    pub final_text: Option<String>,
    /// What a person should know although it did not decide the outcome.
    pub warnings: Vec<String>,
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// Reading failed.
    #[error("the recording cannot be read: {0}")]
    Io(#[from] io::Error),
    /// It is larger than [`MAX_RECORDING_BYTES`].
    #[error("the recording is larger than {} MiB", MAX_RECORDING_BYTES / (1024 * 1024))]
    TooLarge,
}

/// Reads a recording to its end and hands out each event as soon as it is known.
///
/// The exit of the process is not part of a recording, so the stream alone decides the outcome.
///
/// # Errors
///
/// [`RecordingError`]; the events before the failure have been handed out.
pub fn replay(
    adapter: &dyn Adapter,
    reader: impl Read,
    emit: &mut dyn FnMut(Event),
) -> Result<SessionSummary, RecordingError> {
    let mut parser = adapter.parser();
    let mut reader = reader.take(MAX_RECORDING_BYTES + 1);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        parser.push(buffer.get(..length).unwrap_or_default(), emit);
    }
    if reader.limit() == 0 {
        return Err(RecordingError::TooLarge);
    }
    Ok(parser.finish(&SessionEnd::default(), emit))
}

/// Reads a whole recording.
///
/// # Errors
///
/// [`RecordingError`].
pub fn read_recording(
    adapter: &dyn Adapter,
    reader: impl Read,
) -> Result<Recording, RecordingError> {
    let mut events = Vec::new();
    let summary = replay(adapter, reader, &mut |event| events.push(event))?;
    let SessionSummary { outcome, usage, final_text, warnings } = summary;
    Ok(Recording { transcript: Transcript { outcome, usage, events }, final_text, warnings })
}

#[cfg(test)]
mod tests {
    use proctor_model::OutcomeClass;

    use super::*;
    use crate::find;

    #[test]
    fn a_recording_is_decided_by_its_stream() {
        let adapter = find("claude").unwrap();
        let line = r#"{"type":"result","is_error":false,"result":"done"}"#;
        let recording = read_recording(adapter, line.as_bytes()).unwrap();
        assert_eq!(recording.transcript.outcome.class, OutcomeClass::Completed);
        assert_eq!(recording.final_text.as_deref(), Some("done"));
        let empty = read_recording(adapter, io::empty()).unwrap();
        assert_eq!(empty.transcript.outcome.class, OutcomeClass::UsageError);
    }

    #[test]
    fn a_recording_without_end_is_refused() {
        let endless = io::repeat(b'x');
        let result = replay(find("codex").unwrap(), endless, &mut |_| {});
        assert_eq!(result.unwrap_err().to_string(), "the recording is larger than 256 MiB");
    }

    #[test]
    fn a_failing_reader_is_an_error() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("bad sector"))
            }
        }
        let error = read_recording(find("claude").unwrap(), Broken).unwrap_err();
        assert_eq!(error.to_string(), "the recording cannot be read: bad sector");
    }
}
