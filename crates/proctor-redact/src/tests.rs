use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = "p@ss/w0rd+\"x\\é";

fn redactor(values: &[&str]) -> Redactor {
    Redactor::new(values.iter().map(|value| (*value).to_owned()))
}

fn redact(values: &[&str], text: &str) -> String {
    redactor(values).text(text).into_owned()
}

fn percent(text: &str, plain: &[u8], upper: bool) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
                char::from(byte).to_string()
            } else if upper {
                format!("%{byte:02X}")
            } else {
                format!("%{byte:02x}")
            }
        })
        .collect()
}

/// The forms in which programs write `text`.
fn forms(text: &str) -> Vec<String> {
    let json = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let ascii = text.encode_utf16().fold(String::new(), |text, unit| match u8::try_from(unit) {
        Ok(byte @ (b'"' | b'\\')) => format!("{text}\\{}", char::from(byte)),
        Ok(byte) if byte.is_ascii_alphanumeric() => format!("{text}{}", char::from(byte)),
        _ => format!("{text}\\u{unit:04X}"),
    });
    let mut forms = vec![
        text.to_owned(),
        json(text),
        json(&json(text)),
        json(text).replace('/', "\\/"),
        ascii,
        percent(text, b"-._~", true),
        percent(text, b"-._~/", false),
        percent(text, b"!'()*-._~", true),
        percent(text, b"", true).replace("%20", "+"),
        percent(&percent(text, b"-._~", true), b"", true),
        json(&percent(text, b"\"", true)),
    ];
    for before in ["", "a", "ab"] {
        let longer = format!("{before}{text}:z");
        let standard = STANDARD.encode(&longer);
        forms.push(percent(&standard, b"", true));
        forms.push(json(&standard).replace('/', "\\/"));
        forms.push(standard.as_bytes().chunks(7).fold(String::new(), |wrapped, line| {
            format!("{wrapped}{}\n", String::from_utf8_lossy(line))
        }));
        forms.push(standard);
        forms.push(URL_SAFE_NO_PAD.encode(&longer));
    }
    forms
}

#[test]
fn every_form_of_a_value_goes() {
    let redactor = redactor(&[SECRET]);
    for form in forms(SECRET) {
        let redacted = redactor.text(&form);
        assert!(redacted.contains(MARK), "{form} -> {redacted}");
        assert!(redacted.len() <= MARK.len() + 20, "{form} -> {redacted}");
        assert_eq!(redactor.text(&redacted), redacted);
    }
}

#[test]
fn a_form_with_spaces_goes_too() {
    assert_eq!(redact(&["correct horse battery"], "q=correct+horse%20battery&x"), "q=[redacted]&x");
}

#[test]
fn a_basic_credential_in_base64_goes() {
    let header = format!("x-auth: {}", STANDARD.encode("user:hunter2hunter2"));
    insta::assert_snapshot!(redact(&["hunter2hunter2"], &header), @"x-auth: dXNlcjp[redacted]g==");
}

#[test]
fn overlapping_and_touching_matches_share_a_mark() {
    let values = ["abcdefgh", "efghijkl", "efghijklmnop"];
    assert_eq!(redact(&values, "<abcdefghijklmnop>"), "<[redacted]>");
    assert_eq!(redact(&values, "<abcdefghabcdefgh>"), "<[redacted]>");
    assert_eq!(redact(&values, "<efghijklmno>"), "<[redacted]mno>");
    assert_eq!(redact(&values, "[redacted]abcdefgh"), "[redacted]");
    assert_eq!(redact(&values, "abcdefghsk-ant-api03-abcdefghijk!"), "[redacted]!");
}

#[test]
fn text_without_secrets_is_borrowed() {
    let redactor = redactor(&[SECRET]);
    for text in ["", "plain", "a \\ b % c + d\n[redacted] e", "{\"a\":\"\\u00e9\"}"] {
        assert!(matches!(redactor.text(text), Cow::Borrowed(same) if same == text), "{text}");
    }
}

#[test]
fn no_escape_is_cut() {
    for (secret, text) in [
        ("nabcdefgh", r#""\nabcdefgh""#),
        ("abcdefg\\", r#""abcdefg\\""#),
        ("e9abcdef", r#""\u00e9abcdef""#),
        ("abcdefg\\u", r#""abcdefg\u00e9""#),
    ] {
        let redacted = redact(&[secret], text);
        assert!(serde_json::from_str::<Value>(&redacted).is_ok(), "{redacted}");
        assert!(redacted.contains(MARK));
    }
}

#[test]
fn documents_are_redacted_in_strings_keys_and_numbers() {
    let mut value = json!({
        "12345678": 1, "x12345678": 2, "n": 12_345_678, "a": ["ok", "=12345678="], "b": {"c": null}
    });
    redactor(&["12345678", "x12345678"]).json(&mut value);
    assert_eq!(
        value,
        json!({"[redacted]": 1, "[redacted] 1": 2, "n": "[redacted]", "a": ["ok", "=[redacted]="], "b": {"c": null}})
    );
}

#[test]
fn only_named_variables_count_and_debug_shows_none() {
    let variables = [("MY_KEY", "abcdefgh1"), ("HOME", "abcdefgh2"), ("A_TOKEN", "disabled")];
    let redactor = Redactor::from_environment(
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    assert_eq!(redactor.text("abcdefgh1 abcdefgh2 disabled"), "[redacted] abcdefgh2 disabled");
    assert_eq!(redactor.skipped(), 1);
    assert!(!format!("{redactor:?}").contains("abcdefgh1"));
}

#[test]
fn streams_hide_what_lies_across_windows() {
    let redactor = redactor(&["s3cr3t-s3cr3t"]);
    for before in [0, 5] {
        let mut text = " ".repeat(before);
        while text.len() < 600_000 {
            text.push_str("s3cr3t-s3cr3t é ");
        }
        let mut copy = Vec::new();
        let written = redactor.copy(text.as_bytes(), &mut copy).unwrap();
        assert_eq!(written, copy.len() as u64);
        let copy = String::from_utf8(copy).unwrap();
        assert_eq!(copy, text.replace("s3cr3t-s3cr3t", MARK));
    }
}

#[test]
fn streams_swallow_endless_tokens() {
    let mut text = "x ".repeat(100);
    text.push_str("sk-");
    text.push_str(&"a".repeat(900_000));
    text.push_str(" end\u{1}");
    let mut copy = Vec::new();
    redactor(&["s3cr3t-s3cr3t"]).copy(text.as_bytes(), &mut copy).unwrap();
    assert_eq!(String::from_utf8(copy).unwrap(), "x ".repeat(100) + MARK + " end\u{1}");
}

#[test]
fn streams_of_any_bytes_end() {
    for pattern in [&b"\\"[..], b"\xF0\x9F\x98", b"a\xFF", b"eyJ"] {
        let bytes = pattern.repeat(200_000);
        let mut copy = Vec::new();
        redactor(&["s3cr3t-s3cr3t"]).copy(&*bytes, &mut copy).unwrap();
        assert_eq!(copy, String::from_utf8_lossy(&bytes).as_bytes());
    }
}

/// Each of these made one of the usual ways of writing this quadratic. A quadratic one
/// takes minutes here; the test needs no clock to notice.
#[test]
fn hostile_texts_take_linear_time() {
    let redactor = redactor(&["aaaaaaaa", "aaaaaaaaa", "\\\\\\\\\\\\\\\\", SECRET]);
    for unit in [
        "a",
        "\\",
        "%",
        "\n",
        "eyJaaaaaaaa-ghp_aaaaaaaaaaaaaaaa-",
        "https://ghp_aaaaaaaaaaaaaaaa.",
        "://a:",
        "task-",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY----- a ",
        "[redacted]",
        "[redacted]sk-",
        "bearer ",
        "authorization: bearer ",
        "\\u005c",
        "%25",
    ] {
        let text = unit.repeat(250_000 / unit.len());
        let redacted = redactor.text(&text);
        assert!(redacted.len() <= text.len() + MARK.len(), "{unit}");
    }
}

/// Values of awkward characters; those in `more` too.
fn alphabet(more: &str) -> impl Strategy<Value = String> {
    let pattern = format!("[ab\\\\{more}/%+ é0n-]{{8,14}}");
    string_regex(&pattern).unwrap().prop_filter("kept", |value| {
        value.trim().chars().count() >= 8 && values::select([value.clone()]).0.len() == 1
    })
}

proptest! {
    #[test]
    fn no_form_of_a_value_survives(
        value in alphabet("\""),
        before in "[ -~]{0,10}",
        after in "[ -~]{0,10}",
    ) {
        let value = value.trim().to_owned();
        let redactor = Redactor::new([value.clone()]);
        for form in forms(&value) {
            let redacted = redactor.text(&form).into_owned();
            prop_assert!(redacted.contains(MARK), "{form:?}");
            // Among other text the decoding may be ambiguous; the plain form never is.
            let plain = redactor.text(&format!("{before}{value}{after}")).into_owned();
            prop_assert!(!plain.contains(&value), "{plain:?}");
        }
    }

    #[test]
    fn redacting_twice_is_redacting_once(
        values in prop::collection::vec("[abs-]{8,10}", 1..4),
        text in "([abs-]{1,12}|sk-[ab]{16}|\\[redacted\\]|\\\\n|\\\\u0061|%61|[ \"\n]|ghp_[a-z]{16}|://a:b@){0,12}",
    ) {
        let redactor = Redactor::new(values);
        let once = redactor.text(&text).into_owned();
        prop_assert_eq!(&*redactor.text(&once), &*once);
        prop_assert!(!once.contains("[redacted][redacted]"));
    }

    #[test]
    fn json_stays_json(
        // A value with a quotation mark may match across strings: that is what `json` is for.
        value in alphabet(""),
        strings in prop::collection::vec("[ab\\\\\"/% é0n-]{0,12}", 0..5),
    ) {
        let value = value.trim().to_owned();
        let mut strings = strings;
        strings.push(value.clone());
        let document = Value::from(strings).to_string();
        let redacted = Redactor::new([value]).text(&document).into_owned();
        prop_assert!(serde_json::from_str::<Value>(&redacted).is_ok(), "{document} -> {redacted}");
        prop_assert!(redacted.contains(MARK));
    }

    #[test]
    fn streams_equal_texts(
        values in prop::collection::vec("[abc]{8,10}", 1..3),
        unit in "[abc\\\\ é]{1,40}",
    ) {
        let redactor = Redactor::new(values);
        let text = unit.repeat(4_000 / unit.len());
        let mut copy = Vec::new();
        redactor.copy_windows(text.as_bytes(), &mut copy, 800, 80).unwrap();
        let copy = String::from_utf8(copy).unwrap().replace("[redacted][redacted]", MARK);
        prop_assert_eq!(copy, redactor.text(&text).replace("[redacted][redacted]", MARK));
    }
}

#[test]
fn a_secret_is_named_without_its_value() {
    let redactor = redactor(&[SECRET]);
    for (text, name) in [
        ("plain", None),
        ("[redacted]", None),
        (SECRET, Some("a value of the environment")),
        ("key: sk-ant-api03-abcdefghijk", Some("an API key (`sk-`)")),
        ("ghp_abcdefghijklmnop", Some("a GitHub token")),
        ("https://me:hunter2@example.org", Some("a URL with a user name")),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII", Some("a private key")),
    ] {
        assert_eq!(redactor.names_secret(text), name, "{text}");
    }
}
