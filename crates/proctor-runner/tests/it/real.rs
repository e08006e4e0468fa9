//! The real Claude Code and Codex; only the model is pretended.
//!
//! `cargo xtask test` installs the programs and makes their absence a failure; elsewhere these
//! tests say that they were skipped.

use std::num::NonZeroUsize;

use proctor_model::eval::CaseStatus;
use proctor_runner::eval::Stopped;
use proctor_testkit::{FakeModel, Fault, SealedHome, Turn};
use serde_json::json;

use crate::judge::Judge;
use crate::scene::Scene;

/// What stands in the request when the skill is offered.
const DESCRIPTION: &str = "Does the deploy of services, carefully";

const CASE: &str = "
  - id: one
    prompt: Deploy the billing service
    expect_trigger: true
    assertions:
      - {type: contains, value: staging-eu}
      - {type: file_exists, path: out.txt}
";

/// A scene with a real program; `None` when it is not installed.
fn scene(harness: &str, cases: &str, turns: Vec<Turn>) -> Option<(Scene, FakeModel)> {
    let model = FakeModel::start(turns);
    let home = SealedHome::with_harness(harness, &model)?;
    let mut scene = Scene::in_home(home);
    scene.skill("deploy", cases);
    harness.clone_into(&mut scene.options.harness);
    scene.options.jobs = NonZeroUsize::new(1);
    Some((scene, model))
}

/// The answer that loads the skill.
fn loads(harness: &str) -> Turn {
    match harness {
        "claude" => Turn::tool("Skill", json!({"skill": "deploy"})),
        _ => Turn::tool("exec_command", json!({"cmd": "cat .agents/skills/deploy/SKILL.md"})),
    }
}

/// The answer that writes a file.
fn writes(harness: &str) -> Turn {
    match harness {
        "claude" => Turn::tool("Write", json!({"file_path": "${cwd}/out.txt", "content": "ok"})),
        _ => Turn::custom_tool(
            "apply_patch",
            "*** Begin Patch\n*** Add File: out.txt\n+ok\n*** End Patch\n",
        ),
    }
}

const HARNESSES: [&str; 2] = ["claude", "codex"];

#[test]
fn native_with_and_without_the_skill() {
    for harness in HARNESSES {
        let turns = vec![
            loads(harness).needs(DESCRIPTION),
            writes(harness),
            Turn::text("deployed to staging-eu"),
            Turn::text("I cannot").forbids(DESCRIPTION),
        ];
        let Some((mut scene, model)) = scene(harness, CASE, turns) else { continue };
        scene.ablation = true;
        let report = scene.report("native");
        let case = &report.cases[0];
        assert_eq!(case.status, CaseStatus::Passed, "{harness}: {report:#?}");
        assert_eq!((case.triggered, case.without_passed), (Some(true), Some(false)), "{harness}");
        assert_eq!(case.fired, ["deploy"], "{harness}");
        let score = report.score.unwrap();
        assert_eq!(score.ablation_delta, Some(1.0), "{harness}");
        assert!(score.run_tokens > 0, "{harness}: {score:?}");
        assert_eq!(model.model_requests().len(), 4, "{harness}");
        assert!(scene.is_tidy(), "{harness}");
    }
}

#[test]
fn native_without_a_trigger() {
    for harness in HARNESSES {
        let turns = vec![writes(harness), Turn::text("staging-eu").needs(DESCRIPTION)];
        let Some((mut scene, _model)) = scene(harness, CASE, turns) else { continue };
        let case = scene.case("native");
        assert_eq!(case.status, CaseStatus::Failed, "{harness}: {case:#?}");
        assert_eq!((case.triggered, case.outcome_passed), (Some(false), Some(true)), "{harness}");
        assert_eq!(case.failures, ["did not fire"], "{harness}");
    }
}

/// The answer that runs a shell command.
fn runs(harness: &str, command: &str) -> Turn {
    match harness {
        "claude" => Turn::tool("Bash", json!({"command": command, "description": "look"})),
        _ => Turn::tool("exec_command", json!({"cmd": command})),
    }
}

#[test]
fn native_sees_what_no_path_names() {
    for harness in HARNESSES {
        let load = "cat $(find . -name 'SKILL.m?' | head -1)";
        let Some((mut scene, model)) = scene(harness, CASE, Vec::new()) else { continue };
        let backwards: String = scene.project.as_str().chars().rev().collect();
        let copy = format!("p=$(echo {backwards} | rev); cd $p; cd s*; cd d*; gzip -c S* | base64");
        let turns = vec![
            runs(harness, load),
            writes(harness),
            Turn::text("deployed to staging-eu"),
            runs(harness, &copy),
            Turn::text("I cannot").forbids(DESCRIPTION),
        ];
        model.set_script("default", turns);
        if harness == "claude" {
            scene.options.args = vec!["--allowedTools=Bash".to_owned()];
        }
        scene.ablation = true;
        let report = scene.report("native");
        let case = &report.cases[0];
        assert_eq!((case.status, case.fired.join(" ")), (CaseStatus::Error, "deploy".to_owned()));
        let reason = case.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("contaminated"), "{harness}: {report:#?}");
        assert!(reason.contains("SKILL.md` was opened meanwhile"), "{harness}: {reason}");
        assert_eq!(report.harness_version.is_some(), harness == "claude", "{harness}");
    }
}

#[test]
fn native_failures_between_harness_and_provider_are_errors() {
    for harness in HARNESSES {
        let turns = vec![Turn::fault(Fault::status(529).forever())];
        let Some((mut scene, _model)) = scene(harness, CASE, turns) else { continue };
        let case = scene.case("native");
        assert_eq!((case.status, case.triggered), (CaseStatus::Error, None), "{harness}");
        assert!(case.reason.as_ref().unwrap().contains("overloaded"), "{harness}: {case:#?}");
        let turns = vec![Turn::fault(Fault::status(401).forever())];
        let (mut scene, _model) = self::scene(harness, CASE, turns).unwrap();
        let ran = scene.run("native");
        assert!(matches!(ran.stopped, Some(Stopped::CannotRun(_))), "{harness}: {ran:?}");
    }
}

const PLUGIN_CASES: &str = "
  - id: fires
    prompt: Deploy the billing service
    expect_trigger: true
    assertions: [{type: regex, value: '(?i)STAGING.eu$'}, {type: not_contains, value: production}]
  - id: quiet
    prompt: Explain it
    expect_trigger: false
";

#[test]
fn plugin_eval_with_a_trigger_and_without_one() {
    let skill = || Turn::tool("Skill", json!({"skill": "ai-rulez-eval-deploy:deploy"}));
    for fires in [true, false] {
        let first = if fires { skill() } else { Turn::tool("Glob", json!({"pattern": "*"})) };
        // Cases run in the order of their names: fires, quiet.
        let turns = vec![first.needs(DESCRIPTION), Turn::text("in staging-eu"), Turn::text("so")];
        let Some((mut scene, _model)) = scene("claude", PLUGIN_CASES, turns) else { return };
        scene.options.runs = Some(1);
        scene.options.args = vec!["--trust-plugin".to_owned()];
        let report = scene.report("claude-plugin-eval");
        let case = &report.cases[0];
        let expected = if fires { CaseStatus::Passed } else { CaseStatus::Failed };
        assert_eq!((case.status, case.triggered), (expected, Some(fires)), "{report:#?}");
        assert_eq!(case.outcome_passed, Some(true), "{report:#?}");
        assert_eq!(report.cases[1].status, CaseStatus::Passed, "{report:#?}");
        assert!(report.score.unwrap().cost_usd > 0.0);
        assert!(scene.is_tidy());
    }
}

#[test]
fn plugin_eval_compares_with_an_arm_without_the_plugin() {
    let turns = vec![
        Turn::tool("Skill", json!({"skill": "ai-rulez-eval-deploy:deploy"})),
        Turn::text("in staging-eu"),
        Turn::text("I cannot").forbids(DESCRIPTION),
    ];
    let one = "
  - id: one
    prompt: Deploy the billing service
    expect_trigger: true
    assertions: [{type: contains, value: staging-eu}]
";
    let Some((mut scene, _model)) = scene("claude", one, turns) else { return };
    scene.ablation = true;
    scene.options.runs = Some(1);
    scene.options.args = vec!["--trust-plugin".to_owned()];
    let report = scene.report("claude-plugin-eval");
    assert_eq!(report.cases[0].without_passed, Some(false), "{report:#?}");
    assert_eq!(report.score.unwrap().ablation_delta, Some(1.0));
}

#[test]
fn plugin_eval_asks_for_trust_and_tells_outages() {
    let Some((mut untrusted, _model)) = scene("claude", PLUGIN_CASES, vec![Turn::text("x")]) else {
        return;
    };
    match untrusted.run("claude-plugin-eval").stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("--trust-plugin"), "{why}"),
        other => panic!("{other:?}"),
    }
    let outage = vec![Turn::fault(Fault::status(400).forever())];
    let (mut broken, _model) = scene("claude", PLUGIN_CASES, outage).unwrap();
    broken.options.runs = Some(1);
    broken.options.args = vec!["--trust-plugin".to_owned()];
    let report = broken.report("claude-plugin-eval");
    assert!(report.cases.iter().all(|case| case.status == CaseStatus::Error), "{report:#?}");
    assert!(report.cases[0].reason.as_ref().unwrap().contains("400"), "{report:#?}");
    let refused = vec![Turn::fault(Fault::status(401).forever())];
    let (mut refused, _model) = scene("claude", PLUGIN_CASES, refused).unwrap();
    refused.options.runs = Some(1);
    refused.options.args = vec!["--trust-plugin".to_owned()];
    match refused.run("claude-plugin-eval").stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("credentials"), "{why}"),
        other => panic!("{other:?}"),
    }
}

/// Its traces are where the answers of its runs are found.
#[test]
fn plugin_eval_with_the_built_in_grader() {
    let turns = vec![
        Turn::tool("Skill", json!({"skill": "ai-rulez-eval-deploy:deploy"})),
        Turn::text("in staging-eu"),
        Turn::text("I cannot"),
    ];
    let one = "
  - {id: one, prompt: Deploy the billing service, expect_trigger: true, rubric: Names the cluster}
";
    let Some((mut scene, _model)) = scene("claude", one, turns) else { return };
    scene.ablation = true;
    scene.options.runs = Some(1);
    scene.options.args = vec!["--trust-plugin".to_owned()];
    scene.judge = Some(Judge::scores(&[0.9, 0.1]));
    let report = scene.report("claude-plugin-eval");
    let case = &report.cases[0];
    assert_eq!((case.status, case.rubric_score), (CaseStatus::Passed, Some(0.9)), "{report:#?}");
    assert_eq!(case.without_passed, Some(false), "{report:#?}");
    let asked = scene.judge.as_ref().unwrap().asked.lock().unwrap().clone();
    assert!(asked[0].contains("in staging-eu") && asked[1].contains("I cannot"), "{asked:?}");
    assert!(scene.is_tidy());
}
