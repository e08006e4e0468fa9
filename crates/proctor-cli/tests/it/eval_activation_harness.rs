//! `proctor eval run --mode activation --surface native`: stand-ins for the harnesses, a command that
//! speaks the protocol, and the real Claude Code with a pretended model.

use proctor_testkit::{FakeModel, Run, SealedHome, TestContext, Turn};
use serde_json::{Value, json};

use crate::eval_project::{context, key_file, results, statuses};

const CASES: &str = "
  - {id: fires, prompt: CALL deploy, expect_trigger: true, near_miss: [CALL nothing]}
  - {id: stolen, prompt: CALL notes, expect_trigger: true}
";

/// A stand-in for Claude Code that calls the skill that the prompt names, and writes down its prompts.
const CLAUDE: &str = r#"#!/bin/sh
prompt=$(cat); plugin=; before=
for word in "$@"; do [ "$before" = --plugin-dir ] && plugin=$word; before=$word; done
echo "$prompt" >>PROJECT/prompts
offered=
for skill in "$plugin"/skills/*/; do
  skill=${skill%/}; offered="$offered,\"ai-rulez-activation:${skill##*/}\""
done
echo '{"type":"system","subtype":"init","session_id":"s","skills":["doctor"'"$offered"']}'
case "$prompt" in
zanthorple*) skill=proctor-canary;;
"CALL nothing") skill=;;
*) skill=${prompt#CALL };;
esac
if [ -n "$skill" ]; then
  echo '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"Skill","input":{"skill":"ai-rulez-activation:'$skill'"}}]}}'
fi
echo '{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":2,"terminal_reason":"max_turns","total_cost_usd":0.01,"usage":{"input_tokens":2000,"output_tokens":150}}'
exit 1
"#;

/// Two skills of which `deploy` has cases, and the stand-in `script` for Claude Code.
fn project(script: &str) -> TestContext {
    let mut context = context();
    write(&context);
    let script = script.replace("PROJECT", context.project().to_str().unwrap());
    context.home().set("ANTHROPIC_API_KEY", "fake-key-of-a-test");
    context.home().add_script("claude", &script);
    context
}

fn write(context: &TestContext) {
    for (id, description) in [("deploy", "Deploys a service"), ("notes", "Writes release notes")] {
        let text = format!("---\nname: {id}\ndescription: {description}\n---\nBody of {id}.\n");
        context.write(&format!(".ai-rulez/skills/{id}/SKILL.md"), text);
    }
    context.write(".ai-rulez/skills/deploy/evals/a.eval.yaml", format!("cases:{CASES}"));
}

fn run(context: &TestContext, args: &[&str]) -> Run {
    let command =
        ["eval", "run", "--mode", "activation", "--surface", "native", "--model", "haiku"];
    context.run(command.iter().chain(args))
}

fn report(context: &TestContext, args: &[&str]) -> (i32, Value) {
    let run = run(context, &[args, &["--format", "json"]].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}\n{run}"));
    (run.code, report)
}

/// The prompts that the stand-in was given since the last time.
fn prompts(context: &TestContext) -> usize {
    let path = context.project().join("prompts");
    let prompts = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(&path, "").unwrap();
    prompts.lines().count()
}

fn is_kept(context: &TestContext) -> bool {
    context.project().join(".ai-rulez/eval-results.json").exists()
}

#[test]
fn a_measurement_is_reported_kept_and_replayed() {
    let context = project(CLAUDE);
    let (code, first) = report(&context, &["--date", "2026-10-05", "--runs", "3"]);
    assert_eq!(code, 2, "{first:#}");
    assert_eq!(statuses(&first), ["deploy ran false", "notes no-cases false"]);
    let skill = &first["skills"][0];
    for (key, expected) in [
        ("runner", json!("claude-native")),
        ("harness", json!("claude")),
        ("model", json!("haiku")),
        ("runs", json!(3)),
        ("confusion", json!({"deploy": {"deploy": 3, "notes": 3}})),
    ] {
        assert_eq!(first[key], expected, "{key}");
    }
    let usd = |key: &str| format!("{:.4}", first["cost"][key].as_f64().unwrap());
    assert_eq!([usd("actual_usd"), usd("canary_usd")], ["0.1000", "0.0100"]);
    assert_eq!(first["cost"]["estimate_usd"], first["estimate"]["cost_usd"]);
    // Nine runs of prompts and the canary.
    assert_eq!((first["estimate"]["agent_runs"].as_u64(), prompts(&context)), (Some(10), 10));
    assert_eq!(skill["recall"]["value"], 0.5);
    assert_eq!(skill["run_recall"]["value"], 0.5);
    assert_eq!(skill["false_activation"]["value"], 0);
    assert_eq!(skill["stolen_by"], json!([{"skill": "notes", "prompts": 1, "share": 0.5}]));
    assert_eq!(skill["prompts"][0]["fired_counts"], json!({"deploy": 3}));
    assert_eq!(skill["estimate_vs_actual"]["actual_tokens"], 9 * 2150);
    assert!(skill["recall_at_1"].is_null());
    let kept = &results(&context)["skills"][0]["activation"];
    assert_eq!((&kept["surface"], &kept["runs"]), (&json!("native"), &json!(3)));

    let again = |args: &[&str]| statuses(&report(&context, args).1)[0].clone();
    assert_eq!(again(&["--runs", "3"]), "deploy cached false");
    assert_eq!(prompts(&context), 0);
    assert_eq!(again(&["--runs", "3", "--force"]), "deploy ran false");
    assert_eq!(again(&["--runs", "4"]), "deploy ran false");
    prompts(&context);
    // A sibling that says something else is another competition.
    context
        .write(".ai-rulez/skills/notes/SKILL.md", "---\nname: notes\ndescription: Writes\n---\n");
    assert_eq!(again(&["--runs", "4"]), "deploy ran false");
    assert_eq!(prompts(&context), 13);
}

#[test]
fn an_instrument_that_sees_nothing_is_an_error_and_nothing_is_kept() {
    let context = project(
        &CLAUDE
            .replace("skill=proctor-canary", "skill=")
            .replace("skill=${prompt#CALL }", "skill="),
    );
    let (code, report) = report(&context, &[]);
    assert_eq!(code, 2);
    assert_eq!(statuses(&report)[0], "deploy error false");
    let skill = &report["skills"][0];
    let error = skill["error"].as_str().unwrap();
    assert!(error.starts_with("instrument broken: the canary did not fire"), "{error}");
    assert!(skill["recall"].is_null() && skill.get("prompts").is_none(), "{skill}");
    assert_eq!(report["cost"]["canary_usd"], 0.02);
    assert_eq!(prompts(&context), 2);
    assert!(!is_kept(&context));
}

#[test]
fn a_dry_run_starts_nothing_and_writes_nothing() {
    let mut context = project(CLAUDE);
    for args in [
        vec!["--dry-run"],
        vec!["--dry-run", "--harness", "codex", "--max-cost", "0.0001"],
        vec!["--dry-run", "--runner-command", "touch was-run"],
    ] {
        let (code, report) = report(&context, &args);
        assert_eq!((code, statuses(&report)[0].as_str()), (0, "deploy dry-run false"), "{args:?}");
        assert!(report["estimate"]["cost_usd"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(prompts(&context), 0);
    assert!(!is_kept(&context) && !key_file(&mut context).exists());
    assert!(!context.project().join("was-run").exists());
}

#[test]
fn what_cannot_be_measured_ends_with_1() {
    let mut context = project(CLAUDE);
    context.write("able.sh", "cat >/dev/null; echo '{\"version\": 1, \"results\": []}'\n");
    for (args, expected) in [
        (vec!["--harness", "codex", "--max-cost", "9"], "runner `codex-native` reports no cost"),
        (vec!["--max-cost", "0.0001"], "above the `--max-cost` of $0.0001"),
        (
            vec!["--runner-command", "sh able.sh"],
            "runner `command` does not support activation mode",
        ),
        (vec!["--runner", "native"], "runner `native` does not support activation mode"),
        (vec!["--harness", "codex", "--runner", "claude-native"], "runs harness `claude` only"),
        (vec!["--claude-bin", "./no/claude"], "no/claude` was not found"),
    ] {
        let run = run(&context, &args);
        assert_eq!(run.code, 1, "{args:?}: {run}");
        assert!(run.stderr.contains(expected), "{args:?}: {run}");
    }
    assert_eq!(prompts(&context), 0);
    context.home().unset("ANTHROPIC_API_KEY");
    context.home().add_script(
        "claude",
        "#!/bin/sh\necho '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\
         \"result\":\"Not logged in\",\"total_cost_usd\":0}'; exit 1\n",
    );
    let run = run(&context, &[]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("looked for ANTHROPIC_API_KEY"), "{run}");
    assert!(!is_kept(&context));
}

#[test]
fn runs_that_are_not_needed_are_saved_and_told() {
    let context = project(CLAUDE);
    let run = run(&context, &["--runs", "auto"]);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stdout.contains("3 of 15 planned runs were not needed"), "{run}");
    // Two of five for the stolen prompt, five for the others, and the canary.
    assert_eq!(prompts(&context), 13);
}

#[test]
fn a_command_that_can_is_asked_and_its_answer_is_kept() {
    let context = project(CLAUDE);
    context.write(
        "able.sh",
        r#"cat >/dev/null
if [ "$AI_RULEZ_EVAL_MODE" = capabilities ]; then
  echo '{"version": 1, "capabilities": ["activation"], "surfaces": ["native"]}'
else
  echo '{"version": 1, "results": [
    {"case": "fires", "arm": "with", "runs": 5, "fired_counts": {"deploy": 5}, "cost_usd": 0.01},
    {"case": "fires.near-miss-1", "arm": "with", "runs": 5, "fired_counts": {"none": 5}},
    {"case": "stolen", "arm": "with", "runs": 5, "fired_counts": {"deploy": 4, "notes": 1}}]}'
fi
"#,
    );
    let (code, report) = report(&context, &["--runner-command", "sh able.sh", "--max-cost", "2"]);
    assert_eq!((code, statuses(&report)[0].as_str()), (0, "deploy ran true"), "{report:#}");
    assert_eq!(report["skills"][0]["prompts"][2]["status"], "borderline");
    assert!(report["cost"].get("canary_usd").is_none());
    assert!(is_kept(&context));
}

#[test]
fn a_candidate_description_is_what_the_harness_is_offered_and_nothing_is_kept() {
    let script = CLAUDE.replace(
        "case \"$prompt\" in\n",
        "cat $plugin/skills/deploy/SKILL.md >PROJECT/offered\ncase \"$prompt\" in\n",
    );
    let context = project(&script);
    context.write("new.txt", "Ships anything, anywhere\n");
    let (code, report) =
        report(&context, &["deploy", "--runs", "1", "--description-from", "new.txt"]);
    assert_eq!((code, statuses(&report)[0].as_str()), (2, "deploy ran false"), "{report:#}");
    let offered = context.read("offered");
    assert!(
        offered.contains("Ships anything, anywhere") && !offered.contains("Deploys a service"),
        "{offered}"
    );
    assert!(!is_kept(&context));
}

#[test]
fn the_real_claude_code_is_measured() {
    let skill =
        |id: &str| Turn::tool("Skill", json!({"skill": format!("ai-rulez-activation:{id}")}));
    let model = FakeModel::start(vec![
        skill("proctor-canary").needs("Deploys a service").needs("Writes release notes"),
        skill("deploy"),
        Turn::text("It is nothing"),
        skill("notes").forbids("zanthorple"),
    ]);
    let Some(home) = SealedHome::with_harness("claude", &model) else { return };
    let context = TestContext::in_home(env!("CARGO_BIN_EXE_proctor"), home);
    write(&context);
    let (code, report) = report(&context, &["--runs", "1", "--jobs", "1"]);
    assert_eq!((code, statuses(&report)[0].as_str()), (2, "deploy ran false"), "{report:#}");
    assert_eq!(report["confusion"], json!({"deploy": {"deploy": 1, "notes": 1}}));
    assert!(report["cost"]["canary_usd"].as_f64().unwrap() > 0.0, "{report:#}");
    assert_eq!(report["skills"][0]["estimate_vs_actual"]["actual_tokens"], 3 * 120);
    assert_eq!(model.model_requests().len(), 4);
}
