//! `proctor eval run --runner native` with the scripted agent, on the example of the documentation.

use std::path::Path;

use proctor_testkit::{Run, TestContext};
use serde_json::Value;

use crate::eval_project::statuses;

const SKILLS: &str = ".ai-rulez/skills";

/// A project that is a copy of the example.
fn example() -> TestContext {
    let mut context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    context.add_filter("[0-9A-Z]{26}", "[RUN]");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/skill-evals");
    copy(&folder, context.project());
    context
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        // What somebody who tried the example has left there.
        if entry.file_name() == "eval-results.json" {
            continue;
        }
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn run(context: &TestContext, args: &[&str]) -> Run {
    let command = ["eval", "run", "--runner", "native", "--harness", "scripted"];
    context.run(command.iter().chain(args))
}

fn report(context: &TestContext, args: &[&str]) -> (i32, Value) {
    let run = run(context, &[args, &["--format", "json"]].concat());
    (run.code, serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}\n{run}")))
}

#[test]
fn the_example_shows_what_its_page_says() {
    let context = example();
    assert_eq!(context.run(["eval", "lint"]).code, 0);
    let run = run(&context, &["--ablation"]);
    insta::assert_snapshot!(run, @r"
    exit 2
    --- stdout
    runner native, harness scripted, model default, ablation on

    SKILL       STATUS        CASES  PASS  PRECISION  RECALL  ABLATION  TOKENS   COST
    plan-week   ran, failing      1    0%        n/a      0%    +0 pts      49  $0.02
    write-note  ran, passing      5  100%       100%    100%  +100 pts      80  $0.12

    plan-week: 0 of 1 passed, 1 failed; the mark is 100%
      failed plan: did not fire; file_exists: `week.md` is not there

    2 skills: 1 passing, 1 failing; cost $0.1440
    verdict: failed
    --- stderr
    run eval-[RUN] keeps 12 sessions; `proctor run view eval-[RUN]`
    ");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/skill-evals.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&run.stdout), "the page shows another output than {run}");
    let (code, again) = report(&context, &["--ablation"]);
    assert_eq!(code, 2);
    assert_eq!(statuses(&again), ["plan-week cached false", "write-note cached true"]);
    let score = &again["skills"][1]["score"];
    assert_eq!((&score["ablation_delta"], &score["ablation_cases"]), (&1.into(), &2.into()));
    assert!(!context.project().join("notes").exists(), "agents work elsewhere");
}

#[test]
fn a_mended_agent_passes_and_only_its_skill_is_run() {
    let context = example();
    assert_eq!(report(&context, &[]).0, 2);
    let script = "steps:\n  - skill: plan-week\n  - write: {path: week.md, text: \"Monday\\n\"}\n";
    context.write(&format!("{SKILLS}/plan-week/evals/agent.yaml"), script);
    let (code, report) = report(&context, &[]);
    assert_eq!(code, 0);
    assert_eq!(statuses(&report), ["plan-week ran true", "write-note cached true"]);
}

#[test]
fn a_session_that_breaks_off_is_an_error_and_never_kept() {
    let context = example();
    let script = "steps:\n  - end: {outcome: rate_limited, message: slow down}\n";
    context.write(&format!("{SKILLS}/plan-week/evals/agent.yaml"), script);
    for _ in 0..2 {
        let (code, report) = report(&context, &["plan-week"]);
        let case = &report["skills"][0]["cases"][0];
        assert_eq!((code, &case["status"]), (2, &"error".into()));
        assert!(case["reason"].as_str().unwrap().contains("slow down"), "{case}");
        assert!(case.get("triggered").is_none(), "{case}");
    }
    assert!(!context.project().join(".ai-rulez/eval-results.json").exists());
}

#[test]
fn a_control_that_saw_the_skill_gives_no_number() {
    let context = example();
    let skill = context.project().join(SKILLS).join("write-note/SKILL.md");
    let script = format!("steps:\n  - run: [cat, {}]\n  - say: done\n", skill.display());
    context.write(&format!("{SKILLS}/write-note/evals/new-note.agent.without.yaml"), script);
    let (_, report) = report(&context, &["write-note", "--ablation", "-j", "1"]);
    let skill = &report["skills"][0];
    let case = &skill["cases"][0];
    assert!(case.get("without_passed").is_none(), "{case}");
    // The other case still compares.
    assert_eq!(skill["score"]["ablation_cases"], 1, "{skill}");
}

#[test]
fn a_control_that_reads_an_encoded_copy_gives_no_number() {
    let context = example();
    let project = context.project().display().to_string();
    let script = format!("steps:\n  - run: [sh, -c, 'cd {project}/.ai-r*; base64 sk*/wr*/SK*']\n");
    context.write(&format!("{SKILLS}/write-note/evals/new-note.agent.without.yaml"), &script);
    let (_, report) = report(&context, &["write-note", "--ablation"]);
    let case = &report["skills"][0]["cases"][0];
    let reason = case["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("contaminated, the run without the skill saw it"), "{case}");
    assert!(case.get("without_passed").is_none(), "{case}");
}

#[test]
fn a_skill_that_no_call_names_fires_by_its_text() {
    let context = example();
    let script = "steps:\n  - run: [sh, -c, 'cat $(find . -name \"S*.md\")']\n  - write: {path: week.md, \
                  text: x}\n";
    context.write(&format!("{SKILLS}/plan-week/evals/agent.yaml"), script);
    let (code, report) = report(&context, &["plan-week"]);
    let skill = &report["skills"][0];
    assert_eq!((code, &skill["cases"][0]["fired"]), (0, &serde_json::json!(["plan-week"])));
    assert_eq!(skill["harness_version"], "1");
    let warning = "plan: no call named the skill; it counts as loaded since its text was returned";
    assert_eq!(skill["warnings"], serde_json::json!([warning]));
}

#[test]
fn plain_skill_folders_work_too() {
    let context = example();
    let from = context.project().join(SKILLS);
    let to = context.project().join(".claude/skills");
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::rename(from, to).unwrap();
    std::fs::remove_dir_all(context.project().join(".ai-rulez")).unwrap();
    let (code, report) = report(&context, &["write-note"]);
    assert_eq!((code, statuses(&report)), (0, vec!["write-note ran true".to_owned()]));
    assert!(context.project().join(".claude/eval-results.json").exists());
}
