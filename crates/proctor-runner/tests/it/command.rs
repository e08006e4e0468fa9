//! The runner `command`: the protocol, and everything that can be wrong with an answer.

use std::time::{Duration, Instant};

use proctor_model::eval::{CaseStatus, SkillStatus};
use proctor_runner::eval::{Options, runner};
use serde_json::{Value, json};

use crate::scene::{SECRET, Scene};

const TWO_CASES: &str = "
  - id: fires
    prompt: Deploy it
    expect_trigger: true
    near_miss: [Explain it]
";

const ANSWER: &str = r#"{"version": 1, "results": [
  {"case": "fires", "arm": "with", "triggered": true},
  {"case": "fires.near-miss-1", "arm": "with", "triggered": false}
]}"#;

/// The report's error for a command that is `script`.
fn error(script: &str) -> String {
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.command(script);
    let ran = scene.run("command");
    let report = &ran.skills[0].report;
    assert_eq!(report.status, SkillStatus::Error, "{report:#?}");
    assert!(report.cases.is_empty() && report.score.is_none() && !report.passing);
    assert_eq!(ran.skills[0].kept, None);
    assert_eq!(ran.stopped, None);
    report.error.clone().unwrap()
}

/// The same for a command that prints `answer`.
fn error_of(answer: &Value) -> String {
    error(&format!("cat <<'END'\n{answer}\nEND"))
}

#[test]
fn a_whole_answer_is_scored() {
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.command(&format!("cat <<'END'\n{ANSWER}\nEND"));
    let ran = scene.run("command");
    let report = &ran.skills[0].report;
    assert_eq!((report.status, report.passing), (SkillStatus::Ran, true), "{report:#?}");
    let score = ran.skills[0].kept.unwrap();
    assert_eq!((score.scored, score.passed, score.skill_tokens), (2, 2, 7));
    assert_eq!(report.warnings, Vec::<String>::new());
}

#[test]
fn the_request_is_on_standard_input_and_the_protocol_in_the_environment() {
    let mut scene = Scene::with_cases(
        "
  - id: one
    prompt: Deploy
    expect_trigger: true
    files: [{path: a/b.txt, content: x}]
    assertions: [{type: contains, value: eu}]
    rubric_items: [{text: names the cluster, weight: 2}]
    model: haiku
",
    );
    scene.model = Some("sonnet".to_owned());
    scene.ablation = true;
    scene.max_cost_usd = 2.5;
    scene.command(
        "cat >request.json
         pwd >where
         env | grep ^AI_RULEZ | sort >environment
         echo '{\"version\":1,\"results\":[]}'",
    );
    scene.run("command");
    let request: Value = serde_json::from_str(&scene.left("request.json")).unwrap();
    assert_eq!(request["skill"]["dir"], format!("{}/skills/deploy", scene.project));
    assert!(request["skill"]["digest"].as_str().unwrap().starts_with("sha256:"));
    let case = &request["cases"][0];
    assert_eq!(case["files"], json!([{"path": "a/b.txt", "content": "x"}]));
    assert!(case["rubric"].as_str().unwrap().contains("(weight 2) names the cluster"));
    assert_eq!(case["rubric_items"], json!([{"text": "names the cluster", "weight": 2}]));
    assert_eq!(
        (&request["version"], &request["harness"], &request["model"], &request["ablation"]),
        (&json!(1), &json!("scripted"), &json!("sonnet"), &json!(true))
    );
    assert_eq!(request["max_cost_usd"], json!(2.5));
    assert_eq!(request.get("mode"), None);
    assert_eq!(
        scene.left("environment"),
        "AI_RULEZ_EVAL_MODE=\nAI_RULEZ_EVAL_PROTOCOL=1\nAI_RULEZ_EVAL_SKILL=deploy\n"
    );
    assert_eq!(scene.left("where").trim(), scene.project);
}

#[test]
fn each_bad_answer_is_told_apart() {
    let results = |result: Value| json!({"version": 1, "results": [result]});
    let result = |more: Value| {
        let mut result = json!({"case": "fires", "arm": "with", "triggered": true});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        results(result)
    };
    let nothing = "the runner printed nothing";
    let cases = [
        (error("true"), nothing),
        (error("echo; echo '  '"), nothing),
        (
            error("echo All done."),
            "printed no JSON: expected value at line 1, column 1 (`All done.",
        ),
        (error(&format!("echo '{}'; echo done", json!({"version": 1}))), "trailing characters"),
        (
            error("printf '{\"version\": 1, \"resul'"),
            "printed half an answer: it ends after 21 bytes",
        ),
        (error_of(&json!({"version": 2})), "answered in version 2 of the protocol"),
        (error_of(&json!({"results": []})), "answered in version 0 of the protocol"),
        (error_of(&json!([])), "another shape than the protocol's"),
        (error_of(&result(json!({"triggered": "yes"}))), "another shape than the protocol's"),
        (
            error_of(&results(json!({"case": "f", "arm": "with"}))),
            "results[0]: there is no case `f`",
        ),
        (error_of(&results(json!({"arm": "with"}))), "results[0]: there is no case ``"),
        (error_of(&result(json!({"arm": "With"}))), "results[0]: there is no arm `With`"),
        (error_of(&result(json!({"cost_usd": -0.1}))), "results[0].cost_usd is -0.1; it must be 0"),
        (error_of(&json!({"version": 1, "cost_usd": -1})), "cost_usd is -1; it must be 0"),
        (error_of(&result(json!({"input_tokens": -5}))), "results[0].input_tokens is -5"),
        (
            error_of(&result(json!({"rubric_score": 1.5}))),
            "rubric_score is 1.5; it must be from 0 to 1",
        ),
        (error("echo '{\"version\": 1, \"cost_usd\": NaN}'"), "not finite at line 1, column 28"),
        (error("echo '{\"version\": 1, \"cost_usd\": -Infinity}'"), "not finite"),
        (error("echo '{\"version\": 1, \"cost_usd\": 1e999}'"), "not finite"),
    ];
    for (error, expected) in &cases {
        assert!(error.contains(expected), "{error}\nshould hold: {expected}");
    }
}

#[test]
fn an_answer_beyond_the_limit_is_no_answer() {
    let error = error("head -c 68157440 /dev/zero | tr '\\0' ' '; echo '{\"version\": 1}'");
    assert!(error.contains("printed more than 64 MiB"), "{error}");
}

#[test]
fn who_prints_without_end_is_stopped() {
    let started = Instant::now();
    let error = error("yes '{\"version\": 1}'");
    assert!(error.contains("printed more than 64 MiB"), "{error}");
    assert!(started.elapsed() < Duration::from_mins(1));
}

#[test]
fn an_exit_code_spoils_a_whole_answer() {
    let error = error(&format!("cat <<'END'\n{ANSWER}\nEND\necho bad luck >&2; exit 3"));
    assert_eq!(
        error,
        "the runner exited with code 3 after a whole answer, which does not count; its last words: \
         bad luck"
    );
}

#[test]
fn ends_without_an_answer_are_told_apart() {
    assert_eq!(error("exit 4"), "the runner exited with code 4");
    // The outer shell says it so.
    assert!(error("kill -9 $$").starts_with("the runner exited with code 137"));
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.options.command = Some("kill -9 $$".to_owned());
    let signaled = scene.report("command").error.unwrap();
    assert_eq!(signaled, "the runner was ended by signal 9");
    let missing = error("exec /nonexistent/program");
    assert!(missing.contains("exited with code 127"), "{missing}");
}

#[test]
fn a_hang_ends_with_the_timeout_and_its_tree_with_it() {
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.timeout = Duration::from_secs(1);
    scene.command(&format!("cat <<'END'\n{ANSWER}\nEND\n(sleep 600; touch late) & sleep 600"));
    let started = Instant::now();
    let report = scene.report("command");
    assert!(started.elapsed() < Duration::from_secs(30));
    let error = report.error.unwrap();
    assert!(error.starts_with("the runner was ended after 1 s"), "{error}");
}

#[test]
fn who_forks_away_gives_no_answer() {
    // Once with the pipe held open, once without.
    for redirect in ["", ">/dev/null 2>&1"] {
        let error = error(&format!("setsid sh -c 'sleep 600' {redirect} & exit 0"));
        assert!(error.contains("left processes behind, which were killed"), "{error}");
    }
}

#[test]
fn a_whole_answer_counts_although_a_process_was_left_behind() {
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.command(&format!("setsid sleep 600 &\ncat <<'END'\n{ANSWER}\nEND"));
    let report = scene.report("command");
    assert!(report.passing, "{report:#?}");
    assert!(report.warnings[0].contains("left processes behind"), "{:?}", report.warnings);
}

#[test]
fn null_stands_for_what_is_not_there() {
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.command(r#"echo '{"version": 1, "results": null, "cost_usd": null}'"#);
    let report = scene.report("command");
    assert_eq!(report.status, SkillStatus::Ran);
    assert_eq!(report.score.unwrap().errors, 2);
}

#[test]
fn what_concerns_one_case_is_its_error_alone() {
    let mut scene = Scene::with_cases(
        "
  - {id: a, prompt: x, expect_trigger: true}
  - {id: b, prompt: x, expect_trigger: true}
  - {id: c, prompt: x, expect_trigger: true}
  - {id: d, prompt: x, expect_trigger: true}
  - {id: e, prompt: x, expect_trigger: true}
",
    );
    scene.command(
        r#"echo '{"version": 1, "results": [
          {"case": "a", "arm": "with"},
          {"case": "b", "arm": "with", "error": "rate limit"},
          {"case": "c", "arm": "with", "skipped": true, "reason": "needs a browser"},
          {"case": "d", "arm": "with", "triggered": false},
          {"case": "d", "arm": "with", "triggered": true, "later": [1]}
        ]}'"#,
    );
    let report = scene.report("command");
    let statuses: Vec<CaseStatus> = report.cases.iter().map(|case| case.status).collect();
    let error = CaseStatus::Error;
    assert_eq!(statuses, [error, error, CaseStatus::Skipped, CaseStatus::Passed, error]);
    assert!(report.cases[0].reason.as_ref().unwrap().contains("whether the skill fired"));
    assert_eq!(report.cases[1].reason.as_deref(), Some("rate limit"));
    assert_eq!(report.cases[4].reason.as_deref(), Some("the runner gave no result"));
    let score = report.score.unwrap();
    assert_eq!((score.scored, score.passed, score.errors, score.skipped), (4, 1, 3, 1));
    assert_eq!(score.trigger_recall, Some(1.0));
}

#[test]
fn standard_error_is_told_by_lines_and_nothing_shows_a_secret() {
    let mut scene = Scene::with_cases(TWO_CASES);
    scene.command("echo one >&2; echo \"two $A_SECRET\" >&2; printf \"{ $A_SECRET\"");
    let report = scene.report("command");
    assert_eq!(scene.stderr(), "one\ntwo [redacted]");
    let error = report.error.unwrap();
    assert!(!error.contains(SECRET) && error.contains("[redacted]"), "{error}");
}

const ASSERTIONS: &str = "
  - id: files
    prompt: x
    expect_trigger: true
    assertions:
      - {type: contains, value: eu}
      - {type: file_exists, path: out.txt}
      - {type: command_exit, command: 'test -z \"$A_SECRET\" && grep -q ok out.txt'}
";

/// A command that leaves a working directory.
const LEAVES_FILES: &str = r#"mkdir -p work; echo ok >work/out.txt
echo "{\"version\": 1, \"results\": [{\"case\": \"files\", \"arm\": \"with\", \"triggered\": true,
\"output\": \"in eu\", \"work_dir\": \"$PWD/work\"}]}""#;

#[test]
fn assertions_are_graded_on_what_the_runner_left() {
    let mut scene = Scene::with_cases(ASSERTIONS);
    scene.allow_exec = true;
    scene.command(LEAVES_FILES);
    let case = scene.case("command");
    assert_eq!(case.status, CaseStatus::Passed, "{case:#?}");
    assert_eq!(case.outcome_passed, Some(true));
}

#[test]
fn commands_of_cases_run_only_when_that_is_allowed() {
    let mut scene = Scene::with_cases(ASSERTIONS);
    scene.command(LEAVES_FILES);
    let case = scene.case("command");
    assert_eq!(case.status, CaseStatus::Failed);
    assert_eq!(case.failures.len(), 1);
    assert!(case.failures[0].contains("--allow-exec"), "{:?}", case.failures);
}

#[test]
fn a_command_of_a_case_without_a_folder_says_so() {
    let mut scene = Scene::with_cases(ASSERTIONS);
    scene.allow_exec = true;
    scene.command(
        r#"echo '{"version": 1, "results": [{"case": "files", "arm": "with", "triggered": true,
           "output": "eu", "work_dir": "relative"}]}'"#,
    );
    let failures = scene.case("command").failures;
    assert_eq!(failures.len(), 2, "{failures:?}");
    assert!(failures.iter().all(|failure| failure.contains("no working directory")));
}

#[test]
fn a_runner_needs_its_options() {
    let error = |name: &str, options: &Options| match runner(name, options) {
        Err(error) => error.to_string(),
        Ok(runner) => panic!("{} was built", runner.name()),
    };
    let none = Options { harness: "claude".to_owned(), ..Options::default() };
    assert_eq!(
        error("comand", &none),
        "unknown runner `comand`; did you mean `command`?; there are command, claude-plugin-eval, \
         native"
    );
    assert!(error("command", &none).contains("`--runner-command`"));
    let codex = Options { harness: "codex".to_owned(), ..Options::default() };
    assert!(error("claude-plugin-eval", &codex).contains("harness `claude` only"));
    let many = Options { runs: Some(51), ..none };
    assert!(error("claude-plugin-eval", &many).contains("at most 50"));
    let odd = Options { harness: "odd".to_owned(), ..Options::default() };
    assert!(error("native", &odd).contains("it drives claude, codex, scripted"));
}
