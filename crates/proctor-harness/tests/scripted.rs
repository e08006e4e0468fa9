//! The scripted agent's stream.

mod support;

use proctor_harness::Reads;
use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{EventKind, OutcomeClass};
use support::{class, exited};

const START: &str = r#"{"type":"start","version":1}"#;

#[test]
fn every_class_can_be_stated() {
    for stated in OutcomeClass::ALL {
        let end = format!(r#"{{"type":"end","outcome":"{stated}","message":"why"}}"#);
        let code = i32::from(stated != OutcomeClass::Completed);
        let (events, summary) = exited("scripted", &[START, &end], code);
        assert_eq!(summary.outcome.class, stated);
        assert_eq!(summary.outcome.message, "why");
        assert!(summary.warnings.is_empty());
        let is_error = stated != OutcomeClass::Completed;
        assert_eq!(events[1].kind, EventKind::Result { text: None, is_error });
    }
}

#[test]
fn its_lines_become_events() {
    let lines = [
        START,
        r#"{"type":"say","text":"hello"}"#,
        r#"{"type":"tool_call","id":"1","name":"Read","input":{"file_path":"a.md"}}"#,
        r#"{"type":"tool_result","id":"1","status":"ok","text":"content"}"#,
        r#"{"type":"tool_call","id":"2","name":"Read","input":{"file_path":"b.md"}}"#,
        r#"{"type":"tool_result","id":"2","status":"denied","text":""}"#,
        r#"{"type":"file_change","path":"c.md","change":"added"}"#,
        r#"{"type":"usage","input_tokens":5,"turns":1}"#,
        r#"{"type":"usage","input_tokens":6,"cost_usd":0.5}"#,
        r#"{"type":"notice","message":"careful"}"#,
        r#"{"type":"end","outcome":"completed","message":""}"#,
    ];
    let (events, summary) = exited("scripted", &lines, 0);
    assert_eq!(events.len(), lines.len());
    assert_eq!(events[1].kind, EventKind::Message { role: Role::Assistant, text: "hello".into() });
    assert_eq!(
        events[3].kind,
        EventKind::ToolResult { id: "1".into(), status: ToolStatus::Ok, text: "content".into() }
    );
    assert_eq!(
        events[6].kind,
        EventKind::FileChange { path: "c.md".into(), change: FileChange::Added }
    );
    assert_eq!(events[9].kind, EventKind::Notice { message: "careful".into() });
    assert_eq!(Reads::from_iter(&events).into_paths(), ["a.md"]);
    assert_eq!(summary.final_text.as_deref(), Some("hello"));
    let usage = summary.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.turns, usage.cost_usd), (Some(11), Some(1), Some(0.5)));
}

#[test]
fn without_an_end_it_was_cut_short() {
    assert_eq!(class(&exited("scripted", &[START], 0)), OutcomeClass::CutShort);
    assert_eq!(class(&exited("scripted", &["noise"], 0)), OutcomeClass::CutShort);
    assert_eq!(class(&exited("scripted", &[], 2)), OutcomeClass::UsageError);
}

#[test]
fn names_that_are_not_on_a_list_make_a_line_unknown() {
    let lines = [
        r#"{"type":"end","outcome":"splendid"}"#,
        r#"{"type":"tool_result","id":"1","status":"maybe"}"#,
        r#"{"type":"file_change","path":"a","change":"moved"}"#,
        r#"{"type":"usage","input_tokens":"many"}"#,
        r#"{"type":"dance"}"#,
    ];
    let (events, summary) = exited("scripted", &lines, 0);
    assert!(events.iter().all(|event| matches!(event.kind, EventKind::Unknown { .. })));
    assert_eq!(summary.outcome.class, OutcomeClass::CutShort);
}
