//! A small project with skills, cases and a runner that answers from files.

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

/// Answers with `answers/SKILL.json`, and writes down that it was asked.
const RUNNER: &str = r#"#!/bin/sh
echo "$AI_RULEZ_EVAL_SKILL" >> asked
cat > "request-$AI_RULEZ_EVAL_SKILL"
echo "on $AI_RULEZ_EVAL_SKILL" >&2
exec cat "answers/$AI_RULEZ_EVAL_SKILL.json"
"#;

/// A context with `runner.sh` and no skill.
pub(crate) fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    write_runner(&context, RUNNER);
    std::fs::create_dir_all(context.project().join(".ai-rulez/skills")).unwrap();
    context
}

/// Replaces the runner.
pub(crate) fn write_runner(context: &TestContext, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    context.write("runner.sh", script);
    let path = context.project().join("runner.sh");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writes a skill with two cases: `yes` has to fire it and to answer `staging-eu`, `no` must not.
pub(crate) fn write_skill(context: &TestContext, id: &str) {
    write_skill_file(context, id, "Deploy a service");
    let cases = "\
cases:
  - id: yes
    prompt: Deploy billing
    expect_trigger: true
    assertions: [{type: contains, value: staging-eu}]
    tags: [smoke]
  - id: no
    prompt: What is the capital of France?
    expect_trigger: false
";
    context.write(&format!(".ai-rulez/skills/{id}/evals/a.eval.yaml"), cases);
}

/// Writes the `SKILL.md` of a skill.
pub(crate) fn write_skill_file(context: &TestContext, id: &str, description: &str) {
    let text = format!("---\nname: {id}\ndescription: {description}\n---\nSay staging-eu.\n");
    context.write(&format!(".ai-rulez/skills/{id}/SKILL.md"), text);
}

/// What the runner answers for a skill: both cases, for the costs of `usd`.
pub(crate) fn write_answer(context: &TestContext, id: &str, answer: &str, usd: f64) {
    let answer = json!({"version": 1, "results": [
        {"case": "yes", "arm": "with", "triggered": true, "output": answer, "cost_usd": usd},
        {"case": "no", "arm": "with", "triggered": false},
    ]});
    write_raw_answer(context, id, &answer.to_string());
}

/// The same, whatever it is.
pub(crate) fn write_raw_answer(context: &TestContext, id: &str, answer: &str) {
    context.write(&format!("answers/{id}.json"), answer);
}

/// A skill whose cases pass.
pub(crate) fn write_good_skill(context: &TestContext, id: &str) {
    write_skill(context, id);
    write_answer(context, id, "on staging-eu now", 0.03);
}

/// The skills for which the runner was started since the last time, in order.
pub(crate) fn asked(context: &TestContext) -> Vec<String> {
    let path = context.project().join("asked");
    let asked = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(&path, "").unwrap();
    asked.lines().map(str::to_owned).collect()
}

/// `proctor eval run` with the runner.
pub(crate) fn run(context: &TestContext, args: &[&str]) -> Run {
    let command = ["eval", "run", "--runner-command", "./runner.sh"];
    context.run(command.iter().chain(args))
}

/// The same with a report in JSON: the exit code and the report.
pub(crate) fn report(context: &TestContext, args: &[&str]) -> (i32, Value) {
    let run = run(context, &[args, &["--format", "json"]].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}\n{run}"));
    (run.code, report)
}

/// `skill status passing` of each skill in a report.
pub(crate) fn statuses(report: &Value) -> Vec<String> {
    let skills = report["skills"].as_array().unwrap().iter();
    let line = |skill: &Value| {
        let word = |key: &str| skill[key].as_str().unwrap().to_owned();
        format!("{} {} {}", word("id"), word("status"), skill["passing"])
    };
    skills.map(line).collect()
}

/// The results file.
pub(crate) fn results(context: &TestContext) -> Value {
    serde_json::from_str(&context.read(".ai-rulez/eval-results.json")).unwrap()
}

/// Where the user's key lies.
pub(crate) fn key_file(context: &mut TestContext) -> std::path::PathBuf {
    context.home().root().join("home/.config/ai-rulez/eval-results.key")
}
