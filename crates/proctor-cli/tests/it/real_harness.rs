//! `proctor conformance test` with the real Claude Code and Codex; only the model is pretended.
//!
//! `cargo xtask test` installs the programs and makes their absence a failure; elsewhere these
//! tests say that they were skipped.

use proctor_testkit::harness::real_harness;
use proctor_testkit::{FakeModel, Fault, SealedHome, TestContext, Turn};
use serde_json::{Value, json};

use crate::corpus::{write_corpus, write_fixture};

/// The model's answer that makes a harness write `out.txt`.
fn writes(harness: &str) -> Turn {
    match harness {
        "claude" => Turn::tool("Write", json!({"file_path": "${cwd}/out.txt", "content": "ready"})),
        _ => Turn::custom_tool(
            "apply_patch",
            "*** Begin Patch\n*** Add File: out.txt\n+ready\n*** End Patch\n",
        ),
    }
}

/// Runs one fixture with a real harness; `None` when the program is not installed.
struct Trial {
    context: TestContext,
    model: FakeModel,
}

impl Trial {
    fn new(harness: &str, turns: Vec<Turn>) -> Option<Self> {
        let model = FakeModel::start(turns);
        let home = SealedHome::with_harness(harness, &model)?;
        let context = TestContext::in_home(env!("CARGO_BIN_EXE_proctor"), home);
        write_corpus(&context);
        Some(Self { context, model })
    }

    fn fixture(&self, rest: Value) {
        write_fixture(&self.context, "real", rest);
    }

    /// The exit code and the only result.
    fn run(&self, harness: &str, args: &[&str]) -> (i32, Value) {
        let base = ["conformance", "test", "--source", "corpus", "--output", "json", "--harnesses"];
        let run = self.context.run(base.iter().chain(&[harness]).chain(args));
        let report: Value =
            serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}\n{run}"));
        let results = report["results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "{report:#}");
        (run.code, results[0].clone())
    }
}

const HARNESSES: [&str; 2] = ["claude", "codex"];

#[test]
fn a_passing_fixture() {
    for harness in HARNESSES {
        let turns = vec![writes(harness), Turn::text("done")];
        let Some(trial) = Trial::new(harness, turns) else { continue };
        trial.fixture(json!({
            "checks": [{"type": "file_matches", "path": "out.txt", "pattern": "^ready$"}],
            "bounds": {"timeout_seconds": 120, "max_budget_usd": 5, "max_turns": 8}
        }));
        let (code, result) = trial.run(harness, &[]);
        assert_eq!(code, 0, "{harness}: {result:#}");
        assert_eq!(result["status"], "passed");
        assert_eq!(result["outcome"]["class"], "completed");
        let enforced = if harness == "claude" { "enforced" } else { "not_enforced" };
        assert_eq!(result["bounds"]["max_turns"]["status"], enforced);
        assert_eq!(result["bounds"]["max_budget_usd"]["status"], enforced);
        assert!(result["usage"]["output_tokens"].as_u64() > Some(0), "{result:#}");
        assert!(!trial.model.model_requests().is_empty());
    }
}

#[test]
fn a_failing_fixture() {
    for harness in HARNESSES {
        let Some(trial) = Trial::new(harness, vec![Turn::text("no")]) else { continue };
        trial.fixture(json!({}));
        let (code, result) = trial.run(harness, &[]);
        assert_eq!((code, &result["status"]), (1, &json!("failed")), "{harness}: {result:#}");
        assert_eq!(result["result_phase"], "completed");
        assert_eq!(result["checks"][0]["status"], "failed");
    }
}

#[test]
fn a_missing_credential_is_a_skip() {
    // Codex with a provider of its own finds its key in a variable that only it knows; the fake
    // model's key stands for that, so what is tested here is Claude Code's own account.
    let Some(mut trial) = Trial::new("claude", vec![Turn::text("unused")]) else { return };
    trial.context.home().unset("ANTHROPIC_API_KEY");
    trial.fixture(json!({}));
    let (code, result) = trial.run("claude", &[]);
    assert_eq!((code, &result["status"]), (0, &json!("skipped")), "{result:#}");
    assert_eq!(result["outcome"]["class"], "auth_failed");
    let reason = result["reason"].as_str().unwrap();
    assert!(reason.starts_with("credentials missing: looked for"), "{reason}");
    assert!(reason.contains("ANTHROPIC_API_KEY"), "{reason}");
    assert!(trial.model.model_requests().is_empty());
}

#[test]
fn a_refused_credential_and_a_rate_limit_are_errors() {
    for harness in HARNESSES {
        for (status, class) in [(401, "auth_failed"), (429, "rate_limited"), (529, "overloaded")] {
            let turn = Turn::fault(Fault::status(status).forever());
            let Some(trial) = Trial::new(harness, vec![turn]) else { continue };
            trial.fixture(json!({"bounds": {"timeout_seconds": 90}}));
            let (code, result) = trial.run(harness, &[]);
            assert_eq!(result["outcome"]["class"], class, "{harness} {status}: {result:#}");
            assert_eq!((code, &result["status"]), (1, &json!("error")), "{harness} {status}");
        }
    }
}

#[test]
fn turns_run_out() {
    let turn = || Turn::tool("Bash", json!({"command": "ls", "description": "look"}));
    let turns = vec![turn(), turn(), turn(), Turn::text("done")];
    let Some(trial) = Trial::new("claude", turns) else { return };
    trial.fixture(json!({"bounds": {"max_turns": 1}}));
    let (code, result) = trial.run("claude", &[]);
    assert_eq!((code, &result["status"]), (1, &json!("failed")), "{result:#}");
    assert_eq!(result["outcome"]["class"], "max_turns");
}

#[test]
fn a_timeout_kills_the_tree() {
    for harness in HARNESSES {
        let mark = format!("proctor-tree-{harness}-{}", std::process::id());
        let command = format!("python3 -c 'import time; time.sleep(300)' {mark}");
        let turn = match harness {
            "claude" => Turn::tool("Bash", json!({"command": command, "description": "wait"})),
            _ => Turn::tool("exec_command", json!({"cmd": command})),
        };
        let Some(mut trial) = Trial::new(harness, vec![turn, Turn::text("done")]) else { continue };
        if harness == "claude" {
            // Claude Code runs a command like this only when it is told that it may.
            let real = real_harness(harness).unwrap();
            let bin = trial.context.home().bin();
            std::fs::remove_file(bin.join(harness)).unwrap();
            let script = format!(
                "#!/bin/sh\nexec '{}' --allowedTools 'Bash(python3:*)' \"$@\"\n",
                real.display()
            );
            trial.context.home().add_script(harness, &script);
        }
        trial.fixture(json!({"bounds": {"timeout_seconds": 8}}));
        let (code, result) = trial.run(harness, &[]);
        assert_eq!((code, &result["reason"]), (1, &json!("timed out")), "{harness}: {result:#}");
        assert_eq!(result["outcome"]["class"], "timeout");
        let requests = trial.model.model_requests();
        assert_eq!(requests.len(), 1, "{harness}: the command ended before the deadline");
        assert!(!anyone_mentions(&mark), "{harness}: a process of the trial is alive");
    }
}

/// Whether the command line of any process but this one holds `text`.
fn anyone_mentions(text: &str) -> bool {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        entry.file_name().to_string_lossy() != own
            && String::from_utf8_lossy(&command).contains(text)
    })
}

#[test]
fn a_transcript_is_kept_and_redacted() {
    for harness in HARNESSES {
        let secret = "sealed-secret-of-this-test";
        let answer = Turn::text(format!("the secret is {secret}"));
        let Some(mut trial) = Trial::new(harness, vec![answer]) else { continue };
        trial.context.home().set("A_SECRET", secret);
        trial.fixture(json!({}));
        let (_, result) = trial.run(harness, &["--keep-transcripts"]);
        let path = result["transcript"].as_str().unwrap();
        let root = trial.context.home().root().display().to_string();
        let text = std::fs::read_to_string(path.replace("[SEALED]", &root)).unwrap();
        assert!(text.contains("the secret is [redacted]"), "{harness}: {text}");
        assert!(!text.contains(secret));
        let show = ["transcript", "show", "--harness", harness, "--format", "json"];
        let path = path.replace("[SEALED]", &root);
        let shown = trial.context.run(show.iter().chain(&[path.as_str()]));
        assert_eq!(shown.code, 0, "{shown}");
        let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(shown["outcome"]["class"], "completed");
    }
}

#[test]
fn an_explicit_read_is_observed() {
    let read = Turn::tool("Read", json!({"file_path": "${cwd}/.claude/rules/general.md"}));
    let Some(trial) = Trial::new("claude", vec![read, Turn::text("done")]) else { return };
    trial.fixture(json!({
        "expected_instruction_paths": [".cratis/ai/rules/general.md", ".cratis/ai/rules/extra.md"]
    }));
    let (_, result) = trial.run("claude", &[]);
    assert_eq!(result["observed_load"][0]["status"], "observed", "{result:#}");
    assert_eq!(result["observed_load"][1]["status"], "unknown", "{result:#}");
}
