//! The JSON front end against `serde_json`, and its messages.

use proctor_formats::tree::{Kind, MAX_BYTES, MAX_DEPTH, MAX_VALUES, Node, Problems, json};
use proptest::prelude::*;
use serde_json::{Map, Number, Value};

fn read(bytes: &[u8]) -> (Option<Node>, String) {
    let mut problems = Problems::new("f".into());
    let node = json(bytes, &mut problems);
    (node, problems.finish().to_string())
}

fn message(text: impl AsRef<[u8]>) -> String {
    let (node, messages) = read(text.as_ref());
    assert!(node.is_none(), "accepted {:?}", String::from_utf8_lossy(text.as_ref()));
    messages
}

/// A tree as `serde_json` would have it: the last of equal keys wins, at the first one's place.
fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::Number(written) => Value::Number(serde_json::from_str::<Number>(written).unwrap()),
        Kind::String(text) => Value::String(text.clone()),
        Kind::Array(items) => Value::Array(items.iter().map(value).collect()),
        Kind::Object(members) => {
            let mut map = Map::new();
            for member in members {
                map.insert(member.key.clone(), value(&member.value));
            }
            Value::Object(map)
        }
    }
}

/// Both must accept and give the same value, or both must refuse.
fn agree(bytes: &[u8]) {
    let oracle = serde_json::from_slice::<Value>(bytes);
    let (node, messages) = read(bytes);
    match (&oracle, &node) {
        // Numbers beyond a double are RFC 8259; `serde_json` cannot hold them.
        (Err(error), Some(_)) if error.to_string().starts_with("number out of range") => {}
        // A byte order mark is tolerated.
        (Err(_), Some(_)) if bytes.starts_with("\u{feff}".as_bytes()) => {}
        (Ok(expected), Some(node)) => assert_eq!(&value(node), expected),
        (Err(_), None) => {}
        _ => panic!("{:?}: {oracle:?} against {messages}", String::from_utf8_lossy(bytes)),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Text made of the pieces that JSON is made of, mostly in a wrong order.
fn near_json() -> impl Strategy<Value = String> {
    const PIECES: [&str; 44] = [
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"b\":", "null", "true", "false", "0", "-",
        "1", "01", "5.", ".5", "1e5", "1E+", "1.5e-3", "NaN", "Infinity", " ", "\n", "\t", "\r",
        "\u{a0}", "\\", "\\u0041", "\\ud83d", "\\ude00", "\\n", "\\x", "//", "/*", "'", "é", "😀",
        "\u{1}", "\u{7f}", "+1", "0x1", "\u{feff}",
    ];
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn every_document_has_the_value_of_the_oracle(document in any_value()) {
        agree(serde_json::to_string(&document).unwrap().as_bytes());
        agree(serde_json::to_string_pretty(&document).unwrap().as_bytes());
    }

    #[test]
    fn near_documents_are_taken_or_refused_like_the_oracle(text in near_json()) {
        agree(text.as_bytes());
        agree(format!("[{text}]").as_bytes());
        agree(format!("{{\"k\":{text}}}").as_bytes());
        agree(format!("\"{text}\"").as_bytes());
    }

    #[test]
    fn any_bytes_are_taken_or_refused_like_the_oracle(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        agree(&bytes);
    }

    #[test]
    fn a_damaged_document_is_taken_or_refused_like_the_oracle(
        document in any_value(), at in any::<prop::sample::Index>(), byte in any::<u8>(), keep in any::<bool>(),
    ) {
        let mut bytes = serde_json::to_vec(&document).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if !keep {
            bytes.truncate(at);
        }
        agree(&bytes);
    }

    #[test]
    fn places_count_lines_and_characters(blank in "[ \t\n]{0,20}", before in "[a-zé😀]{0,8}") {
        let text = format!("{blank}[\"{before}\", 7]");
        let (node, _) = read(text.as_bytes());
        let Some(Node { kind: Kind::Array(items), location }) = node else { panic!("{text}") };
        let line = blank.matches('\n').count() + 1;
        let column = blank.rsplit('\n').next().unwrap().chars().count() + 1;
        prop_assert_eq!((location.line as usize, location.column as usize), (line, column));
        let seven = items[1].location;
        prop_assert_eq!(seven.column as usize, column + before.chars().count() + 5);
    }
}

#[test]
fn syntax_errors_say_where_what_and_how() {
    let cases = [
        "",
        " \n ",
        "{\"a\": 1,}",
        "[1, 2,\n]",
        "[1 2]",
        "{\"a\": 1\n \"b\": 2}",
        "{\"a\" 1}",
        "{a: 1}",
        "{'a': 1}",
        "{,}",
        "[,]",
        "{\"a\": }",
        "{\"a\": 1",
        "[1,",
        "[1}",
        "[\n  [1, 2}\n]",
        "{\"a\": 1} x",
        "// hi\n{}",
        "{} # hi",
        "nul",
        "True",
        "None",
        "[NaN]",
        "[-Infinity]",
        "[+1]",
        "[.5]",
        "[5.]",
        "[01]",
        "[0x1F]",
        "[1e]",
        "[-]",
        "\"abc",
        "{\"prompt\": \"one\ntwo\"}",
        "\"a\tb\"",
        "\"\\x41\"",
        "\"\\u12g4\"",
        "\"\\ud800\"",
        "\"\\udc00\\ud800\"",
        "\"\\ud800\\u0041\"",
        "\"\\",
        "[\u{a0}1]",
        "\u{201c}a\u{201d}",
        "[1,\u{1b}[31m]",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
    ];
    let lines: Vec<String> =
        cases.iter().map(|text| format!("{text:?}\n    {}", message(text))).collect();
    let lines = lines.join("\n");
    insta::assert_snapshot!(lines);
}

#[test]
fn invalid_utf8_is_named_by_offset_and_place() {
    assert_eq!(
        message(b"{\n \"\xc3\xa9\": \"\xff\"}"),
        "f:2:8: invalid UTF-8: byte 0xFF at offset 10 (hint: save the file as UTF-8)"
    );
    assert_eq!(
        message(b"\xff\xfe{\0}\0"),
        "f:1:1: invalid UTF-8: byte 0xFF at offset 0 \
         (hint: the file is UTF-16; save it as UTF-8)"
    );
    assert!(message(b"\xef\xbb\xbf[\xc3]").contains("1:2: invalid UTF-8: byte 0xC3 at offset 4"));
}

#[test]
fn a_byte_order_mark_is_not_a_column() {
    let (node, messages) = read("\u{feff}{\"a\": 1}".as_bytes());
    assert_eq!((node.unwrap().location.column, messages.as_str()), (1, ""));
    assert_eq!(
        message("\u{feff}\u{feff}{}"),
        "f:1:1: expected a value, found U+FEFF (hint: only spaces, tabs and line breaks may stand \
         between values)"
    );
}

#[test]
fn depth_is_bounded_and_the_stack_with_it() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(read(nested(MAX_DEPTH).as_bytes()).0.is_some());
    assert_eq!(message(nested(MAX_DEPTH + 1)), "f:1:129: nested deeper than 128 levels");
    assert_eq!(message("[".repeat(1_000_000)), "f:1:129: nested deeper than 128 levels");
    assert_eq!(message("{\"a\":".repeat(1_000_000)), "f:1:641: nested deeper than 128 levels");
}

#[test]
fn size_is_bounded() {
    let limit = usize::try_from(MAX_BYTES).unwrap();
    assert!(read(&[b"0", vec![b' '; limit - 1].as_slice()].concat()).0.is_some());
    assert_eq!(
        message(vec![b' '; limit + 1]),
        "f: file is 16777217 bytes long; the limit is 16777216 bytes (16 MiB)"
    );
}

#[test]
fn duplicate_keys_name_both_places_and_leave_the_tree_whole() {
    let (node, messages) =
        read(b"{\"a\": [{\"x y\": 1,\n  \"x y\": 2}],\n \"b\": 1, \"b\": 2, \"b\": 3}");
    assert!(node.is_some());
    insta::assert_snapshot!(messages, @r#"
    f:2:3: a[0]["x y"]: duplicate key; the first one is at 1:9 (hint: remove one of them)
    f:3:10: b: duplicate key; the first one is at 3:2 (hint: remove one of them)
    f:3:18: b: duplicate key; the first one is at 3:2 (hint: remove one of them)
    "#);
    // Equal after their escapes are resolved.
    assert!(read(br#"{"a": 1, "\u0061": 2}"#).1.contains("duplicate key"));
}

#[test]
fn hostile_documents_take_linear_time() {
    // Each of these is quadratic in a parser that is careless about places, keys or white space.
    let many = 200_000;
    let wide = format!("[{}0]", "0,".repeat(many));
    assert!(read(wide.as_bytes()).0.is_some());
    let keys: Vec<String> = (0..many).map(|n| format!("\"{n}\":0")).collect();
    assert!(read(format!("{{{}}}", keys.join(",")).as_bytes()).0.is_some());
    let same = format!("{{{}\"a\":0}}", "\"a\":0,".repeat(many));
    assert!(read(same.as_bytes()).1.ends_with("199900 further mistakes are not listed"));
    let escapes = format!("\"{}\"", "\\u0041".repeat(many));
    assert!(read(escapes.as_bytes()).0.is_some());
}

#[test]
fn the_number_of_values_is_bounded() {
    let list = |values: usize| format!("[{}0]", "0,".repeat(values - 2));
    assert!(read(list(MAX_VALUES).as_bytes()).0.is_some());
    assert_eq!(message(list(MAX_VALUES + 1)), "f:1:2000000: more than 1000000 values");
}
