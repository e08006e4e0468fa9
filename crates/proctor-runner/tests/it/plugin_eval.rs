//! The runner `claude-plugin-eval` with stand-ins for Claude Code.

use std::num::NonZeroUsize;
use std::time::Duration;

use proctor_model::eval::{CaseStatus, SkillReport, SkillStatus};
use proctor_runner::eval::{Ran, Stopped};
use serde_json::{Value, json};

use crate::judge::Judge;
use crate::scene::{SECRET, Scene};

const RUNNER: &str = "claude-plugin-eval";

const CASES: &str = r"
  - id: fires
    prompt: Deploy it
    expect_trigger: true
    assertions:
      - {type: contains, value: eu.west}
      - {type: regex, value: '(?i)deployed \d+', path: log.txt}
      - {type: file_exists, path: out.txt, exists: false}
    rubric: Names the cluster.
    tags: [smoke]
    model: haiku
  - id: quiet
    prompt: Explain it
    expect_trigger: false
";

/// A scene in which `claude` does what `script` says and leaves `result` where it is told to.
fn scene(cases: &str, script: &str, result: &Value) -> Scene {
    let mut scene = Scene::with_cases(cases);
    "claude".clone_into(&mut scene.options.harness);
    scene.write("result.json", result.to_string());
    let project = scene.project.clone();
    let text = format!(
        "#!/bin/sh\nproject='{project}'\nprintf '%s\\n' \"$@\" >$project/argv\nplugin=$3\n\
         leave() {{ cp $project/result.json $plugin/aggregate.json; }}\n{script}\n"
    );
    scene.home.add_script("claude", &text);
    scene
}

/// A run of a case with these verdicts.
fn run_of(verdicts: &[(&str, bool)]) -> Value {
    let graders: Vec<Value> = verdicts
        .iter()
        .map(|(name, passed)| {
            json!({"name": name, "passed": passed, "explanation": format!("{name} looked\nat it")})
        })
        .collect();
    json!({"costUsd": 0.01, "judgeCostUsd": 0.005, "error": null, "graders": graders})
}

fn result(cases: &Value) -> Value {
    json!({
        "schemaVersion": 1, "costUsd": 0.03, "partial": false,
        "suite": {"plugins": [{"name": "ai-rulez-eval-deploy", "path": "/x"}]}, "cases": cases
    })
}

const PASSES: [(&str, bool); 5] = [
    ("trigger", true),
    ("assert-01", true),
    ("assert-02", true),
    ("assert-03", true),
    ("rubric", true),
];

/// The result of a run in which everything holds.
fn good() -> Value {
    result(&json!([
        {"name": "fires", "dir": "evals/fires", "arms": {"with": [run_of(&PASSES)]}},
        {"name": "x", "dir": "evals/quiet", "arms": {"with": [run_of(&[("trigger", true)])]}}
    ]))
}

/// What the cases come to when Claude Code leaves this.
fn ran(result: &Value) -> Ran {
    scene(CASES, "leave", result).run(RUNNER)
}

fn report(result: &Value) -> SkillReport {
    ran(result).skills.remove(0).report
}

#[test]
fn a_whole_result_is_scored() {
    let ran = ran(&good());
    let report = &ran.skills[0].report;
    assert_eq!((report.status, report.passing), (SkillStatus::Ran, true), "{report:#?}");
    let score = ran.skills[0].kept.unwrap();
    assert_eq!((score.trigger_precision, score.trigger_recall), (Some(1.0), Some(1.0)));
    assert!((score.cost_usd - 0.03).abs() < 1e-9);
    let fires = &report.cases[0];
    assert_eq!((fires.triggered, fires.outcome_passed), (Some(true), Some(true)));
    assert_eq!(fires.rubric_note.as_deref(), Some("rubric looked at it"));
    assert!((fires.cost_usd - 0.015).abs() < 1e-9);
    assert_eq!((report.cases[1].triggered, report.cases[1].outcome_graded), (Some(false), false));
}

#[test]
fn cases_become_folders_of_a_plugin_without_cases() {
    let mut scene = scene(CASES, "cp -r $plugin $project/seen; leave", &good());
    scene.run(RUNNER);
    let seen = |path: &str| scene.left(&format!("seen/{path}"));
    insta::assert_snapshot!(seen(".claude-plugin/plugin.json"), @r#"{"name":"ai-rulez-eval-deploy","version":"0.0.0"}"#);
    assert!(seen("skills/deploy/SKILL.md").contains("name: deploy"));
    assert!(!scene.project.join("seen/skills/deploy/evals").exists());
    insta::assert_snapshot!(seen("evals/fires/prompt.md"), @r#"
    ---
    max_turns: 10
    allowed_tools: [Skill, Read, Glob, Grep]
    model: "haiku"
    tags: ["smoke"]
    ---

    Deploy it
    "#);
    insta::assert_snapshot!(seen("evals/fires/graders/trigger.md"), @r#"
    ---
    type: tool_used
    tool: Skill
    input_match: "(^|[^A-Za-z0-9._-])deploy($|[^A-Za-z0-9._-])"
    ---
    "#);
    insta::assert_snapshot!(seen("evals/quiet/graders/trigger.md"), @r#"
    ---
    type: tool_used
    tool: Skill
    input_match: "(^|[^A-Za-z0-9._-])deploy($|[^A-Za-z0-9._-])"
    min: 0
    max: 0
    arm: both
    ---
    "#);
    insta::assert_snapshot!(seen("evals/fires/graders/assert-01.md"), @r"
    ---
    type: regex
    match: contains
    ---

    eu\.west
    ");
    insta::assert_snapshot!(seen("evals/fires/graders/assert-02.md"), @r#"
    ---
    type: regex
    match: contains
    flags: iu
    target: {source: file, path: "log.txt"}
    ---

    deployed [0-9]+
    "#);
    insta::assert_snapshot!(seen("evals/fires/graders/assert-03.md"), @r#"
    ---
    type: file_exists
    path: "out.txt"
    exists: false
    ---
    "#);
    insta::assert_snapshot!(seen("evals/fires/graders/rubric.md"), @r"
    ---
    type: llm
    ---

    Names the cluster.
    ");
    assert!(scene.is_tidy());
}

#[test]
fn the_command_line_and_the_environment_hold_what_they_should() {
    let cases = CASES.replace("    model: haiku\n", "");
    let mut scene = scene(&cases, "env >$project/env; leave", &good());
    scene.home.set("ANTHROPIC_API_KEY", "fake-key-of-a-test");
    scene.home.set("GITHUB_TOKEN", "ghx");
    scene.model = Some("sonnet".to_owned());
    scene.ablation = true;
    scene.max_cost_usd = 1.5;
    scene.options.runs = Some(2);
    scene.options.jobs = NonZeroUsize::new(20);
    scene.options.judge_model = Some("opus".to_owned());
    scene.options.args = vec!["--trust-plugin".to_owned()];
    scene.run(RUNNER);
    let argv = scene.left("argv");
    let argv: Vec<&str> = argv.lines().collect();
    let plugin = argv[2];
    assert_eq!(&argv[..2], ["plugin", "eval"]);
    assert_eq!(
        argv[3..].join(" "),
        format!(
            "--json {plugin}/aggregate.json --no-publish --threshold 0 --output-dir {plugin}/results \
             --ablation with-without --runs 2 --concurrency 8 --model sonnet --judge-model opus --max-cost-usd \
             1.5000 --trust-plugin"
        )
    );
    let env = scene.left("env");
    assert!(env.contains("ANTHROPIC_API_KEY=fake") && env.contains("DISABLE_AUTOUPDATER=1"));
    assert!(!env.contains(SECRET) && !env.contains("GITHUB_TOKEN"), "{env}");
}

#[test]
fn the_model_of_a_case_goes_before_that_of_the_run() {
    let mut scene = scene(CASES, "cp -r $plugin $project/seen; leave", &good());
    scene.model = Some("sonnet".to_owned());
    scene.run(RUNNER);
    assert!(!scene.left("argv").contains("--model"));
    assert!(scene.left("seen/evals/fires/prompt.md").contains("model: \"haiku\"\n"));
    assert!(scene.left("seen/evals/quiet/prompt.md").contains("model: \"sonnet\"\n"));
}

#[test]
fn a_pass_mark_that_is_not_used_is_told() {
    let cases = CASES.replace("cluster.\n", "cluster.\n    rubric_min_score: 0.9\n");
    let report = scene(&cases, "leave", &good()).report(RUNNER);
    assert!(report.warnings[0].contains("`rubric_min_score` is not used"), "{report:#?}");
}

#[test]
fn the_majority_of_the_runs_counts() {
    let fired = |yes| run_of(&[("trigger", yes)]);
    let broken = json!({"costUsd": 0, "error": "API Error: 529", "graders": []});
    for (runs, expected) in [
        (vec![fired(true), fired(true), fired(false)], CaseStatus::Passed),
        (vec![fired(true), fired(false), fired(false)], CaseStatus::Failed),
        // A tie says no, and a run without a result has no voice.
        (vec![fired(true), fired(false)], CaseStatus::Failed),
        (vec![fired(true), fired(false), fired(true), broken.clone()], CaseStatus::Passed),
        (vec![broken.clone(), fired(true)], CaseStatus::Passed),
        (vec![broken.clone(), broken.clone()], CaseStatus::Error),
        (vec![], CaseStatus::Error),
    ] {
        let cases = json!([{"name": "one", "arms": {"with": runs}}]);
        let one = "  - {id: one, prompt: x, expect_trigger: true}\n";
        let case = scene(one, "leave", &result(&cases)).case(RUNNER);
        assert_eq!(case.status, expected, "{case:#?}");
    }
}

#[test]
fn a_failed_grader_is_named() {
    let failing = |name: &str| {
        let verdicts = PASSES.map(|(grader, _)| (grader, grader != name));
        run_of(&verdicts)
    };
    let with = [failing("assert-02"), failing("assert-02"), failing("rubric")];
    let cases = json!([{"name": "fires", "arms": {"with": with}}]);
    let report = report(&result(&cases));
    assert_eq!(report.cases[0].status, CaseStatus::Failed);
    assert_eq!(
        report.cases[0].failures,
        [
            "regex: assert-02 looked at it (in 2 of 3 runs)",
            "rubric: rubric looked at it (in 1 of 3 runs)"
        ]
    );
    assert_eq!(report.cases[1].reason.as_deref(), Some("there are no runs of the case"));
}

#[test]
fn a_verdict_that_is_missing_is_an_error_and_no_miss() {
    for missing in ["trigger", "assert-03", "rubric"] {
        let verdicts: Vec<_> = PASSES.into_iter().filter(|(name, _)| *name != missing).collect();
        let cases = json!([{"name": "fires", "arms": {"with": [run_of(&verdicts)]}}]);
        let case = &report(&result(&cases)).cases[0];
        assert_eq!(case.status, CaseStatus::Error, "{case:#?}");
        assert!(case.reason.as_ref().unwrap().contains(missing), "{case:#?}");
    }
}

#[test]
fn both_arms_are_compared() {
    let without: Vec<_> =
        PASSES[1..].iter().map(|(name, _)| (*name, *name != "assert-01")).collect();
    let quiet = |passed| json!([run_of(&[("trigger", passed)])]);
    let cases = |fired_without: bool| {
        json!([
            {"name": "fires", "arms": {"with": [run_of(&PASSES)], "without": [run_of(&without)]}},
            {"name": "quiet", "arms": {"with": quiet(true), "without": quiet(!fired_without)}}
        ])
    };
    let mut compared = scene(CASES, "leave", &result(&cases(false)));
    compared.ablation = true;
    let score = compared.report(RUNNER).score.unwrap();
    assert_eq!((score.ablation_delta, score.ablation_cases), (Some(1.0), 1));

    // A control in which the skill fires has a copy of it.
    let positive = json!([{
        "name": "fires",
        "arms": {"with": [run_of(&PASSES)], "without": [run_of(&PASSES)]}
    }]);
    let mut copied = scene(CASES, "leave", &result(&positive));
    copied.ablation = true;
    let report = copied.report(RUNNER);
    assert_eq!(report.score.unwrap().ablation_delta, None);
    assert!(report.cases[0].reason.as_ref().unwrap().contains("another copy"), "{report:#?}");
}

#[test]
fn what_cannot_be_run_is_skipped_with_a_reason() {
    let cases = r"
  - {id: a, prompt: x, expect_trigger: true, files: [{path: f}]}
  - {id: b, prompt: x, expect_trigger: true, assertions: [{type: command_exit, command: 'true'}]}
";
    let mut scene = scene(cases, "touch $project/was-started; leave", &good());
    let report = scene.report(RUNNER);
    assert!(!scene.project.join("was-started").exists());
    assert!(report.cases.iter().all(|case| case.status == CaseStatus::Skipped));
    assert!(report.cases[0].reason.as_ref().unwrap().contains("`files`"));
    assert!(report.cases[1].reason.as_ref().unwrap().contains("`command_exit`"));
    assert_eq!((report.status, report.passing), (SkillStatus::Ran, false));
    assert!(report.warnings[0].contains("nothing was scored"), "{:?}", report.warnings);
}

#[test]
fn a_program_that_cannot_do_it_ends_the_run() {
    for (script, expected) in [
        ("echo 'plugin eval is in early access' >&2; exit 1", "2.1.269 or newer"),
        ("echo 'This feature is in Early Access.'; exit 1", "early access"),
        ("echo \"error: unknown command 'eval'\" >&2; exit 1", "2.1.269 or newer"),
        ("echo \"Error: $3 is not a trusted plugin directory, and\" >&2; exit 1", "--trust-plugin"),
    ] {
        let ran = scene(CASES, script, &good()).run(RUNNER);
        match ran.stopped {
            Some(Stopped::CannotRun(why)) => assert!(why.contains(expected), "{why}"),
            other => panic!("{other:?}"),
        }
    }
    let mut missing = Scene::with_cases(CASES);
    missing.options.harness = "claude".to_owned();
    missing.options.claude_bin = Some("./no/claude".to_owned());
    match missing.run(RUNNER).stopped {
        Some(Stopped::CannotRun(why)) => {
            assert!(why.contains("`./no/claude` was not found"), "{why}");
        }
        other => panic!("{other:?}"),
    }
}

/// The error of a call in which Claude Code does this.
fn error(script: &str, result: &Value) -> String {
    let ran = scene(CASES, script, result).run(RUNNER);
    let report = &ran.skills[0].report;
    assert_eq!((report.status, ran.skills[0].kept), (SkillStatus::Error, None), "{report:#?}");
    report.error.clone().unwrap()
}

#[test]
fn a_result_that_cannot_be_believed_is_an_error_of_the_call() {
    let with = |key: &str, value: Value| {
        let mut result = good();
        result[key] = value;
        result
    };
    let partial = |reason: &str| {
        let mut result = with("partial", json!(true));
        result["partialReason"] = json!(reason);
        result
    };
    let mut without_cases = good();
    without_cases.as_object_mut().unwrap().remove("cases");
    let problem = json!({"plugins": [{"name": "x", "path": "/x", "problem": "will_not_load"}]});
    for (script, result, expected) in [
        ("exit 7", good(), "exited with code 7 and left no result"),
        ("echo oops >&2", good(), "exited with code 0 and left no result; its last words: oops"),
        ("leave", without_cases, "missing field `cases`"),
        ("leave", json!([]), "another shape"),
        ("echo half >$plugin/aggregate.json", good(), "printed no JSON"),
        ("leave; kill -9 $$", good(), "ended by signal 9"),
        ("leave; exit 2", partial("cost_ceiling"), "stopped at its budget"),
        ("leave; exit 2", partial("interrupted"), "before every case was run"),
        ("leave", with("suite", problem), "was not loaded, so that nothing was measured"),
        ("leave", with("suite", json!({"plugins": []})), "was not loaded"),
        ("leave", with("costUsd", json!(-1)), "cost_usd is -1"),
    ] {
        let error = error(script, &result);
        assert!(error.contains(expected), "{error}\nshould hold: {expected}");
    }
}

#[test]
fn refused_credentials_end_the_run_with_the_names_that_were_tried() {
    let mut result = good();
    result["partial"] = json!(true);
    result["partialReason"] = json!("auth_failed");
    match scene(CASES, "leave; exit 2", &result).run(RUNNER).stopped {
        Some(Stopped::CannotRun(why)) => assert!(why.contains("ANTHROPIC_API_KEY"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_exit_code_does_not_spoil_a_whole_result() {
    assert!(scene(CASES, "leave; exit 1", &good()).report(RUNNER).passing);
}

#[test]
fn a_timeout_is_an_error_even_when_a_result_is_there() {
    let mut scene = scene(CASES, "leave; sleep 600", &good());
    scene.timeout = Duration::from_secs(1);
    let error = scene.report(RUNNER).error.unwrap();
    assert!(error.starts_with("the runner was ended after 1 s"), "{error}");
}

/// A run whose trace is where the script of [`traced`] puts it.
fn traced_run(verdicts: &[(&str, bool)], trace: &str) -> Value {
    let mut run = run_of(verdicts);
    run["tracePath"] = format!("TMP/{trace}").into();
    run
}

/// A scene whose `claude` leaves traces in the folder for temporary files; the judge gives `scores`.
fn traced(with: &[Value], scores: &[f64]) -> Scene {
    let cases = json!([{"name": "one", "arms": {"with": with}}]);
    let script = "sed \"s|TMP|$TMPDIR|g\" $project/result.json >$plugin/aggregate.json
        cp -r $plugin $project/seen
        for name in a b; do
            echo '{\"type\":\"system\"}' >$TMPDIR/$name
            echo \"{\\\"type\\\":\\\"result\\\",\\\"result\\\":\\\"answer $name\\\"}\" >>$TMPDIR/$name
        done";
    let one = "
  - id: one
    prompt: x
    expect_trigger: true
    assertions: [{type: contains, value: eu}]
    rubric: Names the cluster.
    rubric_min_score: 0.9
";
    let mut scene = scene(one, script, &result(&cases));
    scene.judge = Some(Judge::scores(scores));
    scene
}

#[test]
fn the_built_in_grader_grades_in_the_place_of_claudes() {
    let good = [("trigger", true), ("assert-01", true)];
    let bad = [("trigger", true), ("assert-01", false)];
    let mut one = traced(&[traced_run(&good, "a"), traced_run(&good, "b")], &[0.95, 0.9]);
    let report = one.report(RUNNER);
    let case = &report.cases[0];
    assert_eq!((case.status, case.rubric_score), (CaseStatus::Passed, Some(0.925)), "{report:#?}");
    assert_eq!(report.warnings, [""; 0]);
    assert!(one.left("argv").contains("--keep-temp"));
    assert!(!one.project.join("seen/evals/one/graders/rubric.md").exists());
    let asked = one.judge.as_ref().unwrap().asked.lock().unwrap().clone();
    assert!(asked[0].contains("answer a") && asked[1].contains("answer b"), "{asked:?}");
    assert!(one.is_tidy());
    // Assertions count beside it.
    let mut failed = traced(&[traced_run(&bad, "a")], &[1.0]);
    let case = failed.case(RUNNER);
    assert_eq!((case.status, case.rubric_score), (CaseStatus::Failed, Some(1.0)));
    assert_eq!(case.failures, ["contains: assert-01 looked at it"]);
    // An answer that is lost is no answer, and no miss.
    let mut lost = traced(&[traced_run(&good, "c")], &[]);
    let case = lost.case(RUNNER);
    assert_eq!(case.status, CaseStatus::Error);
    assert!(case.reason.as_deref().unwrap().contains("its trace cannot be read"), "{case:?}");
}
