//! `proctor eval lint`, `list`, `report` and `calibrate-estimate`, and the help of all of them.

use serde_json::Value;

use crate::eval_project::{
    context, key_file, report, write_answer, write_good_skill, write_skill, write_skill_file,
};

#[test]
fn findings_decide_the_exit_code() {
    let context = context();
    write_good_skill(&context, "a");
    write_skill_file(&context, "bare", "No cases");
    let lint = |args: &[&str]| context.run(["eval", "lint"].iter().chain(args));
    assert_eq!(lint(&[]).code, 0);
    context.write("proctor.toml", "[lint.evals]\nrequire = true\n");
    assert_eq!(lint(&[]).code, 0, "a warning does not fail");
    let strict = lint(&["--fail-on", "warning"]);
    assert_eq!(strict.code, 2);
    insta::assert_snapshot!(strict, @r"
    exit 2
    --- stdout
    .ai-rulez/skills/bare/SKILL.md:2:1: warning AR962 evals-missing: skill `bare` has no eval cases
      hint: add a case file in its `evals` folder, or list the skill in `lint.evals.allow`
    2 skills: 1 warning; failed (fails from severity warning)
    --- stderr
    ");
    context.write(".ai-rulez/skills/a/evals/b.eval.yaml", "cases:\n  - id: x\n    promt: y\n");
    let json = lint(&["--format", "json"]);
    assert_eq!(json.code, 2);
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    let codes: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"AR962") && codes.contains(&"AR996"), "{codes:?}");
    let sarif: Value = serde_json::from_str(&lint(&["--format", "sarif"]).stdout).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), codes.len());
    let uri = &results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert_eq!(uri, ".ai-rulez/skills/a/evals/b.eval.yaml");

    context.write("proctor.toml", "[lint.evals]\nmin_pass_rate = 2\n");
    assert_eq!(lint(&[]).code, 1);
    assert_eq!(lint(&["--format", "xml"]).code, 1);
    assert_eq!(lint(&["--root", "nowhere"]).code, 1);
}

#[test]
fn results_are_judged_and_their_file_too() {
    let mut context = context();
    write_skill(&context, "a");
    write_answer(&context, "a", "no idea", 0.01);
    assert_eq!(report(&context, &["--threshold", "0.5"]).0, 0);
    context.write("proctor.toml", "[lint.evals]\nmin_pass_rate = 0.8\nrequire_fresh = \"error\"\n");
    write_skill_file(&context, "a", "Another skill now");
    let codes = |context: &proctor_testkit::TestContext| {
        let run = context.run(["eval", "lint", "--format", "json"]);
        let report: Value = serde_json::from_str(&run.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap().iter();
        findings.map(|f| f["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(codes(&context), ["AR997", "AR998"]);
    std::fs::remove_file(key_file(&mut context)).unwrap();
    let run = context.run(["eval", "lint"]);
    assert_eq!(run.stdout.matches("unverified").count(), 2, "{run}");
    context.write(".ai-rulez/eval-results.json", "{");
    assert_eq!(codes(&context), ["AR9A0"]);
    assert!(!key_file(&mut context).exists(), "only runs make a key");
}

#[test]
fn what_only_reads_makes_no_key_and_writes_nothing() {
    let mut context = context();
    write_good_skill(&context, "a");
    for command in ["lint", "list", "report", "calibrate-estimate"] {
        for format in ["text", "json"] {
            let run = context.run(["eval", command, "--format", format]);
            assert_eq!(run.code, 0, "{command}: {run}");
            assert!(!run.stdout.is_empty());
        }
    }
    assert!(!key_file(&mut context).exists());
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
}

#[test]
fn the_list_shows_what_results_are_worth() {
    let mut context = context();
    write_good_skill(&context, "a");
    write_good_skill(&context, "b");
    write_skill_file(&context, "bare", "No cases");
    assert_eq!(report(&context, &[]).0, 0);
    write_skill_file(&context, "b", "Changed");
    insta::assert_snapshot!(context.run(["eval", "list"]), @r"
    exit 0
    --- stdout
    SKILL  RESULT   FOLDER                 PASS  CASES  NEAR MISSES  MISTAKES
    a      passing  .ai-rulez/skills/a     100%      2            0         0
    b      stale    .ai-rulez/skills/b     100%      2            0         0
    bare   -        .ai-rulez/skills/bare     -      0            0         0
    --- stderr
    ");
    std::fs::remove_file(key_file(&mut context)).unwrap();
    let run = context.run(["eval", "list", "--format", "json"]);
    let list: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(list["skills"][0]["result"]["state"], "unverified");
    assert_eq!(list["skills"][0]["tags"][0], "smoke");
    assert!(list["skills"][2].get("result").is_none());
}

#[test]
fn recommendations_join_results_and_logs() {
    let context = context();
    write_good_skill(&context, "good");
    write_skill(&context, "poor");
    write_answer(&context, "poor", "no idea", 0.01);
    write_skill_file(&context, "unused", "Nobody asks for it");
    assert_eq!(report(&context, &[]).0, 2);
    let uses = r#"{"v":2,"event":"skill_invoked","skill":"good","id":"good","invocation":"tool"}"#;
    context.write("usage.jsonl", format!("{uses}\n{uses}\nnot JSON\n"));
    let run = context.run(["eval", "report", "--usage-log", "usage.jsonl"]);
    insta::assert_snapshot!(run, @r"
    exit 0
    --- stdout
    SKILL   ACTION   USES  PASS  PRECISION  RECALL  ABLATION  TOKENS
    poor    rewrite     0   50%       100%    100%       n/a      17
    unused  prune       0   n/a        n/a     n/a       n/a      18
    good    keep        2  100%       100%    100%       n/a      17

    poor: rewrite
      pass rate 50% is below 80%

    unused: prune
      none of 2 logged uses

    good: keep
      uses joined: legacy (2 legacy)

    2 logged uses
    --- stderr
    warning: usage.jsonl: 1 lines cannot be read
    ");
    let missing = context.run(["eval", "report", "--usage-log", "nowhere.jsonl"]);
    assert_eq!(missing.code, 1, "{missing}");
}

#[test]
fn calibration_learns_from_signed_runs() {
    let context = context();
    write_skill(&context, "a");
    let answer = serde_json::json!({"version": 1, "results": [
        {"case": "yes", "arm": "with", "triggered": true, "output": "staging-eu", "cost_usd": 0.1,
         "input_tokens": 48000, "output_tokens": 500},
        {"case": "no", "arm": "with", "triggered": false, "input_tokens": 48000,
         "output_tokens": 500},
    ]});
    crate::eval_project::write_raw_answer(&context, "a", &answer.to_string());
    assert_eq!(report(&context, &["--model", "haiku"]).0, 0);
    let run = context.run(["eval", "calibrate-estimate"]);
    insta::assert_snapshot!(run, @r"
    exit 0
    --- stdout
    cases, harness claude, model haiku: 1 run, which is few: low confidence
      overhead_tokens            2000 -> 47979
      assumed_output_tokens       600 -> 500
      token error (median)     +1750% -> +0%; recorded cost error median 900%, p90 900%
      input price per MTok     $1 listed, $0.9896 billed: close enough

    [lint.evals.estimate]
    overhead_tokens = 47979
    assumed_output_tokens = 500
    --- stderr
    ");
}

#[test]
fn every_help_has_examples() {
    let context = context();
    for command in ["run", "lint", "list", "report", "calibrate-estimate", "keygen"] {
        let run = context.run(["eval", command, "--help"]);
        assert_eq!(run.code, 0, "{run}");
        assert!(run.stdout.contains(&format!("Examples:\n  proctor eval {command}")), "{run}");
    }
    let none = context.run(["eval"]);
    assert_eq!(none.code, 1, "{none}");
}
