//! What an agent answered, from the trace that Claude Code keeps of a run when it is asked to.

use std::fs;
use std::io::{BufRead, BufReader, Read};

use camino::Utf8Path;
use serde::Deserialize;

/// Bytes of a trace that are read.
const MAX_BYTES: u64 = 64 << 20;

/// A line of a trace. What is not listed is not needed.
#[derive(Deserialize)]
struct Line {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    result: Option<String>,
}

/// The last answer in the trace at `path`; `None` when the agent said nothing.
///
/// The path comes out of a result file, so that it counts only inside `room`, links resolved.
pub(super) fn answer(path: &str, room: &Utf8Path) -> Result<Option<String>, String> {
    let fail = |what: &str| format!("its answer is not known: {what}");
    let unreadable = |error: std::io::Error| fail(&format!("its trace cannot be read: {error}"));
    let path = fs::canonicalize(path).map_err(unreadable)?;
    if !path.starts_with(fs::canonicalize(room).map_err(unreadable)?) {
        return Err(fail("its trace lies outside of the room of the run"));
    }
    let metadata = fs::metadata(&path).map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(fail("its trace is no file, or too long"));
    }
    let file = fs::File::open(&path).map_err(unreadable)?;
    let mut result = None;
    for line in BufReader::new(file.take(MAX_BYTES)).split(b'\n') {
        let line = line.map_err(unreadable)?;
        // A line that is none, or of another shape, says nothing of the answer.
        if let Ok(line) = serde_json::from_slice::<Line>(&line)
            && line.kind == "result"
        {
            result = Some(line.result);
        }
    }
    result.ok_or_else(|| fail("its trace has no end"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_result_is_the_answer() {
        let folder = tempfile::tempdir().unwrap();
        let room = Utf8Path::from_path(folder.path()).unwrap();
        let trace = room.join("trace.jsonl");
        let of = |text: &str| {
            fs::write(&trace, text).unwrap();
            answer(trace.as_str(), room)
        };
        let said = |text: &str| format!("{{\"type\":\"result\",\"result\":\"{text}\"}}\n");
        let start = "{\"type\":\"system\"}\nno json\n[1]\n";
        assert_eq!(
            of(&format!("{start}{}{}", said("one"), said("two"))),
            Ok(Some("two".to_owned()))
        );
        assert_eq!(of("{\"type\":\"result\",\"subtype\":\"error_max_turns\"}"), Ok(None));
        assert!(of(start).unwrap_err().contains("has no end"));
        fs::remove_file(&trace).unwrap();
        assert!(answer(trace.as_str(), room).unwrap_err().contains("cannot be read"));
        // Where a hostile result could point.
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), &trace).unwrap();
        for path in [trace.as_str(), outside.path().to_str().unwrap()] {
            assert!(answer(path, room).unwrap_err().contains("outside"), "{path}");
        }
        assert!(answer(room.as_str(), room).unwrap_err().contains("no file"));
    }
}
