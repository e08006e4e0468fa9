use std::fs::File;
use std::io::{self, Read, Seek as _, Write as _};

use camino::Utf8Path;
use proctor_formats::tree::Problems;
use proctor_harness::meaning;
use proctor_model::event::{FileChange, Role, ToolStatus};
use proctor_model::{Event, EventKind, Usage};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Identity, read, recognises, write};
use crate::import::{Intake, Session, Source};

/// Keeps one session in memory.
#[derive(Default)]
struct Kept {
    events: Vec<Event>,
    session: Option<Session>,
}

impl Intake for Kept {
    fn begin(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn event(&mut self, event: Event) -> io::Result<()> {
        self.events.push(event);
        Ok(())
    }

    fn raw(&mut self, _: &str, content: &mut dyn Read) -> io::Result<()> {
        io::copy(content, &mut io::sink()).map(|_| ())
    }

    fn end(&mut self, session: Session) -> io::Result<()> {
        self.session = Some(session);
        Ok(())
    }
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

fn parse(bytes: &[u8]) -> (Kept, String) {
    let mut kept = Kept::default();
    let mut problems = Problems::new(Utf8Path::new("t.json"));
    let source = Source { name: "t.json".into(), file: file(bytes) };
    read(source, &mut kept, &mut problems).unwrap();
    (kept, problems.finish().to_string())
}

/// What is written of a session that was read.
fn again(document: &Value) -> Value {
    let (kept, problems) = parse(document.to_string().as_bytes());
    assert_eq!(problems, "", "{document}");
    let session = kept.session.unwrap();
    let identity = Identity {
        agent: session.agent.unwrap(),
        model: session.model,
        session_id: String::new(),
        usage: session.usage,
        facts: Value::Null,
    };
    write(&identity, &kept.events).0
}

fn identity(usage: Option<Usage>) -> Identity {
    Identity {
        agent: "claude".into(),
        model: Some("m".into()),
        session_id: "s".into(),
        usage,
        facts: Value::Null,
    }
}

fn usage() -> impl Strategy<Value = Usage> {
    let count = || prop::option::of(0_u64..1_000_000);
    (count(), count(), count(), count(), count(), prop::option::of(0_u32..1000)).prop_map(
        |(input, output, read, written, reasoning, cents)| Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: reasoning,
            turns: None,
            cost_usd: cents.map(|cents| f64::from(cents) / 100.0),
        },
    )
}

fn kind() -> impl Strategy<Value = EventKind> {
    let text = || prop_oneof![Just(String::new()), "[a-zé\n]{1,6}"];
    let id = || prop_oneof![Just(String::new()), "[a-c]"];
    let role = prop_oneof![Just(Role::Assistant), Just(Role::User), Just(Role::Harness)];
    let status =
        prop_oneof![Just(ToolStatus::Ok), Just(ToolStatus::Error), Just(ToolStatus::Denied)];
    let input = prop_oneof![
        Just(json!({"command": "ls"})),
        Just(json!("text")),
        Just(json!({"input": 1})),
        Just(Value::Null),
    ];
    prop_oneof![
        4 => (role, text()).prop_map(|(role, text)| EventKind::Message { role, text }),
        2 => text().prop_map(|text| EventKind::Reasoning { text }),
        4 => (id(), input).prop_map(|(id, input)| {
            let action = meaning("Bash", &input);
            EventKind::ToolCall { id, name: "Bash".into(), action, input }
        }),
        4 => (id(), status, text())
            .prop_map(|(id, status, text)| EventKind::ToolResult { id, status, text }),
        2 => usage().prop_map(|usage| EventKind::Usage { usage }),
        1 => Just(EventKind::Lifecycle { name: "x".into() }),
        1 => Just(EventKind::FileChange { path: "a".into(), change: FileChange::Added }),
    ]
}

prop_compose! {
    fn events()(
        all in prop::collection::vec(
            (kind(), prop::option::of("[pq]"), prop::option::of(0_u64..4_000_000_000_000)),
            0..25,
        ),
    ) -> Vec<Event> {
        let numbered = (0..).zip(all);
        numbered
            .map(|(seq, (kind, parent, ts_ms))| Event { seq, line: seq + 1, parent, ts_ms, kind })
            .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_and_written_the_same(
        events in events(),
        usage in prop::option::of(usage()),
    ) {
        let (document, _) = write(&identity(usage), &events);
        let once = again(&document);
        prop_assert_eq!(again(&once), once.clone());
        // Nothing of a first document changes either, but for figures that nobody had stated.
        prop_assert_eq!(&once["steps"], &document["steps"]);
        prop_assert_eq!(&once["agent"], &document["agent"]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        parse(&bytes);
        recognises(&bytes);
    }
}

#[test]
fn a_trajectory_of_harbor_is_read() {
    let document = json!({
        "schema_version": "ATIF-v1.8",
        "session_id": "s-1",
        "agent": {"name": "terminus", "version": "2.0", "model_name": "model-x"},
        "steps": [
            {"step_id": 1, "timestamp": "2026-03-01T22:38:47.557Z", "source": "user",
             "message": "List the files."},
            {"step_id": 2, "timestamp": "2026-03-01T22:38:49Z", "source": "agent",
             "message": [{"type": "text", "text": "I look."},
                         {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}],
             "reasoning_content": "hm",
             "tool_calls": [{"tool_call_id": "c1", "function_name": "bash_command",
                             "arguments": {"keystrokes": "ls\n"}}],
             "observation": {"results": [{"source_call_id": "c1", "content": "a\n"}]},
             "metrics": {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 40,
                         "cost_usd": 0.01}},
            {"step_id": 3, "source": "agent", "message": "There is a."}
        ],
        "final_metrics": {"total_prompt_tokens": 100, "total_completion_tokens": 7,
                          "total_cached_tokens": 40, "total_cost_usd": 0.01, "total_steps": 3}
    });
    let bytes = serde_json::to_vec_pretty(&document).unwrap();
    assert!(recognises(&bytes));
    let (kept, problems) = parse(&bytes);
    assert_eq!(problems, "");
    let session = kept.session.unwrap();
    insta::assert_debug_snapshot!((
        session.agent,
        session.model,
        session.span_ms,
        session.outcome.class,
        session.usage,
        session.warnings
    ));
    let lines: Vec<String> =
        kept.events.iter().map(|event| serde_json::to_string(event).unwrap()).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let text = r#"{
  "schema_version": "ATIF-v1.8",
  "agent": {"name": 7, "version": "1"},
  "steps": [
    {"step_id": 2, "source": "user", "message": "a"},
    {"step_id": 2, "source": "robot", "message": "b"},
    {"step_id": 3, "source": "agent", "message": {"a": 1},
     "tool_calls": [{"tool_call_id": "x", "function_name": "f"}],
     "observation": {"results": [{"source_call_id": "y", "content": "z"}]}},
    7
  ]
}"#;
    insta::assert_snapshot!(parse(text.as_bytes()).1);
    let good_agent = text.replace("\"name\": 7", "\"name\": \"a\"");
    insta::assert_snapshot!(parse(good_agent.as_bytes()).1);
    let future = text.replace("ATIF-v1.8", "ATIF-v2.0");
    insta::assert_snapshot!(parse(future.as_bytes()).1);
    insta::assert_snapshot!(parse(&text.as_bytes()[..100]).1);
}

#[test]
fn subagents_follow_the_call_that_started_them_and_do_not_explode() {
    let sub = |id: &str, steps: Value, subs: Value| {
        json!({"schema_version": "ATIF-v1.7", "trajectory_id": id,
            "agent": {"name": "sub", "version": "1"}, "steps": steps, "subagent_trajectories": subs})
    };
    let refer = |id: &str, times: usize| {
        let one = json!({"trajectory_id": id});
        json!([{"step_id": 1, "source": "agent", "message": "go",
            "tool_calls": [{"tool_call_id": "c", "function_name": "Task", "arguments": {}}],
            "observation": {"results": [{"source_call_id": "c", "content": "ok",
                "subagent_trajectory_ref": vec![one; times]}]}}])
    };
    let say = json!([{"step_id": 1, "source": "agent", "message": "from below"}]);
    let document = sub("root", refer("a", 1), json!([sub("a", say.clone(), json!([]))]));
    let (kept, problems) = parse(document.to_string().as_bytes());
    assert_eq!(problems, "");
    let below = kept.events.iter().find(
        |event| matches!(&event.kind, EventKind::Message { text, .. } if text == "from below"),
    );
    assert_eq!(below.unwrap().parent.as_deref(), Some("c"));
    let mut bomb = sub("z", say, json!([]));
    for level in (0..7).rev() {
        let below = if level == 6 { "z".to_owned() } else { format!("l{}", level + 1) };
        bomb = sub(&format!("l{level}"), refer(&below, 20), json!([bomb]));
    }
    let (_, problems) = parse(bomb.to_string().as_bytes());
    assert!(problems.contains("subagents counted each time"), "{problems}");
}
