//! `proctor eval run --mode activation --surface native` with a runner that is a shell script.

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::eval_project::{
    asked, context, key_file, results, statuses, write_raw_answer, write_runner, write_skill_file,
};

/// Says that it measures activation, and answers with `answers/SKILL.json`.
const RUNNER: &str = r#"#!/bin/sh
echo "$AI_RULEZ_EVAL_MODE $AI_RULEZ_EVAL_SKILL" >> asked
request=$(cat)
if [ "$AI_RULEZ_EVAL_MODE" = capabilities ]; then
    echo '{"version":1,"capabilities":["activation"],"surfaces":["native"]}'
else
    printf '%s' "$request" > "request-$AI_RULEZ_EVAL_SKILL"
    exec cat "answers/$AI_RULEZ_EVAL_SKILL.json"
fi
"#;

/// `deploy` and `notes`, each with a prompt that should fire it and one that should not.
fn project() -> TestContext {
    let context = context();
    write_runner(&context, RUNNER);
    for (id, description) in [("deploy", "Deploy a service"), ("notes", "Write release notes")] {
        write_skill_file(&context, id, description);
        let cases = format!(
            "cases:\n  - {{id: yes, prompt: {description} now, expect_trigger: true}}\n\
             \x20 - {{id: no, prompt: What is the capital of France?, expect_trigger: false}}\n"
        );
        context.write(&format!(".ai-rulez/skills/{id}/evals/a.eval.yaml"), cases);
    }
    answer(&context, "deploy", &json!({"deploy": 5}), &json!({"none": 5}));
    answer(&context, "notes", &json!({"notes": 2, "deploy": 3}), &json!({"notes": 1, "none": 4}));
    context
}

/// What the runner says of the prompts of a skill.
fn answer(context: &TestContext, id: &str, yes: &Value, no: &Value) {
    let result = |case: &str, counts: &Value| {
        json!({"case": case, "arm": "with", "runs": 5, "fired_counts": counts,
            "input_tokens": 10_000, "output_tokens": 700, "cost_usd": 0.0125})
    };
    let answer = json!({"version": 1, "results": [result("yes", yes), result("no", no)]});
    write_raw_answer(context, id, &answer.to_string());
}

/// Both prompts of a skill pass, for the costs of `usd`.
fn answer_at(context: &TestContext, id: &str, usd: f64) {
    let answer = json!({"version": 1, "cost_usd": usd, "results": [
        {"case": "yes", "arm": "with", "runs": 5, "fired_counts": {id: 5}},
        {"case": "no", "arm": "with", "runs": 5, "fired_counts": {"none": 5}},
    ]});
    write_raw_answer(context, id, &answer.to_string());
}

fn run(context: &TestContext, args: &[&str]) -> Run {
    let command = ["eval", "run", "--mode", "activation", "--surface", "native"];
    let runner = ["--runner-command", "./runner.sh", "--model", "haiku"];
    context.run(command.iter().chain(&runner).chain(args))
}

fn report(context: &TestContext, args: &[&str]) -> (i32, Value) {
    let run = run(context, &[args, &["--format", "json"]].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}\n{run}"));
    (run.code, report)
}

#[test]
fn every_prompt_is_run_several_times_with_all_skills() {
    let context = project();
    insta::assert_snapshot!(run(&context, &["--no-write", "--date", "2026-10-05"]), @r"
    exit 2
    --- stdout
    # Skill activation results

    Measured: surface `native`, scope `domain`, runner `command`, harness `claude`, model `haiku`, up to 5 runs a prompt, date 2026-10-05, cost $0.05

    native measures which skill the model of a harness loads in its first turn when every competing skill is installed; a prompt that should fire the skill passes when it does in at least 80% of the runs, one that should not when it does in at most 20%.

    | Skill | Status | Prompts | Recall | Precision | False activation | Run recall | Cost |
    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | deploy | ran, passing | 2 | 100% (21-100%) | 100% (21-100%) | 0% (0-79%) | 100% (57-100%) | $0.0250 |
    | notes | ran, failing | 2 | 0% (0-79%) | n/a | 0% (0-79%) | 40% (12-77%) | $0.0250 |

    ### notes

    - `deploy` won 1 of 1 prompts that should fire this skill (100%)
    - `yes`: failed: should fire; fired in 2 of 5 runs (12-77%); fired most: deploy
    - `no`: borderline: should stay quiet; fired in 1 of 5 runs (4-62%); fired most: notes

    ### Confusion (runs of prompts that should fire a skill: who fired)

    - `deploy`: `deploy` 5
    - `notes`: `deploy` 3, `notes` 2
    --- stderr
    ");
    assert_eq!(asked(&context), ["capabilities ", "activation deploy", "activation notes"]);
    let request: Value = serde_json::from_str(&context.read("request-notes")).unwrap();
    assert_eq!((&request["runs"], &request["max_turns"]), (&json!(5), &json!(1)));
    assert_eq!((&request["mode"], &request["surface"]), (&json!("activation"), &json!("native")));
    let skills: Vec<&Value> =
        request["skills"].as_array().unwrap().iter().map(|skill| &skill["id"]).collect();
    assert_eq!(skills, ["deploy", "notes"]);
    assert_eq!(request["skills"][0]["description"], "Deploy a service");
    assert_eq!(request["cases"][0]["target"], "notes");
}

#[test]
fn a_measurement_is_replayed_until_something_changes() {
    let context = project();
    let (code, first) = report(&context, &["--date", "2026-10-05"]);
    assert_eq!(
        (code, statuses(&first)),
        (2, vec!["deploy ran true".into(), "notes ran false".into()])
    );
    assert_eq!((&first["runs"], &first["cost"]["actual_usd"]), (&json!(5), &json!(0.05)));
    let skill = &first["skills"][1];
    assert_eq!(skill["stolen_by"], json!([{"skill": "deploy", "prompts": 1, "share": 1}]));
    assert_eq!(skill["run_recall"]["n"], 5);
    assert_eq!(skill["prompts"][1]["status"], "borderline");
    assert_eq!(
        first["confusion"],
        json!({"deploy": {"deploy": 5}, "notes": {"deploy": 3, "notes": 2}})
    );
    let record = results(&context)["skills"][0]["activation"].clone();
    assert_eq!(
        (
            &record["runner"],
            &record["harness"],
            &record["model"],
            &record["runs"],
            &record["passing"]
        ),
        (&json!("command"), &json!("claude"), &json!("haiku"), &json!(5), &json!(true))
    );
    assert_eq!(record["estimate"]["agent_runs"], 10);
    assert_eq!(record["estimate"]["actual_usd"], 0.025);
    assert_eq!(asked(&context).len(), 3);

    let (code, second) = report(&context, &[]);
    assert_eq!(statuses(&second), ["deploy cached true", "notes cached false"]);
    assert_eq!((code, asked(&context)), (2, vec![]));
    assert_eq!(second["skills"][1]["recall"], skill["recall"]);
    assert_eq!(second["skills"][1]["stolen_by"], skill["stolen_by"]);
    assert_eq!(second["skills"][1]["estimate_vs_actual"], skill["estimate_vs_actual"]);
    assert_eq!(second["cost"], json!({"estimate_usd": 0, "actual_usd": 0}));
    // Whether it passes is as it was.
    assert_eq!(report(&context, &["--threshold", "0"]).0, 2);
    // As many runs at most as before, and they say the same.
    assert_eq!(statuses(&report(&context, &["--runs", "auto"]).1)[0], "deploy cached true");
    assert_eq!(asked(&context), [""; 0]);

    for args in
        [vec!["--force"], vec!["--runs", "6"], vec!["--scope", "all"], vec!["--harness", "codex"]]
    {
        let (_, again) = report(&context, &args);
        assert_eq!(statuses(&again)[0], "deploy ran true", "{args:?}");
        assert_eq!(report(&context, &["--force"]).0, 2);
    }
    write_skill_file(&context, "notes", "Write notes");
    assert_eq!(statuses(&report(&context, &["deploy"]).1), ["deploy ran true"]);
}

#[test]
fn a_forged_measurement_is_measured_again() {
    let context = project();
    assert_eq!(report(&context, &[]).0, 2);
    let forged =
        context.read(".ai-rulez/eval-results.json").replace("\"recall\": 0,", "\"recall\": 1,");
    context.write(".ai-rulez/eval-results.json", forged);
    assert_eq!(asked(&context).len(), 3);
    let (_, again) = report(&context, &[]);
    assert_eq!(statuses(&again), ["deploy cached true", "notes ran false"]);
    assert!(again["skills"][1]["warnings"][0].as_str().unwrap().contains("unverified"));
}

#[test]
fn calibration_knows_measurements() {
    let context = project();
    assert_eq!(report(&context, &[]).0, 2);
    let run = context.run(["eval", "calibrate-estimate", "--format", "json"]);
    let proposal: Value = serde_json::from_str(&run.stdout).unwrap();
    let group = &proposal["groups"][0];
    assert_eq!((&group["kind"], &group["samples"]), (&json!("activation"), &json!(2)));
    assert_eq!(group["proposed"]["activation_output_tokens"], 140);
}

#[test]
fn prompts_without_a_result_are_no_recall_of_nothing() {
    let context = project();
    let broken = json!({"version": 1, "results": [
        {"case": "yes", "arm": "with", "runs": 2, "errored_runs": 3, "fired_counts": {"deploy": 2}},
        {"case": "no", "arm": "with", "error": "rate limit"},
    ]});
    write_raw_answer(&context, "deploy", &broken.to_string());
    write_raw_answer(&context, "notes", "Sure!");
    let (code, report) = report(&context, &[]);
    assert_eq!(
        (code, statuses(&report)),
        (2, vec!["deploy error false".into(), "notes error false".into()])
    );
    let skill = &report["skills"][0];
    assert_eq!((&skill["recall"], &skill["run_recall"]), (&json!(null), &json!(null)));
    assert_eq!(skill["prompts"][0]["error"], "3 of 5 runs failed");
    assert_eq!(skill["prompts"][1]["error"], "rate limit");
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
}

#[test]
fn a_runner_of_cases_alone_is_refused() {
    let context = project();
    write_runner(&context, "#!/bin/sh\necho x >> asked\necho '{\"version\":1,\"results\":[]}'\n");
    let run = run(&context, &[]);
    assert_eq!(run.code, 1, "{run}");
    assert!(run.stderr.contains("does not support activation mode"), "{run}");
    assert_eq!(asked(&context), ["x"]);
}

#[test]
fn a_dry_run_asks_nobody() {
    let mut context = project();
    let (code, dry) = report(&context, &["--dry-run"]);
    assert_eq!(
        (code, statuses(&dry)),
        (0, vec!["deploy dry-run false".into(), "notes dry-run false".into()])
    );
    assert_eq!((&dry["dry_run"], &dry["estimate"]["agent_runs"]), (&json!(true), &json!(20)));
    assert_eq!(report(&context, &["--dry-run", "--runs", "2"]).1["estimate"]["agent_runs"], 8);
    assert_eq!(asked(&context), [""; 0]);
    assert!(!key_file(&mut context).exists());
    context.write(".ai-rulez/skills/deploy/evals/b.eval.yaml", "cases: 1\n");
    assert_eq!(report(&context, &["--dry-run"]).0, 2);
}

#[test]
fn a_budget_is_kept() {
    let context = project();
    let dry = report(&context, &["--dry-run"]).1["estimate"].clone();
    let usd = |figure: &str| dry[figure].as_f64().unwrap();
    let between = f64::midpoint(usd("cost_usd"), usd("cost_high_usd")).to_string();
    let refused = run(&context, &["--max-cost", &between]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("(high figure)"), "{refused}");
    assert_eq!(asked(&context), [""; 0]);
    // The expected figure fits; then the first skill uses up everything.
    answer_at(&context, "deploy", 1.0);
    let args = ["--max-cost", &between, "--max-cost-mode", "expected"];
    let (code, report) = report(&context, &args);
    assert_eq!(
        (code, statuses(&report)),
        (2, vec!["deploy ran true".into(), "notes skipped-over-budget false".into()])
    );
    let codex =
        ["eval", "run", "--mode", "activation", "--surface", "native", "--harness", "codex"];
    let blind = context.run(codex.iter().chain(&["--max-cost", "100", "--model", "gpt-4o"]));
    assert_eq!(blind.code, 1);
    assert!(blind.stderr.contains("reports no cost"), "{blind}");
    let unpriced = ["--runner-command", "./runner.sh", "--max-cost", "100", "--model", "mystery"];
    let unpriced = context.run(codex.iter().chain(&unpriced));
    assert!(unpriced.code == 1 && unpriced.stderr.contains("--price-in"), "{unpriced}");
}

#[test]
fn two_descriptions_share_one_budget_and_one_report() {
    let context = project();
    context.write("new.txt", "Ship a service");
    let args = ["deploy", "--description-from", "new.txt", "--against", "current"];
    let (code, comparison) = report(&context, &args);
    assert_eq!(
        (code, &comparison["verdict"], &comparison["ties"]),
        (0, &json!("no-difference-shown"), &json!(2))
    );
    assert_eq!(asked(&context), ["capabilities ", "activation deploy", "activation deploy"]);
    assert_eq!(
        (&comparison["cost"]["actual_usd"], &comparison["estimate"]["agent_runs"]),
        (&json!(0.05), &json!(20))
    );
    assert_eq!(comparison["new"]["measured"]["prompts"][0]["runs"], 5);
    assert!(comparison["warnings"][0].as_str().unwrap().contains("2 prompts cannot show"));
    // The last request was for the description that the skill has.
    assert!(context.read("request-deploy").contains("\"Deploy a service\""));
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
    let (code, dry) = report(&context, &[&args[..], &["--dry-run"]].concat());
    assert_eq!((code, &dry["verdict"], asked(&context)), (0, &json!("not-measured"), vec![]));
}
