//! `proctor run`, end to end. Skipped where bubblewrap is not installed.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use proctor_testkit::TestContext;
use serde_json::Value;

use crate::rooms::{context, is_running, wait_until};

/// Three trials; the second one waits as long as a variable says.
const WAITS: &str = "schema_version: 2
id: waits
name: Waits
agents: [scripted]
prompts:
  - {id: a, prompt: echo a > made.txt}
  - {id: b, prompt: sleep $WAIT; echo b > made.txt}
  - {id: c, prompt: echo c > made.txt}
environment_variables: [{name: WAIT, value: 'axp://secrets/wait'}]
files: [{name: data, source: data.txt, dest: data.txt}]
tests: [{name: made, script: test -s /workspace/made.txt}]
limits: {max_time_seconds: 600}
";

fn waits() -> Option<TestContext> {
    let context = context()?;
    context.write("waits.yaml", WAITS);
    context.write("data.txt", "data\n");
    context.write("more.txt", "more\n");
    let agent = "steps:\n  - run: [bash, -c, \"${prompt}\"]\n  - say: Done.\n";
    context.write("agent.yaml", agent);
    Some(context)
}

/// The folder of the latest run.
fn latest(context: &TestContext) -> PathBuf {
    let runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
    runs.map(|run| run.unwrap().path()).max().unwrap()
}

/// Starts the run, and comes back when its second trial was begun.
fn start(context: &TestContext, wait: &str) -> Child {
    let mut command = context.proctor_cmd();
    let wait = format!("wait={wait}");
    command.args([
        "experiment",
        "run",
        "waits.yaml",
        "--jobs",
        "1",
        "--env",
        &wait,
        "--file",
        "more.txt::more.txt",
    ]);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("the second trial begins", || {
        let journal = fs::read_dir(context.project().join(".proctor/runs"))
            .ok()
            .and_then(|mut runs| runs.next()?.ok())
            .and_then(|run| fs::read_to_string(run.path().join("index.jsonl")).ok());
        journal.is_some_and(|journal| journal.lines().count() == 3)
    });
    child
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let Some(context) = waits() else { return };
    let mut child = start(&context, "4711");
    let busy = context.run(["run", "resume", "latest", "--env", "wait=0"]);
    assert_eq!(busy.code, 2, "{busy}");
    assert!(busy.stderr.contains("is being worked on by process"), "{busy}");
    let agent = b"sleep\x004711\0";
    wait_until("the agent works", || is_running(agent));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the agent of a killed run ends", || !is_running(agent));
    let list = context.run(["run", "list"]);
    assert!(list.stdout.contains("1 passed, 0 failed, 0 errors of 3; 2 not finished"), "{list}");
    let first = latest(&context).join("variants/scripted__a/run.json");
    let before = fs::read(&first).unwrap();

    context.write("waits.yaml", WAITS.replace("Waits", "Waited"));
    let changed = context.run(["run", "resume", "--env", "wait=0"]);
    assert_eq!(changed.code, 2, "{changed}");
    assert!(changed.stderr.contains("waits.yaml has changed"), "{changed}");
    context.write("waits.yaml", WAITS);
    context.write("more.txt", "other\n");
    let changed = context.run(["run", "resume", "--env", "wait=0"]);
    assert_eq!(changed.code, 2, "{changed}");
    assert!(changed.stderr.contains("::more.txt has changed"), "{changed}");
    context.write("more.txt", "more\n");
    context.write("data.txt", "other\n");
    let changed = context.run(["run", "resume", "--env", "wait=0"]);
    assert_eq!(changed.code, 2, "{changed}");
    assert!(changed.stderr.contains("scripted::b"), "{changed}");
    assert!(changed.stderr.contains("`data`"), "{changed}");
    context.write("data.txt", "data\n");
    let missing = context.run(["run", "resume"]);
    assert_eq!(missing.code, 2, "{missing}");
    assert!(missing.stderr.contains("WAIT"), "{missing}");

    let resumed = context.run(["run", "resume", "--env", "wait=0"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert!(resumed.stdout.contains("3 passed"), "{resumed}");
    assert_eq!(fs::read(&first).unwrap(), before);
    let journal = fs::read_to_string(latest(&context).join("index.jsonl")).unwrap();
    let begun =
        |of: &str| journal.lines().filter(|l| l.contains("started") && l.contains(of)).count();
    assert_eq!([begun("::a::"), begun("::b::"), begun("::c::")], [1, 2, 1], "{journal}");
    let none = context.run(["run", "resume"]);
    assert_eq!(none.code, 2, "{none}");
    let over = context.run(["run", "resume", "latest"]);
    assert_eq!(over.code, 0, "{over}");
    assert!(over.stderr.contains("every trial is finished"), "{over}");
}

#[test]
fn a_cancelled_run_keeps_what_is_finished() {
    let Some(context) = waits() else { return };
    let mut child = start(&context, "4712");
    let cancel = context.run(["run", "cancel", "latest"]);
    assert_eq!(cancel.code, 0, "{cancel}");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let again = context.run(["run", "cancel", "latest"]);
    assert_eq!(again.code, 2, "{again}");
    assert!(again.stderr.contains("nobody works on run"), "{again}");
    let view = context.run(["run", "view"]);
    assert_eq!(view.code, 1, "{view}");
    assert!(view.stdout.contains("2 not run"), "{view}");
    let rerun = context.run(["run", "rerun", "latest", "--env", "wait=0"]);
    assert_eq!(rerun.code, 0, "{rerun}");
    assert!(rerun.stdout.contains("2 passed, 0 failed, 0 errors of 2 trials"), "{rerun}");
    let list = context.run(["run", "list", "--experiment", "waits", "--format", "json"]);
    let rows: Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 2);
    assert_eq!(rows[0]["passed"], 2);
    assert_eq!(
        context.run(["run", "list", "--experiment", "x", "--format", "json"]).stdout,
        "[]\n"
    );
}

const EDITED: &str = "schema_version: 2
id: edited
name: Edited
agents: [scripted]
prompts: [{id: p, prompt: x}, {id: q, prompt: y}]
environment_variables: [{name: OK, value: 'axp://secrets/ok'}]
environments:
  - name: e
    setup:
      - {name: s, script: 'true', setup_checks: [{name: c, script: 'test \"$OK\" = yes || echo not ready >&2; test \"$OK\" = yes'}]}
tests:
  - {name: wrong, script: grep bye /workspace/made.txt}
  - name: said
    script: ax-run-query \"$AX_RUN_ID\" sql \"SELECT payload FROM events WHERE kind = 'message'\" | grep Hello
limits: {max_time_seconds: 60}
";

fn edited() -> Option<TestContext> {
    let mut context = context()?;
    context.add_filter("::[0-9a-f]{16}\\b", "::[TRIAL]");
    context.add_filter("[0-9A-Z]{26}", "[RUN]");
    context.write("edited.yaml", EDITED);
    context
        .write("agent.yaml", "steps:\n  - write: {path: made.txt, text: hello}\n  - say: Hello.\n");
    Some(context)
}

#[test]
fn tests_run_again_without_an_agent() {
    let Some(context) = edited() else { return };
    let first = context.run(["experiment", "run", "edited.yaml", "--env", "ok=yes"]);
    assert_eq!(first.code, 1, "{first}");
    // There is no agent to look for any more.
    fs::remove_file(context.project().join("agent.yaml")).unwrap();
    let right = EDITED
        .replace("grep bye", "grep hello")
        .replace("{id: q, prompt: y}", "{id: r, prompt: y}");
    context.write("right.yaml", right);
    let args =
        ["run", "rerun", "latest", "--tests", "--experiment", "right.yaml", "--env", "ok=yes"];
    let again = context.run(args);
    insta::assert_snapshot!(again, @r#"
    exit 0
    --- stdout
    scripted::p::e  1 passed, 0 failed, 0 errors of 1  100% (21-100%, n = 1)
    edited-[RUN]: 1 passed, 0 failed, 0 errors of 1 trials  100% (21-100%, n = 1)
    --- stderr
    `latest` is run edited-[RUN]
    warning: scripted::q::e::[TRIAL] is left out: right.yaml has no such variant
    run edited-[RUN]: 1 trials
    [1/1] pass scripted::p::e::[TRIAL]
    "#);
    let view = context.run(["run", "view", "latest", "--format", "json"]);
    let report: Value = serde_json::from_str(&view.stdout).unwrap();
    let trial = &report["trials"][0];
    assert_eq!(trial["exit_reason"], "end_turn");
    assert_eq!(trial["tests"][1]["status"], "passed", "{trial:#}");
    let kept = latest(&context).join("variants/scripted__p__e");
    assert!(fs::read_to_string(kept.join("agent-events.jsonl")).unwrap().contains("Hello"));
    // A retest can itself be tested again.
    let twice = context.run(["run", "rerun", "latest", "--tests", "--env", "ok=yes"]);
    assert_eq!(twice.code, 0, "{twice}");
    let fill = context.run(["run", "rerun", "latest", "--to", "2"]);
    assert_eq!(fill.code, 2, "{fill}");
}

#[test]
fn trials_without_a_result_run_again_and_cells_are_filled() {
    let Some(context) = edited() else { return };
    context.write("edited.yaml", EDITED.replace("grep bye", "grep hello"));
    let first = context.run(["experiment", "run", "edited.yaml", "--env", "ok=no", "--jobs", "1"]);
    insta::assert_snapshot!(first.stdout, @r#"
    error  scripted::p::e::[TRIAL] (setup_check_failed): setup check `c` exited with 1: not ready
    error  scripted::q::e::[TRIAL] (setup_check_failed): setup check `c` exited with 1: not ready
    scripted::p::e  0 passed, 0 failed, 1 errors of 1
    scripted::q::e  0 passed, 0 failed, 1 errors of 1
    edited-[RUN]: 0 passed, 0 failed, 2 errors of 2 trials
    nothing passed
    "#);
    let none = context.run(["run", "rerun", "latest", "--tests", "--env", "ok=no"]);
    assert_eq!(none.code, 1, "what has no workspace stays an error: {none}");
    let id = latest(&context);
    let original = fs::read_dir(id.parent().unwrap()).unwrap().map(|run| run.unwrap().path()).min();
    let original = original.unwrap();
    let original = original.file_name().unwrap().to_str().unwrap();
    let filled = context.run(["run", "rerun", original, "--to", "2", "--env", "ok=yes"]);
    assert_eq!(filled.code, 1, "the errors stay: {filled}");
    assert!(filled.stdout.contains("4 passed, 0 failed, 2 errors of 6 trials"), "{filled}");
    let filled = context.run(["run", "rerun", original, "--to", "2", "--env", "ok=yes"]);
    assert!(filled.stderr.contains("0 trials to go"), "{filled}");
    let again = context.run(["run", "rerun", original, "--env", "ok=yes"]);
    assert_eq!(again.code, 0, "{again}");
    assert!(again.stdout.contains("2 passed, 0 failed, 0 errors of 2 trials"), "{again}");
    let list = context.run(["run", "list"]);
    assert!(list.stdout.contains("; rerun of edited-"), "{list}");
    let view = context.run(["run", "view", "latest"]);
    assert!(view.stderr.contains("it runs again what has no result in run edited-"), "{view}");
    let nothing = context.run(["run", "rerun", "latest"]);
    assert!(nothing.stderr.contains("every trial has a result"), "{nothing}");
}

#[test]
fn a_run_is_shown_in_every_format() {
    let Some(context) = edited() else { return };
    let text = EDITED
        .replace("axp://secrets/ok", "yes")
        .replace("[{id: p, prompt: x}, {id: q, prompt: y}]", "[{id: p, prompt: x}]");
    context.write("edited.yaml", text);
    let run = context.run(["experiment", "run", "edited.yaml", "--format", "junit"]);
    assert_eq!(run.code, 1, "{run}");
    insta::assert_snapshot!(run.stdout, @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="edited" tests="2" failures="1" errors="0" skipped="0">
      <testsuite name="scripted::p::e #0" tests="2" failures="1" errors="0" skipped="0">
        <testcase name="wrong" classname="scripted::p::e #0">
          <failure message="exit 1"/>
        </testcase>
        <testcase name="said" classname="scripted::p::e #0"/>
      </testsuite>
    </testsuites>
    "#);
    let show = |format: &str| context.run(["run", "view", "latest", "--format", format]).stdout;
    assert_eq!(show("junit"), run.stdout);
    insta::assert_snapshot!(show("markdown"), @r#"
    # `edited-[RUN]`

    | Variant | Passed | Failed | Errors | Planned | Pass rate | 95 % interval |
    | --- | ---: | ---: | ---: | ---: | ---: | ---: |
    | `scripted::p::e` | 0 | 1 | 0 | 1 | 0% | 0-79% |
    | all | 0 | 1 | 0 | 1 | 0% | 0-79% |

    ## fail: `scripted::p::e::[TRIAL]`

    The agent ended with `end_turn`

    - `wrong` failed: `exit 1`
    "#);
    let tests = context.run(["run", "view", "edited-", "--tests"]);
    insta::assert_snapshot!(tests, @r#"
    exit 1
    --- stdout
    scripted::p::e #0 (end_turn)
      failed wrong in [TIME]: exit 1
      passed said in [TIME]
    fail  scripted::p::e::[TRIAL] (end_turn)
      failed wrong: exit 1
    scripted::p::e  0 passed, 1 failed, 0 errors of 1  0% (0-79%, n = 1)
    edited-[RUN]: 0 passed, 1 failed, 0 errors of 1 trials  0% (0-79%, n = 1)
    nothing passed
    --- stderr
    `edited-` is run edited-[RUN]
    "#);
    let report: Value = serde_json::from_str(&show("json")).unwrap();
    let trial = report["trials"][0]["run_id"].as_str().unwrap();
    assert!(trial.ends_with("[TRIAL]"));
    let folder = latest(&context).join("variants/scripted__p__e/run.json");
    let record: Value = serde_json::from_str(&fs::read_to_string(folder).unwrap()).unwrap();
    let trial = record["run_id"].as_str().unwrap();
    let one = context.run(["run", "view", trial]);
    assert_eq!((one.code, one.stderr.as_str()), (1, ""), "{one}");
    let unknown = context.run(["run", "view", "nothing"]);
    assert_eq!(unknown.code, 2, "{unknown}");
}

/// A test that takes as long as a variable says.
const SLOW: &str = "schema_version: 2
id: slow
name: Slow
agents: [scripted]
prompts: [{id: a, prompt: x}, {id: b, prompt: y}]
environment_variables: [{name: WAIT, value: 'axp://secrets/wait'}]
tests: [{name: slow, script: 'sleep $WAIT; test -s /workspace/made.txt'}]
limits: {max_time_seconds: 600}
";

#[test]
fn a_retest_that_was_killed_goes_on() {
    let Some(context) = context() else { return };
    context.write("slow.yaml", SLOW);
    context.write("agent.yaml", "steps:\n  - write: {path: made.txt, text: made}\n");
    let first = context.run(["experiment", "run", "slow.yaml", "--env", "wait=0"]);
    assert_eq!(first.code, 0, "{first}");
    fs::remove_file(context.project().join("agent.yaml")).unwrap();
    let mut command = context.proctor_cmd();
    command.args(["run", "rerun", "latest", "--tests", "--env", "wait=4713", "--jobs", "1"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let test = b"sleep\x004713\0";
    wait_until("a test runs", || is_running(test));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the test of a killed run ends", || !is_running(test));
    let resumed = context.run(["run", "resume", "--env", "wait=0"]);
    assert_eq!(resumed.code, 0, "{resumed}");
    assert!(resumed.stdout.contains("2 passed, 0 failed, 0 errors of 2"), "{resumed}");
    let runs = fs::read_dir(context.project().join(".proctor/runs")).unwrap();
    let original = runs.map(|run| run.unwrap().path()).min().unwrap();
    let view = context.run(["run", "view", "latest", "--format", "json"]);
    let report: Value = serde_json::from_str(&view.stdout).unwrap();
    assert_eq!(report["retest_of"], original.file_name().unwrap().to_str().unwrap());
    assert_eq!(report["trials"][0]["exit_reason"], "end_turn");

    // Without the run that it tests, there is nothing to go on with.
    let plan = latest(&context).join("index.jsonl");
    fs::write(&plan, "").unwrap();
    fs::remove_dir_all(original).unwrap();
    let gone = context.run(["run", "resume", "--env", "wait=0"]);
    assert_eq!(gone.code, 2, "{gone}");
    assert!(gone.stderr.contains("whose tests run again, is gone"), "{gone}");
}
