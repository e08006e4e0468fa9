//! Fixture-runs: the fast parser against the one that knows places, the contract against its
//! schema, every violation at once.

use std::fs;
use std::sync::LazyLock;

use jsonschema::Validator;
use proctor_formats::fixture_run::{ActualSource, Document, MAX_VIOLATIONS, schema};
use proctor_formats::tree::{MAX_BYTES, MAX_DEPTH, MAX_VALUES, Problems, json as tree};
use proctor_model::recorded::report::CheckName;
use proctor_model::recorded::run::{Category, Kind, MAX_NEEDLES, Scalar};
use proptest::prelude::*;
use serde_json::{Value, json};

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../contracts/fixture-run.v1.schema.json");

/// The violations of a text, a line each; empty when it is a run.
fn violations(text: impl AsRef<[u8]>) -> String {
    let violations = match Document::parse(text.as_ref()) {
        Err(violation) => vec![violation],
        Ok(document) => match document.run(ActualSource::Envelope) {
            Ok(_) => Vec::new(),
            Err(broken) => broken.violations,
        },
    };
    assert!(violations.is_sorted());
    violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn of(run: &Value) -> String {
    violations(run.to_string())
}

fn digest(text: &str) -> String {
    Document::parse(text.as_bytes()).unwrap().digest(&mut Vec::new()).unwrap().to_string()
}

/// A run in which all is right.
fn right() -> Value {
    json!({
        "$schema": "https://example.org/fixture-run.v1.schema.json",
        "contractVersion": "1",
        "fixture": {
            "id": "moved",
            "category": "forgetting",
            "kind": "positive",
            "query": "Where?",
            "memory": [null, {"any": [1.50]}],
            "goldDisputed": true,
            "expected": {
                "answerEquals": 4,
                "mustContain": ["Oslo", 4, true],
                "mustNotContain": [],
                "order": [null, {}],
                "attributedTo": "Ada"
            }
        },
        "actual": {"answer": "Oslo", "order": [], "entity": "", "truncated": false, "model": "m"}
    })
}

/// A run with one value exchanged; `None` takes it away.
fn with(pointer: &str, value: Option<Value>) -> Value {
    let mut run = right();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = run.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Value::Object(parent), Some(value)) => drop(parent.insert(key.to_owned(), value)),
        (Value::Object(parent), None) => drop(parent.remove(key)),
        (parent, Some(value)) => parent[key.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer}"),
    }
    run
}

#[test]
fn a_run_is_read_whole() {
    let text = right().to_string();
    let document = Document::parse(text.as_bytes()).unwrap();
    let run = document.run(ActualSource::Envelope).unwrap();
    let fixture = run.fixture;
    assert_eq!(
        (fixture.id, fixture.category, fixture.kind),
        ("moved", Category::Forgetting, Kind::Positive)
    );
    assert_eq!(serde_json::to_string(fixture.memory.unwrap()).unwrap(), r#"[null,{"any":[1.5]}]"#);
    assert_eq!(fixture.expected.declared().collect::<Vec<_>>(), CheckName::ALL);
    let actual = run.actual.unwrap();
    assert_eq!(actual.answer, Some(Scalar::String("Oslo")));
    assert_eq!((actual.entity, actual.truncated), (Some(""), false));
}

#[test]
fn what_may_be_left_out() {
    for pointer in [
        "/$schema",
        "/actual",
        "/actual/answer",
        "/actual/order",
        "/actual/entity",
        "/actual/truncated",
        "/fixture/query",
        "/fixture/memory",
        "/fixture/expected/answerEquals",
        "/fixture/expected/mustContain",
        "/fixture/expected/order",
    ] {
        assert_eq!(of(&with(pointer, None)), "", "{pointer}");
    }
    assert_eq!(of(&with("/fixture/expected", Some(json!({})))), "");
    assert_eq!(violations(format!("\u{feff}{}", right())), "");
    assert_eq!(of(&with("/fixture/intendedVerdict", Some(json!(3)))), "");
    assert_eq!(of(&with("/fixture/expected/answerEquals", Some(json!("")))), "");
}

#[test]
fn one_violation_each() {
    for (pointer, value, message) in [
        ("/contractVersion", json!(1), "expected the string \"1\", found the number 1"),
        ("/contractVersion", json!("2"), "expected the string \"1\", found \"2\""),
        (
            "/$schema",
            json!(null),
            "expected a string, found null; leave the key out where there is no value",
        ),
        ("/fixture", json!([]), "expected an object, found an empty list"),
        (
            "/fixture/id",
            json!(" \u{feff}\t"),
            "expected a string that is not blank, found \" \\u{feff}\\t\"",
        ),
        ("/fixture/id", json!(7), "expected a string, found the number 7"),
        (
            "/fixture/category",
            json!("forgeting"),
            "expected `forgetting`, `chronology`, `entity-confusion`, found \"forgeting\"; did you mean `forgetting`?",
        ),
        (
            "/fixture/kind",
            json!(true),
            "expected `positive`, `negative`, `malformed`, `missing-data`, `adversarial`, found the boolean true",
        ),
        ("/fixture/expected", json!("x"), "expected an object, found \"x\""),
        (
            "/fixture/expected/answerEquals",
            json!([1]),
            "expected a string, number or boolean, found a list",
        ),
        ("/fixture/expected/mustContain", json!("Oslo"), "expected a list, found \"Oslo\""),
        ("/fixture/expected/mustContain/1", json!("\n "), "is blank; every answer contains it"),
        (
            "/fixture/expected/mustContain/2",
            json!(null),
            "expected a string, number or boolean, found null; leave the key out where there is no value",
        ),
        ("/fixture/expected/order", json!({}), "expected a list, found an object"),
        (
            "/fixture/expected/attributedTo",
            json!(""),
            "expected a string that is not blank, found \"\"",
        ),
        ("/fixture/expected/mustContian", json!([]), "unknown check"),
        (
            "/actual",
            json!(null),
            "expected an object, found null; leave the key out where there is no value",
        ),
        (
            "/actual/answer",
            json!(null),
            "expected a string, number or boolean, found null; leave the key out where there is no value",
        ),
        ("/actual/order", json!("a"), "expected a list, found \"a\""),
        ("/actual/entity", json!(1), "expected a string, found the number 1"),
        ("/actual/truncated", json!("yes"), "expected `true` or `false`, found \"yes\""),
        ("/payload", json!({}), "unknown key; `--adapter NAME` reads the payload of a vendor"),
        ("/notes", json!({}), "unknown key"),
        ("/a~b/c", json!({}), "unknown key"),
    ] {
        let mut run = right();
        if pointer == "/a~b/c" {
            run["a~b/c"] = value;
            assert_eq!(of(&run), "/a~0b~1c: unknown key");
        } else {
            assert_eq!(of(&with(pointer, Some(value))), format!("{pointer}: {message}"));
        }
    }
    for pointer in [
        "/contractVersion",
        "/fixture",
        "/fixture/id",
        "/fixture/category",
        "/fixture/kind",
        "/fixture/expected",
    ] {
        assert_eq!(of(&with(pointer, None)), format!("{pointer}: is missing"));
    }
    let misspelt = json!({"mustContian": ["x"]});
    assert_eq!(
        of(&with("/fixture/expected", Some(misspelt))),
        "/fixture/expected/mustContian: unknown check; did you mean `mustContain`?"
    );
    assert_eq!(violations("[]"), "expected an object, found an empty list");
}

#[test]
fn every_violation_at_once() {
    let text = r#"{
        "contractVersion": 1,
        "fixture": {
            "id": "", "id": "again", "kind": "odd",
            "memory": {"n": 1e999, "n": null},
            "expected": {"mustContain": ["", {}], "order": 3, "contains": []}
        },
        "actual": {"answer": ["x"], "truncated": 0},
        "payload": 1
    }"#;
    insta::assert_snapshot!(violations(text), @r#"
    /actual/answer: expected a string, number or boolean, found a list
    /actual/truncated: expected `true` or `false`, found the number 0
    /contractVersion: expected the string "1", found the number 1
    /fixture/category: is missing
    /fixture/expected/contains: unknown check
    /fixture/expected/mustContain/0: is blank; every answer contains it
    /fixture/expected/mustContain/1: expected a string, number or boolean, found an object
    /fixture/expected/order: expected a list, found the number 3
    /fixture/id: duplicate key; remove one of them
    /fixture/id: expected a string that is not blank, found ""
    /fixture/kind: expected `positive`, `negative`, `malformed`, `missing-data`, `adversarial`, found "odd"
    /fixture/memory/n: duplicate key; remove one of them
    /fixture/memory/n: is a number beyond the range of doubles, about 1.8e308
    /payload: unknown key; `--adapter NAME` reads the payload of a vendor
    "#);
}

#[test]
fn a_broken_run_keeps_what_can_be_read() {
    let mut run = with("/actual/answer", Some(json!([])));
    run["fixture"]["intendedVerdict"] = json!("error");
    let text = run.to_string();
    let document = Document::parse(text.as_bytes()).unwrap();
    let broken = document.run(ActualSource::Envelope).unwrap_err();
    assert_eq!((broken.fixture.id, broken.fixture.kind), (Some("moved"), Some(Kind::Positive)));
    assert!(broken.fixture.memory.is_some());
    assert_eq!(broken.intended_verdict.unwrap().as_str(), "error");
    assert_eq!(broken.expected.must_contain.unwrap().len(), 3);

    let text = r#"{"fixture": {"id": "x", "memory": {"a": 1, "a": 2}}}"#;
    let document = Document::parse(text.as_bytes()).unwrap();
    let broken = document.run(ActualSource::Envelope).unwrap_err();
    assert_eq!((broken.fixture.id, broken.fixture.memory), (Some("x"), None));
    assert_eq!(document.digest(&mut Vec::new()), None);
}

#[test]
fn syntax_errors_say_where_and_how() {
    for (text, message) in [
        ("", "column 1: expected a JSON value, found an empty file"),
        ("{\"a\": 1\n \"b\": 2}", "line 2, column 2: "),
        ("{\"a\": NaN}", "column 7: "),
        ("\"\\ud800\"", "column 2: `\\ud800` is half of a surrogate pair"),
        ("{\"contractVersion\": \"1\",", "column 1: "),
        ("[1] 2", "column 5: "),
        ("\"a\u{1}\"", "column 3: "),
    ] {
        let shown = violations(text);
        assert!(shown.starts_with(message), "{text:?}: {shown}");
    }
    assert!(violations(b"\xff\xfe{\0}\0").contains("invalid UTF-8"));
    assert!(violations([0; 64]).contains("column 1"));
}

#[test]
fn size_depth_and_number_have_limits() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Document::parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    let deep = violations(nested(MAX_DEPTH + 1));
    assert!(deep.contains("nested deeper than 128 levels"), "{deep}");
    assert!(violations(nested(10_000)).contains("nested deeper"));
    assert!(violations("[".repeat(10_000)).contains("nested deeper"));

    let long = violations(vec![b' '; usize::try_from(MAX_BYTES).unwrap() + 1]);
    assert!(long.contains("16 MiB"), "{long}");
    let many = format!("[{}1]", "1,".repeat(MAX_VALUES));
    assert!(violations(many).contains("holds more than 1000000 values"));

    let needles = json!(vec!["x"; MAX_NEEDLES + 1]);
    let run = with("/fixture/expected/mustNotContain", Some(needles));
    assert_eq!(
        of(&run),
        "/fixture/expected/mustNotContain: lists 10001 values; the limit is 10000"
    );
    let wrong = json!(vec![Value::Null; MAX_NEEDLES]);
    let many = of(&with("/fixture/expected/mustContain", Some(wrong)));
    assert_eq!(many.lines().count(), MAX_VIOLATIONS + 1);
    assert!(many.starts_with("9000 further violations are not listed\n"));
}

#[test]
fn an_adapter_takes_the_place_of_actual() {
    let run = |run: &Value, actual: Option<&Value>| {
        let text = run.to_string();
        let actual = actual.map(Into::into);
        let document = Document::parse(text.as_bytes()).unwrap();
        let read = document.run(ActualSource::Adapter(actual.as_ref()));
        read.map(|run| run.actual.is_some()).map_err(|broken| broken.violations[0].to_string())
    };
    let mut envelope = with("/actual", None);
    assert_eq!(run(&envelope, None), Ok(false));
    envelope["payload"] = json!([]);
    assert_eq!(run(&envelope, Some(&json!({"answer": "x"}))), Ok(true));
    let message = "/actual/answer: expected a string, number or boolean, found an empty list";
    assert_eq!(run(&envelope, Some(&json!({"answer": []}))), Err(message.to_owned()));
    let both = "/actual: unknown key; an adapter makes `actual` from `payload`";
    assert_eq!(run(&right(), None), Err(both.to_owned()));
}

#[test]
fn the_schema_is_what_the_types_say() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("PROCTOR_BLESS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    let hint = "write it with `PROCTOR_BLESS=1 cargo test -p proctor-formats`";
    assert_eq!(fs::read_to_string(FILE).unwrap_or_default(), text, "{hint}");
    jsonschema::meta::validate(&schema()).unwrap();
}

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema()).unwrap());

/// Every place of the envelope and a few that do not belong there.
const PLACES: [&str; 20] = [
    "/$schema",
    "/contractVersion",
    "/fixture",
    "/fixture/id",
    "/fixture/category",
    "/fixture/kind",
    "/fixture/query",
    "/fixture/more",
    "/fixture/expected",
    "/fixture/expected/answerEquals",
    "/fixture/expected/mustContain",
    "/fixture/expected/mustContain/0",
    "/fixture/expected/mustNotContain",
    "/fixture/expected/order",
    "/fixture/expected/attributedTo",
    "/fixture/expected/more",
    "/actual",
    "/actual/answer",
    "/actual/truncated",
    "/more",
];

fn some_value() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(vec!["", " ", "1", "Oslo", "chronology", "adversarial"]);
    prop_oneof![
        Just(Value::Null),
        Just(json!(true)),
        Just(json!(1)),
        Just(json!(2.5)),
        Just(json!({})),
        Just(json!([])),
        Just(json!(["a", 1, false])),
        Just(json!(["a", " "])),
        Just(json!([null])),
        text.prop_map(Value::from),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[ -~]{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with keys in another order and white space where it may be.
fn respelt(value: &Value, seed: u64, out: &mut String) {
    let blank = [" ", "\n\t", "", "\r\n  "][usize::try_from(seed % 4).unwrap()];
    let next = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1) >> 3;
    out.push_str(blank);
    match value {
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                respelt(item, next ^ index as u64, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            if !members.is_empty() {
                let half = usize::try_from(seed).unwrap_or(0) % members.len();
                members.rotate_left(half);
            }
            out.push('{');
            for (index, (key, value)) in members.into_iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                out.push_str(blank);
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push_str(blank);
                out.push(':');
                respelt(value, next ^ index as u64, out);
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
    out.push_str(blank);
}

/// Both readers must refuse, or both take the text; duplicate keys and large numbers are flaws to
/// the fast one and mistakes or nothing to the other.
fn agree(bytes: &[u8]) {
    let mut problems = Problems::new("f".into());
    let node = tree(bytes, &mut problems);
    let document = Document::parse(bytes);
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(node.is_some(), document.is_ok(), "{shown:?}");
    match document {
        Err(violation) => assert_ne!(violation.message, "is no JSON", "{shown:?}"),
        Ok(document) => {
            if let (Ok(value), Some(_)) =
                (serde_json::from_slice::<Value>(bytes), document.digest(&mut Vec::new()))
            {
                assert_eq!(Value::from(document.root()), value, "{shown:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn schema_and_reader_agree(
        changes in prop::collection::vec(
            (prop::sample::select(&PLACES[..]), prop::option::of(some_value())), 0..4)
    ) {
        let mut run = right();
        for (pointer, value) in changes {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            match (run.pointer_mut(parent), value) {
                (Some(Value::Object(parent)), Some(value)) => drop(parent.insert(key.to_owned(), value)),
                (Some(Value::Object(parent)), None) => drop(parent.remove(key)),
                (Some(Value::Array(parent)), Some(value)) if !parent.is_empty() => parent[0] = value,
                _ => {}
            }
        }
        let shown = of(&run);
        prop_assert_eq!(VALIDATOR.is_valid(&run), shown.is_empty(), "{} {}", run, shown);
    }

    #[test]
    fn white_space_and_the_order_of_keys_do_not_matter(value in any_json(), seed in any::<u64>()) {
        let mut text = String::new();
        respelt(&value, seed, &mut text);
        let plain = value.to_string();
        prop_assert_eq!(digest(&text), digest(&plain));
        let (one, other) = (Document::parse(text.as_bytes()).unwrap(), Document::parse(plain.as_bytes()).unwrap());
        prop_assert_eq!(
            serde_json::to_string(one.root()).unwrap(),
            serde_json::to_string(other.root()).unwrap()
        );
    }

    #[test]
    fn every_document_is_read_alike(value in any_json()) {
        agree(value.to_string().as_bytes());
        agree(&serde_json::to_vec_pretty(&value).unwrap());
    }

    #[test]
    fn damaged_documents_are_read_alike(
        value in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<bool>()
    ) {
        let mut bytes = value.to_string().into_bytes();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] = byte;
        }
        agree(&bytes);
    }

    #[test]
    fn near_documents_are_read_alike(text in r#"[\[\]{},:"0-9aeE.+ntrufls\\d8-]{0,16}"#) {
        agree(text.as_bytes());
    }

    #[test]
    fn any_bytes_are_read_alike(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        agree(&bytes);
    }
}

/// Facts about the contract as others wrote it down; their schema and ours must accept the same.
#[test]
fn the_published_schema_says_the_same() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/data/recorded-runs/fixture-run.v1.schema.json"
    );
    let Ok(text) = fs::read_to_string(path) else {
        eprintln!("skipped: {path} is not here");
        return;
    };
    let published = jsonschema::draft202012::new(&serde_json::from_str(&text).unwrap()).unwrap();
    let values = [
        json!(null),
        json!(true),
        json!(1),
        json!(2.5),
        json!({}),
        json!([]),
        json!([""]),
        json!([null]),
        json!([1, true, "a"]),
        json!(""),
        json!(" "),
        json!("x"),
        json!("1"),
        json!("chronology"),
        json!("negative"),
    ];
    for place in PLACES.into_iter().filter(|place| !place.ends_with("/0")) {
        for value in values.iter().cloned().map(Some).chain([None]) {
            let run = with(place, value);
            assert_eq!(published.is_valid(&run), VALIDATOR.is_valid(&run), "{run}");
        }
    }
}
