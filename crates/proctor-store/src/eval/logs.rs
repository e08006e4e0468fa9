//! The logs of usage and feedback that ai-rulez keeps: one JSON object a line.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;

use camino::Utf8Path;
use nix::fcntl::OFlag;
use proctor_model::eval::advice::FeedbackCounts;
use serde::Deserialize;

/// The longest log that is read: 256 MiB.
pub const MAX_LOG_BYTES: u64 = 256 * 1024 * 1024;

/// The longest line that is read; longer ones count as unreadable.
const MAX_LINE_BYTES: usize = 64 * 1024;

/// Where feedback lies in a configuration folder.
pub const FEEDBACK_FILE: &str = "local/feedback.jsonl";

/// A log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("log {file} cannot be read: {source}")]
pub struct LogError {
    /// The file.
    pub file: String,
    /// The cause.
    pub source: io::Error,
}

/// How often each skill was used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageLog {
    skills: BTreeMap<String, Uses>,
    /// Lines that are no event.
    pub unreadable_lines: u64,
}

/// The uses of a skill by the digest that it had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    by_digest: BTreeMap<String, u64>,
    without_digest: u64,
}

/// What users said of each skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedbackLog {
    skills: BTreeMap<String, FeedbackCounts>,
    /// Lines that are no feedback.
    pub unreadable_lines: u64,
}

/// A line of the log of usage. Lines of version 1 have no `v`, and fewer fields.
#[derive(Deserialize)]
struct UsageLine {
    #[serde(default)]
    event: Option<String>,
    #[serde(default)]
    skill: Option<String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    digest: Option<String>,
}

#[derive(Deserialize)]
struct FeedbackLine {
    #[serde(default)]
    skill: Option<String>,
    #[serde(default)]
    id: Option<String>,
    kind: FeedbackKind,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum FeedbackKind {
    Misled,
    Stale,
    Wrong,
    Great,
}

impl UsageLog {
    /// Reads the log at `path`.
    pub fn read(path: &Utf8Path) -> Result<Self, LogError> {
        let mut log = Self::default();
        lines(path, |line| match line {
            Some(line) => log.add(line),
            None => log.unreadable_lines += 1,
        })?;
        Ok(log)
    }

    /// Adds a line. Events of other kinds say nothing of use.
    pub fn add(&mut self, line: &[u8]) {
        let Ok(line) = serde_json::from_slice::<UsageLine>(line) else {
            self.unreadable_lines += 1;
            return;
        };
        if line.event.is_some_and(|event| event != "skill_invoked") {
            return;
        }
        let Some(skill) = name(line.id, line.skill) else {
            self.unreadable_lines += 1;
            return;
        };
        let uses = self.skills.entry(skill).or_default();
        match line.digest.filter(|digest| !digest.is_empty()) {
            Some(digest) => *uses.by_digest.entry(digest).or_default() += 1,
            None => uses.without_digest += 1,
        }
    }

    /// Uses of all skills together.
    pub fn total(&self) -> u64 {
        self.skills.values().map(Uses::total).sum()
    }

    /// Whether any use carries a digest.
    pub fn has_digests(&self) -> bool {
        self.skills.values().any(|uses| !uses.by_digest.is_empty())
    }

    /// The uses of a skill.
    pub fn of(&self, skill: &str) -> Option<&Uses> {
        self.skills.get(skill)
    }
}

impl Uses {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.by_digest.values().sum::<u64>() + self.without_digest
    }

    /// Those of the skill as it is at this digest.
    pub fn at(&self, digest: &str) -> u64 {
        self.by_digest.get(digest).copied().unwrap_or_default()
    }

    /// Those that carry no digest.
    pub fn without_digest(&self) -> u64 {
        self.without_digest
    }
}

impl FeedbackLog {
    /// Reads the log at `path`.
    pub fn read(path: &Utf8Path) -> Result<Self, LogError> {
        let mut log = Self::default();
        lines(path, |line| match line {
            Some(line) => log.add(line),
            None => log.unreadable_lines += 1,
        })?;
        Ok(log)
    }

    /// Adds a line.
    pub fn add(&mut self, line: &[u8]) {
        let read = serde_json::from_slice::<FeedbackLine>(line).ok();
        let read = read.and_then(|line| Some((name(line.id, line.skill)?, line.kind)));
        let Some((skill, kind)) = read else {
            self.unreadable_lines += 1;
            return;
        };
        let counts = self.skills.entry(skill).or_default();
        match kind {
            FeedbackKind::Misled => counts.misled += 1,
            FeedbackKind::Stale => counts.stale += 1,
            FeedbackKind::Wrong => counts.wrong += 1,
            FeedbackKind::Great => counts.great += 1,
        }
    }

    /// What was said of a skill.
    pub fn of(&self, skill: &str) -> FeedbackCounts {
        self.skills.get(skill).copied().unwrap_or_default()
    }
}

fn name(id: Option<String>, skill: Option<String>) -> Option<String> {
    id.filter(|id| !id.is_empty()).or(skill).filter(|name| !name.is_empty())
}

/// Gives every line that is not blank; `None` for one that is too long. No file has no lines.
fn lines(path: &Utf8Path, mut each: impl FnMut(Option<&[u8]>)) -> Result<(), LogError> {
    let failed = |source| LogError { file: path.to_string(), source };
    let flags = OFlag::O_NONBLOCK.bits();
    let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        file => file.map_err(failed)?,
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(failed(io::Error::other("it is no file")));
    }
    if metadata.len() > MAX_LOG_BYTES {
        let message = format!("it is larger than {MAX_LOG_BYTES} bytes");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, message)));
    }
    let mut reader = BufReader::new(file.take(MAX_LOG_BYTES));
    let mut line = Vec::new();
    while let Some(is_whole) = next_line(&mut reader, &mut line).map_err(failed)? {
        if !is_whole {
            each(None);
        } else if !line.trim_ascii().is_empty() {
            each(Some(&line));
        }
    }
    Ok(())
}

/// Reads a line of at most [`MAX_LINE_BYTES`] and skips the rest of a longer one; says whether it
/// is whole, `None` at the end.
fn next_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let limit = MAX_LINE_BYTES as u64 + 1;
    if reader.by_ref().take(limit).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") || line.len() <= MAX_LINE_BYTES {
        return Ok(Some(true));
    }
    reader.skip_until(b'\n')?;
    Ok(Some(false))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn uses_are_counted_by_digest() {
        let mut log = UsageLog::default();
        for line in [
            r#"{"v":2,"ts":"t","event":"skill_invoked","skill":"Deploy","id":"deploy","digest":"sha256:a","new":1}"#,
            r#"{"v":2,"event":"skill_invoked","id":"deploy","digest":"sha256:b"}"#,
            r#"{"v":2,"event":"skill_invoked","id":"deploy","digest":"sha256:b"}"#,
            // Version 1.
            r#"{"ts":"t","skill":"deploy"}"#,
            r#"{"v":2,"event":"skill_listed","id":"deploy"}"#,
            r#"{"v":2,"event":"skill_invoked","id":"","skill":"other","hash":"blake3:x"}"#,
            r#"{"v":2,"event":"skill_invoked"}"#,
            "no JSON",
            "[1]",
        ] {
            log.add(line.as_bytes());
        }
        let deploy = log.of("deploy").unwrap();
        assert_eq!((deploy.total(), deploy.at("sha256:b"), deploy.without_digest()), (4, 2, 1));
        assert_eq!((log.total(), log.unreadable_lines), (5, 3));
        assert!(log.has_digests() && log.of("gone").is_none());
    }

    #[test]
    fn feedback_is_counted_by_kind() {
        let mut log = FeedbackLog::default();
        for kind in ["misled", "stale", "wrong", "great", "great", "unheard"] {
            log.add(format!(r#"{{"skill":"deploy","kind":"{kind}","note":"n"}}"#).as_bytes());
        }
        let counts = log.of("deploy");
        assert_eq!(counts, FeedbackCounts { misled: 1, stale: 1, wrong: 1, great: 2 });
        assert_eq!((counts.complaints(), log.unreadable_lines), (3, 1));
        assert_eq!(log.of("gone"), FeedbackCounts::default());
    }

    #[test]
    fn a_log_is_read_line_by_line() {
        let temp = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(temp.path()).unwrap().join("usage.jsonl");
        assert_eq!(UsageLog::read(&path).unwrap(), UsageLog::default());
        let long = "x".repeat(MAX_LINE_BYTES * 2);
        let full = format!("{{\"id\":\"a\"}}{}", " ".repeat(MAX_LINE_BYTES - 10));
        fs::write(&path, format!("{{\"id\":\"a\"}}\r\n\n{long}\n{full}\n{{\"id\":\"a\"}}"))
            .unwrap();
        let log = UsageLog::read(&path).unwrap();
        assert_eq!((log.total(), log.unreadable_lines), (3, 1));
        let error = FeedbackLog::read("/dev/null".into()).unwrap_err();
        assert_eq!(error.to_string(), "log /dev/null cannot be read: it is no file");
    }
}
