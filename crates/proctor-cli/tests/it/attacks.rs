//! `proctor attack`: hostile agents on the way of every experiment, and what readers see of them.

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::rooms::context;

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

fn attack(context: &TestContext, args: &[&str]) -> (Run, Value) {
    let run = context.run(["attack", "--format", "json"].iter().chain(args));
    let report = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    (run, report)
}

/// The verdict on each attack, by name.
fn verdicts(report: &Value) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let attacks = report["attacks"].as_array().cloned().unwrap_or_default();
    attacks.iter().map(|attack| (word(&attack["name"]), word(&attack["verdict"]))).collect()
}

#[test]
fn every_attack_is_held_by_bubblewrap() {
    let Some(context) = context() else { return };
    let (run, report) = attack(&context, &[]);
    let verdicts = verdicts(&report);
    assert!(verdicts.len() >= 26, "{run}");
    for (attack, (name, verdict)) in report["attacks"].as_array().unwrap().iter().zip(&verdicts) {
        assert_ne!(verdict, "broken", "{name}: {attack:#}");
        if verdict == "untried" {
            // Only for what this machine lacks, and never silently.
            let reason = attack["reason"].as_str().unwrap();
            let lacks = reason.contains("not installed") || reason.contains("not enforced here");
            assert!(lacks || name == "phone-socket", "{name}: {reason}");
        }
    }
    let is_whole = verdicts.iter().all(|(_, verdict)| verdict == "held");
    assert_eq!(run.code, if is_whole { 0 } else { 3 }, "{run}");
    assert_eq!(report["isolation"]["level"], "bubblewrap");
}

#[test]
fn what_landlock_alone_does_not_hold_is_said() {
    let context = TestContext::new(PROCTOR);
    let names = ["verdict-files", "python-shadow", "read-answers", "escape-proc", "fork-bomb"];
    let mut args = vec!["--sandbox", "landlock"];
    args.extend(names);
    let (run, report) = attack(&context, &args);
    let known = ["held", "untried"];
    for (name, verdict) in verdicts(&report) {
        assert!(known.contains(&verdict.as_str()), "{name}: {report:#}");
        if name == "fork-bomb" {
            assert_eq!(verdict, "untried", "{report:#}");
        }
    }
    // Something was left out, and that is no success.
    assert_eq!(run.code, 3, "{run}");
}

#[test]
fn without_a_sandbox_the_same_attack_gets_through() {
    let context = TestContext::new(PROCTOR);
    let args = ["--sandbox", "none", "--allow-unsandboxed", "edit-tests"];
    let (run, report) = attack(&context, &args);
    assert_eq!(run.code, 1, "{run}");
    assert_eq!(verdicts(&report), [("edit-tests".to_owned(), "broken".to_owned())]);
    let text = context.run(["attack"].iter().chain(&args));
    assert!(text.stdout.starts_with("broken    edit-tests: writes to the experiment"), "{text}");
    let junit = context.run(["attack", "--format", "junit"].iter().chain(&args));
    assert!(
        junit.stdout.contains("failures=\"1\"") && junit.stdout.contains("<failure"),
        "{junit}"
    );
}

#[test]
fn what_cannot_be_run_is_refused() {
    let context = TestContext::new(PROCTOR);
    for (args, what) in [
        (&["--sandbox", "none"][..], "with `--sandbox none` the attacks run as you"),
        (&["no-such-attack"], "there is no attack `no-such-attack`"),
        (&["--image", "x"], "belongs to `--sandbox container`"),
    ] {
        let (run, _) = attack(&context, args);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains(what), "{run}");
    }
    let list = context.run(["attack", "--list"]);
    assert!(list.code == 0 && list.stdout.contains("background-writer  leaves a writer"), "{list}");
}

#[test]
fn a_container_that_is_not_there_is_no_success() {
    let context = TestContext::new(PROCTOR);
    let args = ["--sandbox", "container", "--image", "localhost/no-such-image:0", "verdict-files"];
    let (run, report) = attack(&context, &args);
    assert_eq!((run.code, &report["untried"]), (3, &json!(1)), "{run}");
}

#[test]
fn names_and_terminal_escapes_of_an_agent_are_harmless() {
    let Some(context) = context() else { return };
    let agent = r#"
        : > "$(printf '\377\376\033[31mred')"; : > "$(printf 'n%.0s' $(seq 255))"
        printf '\033]0;owned\007\033[2J' | tee escapes"#;
    let check = |name: &str, script: &str| json!({"name": name, "script": script});
    let experiment = json!({
        "schema_version": 2, "id": "attack", "name": "Attack", "agents": ["scripted"],
        "prompts": [{"id": "p", "prompt": "Do it."}],
        "tests": [
            check("control", "ls | grep -aq red"),
            check("wrong", "cat escapes; cat escapes >&2; exit 1"),
        ],
        "limits": {"max_time_seconds": 60},
    });
    let steps = json!({"steps": [{"run": ["bash", "-c", agent]}, {"say": "Done."}]});
    context.write("agent.yaml", steps.to_string());
    context.write("attack.yaml", experiment.to_string());
    let shown = context.run(["experiment", "run", "attack.yaml"]);
    assert!(shown.stdout.contains("failed wrong") && !shown.stdout.contains("control"), "{shown}");
    assert!(!shown.stdout.contains('\x1b') && !shown.stderr.contains('\x1b'), "{shown}");
}
