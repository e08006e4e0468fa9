//! Runs of conformance tests and skill evals: what is kept, what can be done with it, and whether it
//! is what it was.

use std::fs;
use std::path::{Path, PathBuf};

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::corpus::{context, write_file, write_fixture};

const SCRIPT: &str = "steps:\n  - read: a.md\n  - write: {path: out.txt, text: secret-of-a-test}\n  \
                      - say: Done.\n  - usage: {input_tokens: 7, output_tokens: 3}\n";

/// Two fixtures, of which the second asks for what the agent does not do.
fn conformance() -> TestContext {
    let mut context = context();
    context.add_filter("::[0-9a-f]{16}\\b", "::[TRIAL]");
    context.add_filter(r"\b\d+(\.\d)? k?B\b", "[SIZE]");
    write_fixture(&context, "good", json!({}));
    let absent = json!({"type": "file_absent", "path": "out.txt"});
    let optional = json!({"type": "file_exists", "path": "more.txt", "optional": true});
    write_fixture(&context, "strict", json!({"checks": [absent, optional]}));
    for fixture in ["good", "strict"] {
        write_file(&context, fixture, "agent.yaml", SCRIPT);
    }
    context
}

fn test(context: &TestContext, args: &[&str]) -> Run {
    let command = ["conformance", "test", "--source", "corpus", "--harnesses", "scripted"];
    context.run(command.iter().chain(args))
}

/// The same where only the run that it leaves matters.
fn tested(context: &TestContext, args: &[&str], code: i32) {
    let run = test(context, args);
    assert_eq!(run.code, code, "{run}");
}

/// The folder of the latest run.
fn latest(context: &TestContext) -> PathBuf {
    let runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
    runs.map(|run| run.unwrap().path()).max().unwrap()
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_conformance_test_leaves_a_run() {
    let mut context = conformance();
    context.home().set("MY_TOKEN", "secret-of-a-test");
    let plain = test(&context, &["--output", "json"]);
    assert_eq!(plain.code, 1, "{plain}");
    assert!(plain.stderr.contains("keeps 2 sessions"), "{plain}");
    let report: Value = serde_json::from_str(&plain.stdout).unwrap();
    let run = latest(&context);
    let mut kept = read(&run.join("report.json"));
    kept["source"]["revision"] = report["source"]["revision"].clone();
    assert_eq!(kept, report);
    assert_eq!(read(&run.join("group.json"))["kind"], "conformance");
    assert!(!run.join("experiment.yaml").exists());

    let trial = run.join("variants/scripted__good");
    let record = read(&trial.join("run.json"));
    assert_eq!((&record["status"], &record["exit_reason"]), (&json!("pass"), &json!("end_turn")));
    assert_eq!(record["coordinates"]["prompt_id"], "good");
    assert_eq!(record["graded"][0]["status"], "passed");
    assert_eq!(record["usage"]["input_tokens"], 7);
    assert_eq!(record["isolation"]["level"], "none");
    assert_eq!((&record["tool_calls"], &record["tool_calls_failed"]), (&json!(2), &json!(1)));
    let events = lines(&trial.join("events.jsonl"));
    assert!(events.iter().all(|event| event["ts_ms"].is_u64()), "{events:?}");
    let manifest = events.iter().find(|event| event["kind"] == "file_manifest").unwrap();
    assert_eq!(manifest["added"], json!(["out.txt"]));
    let raw = fs::read_to_string(trial.join("agent-events.jsonl")).unwrap();
    assert!(raw.contains("Done.") && !raw.contains("secret-of-a-test"), "{raw}");
    let diff = fs::read_to_string(trial.join("fs-diff/000000.json")).unwrap();
    assert!(diff.contains("+[redacted]"), "{diff}");

    insta::assert_snapshot!(context.run(["run", "list"]), @r"
    exit 0
    --- stdout
    conformance-[RUN]  conformance  1 passed, 1 failed, 0 errors of 2; [SIZE]
    --- stderr
    ");
    insta::assert_snapshot!(context.run(["run", "view", "--tests"]), @r"
    exit 1
    --- stdout
    scripted::good #0 (end_turn)
      passed 0: file_exists (result phase)
    scripted::strict #0 (end_turn)
      failed 0: file_absent (result phase): `out.txt` exists
      failed 1: file_exists (result phase) (optional): `more.txt` does not exist
    fail  scripted::strict::[TRIAL] (end_turn): result phase: check 0 (file_absent) failed: `out.txt` exists
      failed 0: file_absent (result phase): `out.txt` exists
    scripted::good    1 passed, 0 failed, 0 errors of 1  100% (21-100%, n = 1)
    scripted::strict  0 passed, 1 failed, 0 errors of 1  0% (0-79%, n = 1)
    conformance-[RUN]: 1 passed, 1 failed, 0 errors of 2 trials  50% (9-91%, n = 2)
    --- stderr
    `latest` is run conformance-[RUN]
    ");
    let sql =
        "SELECT check_kind, status FROM checks WHERE prompt_id = 'strict' ORDER BY check_name";
    let asked = context.run(["run", "query", "latest", sql, "--format", "json"]);
    assert!(asked.stdout.contains("file_absent"), "{asked}");
    let sql = "SELECT run_kind FROM verdicts WHERE status = 'pass'";
    let asked = context.run(["query", sql, "--format", "json"]);
    assert!(asked.stdout.contains("conformance"), "{asked}");
    let junit = context.run(["run", "view", "--format", "junit"]);
    assert!(junit.stdout.contains("<failure"), "{junit}");
    let markdown = context.run(["run", "view", "--format", "markdown"]);
    assert!(markdown.stdout.contains("| `scripted::strict` | 0 | 1 |"), "{markdown}");
    let rows = context.run(["run", "list", "--kind", "conformance", "--format", "json"]);
    let rows: Value = serde_json::from_str(&rows.stdout).unwrap();
    assert_eq!((&rows[0]["kind"], &rows[0]["failed"]), (&json!("conformance"), &json!(1)));
    assert!(rows[0]["bytes"].as_u64().unwrap() > 1000);
    assert_eq!(
        context.run(["run", "list", "--kind", "imported", "--format", "json"]).stdout,
        "[]\n"
    );
}

#[test]
fn a_command_without_sessions_leaves_no_run() {
    let context = conformance();
    assert_eq!(test(&context, &["--install-only"]).code, 0);
    let none = context.run(["run", "list"]);
    assert!(none.stderr.contains("no runs here"), "{none}");
    assert!(!context.project().join(".proctor").exists());
}

#[test]
fn what_cannot_be_kept_is_said_and_changes_nothing() {
    let context = conformance();
    let kept = test(&context, &["--fixture", "good"]);
    fs::remove_dir_all(context.project().join(".proctor")).unwrap();
    context.write(".proctor", "a file in the way");
    let lost = test(&context, &["--fixture", "good"]);
    assert_eq!((lost.code, &lost.stdout), (0, &kept.stdout), "{lost}");
    assert!(lost.stderr.contains("not kept: "), "{lost}");
}

#[test]
fn what_a_kind_cannot_do_names_what_can() {
    let context = conformance();
    tested(&context, &[], 1);
    for (args, expected) in [
        (&["run", "resume", "latest"][..], "cannot go on"),
        (&["run", "rerun", "latest"], "cannot be run again from here"),
        (&["run", "rerun", "latest", "--tests"], "has no tests that could run again"),
        (&["run", "resume"], "every run of an experiment here is finished"),
        (&["run", "cancel", "latest"], "nobody works on run"),
    ] {
        let refused = context.run(args);
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains(expected), "{refused}");
    }
}

#[test]
fn what_was_changed_afterwards_is_found() {
    let context = conformance();
    tested(&context, &[], 1);
    let good = context.run(["run", "verify"]);
    insta::assert_snapshot!(good, @r"
    exit 0
    --- stdout
    conformance-[RUN]: holds, 2 trials looked at
    --- stderr
    `latest` is run conformance-[RUN]
    ");
    let run = latest(&context);
    let record = run.join("variants/scripted__strict/run.json");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("\"status\": \"fail\"", "\"status\": \"pass\"")).unwrap();
    let events = run.join("variants/scripted__good/events.jsonl");
    let text = fs::read_to_string(&events).unwrap();
    let fewer: Vec<&str> = text.lines().filter(|line| !line.contains("\"tool_call\"")).collect();
    fs::write(&events, fewer.join("\n") + "\n").unwrap();
    fs::write(run.join("variants/scripted__good/planted.txt"), "x").unwrap();
    fs::remove_file(run.join("variants/scripted__good/agent.log")).unwrap();
    let journal = run.join("index.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let cut: Vec<&str> = text.lines().skip(1).collect();
    fs::write(&journal, cut.join("\n") + "\n").unwrap();
    let bad = context.run(["run", "verify", "--all", "--format", "json"]);
    assert_eq!(bad.code, 1, "{bad}");
    let report: Value = serde_json::from_str(&bad.stdout).unwrap();
    let problem = |problem: &Value| {
        let text = |key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        [text("file"), text("field"), text("problem")].join(" ")
    };
    let problems = report["runs"][0]["problems"].as_array().unwrap();
    let problems: Vec<String> = problems.iter().map(problem).collect();
    insta::assert_snapshot!(problems.join("\n"), @r"
    index.jsonl line 1 broken_chain
    agent.log  missing
    events.jsonl  changed
    planted.txt  added
    run.json tool_calls differs
    run.json  changed
    run.json status differs
    run.json status differs
    ");
    fs::write(&journal, "{").unwrap();
    fs::write(run.join("group.json"), "{").unwrap();
    let unreadable = context.run(["run", "verify", "--all"]);
    assert_eq!(unreadable.code, 1, "{unreadable}");
    assert!(unreadable.stdout.contains("cannot be read"), "{unreadable}");
    assert_eq!(context.run(["run", "verify", "nothing"]).code, 2);
}

#[test]
fn a_trial_that_was_not_finished_is_no_damage() {
    let context = conformance();
    tested(&context, &["--jobs", "1"], 1);
    let journal = latest(&context).join("index.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    // The last line was being written when the power failed.
    fs::write(&journal, &text[..text.len() - 20]).unwrap();
    let run = context.run(["run", "verify"]);
    assert_eq!(run.code, 0, "{run}");
    assert!(run.stdout.contains("unfinished  scripted::strict::"), "{run}");
    assert!(run.stdout.contains("the last line of the journal was cut off"), "{run}");
}

#[test]
fn runs_of_earlier_versions_have_no_digests_and_hold() {
    let context = conformance();
    tested(&context, &["--fixture", "good"], 0);
    let run = latest(&context);
    let journal = run.join("index.jsonl");
    let old: Vec<String> = lines(&journal)
        .into_iter()
        .map(|mut line| {
            let object = line.as_object_mut().unwrap();
            object.remove("prev");
            object.remove("manifest");
            line.to_string()
        })
        .collect();
    fs::write(&journal, old.join("\n") + "\n").unwrap();
    let verified = context.run(["run", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
    assert!(verified.stdout.contains("1 trials have no digests"), "{verified}");
}

#[test]
fn old_runs_go_and_the_rest_stays() {
    let context = conformance();
    for _ in 0..3 {
        tested(&context, &["--fixture", "good"], 0);
    }
    let ids = || {
        let runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
        let mut ids: Vec<_> = runs.map(|run| run.unwrap().file_name()).collect();
        ids.sort();
        ids
    };
    let before = ids();
    let dry = context.run(["run", "prune", "--keep", "1", "--dry-run"]);
    assert_eq!((dry.code, dry.stdout.lines().count()), (0, 2), "{dry}");
    assert!(dry.stderr.contains("2 runs would be removed"), "{dry}");
    assert_eq!(ids(), before);
    assert_eq!(context.run(["run", "prune", "--older-than", "1d"]).stdout, "");
    assert_eq!(context.run(["run", "prune", "--keep", "0", "--kind", "experiment"]).stdout, "");
    // One that was interrupted.
    let journal = context.project().join(".proctor/runs").join(&before[0]).join("index.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let pruned = context.run(["run", "prune", "--keep", "1"]);
    assert!(pruned.stderr.contains("it is not finished; `--unfinished`"), "{pruned}");
    assert_eq!(ids(), [before[0].clone(), before[2].clone()]);
    let all = context.run(["run", "prune", "--max-size", "0B", "--unfinished"]);
    assert_eq!(all.stdout.lines().count(), 2, "{all}");
    assert_eq!(ids(), Vec::<std::ffi::OsString>::new());
    assert!(!context.project().join(".proctor/trash").exists());
    let none = context.run(["run", "prune"]);
    assert_eq!(none.code, 2, "{none}");
    assert!(none.stderr.contains("--keep"), "{none}");
}

#[test]
fn a_skill_eval_leaves_a_run_of_every_session() {
    let mut context = TestContext::new(env!("CARGO_BIN_EXE_proctor"));
    context.add_filter("[0-9A-Z]{26}", "[RUN]");
    context.add_filter("::[0-9a-f]{16}\\b", "::[TRIAL]");
    let skill = "---\nname: note\ndescription: Writes notes\n---\nWrite note.md.\n";
    context.write(".ai-rulez/skills/note/SKILL.md", skill);
    let cases = "cases:\n  - {id: writes, prompt: write it, expect_trigger: true, assertions: \
                 [{type: contains, value: Done}, {type: file_exists, path: note.md}]}\n";
    context.write(".ai-rulez/skills/note/evals/a.eval.yaml", cases);
    let script = "steps:\n  - skill: note\n  - say: Done.\n";
    context.write(".ai-rulez/skills/note/evals/agent.yaml", script);
    let args = ["eval", "run", "--runner", "native", "--harness", "scripted", "--runs", "2"];
    let run = context.run(args);
    assert_eq!(run.code, 2, "{run}");
    assert!(run.stderr.contains("keeps 2 sessions"), "{run}");
    insta::assert_snapshot!(context.run(["run", "view", "--tests"]), @r"
    exit 1
    --- stdout
    scripted::note/writes::with #0 (end_turn)
      passed triggered
      passed 0: contains
      failed 1: file_exists: `note.md` is not there
    scripted::note/writes::with #1 (end_turn)
      passed triggered
      passed 0: contains
      failed 1: file_exists: `note.md` is not there
    fail  scripted::note/writes::with::[TRIAL] (end_turn): file_exists: `note.md` is not there
      failed 1: file_exists: `note.md` is not there
    fail  scripted::note/writes::with::[TRIAL] (end_turn): file_exists: `note.md` is not there
      failed 1: file_exists: `note.md` is not there
    scripted::note/writes::with  0 passed, 2 failed, 0 errors of 2  0% (0-66%, n = 2)
    eval-[RUN]: 0 passed, 2 failed, 0 errors of 2 trials  0% (0-66%, n = 2)
    nothing passed
    --- stderr
    `latest` is run eval-[RUN]
    ");
    let verified = context.run(["run", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
    let folder = latest(&context);
    assert_eq!(read(&folder.join("group.json"))["kind"], "skill_eval");
    assert_eq!(read(&folder.join("report.json"))["runner"], "native");
    let variants = fs::read_dir(folder.join("variants")).unwrap();
    let names: Vec<_> = variants.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 1);
    assert!(names[0].join("1/events.jsonl").is_file() && names[0].join("events.jsonl").is_file());
    // What is replayed has no sessions.
    let again = context.run(args);
    assert!(!again.stderr.contains("keeps"), "{again}");
}

const EXPERIMENT: &str = "schema_version: 2
id: small
name: Small
agents: [claude]
prompts: [{id: p, prompt: Write something.}]
tests: [{name: wrote, script: test -s /workspace/mock.txt}]
limits: {max_time_seconds: 60}
";

#[test]
fn an_experiment_holds_too_and_its_workspaces_can_go_alone() {
    let Some(context) = crate::rooms::context() else { return };
    context.write("small.yaml", EXPERIMENT);
    let run = context.run(["experiment", "run", "small.yaml", "--mock"]);
    assert_eq!(run.code, 0, "{run}");
    let verified = context.run(["run", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
    let trial = latest(&context).join("variants/claude__p");
    let events = lines(&trial.join("events.jsonl"));
    let manifest = events.iter().find(|event| event["kind"] == "file_manifest").unwrap();
    assert_eq!(manifest["added"], json!(["mock.txt"]));
    // The one thing that a played agent says is its prompt.
    let said: Vec<_> = events.iter().filter(|event| event["role"] == "assistant").collect();
    assert_eq!((said.len(), &said[0]["text"]), (1, &json!("Write something.")), "{said:?}");
    let gone = context.run(["run", "prune", "--keep", "0", "--workspaces"]);
    assert!(gone.stderr.contains("the workspaces of 1 run removed"), "{gone}");
    assert!(!trial.join("workspace.tar.zst").exists());
    let verified = context.run(["run", "verify"]);
    assert_eq!(verified.code, 0, "{verified}");
    assert!(verified.stdout.contains("workspace.tar.zst was pruned"), "{verified}");
    let again = context.run(["run", "rerun", "latest", "--tests"]);
    assert_eq!(again.code, 1, "{again}");
    assert!(again.stdout.contains("the workspace of the trial was not kept"), "{again}");
}
