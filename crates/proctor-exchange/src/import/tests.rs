use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::tree::Problems;
use proctor_model::event::{Role, ToolStatus};
use proctor_model::run::{
    Coordinates, ExitReason, PlannedTrial, RunOptions, RunPlan, TrialRecord, TrialStatus,
};
use proctor_model::{Action, Event, EventKind, Outcome, OutcomeClass, Usage};
use proctor_redact::Redactor;
use proptest::prelude::*;
use serde_json::json;

use super::{HEAD, Intake, Session, Source, detect, importers};
use crate::export::{Writer, formats};
use crate::run::{Run, Trial};

/// Keeps everything in memory.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) events: Vec<Vec<Event>>,
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) sessions: Vec<Session>,
}

impl Intake for Kept {
    fn begin(&mut self) -> io::Result<()> {
        self.events.push(Vec::new());
        Ok(())
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        self.events.last_mut().unwrap().push(event);
        Ok(())
    }

    fn raw(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.files.push((path.to_owned(), bytes));
        Ok(())
    }

    fn end(&mut self, session: Session) -> io::Result<()> {
        self.sessions.push(session);
        Ok(())
    }
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

pub(super) fn import(bytes: &[u8]) -> (Kept, String) {
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let Some(importer) = detect(head, None) else { return (Kept::default(), "unknown".into()) };
    read(&importer, bytes)
}

fn read(importer: &super::Importer, bytes: &[u8]) -> (Kept, String) {
    let mut kept = Kept::default();
    let mut problems = Problems::new(Utf8Path::new("f"));
    let source = Source { name: "f".into(), file: file(bytes) };
    importer.read(source, &mut kept, &mut problems).unwrap();
    (kept, problems.finish().to_string())
}

fn record(id: &str) -> TrialRecord {
    // As a file has it: what is not there has its default.
    serde_json::from_value(json!({
        "schema_version": 1, "run_id": id, "run_group_id": "x-1", "scenario_id": "x",
        "variant_id": "claude::p", "fingerprint": "f", "repeat_idx": 0,
        "coordinates": {"agent": "claude", "model": "m", "effort": null, "prompt_id": "p",
            "environment": null, "product": null, "extension_id": null},
        "status": "fail", "exit_reason": "end_turn", "started_at": 1_772_404_727_000_u64,
        "ended_at": 1_772_404_729_000_u64,
        "phases": [{"phase": "agent", "duration_ms": 1500}, {"phase": "tests", "duration_ms": 500}],
        "outcome": {"class": "completed", "message": ""},
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 3,
            "cache_write_tokens": null, "reasoning_tokens": null, "turns": 2, "cost_usd": 0.25},
        "tool_calls": 1, "tool_calls_failed": 0,
        "tests": [
            {"name": "made", "status": "passed", "exit_code": 0, "duration_ms": 100,
             "stdout_tail": "ok\n", "stderr_tail": ""},
            {"name": "said", "status": "failed", "exit_code": 1, "duration_ms": 200,
             "stdout_tail": "", "stderr_tail": "no word of it\n"}
        ]
    }))
    .unwrap()
}

fn session_events() -> Vec<Event> {
    let kinds = vec![
        EventKind::Session {
            session_id: Some("s-1".into()),
            model: Some("m".into()),
            version: Some("1.2.3".into()),
            tools: vec!["Bash".into()],
            skills: vec!["greet".into()],
        },
        EventKind::Message { role: Role::User, text: "List the files.".into() },
        EventKind::Reasoning { text: "hm".into() },
        EventKind::Message { role: Role::Assistant, text: "I look.".into() },
        EventKind::ToolCall {
            id: "t1".into(),
            name: "Bash".into(),
            action: Action::Shell { command: "ls".into() },
            input: json!({"command": "ls"}),
        },
        EventKind::ToolResult { id: "t1".into(), status: ToolStatus::Ok, text: "a\n".into() },
        EventKind::Lifecycle { name: "hook_started".into() },
        EventKind::Message { role: Role::Assistant, text: "There is a.".into() },
        EventKind::Usage {
            usage: Usage { input_tokens: Some(10), output_tokens: Some(5), ..Usage::default() },
        },
        EventKind::Result { text: Some("There is a.".into()), is_error: false },
    ];
    let stamped = (0_u64..).zip(kinds);
    stamped
        .map(|(seq, kind)| Event {
            seq,
            line: seq + 1,
            parent: None,
            ts_ms: Some(1_772_404_727_000 + seq * 100),
            kind,
        })
        .collect()
}

/// A run with one finished trial and one that is not finished.
struct Project {
    _folder: tempfile::TempDir,
    run: Run,
}

fn project(events: &[Event]) -> Project {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    let planned = |id: &str, path: &str| PlannedTrial {
        id: id.into(),
        variant_id: "claude::p".into(),
        fingerprint: "f".into(),
        repeat_idx: 0,
        path: path.into(),
    };
    let first = planned("claude::p::00000000000000aa", "variants/claude__p");
    let trial = path.join(&first.path);
    std::fs::create_dir_all(trial.join("tests")).unwrap();
    let lines: String =
        events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
    std::fs::write(trial.join("events.jsonl"), lines).unwrap();
    std::fs::write(trial.join("run.json"), "{}").unwrap();
    std::fs::write(trial.join("agent.log"), "log\n").unwrap();
    std::fs::write(trial.join("workspace.tar.zst"), [0xff, 0x00, 0xfe]).unwrap();
    std::fs::write(trial.join("tests/made.stdout.log"), "o".repeat(600_000)).unwrap();
    let plan: RunPlan = serde_json::from_value(json!({
        "schema_version": 1, "run_id": "x-01", "experiment_id": "x", "created_at": 1_772_404_700,
        "proctor_version": "0.1.0", "experiment_file": "/x.yaml", "experiment_digest": "sha256:1",
        "options": RunOptions::default(),
        "trials": [&first, planned("claude::p::00000000000000ab", "variants/claude__p/1")]
    }))
    .unwrap();
    let record = record(&first.id);
    let trials = vec![Trial { planned: first, record }];
    let run = Run { folder: path, plan, experiment: Some("id: x\n".into()), trials };
    Project { _folder: folder, run }
}

pub(super) fn export(run: &Run, format: &str) -> Vec<u8> {
    let format = formats().iter().find(|one| one.name == format).unwrap();
    let mut out = Vec::new();
    match &format.writer {
        Writer::Text { write } => drop(write(run, &Redactor::default(), &mut out).unwrap()),
        Writer::Documents { write, .. } => {
            drop(write(run, 0, &Redactor::default(), &mut out).unwrap());
        }
        Writer::Folder { .. } => panic!("a folder"),
    }
    out
}

#[test]
fn a_run_comes_back_from_its_stream_without_loss() {
    let project = project(&session_events());
    let stream = export(&project.run, "jsonl");
    let (kept, problems) = import(&stream);
    assert_eq!(problems, "");
    assert_eq!(kept.events, [session_events()]);
    assert_eq!(kept.sessions[0].record.as_deref(), Some(&project.run.trials[0].record));
    let files: Vec<(&str, usize)> =
        kept.files.iter().map(|(path, bytes)| (path.as_str(), bytes.len())).collect();
    let expected = [("agent.log", 4), ("tests/made.stdout.log", 600_000), ("workspace.tar.zst", 3)];
    assert_eq!(files, expected);
    assert_eq!(kept.files[2].1, [0xff, 0x00, 0xfe]);
    assert_eq!(stream, export(&project.run, "jsonl"));
}

#[test]
fn a_stream_that_was_cut_or_forged_is_refused_with_the_line() {
    let project = project(&session_events());
    let stream = String::from_utf8(export(&project.run, "jsonl")).unwrap();
    let lines: Vec<&str> = stream.lines().collect();
    let said = |lines: &[&str]| import((lines.join("\n") + "\n").as_bytes()).1;
    let without_end = said(&lines[..lines.len() - 1]);
    assert_eq!(without_end, "f:17:1: the stream was cut: its last line is missing");
    let torn = &stream[..stream.len() - 10];
    assert!(import(torn.as_bytes()).1.contains("was cut in the middle of this line"));
    let mut fewer = lines.clone();
    fewer.remove(3);
    assert!(said(&fewer).contains("the run has 1 trials, 10 events and 3 files"));
    let version = lines[0].replace("\"version\":1", "\"version\":9");
    assert!(said(&[&version]).starts_with("f:1:1: version 9 of the stream is not known"));
    let escape = stream.replace("agent.log", "../../agent.log");
    assert!(import(escape.as_bytes()).1.contains("`../../agent.log` is no path of a file"));
    let broken = stream
        .replace("\"encoding\":\"base64\",\"data\":\"", "\"encoding\":\"base64\",\"data\":\"!");
    assert!(import(broken.as_bytes()).1.contains("no base64"));
}

#[test]
fn a_run_comes_back_from_a_log_of_inspect_with_all_events() {
    let project = project(&session_events());
    let log = export(&project.run, "eval");
    let (kept, problems) = import(&log);
    assert_eq!(problems, "");
    assert_eq!(kept.events, [session_events()]);
    let session = &kept.sessions[0];
    assert_eq!(session.prompt_id.as_deref(), Some("x/p"));
    assert_eq!(session.agent.as_deref(), Some("claude"));
    let grades: Vec<_> = session.grades.iter().map(|one| (one.name.as_str(), one.passed)).collect();
    assert_eq!(grades, [("made", Some(true)), ("said", Some(false))]);
    assert_eq!(log, export(&project.run, "eval"));
}

#[test]
fn a_log_of_inspect_that_somebody_else_wrote_is_read() {
    let log = json!({
        "version": 2, "status": "success",
        "eval": {"created": "2026-03-01T00:00:00Z", "task": "arith", "model": "openai/gpt-x",
            "dataset": {}, "config": {}},
        "samples": [{
            "id": 1, "epoch": 2, "input": "1+1?", "target": "2",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "attachment://abc"},
                {"role": "assistant", "content": [
                    {"type": "reasoning", "reasoning": "easy"}, {"type": "text", "text": "I count."}],
                 "tool_calls": [{"id": "c1", "function": "bash", "arguments": {"cmd": "expr 1 + 1"}}]},
                {"role": "tool", "content": "2", "tool_call_id": "c1", "function": "bash"},
                {"role": "tool", "content": "", "tool_call_id": "c2",
                 "error": {"type": "approval", "message": "no"}},
                {"role": "assistant", "content": "2"}
            ],
            "attachments": {"abc": "1+1?"},
            "scores": {"match": {"value": "C", "answer": "2"}, "style": {"value": 0.5}},
            "model_usage": {"openai/gpt-x": {"input_tokens": 9, "output_tokens": 3,
                "total_tokens": 12}},
            "output": {"choices": [{"stop_reason": "stop", "message": {"content": "2"}}]}
        }]
    });
    let (kept, problems) = import(log.to_string().as_bytes());
    assert_eq!(problems, "");
    let session = &kept.sessions[0];
    assert_eq!((session.prompt_id.as_deref(), session.repeat_idx), (Some("arith/1"), 1));
    assert_eq!(session.outcome, Outcome::new(OutcomeClass::Completed, ""));
    assert_eq!(session.grades[1].passed, None);
    assert_eq!(session.grades[1].value, "0.5");
    assert_eq!(session.usage.unwrap().input_tokens, Some(9));
    let lines: Vec<String> =
        kept.events[0].iter().map(|event| serde_json::to_string(&event.kind).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let future = log.to_string().replacen("\"version\":2", "\"version\":3", 1);
    assert!(import(future.as_bytes()).1.contains("the version of the log is 3"));
}

#[test]
fn archives_that_are_bombs_or_broken_are_refused() {
    use zip::write::SimpleFileOptions;
    let project = project(&session_events());
    let log = export(&project.run, "eval");
    let cut = import(&log[..log.len() / 2]).1;
    assert!(cut.starts_with("f: it is no whole archive"), "{cut}");
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Zstd);
    zip.start_file("header.json", options).unwrap();
    zip.write_all(br#"{"version":2,"eval":{"task":"t","model":"m"}}"#).unwrap();
    zip.start_file("samples/../../x_epoch_1.json", options).unwrap();
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..130 {
        zip.write_all(&zeros).unwrap();
    }
    let bomb = zip.finish().unwrap().into_inner();
    assert!(bomb.len() < 1 << 20);
    assert!(import(&bomb).1.contains("is larger than 128 MiB"));
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    zip.start_file("hello.txt", options).unwrap();
    zip.write_all(b"hello").unwrap();
    let other = zip.finish().unwrap().into_inner();
    assert!(import(&other).1.contains("no header.json"));
}

#[test]
fn formats_are_told_by_their_content() {
    let named = |text: &str| detect(text.as_bytes(), None).map(|importer| importer.title);
    let session = r#"{"type":"summary","summary":"x"}
{"type":"user","parentUuid":null,"sessionId":"s","message":{"content":"hi"}}"#;
    assert_eq!(named(session), Some("session file of Claude Code"));
    let stream = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
    assert_eq!(named(stream), Some("printed stream of Claude Code"));
    let rollout = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"s"}}"#;
    assert_eq!(named(rollout), Some("rollout of Codex"));
    let thread = r#"{"type":"thread.started","thread_id":"s"}"#;
    assert_eq!(named(thread), Some("printed stream of Codex"));
    let record = r#"{"seq":0,"kind":"axp_meta","axp_layout_version":"1.0"}"#;
    let acp = "record of the Agent Client Protocol (agent-events.jsonl)";
    assert_eq!(named(record), Some(acp));
    assert_eq!(
        named(r#"{"schema_version": "ATIF-v1.6", "steps": []}"#),
        Some("trajectory in ATIF")
    );
    assert_eq!(named("PK\u{3}\u{4}..."), Some("log of inspect (.eval, .json)"));
    assert_eq!(named("hello"), None);
    assert_eq!(named(""), None);
    assert!(detect(rollout.as_bytes(), Some("claude")).is_none());
}

#[test]
fn lines_of_a_session_that_are_damaged_are_told_and_the_rest_is_read() {
    let text = b"{\"type\":\"user\",\"parentUuid\":null,\"sessionId\":\"s\",\"message\":{\"content\":\"hi\"}}
not json
{\"a\":\"\xff\"}
{\"type\":\"assi";
    let (kept, problems) = import(text);
    insta::assert_snapshot!(problems);
    assert_eq!(kept.events[0].len(), 5);
    assert_eq!(kept.sessions[0].outcome.class, OutcomeClass::CutShort);
    let nothing = super::named("claude").unwrap();
    let (_, problems) = read(&nothing, b"{\"a\":1}\n");
    assert!(problems.starts_with("f: no line of it is of a session file of Claude Code"));
}

#[test]
fn sessions_of_several_processes_in_one_file_are_added_up() {
    let process = |id: &str, whole: u64| {
        let init = json!({"type": "system", "subtype": "init", "session_id": id, "model": "m"});
        let models = json!({"m": {"inputTokens": whole * 5, "outputTokens": whole}});
        let result = json!({"type": "result", "subtype": "success", "is_error": false,
            "session_id": id, "result": "ok", "num_turns": 1, "total_cost_usd": 0.25,
            "usage": {"input_tokens": 100, "output_tokens": 20}, "modelUsage": models});
        format!("{init}\n{result}\n")
    };
    // The third goes on with what the second has spent.
    let (kept, _) = import((process("a", 20) + &process("b", 20) + &process("b", 40)).as_bytes());
    let usage = kept.sessions[0].usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(300), Some(60)));
    assert_eq!((usage.cost_usd, usage.turns), (Some(0.5), Some(3)));
    holds("three", &kept);
    let said = "lines of 2 sessions stand in the file, and are read as one";
    assert!(kept.sessions[0].warnings.iter().any(|warning| warning == said));
}

/// The sessions that lie beside the project where its developers work; elsewhere there are none.
#[test]
fn every_recorded_session_is_imported() {
    let folder = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/harness");
    let Ok(entries) = folder.read_dir_utf8() else { return };
    let (mut read, mut empty) = (0, 0);
    for entry in entries {
        let path = entry.unwrap().path().to_owned();
        let name = path.file_name().unwrap().to_owned();
        let agent = ["claude", "codex"].into_iter().find(|agent| name.starts_with(agent));
        let (Some(agent), Some("jsonl")) = (agent, path.extension()) else { continue };
        let bytes = std::fs::read(&path).unwrap();
        let head = bytes.get(..HEAD).unwrap_or(&bytes);
        let Some(importer) = detect(head, None) else {
            // Programs that never began have printed nothing, or no line of their stream.
            assert!(bytes.len() < 1000, "{name}");
            empty += 1;
            continue;
        };
        assert_eq!(importer.name, agent, "{name}");
        let (kept, _) = self::read(&importer, &bytes);
        assert_eq!(kept.sessions.len(), 1, "{name}");
        assert_eq!(kept.sessions[0].agent.as_deref(), Some(agent), "{name}");
        assert_eq!(kept.files[0].1, bytes, "{name}");
        holds(&name, &kept);
        read += 1;
    }
    assert!(read > 100 && empty < 40, "{read} read, {empty} empty");
}

/// What a session states is no less than what its lines add up to: `run verify` would say so.
fn holds(name: &str, kept: &Kept) {
    let stretches = kept.events[0].iter().filter_map(|event| match &event.kind {
        EventKind::Usage { usage } => Some(*usage),
        _ => None,
    });
    let Some(sum) = stretches.reduce(Usage::plus) else { return };
    let stated = kept.sessions[0].usage.unwrap();
    assert!(stated.output_tokens >= sum.output_tokens, "{name}");
    assert!(stated.input_tokens >= sum.input_tokens, "{name}");
    assert!(stated.cost_usd.unwrap_or(0.0) >= sum.cost_usd.unwrap_or(0.0) - 1e-12, "{name}");
}

fn line() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z_]{1,8}".prop_map(|text| json!(text)),
        Just(json!("user")),
        Just(json!("assistant")),
        Just(json!("session_meta")),
        Just(json!("response_item")),
        Just(json!("event")),
        Just(json!("run")),
        Just(json!("trial")),
        Just(json!(1)),
        Just(json!(null)),
        Just(json!([{"type": "text", "text": "x"}])),
        Just(json!({"content": [{"type": "tool_use", "id": 1}], "usage": {"input_tokens": 1}})),
        Just(json!({"type": "function_call_output", "output": {"content": 1}})),
    ];
    let key = prop_oneof![
        Just("type"),
        Just("message"),
        Just("payload"),
        Just("sessionId"),
        Just("parentUuid"),
        Just("session_id"),
        Just("timestamp"),
        Just("kind"),
        Just("raw_json"),
        Just("direction"),
        Just("event"),
        Just("record"),
        Just("format"),
        Just("version"),
        Just("item"),
    ];
    prop::collection::vec((key, word), 0..6).prop_map(|members| {
        let object: serde_json::Map<_, _> =
            members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        serde_json::Value::Object(object).to_string()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn no_lines_make_an_importer_panic(lines in prop::collection::vec(line(), 0..12)) {
        let text = lines.join("\n");
        for importer in importers() {
            read(&importer, text.as_bytes());
        }
    }
}

#[test]
fn what_formats_cannot_hold_is_counted() {
    let project = project(&session_events());
    for format in formats() {
        let lost = match &format.writer {
            Writer::Text { write } => write(&project.run, &Redactor::default(), &mut io::sink()),
            Writer::Documents { write, names, .. } => {
                assert_eq!(names(&project.run).len(), 1);
                write(&project.run, 0, &Redactor::default(), &mut io::sink())
            }
            Writer::Folder { write } => {
                let folder = tempfile::tempdir().unwrap();
                write(
                    &project.run,
                    &Redactor::default(),
                    Utf8Path::from_path(folder.path()).unwrap(),
                )
            }
        };
        let kinds: Vec<String> = lost.unwrap().kinds().collect();
        insta::assert_snapshot!(format!("lost_{}", format.name), kinds.join("\n"));
    }
}

#[test]
fn documents_look_as_they_should() {
    let project = project(&session_events());
    for format in ["atif", "otlp"] {
        let text = String::from_utf8(export(&project.run, format)).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        insta::assert_json_snapshot!(format!("document_{format}"), value);
    }
}

#[test]
fn secrets_that_somebody_has_by_now_are_in_no_export() {
    let project = project(&session_events());
    let redactor = Redactor::new(["There is a.".to_owned()]);
    for format in formats() {
        let mut out = Vec::new();
        match &format.writer {
            Writer::Text { write } => drop(write(&project.run, &redactor, &mut out).unwrap()),
            Writer::Documents { write, is_text: true, .. } => {
                drop(write(&project.run, 0, &redactor, &mut out).unwrap());
            }
            _ => continue,
        }
        assert!(!String::from_utf8(out).unwrap().contains("There is a."), "{}", format.name);
    }
}

#[test]
fn records_are_as_the_model_has_them() {
    // What the tests above take for granted.
    let record = record("x");
    assert_eq!(record.status, TrialStatus::Fail);
    assert_eq!(record.exit_reason, ExitReason::EndTurn);
    assert_eq!(record.coordinates.prompt_id, "p");
    assert_ne!(record.coordinates, Coordinates::default());
}

#[test]
fn numbers_that_are_none_are_no_grades_and_no_costs() {
    let log = r#"{"version": 2, "eval": {"task": "t", "model": "m"}, "samples": [{"id": 1, "epoch": 1,
        "messages": [{"role": "assistant", "content": "NaN"}],
        "scores": {"a": {"value": NaN}, "b": {"value": -Infinity}, "c": {"value": 1}},
        "model_usage": {"m": {"input_tokens": 1, "total_cost": NaN},
            "n": {"input_tokens": 2, "total_cost": -4.5}}}]}"#;
    let (kept, problems) = import(log.as_bytes());
    assert_eq!(problems, "");
    let session = &kept.sessions[0];
    let grades: Vec<_> =
        session.grades.iter().map(|one| (one.value.as_str(), one.passed)).collect();
    assert_eq!(grades, [("NaN", None), ("-Infinity", None), ("1", Some(true))]);
    let usage = session.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cost_usd), (Some(3), None));
}

#[test]
fn an_event_that_is_none_of_ours_leaves_the_messages_to_tell() {
    let project = project(&session_events());
    let mut zip = zip::ZipArchive::new(io::Cursor::new(export(&project.run, "eval"))).unwrap();
    let mut log: serde_json::Value =
        serde_json::from_reader(zip.by_name("_journal/start.json").unwrap()).unwrap();
    let mut sample: serde_json::Value =
        serde_json::from_reader(zip.by_name("samples/p_epoch_1.json").unwrap()).unwrap();
    sample["events"][5]["data"] = json!({"kind": "forged"});
    log["samples"] = json!([sample]);
    let (kept, problems) = import(log.to_string().as_bytes());
    assert_eq!(problems, "");
    let count =
        |of: fn(&EventKind) -> bool| kept.events[0].iter().filter(|event| of(&event.kind)).count();
    // Not some of them twice.
    assert_eq!(count(|kind| matches!(kind, EventKind::Session { .. })), 1);
    assert_eq!(count(|kind| matches!(kind, EventKind::ToolCall { .. })), 1);
    assert_eq!(count(|kind| matches!(kind, EventKind::Message { .. })), 3);
}

#[test]
fn documents_of_too_many_values_are_refused_before_they_take_the_memory() {
    use zip::write::SimpleFileOptions;
    let options = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    zip.start_file("header.json", options).unwrap();
    zip.write_all(br#"{"version":2,"eval":{"task":"t","model":"m"}}"#).unwrap();
    zip.start_file("samples/1_epoch_1.json", options).unwrap();
    let zeros = "0,".repeat(1 << 19);
    zip.write_all(b"[").unwrap();
    for _ in 0..9 {
        zip.write_all(zeros.as_bytes()).unwrap();
    }
    zip.write_all(b"0]").unwrap();
    let bomb = zip.finish().unwrap().into_inner();
    assert!(bomb.len() < 1 << 17);
    let problems = import(&bomb).1;
    assert_eq!(problems, "f: samples/1_epoch_1.json: has more than 4000000 values");
    let stream = String::from_utf8(export(&project(&session_events()).run, "jsonl")).unwrap();
    let event = format!(r#"{{"type":"event","event":[{}0]}}"#, zeros.repeat(9));
    let lines: Vec<&str> = stream.lines().take(2).chain([event.as_str()]).collect();
    let problems = import((lines.join("\n") + "\n").as_bytes()).1;
    assert_eq!(problems, "f:3:1: the line has more than 4000000 values");
}
