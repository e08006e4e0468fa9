//! Runs that leave and come back: any events, any record, any files.

use camino::Utf8PathBuf;
use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::run::{
    Coordinates, ExitReason, GradedCheck, GradedStatus, PhaseName, PhaseRecord, PlannedTrial,
    RunOptions, RunPlan, ScriptRecord, TRIAL_VERSION, TestRecord, TestStatus, TrialRecord,
    TrialStatus,
};
use proctor_model::{Action, Event, EventKind, Outcome, OutcomeClass, Usage};
use proctor_redact::Redactor;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests::{export, import};
use crate::export::{Writer, formats};
use crate::run::{Run, Trial};

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a-z ]{0,12}",
        Just("attachment://abc".to_owned()),
        Just("\u{1b}[31m\u{202e}\0\r\n\u{2028}".to_owned()),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn usage() -> impl Strategy<Value = Usage> {
    let count = || option::of(any::<u64>());
    let cost = option::of(0.0..1e9_f64);
    (count(), count(), count(), count(), count(), count(), cost).prop_map(
        |(input, output, read, written, reasoning, turns, cost_usd)| Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: reasoning,
            turns,
            cost_usd,
        },
    )
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        text().prop_map(|path| Action::Read { path }),
        text().prop_map(|command| Action::Shell { command }),
        text().prop_map(|name| Action::Skill { name }),
        (text(), text()).prop_map(|(server, tool)| Action::Mcp { server, tool }),
        Just(Action::Other),
    ]
}

fn kind() -> impl Strategy<Value = EventKind> {
    let role = prop_oneof![Just(Role::Assistant), Just(Role::User), Just(Role::Harness)];
    let status =
        prop_oneof![Just(ToolStatus::Ok), Just(ToolStatus::Error), Just(ToolStatus::Denied)];
    // Few ids, so that calls share them and results come twice or for nothing.
    let id = || prop_oneof![Just("1".to_owned()), Just("2".to_owned()), text()];
    let texts = || vec(text(), 0..3);
    prop_oneof![
        (option::of(text()), option::of(text()), option::of(text()), texts(), texts()).prop_map(
            |(session_id, model, version, tools, skills)| EventKind::Session {
                session_id,
                model,
                version,
                tools,
                skills
            }
        ),
        (role, text()).prop_map(|(role, text)| EventKind::Message { role, text }),
        text().prop_map(|text| EventKind::Reasoning { text }),
        (id(), text(), action(), value())
            .prop_map(|(id, name, action, input)| EventKind::ToolCall { id, name, action, input }),
        (id(), status, text()).prop_map(|(id, status, text)| EventKind::ToolResult {
            id,
            status,
            text
        }),
        text().prop_map(|path| EventKind::FileChange { path, change: FileChange::Updated }),
        usage().prop_map(|usage| EventKind::Usage { usage }),
        (option::of(any::<u32>()), option::of(any::<u16>()), text())
            .prop_map(|(attempt, status, message)| EventKind::Retry { attempt, status, message }),
        text().prop_map(|message| EventKind::Notice { message }),
        text().prop_map(|name| EventKind::Lifecycle { name }),
        (option::of(text()), any::<bool>())
            .prop_map(|(text, is_error)| EventKind::Result { text, is_error }),
        (texts(), texts(), texts(), any::<u64>()).prop_map(|(added, changed, deleted, omitted)| {
            EventKind::FileManifest { added, changed, deleted, omitted }
        }),
        text().prop_map(|name| EventKind::Unknown { name }),
        text().prop_map(|excerpt| EventKind::Garbage { excerpt }),
    ]
}

prop_compose! {
    fn events()(
        all in vec((any::<u64>(), option::of(text()), option::of(any::<u64>()), kind()), 0..10),
    ) -> Vec<Event> {
        let all = (0_u64..).zip(all);
        all.map(|(seq, (line, parent, ts_ms, kind))| Event { seq, line, parent, ts_ms, kind })
            .collect()
    }
}

fn test() -> impl Strategy<Value = TestRecord> {
    let status = prop_oneof![
        Just(TestStatus::Passed),
        Just(TestStatus::Failed),
        Just(TestStatus::EvidenceError),
        Just(TestStatus::Error),
        Just(TestStatus::Skipped),
    ];
    (text(), status, option::of(any::<i32>()), option::of(text()), vec(text(), 0..2), text())
        .prop_map(|(name, status, exit_code, reason, evidence_errors, tail)| TestRecord {
            name,
            status,
            exit_code,
            duration_ms: 3,
            reason,
            timed_out: exit_code.is_none(),
            evidence_truncated: exit_code.is_some(),
            evidence_errors,
            stdout_tail: tail.clone(),
            stderr_tail: tail,
        })
}

prop_compose! {
    fn record()(
        names in vec(text(), 5),
        coordinates in vec(option::of(text()), 5),
        reason in option::of(text()),
        class in option::of(prop_oneof![Just(OutcomeClass::Completed), Just(OutcomeClass::Quota)]),
        usage in option::of(usage()),
        moments in vec(any::<u64>(), 2),
        counts in vec(any::<u64>(), 3),
        tests in vec(test(), 0..3),
        graded in vec((text(), option::of(text()), any::<bool>()), 0..3),
        warnings in vec(text(), 0..2),
        status in prop_oneof![
            Just(TrialStatus::Pass), Just(TrialStatus::Fail), Just(TrialStatus::Error)
        ],
        repeat_idx in any::<u32>(),
    ) -> TrialRecord {
        let name = |at: usize| names.get(at).cloned().unwrap_or_default();
        let part = |at: usize| coordinates.get(at).cloned().unwrap_or_default();
        TrialRecord {
            schema_version: TRIAL_VERSION,
            run_id: name(0),
            run_group_id: "x-1".to_owned(),
            scenario_id: name(1),
            variant_id: name(2),
            fingerprint: "f".to_owned(),
            repeat_idx,
            coordinates: Coordinates {
                agent: name(3),
                model: part(0),
                effort: part(1),
                prompt_id: name(4),
                environment: part(2),
                product: part(3),
                extension_id: part(4),
            },
            status,
            exit_reason: ExitReason::EndTurn,
            reason: reason.clone(),
            started_at: moments.first().copied().unwrap_or_default(),
            ended_at: moments.last().copied().unwrap_or_default(),
            phases: vec![
                PhaseRecord { phase: PhaseName::Agent, duration_ms: counts[0] },
                PhaseRecord { phase: PhaseName::Tests, duration_ms: counts[1] },
            ],
            outcome: class.map(|class| Outcome::new(class, reason.unwrap_or_default())),
            usage,
            tool_calls: counts[1],
            tool_calls_failed: counts[2],
            isolation: None,
            checks: vec![ScriptRecord {
                name: name(1),
                exit_code: -1,
                duration_ms: counts[0],
                stdout_tail: name(2),
                stderr_tail: name(3),
            }],
            tests,
            graded: graded
                .into_iter()
                .map(|(name, excerpt, optional)| GradedCheck {
                    kind: "score".to_owned(),
                    status: GradedStatus::Unknown,
                    optional,
                    reason: None,
                    excerpt,
                    name,
                })
                .collect(),
            warnings,
        }
    }
}

fn file() -> impl Strategy<Value = (String, Vec<u8>)> {
    let bytes = prop_oneof![
        vec(any::<u8>(), 0..2000),
        text().prop_map(String::into_bytes),
        // Pieces end in the middle of a character.
        (0_usize..4)
            .prop_map(|more| format!("{}{}", "x".repeat(more), "é".repeat(200_000)).into_bytes()),
    ];
    ("[a-z]{1,8}(/[a-z0-9_ -]{1,8}){0,3}\\.log", bytes)
}

/// A trial: its record, its events and its files.
type Made = (TrialRecord, Vec<Event>, Vec<(String, Vec<u8>)>);

/// Trials on disk, as a run has them.
fn keep(trials: &[Made]) -> (tempfile::TempDir, Run) {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8PathBuf::from_path_buf(folder.path().to_owned()).unwrap();
    let mut kept = Vec::new();
    for (number, (record, events, files)) in trials.iter().enumerate() {
        let planned = PlannedTrial {
            id: record.run_id.clone(),
            variant_id: record.variant_id.clone(),
            fingerprint: record.fingerprint.clone(),
            repeat_idx: record.repeat_idx,
            path: format!("variants/v{number}"),
        };
        let trial = path.join(&planned.path);
        std::fs::create_dir_all(&trial).unwrap();
        let lines: String =
            events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect();
        std::fs::write(trial.join("events.jsonl"), lines).unwrap();
        for (name, bytes) in files {
            let file = trial.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        kept.push(Trial { planned, record: record.clone() });
    }
    let plan: RunPlan = serde_json::from_value(json!({
        "schema_version": 1, "run_id": "x-1", "kind": "conformance", "experiment_id": "x",
        "created_at": 0, "proctor_version": "0", "options": RunOptions::default(),
        "trials": kept.iter().map(|trial| &trial.planned).collect::<Vec<_>>(),
    }))
    .unwrap();
    (folder, Run { folder: path, plan, experiment: None, trials: kept })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_stream_loses_nothing_of_a_run(
        trials in vec((record(), events(), file().prop_map(|file| vec![file])), 1..4),
    ) {
        let (_folder, run) = keep(&trials);
        let (kept, problems) = import(&export(&run, "jsonl"));
        prop_assert_eq!(problems, "");
        let mut files = kept.files.into_iter();
        for (at, (record, events, written)) in trials.iter().enumerate() {
            prop_assert_eq!(kept.sessions[at].record.as_deref(), Some(record));
            prop_assert_eq!(&kept.events[at], events);
            prop_assert_eq!(&files.by_ref().take(written.len()).collect::<Vec<_>>(), written);
        }
        prop_assert_eq!((files.count(), kept.sessions.len()), (0, trials.len()));
    }

    #[test]
    fn a_log_of_inspect_loses_no_event(record in record(), events in events()) {
        let agent = record.coordinates.agent.clone();
        let cost = record.usage.and_then(|usage| usage.cost_usd);
        let (_folder, run) = keep(&[(record, events.clone(), Vec::new())]);
        let (kept, problems) = import(&export(&run, "eval"));
        prop_assert_eq!(problems, "");
        if !events.is_empty() {
            prop_assert_eq!(&kept.events[0], &events);
        }
        prop_assert_eq!(kept.sessions[0].agent.as_ref(), Some(&agent));
        prop_assert_eq!(kept.sessions[0].usage.and_then(|usage| usage.cost_usd), cost);
    }

    #[test]
    fn traces_and_trajectories_of_any_run_are_written(record in record(), events in events()) {
        let (_folder, run) = keep(&[(record, events, Vec::new())]);
        let request: Value = serde_json::from_slice(&export(&run, "otlp")).unwrap();
        let spans = request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap();
        let mut ids: Vec<&str> = spans.iter().filter_map(|span| span["spanId"].as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), spans.len());
        for span in spans {
            let moment = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
            prop_assert!(moment("startTimeUnixNano") <= moment("endTimeUnixNano"));
            let parent = span["parentSpanId"].as_str();
            prop_assert!(parent.is_none_or(|parent| ids.binary_search(&parent).is_ok()));
        }
        let document: Value = serde_json::from_slice(&export(&run, "atif")).unwrap();
        prop_assert_eq!(&document["schema_version"], "ATIF-v1.8");
        let tables = run.folder.join("tables");
        std::fs::create_dir(&tables).unwrap();
        let format = formats().iter().find(|format| format.name == "parquet").unwrap();
        let Writer::Folder { write } = &format.writer else { panic!("no folder") };
        write(&run, &Redactor::default(), &tables).unwrap();
        prop_assert_eq!(std::fs::read_dir(&tables).unwrap().count(), 9);
    }
}
