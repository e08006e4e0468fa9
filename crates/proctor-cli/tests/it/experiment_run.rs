//! `proctor experiment run`, end to end. Skipped where bubblewrap is not installed.

use std::fs;
use std::path::{Path, PathBuf};

use proctor_testkit::{Run, TestContext};
use serde_json::Value;

use crate::rooms::context;

/// An experiment of one agent that follows `agent.yaml`.
fn experiment(rest: &str) -> String {
    format!(
        "schema_version: 2\nid: trial\nname: Trial\nagents: [scripted]\n\
         prompts: [{{id: p, prompt: Do it.}}]\n{rest}"
    )
}

/// Runs it with some flags; the answer of `--format json` when there is one.
fn run(context: &TestContext, flags: &[&str]) -> (Run, Value) {
    let args = ["experiment", "run", "trial.yaml", "--format", "json"];
    let run = context.run(args.iter().chain(flags));
    let report = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    (run, report)
}

/// The folder of the only run.
fn folder(context: &TestContext) -> PathBuf {
    let mut runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
    let run = runs.next().unwrap().unwrap().path();
    assert!(runs.next().is_none());
    run
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn statuses(trial: &Value) -> Vec<&str> {
    let tests = trial["tests"].as_array().unwrap();
    tests.iter().map(|test| test["status"].as_str().unwrap()).collect()
}

const WRITES: &str = "steps:\n  - write: {path: result.txt, text: \"ready\\n\"}\n  - say: Done.\n";

#[test]
fn passed_failed_and_unanswered_tests_are_told_apart() {
    let Some(mut context) = context() else { return };
    context.write("agent.yaml", WRITES);
    context.write(
        "trial.yaml",
        experiment(
            "tests:\n  - {name: right, script: grep ready /workspace/result.txt}\n\
             \x20 - {name: wrong, script: 'echo no such thing >&2; exit 3'}\n\
             \x20 - name: unanswered\n    script: ax-run-query \"$AX_RUN_ID\" sql 'SELECT nothing FROM events'\n\
             limits: {max_time_seconds: 60}\n",
        ),
    );
    let (ended, report) = run(&context, &[]);
    assert_eq!(ended.code, 1, "{ended}");
    let trial = &report["trials"][0];
    assert_eq!(trial["status"], "fail", "{trial:#}");
    assert_eq!(trial["exit_reason"], "end_turn");
    assert_eq!(statuses(trial), ["passed", "failed", "evidence_error"]);
    assert_eq!(trial["tests"][1]["exit_code"], 3);
    assert_eq!(trial["tests"][1]["stderr_tail"], "no such thing\n");
    assert!(trial["tests"][2]["evidence_errors"][0].as_str().unwrap().contains("nothing"));

    context.add_filter("[0-9a-f]{16}", "[TRIAL]");
    context.add_filter("[0-9A-Z]{26}", "[RUN]");
    let text = context.run(["experiment", "run", "trial.yaml"]);
    let lines = text.stdout.lines().filter(|line| !line.contains("evidence_error"));
    let shown = lines.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown, @"
    fail  scripted::p::[TRIAL] (end_turn)
      failed wrong: exit 3: no such thing
    scripted::p  0 passed, 1 failed, 0 errors of 1  0% (0-79%, n = 1)
    trial-[RUN]: 0 passed, 1 failed, 0 errors of 1 trials  0% (0-79%, n = 1)
    nothing passed
    ");
}

#[test]
fn all_passed_is_the_only_success() {
    let Some(context) = context() else { return };
    let text = experiment(
        "tests: [{name: t, script: test -s /workspace/result.txt}]\nlimits: {max_time_seconds: 60}\n",
    );
    context.write("trial.yaml", text.replace("scripted", "claude").replace("result", "mock"));
    let (ended, report) = run(&context, &["--mock", "--repeat", "2"]);
    assert_eq!(ended.code, 0, "{ended}");
    assert_eq!(report["total"]["passed"], 2);
    assert_eq!(context.read(".proctor/.gitignore"), "*\n");
    let variant = folder(&context).join("variants/claude__p");
    for repeat in ["0", "1"] {
        let kept = variant.join(repeat);
        let names = files(&kept);
        let names: Vec<_> = names.iter().map(|path| path.strip_prefix(&kept).unwrap()).collect();
        insta::allow_duplicates! { insta::assert_debug_snapshot!(names, @r#"
        [
            "agent-events.jsonl",
            "agent.log",
            "events.jsonl",
            "fs-diff/000000.json",
            "harness-events.jsonl",
            "layout.json",
            "manifest.json",
            "resolved-variant.yaml",
            "run.json",
            "tests/t.json",
            "workspace.tar.zst",
        ]
        "#); }
    }
    let (empty, _) = run(&context, &["--mock", "--prompt", "none"]);
    assert_eq!(empty.code, 2, "{empty}");
}

#[test]
fn files_of_a_test_are_nowhere_but_in_that_test() {
    let Some(context) = context() else { return };
    context.write("key.txt", "the answer is 42\n");
    context.write("known.txt", "known\n");
    context.write(
        "agent.yaml",
        "steps:\n  - run: [bash, -c, \"find / -name 'key.txt' -not -path '/proc/*' 2>/dev/null; true\"]\n\
         \x20 - run: [bash, -c, 'ls -A > listed.txt']\n  - say: Done.\n",
    );
    context.write(
        "trial.yaml",
        experiment(
            "files: [{name: known, source: known.txt, dest: known.txt}]\n\
             tests:\n  - name: with\n    files: [{name: key, source: key.txt, dest: key.txt}]\n\
             \x20   script: grep 42 /workspace/key.txt && echo more > /workspace/left.txt\n\
             \x20 - {name: without, script: test ! -e /workspace/key.txt -a -e /workspace/known.txt}\n\
             \x20 - {name: unseen, script: '! grep key /workspace/listed.txt'}\n\
             limits: {max_time_seconds: 60}\n",
        ),
    );
    let (ended, report) = run(&context, &[]);
    assert_eq!(ended.code, 0, "{ended}");
    assert_eq!(statuses(&report["trials"][0]), ["passed"; 3]);
    let kept = folder(&context).join("variants/scripted__p");
    let diff = fs::read_to_string(kept.join("fs-diff/000000.json")).unwrap();
    assert!(diff.contains("listed.txt"), "{diff}");
    assert!(!diff.contains("key.txt") && !diff.contains("left.txt"), "{diff}");
    let staging: Value =
        serde_json::from_slice(&fs::read(kept.join("staging.json")).unwrap()).unwrap();
    assert_eq!(staging[0]["dest"], "known.txt");
    assert_eq!(staging.as_array().unwrap().len(), 1, "{staging:#}");
    let events = fs::read_to_string(kept.join("agent-events.jsonl")).unwrap();
    assert!(!events.contains("/key.txt"), "{events}");
}

#[test]
fn what_is_wrong_before_the_first_trial_leaves_nothing_behind() {
    let Some(context) = context() else { return };
    context.write("agent.yaml", WRITES);
    context.write("data.txt", "changed\n");
    let tests = "tests: [{name: t, script: 'true'}]\nlimits: {max_time_seconds: 60}\n";
    let pin = "0".repeat(64);
    let pinned =
        format!("files: [{{name: data, source: data.txt, dest: d, sha256: '{pin}'}}]\n{tests}");
    context.write("trial.yaml", experiment(&pinned));
    let (ended, _) = run(&context, &[]);
    assert_eq!(ended.code, 2, "{ended}");
    assert!(ended.stderr.contains("data"), "{ended}");

    let secret =
        format!("environment_variables: [{{name: KEY, value: 'axp://secrets/key'}}]\n{tests}");
    context.write("trial.yaml", experiment(&secret));
    let (ended, _) = run(&context, &[]);
    assert_eq!(ended.code, 2, "{ended}");
    assert!(ended.stderr.contains("KEY"), "{ended}");

    context.write("trial.yaml", experiment(tests));
    let dry = context.run(["experiment", "run", "trial.yaml", "--dry-run", "--repeat", "3"]);
    insta::assert_snapshot!(dry, @"
    exit 0
    --- stdout
    scripted::p
    --- stderr
    3 trials would run; nothing was written
    ");
    let bare = context.run(["experiment", "run", "trial.yaml", "--sandbox", "none", "--mock"]);
    assert_ne!(bare.code, 2, "nothing names the workspace: {bare}");
    fs::remove_dir_all(context.project().join(".proctor")).unwrap();
    context.write("trial.yaml", experiment(&tests.replace("'true'", "ls /workspace")));
    let bare = context.run(["experiment", "run", "trial.yaml", "--sandbox", "none", "--mock"]);
    assert_eq!(bare.code, 2, "{bare}");
    assert!(!context.project().join(".proctor").exists());
}

#[test]
fn a_setup_or_check_that_fails_ends_the_trial_and_says_why() {
    let Some(context) = context() else { return };
    context.write("agent.yaml", WRITES);
    let tests = "tests: [{name: t, script: 'true'}]\nlimits: {max_time_seconds: 60}\n";
    let setup =
        format!("environments:\n  - {{name: e, setup: 'echo no compiler >&2; exit 4'}}\n{tests}");
    context.write("trial.yaml", experiment(&setup));
    let (ended, report) = run(&context, &[]);
    assert_eq!(ended.code, 1, "{ended}");
    let trial = &report["trials"][0];
    assert_eq!(
        (&trial["status"], &trial["exit_reason"]),
        (&"error".into(), &"setup_failed".into())
    );
    assert!(trial["reason"].as_str().unwrap().contains("no compiler"), "{trial:#}");
    assert_eq!(statuses(trial), ["skipped"]);
    fs::remove_dir_all(context.project().join(".proctor")).unwrap();

    let check = format!(
        "environments:\n  - name: e\n    setup:\n      - name: s\n        script: 'touch made'\n\
         \x20       setup_checks:\n          - {{name: fine, script: test -e /workspace/made}}\n\
         \x20         - {{name: broken, script: 'echo missing module >&2; exit 7'}}\n{tests}"
    );
    context.write("trial.yaml", experiment(&check));
    for flags in [&["--check-only"][..], &[]] {
        let (ended, report) = run(&context, flags);
        assert_eq!(ended.code, 1, "{ended}");
        let trial = &report["trials"][0];
        assert_eq!(trial["exit_reason"], "setup_check_failed", "{trial:#}");
        assert!(trial["reason"].as_str().unwrap().contains("missing module"));
        let kept = folder(&context).join("variants/scripted__p__e");
        let record = fs::read_to_string(kept.join("setup-checks/broken.json")).unwrap();
        let record: Value = serde_json::from_str(&record).unwrap();
        let fields: Vec<_> = record.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["name", "exit_code", "duration_ms", "stdout_tail", "stderr_tail"]);
        assert!(!kept.join("agent-events.jsonl").exists());
        fs::remove_dir_all(context.project().join(".proctor")).unwrap();
    }
    context.write("trial.yaml", experiment(&check.replace("exit 7", "exit 0")));
    let (ended, _) = run(&context, &["--check-only"]);
    assert_eq!(ended.code, 0, "{ended}");
    assert!(!folder(&context).join("variants/scripted__p__e/agent-events.jsonl").exists());
}

#[test]
fn tests_run_after_an_agent_whose_time_was_up() {
    let Some(context) = context() else { return };
    context.write("agent.yaml", "steps:\n  - write: {path: half.txt, text: half}\n  - stall\n");
    context.write(
        "trial.yaml",
        experiment("tests: [{name: half, script: grep half /workspace/half.txt}]\nlimits: {max_time_seconds: 1}\n"),
    );
    let (ended, report) = run(&context, &[]);
    assert_eq!(ended.code, 1, "{ended}");
    let trial = &report["trials"][0];
    assert_eq!((&trial["status"], &trial["exit_reason"]), (&"error".into(), &"timeout".into()));
    assert_eq!(statuses(trial), ["passed"]);
}

#[test]
fn a_test_whose_time_is_up_fails() {
    let Some(context) = context() else { return };
    context.write("agent.yaml", WRITES);
    context.write(
        "trial.yaml",
        experiment("tests:\n  - {name: slow, script: sleep 60}\n  - {name: next, script: 'true'}\nlimits: {max_time_seconds: 60}\n"),
    );
    let (ended, report) = run(&context, &["--test-timeout", "1"]);
    assert_eq!(ended.code, 1, "{ended}");
    let trial = &report["trials"][0];
    assert_eq!(statuses(trial), ["failed", "passed"]);
    assert_eq!(trial["tests"][0]["timed_out"], true);
}

#[test]
fn live_tests_see_what_still_runs_and_others_do_not() {
    let Some(context) = context() else { return };
    context.write(
        "agent.yaml",
        "steps:\n  - spawn: {run: [sleep, '3456'], setsid: true, double_fork: true, keep_pipes: false}\n  - say: Started.\n",
    );
    let runs = "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -q '[s]leep 3456'";
    context.write(
        "trial.yaml",
        experiment(&format!(
            "tests:\n  - name: gone\n    script: \"! {}\"\n  - name: runs\n    when: live\n    script: \"{}; touch /workspace/live\"\n\
             \x20 - {{name: apart, script: test ! -e /workspace/live}}\nlimits: {{max_time_seconds: 60}}\n",
            runs.replace('\\', "\\\\"),
            runs.replace('\\', "\\\\")
        )),
    );
    let (ended, report) = run(&context, &[]);
    assert_eq!(ended.code, 0, "{ended}\n{report:#}");
    assert_eq!(statuses(&report["trials"][0]), ["passed"; 3]);
}

#[test]
fn secrets_are_in_no_file_that_is_kept() {
    let Some(context) = context() else { return };
    let secret = "hunter2-hunter2-hunter2";
    context.write(
        "agent.yaml",
        "steps:\n  - run: [bash, -c, 'echo \"$KEY\" | tee told.txt; echo \"$KEY\" >&2']\n  - say: Done.\n",
    );
    context.write(
        "trial.yaml",
        experiment(
            "environment_variables: [{name: KEY, value: 'axp://secrets/key'}]\n\
             environments:\n  - name: e\n    setup:\n      - name: s\n        script: echo \"$KEY\" >&2; test -n \"$KEY\"\n\
             \x20       setup_checks: [{name: c, script: echo \"$KEY\"}]\n\
             tests: [{name: t, script: echo \"$KEY\"; cat /workspace/told.txt >&2; exit 1}]\nlimits: {max_time_seconds: 60}\n",
        ),
    );
    context.write("values.env", format!("key={secret}\n"));
    let (ended, report) = run(&context, &["--env-file", "values.env"]);
    assert_eq!(ended.code, 1, "{ended}");
    assert_eq!(report["trials"][0]["exit_reason"], "end_turn", "{report:#}");
    assert!(!ended.to_string().contains(secret), "{ended}");
    let folder = folder(&context);
    let mut seen = 0;
    for path in files(&folder) {
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("hunter2"), "{}: {text}", path.display());
        seen += usize::from(text.contains("REDACTED") || text.contains("redacted"));
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn what_was_done_with_a_trial_is_on_record() {
    let Some(context) = context() else { return };
    context.write("agent.yaml", "steps:\n  - say: Hello.\n  - stall\n");
    context.write(
        "trial.yaml",
        experiment(
            "environments:\n  - name: e\n    setup:\n      - name: first\n        script: echo out; echo err >&2\n\
             \x20       setup_checks: [{name: c, script: 'echo checked'}]\n\
             \x20     - {name: second, script: printf quiet}\n\
             tests:\n  - {name: t, script: 'echo said; exit 3'}\n\
             limits: {max_time_seconds: 1}\n",
        ),
    );
    let (ended, _) = run(&context, &[]);
    assert_eq!(ended.code, 1, "{ended}");
    let kept = folder(&context).join("variants/scripted__p__e");
    let log = fs::read_to_string(kept.join("setup.log")).unwrap();
    insta::assert_snapshot!(context.filter(&log), @"
    == setup 0 `first`: exit 0, [TIME]
    -- stdout
    out

    -- stderr
    err

    == setup 1 `second`: exit 0, [TIME]
    -- stdout
    quiet
    == check 0 `c`: exit 0, [TIME]
    -- stdout
    checked

    ");
    let events = fs::read_to_string(kept.join("harness-events.jsonl")).unwrap();
    let events: Vec<Value> =
        events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let show = |event: &Value| {
        let mut words = vec![event["event"].as_str().unwrap().to_owned()];
        for key in ["phase", "role", "name", "exit_code", "exit_reason", "outcome", "killed"] {
            words.extend(event.get(key).map(|value| format!("{key}={value}")));
        }
        words.join(" ")
    };
    insta::assert_snapshot!(events.iter().map(show).collect::<Vec<_>>().join("\n"), @r#"
    trial_begin
    phase_begin phase="stage"
    phase_end phase="stage"
    phase_begin phase="sandbox"
    phase_end phase="sandbox"
    phase_begin phase="setup"
    script role="setup" name="setup 0 `first`" exit_code=0 killed=false
    script role="setup" name="setup 1 `second`" exit_code=0 killed=false
    phase_end phase="setup"
    phase_begin phase="checks"
    script role="check" name="check 0 `c`" exit_code=0 killed=false
    phase_end phase="checks"
    phase_begin phase="agent"
    agent_begin
    agent_end exit_reason="timeout" outcome="timeout" killed=true
    phase_end phase="agent"
    phase_begin phase="snapshot"
    phase_end phase="snapshot"
    phase_begin phase="tests"
    script role="test" name="t" exit_code=3 killed=false
    phase_end phase="tests"
    phase_begin phase="collect"
    phase_end phase="collect"
    trial_end exit_reason="timeout"
    "#);
    let seqs: Vec<_> = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.iter().copied().eq(0..seqs.len() as u64));
    assert_eq!(files(&kept.join("tests")).len(), 2, "a stream that said nothing has no file");
}
