//! What a test's question to the evidence of its trial costs, without the process that asks: 5,000
//! events, as a long session has.
//!
//! `cargo bench -p proctor-query`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use proctor_model::event::{Role, ToolStatus};
use proctor_model::{Action, Event, EventKind};
use proctor_query::wire::answer;
use proctor_query::{Dimensions, Evidence};
use serde_json::json;

fn events() -> Vec<Event> {
    let text =
        "The agent says what it has found in AGENTS.md, and what it is about to do. ".repeat(4);
    let kind = |seq: u64| match seq % 5 {
        0 => EventKind::Message { role: Role::User, text: text.clone() },
        1 => EventKind::Reasoning { text: text.clone() },
        2 => EventKind::ToolCall {
            id: format!("t{}", seq / 5),
            name: "Bash".to_owned(),
            action: Action::Shell { command: "cargo test".to_owned() },
            input: json!({"command": "cargo test", "description": text}),
        },
        3 => EventKind::ToolResult {
            id: format!("t{}", seq / 5),
            status: ToolStatus::Ok,
            text: text.clone(),
        },
        _ => EventKind::Message { role: Role::Assistant, text: text.clone() },
    };
    (0..5_000)
        .map(|seq| Event { seq, line: seq + 1, parent: None, ts_ms: Some(seq), kind: kind(seq) })
        .collect()
}

fn evidence(events: &[Event]) -> Evidence {
    let mut evidence = Evidence::new(&Dimensions::default()).expect("SQLite starts");
    evidence.add_events(events).expect("events are rows");
    evidence
}

fn questions(criterion: &mut Criterion) {
    let events = events();
    criterion.bench_function("a store without events", |bench| {
        bench.iter(|| evidence(black_box(&[])));
    });
    criterion.bench_function("5,000 events become rows", |bench| {
        bench.iter(|| evidence(black_box(&events)));
    });
    let mut evidence = evidence(&events);
    for (name, sql) in [
        ("count", "SELECT count() FROM events"),
        (
            "what the agent said",
            "SELECT payload FROM events WHERE source IN ('stdout', 'transcript') \
             AND payload ILIKE '%agents.md%'",
        ),
        (
            "a part of the payload",
            "SELECT count() FROM events WHERE JSONExtractString(payload, 'input', 'command') != ''",
        ),
        ("calls", "SELECT tool_name, status, input, output FROM sd_current_tool_calls"),
    ] {
        criterion.bench_function(name, |bench| {
            bench.iter(|| answer(&mut evidence, black_box(sql), 10_000).expect("it has an answer"));
        });
    }
}

criterion_group!(benches, questions);
criterion_main!(benches);
