use std::fs;

use proctor_model::run::{PlannedTrial, RunPlan, TrialRecord};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::runs::{RunWriter, TrialFolder};

struct Project {
    _folder: TempDir,
    root: Utf8PathBuf,
}

fn project() -> Project {
    let folder = tempfile::tempdir().unwrap();
    let root = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    Project { _folder: folder, root }
}

impl Project {
    /// A run with so many trials, none of them begun.
    fn run(&self, id: &str, trials: u32) -> (RunWriter, RunPlan) {
        let trials: Vec<Value> = (0..trials)
            .map(|index| {
                json!({
                    "id": format!("claude::p::{id}{index:04x}"), "variant_id": "claude::p",
                    "fingerprint": "sha256:0", "repeat_idx": index,
                    "path": format!("variants/claude__p/{index}"),
                })
            })
            .collect();
        let plan: RunPlan = serde_json::from_value(json!({
            "schema_version": 1, "run_id": id, "experiment_id": "x", "created_at": 0,
            "proctor_version": "0", "experiment_file": "/x.yaml", "experiment_digest": "sha256:1",
            "options": {}, "trials": trials,
        }))
        .unwrap();
        (Runs::of(&self.root).create(&plan, b"").unwrap(), plan)
    }

    fn file(&self) -> Utf8PathBuf {
        self.root.join(FOLDER).join(FILE)
    }

    fn open(&self) -> Kept {
        Kept::open(&self.root, &Scope::All).unwrap()
    }
}

fn record(run: &RunPlan, trial: &PlannedTrial) -> TrialRecord {
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": trial.id, "run_group_id": run.run_id, "scenario_id": "x",
        "variant_id": trial.variant_id, "fingerprint": "sha256:0", "repeat_idx": trial.repeat_idx,
        "coordinates": {
            "agent": "claude", "model": "sonnet", "effort": null, "prompt_id": "p",
            "environment": "empty", "product": null, "extension_id": null,
        },
        "status": "fail", "exit_reason": "end_turn", "reason": null,
        "started_at": 1_000, "ended_at": 9_000,
        "phases": [
            {"phase": "setup", "duration_ms": 1_000}, {"phase": "agent", "duration_ms": 5_000},
        ],
        "outcome": null,
        "usage": {
            "input_tokens": 10, "output_tokens": 20, "cache_read_tokens": 3,
            "cache_write_tokens": null, "reasoning_tokens": null, "turns": 2, "cost_usd": 0.25,
        },
        "tool_calls": 2, "tool_calls_failed": 1,
        "checks": [{
            "name": "ready", "exit_code": 0, "duration_ms": 1, "stdout_tail": "", "stderr_tail": "",
        }],
        "tests": [
            {
                "name": "builds", "status": "passed", "exit_code": 0, "duration_ms": 4,
                "stdout_tail": "ok", "stderr_tail": "",
            },
            {
                "name": "runs", "status": "failed", "exit_code": 1, "duration_ms": 5,
                "reason": "no port", "stdout_tail": "", "stderr_tail": "refused",
            },
        ],
    }))
    .unwrap()
}

fn message(text: &str) -> String {
    json!({"seq": 0, "line": 1, "kind": "message", "role": "assistant", "text": text}).to_string()
        + "\n"
}

/// Begins a trial with these events.
fn begin(writer: &RunWriter, trial: &PlannedTrial, events: impl AsRef<[u8]>) -> TrialFolder {
    let folder = writer.start(trial).unwrap();
    folder.write("events.jsonl", events.as_ref()).unwrap();
    folder
}

fn rows(kept: &mut Kept, sql: &str) -> Value {
    let answer = kept.evidence.query(sql, 1_000).unwrap_or_else(|error| panic!("{error}"));
    answer.rows.into_iter().map(|row| Value::Array(row.into_values().collect())).collect()
}

#[test]
fn trials_are_rows_of_every_table() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    begin(&writer, &plan.trials[0], message("hello"));
    writer.finish(&plan.trials[0], &record(&plan, &plan.trials[0])).unwrap();
    let mut kept = project.open();
    assert_eq!((kept.problems.as_slice(), kept.loaded), (&[] as &[String], 1));
    let id = plan.trials[0].id.as_str();
    for (sql, expected) in [
        (
            "SELECT kind, source_seq FROM events",
            json!([["message", 1], ["harness_span", 2], ["harness_span", 3]]),
        ),
        (
            "SELECT run_id, run_request_id, agent, model, prompt_id, status, exit_reason, \
             test_pass_count, test_fail_count, agent_time_ms, num_turns, tool_calls_total, \
             tool_calls_failed, input_tokens, output_tokens, cost_usd_micros, environment \
             FROM measurements",
            json!([[
                id, "x-01", "claude", "sonnet", "p", "fail", "end_turn", 1, 1, 5000, 2, 2, 1, 10,
                20, 250_000, "empty",
            ]]),
        ),
        (
            "SELECT check_name, check_kind, status, reason, exit_code FROM checks",
            json!([
                ["ready", "setup_check", "passed", null, 0],
                ["builds", "test", "passed", null, 0],
                ["runs", "test", "failed", "no port", 1],
            ]),
        ),
        (
            "SELECT test_name, stderr_tail FROM test_output",
            json!([["builds", ""], ["runs", "refused"]]),
        ),
        ("SELECT stdout FROM test_analysis", json!([["ok"], [""]])),
        (
            "SELECT agent_started_at, agent_ended_at, tool_calls_succeeded FROM runs",
            json!([["1970-01-01 00:00:02.000", "1970-01-01 00:00:07.000", 1]]),
        ),
        ("SELECT run_kind, status, isolation FROM verdicts", json!([["experiment", "fail", null]])),
        (
            "SELECT cached_read_tokens, cached_write_tokens, cost_source FROM costs",
            json!([[3, null, "agent"]]),
        ),
        ("SELECT text, seq_start FROM agent_timeline_entries", json!([["hello", 1]])),
    ] {
        assert_eq!(rows(&mut kept, sql), expected, "{sql}");
    }
}

#[test]
fn only_what_has_changed_is_read_again() {
    let project = project();
    let (writer, plan) = project.run("x-01", 3);
    begin(&writer, &plan.trials[0], message("one"));
    writer.finish(&plan.trials[0], &record(&plan, &plan.trials[0])).unwrap();
    begin(&writer, &plan.trials[1], message("two"));
    assert_eq!(project.open().loaded, 2);
    assert_eq!(project.open().loaded, 0);
    writer.finish(&plan.trials[1], &record(&plan, &plan.trials[1])).unwrap();
    let mut kept = project.open();
    assert_eq!(kept.loaded, 1);
    assert_eq!(
        rows(&mut kept, "SELECT kind, count() FROM events GROUP BY kind ORDER BY kind"),
        json!([["harness_span", 4], ["message", 2]])
    );
    // What is in one scope is not read for another.
    let (other, plan) = project.run("x-02", 1);
    begin(&other, &plan.trials[0], message("three"));
    let mut kept = Kept::open(&project.root, &Scope::Run("x-01".to_owned())).unwrap();
    assert_eq!(kept.loaded, 0);
    assert_eq!(rows(&mut kept, "SELECT count() FROM measurements"), json!([[2]]));
    let mut kept = Kept::open(&project.root, &Scope::Trial(plan.trials[0].id.clone())).unwrap();
    assert_eq!(rows(&mut kept, "SELECT count() FROM events"), json!([[1]]));
    let mut kept = Kept::open(&project.root, &Scope::Experiment("x".to_owned())).unwrap();
    assert_eq!((kept.loaded, rows(&mut kept, "SELECT count() FROM events")), (0, json!([[7]])));
    // A run that is gone is gone.
    drop(other);
    fs::remove_dir_all(Runs::of(&project.root).folder_of("x-02")).unwrap();
    assert_eq!(rows(&mut project.open(), "SELECT count() FROM events"), json!([[6]]));
}

#[test]
fn a_trial_that_is_being_written_is_read_up_to_its_last_whole_line() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    let (whole, next) = (message("one"), message("two"));
    let torn = next.split_at(20).0;
    let folder = begin(&writer, &plan.trials[0], format!("{whole}{torn}"));
    let mut kept = project.open();
    assert!(kept.problems.is_empty());
    assert_eq!(
        rows(&mut kept, "SELECT agent, count() FROM events GROUP BY agent"),
        json!([["claude", 1]])
    );
    assert_eq!(rows(&mut kept, "SELECT count() FROM verdicts"), json!([[0]]));
    folder.write("events.jsonl", format!("{whole}{next}").as_bytes()).unwrap();
    assert_eq!(rows(&mut project.open(), "SELECT count() FROM events"), json!([[2]]));
    // A resumed run begins the trial anew.
    begin(&writer, &plan.trials[0], "");
    assert_eq!(rows(&mut project.open(), "SELECT count() FROM events"), json!([[0]]));
}

#[test]
fn lines_that_cannot_be_read_are_told_each_time_and_the_others_count() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    let mut events = message("one").into_bytes();
    events.extend_from_slice(b"{\"seq\":1\n[]\n");
    events.extend(message("caf\u{e9}").replace('\u{e9}', "#").bytes().map(|byte| match byte {
        b'#' => 0xe9,
        other => other,
    }));
    events.extend(message(&"x".repeat(8 << 20)).into_bytes());
    events.extend_from_slice(b"{\"seq\"");
    begin(&writer, &plan.trials[0], events);
    writer.finish(&plan.trials[0], &record(&plan, &plan.trials[0])).unwrap();
    for _ in 0..2 {
        let mut kept = project.open();
        let [problem] = kept.problems.as_slice() else { panic!("{:?}", kept.problems) };
        assert!(
            problem.contains("events.jsonl line 2 cannot be read and is left out"),
            "{problem}"
        );
        assert!(problem.ends_with(", and 2 more"), "{problem}");
        assert_eq!(
            rows(&mut kept, "SELECT JSONExtractString(payload, 'text') FROM events LIMIT 1, 1"),
            json!([["caf\u{fffd}"]])
        );
        assert_eq!(
            rows(&mut kept, "SELECT length(payload) < 2200000 FROM events WHERE source_seq = 3"),
            json!([[1]])
        );
    }
}

#[test]
fn a_record_or_a_run_that_cannot_be_read_is_told() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    let folder = begin(&writer, &plan.trials[0], message("one"));
    writer.finish(&plan.trials[0], &record(&plan, &plan.trials[0])).unwrap();
    folder.write("run.json", b"{").unwrap();
    let mut kept = project.open();
    assert!(kept.problems[0].contains("run.json is damaged"), "{:?}", kept.problems);
    assert_eq!(rows(&mut kept, "SELECT count() FROM events"), json!([[1]]));
    let (other, _) = project.run("x-02", 1);
    fs::write(other.folder().join("group.json"), "{").unwrap();
    let kept = project.open();
    assert!(kept.problems[0].starts_with("x-02: "), "{:?}", kept.problems);
}

#[test]
fn what_is_damaged_or_foreign_is_made_anew() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    begin(&writer, &plan.trials[0], message("one"));
    assert_eq!(project.open().loaded, 1);
    let good = fs::read(project.file()).unwrap();
    let garbage = b"SQLite format 3\0 and then something else".repeat(500);
    let mut half = good.clone();
    half.truncate(good.len() / 2);
    // The version of the schema stands in bytes 60 to 63.
    let mut other = good.clone();
    other[63] = 200;
    for bytes in [b"no database".to_vec(), garbage, half, other, Vec::new()] {
        fs::write(project.file(), bytes).unwrap();
        let mut kept = project.open();
        assert_eq!((kept.loaded, kept.problems.len()), (1, 0));
        assert_eq!(rows(&mut kept, "SELECT count() FROM events"), json!([[1]]));
        drop(kept);
        assert_eq!(project.open().loaded, 0);
    }
    project.open().discard();
    assert!(!project.file().exists());
}

#[test]
fn what_somebody_else_has_open_is_not_taken_away() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    begin(&writer, &plan.trials[0], message("one"));
    let mut held = project.open();
    fs::write(project.file(), "no database").unwrap();
    let mut kept = project.open();
    assert_eq!(rows(&mut kept, "SELECT count() FROM events"), json!([[1]]));
    assert_eq!(fs::read(project.file()).unwrap(), b"no database");
    let _ = held.evidence.query("SELECT count() FROM events", 1);
    drop((held, kept));
    assert_eq!(rows(&mut project.open(), "SELECT count() FROM events"), json!([[1]]));
    assert!(fs::read(project.file()).unwrap().len() > 100);
}

#[test]
fn where_nothing_can_be_kept_the_evidence_is_in_memory() {
    let project = project();
    assert_eq!(rows(&mut project.open(), "SELECT count() FROM events"), json!([[0]]));
    assert!(!project.root.join(FOLDER).exists());
    let (writer, plan) = project.run("x-01", 1);
    begin(&writer, &plan.trials[0], message("one"));
    fs::create_dir(project.root.join(FOLDER).join("evidence.lock")).unwrap();
    let mut kept = project.open();
    assert_eq!(rows(&mut kept, "SELECT count() FROM events"), json!([[1]]));
    assert!(!project.file().exists());
}

#[test]
fn a_link_in_the_place_of_the_file_is_left_alone() {
    let project = project();
    let (writer, plan) = project.run("x-01", 1);
    begin(&writer, &plan.trials[0], message("one"));
    let target = project.root.join("precious");
    fs::write(&target, "precious").unwrap();
    std::os::unix::fs::symlink(&target, project.file()).unwrap();
    assert_eq!(rows(&mut project.open(), "SELECT count() FROM events"), json!([[1]]));
    assert_eq!(fs::read(&target).unwrap(), b"precious");
}

#[test]
fn many_at_once_lose_nothing_and_count_nothing_twice() {
    let project = project();
    let (writer, plan) = project.run("x-01", 40);
    for trial in &plan.trials {
        begin(&writer, trial, message("one").repeat(20));
        writer.finish(trial, &record(&plan, trial)).unwrap();
    }
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut kept = project.open();
                let sql = "SELECT count(), uniqExact(run_id) FROM events WHERE kind = 'message'";
                assert_eq!(rows(&mut kept, sql), json!([[800, 40]]));
                assert_eq!(kept.problems, [] as [String; 0]);
            });
        }
    });
    assert_eq!(project.open().loaded, 0);
}
