//! The evidence that the questions of the corpus are about: the same in every run.

use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::run::{TestStatus, TrialRecord};
use proctor_model::{Action, Event, EventKind, Usage};
use proctor_query::{Dimensions, Evidence, TestOutput};
use serde_json::{Value, json};

/// Five trials: of two agents, one of them without an end.
pub(crate) fn evidence() -> Evidence {
    let mut evidence = Evidence::in_memory().unwrap();
    for (number, (agent, model, prompt, status)) in [
        ("claude", Some("sonnet"), "add-analytics", "pass"),
        ("claude", Some("sonnet"), "fix-bug", "fail"),
        ("codex", Some("gpt"), "add-analytics", "pass"),
        ("codex", None, "fix-bug", "error"),
    ]
    .into_iter()
    .enumerate()
    {
        let record = record(number, agent, model, prompt, status);
        let mut trial = Dimensions::from(&record);
        trial.extension_id = (number % 2 == 0).then(|| "extension/base".to_owned());
        evidence.begin(&trial, "").unwrap();
        evidence.add_events(&events(number)).unwrap();
        for (at, (name, exit_code)) in
            [("builds", Some(0)), ("answers", Some(1)), ("never ran", None)].into_iter().enumerate()
        {
            if at <= number {
                let exit_code = if status == "pass" { exit_code.map(|_| 0) } else { exit_code };
                evidence
                    .add_test(&TestOutput {
                        name,
                        status: if exit_code == Some(0) {
                            TestStatus::Passed
                        } else {
                            TestStatus::Failed
                        },
                        reason: None,
                        exit_code,
                        duration_ms: 100 * (at as u64 + 1) + number as u64,
                        stdout: "line 1\nline 2\n",
                        stderr: if exit_code == Some(0) {
                            ""
                        } else {
                            "expected 200, got 404\t'x'\\n"
                        },
                    })
                    .unwrap();
            }
        }
        evidence.finish(&record).unwrap();
    }
    // A trial that is still going on.
    let trial = Dimensions {
        run_id: "claude::running".to_owned(),
        run_request_id: "run-2".to_owned(),
        agent: "claude".to_owned(),
        prompt_id: "fix-bug".to_owned(),
        ..Dimensions::default()
    };
    evidence.begin(&trial, "").unwrap();
    let kind =
        EventKind::Message { role: Role::User, text: "Fix the bug in 'src/main.rs'".to_owned() };
    evidence.add_events(&[event(kind, None)]).unwrap();
    evidence
}

fn record(
    number: usize,
    agent: &str,
    model: Option<&str>,
    prompt: &str,
    status: &str,
) -> TrialRecord {
    let number = number as u64;
    let usage = (status != "error").then(|| {
        json!({
            "input_tokens": 1000 + 137 * number, "output_tokens": 50 * (number + 1),
            "cache_read_tokens": 3 * number, "cache_write_tokens": null,
            "reasoning_tokens": null, "turns": 2 + number, "cost_usd": 0.125 * f64::from(u32::try_from(number + 1).unwrap()),
        })
    });
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": format!("{agent}::{prompt}"), "run_group_id": "run-1",
        "scenario_id": "analytics", "variant_id": agent, "fingerprint": "sha256:0",
        "repeat_idx": number % 2,
        "coordinates": {
            "agent": agent, "model": model, "effort": null, "prompt_id": prompt,
            "environment": "empty", "product": null, "extension_id": null,
        },
        "status": status,
        "exit_reason": if status == "error" { "timeout" } else { "end_turn" },
        "reason": null,
        "started_at": 1_764_558_000_250_u64 + 61_500 * number,
        "ended_at": 1_764_558_090_125_u64 + 3_600_000 * number,
        "phases": [{"phase": "setup", "duration_ms": 1_000}, {"phase": "agent", "duration_ms": 5_000 + number}],
        "outcome": null, "usage": usage, "tool_calls": 2, "tool_calls_failed": number % 2,
        "checks": [], "tests": [],
    }))
    .unwrap()
}

fn event(kind: EventKind, ts_ms: Option<u64>) -> Event {
    serde_json::from_value(
        json!({"seq": 0, "line": 1, "ts_ms": ts_ms, "kind": "lifecycle", "name": ""}),
    )
    .map(|event: Event| Event { kind, ..event })
    .unwrap()
}

/// What happened in a trial: texts in several scripts, results of tools as JSON that is nested,
/// broken, or none at all, and everything that people search for.
fn events(number: usize) -> Vec<Event> {
    let message = |role, text: &str| EventKind::Message { role, text: text.to_owned() };
    let call = |id: &str, name: &str, action, input: Value| EventKind::ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        action,
        input,
    };
    let result = |id: &str, status, text: &str| EventKind::ToolResult {
        id: id.to_owned(),
        status,
        text: text.to_owned(),
    };
    let shell = |command: &str| Action::Shell { command: command.to_owned() };
    let mut kinds = vec![
        message(Role::User, "Use PostHog or Amplitude, and read AGENTS.md first"),
        message(
            Role::Assistant,
            "I will look at AGENTS.md — größer, 日本語, \"quoted\" and 50% done",
        ),
        EventKind::Reasoning { text: "maybe PostHog; maybe not".to_owned() },
        call(
            "t1",
            "Read",
            Action::Read { path: "skills/setup/SKILL.md".to_owned() },
            json!({"file_path": "skills/setup/SKILL.md", "limit": 20 + number, "tags": ["a", "b", "a"]}),
        ),
        result("t1", ToolStatus::Ok, "# Setup\n\nRun `npm install`.\n"),
        call(
            "t2",
            "Bash",
            shell("npm test -- --grep 'a b'"),
            json!({"command": "npm test -- --grep 'a b'", "timeout": 1.5, "env": {"CI": true, "N": null}}),
        ),
        result("t2", ToolStatus::Error, r#"{"exit":1,"failed":["x","y"],"ratio":0.25}"#),
    ];
    if number % 2 == 1 {
        kinds.push(call(
            "t3",
            "mcp__docs__search",
            Action::Mcp { server: "docs".to_owned(), tool: "search".to_owned() },
            json!({"query": "how to deploy", "filters": [{"k": "lang", "v": "en"}, {"k": "v", "v": number}]}),
        ));
        kinds.push(result("t3", ToolStatus::Denied, "not allowed"));
    }
    if number == 0 {
        kinds.push(call(
            "t4",
            "Skill",
            Action::Skill { name: "deploy".to_owned() },
            json!("deploy"),
        ));
        kinds.push(result("t4", ToolStatus::Ok, "https://example.com/a?b=1&c=2 v1.2.3, v10.20.30"));
        kinds.push(EventKind::FileChange {
            path: "src/app.ts".to_owned(),
            change: FileChange::Added,
        });
    }
    kinds.push(EventKind::Usage {
        usage: Usage {
            input_tokens: Some(1000),
            output_tokens: Some(50 + number as u64),
            ..Usage::default()
        },
    });
    kinds.push(message(
        Role::Assistant,
        if number == 2 { "" } else { "Done:\n- added PostHog\n- 2 of 3 tests pass" },
    ));
    let seen = |at: usize| {
        (number != 3).then(|| 1_764_558_000_000 + 1_337 * at as u64 + 60_000 * number as u64)
    };
    kinds.into_iter().enumerate().map(|(at, kind)| event(kind, seen(at))).collect()
}
