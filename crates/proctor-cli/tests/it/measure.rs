//! `proctor experiment query`, `compare` and `power`, over runs that are made by hand.

use camino::Utf8Path;
use insta::assert_snapshot;
use proctor_model::run::{PlannedTrial, RunPlan, TrialRecord};
use proctor_store::runs::Runs;
use proctor_testkit::TestContext;
use serde_json::{Value, json};

fn context() -> TestContext {
    TestContext::new(env!("CARGO_BIN_EXE_proctor"))
}

/// Puts a run into the project. Each agent has prompts `p0`, `p1`, ... with one letter a repetition:
/// `+` passed, `-` failed, `!` error.
fn keep(context: &TestContext, run_id: &str, agents: &[(&str, &[&str])]) {
    let mut records = Vec::new();
    for (agent, prompts) in agents {
        for (number, outcomes) in prompts.iter().enumerate() {
            for (repeat, outcome) in outcomes.chars().enumerate() {
                records.push(record(run_id, agent, number, repeat, outcome));
            }
        }
    }
    let trials: Vec<PlannedTrial> = records
        .iter()
        .map(|record| PlannedTrial {
            id: record.run_id.clone(),
            variant_id: record.variant_id.clone(),
            fingerprint: record.fingerprint.clone(),
            repeat_idx: record.repeat_idx,
            path: format!(
                "variants/{}/{}",
                record.variant_id.replace("::", "__"),
                record.repeat_idx
            ),
        })
        .collect();
    let plan: RunPlan = serde_json::from_value(json!({
        "schema_version": 1, "run_id": run_id, "experiment_id": "greetings", "created_at": 0,
        "proctor_version": "0.1.0", "experiment_file": "greetings.yaml", "experiment_digest": "x",
        "options": {}, "trials": trials,
    }))
    .unwrap();
    let runs = Runs::of(Utf8Path::from_path(context.project()).unwrap());
    let writer = runs.create(&plan, b"id: greetings\n").unwrap();
    for (trial, record) in plan.trials.iter().zip(&records) {
        writer.start(trial).unwrap();
        writer.finish(trial, record).unwrap();
    }
}

fn record(run: &str, agent: &str, prompt: usize, repeat: usize, outcome: char) -> TrialRecord {
    let (status, tests) = match outcome {
        '+' => ("pass", ["passed", "passed"]),
        '-' => ("fail", ["passed", "failed"]),
        _ => ("error", ["skipped", "skipped"]),
    };
    let test = |name: &str, status: &str| {
        json!({ "name": name, "status": status, "exit_code": null, "duration_ms": 1,
                "stdout_tail": "", "stderr_tail": "" })
    };
    let digits = format!("{:016x}", run.len() * 1000 + agent.len() * 100 + prompt * 10 + repeat);
    let cents = if agent == "claude" { 4 } else { 3 } + prompt + repeat;
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": format!("{agent}::p{prompt}::{digits}"), "run_group_id": run,
        "scenario_id": "greetings", "variant_id": format!("{agent}::p{prompt}"),
        "fingerprint": "f", "repeat_idx": repeat,
        "coordinates": { "agent": agent, "prompt_id": format!("p{prompt}") },
        "status": status, "exit_reason": if status == "error" { "timeout" } else { "end_turn" },
        "started_at": 1000, "ended_at": 3000 + 100 * prompt,
        "phases": [{ "phase": "agent", "duration_ms": 1500 }],
        "usage": { "input_tokens": 1000, "output_tokens": 100 + 10 * repeat,
                   "cost_usd": f64::from(u32::try_from(cents).unwrap()) / 100.0 },
        "tool_calls": 3, "tool_calls_failed": 0,
        "tests": [test("made", tests[0]), test("right", tests[1])],
    }))
    .unwrap()
}

const FIRST: &str = "greetings-01K0000000000000000000000A";
const SECOND: &str = "greetings-01K0000000000000000000000B";

/// Two runs: in the second one agent has got worse.
fn two_runs() -> TestContext {
    let context = context();
    let good: &[&str] = &["++", "++", "+-", "++", "++"];
    keep(&context, FIRST, &[("claude", good), ("codex", &["+-", "++", "-+", "!+", "++"])]);
    let worse: &[&str] = &["--", "--", "--", "+-", "++"];
    keep(&context, SECOND, &[("claude", worse), ("codex", &["+-", "++", "-+", "++", "+!"])]);
    context
}

#[test]
fn figures_by_group_have_n_intervals_and_reasons() {
    let context = two_runs();
    let args = ["experiment", "query", FIRST, "--group-by", "agent"];
    let metrics = "pass-rate,testPassRate,cost,tokens,turns,pass@2,pass^2";
    assert_snapshot!(context.run(args.iter().chain(&["--metric", metrics])));
    let csv = context.run(args.iter().chain(&["--metric", "pass-rate,cost", "--format", "csv"]));
    assert_snapshot!(csv);
    let page = context.run(args.iter().chain(&["--metric", "pass^2", "--format", "markdown"]));
    assert_snapshot!(page);
}

#[test]
fn an_experiment_is_all_of_its_runs() {
    let context = two_runs();
    let run =
        context.run(["experiment", "query", "greetings", "--metric", "pass-rate", "-f", "json"]);
    assert_eq!(run.code, 0, "{run}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["runs"], json!([FIRST, SECOND]));
    let group = &report["groups"][0];
    assert_eq!((&group["n"], &group["errors"]), (&json!(38), &json!(2)));
    let figure = &group["metrics"][0];
    assert_eq!((&figure["n"], &figure["successes"]), (&json!(38), &json!(26)));
    assert_eq!(figure["interval"]["method"], "wilson");
    assert_eq!(figure["clustered"]["clusters"], 5);
    let narrow = [
        "experiment",
        "query",
        "greetings",
        "--where",
        "agent=codex",
        "--group-by",
        "promptId,run",
    ];
    let run = context.run(narrow.iter().chain(&["--limit", "2"]));
    assert!(run.stderr.contains("10 groups, of which the first 2 are printed"), "{run}");
}

#[test]
fn what_is_not_known_is_named_with_what_there_is() {
    let context = two_runs();
    for (args, said) in [
        (&["greetings", "--group-by", "agnet"][..], "did you mean `agent`?"),
        (&["greetings", "--metric", "costs"], "did you mean `cost`?"),
        (&["greetings", "--metric", "pass@k"], "such as `pass@3`"),
        (&["greetings", "--where", "agent=gemini"], "there is `claude`, `codex`"),
        (&["greeting-s"], "there are runs of an experiment `greetings`"),
        (&["greetings", "--metric", "cost", "sql", "SELECT 1"], "not for `sql`"),
    ] {
        let run = context.run(["experiment", "query"].iter().chain(args));
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains(said), "{run}");
    }
}

#[test]
fn sql_stands_behind_its_word() {
    let context = two_runs();
    let count = "SELECT count() AS n FROM verdicts";
    let run = context.run(["experiment", "query", "greetings", "sql", count]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "{\"n\":40}\n"), "{run}");
}

#[test]
fn two_runs_are_compared_cell_by_cell() {
    let context = two_runs();
    let run = context.run(["compare", FIRST, "latest"]);
    assert_eq!(run.code, 1, "{run}");
    assert_snapshot!(run);
    let same = context.run(["compare", FIRST, FIRST]);
    assert_eq!(same.code, 0, "{same}");
    let page = context.run(["compare", FIRST, SECOND, "--where", "agent=claude", "-f", "markdown"]);
    assert_snapshot!(page);
    let junit = context.run(["compare", FIRST, SECOND, "--format", "junit"]);
    assert_eq!(junit.code, 1, "{junit}");
    assert_snapshot!(junit.stdout);
}

#[test]
fn a_saved_report_is_a_baseline() {
    let context = two_runs();
    let view = context.run(["run", "view", FIRST, "--format", "json"]);
    context.write("baseline.json", &view.stdout);
    let run = context.run(["compare", "baseline.json", SECOND, "--format", "json"]);
    assert_eq!(run.code, 1, "{run}");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["verdict"], "worse");
    assert_eq!(report["baseline"], "baseline.json");
    context.write("other.json", "{}");
    let wrong = context.run(["compare", "other.json", "latest"]);
    assert_eq!(wrong.code, 2, "{wrong}");
    assert!(wrong.stderr.contains("other.json is no report of a run"), "{wrong}");
}

#[test]
fn agents_of_one_run_are_compared_and_noise_ranks_nobody() {
    let context = two_runs();
    let run = context.run(["compare", FIRST, "--by", "agent"]);
    assert_eq!(run.code, 0, "{run}");
    assert_snapshot!(run);
    let turned =
        ["compare", FIRST, "--by", "agent=codex", "--against", "agent=claude", "--margin", "0.1"];
    let run = context.run(turned);
    assert_eq!(run.code, 1, "{run}");
    assert!(
        run.stdout.contains("It is not shown that `claude` is at most 10 points worse"),
        "{run}"
    );
    for (args, said) in [
        (&["compare", FIRST, "--by", "model"][..], "all trials have the same model"),
        (&["compare", FIRST, "--by", "status"], "cannot be compared by it"),
        (&["compare", FIRST, "--by", "agent=gemini"], "no trial has agent `gemini`"),
        (&["compare", FIRST, "--by", "agent", "--against", "prompt=p1"], "another key"),
        (&["compare", FIRST], "<B>"),
        (&["compare", FIRST, SECOND, "--margin", "5"], "between 0 and 1"),
    ] {
        let run = context.run(args);
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains(said), "{run}");
    }
}

#[test]
fn power_says_what_a_plan_can_show() {
    let context = context();
    let run = context.run(["power", "--n", "40", "--effect", "0.2"]);
    assert_eq!(run.code, 0, "{run}");
    assert_snapshot!(run);
    let run = context.run(["power", "--n", "5", "--gate", "0.9", "--margin", "0.05"]);
    assert_eq!(run.code, 1, "{run}");
    assert_snapshot!(run);
    context.write(
        "experiment.yaml",
        "schema_version: 2\nid: greetings\nname: Greetings\nagents: [claude, codex, cursor]\n\
         prompts:\n  - {id: a, prompt: say a}\n  - {id: b, prompt: say b}\n\
         tests: [{name: made, script: test -s /workspace/a}]\nlimits: {max_time_seconds: 60}\n",
    );
    let run = context.run(["power", "experiment.yaml", "--repeat", "2"]);
    assert_eq!(run.code, 1, "{run}");
    assert_snapshot!(run);
    let run = context.run(["power", "experiment.yaml", "--repeat", "20", "--format", "json"]);
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!((&report["n"], &report["comparisons"]), (&json!(40), &json!(2)));
    assert_eq!(report["can_decide"], true);
    let run = context.run(["power"]);
    assert_eq!(run.code, 2, "{run}");
    // Sums over all outcomes of so many would never end.
    for args in [["--n", "1000001"], ["--n", "18446744073709551615"]] {
        let run = context.run(["power"].iter().chain(&args));
        assert_eq!(run.code, 2, "{run}");
        assert!(run.stderr.contains("at most 1000000"), "{run}");
    }
}
