//! What a run may cost, end to end. Skipped where bubblewrap is not installed.

use std::fs;
use std::path::PathBuf;

use proctor_testkit::{Run, TestContext};
use serde_json::Value;

use crate::rooms::context;

/// Trials that cost what their prompts say.
fn priced(limits: &str) -> Option<TestContext> {
    let mut context = context()?;
    context.add_filter("::[0-9a-f]{16}\\b", "::[TRIAL]");
    context.add_filter("[0-9A-Z]{26}", "[RUN]");
    context.write("agent.yaml", "steps:\n  - say: Hello.\n  - usage: {cost_usd: 0.4}\n");
    context.write(
        "priced.yaml",
        format!(
            "schema_version: 2\nid: priced\nname: Priced\nagents: [scripted]\n\
             prompts: [{{id: p, prompt: x}}]\ntests: [{{name: t, script: 'true'}}]\n\
             limits: {{max_time_seconds: 60{limits}}}\n"
        ),
    );
    Some(context)
}

fn run(context: &TestContext, cap: &str) -> Run {
    let args = ["experiment", "run", "priced.yaml", "--repeat", "5", "--jobs", "2"];
    context.run(args.iter().chain(&["--max-cost", cap]))
}

fn report(context: &TestContext) -> Value {
    let view = context.run(["run", "view", "latest", "--format", "json"]);
    serde_json::from_str(&view.stdout).unwrap()
}

/// The folder of the latest run.
fn latest(context: &TestContext) -> PathBuf {
    let runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
    runs.map(|run| run.unwrap().path()).max().unwrap()
}

#[test]
fn a_run_stops_before_its_cap_and_goes_on_under_a_higher_one() {
    let Some(context) = priced(", max_cost_usd: 0.5") else { return };
    let capped = run(&context, "1.00");
    let mut lines: Vec<&str> = capped.stdout.lines().collect();
    lines.extend(capped.stderr.lines().filter(|line| !line.starts_with('[')));
    insta::assert_snapshot!(lines.join("\n"), @"
    not started  scripted::p #2: the cap of $1 could be passed: $0.8 are counted, and a trial of scripted may cost $0.5
    not started  scripted::p #3: the cap of $1 could be passed: $0.8 are counted, and a trial of scripted may cost $0.5
    not started  scripted::p #4: the cap of $1 could be passed: $0.8 are counted, and a trial of scripted may cost $0.5
    scripted::p  2 passed, 0 failed, 0 errors of 5  100% (34-100%, n = 2)
    priced-[RUN]: 2 passed, 0 failed, 0 errors of 5 trials, 3 not run, $0.8000  100% (34-100%, n = 2)
    warning of 2 trials: not_enforced: nothing keeps `max_cost_usd` of this agent
    warning: `scripted` does not keep `max_cost_usd` itself: a trial may cost more than the $0.5 that are set aside for it, and so pass the cap
    run priced-[RUN]: 5 trials
    `proctor run resume priced-[RUN] --max-cost USD` goes on with a higher cap
    ");
    assert_eq!(capped.code, 1);
    let unfinished = report(&context)["unfinished"].clone();
    assert_eq!(unfinished.as_array().unwrap().len(), 3);
    assert!(unfinished[0]["not_started"].as_str().unwrap().contains("the cap of $1"));

    let same = context.run(["run", "resume"]);
    assert_eq!(same.code, 1, "{same}");
    assert!(same.stdout.contains("2 passed, 0 failed, 0 errors of 5 trials, 3 not run"), "{same}");
    let higher = context.run(["run", "resume", "--max-cost", "1.3"]);
    assert!(higher.stdout.contains("3 passed"), "{higher}");
    assert!(higher.stdout.contains("the cap of $1.3 could be passed: $1.2 are"), "{higher}");
    let enough = context.run(["run", "resume", "--max-cost", "9"]);
    assert_eq!(enough.code, 0, "{enough}");
    assert!(
        enough.stdout.contains("5 passed, 0 failed, 0 errors of 5 trials, $2.0000"),
        "{enough}"
    );
    let plan = fs::read_to_string(latest(&context).join("group.json")).unwrap();
    let plan: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(plan["options"]["max_cost_usd"], 9.0);
    let filled = context.run(["run", "rerun", "latest", "--to", "6", "--max-cost", "2.2"]);
    assert_eq!(filled.code, 1, "what the run has cost counts: {filled}");
    assert!(filled.stdout.contains("$2 are counted"), "{filled}");
    for amount in ["0", "-1", "nan", "inf", "much"] {
        let refused = run(&context, amount);
        assert_eq!(refused.code, 2, "{refused}");
    }
    let tests = context.run(["run", "rerun", "latest", "--tests", "--max-cost", "1"]);
    assert_eq!(tests.code, 2, "{tests}");
}

#[test]
fn without_a_limit_the_first_trial_runs_alone_and_tells_of_the_others() {
    let Some(context) = priced("") else { return };
    let capped = run(&context, "1");
    assert_eq!(capped.code, 1, "{capped}");
    assert!(capped.stdout.contains("2 passed"), "{capped}");
    assert!(capped.stdout.contains("a trial of scripted may cost $0.4"), "{capped}");
    assert!(capped.stderr.contains("its first one runs alone"), "{capped}");
    let journal = fs::read_to_string(latest(&context).join("index.jsonl")).unwrap();
    let aside: Vec<f64> = journal
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["usd"].as_f64())
        .collect();
    assert_eq!(aside, [1.0, 0.4]);
}

#[test]
fn who_does_not_say_what_it_cost_has_spent_everything() {
    let Some(context) = priced("") else { return };
    context.write("agent.yaml", "steps:\n  - say: Hello.\n");
    let capped = run(&context, "1");
    assert_eq!(capped.code, 1, "{capped}");
    assert!(capped.stdout.contains("1 passed"), "{capped}");
    assert!(capped.stdout.contains("the cap of $1 is reached: $1 are counted"), "{capped}");
    // Nothing tells what it cost, so none of it can be capped later.
    let uncapped = context.run(["experiment", "run", "priced.yaml"]);
    assert_eq!(uncapped.code, 0, "{uncapped}");
    let refused = context.run(["run", "rerun", "latest", "--to", "2", "--max-cost", "5"]);
    assert_eq!(refused.code, 2, "{refused}");
    assert!(refused.stderr.contains("do not say what they cost"), "{refused}");
}

#[test]
fn what_costs_nothing_needs_no_money() {
    let Some(context) = priced("") else { return };
    let args = ["experiment", "run", "priced.yaml", "--repeat", "3", "--max-cost", "0.01"];
    let mock = context.run(args.iter().chain(&["--mock"]));
    assert_eq!(mock.code, 0, "{mock}");
    assert!(!mock.stderr.contains("warning"), "{mock}");
    let check = context.run(args.iter().chain(&["--check-only"]));
    assert_eq!(check.code, 0, "{check}");
}
