//! `proctor eval import`.

use std::os::unix::fs::symlink;
use std::path::Path;

use proctor_testkit::TestContext;
use serde_json::Value;

const CRITERIA: &str = r#"{
  "scenario": "greet",
  "criteria": [{"name": "polite", "description": "Is polite", "weight": 2}, "The output contains 'hello'"],
  "pass_threshold": 75,
  "owner": "us"
}"#;

fn context() -> TestContext {
    let context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    context.write(".ai-rulez/skills/hello/SKILL.md", "---\nname: hello\ndescription: x\n---\nx\n");
    context.write("scenarios/one/criteria.json", CRITERIA);
    context.write("scenarios/one/task.md", "Greet me\n");
    context
}

const IMPORT: [&str; 4] = ["eval", "import", "--from", "tessl"];

fn tessl<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    IMPORT.iter().chain(rest).copied().collect()
}

#[test]
fn cases_are_filed_under_their_skill_and_load() {
    let context = context();
    let run = context.run(tessl(&[
        "scenarios/one/criteria.json",
        "--skill",
        "hello",
        "--lift-assertions",
        "--report",
        "out/import.json",
    ]));
    insta::assert_snapshot!(run);
    insta::assert_snapshot!(context.read(".ai-rulez/skills/hello/evals/greet.eval.yaml"));
    assert_eq!(context.read(".ai-rulez/skills/hello/evals/greet.task.md"), "Greet me\n");
    let report: Value = serde_json::from_str(&context.read("out/import.json")).unwrap();
    assert_eq!(report["out"], ".ai-rulez/skills/hello/evals");
    assert_eq!(report["findings"][0]["code"], "AR9A5");
    let lint = context.run(["eval", "lint"]);
    assert_eq!(lint.code, 0, "{lint}");
    let list = context.run(["eval", "list", "--format", "json"]);
    assert!(list.stdout.contains("\"cases\": 1"), "{list}");
}

#[test]
fn a_dry_run_writes_nothing_and_says_the_same() {
    let context = context();
    let run = context.run(tessl(&["scenarios", "--output-dir", "cases", "--dry-run"]));
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout.starts_with("would write greet.eval.yaml, greet.task.md (1 case)\n"));
    assert!(!context.project().join("cases").exists());
    let json = context.run(tessl(&["scenarios", "--output-dir", "cases", "--format", "json"]));
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["dry_run"], false);
    assert_eq!(report["scenarios"][0]["source"], "scenarios");
    assert!(context.project().join("cases/greet.eval.yaml").exists());
}

#[test]
fn nothing_is_overwritten_without_force() {
    let context = context();
    let args = tessl(&["scenarios", "--output-dir", "cases"]);
    assert_eq!(context.run(&args).code, 0);
    context.write("cases/greet.task.md", "edited by hand");
    let refused = context.run(&args);
    assert_eq!(refused.code, 1);
    insta::assert_snapshot!(refused);
    assert_eq!(context.read("cases/greet.task.md"), "edited by hand");
    let dry = context.run(args.iter().chain(&["--dry-run"]));
    assert_eq!(dry.code, 1, "{dry}");
    assert_eq!(context.run(args.iter().chain(&["--force"])).code, 0);
    assert_eq!(context.read("cases/greet.task.md"), "Greet me\n");
}

#[test]
fn one_bad_scenario_stops_all() {
    let context = context();
    context.write("scenarios/two/criteria.json", r#"{"criteria": ["d"]}"#);
    context.write("scenarios/two/task.md", "The key is AKIAABCDEFGHIJKLMNOP\n");
    let run = context.run(tessl(&["scenarios", "--output-dir", "cases"]));
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run);
    assert!(!context.project().join("cases").exists());
}

#[test]
fn links_out_of_a_scenario_are_refused() {
    let context = context();
    let outside = context.project().join("secret.md");
    std::fs::write(&outside, "secret\n").unwrap();
    let task = context.project().join("scenarios/one/task.md");
    std::fs::remove_file(&task).unwrap();
    symlink(&outside, &task).unwrap();
    let run = context.run(tessl(&["scenarios", "--output-dir", "cases"]));
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("links are refused"), "{run}");
    std::fs::remove_file(&task).unwrap();
    context.write("scenarios/one/task.md", "t\n");
    let files = r#"{"criteria": ["d"], "files": [{"path": "a", "source": "link"}]}"#;
    context.write("scenarios/one/criteria.json", files);
    symlink("../../secret.md", context.project().join("scenarios/one/link")).unwrap();
    let run = context.run(tessl(&["scenarios/one", "--output-dir", "cases"]));
    assert!(run.stderr.contains("leads out of the folder of its scenario"), "{run}");
    std::fs::remove_file(context.project().join("scenarios/one/link")).unwrap();
    symlink("task.md", context.project().join("scenarios/one/link")).unwrap();
    let run = context.run(tessl(&["scenarios/one", "--output-dir", "cases"]));
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(context.read("cases/fixtures/one/a"), "t\n");
}

#[test]
fn wrong_usage_could_not_run() {
    let context = context();
    context.write(
        ".ai-rulez/skills/hello/evals/mine.eval.yaml",
        "id: greet\nprompt: p\nexpect_trigger: true\n",
    );
    for (args, expected) in [
        (&["scenarios"][..], "need a place"),
        (&["scenarios", "--skill", "hello", "--output-dir", "x"], "cannot be used with"),
        (&["--skill", "hello"], "required arguments were not provided"),
        (&["scenarios", "--skill", "helo"], "did you mean `hello`?"),
        (&["nowhere", "--output-dir", "x"], "nowhere cannot be read"),
        (&[".ai-rulez", "--output-dir", "x"], "which reads a scenario folder"),
        (&["scenarios", "--skill", "hello"], "has a case with the id `greet`"),
    ] {
        let run = context.run(tessl(args));
        assert_eq!(run.code, 1, "{args:?}: {run}");
        assert!(run.stderr.contains(expected), "{args:?}: {run}");
    }
    let run = context.run(["eval", "import", "--from", "other", "x", "--output-dir", "y"]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("tessl, skill-creator, plugin-eval, promptfoo"), "{run}");
}

#[test]
fn secrets_and_controls_of_the_input_are_not_printed() {
    let context = context();
    let json = "{\"criteria\": [\"d\"], \"token\": \"AKIAABCDEFGHIJKLMNOP\", \"k\\u001b[2J\": \"\\u202e\"}";
    context.write("scenarios/one/criteria.json", json);
    for format in ["text", "json"] {
        let args = ["scenarios", "--output-dir", "x", "--dry-run", "--format", format];
        let run = context.run(tessl(&args));
        assert_eq!(run.code, 0, "{run}");
        assert!(!run.stdout.contains("AKIA") && run.stdout.contains("[redacted]"), "{run}");
        assert!(!run.stdout.contains(['\u{1b}', '\u{202e}']), "{run}");
    }
}

#[test]
fn the_other_importers_read_from_disk() {
    let context = context();
    let evals = r#"{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", "files": ["in.txt"],
        "expectations": ["e"]}]}"#;
    context.write("pdf/evals/evals.json", evals);
    context.write("pdf/in.txt", "x");
    context.write("plug/.claude-plugin/plugin.json", "{\"name\": \"plug\"}");
    context.write("plug/evals/a/prompt.md", "hello\n");
    context.write("plug/evals/a/graders/g.md", "---\ntype: llm\n---\nPASS if polite\n");
    context.write(
        "foo/promptfooconfig.yaml",
        "prompts: ['{{q}}']\ntests: [{vars: {q: hi}, assert: [{type: contains, value: x}]}]\n",
    );
    for (from, path, written) in [
        ("skill-creator", "pdf", "pdf-1.eval.yaml, fixtures/pdf-1/in.txt"),
        ("skill-creator", "pdf/evals", "pdf-1.eval.yaml, fixtures/pdf-1/in.txt"),
        ("skill-creator", "pdf/evals/evals.json", "pdf-1.eval.yaml, fixtures/pdf-1/in.txt"),
        ("plugin-eval", "plug", "a.eval.yaml, a.task.md"),
        ("plugin-eval", "plug/evals/a/prompt.md", "a.eval.yaml, a.task.md"),
        ("promptfoo", "foo", "foo-1.eval.yaml"),
        ("promptfoo", "foo/promptfooconfig.yaml", "foo-1.eval.yaml"),
    ] {
        let args = ["eval", "import", "--from", from, path, "--output-dir", "out", "--force"];
        let run = context.run(args);
        assert_eq!(run.code, 0, "{run}");
        assert!(run.stdout.starts_with(&format!("wrote {written} (1 case)\n")), "{path}: {run}");
    }
}

/// The scenarios of the reference, through the program.
#[test]
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
fn reports_equal_those_of_the_reference() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/skill-evals/tessl");
    if !data.is_dir() {
        eprintln!("skipped: the reference's scenarios are not here");
        return;
    }
    let context = context();
    for scenario in ["minimal", "lift"] {
        for file in ["criteria.json", "task.md"] {
            let text = std::fs::read(data.join(scenario).join(file)).unwrap();
            context.write(&format!("{scenario}/{file}"), text);
        }
    }
    let minimal = context.run(tessl(&["minimal", "--output-dir", "out"]));
    assert_eq!(
        minimal.stdout,
        "wrote add-health-endpoint.eval.yaml, add-health-endpoint.task.md (1 case)\n\
         mapped:   task -> prompt_file\n\
         mapped:   3 criteria -> rubric (weights kept as text)\n\
         mapped:   pass_threshold -> rubric_min_score 0.7 (read as a fraction)\n\
         assumed:  expect_trigger: true (the scenario targets a skill)\n"
    );
    let lift = context.run(tessl(&["lift", "--output-dir", "out", "--lift-assertions"]));
    let expected = std::fs::read_to_string(data.join("lift/expected.lift.report.txt")).unwrap();
    assert_eq!(lift.stdout, expected);
}
