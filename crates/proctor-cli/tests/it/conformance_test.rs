//! `proctor conformance test` with the scripted agent, with stand-ins and without any harness.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use proctor_testkit::{Run, TestContext};
use serde_json::{Value, json};

use crate::corpus::{context, write_file, write_fixture};

const TEST: [&str; 4] = ["conformance", "test", "--source", "corpus"];

fn test(context: &TestContext, args: &[&str]) -> Run {
    context.run(TEST.iter().chain(args))
}

/// Runs with a JSON report and gives the exit code and the report.
fn report(context: &TestContext, args: &[&str]) -> (i32, Value) {
    let run = test(context, &[args, &["--output", "json"]].concat());
    let report = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}\n{run}"));
    (run.code, report)
}

fn status(report: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |result: &Value| {
        let keys = ["fixture", "harness", "status", "reason"];
        keys.map(|key| text(&result[key])).join(" | ")
    };
    report["results"].as_array().unwrap().iter().map(line).collect()
}

/// Nothing of a run may be left in the temporary folder but the empty base.
fn assert_no_rooms(context: &mut TestContext) {
    let temporary = context.home().root().join("tmp");
    for entry in std::fs::read_dir(temporary).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_string_lossy().starts_with("proctor-0")
            || path.file_name().unwrap().to_string_lossy().starts_with("proctor-1")
        {
            let rooms: Vec<_> = std::fs::read_dir(&path)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.is_dir())
                .collect();
            assert!(rooms.is_empty(), "left over: {rooms:?}");
        }
    }
}

#[test]
fn install_only_needs_no_harness() {
    let mut context = context();
    let check = json!({"type": "file_exists", "path": ".cratis/ai/rules/general.md",
                       "phase": "install"});
    let result = json!({"type": "file_exists", "path": "out.txt"});
    write_fixture(&context, "arrives", json!({"checks": [check, result]}));
    write_fixture(&context, "plain", json!({}));
    let (code, report) = report(&context, &["--install-only"]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(status(&report).join("\n"), @r"
    arrives | claude | passed | -
    arrives | codex | passed | -
    plain | claude | skipped | no install-phase checks
    plain | codex | skipped | no install-phase checks
    ");
    let first = &report["results"][0];
    assert_eq!(first["result_phase"], "not_run");
    assert_eq!(first["checks"][0]["status"], "passed");
    assert_eq!(first["checks"][1]["status"], "skipped");
    assert_eq!(first["bounds"]["timeout_seconds"]["status"], "enforced");
    assert_eq!(first["bounds"]["max_turns"]["status"], "not_applicable");
    assert_eq!(report["mode"], "install_only");
    assert_no_rooms(&mut context);
}

#[test]
fn the_requested_id_is_reported_as_written() {
    let context = context();
    let check = json!({"type": "file_exists", "path": ".claude/rules/general.md",
                       "phase": "install"});
    let result = json!({"type": "file_exists", "path": "out.txt"});
    write_fixture(&context, "a", json!({"checks": [check, result]}));
    let (code, report) = report(&context, &["--install-only", "--harnesses", "Claude"]);
    assert_eq!((code, status(&report)), (0, vec!["a | Claude | passed | -".to_owned()]));
}

#[test]
fn a_bad_fixture_names_every_mistake_and_stops_nothing() {
    let context = context();
    write_fixture(&context, "good", json!({}));
    write_file(&context, "bad", "fixture.json", "{\n  \"name\": \"bad\",\n  \"promt\": \"x\"\n}\n");
    write_file(&context, "good", "agent.yaml", "steps:\n  - write: {path: out.txt, text: x}\n");
    let run = test(&context, &["--harnesses", "scripted"]);
    assert_eq!(run.code, 1);
    insta::assert_snapshot!(run.to_string());
}

#[test]
fn the_scripted_agent_passes_fails_and_skips() {
    let mut context = context();
    for name in ["passes", "fails", "unscripted"] {
        write_fixture(
            &context,
            name,
            json!({"expected_instruction_paths":
            [".cratis/ai/rules/general.md", ".cratis/ai/rules/extra.md"]}),
        );
    }
    write_file(
        &context,
        "passes",
        "agent.yaml",
        "steps:\n  - read: .cratis/ai/rules/general.md\n  - write: {path: out.txt, text: done}\n",
    );
    write_file(&context, "fails", "agent.yaml", "steps:\n  - say: I would rather not.\n");
    let (code, report) = report(&context, &["--harnesses", "scripted"]);
    assert_eq!(code, 1);
    insta::assert_snapshot!(status(&report).join("\n"), @r"
    fails | scripted | failed | result phase: check 0 (file_exists) failed: `out.txt` does not exist
    passes | scripted | passed | -
    unscripted | scripted | skipped | no script: put agent.yaml beside fixture.json
    ");
    let loads = &report["results"][1]["observed_load"];
    assert_eq!(loads[0]["status"], "observed");
    assert_eq!(loads[0]["installed"], true);
    assert_eq!(loads[1]["status"], "unknown");
    assert_no_rooms(&mut context);
}

#[test]
fn failures_of_the_infrastructure_are_errors_and_those_of_the_agent_failures() {
    let context = context();
    let classes = [
        ("rate_limited", "error"),
        ("overloaded", "error"),
        ("quota", "error"),
        ("api_error", "error"),
        ("max_turns", "failed"),
        ("budget", "failed"),
        ("refused", "failed"),
        ("context_overflow", "failed"),
        ("max_output", "failed"),
    ];
    for (class, _) in classes {
        let name = class.replace('_', "-");
        write_fixture(&context, &name, json!({}));
        let script = format!("steps:\n  - end: {{outcome: {class}, message: as told}}\n");
        write_file(&context, &name, "agent.yaml", &script);
    }
    let (code, report) = report(&context, &["--harnesses", "scripted"]);
    assert_eq!(code, 1);
    for (class, expected) in classes {
        let name = class.replace('_', "-");
        let results = report["results"].as_array().unwrap();
        let result = results.iter().find(|r| r["fixture"] == name.as_str()).unwrap();
        assert_eq!(result["outcome"]["class"], class);
        assert_eq!(result["status"], expected, "{class}");
        assert_eq!(result["result_phase"], "not_run");
    }
}

#[test]
fn a_deadline_ends_the_whole_tree() {
    let mut context = context();
    let mark = context.home().root().join("survived").display().to_string();
    write_fixture(&context, "hangs", json!({"bounds": {"timeout_seconds": 1}}));
    write_file(
        &context,
        "hangs",
        "agent.yaml",
        &format!(
            "steps:\n  - ignore: [TERM]\n  - spawn: {{run: [sh, -c, \"sleep 4; touch {mark}\"], \
             setsid: true, double_fork: true, keep_pipes: true}}\n  - stall\n"
        ),
    );
    let (code, report) = report(&context, &["--harnesses", "scripted"]);
    assert_eq!((code, status(&report)), (1, vec!["hangs | scripted | failed | timed out".into()]));
    assert_eq!(report["results"][0]["outcome"]["class"], "timeout");
    let processes = context.home().root().display().to_string();
    assert!(!anyone_mentions(&processes), "a process of the trial is alive");
    assert_no_rooms(&mut context);
}

/// Whether the command line of any process holds `text`.
fn anyone_mentions(text: &str) -> bool {
    let own = std::process::id().to_string();
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let name = entry.file_name();
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        name.to_string_lossy() != own
            && name.to_string_lossy().chars().all(|c| c.is_ascii_digit())
            && String::from_utf8_lossy(&command).contains(text)
    })
}

#[test]
fn silence_is_a_stall() {
    let context = context();
    write_fixture(&context, "silent", json!({"bounds": {"timeout_seconds": 60}}));
    write_file(&context, "silent", "agent.yaml", "steps:\n  - say: hm\n  - stall\n");
    let (code, report) = report(&context, &["--harnesses", "scripted", "--stall-timeout", "1"]);
    assert_eq!(code, 1);
    assert_eq!(report["results"][0]["outcome"]["class"], "stalled");
    assert_eq!(report["results"][0]["status"], "failed");
}

#[test]
fn a_stream_that_says_success_and_means_a_rate_limit_is_an_error() {
    let mut context = context();
    write_fixture(&context, "limited", json!({}));
    let line = json!({"type": "result", "subtype": "success", "is_error": true,
        "api_error_status": 429, "terminal_reason": "api_error", "num_turns": 1,
        "result": "API Error: 429 rate limited", "total_cost_usd": 0, "usage": {}});
    context.home().add_script("claude", &format!("#!/bin/sh\ncat <<'X'\n{line}\nX\nexit 0\n"));
    let (code, report) = report(&context, &["--harnesses", "claude"]);
    assert_eq!(code, 1);
    assert_eq!(report["results"][0]["status"], "error");
    assert_eq!(report["results"][0]["outcome"]["class"], "rate_limited");
}

#[test]
fn a_missing_executable_and_an_empty_answer_are_skips_with_install_results() {
    let mut context = context();
    let install = json!({"type": "file_exists", "path": ".cratis/ai/rules/general.md",
                         "phase": "install"});
    let result = json!({"type": "file_absent", "path": "out.txt"});
    write_fixture(&context, "a", json!({"checks": [install, result]}));
    context.home().add_script("codex", "#!/bin/sh\nexit 0\n");
    let (code, report) = report(&context, &[]);
    assert_eq!(code, 0);
    insta::assert_snapshot!(status(&report).join("\n"), @r"
    a | claude | skipped | executable missing: `claude` was not found on PATH
    a | codex | skipped | no output
    ");
    assert_eq!(report["results"][0]["checks"][0]["status"], "passed");
    assert_eq!(report["warnings"][0], "no fixtures ran successfully");
    let (code, _) = self::report(&context, &["--fail-on-empty"]);
    assert_eq!(code, 1);
}

#[test]
fn standard_input_is_closed() {
    let mut context = context();
    write_fixture(&context, "reads", json!({}));
    let stub = "#!/bin/sh\ncat >/dev/null\necho '{\"type\":\"turn.completed\",\"usage\":{}}'\n";
    context.home().add_script("codex", stub);
    let (_, report) = report(&context, &["--harnesses", "codex"]);
    assert_eq!(report["results"][0]["outcome"]["class"], "completed");
}

#[test]
fn transcripts_are_kept_redacted() {
    let mut context = context();
    context.home().set("MY_SECRET_KEY", "very-hidden-value-42");
    write_fixture(
        &context,
        "leaks",
        json!({
            "checks": [
                {"type": "file_absent", "path": "nothing"},
                {"type": "command", "run": ["sh", "-c", "echo $MY_SECRET_KEY; exit 1"], "optional": true}
            ]
        }),
    );
    write_file(
        &context,
        "leaks",
        "agent.yaml",
        "steps:\n  - run: [sh, -c, \"echo $MY_SECRET_KEY; echo $MY_SECRET_KEY | base64\"]\n",
    );
    let (code, report) = report(&context, &["--harnesses", "scripted", "--keep-transcripts"]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(report["results"][0]["checks"][1]["output"]["stdout"], "[redacted]\n");
    let temporary = context.home().root().join("tmp");
    let path = report["results"][0]["transcript"].as_str().unwrap();
    let path = path.replace("[SEALED]", &context.home().root().display().to_string());
    assert!(path.starts_with(&*temporary.to_string_lossy()), "{path}");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains("[redacted]"), "{text}");
    assert!(!text.contains("very-hidden") && !text.contains("dmVyeS1oaWRkZW4"), "{text}");
}

#[test]
fn transcripts_of_names_that_look_alike_stand_side_by_side() {
    let context = context();
    for name in ["a b", "a_b"] {
        write_fixture(&context, name, json!({"checks": [{"type": "file_absent", "path": "x"}]}));
        write_file(&context, name, "agent.yaml", "steps:\n  - say: hello\n");
    }
    let (code, report) = report(&context, &["--harnesses", "scripted", "--keep-transcripts"]);
    assert_eq!(code, 0, "{report:#}");
    let transcript = |index: usize| report["results"][index]["transcript"].as_str().unwrap();
    assert!(transcript(0).ends_with("/0-a_b.scripted.jsonl"), "{report:#}");
    assert!(transcript(1).ends_with("/1-a_b.scripted.jsonl"), "{report:#}");
}

#[test]
fn what_a_stream_leaves_in_doubt_is_among_the_warnings() {
    let mut context = context();
    let absent = json!({"checks": [{"type": "file_absent", "path": "x"}]});
    write_fixture(&context, "garbled", absent);
    let stub = "#!/bin/sh\necho oops\necho '{\"type\":\"turn.completed\",\"usage\":{}}'\n";
    context.home().add_script("codex", stub);
    let (code, report) = report(&context, &["--harnesses", "codex"]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(
        report["warnings"],
        json!(["garbled (codex): 1 line is not in the format of the stream"])
    );
}

#[test]
fn nothing_selected_is_success_with_a_warning_and_the_known_names() {
    let context = context();
    write_fixture(&context, "known", json!({}));
    let run = test(&context, &["--fixture", "unknown", "--install-only"]);
    assert_eq!(run.code, 0);
    assert!(run.stderr.contains("no fixture is named `unknown`; known fixtures: known"), "{run}");
    assert!(run.stdout.contains("no fixtures ran successfully"), "{run}");
}

#[test]
fn usage_errors_exit_with_2() {
    let context = context();
    write_fixture(&context, "a", json!({}));
    for (args, expected) in [
        (vec!["--harnesses", "cluade"], "did you mean `claude`?"),
        (vec!["--timeout", "0"], "--timeout"),
        (vec!["--max-budget-usd", "NaN"], "expected an amount above 0"),
        (vec!["--fixtures", "nowhere"], "nowhere"),
    ] {
        let run = test(&context, &args);
        assert_eq!(run.code, 2, "{args:?}: {run}");
        assert!(run.stderr.contains(expected), "{args:?}: {run}");
        assert_eq!(run.stdout, "");
    }
    let elsewhere = context.run(["conformance", "test", "--source", "nowhere"]);
    assert_eq!(elsewhere.code, 2);
    assert!(elsewhere.stderr.contains("hint: name the root of a corpus checkout"), "{elsewhere}");
}

#[test]
fn normal_mode_wants_a_clean_installation_and_a_corpus() {
    let context = context();
    let check = json!({"type": "file_exists", "path": ".cratis/ai/rules/general.md",
                       "phase": "install"});
    let result = json!({"type": "file_exists", "path": "out.txt"});
    write_fixture(&context, "a", json!({"checks": [check, result]}));
    let normal = || context.run(["conformance", "test", "--install-only"]);
    assert_eq!(normal().code, 2, "nothing is installed");
    let installed = context.run([
        "conformance",
        "install",
        "--source",
        "corpus",
        "--profiles",
        "p/one",
        "--harnesses",
        "claude",
    ]);
    assert_eq!(installed.code, 0, "{installed}");
    let run = normal();
    assert_eq!(run.code, 2, "nothing says where the corpus is");
    assert!(run.stderr.contains("proctor.toml"), "{run}");
    context.write("proctor.toml", "[conformance]\nsource = \"corpus\"\n");
    let run = normal();
    assert_eq!(run.code, 0, "{run}");
    context.write(".cratis/ai/rules/general.md", "changed\n");
    let run = normal();
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("rules/general.md"), "{run}");
}

/// The checks of the only fixture, after a `claude` that is this shell script said that it is done.
fn rows_after(context: &mut TestContext, script: &str) -> Vec<Value> {
    let line = json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
        "terminal_reason": "completed", "result": "done", "total_cost_usd": 0, "usage": {}});
    let script = format!("#!/bin/sh\n{script}\ncat <<'X'\n{line}\nX\n");
    context.home().add_script("claude", &script);
    let (_, report) = report(context, &["--harnesses", "claude"]);
    report["results"][0]["checks"].as_array().unwrap().clone()
}

#[test]
fn no_check_looks_or_works_where_a_planted_workspace_leads() {
    let mut context = context();
    let outside = context.project().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("out.txt"), "").unwrap();
    let exists = json!({"type": "file_exists", "path": "out.txt"});
    let command = json!({"type": "command", "run": ["touch", "touched"]});
    write_fixture(&context, "a", json!({"checks": [exists, command]}));
    let plant =
        format!("here=$PWD; cd ..; rm -rf \"$here\"; ln -s {} \"$here\"", outside.display());
    let rows = rows_after(&mut context, &plant);
    for row in &rows {
        assert_eq!(row["status"], "error", "{row}");
        let told = "the workspace is no longer the folder that was made for it: a link is there";
        assert_eq!(row["message"], told);
    }
    assert_eq!(rows.len(), 2);
    assert!(!outside.join("touched").exists());
    assert!(outside.join("out.txt").exists());
    assert_no_rooms(&mut context);
}

#[test]
fn paths_of_the_room_do_not_make_reports_differ() {
    let mut context = context();
    let command = json!({"type": "command", "exit_code": 3,
                         "run": ["sh", "-c", "pwd; echo $TMPDIR/x >&2"]});
    write_fixture(&context, "a", json!({"checks": [command]}));
    let rows = rows_after(&mut context, "");
    assert_eq!(rows[0]["output"]["stdout"], "<workspace>\n");
    assert_eq!(rows[0]["output"]["stderr"], "<room>/tmp/x\n");
    assert_eq!(rows, rows_after(&mut context, ""));
}

#[test]
fn an_empty_tmpdir_puts_no_rooms_into_the_project() {
    let context = context();
    write_fixture(&context, "a", json!({}));
    let mut command = context.proctor_cmd();
    command.args(TEST).arg("--install-only").env("TMPDIR", "");
    let before = std::fs::read_dir(context.project()).unwrap().count();
    let run = context.run_command(&mut command);
    assert_eq!(run.code, 0, "{run}");
    assert_eq!(std::fs::read_dir(context.project()).unwrap().count(), before);
}

#[test]
fn a_name_with_a_line_break_forges_no_line() {
    let context = context();
    write_fixture(&context, "a\nerror: forged", json!({}));
    let run = test(&context, &["--fixture", "x\ny", "--install-only"]);
    let told = r"no fixture is named `x\ny`; known fixtures: a\nerror: forged";
    assert!(run.stderr.contains(told), "{run}");
}

#[test]
fn an_interrupt_reports_what_finished() {
    a_signal_reports_what_finished("-INT");
}

#[test]
fn the_end_of_the_terminal_reports_what_finished_and_leaves_nothing() {
    a_signal_reports_what_finished("-HUP");
}

fn a_signal_reports_what_finished(signal: &str) {
    let mut context = context();
    write_fixture(&context, "a-fast", json!({}));
    write_file(&context, "a-fast", "agent.yaml", "steps:\n  - write: {path: out.txt, text: x}\n");
    write_fixture(&context, "b-slow", json!({}));
    let started = context.home().root().join("started");
    let script = format!(
        "steps:\n  - run: [mkfifo, {0}]\n  - run: [sh, -c, \"echo > {0}; sleep 600\"]\n",
        started.display()
    );
    write_file(&context, "b-slow", "agent.yaml", &script);
    std::fs::remove_file(&started).ok();
    let mut child = context
        .proctor_cmd()
        .args(TEST)
        .args(["--harnesses", "scripted", "--jobs", "1", "--output", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Opening the pipe for reading waits for the slow agent's `echo`.
    while !started.exists() {
        std::thread::yield_now();
    }
    let mut line = String::new();
    BufReader::new(std::fs::File::open(&started).unwrap()).read_line(&mut line).unwrap();
    let pid = child.id().to_string();
    std::process::Command::new("kill").current_dir("/").args([signal, &pid]).status().unwrap();
    let mut stdout = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut stdout).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(status(&report), ["a-fast | scripted | passed | -"]);
    assert_eq!(report["warnings"][0], "interrupted: 1 of 2 runs did not finish");
    assert!(!anyone_mentions(&started.display().to_string()), "the agent is alive");
    assert_no_rooms(&mut context);
}
