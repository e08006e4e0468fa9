use std::fs;

use proctor_model::run::{
    Coordinates, ExitReason, PLAN_VERSION, PlannedTrial, RunKind, RunOptions, RunPlan,
    TRIAL_VERSION, TrialRecord, TrialStatus,
};
use tempfile::TempDir;

use super::*;

struct Project {
    _folder: TempDir,
    runs: Runs,
}

fn project() -> Project {
    let folder = tempfile::tempdir().unwrap();
    let runs = Runs::of(Utf8Path::from_path(folder.path()).unwrap());
    Project { _folder: folder, runs }
}

fn trial(variant: &str, digits: &str, repeat_idx: u32, path: &str) -> PlannedTrial {
    PlannedTrial {
        id: format!("{variant}::{digits}"),
        variant_id: variant.to_owned(),
        fingerprint: "sha256:0".to_owned(),
        repeat_idx,
        path: path.to_owned(),
    }
}

fn plan(run_id: &str, trials: Vec<PlannedTrial>) -> RunPlan {
    RunPlan {
        schema_version: PLAN_VERSION,
        run_id: run_id.to_owned(),
        kind: RunKind::default(),
        experiment_id: "x".to_owned(),
        created_at: 0,
        proctor_version: "0".to_owned(),
        retest_of: None,
        rerun_of: None,
        experiment_file: "/x.yaml".to_owned(),
        experiment_digest: "sha256:1".to_owned(),
        options: RunOptions::default(),
        trials,
    }
}

fn record(trial: &PlannedTrial, status: TrialStatus) -> TrialRecord {
    TrialRecord {
        schema_version: TRIAL_VERSION,
        run_id: trial.id.clone(),
        run_group_id: "x".to_owned(),
        scenario_id: "x".to_owned(),
        variant_id: trial.variant_id.clone(),
        fingerprint: trial.fingerprint.clone(),
        repeat_idx: trial.repeat_idx,
        coordinates: Coordinates::default(),
        status,
        exit_reason: ExitReason::EndTurn,
        reason: None,
        started_at: 0,
        ended_at: 1,
        phases: Vec::new(),
        outcome: None,
        usage: None,
        tool_calls: 0,
        tool_calls_failed: 0,
        isolation: None,
        checks: Vec::new(),
        tests: Vec::new(),
        graded: Vec::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn what_was_finished_is_read_back_and_the_rest_is_not_finished() {
    let project = project();
    let trials = vec![
        trial("a::p", "00000000000000aa", 0, "variants/a__p"),
        trial("b::p", "00000000000000bb", 0, "variants/b__p"),
    ];
    let plan = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", trials.clone());
    let writer = project.runs.create(&plan, b"id: x\n").unwrap();
    let folder = writer.start(&trials[0]).unwrap();
    folder.write("tests/t.stdout.log", b"out").unwrap();
    writer.start(&trials[1]).unwrap();
    writer.finish(&trials[0], &record(&trials[0], TrialStatus::Fail)).unwrap();
    let run = StoredRun::open(writer.folder()).unwrap();
    assert_eq!(run.worker, Some(std::process::id()));
    assert_eq!(run.status(&trials[0]), Some(TrialStatus::Fail));
    assert_eq!(run.status(&trials[1]), None);
    assert!(run.was_started(&trials[1]));
    assert_eq!(run.unfinished().count(), 1);
    assert_eq!(run.records().unwrap(), [record(&trials[0], TrialStatus::Fail)]);
    assert_eq!(run.experiment().unwrap(), b"id: x\n");
    drop(writer);
    assert_eq!(StoredRun::open(&run.folder).unwrap().worker, None);
    let ignore = run.folder.parent().and_then(Utf8Path::parent).unwrap().join(".gitignore");
    assert_eq!(fs::read_to_string(ignore).unwrap(), "*\n");
}

#[test]
fn one_process_at_a_time_works_on_a_run() {
    let project = project();
    let plan = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", Vec::new());
    let writer = project.runs.create(&plan, b"").unwrap();
    let error = RunWriter::resume(writer.folder()).unwrap_err().to_string();
    assert!(error.contains("is being worked on by process"), "{error}");
    let folder = writer.folder().to_owned();
    drop(writer);
    RunWriter::resume(&folder).unwrap();
}

#[test]
fn a_torn_last_line_is_cut_off_and_the_trial_is_begun_anew() {
    let project = project();
    let trials = vec![trial("a::p", "00000000000000aa", 0, "variants/a__p")];
    let plan = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", trials.clone());
    let writer = project.runs.create(&plan, b"").unwrap();
    let folder = writer.start(&trials[0]).unwrap();
    folder.write("left-over", b"").unwrap();
    let path = writer.folder().join("index.jsonl");
    let folder = writer.folder().to_owned();
    drop(writer);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str(r#"{"event":"finished","tri"#);
    fs::write(&path, text).unwrap();
    let (writer, run) = RunWriter::resume(&folder).unwrap();
    assert_eq!(run.unfinished().count(), 1);
    let again = writer.start(&trials[0]).unwrap();
    assert!(!again.path().join("left-over").exists());
    writer.finish(&trials[0], &record(&trials[0], TrialStatus::Pass)).unwrap();
    assert_eq!(StoredRun::open(&folder).unwrap().status(&trials[0]), Some(TrialStatus::Pass));
}

#[test]
fn a_damaged_journal_or_record_is_named() {
    let project = project();
    let trials = vec![trial("a::p", "00000000000000aa", 0, "variants/a__p")];
    let plan = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", trials.clone());
    let writer = project.runs.create(&plan, b"").unwrap();
    writer.start(&trials[0]).unwrap();
    writer.finish(&trials[0], &record(&trials[0], TrialStatus::Pass)).unwrap();
    fs::write(writer.folder().join("variants/a__p/run.json"), "{").unwrap();
    let run = StoredRun::open(writer.folder()).unwrap();
    assert!(run.records().unwrap_err().to_string().contains("run.json is damaged"));
    fs::write(writer.folder().join("index.jsonl"), "x\n").unwrap();
    let error = StoredRun::open(writer.folder()).unwrap_err().to_string();
    assert!(error.contains("index.jsonl is damaged: line 1"), "{error}");
}

#[test]
fn a_first_attempt_is_cleared_without_the_repetitions_below_it() {
    let project = project();
    let first = trial("a::p", "00000000000000aa", 0, "variants/a__p");
    let second = trial("a::p", "00000000000000ab", 1, "variants/a__p/1");
    let plan = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", vec![first.clone(), second.clone()]);
    let writer = project.runs.create(&plan, b"").unwrap();
    writer.start(&second).unwrap();
    writer.finish(&second, &record(&second, TrialStatus::Pass)).unwrap();
    writer.start(&first).unwrap();
    let run = StoredRun::open(writer.folder()).unwrap();
    assert_eq!(run.records().unwrap().len(), 1);
}

#[test]
fn ids_and_unique_prefixes_are_found() {
    let project = project();
    let one = trial("a::p", "00000000000000aa", 0, "variants/a__p");
    let other = trial("a::p", "11110000000000bb", 0, "variants/a__p");
    let first = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", vec![one.clone()]);
    let second = plan("x-01BBBBBBBBBBBBBBBBBBBBBBBB", vec![other.clone()]);
    drop(project.runs.create(&first, b"").unwrap());
    drop(project.runs.create(&second, b"").unwrap());
    let found = |id: &str| {
        let found = project.runs.find(id).map_err(|error| error.to_string())?;
        Ok((found.run.plan.run_id, found.trial.map(|trial| trial.id)))
    };
    assert_eq!(found("x-01A"), Ok((first.run_id.clone(), None)));
    assert_eq!(found("01BB"), Ok((second.run_id.clone(), None)));
    assert_eq!(found("latest"), Ok((second.run_id.clone(), None)));
    assert_eq!(found("1111"), Ok((second.run_id.clone(), Some(other.id.clone()))));
    assert_eq!(found(&one.id), Ok((first.run_id.clone(), Some(one.id.clone()))));
    assert_eq!(found("a::p"), Err(format!("`a::p` could be `{}`, `{}`", other.id, one.id)));
    assert_eq!(
        found("x-01AAAAAAAAAAAAAAAAAAAAAAAB"),
        Err(format!(
            "no run or trial is named `x-01AAAAAAAAAAAAAAAAAAAAAAAB`; did you mean `{}`?",
            first.run_id
        ))
    );
    assert!(found("").is_err());
}

#[test]
fn what_agents_may_have_cost_is_known_whatever_became_of_them() {
    let project = project();
    let trials = vec![
        trial("a::p", "00000000000000aa", 0, "variants/a__p"),
        trial("b::p", "00000000000000bb", 0, "variants/b__p"),
    ];
    let plan = plan("x-01AAAAAAAAAAAAAAAAAAAAAAAA", trials.clone());
    let writer = project.runs.create(&plan, b"id: x\n").unwrap();
    writer.start(&trials[0]).unwrap();
    writer.set_aside(&trials[0], 2.0).unwrap();
    writer.start(&trials[0]).unwrap();
    writer.set_aside(&trials[0], 3.0).unwrap();
    writer.finish(&trials[0], &record(&trials[0], TrialStatus::Pass)).unwrap();
    // An attempt that never got as far as its agent.
    writer.start(&trials[1]).unwrap();
    writer.set_aside(&trials[1], 4.0).unwrap();
    writer.start(&trials[1]).unwrap();
    writer.capped("the cap of $9 could be passed").unwrap();
    let run = StoredRun::open(writer.folder()).unwrap();
    assert_eq!(run.set_aside(&trials[0]), SetAside { last: Some(3.0), lost: 2.0 });
    assert_eq!(run.set_aside(&trials[1]), SetAside { last: None, lost: 4.0 });
    let [left] = &run.unfinished_trials()[..] else { panic!() };
    assert_eq!(left.run_id, trials[1].id);
    assert_eq!(left.not_started.as_deref(), Some("the cap of $9 could be passed"));
    writer.start(&trials[1]).unwrap();
    let run = StoredRun::open(writer.folder()).unwrap();
    assert_eq!(run.unfinished_trials()[0].not_started, None);
}
