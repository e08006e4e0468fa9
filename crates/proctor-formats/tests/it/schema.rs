//! The schema and the parser must not disagree.

use std::fs;
use std::sync::LazyLock;

use jsonschema::Validator;
use proctor_formats::conformance::{parse_fixture, schema};
use proptest::prelude::*;
use serde_json::{Value, json};

const FILE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/conformance-fixture.schema.json");

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&schema()).unwrap());

fn parses(fixture: &Value) -> bool {
    let bytes = serde_json::to_vec(fixture).unwrap();
    parse_fixture("x/fixture.json".into(), &bytes, "x").fixture.is_some()
}

#[test]
fn the_file_is_what_the_code_says() {
    let text = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::var_os("PROCTOR_BLESS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    let hint = "write it with `PROCTOR_BLESS=1 cargo test -p proctor-formats`";
    assert_eq!(fs::read_to_string(FILE).unwrap_or_default(), text, "{hint}");
}

#[test]
fn the_schema_is_a_schema() {
    jsonschema::meta::validate(&schema()).unwrap();
}

/// Mostly right values with all kinds of wrong ones among them.
fn fixture() -> impl Strategy<Value = Value> {
    fn one_of(values: Vec<Value>) -> impl Strategy<Value = Value> + Clone {
        prop::sample::select(values)
    }
    let odd =
        || vec![Value::Null, json!(true), json!(3), json!(2.5), json!([]), json!({}), json!("")];
    let with_odd = move |right: Vec<Value>| prop_oneof![12 => one_of(right), 1 => one_of(odd())];
    let maybe = |value: BoxedStrategy<Value>| prop::option::weighted(0.4, value);
    let check = (
        prop::option::weighted(
            0.95,
            with_odd(
                ["file_exists", "file_absent", "file_matches", "file_not_matches", "command"]
                    .map(Value::from)
                    .to_vec(),
            ),
        ),
        maybe(with_odd(vec![json!("install"), json!("result")]).boxed()),
        maybe(with_odd(vec![json!(true), json!(false)]).boxed()),
        maybe(with_odd(vec![json!("a"), json!("src/a.txt")]).boxed()),
        maybe(with_odd(vec![json!("*"), json!("**/a")]).boxed()),
        maybe(with_odd(vec![json!("ready"), json!("")]).boxed()),
        maybe(with_odd(vec![json!(["a"]), json!(["a", ""]), json!([" "]), json!([1])]).boxed()),
        maybe(with_odd(vec![json!(0), json!(-1), json!(2_147_483_648_i64)]).boxed()),
        prop::option::weighted(0.03, Just(json!(1))),
    )
        .prop_map(|(kind, phase, optional, path, glob, pattern, run, exit_code, unknown)| {
            object([
                ("type", kind),
                ("phase", phase),
                ("optional", optional),
                ("path", path),
                ("glob", glob),
                ("pattern", pattern),
                ("run", run),
                ("exit_code", exit_code),
                ("optinal", unknown),
            ])
        });
    let right_check = one_of(vec![
        json!({"type": "file_exists", "path": "a"}),
        json!({"type": "command", "run": ["a"], "phase": "result"}),
        json!({"type": "file_matches", "glob": "a", "pattern": "b", "optional": true}),
        json!({"type": "file_absent", "path": ".cratis/a", "phase": "install"}),
    ]);
    let checks = prop::collection::vec(prop_oneof![right_check, check], 0..4).prop_map(Value::from);
    let names =
        || with_odd(vec![json!([]), json!(["a"]), json!(["a", "b"]), json!([""]), json!([1])]);
    let bounds = (
        maybe(with_odd(vec![json!(1), json!(0), json!(4_294_967_296_u64)]).boxed()),
        maybe(with_odd(vec![json!(0.5), json!(0), json!(1e-9)]).boxed()),
        maybe(with_odd(vec![json!(1), json!(-1)]).boxed()),
    )
        .prop_map(|(timeout_seconds, max_budget_usd, max_turns)| {
            object([
                ("timeout_seconds", timeout_seconds),
                ("max_budget_usd", max_budget_usd),
                ("max_turns", max_turns),
            ])
        });
    (
        prop::option::weighted(0.97, one_of(vec![json!("x"), json!("x"), json!(1)])),
        prop::option::weighted(0.97, one_of(vec![json!("p"), json!("p"), json!(" ")])),
        maybe(names().boxed()),
        maybe(names().boxed()),
        maybe(with_odd(vec![json!(["a"]), json!([])]).boxed()),
        prop::option::weighted(0.97, prop_oneof![20 => checks.boxed(), 1 => one_of(odd()).boxed()]),
        maybe(prop_oneof![20 => bounds.boxed(), 1 => one_of(odd()).boxed()].boxed()),
        maybe(one_of(odd()).boxed()),
        prop::option::weighted(0.03, Just(json!(1))),
    )
        .prop_map(
            |(name, prompt, profiles, harnesses, paths, checks, bounds, output, unknown)| {
                object([
                    ("name", name),
                    ("prompt", prompt),
                    ("profiles", profiles),
                    ("harnesses", harnesses),
                    ("expected_instruction_paths", paths),
                    ("checks", checks),
                    ("bounds", bounds),
                    ("expected_output", output),
                    ("chekcs", unknown),
                ])
            },
        )
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let given = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Value::Object(given.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn schema_and_parser_agree(fixture in fixture()) {
        let valid = VALIDATOR.is_valid(&fixture);
        prop_assert_eq!(parses(&fixture), valid, "{}", fixture);
    }
}

#[test]
fn what_a_schema_cannot_say_is_left_to_the_parser() {
    let with = |key: &str, value: Value| {
        let mut fixture = json!({
            "name": "x", "prompt": "p", "checks": [{"type": "file_exists", "path": "a"}]
        });
        fixture[key] = value;
        fixture
    };
    for fixture in [
        with("name", json!("y")),
        with("bounds", json!({"max_turns": 2.0})),
        with("prompt", json!("a\0b")),
        with("checks", json!([{"type": "file_exists", "path": "/etc/passwd"}])),
        with("checks", json!([{"type": "file_exists", "path": ".git/config"}])),
    ] {
        assert!(VALIDATOR.is_valid(&fixture) && !parses(&fixture), "{fixture}");
    }
}
