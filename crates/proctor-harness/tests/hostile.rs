//! What must hold for every input: where a stream is split makes no difference, and nothing makes
//! a parser panic.

mod support;

use proctor_harness::{Adapter, ExitKind, SessionEnd};
use proctor_model::OutcomeClass;
use proptest::prelude::*;
use serde_json::{Map, Value};
use support::{Session, all, read, read_parts};

/// One line of every kind that an adapter knows, with multi-byte characters, CRLF, garbage and no
/// line feed at the end.
fn sample(harness: &str) -> &'static str {
    match harness {
        "acp" => include_str!("samples/acp.jsonl"),
        "claude" => include_str!("samples/claude.jsonl"),
        "codex" => include_str!("samples/codex.jsonl"),
        "scripted" => include_str!("samples/scripted.jsonl"),
        other => panic!("a sample is missing for `{other}`"),
    }
}

fn ended() -> SessionEnd<'static> {
    SessionEnd { exit: Some(ExitKind::Code(0)), stderr: "", ended_by: None }
}

/// What holds for the events of any stream.
fn check(session: &Session) {
    let (events, summary) = session;
    for (index, event) in (0..).zip(events) {
        assert_eq!(event.seq, index);
        assert!(event.line >= 1);
    }
    assert!(events.is_sorted_by_key(|event| event.line));
    let completed = summary.outcome.class == OutcomeClass::Completed;
    assert!(completed || summary.final_text.is_none());
}

#[test]
fn samples_hold_every_kind_of_event() {
    for adapter in all() {
        let (events, summary) = read(adapter.id(), sample(adapter.id()).as_bytes(), &ended());
        assert_eq!(summary.outcome.class, OutcomeClass::Completed, "{}", adapter.id());
        let mut kinds: Vec<_> = events
            .iter()
            .map(|event| serde_json::to_value(event).unwrap()["kind"].as_str().unwrap().to_owned())
            .collect();
        kinds.sort();
        kinds.dedup();
        assert!(kinds.len() >= 10, "{}: {kinds:?}", adapter.id());
    }
}

#[test]
fn a_split_at_any_position_makes_no_difference() {
    for adapter in all() {
        let bytes = sample(adapter.id()).as_bytes();
        let whole = read(adapter.id(), bytes, &ended());
        for cut in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            let parts = read_parts(adapter.id(), [head, tail], &ended());
            assert_eq!(parts, whole, "{} cut at {cut}", adapter.id());
        }
        assert_eq!(read_parts(adapter.id(), bytes.chunks(1), &ended()), whole);
    }
}

#[test]
fn a_stream_cut_anywhere_never_completes_by_accident() {
    for adapter in all() {
        let text = sample(adapter.id());
        let last_line = text.rfind('\n').unwrap();
        for cut in 0..=last_line {
            let session = read(adapter.id(), &text.as_bytes()[..cut], &ended());
            check(&session);
            assert_ne!(session.1.outcome.class, OutcomeClass::Completed, "{} {cut}", adapter.id());
        }
    }
}

#[test]
fn the_sample_of_one_program_harms_no_other() {
    for reader in all() {
        for writer in all() {
            check(&read(reader.id(), sample(writer.id()).as_bytes(), &ended()));
        }
    }
}

fn any_adapter() -> impl Strategy<Value = &'static str> {
    prop::sample::select(all().map(Adapter::id).collect::<Vec<_>>())
}

fn any_end() -> impl Strategy<Value = Option<ExitKind>> {
    prop_oneof![
        Just(None),
        any::<i32>().prop_map(|code| Some(ExitKind::Code(code))),
        any::<i32>().prop_map(|signal| Some(ExitKind::Signal(signal))),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["text", "tool_result", "init", "Read", "429", "<synthetic>"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Puts `new` in the place of the value that is `index`-th in a walk through `value`.
fn replace(value: &mut Value, index: &mut usize, new: &Value) {
    if *index == 0 {
        *value = new.clone();
    }
    *index = index.wrapping_sub(1);
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, index, new)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| replace(member, index, new));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_do_no_harm(
        harness in any_adapter(),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
        exit in any_end(),
    ) {
        let end = SessionEnd { exit, ..SessionEnd::default() };
        check(&read(harness, &bytes, &end));
    }

    #[test]
    fn random_splits_make_no_difference(
        harness in any_adapter(),
        sizes in prop::collection::vec(1usize..300, 1..200),
    ) {
        let mut rest = sample(harness).as_bytes();
        let mut parts = Vec::new();
        for size in sizes {
            let (head, tail) = rest.split_at(size.min(rest.len()));
            parts.push(head);
            rest = tail;
        }
        parts.push(rest);
        let whole = read(harness, sample(harness).as_bytes(), &ended());
        prop_assert_eq!(read_parts(harness, parts, &ended()), whole);
    }

    #[test]
    fn changed_bytes_do_no_harm(
        harness in any_adapter(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = sample(harness).as_bytes().to_vec();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        check(&read(harness, &bytes, &ended()));
    }

    #[test]
    fn values_of_any_type_in_any_place_do_no_harm(
        harness in any_adapter(),
        places in prop::collection::vec((0usize..40, any_json()), 1..40),
    ) {
        let mut stream = String::new();
        for (line, (place, new)) in sample(harness).lines().zip(places.iter().cycle()) {
            let mut value = serde_json::from_str(line).unwrap_or(Value::Object(Map::new()));
            replace(&mut value, &mut place.clone(), new);
            stream.push_str(&value.to_string());
            stream.push('\n');
        }
        check(&read(harness, stream.as_bytes(), &ended()));
    }
}
