//! The schema of case files and their reader must not disagree.

use std::fs;
use std::sync::LazyLock;

use camino::{Utf8Path, Utf8PathBuf};
use jsonschema::Validator;
use proctor_formats::eval::{case_schema, check_case_file};
use proctor_model::Severity;
use proptest::prelude::*;
use serde_json::{Value, json};

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(&case_schema()).unwrap());

/// The errors of a file, one a line.
fn errors(file: &Value) -> String {
    let bytes = serde_json::to_vec(file).unwrap();
    let found = check_case_file("a.eval.json".into(), &bytes).0;
    let errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/eval-case.schema.json");

#[test]
fn the_file_is_what_the_code_says() {
    let text = format!("{:#}\n", case_schema());
    if std::env::var_os("PROCTOR_BLESS").is_some() {
        fs::write(FILE, &text).unwrap();
    }
    let hint = "write it with `PROCTOR_BLESS=1 cargo test -p proctor-formats`";
    assert_eq!(fs::read_to_string(FILE).unwrap_or_default(), text, "{hint}");
}

#[test]
fn the_schema_is_a_schema() {
    jsonschema::meta::validate(&case_schema()).unwrap();
}

fn one_of(values: Vec<Value>) -> impl Strategy<Value = Value> + Clone {
    prop::sample::select(values)
}

/// Mostly right values with all kinds of wrong ones among them.
fn mostly(right: Vec<Value>) -> BoxedStrategy<Value> {
    let odd = vec![
        Value::Null,
        json!(true),
        json!(3),
        json!(2.5),
        json!([]),
        json!({}),
        json!(""),
        json!(" "),
    ];
    prop_oneof![14 => one_of(right), 1 => one_of(odd)].boxed()
}

fn object(keys: Vec<(&'static str, f64, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let mut members: BoxedStrategy<Vec<(String, Value)>> = Just(Vec::new()).boxed();
    for (key, likely, value) in keys {
        members = (members, prop::option::weighted(likely, value))
            .prop_map(move |(mut members, value)| {
                members.extend(value.map(|value| (key.to_owned(), value)));
                members
            })
            .boxed();
    }
    members.prop_map(|members| Value::Object(members.into_iter().collect())).boxed()
}

fn list(item: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::vec(item, 0..3).prop_map(Value::Array).boxed()
}

fn assertion() -> BoxedStrategy<Value> {
    let types = ["contains", "not_contains", "regex", "file_exists", "command_exit"];
    object(vec![
        ("type", 0.97, mostly(types.map(Value::from).to_vec())),
        ("value", 0.5, mostly(vec![json!("x")])),
        ("path", 0.5, mostly(vec![json!("a"), json!("a/b"), json!("/a")])),
        ("exists", 0.1, mostly(vec![json!(true)])),
        ("command", 0.2, mostly(vec![json!("true")])),
        ("exit_code", 0.1, mostly(vec![json!(0), json!(-1)])),
        ("other", 0.02, mostly(vec![json!(1)])),
    ])
}

fn case(top: bool) -> BoxedStrategy<Value> {
    let file = object(vec![
        ("path", 0.97, mostly(vec![json!("a"), json!("~/a")])),
        ("content", 0.4, mostly(vec![json!("x")])),
        ("source", 0.3, mostly(vec![json!("b")])),
    ]);
    let item = object(vec![
        ("text", 0.97, mostly(vec![json!("x")])),
        ("weight", 0.4, mostly(vec![json!(1), json!(0.5), json!(0)])),
    ]);
    let mut keys = vec![
        ("id", 0.9, mostly(vec![json!("a"), json!("b.c-d_1"), json!("A")])),
        ("description", 0.2, mostly(vec![json!("d")])),
        ("prompt", 0.8, mostly(vec![json!("p")])),
        ("prompt_file", 0.15, mostly(vec![json!("p.md")])),
        ("expect_trigger", 0.95, mostly(vec![json!(true), json!(true), json!(false)])),
        ("near_miss", 0.3, list(mostly(vec![json!("n")]))),
        ("files", 0.2, list(file)),
        ("assertions", 0.3, list(assertion())),
        ("rubric", 0.3, mostly(vec![json!("r")])),
        ("rubric_items", 0.1, list(item)),
        ("rubric_min_score", 0.15, mostly(vec![json!(0), json!(0.5), json!(1)])),
        ("model", 0.1, mostly(vec![json!("haiku")])),
        ("tags", 0.2, list(mostly(vec![json!("t"), json!("a:b")]))),
        ("other", 0.02, mostly(vec![json!(1)])),
    ];
    if top {
        keys.push(("schema_version", 0.3, mostly(vec![json!(1), json!(0), json!(2)])));
        keys.push(("$schema", 0.1, mostly(vec![json!("x")])));
    }
    object(keys)
}

fn any_file() -> BoxedStrategy<Value> {
    let cases = object(vec![
        ("schema_version", 0.3, mostly(vec![json!(1)])),
        ("cases", 0.97, prop_oneof![20 => list(case(false)), 1 => mostly(vec![json!(1)])].boxed()),
        ("prompt", 0.05, mostly(vec![json!("p")])),
        ("tags", 0.05, Just(json!(["t"])).boxed()),
    ]);
    prop_oneof![case(true), cases].boxed()
}

/// Rules that no schema can state.
fn is_beyond_schemas(message: &str) -> bool {
    message.lines().all(|line| line.contains("has the id"))
}

fn published() -> Option<Utf8PathBuf> {
    let data = Utf8Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/skill-evals");
    if data.is_dir() {
        return Some(data);
    }
    eprintln!("skipped: no shared data beside the workspace");
    None
}

#[test]
fn the_published_case_files_are_valid() {
    let Some(data) = published() else { return };
    for path in [
        "minimal/expected.eval.yaml",
        "minimal/expected.items.eval.yaml",
        "lift/expected.lift.eval.yaml",
    ] {
        let file = data.join("tessl").join(path);
        let found = check_case_file(&file, &fs::read(&file).unwrap());
        assert_eq!(found.to_string(), "");
    }
}

/// The schema that the owner of the format publishes, when it is at hand.
static PUBLISHED: LazyLock<Option<Validator>> = LazyLock::new(|| {
    let text = fs::read(published()?.join("schema/eval-case.schema.json")).ok()?;
    jsonschema::draft7::new(&serde_json::from_slice(&text).ok()?).ok()
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_schema_takes_what_the_reader_takes(file in any_file()) {
        let by_schema: Vec<String> =
            VALIDATOR.iter_errors(&file).map(|error| error.to_string()).collect();
        let message = errors(&file);
        if message.is_empty() {
            prop_assert!(by_schema.is_empty(), "{file:#}\n{by_schema:?}");
            // It does not know that 0 stands for the first version.
            let is_first = file.get("schema_version") == Some(&json!(0));
            let published = PUBLISHED.as_ref().filter(|_| !is_first);
            prop_assert!(published.is_none_or(|schema| schema.is_valid(&file)), "{file:#}");
        } else {
            let refused = !by_schema.is_empty() || is_beyond_schemas(&message);
            prop_assert!(refused, "{file:#}\n{message}");
        }
    }
}
