//! The pinned real programs, started with the adapters' own command lines against the fake model.
//! Skipped where they are not installed.

mod support;

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use OutcomeClass as Class;
use proctor_harness::{ExitKind, Reads, SessionEnd, SessionRequest, find};
use proctor_model::{EventKind, OutcomeClass};
use proctor_testkit::fake_model::Script;
use proctor_testkit::{FakeModel, Fault, SealedHome, Turn};
use serde_json::json;
use support::{Session, class, read};

fn task() -> SessionRequest<'static> {
    SessionRequest::new("do the task", "/".into(), "/nonexistent/proctor".into())
}

/// Runs one session; `prepare` changes its home. `None` when the program is not installed.
fn run(
    harness: &str,
    script: impl Into<Script>,
    request: &SessionRequest<'_>,
    prepare: impl FnOnce(&mut SealedHome),
) -> Option<(Session, FakeModel)> {
    let model = FakeModel::start(script);
    let mut home = SealedHome::with_harness(harness, &model)?;
    let work = home.root().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("known.md"), "known\n").unwrap();
    prepare(&mut home);

    let command = find(harness).unwrap().command(request).unwrap();
    for (name, value) in &command.env {
        if !home.environment().contains_key(name) {
            home.set(name, value);
        }
    }
    let mut process = home.command(&command.program);
    process.args(&command.args).current_dir(&work).stdout(Stdio::piped()).stderr(Stdio::piped());
    process.stdin(if command.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = process.spawn().unwrap();
    if let Some(bytes) = command.stdin {
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let exit = output.status.code().map(ExitKind::Code);
    let session =
        read(harness, &output.stdout, &SessionEnd { exit, stderr: &stderr, ended_by: None });
    Some((session, model))
}

fn unchanged(_: &mut SealedHome) {}

#[test]
fn a_text_completes_and_is_the_answer() {
    for harness in ["claude", "codex"] {
        let Some((session, model)) = run(harness, Turn::text("fine"), &task(), unchanged) else {
            continue;
        };
        assert_eq!(class(&session), Class::Completed, "{harness}: {:?}", session.1);
        assert_eq!(session.1.final_text.as_deref(), Some("fine"));
        assert!(session.1.warnings.is_empty(), "{:?}", session.1.warnings);
        assert!(session.1.usage.unwrap().output_tokens.is_some());
        assert_eq!(model.model_requests().len(), 1);
    }
}

#[test]
fn a_refused_key_is_told_from_a_missing_one() {
    for harness in ["claude", "codex"] {
        let refused = Turn::fault(Fault::status(401).forever());
        let Some((session, _)) = run(harness, refused, &task(), unchanged) else { continue };
        assert_eq!(class(&session), Class::AuthFailed, "{harness}: {:?}", session.1);
        assert_eq!(session.1.outcome.http_status, Some(401));
        let without_key = |home: &mut SealedHome| {
            home.unset("ANTHROPIC_API_KEY");
            home.unset("OPENAI_API_KEY");
        };
        let (session, model) = run(harness, Turn::text("x"), &task(), without_key).unwrap();
        assert_eq!(class(&session), Class::AuthFailed, "{harness}: {:?}", session.1);
        assert_eq!(session.1.outcome.http_status, None);
        assert!(model.model_requests().is_empty());
    }
}

#[test]
fn provider_failures_have_their_classes() {
    let cases = [
        ("claude", 429, Class::RateLimited),
        ("claude", 529, Class::Overloaded),
        ("claude", 500, Class::ApiError),
        ("codex", 429, Class::RateLimited),
        ("codex", 529, Class::Overloaded),
        ("codex", 400, Class::ApiError),
    ];
    for (harness, status, expected) in cases {
        let fault = Turn::fault(Fault::status(status).forever());
        let no_retries = |home: &mut SealedHome| home.set("CLAUDE_CODE_MAX_RETRIES", "0");
        let Some((session, _)) = run(harness, fault, &task(), no_retries) else { continue };
        assert_eq!(class(&session), expected, "{harness} {status}: {:?}", session.1);
        assert_eq!(session.1.final_text, None);
    }
}

#[test]
fn a_prompt_too_long_for_an_argument_arrives_whole() {
    let prompt = format!("begin {} end-of-prompt", "word ".repeat(40_000));
    for harness in ["claude", "codex"] {
        let request = SessionRequest { prompt: &prompt, ..task() };
        let Some((session, model)) = run(harness, Turn::text("fine"), &request, unchanged) else {
            continue;
        };
        assert_eq!(class(&session), Class::Completed, "{harness}: {:?}", session.1);
        assert!(model.model_requests()[0].asked.prompt.contains("end-of-prompt"));
    }
}

#[test]
fn claude_keeps_its_limits() {
    let request = SessionRequest { max_turns: Some(1), ..task() };
    let read = || Turn::tool("Read", json!({"file_path": "${cwd}/known.md"}));
    let Some((session, _)) = run("claude", [read(), read()], &request, unchanged) else { return };
    assert_eq!(class(&session), Class::MaxTurns, "{:?}", session.1);
    let request = SessionRequest { max_budget_usd: Some(0.000_000_1), ..task() };
    let (session, _) = run("claude", [read(), read()], &request, unchanged).unwrap();
    assert_eq!(class(&session), Class::Budget, "{:?}", session.1);
}

#[test]
fn claude_reads_are_observed_unless_they_fail() {
    let read = |path: &str| Turn::tool("Read", json!({"file_path": format!("${{cwd}}/{path}")}));
    let script = [read("known.md"), read("missing.md"), Turn::text("done")];
    let request = SessionRequest { model: Some("haiku"), ..task() };
    let Some((session, _)) = run("claude", script, &request, unchanged) else { return };
    assert_eq!(class(&session), Class::Completed, "{:?}", session.1);
    let reads = Reads::from_iter(&session.0).into_paths();
    assert_eq!(reads.len(), 1, "{reads:?}");
    assert!(reads[0].ends_with("/work/known.md"));
}

#[test]
fn codex_names_the_files_that_it_changes() {
    let patch = "*** Begin Patch\n*** Add File: note.txt\n+written\n*** End Patch\n";
    let script = [Turn::custom_tool("apply_patch", patch), Turn::text("done")];
    let request = SessionRequest { model: Some("gpt-5.5"), ..task() };
    let Some((session, _)) = run("codex", script, &request, unchanged) else { return };
    assert_eq!(class(&session), Class::Completed, "{:?}", session.1);
    let changed = |kind: &EventKind| matches!(kind, EventKind::FileChange { path, .. } if path.ends_with("/work/note.txt"));
    assert!(session.0.iter().any(|event| changed(&event.kind)));
}

#[test]
fn a_program_that_does_not_start_is_wrong_usage() {
    let request = SessionRequest { prompt: "", ..task() };
    if let Some((session, _)) = run("claude", Turn::text("x"), &request, unchanged) {
        assert_eq!(class(&session), Class::UsageError, "{:?}", session.1);
        assert!(session.1.outcome.message.contains("Input must be provided"));
    }
    let no_home = |home: &mut SealedHome| home.set("CODEX_HOME", "/nonexistent/codex");
    if let Some((session, _)) = run("codex", Turn::text("x"), &task(), no_home) {
        assert_eq!(class(&session), Class::UsageError, "{:?}", session.1);
        assert!(session.1.outcome.message.contains("CODEX_HOME points to"));
    }
}

#[test]
fn codex_without_its_sandbox_does_not_complete() {
    // A CODEX_HOME below the temporary directory is what breaks the sandbox.
    let nested = |home: &mut SealedHome| {
        let root = home.root().to_str().unwrap().to_owned();
        home.set("TMPDIR", &root);
    };
    let script = [Turn::tool("exec_command", json!({"cmd": "echo x > y"})), Turn::text("done")];
    let Some((session, _)) = run("codex", script, &task(), nested) else { return };
    assert_eq!(class(&session), Class::UsageError, "{:?}", session.1);
    assert_eq!(session.1.warnings.join("\n"), session.1.outcome.message);
}
