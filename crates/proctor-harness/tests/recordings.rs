//! Recorded streams of the real programs, where they are at hand: whole, byte by byte, and with
//! the class that each of them must have.

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use OutcomeClass as Class;
use proctor_harness::{ExitKind, SessionEnd, adapters};
use proctor_model::OutcomeClass;
use serde_json::Value;
use support::{read, read_parts};

/// The recordings that are no plain completion: their class together with the exit of the process
/// and standard error, and their class by the stream alone. All others completed.
const EXPECTED: &[(&str, Class, Class)] = &[
    // Killed by the driver while a background task kept the finished program alive.
    ("claude-background-bash", Class::CutShort, Class::Completed),
    ("claude-bad-flag", Class::UsageError, Class::UsageError),
    ("claude-bypass-root", Class::UsageError, Class::UsageError),
    ("claude-conn-drop-headers", Class::ApiError, Class::ApiError),
    ("claude-conn-refused", Class::ApiError, Class::ApiError),
    ("claude-err-400", Class::ApiError, Class::ApiError),
    ("claude-err-400-credit", Class::Quota, Class::Quota),
    ("claude-err-401", Class::AuthFailed, Class::AuthFailed),
    ("claude-err-401-midway-retries1", Class::AuthFailed, Class::AuthFailed),
    ("claude-err-401-retries0", Class::AuthFailed, Class::AuthFailed),
    ("claude-err-403", Class::AuthFailed, Class::AuthFailed),
    ("claude-err-404-model", Class::ApiError, Class::ApiError),
    ("claude-err-429-forever", Class::RateLimited, Class::RateLimited),
    ("claude-err-500-forever", Class::ApiError, Class::ApiError),
    ("claude-err-529-default-retries", Class::Overloaded, Class::Overloaded),
    ("claude-err-529-retries0", Class::Overloaded, Class::Overloaded),
    ("claude-err-html-502", Class::ApiError, Class::ApiError),
    ("claude-input-stream-json-interrupt", Class::Interrupted, Class::Interrupted),
    ("claude-max-budget", Class::Budget, Class::Budget),
    ("claude-max-budget-lastturn", Class::Budget, Class::Budget),
    ("claude-max-turns-2", Class::MaxTurns, Class::MaxTurns),
    ("claude-no-credentials", Class::AuthFailed, Class::AuthFailed),
    ("claude-no-nonstream-fallback", Class::ApiError, Class::ApiError),
    // Three runs in one file; the last resumes a session that does not exist.
    ("claude-resume-chain", Class::UsageError, Class::UsageError),
    // SIGINT: exit code 0.
    ("claude-sigint-in-bash", Class::Interrupted, Class::Interrupted),
    ("claude-sigkill-in-bash", Class::CutShort, Class::CutShort),
    // Ended by SIGTERM after its result line, while a background task was running.
    ("claude-sigterm-background-bash", Class::Interrupted, Class::Completed),
    ("claude-sigterm-default-tools", Class::Interrupted, Class::CutShort),
    ("claude-sigterm-in-api", Class::Interrupted, Class::CutShort),
    ("claude-sigterm-in-bash", Class::Interrupted, Class::CutShort),
    ("claude-sse-drop", Class::ApiError, Class::ApiError),
    ("claude-sse-empty", Class::ApiError, Class::ApiError),
    ("claude-sse-error", Class::Overloaded, Class::Overloaded),
    ("claude-sse-malformed", Class::ApiError, Class::ApiError),
    ("claude-sse-truncate", Class::ApiError, Class::ApiError),
    ("claude-stream-json-noverbose", Class::UsageError, Class::UsageError),
    ("codex-bad-config", Class::UsageError, Class::UsageError),
    ("codex-conn-refused", Class::CutShort, Class::CutShort),
    ("codex-conn-refused-bounded", Class::ApiError, Class::ApiError),
    ("codex-err-400", Class::ApiError, Class::ApiError),
    ("codex-err-401", Class::AuthFailed, Class::AuthFailed),
    ("codex-err-401-retries0", Class::AuthFailed, Class::AuthFailed),
    ("codex-err-403", Class::AuthFailed, Class::AuthFailed),
    ("codex-err-404", Class::ApiError, Class::ApiError),
    ("codex-err-429", Class::RateLimited, Class::RateLimited),
    ("codex-err-429-usage-limit", Class::Quota, Class::Quota),
    // A 500 is told in the words "high demand".
    ("codex-err-500", Class::Overloaded, Class::Overloaded),
    ("codex-err-500-default-retries", Class::Overloaded, Class::Overloaded),
    ("codex-err-529", Class::Overloaded, Class::Overloaded),
    ("codex-err-html-502", Class::ApiError, Class::ApiError),
    // The sandbox was broken, which only standard error says.
    ("codex-home-in-tmpdir", Class::UsageError, Class::Completed),
    ("codex-incomplete-max-tokens", Class::MaxOutput, Class::MaxOutput),
    ("codex-no-credentials-env-key", Class::AuthFailed, Class::AuthFailed),
    ("codex-not-git", Class::UsageError, Class::UsageError),
    ("codex-openai-provider-no-key-401", Class::AuthFailed, Class::AuthFailed),
    ("codex-openai-provider-unreachable", Class::CutShort, Class::CutShort),
    ("codex-readonly-home", Class::UsageError, Class::UsageError),
    // SIGINT: exit code 1 and no word of it.
    ("codex-sigint-in-exec", Class::CutShort, Class::CutShort),
    ("codex-sigkill-danger-in-exec", Class::CutShort, Class::CutShort),
    ("codex-sigkill-in-exec", Class::CutShort, Class::CutShort),
    ("codex-sigterm-danger-in-exec", Class::Interrupted, Class::CutShort),
    ("codex-sigterm-in-api", Class::Interrupted, Class::CutShort),
    ("codex-sigterm-in-exec", Class::Interrupted, Class::CutShort),
    ("codex-sigterm-pgrp-in-exec", Class::Interrupted, Class::CutShort),
    ("codex-sse-drop", Class::ApiError, Class::ApiError),
    ("codex-sse-empty", Class::ApiError, Class::ApiError),
    ("codex-sse-failed", Class::ApiError, Class::ApiError),
    ("codex-sse-failed-context", Class::ContextOverflow, Class::ContextOverflow),
    ("codex-sse-hang", Class::ApiError, Class::ApiError),
    ("codex-sse-truncate", Class::ApiError, Class::ApiError),
    ("codex-stdin-empty", Class::UsageError, Class::UsageError),
    ("codex-wire-chat", Class::UsageError, Class::UsageError),
];

/// The recordings by name, or `None` where they are not at hand.
#[expect(clippy::print_stderr, reason = "tells why nothing was tested")]
fn recordings() -> Option<BTreeMap<String, PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/harness");
    let Ok(entries) = fs::read_dir(&folder) else {
        eprintln!("skipped: no recordings at {}", folder.display());
        return None;
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let streams = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    Some(streams.map(|path| (path.file_stem().unwrap().to_str().unwrap().into(), path)).collect())
}

fn harness(name: &str) -> Option<&'static str> {
    adapters().iter().map(|adapter| adapter.id()).find(|id| name.starts_with(&format!("{id}-")))
}

/// Exit and standard error of a recorded run.
fn meta(path: &Path, name: &str) -> (ExitKind, String) {
    let path = path.parent().unwrap().join(format!("meta/{name}.json"));
    let meta: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let code = i32::try_from(meta["rc"].as_i64().unwrap()).unwrap();
    let exit = if code < 0 { ExitKind::Signal(-code) } else { ExitKind::Code(code) };
    (exit, meta["stderr"].as_str().unwrap_or_default().to_owned())
}

#[test]
fn every_recording_has_its_class() {
    let Some(recordings) = recordings() else { return };
    let mut wrong = Vec::new();
    let mut left: BTreeMap<_, _> =
        EXPECTED.iter().map(|(name, run, alone)| (*name, (*run, *alone))).collect();
    for (name, path) in &recordings {
        let Some(harness) = harness(name) else { continue };
        let expected = left.remove(name.as_str()).unwrap_or((Class::Completed, Class::Completed));
        let bytes = fs::read(path).unwrap();
        let (exit, stderr) = meta(path, name);
        let end = SessionEnd { exit: Some(exit), stderr: &stderr, ended_by: None };
        let run = read(harness, &bytes, &end).1;
        let alone = read(harness, &bytes, &SessionEnd::default()).1;
        if (run.outcome.class, alone.outcome.class) != expected {
            wrong.push(format!("{name}: {:?} and {:?}", run.outcome, alone.outcome));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(left.is_empty(), "no such recordings: {left:?}");
}

#[test]
fn recordings_hold_no_garbage_and_no_unknown_lines() {
    let Some(recordings) = recordings() else { return };
    for (name, path) in &recordings {
        let Some(harness) = harness(name) else { continue };
        let (events, _) = read(harness, &fs::read(path).unwrap(), &SessionEnd::default());
        for event in events {
            let kind = serde_json::to_value(&event.kind).unwrap();
            assert!(kind["kind"] != "garbage" && kind["kind"] != "unknown", "{name}: {kind}");
        }
    }
}

#[test]
fn recordings_read_byte_by_byte_give_the_same() {
    let Some(recordings) = recordings() else { return };
    for (name, path) in &recordings {
        let Some(harness) = harness(name) else { continue };
        let bytes = fs::read(path).unwrap();
        let end = SessionEnd::default();
        let whole = read(harness, &bytes, &end);
        assert_eq!(read_parts(harness, bytes.chunks(1), &end), whole, "{name}");
        assert_eq!(read_parts(harness, bytes.chunks(4093), &end), whole, "{name}");
    }
}

#[test]
fn recordings_harm_no_adapter() {
    let Some(recordings) = recordings() else { return };
    for path in recordings.values() {
        let bytes = fs::read(path).unwrap();
        for adapter in adapters() {
            read(adapter.id(), &bytes, &SessionEnd::default());
        }
    }
}

#[test]
fn missing_and_refused_credentials_are_told_apart() {
    let Some(recordings) = recordings() else { return };
    let missing = ["claude-no-credentials", "codex-no-credentials-env-key"];
    for (name, path) in &recordings {
        let Some(harness) = harness(name) else { continue };
        let outcome = read(harness, &fs::read(path).unwrap(), &SessionEnd::default()).1.outcome;
        if outcome.class == Class::AuthFailed {
            assert_eq!(outcome.http_status.is_none(), missing.contains(&name.as_str()), "{name}");
        }
    }
}
