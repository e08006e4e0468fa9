//! The YAML front end: JSON documents as its oracle, and what YAML has beyond JSON.

use std::fmt::Write as _;

use proctor_formats::tree::{
    Kind, MAX_BYTES, MAX_DEPTH, Member, Node, Problems, json, json_first, yaml, yaml_first,
};
use proctor_model::Location;
use proptest::prelude::*;
use serde_json::Value;

fn read(text: impl AsRef<[u8]>) -> (Option<Node>, String) {
    let mut problems = Problems::new("f".into());
    let node = yaml(text.as_ref(), &mut problems);
    (node, problems.finish().to_string())
}

fn tree(text: &str) -> Node {
    let (node, messages) = read(text);
    assert_eq!(messages, "", "{text}");
    node.unwrap()
}

fn message(text: impl AsRef<[u8]>) -> String {
    let (node, messages) = read(text.as_ref());
    assert!(node.is_none(), "accepted {:?}", String::from_utf8_lossy(text.as_ref()));
    messages
}

/// The tree on one line, with the place of each value.
fn shown(node: &Node) -> String {
    write(node, &|location| format!("@{}:{}", location.line, location.column))
}

/// The tree on one line.
fn without_places(node: &Node) -> String {
    write(node, &|_| String::new())
}

fn write(node: &Node, place: &dyn Fn(Location) -> String) -> String {
    let list = |items: Vec<String>| items.join(", ");
    let text = match &node.kind {
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(text) => text.clone(),
        Kind::String(text) => format!("{text:?}"),
        Kind::Array(items) => {
            format!("[{}]", list(items.iter().map(|item| write(item, place)).collect()))
        }
        Kind::Object(members) => {
            let member = |member: &Member| {
                let at = place(member.key_location);
                format!("{}{at}: {}", member.key, write(&member.value, place))
            };
            format!("{{{}}}", list(members.iter().map(member).collect()))
        }
    };
    text + &place(node.location)
}

/// Characters that both grammars take in a quoted string as they stand.
fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop_oneof![
            any::<char>().prop_filter("printable in YAML", |c| {
                !matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
            }),
            prop::sample::select(vec!['\n', '\t', ' ', '"', '\\', ':', '#', '-', '\'', '&', '*']),
        ],
        0..12,
    )
    .prop_map(|characters| characters.into_iter().collect())
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        (-1e9_f64..1e9).prop_map(Value::from),
        any_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((any_text(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value in block style, strings in double quotes.
fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    match value {
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                write!(out, "\n{pad}-").unwrap();
                block(item, indent + 2, out);
            }
        }
        Value::Object(members) if !members.is_empty() => {
            for (key, item) in members {
                write!(out, "\n{pad}{}:", serde_json::to_string(key).unwrap()).unwrap();
                block(item, indent + 2, out);
            }
        }
        other => write!(out, " {other}").unwrap(),
    }
}

proptest! {
    #[test]
    fn a_json_document_is_the_same_tree_through_both_front_ends(document in any_value()) {
        for text in [
            serde_json::to_string(&document).unwrap(),
            serde_json::to_string_pretty(&document).unwrap(),
        ] {
            let mut problems = Problems::new("f".into());
            let expected = json(text.as_bytes(), &mut problems).unwrap();
            let (node, messages) = read(&text);
            prop_assert!(node.is_some(), "{text}\n{messages}");
            prop_assert_eq!(shown(&node.unwrap()), shown(&expected), "{}", text);
        }
    }

    #[test]
    fn block_style_has_the_values_of_json(document in any_value()) {
        let mut text = String::new();
        block(&document, 0, &mut text);
        let mut problems = Problems::new("f".into());
        let expected = json(document.to_string().as_bytes(), &mut problems).unwrap();
        let (node, messages) = read(&text);
        prop_assert!(node.is_some(), "{text}\n{messages}");
        prop_assert_eq!(without_places(&node.unwrap()), without_places(&expected), "{}", text);
    }

    #[test]
    fn no_text_stops_the_reader(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24),
    ) {
        let _ = read(pieces.concat());
    }

    #[test]
    fn no_bytes_stop_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = read(bytes);
    }
}

const PIECES: [&str; 40] = [
    "a",
    ": ",
    "- ",
    "\n",
    "  ",
    "    ",
    "? ",
    "&x ",
    "*x",
    "*y",
    "!!str ",
    "!!int ",
    "!t ",
    "! ",
    "'",
    "\"",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "|\n",
    ">-\n",
    "|2\n",
    "# c",
    "---\n",
    "...\n",
    "%YAML 1.2\n",
    "<<: ",
    "\t",
    "1",
    "0x1",
    "~",
    "null",
    "é",
    "\u{feff}",
    "\\n",
    "\r\n",
    ":",
    "@",
];

#[test]
fn places_are_those_of_the_first_character() {
    let text = "# first\ncases:\n  - id: a\n    prompt: |\n      two\n      lines\n    é: &x [1, 'b']\n    f: !!str 5\n    g: *x\n  - ? h\n    : \"i\"\n";
    insta::assert_snapshot!(
        shown(&tree(text)),
        @r#"{cases@2:1: [{id@3:5: "a"@3:9, prompt@4:5: "two\nlines\n"@5:7, é@7:5: [1@7:12, "b"@7:15]@7:11, f@8:5: "5"@8:14, g@9:5: [1@7:12, "b"@7:15]@9:8}@3:5, {h@10:7: "i"@11:7}@10:5]@3:3}@2:1"#
    );
}

#[test]
fn strings_stay_strings() {
    let text = "[no, Yes, on, 1_000, 1:30, 2026-10-05, '1', \"true\", !!str 1, ! 1, inf, 0x, '-']";
    let Kind::Array(items) = tree(text).kind else { panic!("no list") };
    for item in &items {
        assert!(matches!(item.kind, Kind::String(_)), "{item:?}");
    }
    let numbers = tree("[012, 0o14, 0xC, +1, .5, 1., !!float 3, !!int 3]");
    assert_eq!(without_places(&numbers), "[12, 12, 12, 1, 0.5, 1, 3, 3]");
}

#[test]
fn mistakes_say_where_what_and_how() {
    let cases = [
        "",
        "# only a comment\n",
        "a: 1\n---\nb: 2\n",
        "a: b: c\n",
        "prompt: say: hello\n",
        "a: [1, 2\n",
        "a: {b: 1\n",
        "a: \"b\n",
        "a:\n\t- b\n",
        "a:\n  - b\n c: d\n",
        "a: *missing\n",
        "a: *glob\n",
        "a: &x [*x]\n",
        "? [a, b]\n: c\n",
        "? {a: b}\n: c\n",
        "base: &b {x: 1}\nc:\n  <<: *b\n",
        "a: !ruby/object x\n",
        "a: !!binary aGk=\n",
        "a: !!int x\n",
        "a: !!bool 1\n",
        "a: !!seq {}\n",
        "a: !t [x]\n",
        "a: @b\n",
        "a: `b`\n",
        "a: \"\\d+\"\n",
        "a: %b\n",
        "- a\nb: c\n",
        "a\nb\n: c\n",
        "a: 'it's'\n",
    ];
    let lines: Vec<String> =
        cases.iter().map(|text| format!("{text:?}\n    {}", message(text))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn duplicate_keys_name_both_places_and_leave_the_tree_whole() {
    let (node, messages) = read("a: 1\nb:\n  - c: 1\n    \"c\": 2\na: 3\n");
    assert!(node.is_some());
    insta::assert_snapshot!(messages, @r"
    f:4:5: b[0].c: duplicate key; the first one is at 3:5 (hint: remove one of them)
    f:5:1: a: duplicate key; the first one is at 1:1 (hint: remove one of them)
    ");
}

#[test]
fn aliases_are_copies_within_a_budget() {
    assert_eq!(
        without_places(&tree("{a: &x {k: [1]}, b: *x, &k key: {*k : 3}}")),
        "{a: {k: [1]}, b: {k: [1]}, key: {key: 3}}"
    );
    let mut laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}, ", level - 1).repeat(10);
        writeln!(laughs, "a{level}: &a{level} [{before}]").unwrap();
    }
    assert!(message(&laughs).contains("more than 1000000 values"), "{}", message(&laughs));
    let long = "x".repeat(100_000);
    let many = "*x, ".repeat(1000);
    assert_eq!(
        message(format!("[&x {long}, {many}]")),
        "f:1:100671: aliases repeat more than 16777216 bytes of text"
    );
}

#[test]
fn aliases_cannot_nest_deeper_than_text_can() {
    let mut text = "- &a0 []\n".to_owned();
    for level in 1..200 {
        writeln!(text, "- &a{level} [*a{}]", level - 1).unwrap();
    }
    assert_eq!(message(&text), "f:128:10: nested deeper than 128 levels");
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(nested(MAX_DEPTH)).0.is_some());
    assert_eq!(message(nested(MAX_DEPTH + 1)), "f:1:129: nested deeper than 128 levels");
    assert!(message("[".repeat(1_000_000)).contains("nested deeper than 128 levels"));
    assert!(message("- ".repeat(1_000_000)).contains("nested deeper than 128 levels"));
    let limit = usize::try_from(MAX_BYTES).unwrap();
    assert!(message(vec![b' '; limit + 1]).contains("the limit is 16777216 bytes"));
}

#[test]
fn hostile_documents_take_linear_time() {
    let many = 20_000;
    assert!(read("- a: 1\n".repeat(many)).0.is_some());
    let keys: Vec<String> = (0..many).map(|n| format!("k{n}: 0\n")).collect();
    assert!(read(keys.concat()).0.is_some());
    assert!(read("a: 1\n".repeat(many)).1.ends_with("19899 further mistakes are not listed"));
    assert!(read(format!("a: |\n{}", "  x\n".repeat(many))).0.is_some());
    assert!(read(format!("a: \"{}\"", "\\u0041".repeat(many))).0.is_some());
    assert!(read("# c\n".repeat(many)).0.is_none());
    let anchors: Vec<String> = (0..many).map(|n| format!("- &a{n} x\n- *a{n}\n")).collect();
    assert!(read(anchors.concat()).0.is_some());
}

#[test]
fn only_the_first_document_is_read_where_that_is_wanted() {
    let mut problems = Problems::new("f".into());
    let first = yaml_first(b"a: 1\n---\n[unclosed", &mut problems).unwrap();
    assert_eq!(without_places(&first), "{a: 1}");
    let first = json_first(b" {\"a\": 1} }{", &mut problems).unwrap();
    assert_eq!(without_places(&first), "{a: 1}");
    assert_eq!(problems.finish().to_string(), "");
    // An explicit start and end are no second document.
    assert_eq!(without_places(&tree("%YAML 1.2\n---\na: 1\n...\n")), "{a: 1}");
    assert_eq!(without_places(&tree("---\n")), "null");
}

#[test]
fn encodings_are_those_of_json() {
    assert_eq!(shown(&tree("\u{feff}a: 1")), "{a@1:1: 1@1:4}@1:1");
    assert!(message(b"a: \xff").contains("invalid UTF-8: byte 0xFF at offset 3"));
    assert_eq!(without_places(&tree("a: 1\r\nb: 2\r\n")), "{a: 1, b: 2}");
}
