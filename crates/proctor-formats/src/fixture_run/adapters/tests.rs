use std::path::Path;

use proctor_model::json::Json;
use serde_json::{Value, json};

use super::*;

/// `actual` and the notes that an adapter makes of a payload.
fn adapted(name: &str, payload: &Value, order_by: Option<&str>) -> (Value, Vec<String>) {
    let payload = Json::from(payload);
    let adapted = adapter(name).expect("an adapter").adapt(&payload, order_by).expect("its shape");
    let notes = adapted.notes.iter().map(ToString::to_string).collect();
    (Value::from(&adapted.actual), notes)
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "literals")]
fn check(name: &str, payload: Value, actual: Value, notes: &[&str]) {
    assert_eq!(
        adapted(name, &payload, None),
        (actual, notes.iter().map(ToString::to_string).collect())
    );
}

/// The violations, a line each.
fn violations(name: &str, payload: &Value) -> String {
    let payload = Json::from(payload);
    let violations = adapter(name).expect("an adapter").adapt(&payload, None).expect_err("foreign");
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_registry_is_sorted_and_complete() {
    let names: Vec<&str> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
    assert!(names.is_sorted());
    assert_eq!(names.len(), 10);
    assert!(ADAPTERS.iter().all(|adapter| !adapter.reads.contains('\n')));
    assert!(adapter("transcrypt").is_none());
}

#[test]
fn transcript() {
    let say = |role: &str, content: Value| json!({"role": role, "content": content});
    check(
        "transcript",
        json!({"messages": [
            say("assistant", json!("Rome?")), say("user", json!("No.")),
            say("assistant", json!([{"type": "text", "text": "Os"}, {"type": "image"}, {"type": "text", "text": "lo."}])),
            say("user", json!("Right."))
        ], "order": ["a", 2]}),
        json!({"answer": "Oslo.", "order": ["a", 2]}),
        &[],
    );
    check("transcript", json!({"messages": []}), json!({}), &[note::NO_ANSWER_TEXT]);
    check(
        "transcript",
        json!({"messages": [say("assistant", json!("Let me look.")), say("assistant", Value::Null)]}),
        json!({}),
        &[note::NO_ANSWER_TEXT],
    );
    check(
        "transcript",
        json!({"turns": [{"speaker": "Ann", "text": "Oslo"}, {"speaker": "Bo", "text": "Rome"}],
               "answer_speaker": "Ann"}),
        json!({"answer": "Oslo", "entity": "Ann"}),
        &[],
    );
    check(
        "transcript",
        json!({"turns": [{"speaker": "Ann", "text": "Where?"}, {"speaker": "Assistant", "text": "Oslo"}]}),
        json!({"answer": "Oslo", "entity": "Assistant"}),
        &[],
    );
    check(
        "transcript",
        json!({"turns": [{"speaker": "Ann", "text": "Oslo"}]}),
        json!({}),
        &[note::NO_ANSWER_TEXT],
    );
}

#[test]
fn openai_chat() {
    let chat = |finish: &str, message: Value| json!({"choices": [{"finish_reason": finish, "message": message}]});
    check("openai-chat", chat("stop", json!({"content": "Oslo"})), json!({"answer": "Oslo"}), &[]);
    for reason in ["length", "content_filter"] {
        check(
            "openai-chat",
            chat(reason, json!({"content": "Os"})),
            json!({"answer": "Os", "truncated": true}),
            &[],
        );
    }
    check(
        "openai-chat",
        chat("stop", json!({"content": null, "refusal": "No."})),
        json!({"answer": "No.", "refusal": true}),
        &[],
    );
    for content in [Value::Null, json!("")] {
        check(
            "openai-chat",
            chat("tool_calls", json!({"content": content, "tool_calls": [{"id": "c"}]})),
            json!({}),
            &[note::NO_ANSWER_TEXT],
        );
    }
    check("openai-chat", chat("stop", json!({"content": ""})), json!({"answer": ""}), &[]);
    check("openai-chat", json!({"choices": []}), json!({}), &[note::NO_ANSWER_TEXT]);
}

#[test]
fn openai_responses() {
    let message = |phase: Value, text: &str| {
        json!({"type": "message", "role": "assistant", "phase": phase,
               "content": [{"type": "output_text", "text": text}]})
    };
    check(
        "openai-responses",
        json!({"output": [{"type": "reasoning"}, message(Value::Null, "Os"), message(Value::Null, "lo")]}),
        json!({"answer": "Oslo"}),
        &[],
    );
    check(
        "openai-responses",
        json!({"status": "incomplete",
               "output": [message(json!("commentary"), "Rome?"), message(json!("final_answer"), "Os")]}),
        json!({"answer": "Os", "truncated": true}),
        &[],
    );
    check(
        "openai-responses",
        json!({"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]}),
        json!({"answer": "No.", "refusal": true}),
        &[],
    );
    check(
        "openai-responses",
        json!({"output": [{"type": "function_call"}], "output_text": "not in raw JSON"}),
        json!({}),
        &[note::NO_ANSWER_TEXT],
    );
}

#[test]
fn anthropic() {
    let text = |text: &str| json!({"type": "text", "text": text});
    check(
        "anthropic",
        json!({"content": [{"type": "thinking", "thinking": "Rome"}, text("Os"), text("lo")], "stop_reason": "end_turn"}),
        json!({"answer": "Oslo"}),
        &[],
    );
    for reason in ["max_tokens", "model_context_window_exceeded"] {
        check(
            "anthropic",
            json!({"content": [text("Os")], "stop_reason": reason}),
            json!({"answer": "Os", "truncated": true}),
            &[],
        );
    }
    check(
        "anthropic",
        json!({"content": [{"type": "tool_use", "name": "recall"}], "stop_reason": "tool_use"}),
        json!({}),
        &[note::NO_ANSWER_TEXT],
    );
}

#[test]
fn mem0() {
    let row = |memory: &str, user: &str, at: Value| json!({"memory": memory, "user_id": user, "created_at": at});
    let rows = json!({"results": [
        row("b", "ann", json!("2026-06-20T01:00:00-07:00")),
        row("a", "ann", json!("2026-06-20T02:00:00+00:00"))
    ]});
    let actual = |order: &[&str]| json!({"answer": "b\na", "order": order, "entity": "ann"});
    assert_eq!(adapted("mem0", &rows, None).0, actual(&["b", "a"]));
    assert_eq!(adapted("mem0", &rows, Some("created_at")).0, actual(&["a", "b"]));
    for field in ["updated_at", "user"] {
        let (actual, notes) = adapted("mem0", &rows, Some(field));
        assert_eq!(actual, json!({"answer": "b\na", "entity": "ann"}));
        assert_eq!(notes, [note::ORDER_NOT_COMPARABLE]);
    }
    check(
        "mem0",
        json!([row("a", "ann", Value::Null), row("b", "bo", Value::Null)]),
        json!({"answer": "a\nb", "order": ["a", "b"]}),
        &[],
    );
    check(
        "mem0",
        json!({"results": [{"memory": "a", "event": "NONE"}, {"memory": "b", "event": "DELETE"}]}),
        json!({}),
        &[note::NOTHING_RETRIEVED],
    );
    check("mem0", json!([]), json!({}), &[note::NOTHING_RETRIEVED]);
}

#[test]
fn zep() {
    let edge = |fact: &str, from: Value, until: Value, uuid: &str| json!({"fact": fact, "valid_at": from, "invalid_at": until, "uuid": uuid, "source_node_name": "Ann"});
    check(
        "zep",
        json!({"edges": [
            edge("c", json!("2026-06-20T00:00:00Z"), Value::Null, "2"),
            edge("b", json!("2026-06-20T00:00:00Z"), Value::Null, "1"),
            edge("a", json!("2026-01-02T00:00:00Z"), json!("2026-06-20T00:00:00Z"), "3")
        ]}),
        json!({"answer": "c\nb", "order": ["a", "b", "c"], "entity": "Ann"}),
        &[],
    );
    check(
        "zep",
        json!({"edges": [edge("a", Value::Null, json!("2026-06-20T00:00:00Z"), "1")]}),
        json!({"entity": "Ann"}),
        &[note::ORDER_NOT_COMPARABLE, note::NO_CURRENT_FACTS],
    );
    check("zep", json!({"edges": []}), json!({}), &[note::NOTHING_RETRIEVED]);
    check("zep", json!({"context": " \n"}), json!({}), &[note::NOTHING_RETRIEVED]);
    check(
        "zep",
        json!({"context": "- Ann lives in Oslo (2026-06-20 - present)"}),
        json!({"answer": "- Ann lives in Oslo (2026-06-20 - present)"}),
        &[],
    );
    check(
        "zep",
        json!({"context": "- Ann lived in Rome (2026-01-02 - 2026-06-20)"}),
        json!({"answer": "- Ann lived in Rome (2026-01-02 - 2026-06-20)"}),
        &[note::CONTAINS_ENDED_FACTS],
    );
}

#[test]
fn letta() {
    let said = json!({"message_type": "assistant_message", "content": "Oslo", "name": "helper"});
    let turn = |stop: &str| json!({"messages": [{"message_type": "reasoning_message"}, said], "stop_reason": {"stop_reason": stop}});
    check("letta", turn("end_turn"), json!({"answer": "Oslo", "entity": "helper"}), &[]);
    for (stop, note) in [
        ("max_tokens_exceeded", "stop_reason:max_tokens_exceeded"),
        ("llm_api_error", "stop_reason:llm_api_error"),
        ("Ignore the checks!", "stop_reason:other"),
    ] {
        check("letta", turn(stop), json!({}), &[note]);
    }
    check("letta", json!({"messages": []}), json!({}), &[note::NO_ANSWER_TEXT]);
}

#[test]
fn langmem() {
    let item = |content: Value, space: &[&str]| json!({"namespace": space, "key": "k", "value": {"content": content}});
    check(
        "langmem",
        json!([item(json!({"content": "a"}), &["m", "ann"]), item(json!("b"), &["ann"])]),
        json!({"answer": "a\nb", "order": ["a", "b"], "entity": "ann"}),
        &[],
    );
    check("langmem", json!([]), json!({}), &[note::NOTHING_RETRIEVED]);
}

#[test]
fn question_files() {
    check(
        "longmemeval",
        json!({"question_id": "q", "hypothesis": "Oslo"}),
        json!({"answer": "Oslo"}),
        &[],
    );
    check("longmemeval", json!({"question_id": "q"}), json!({}), &[note::NO_ANSWER_TEXT]);
    check("locomo", json!({"question": "When?", "answer": 2022}), json!({"answer": 2022}), &[]);
    check("locomo", json!({"question": "When?"}), json!({}), &[note::NO_ANSWER_TEXT]);
}

#[test]
fn a_number_stays_as_it_was_written() {
    let payload = Json::Object(Object::new(vec![(
        "answer".into(),
        Json::Number(proctor_model::json::Number::written("1.50")),
    )]));
    let adapted = adapter("locomo").expect("an adapter").adapt(&payload, None).expect("its shape");
    assert_eq!(adapted.actual, payload);
}

#[test]
fn a_million_violations_are_a_thousand_and_a_number() {
    let shown = violations("mem0", &Value::from(vec![1; 5_000]));
    assert_eq!(shown.lines().count(), crate::fixture_run::MAX_VIOLATIONS + 1);
    assert!(shown.starts_with("/payload: 4000 further violations are not listed\n"));
}

#[test]
fn a_foreign_shape_is_told_with_every_place() {
    insta::assert_snapshot!(violations("openai-chat", &json!("x")), @"/payload: found a string, but adapter `openai-chat` reads a Chat Completions response, `{choices: [{message: {content, refusal, tool_calls}, finish_reason}]}`: the text of the first choice");
    insta::assert_snapshot!(violations("anthropic", &json!({"choices": []})), @"/payload: found an object without `content`, but adapter `anthropic` reads a Messages response, `{content: [{type: text, text}], stop_reason}`: the text blocks, not thinking or tools");
    insta::assert_snapshot!(violations("transcript", &json!({"messages": [1, {"content": "x"}, {"role": "assistant", "content": 3}]})), @"
    /payload/messages/0: found a number, but adapter `transcript` expects an object here
    /payload/messages/1/role: missing, but adapter `transcript` expects a string here
    /payload/messages/2/content: found a number, but adapter `transcript` expects a string or a list of parts here
    ");
    insta::assert_snapshot!(violations("mem0", &json!([{"id": "a"}, {"memory": 4}, null])), @"
    /payload/0/memory: missing, but adapter `mem0` expects a string here
    /payload/1/memory: found a number, but adapter `mem0` expects a string here
    /payload/2: found null, but adapter `mem0` expects an object here
    ");
    insta::assert_snapshot!(violations("zep", &json!({"context": "x", "edges": []})), @"/payload: found an object with both `context` and `edges`, but adapter `zep` reads `{context}` as it is, or `{edges: [{fact, valid_at, invalid_at, expired_at, source_node_name}]}`: the facts that have not ended; `order` has all by `valid_at`");
    insta::assert_snapshot!(violations("langmem", &json!([{"value": {"content": {"text": "x"}}}, {"namespace": "n"}])), @"
    /payload/0/value/content/content: missing, but adapter `langmem` expects a string here
    /payload/1/namespace: found a string, but adapter `langmem` expects a list here
    /payload/1/value: missing, but adapter `langmem` expects an object here
    ");
}

/// A value of every kind, everywhere: what an adapter cannot read is an error and never a panic.
#[test]
fn hostile_payloads_do_no_harm() {
    let values = [
        json!(null),
        json!(true),
        json!(1),
        json!("x"),
        json!([]),
        json!([[]]),
        json!({}),
        json!([{}]),
    ];
    let keys = [
        "messages",
        "turns",
        "choices",
        "output",
        "content",
        "results",
        "edges",
        "context",
        "stop_reason",
        "question_id",
        "question",
        "answer",
        "order",
        "answer_speaker",
        "status",
    ];
    for adapter in ADAPTERS {
        for value in &values {
            let _ = adapter.adapt(&Json::from(value), Some("x"));
            for key in keys {
                let _ = adapter.adapt(&Json::from(&json!({key: value})), None);
                let _ = adapter.adapt(
                    &Json::from(&json!({key: [{key: value, "type": "message", "content": value}]})),
                    None,
                );
            }
        }
    }
}

/// The samples are not part of this repository; skipped without them.
#[test]
#[expect(clippy::print_stderr, reason = "says that samples were not there")]
fn vendor_samples() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/recorded-runs/vendor-samples");
    let Ok(entries) = std::fs::read_dir(folder) else {
        eprintln!("skipped: no vendor samples");
        return;
    };
    let mut count = 0;
    for entry in entries {
        let path = entry.expect("an entry").path();
        let sample = std::fs::read_to_string(&path).expect("a sample");
        let sample: Value = serde_json::from_str(&sample).expect("JSON");
        let name = sample["adapter"].as_str().expect("a name");
        let (actual, _) = adapted(name, &sample["input"]["payload"], None);
        assert_eq!(actual, sample["normalised_actual"], "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 19);
}
