use std::borrow::Cow;

use serde_json::json;

use super::*;

fn written(literal: &str) -> Number<'_> {
    Number::written(literal)
}

fn canonical_text(value: &serde_json::Value) -> String {
    let mut out = Vec::new();
    canonical(&Json::from(value), &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_have_the_text_of_ecmascript() {
    for (literal, text) in [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-12.50", "-12.5"),
        ("1e21", "1e+21"),
        ("1.5e21", "1.5e+21"),
        ("123456789012345678901", "123456789012345680000"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("0.00000123", "0.00000123"),
        ("1e-7", "1e-7"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("9007199254740993", "9007199254740992"),
        ("999999999999999", "999999999999999"),
        ("0.1", "0.1"),
        ("100.25", "100.25"),
    ] {
        assert_eq!(written(literal).text(), text, "{literal}");
    }
}

/// Appendix B of RFC 8785.
#[test]
fn number_text_agrees_with_the_examples_of_rfc_8785() {
    for (bits, text) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        assert_eq!(number_text(f64::from_bits(bits)), text);
    }
}

#[test]
fn integers_that_no_double_holds_are_known() {
    for (literal, inexact) in [
        ("9007199254740992", false),
        ("9007199254740993", true),
        ("-9007199254740993", true),
        ("100000000000000000000", false),
        ("12345678901234567890", true),
        ("9007199254740993.0", false),
        ("1e400", false),
    ] {
        assert_eq!(written(literal).is_inexact_integer(), inexact, "{literal}");
    }
    let long = "9".repeat(308);
    assert!(written(&long).is_finite());
    assert!(!written(&"9".repeat(310)).is_finite());
    assert!(!written("-1e309").is_finite());
    assert!(written("1e308").is_finite());
}

/// The example of section 3.2.3 of RFC 8785, and one for its section 3.2.2.
#[test]
fn canonical_form() {
    let keys = json!({
        "\u{20ac}": "Euro Sign",
        "\r": "Carriage Return",
        "\u{fb33}": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\u{1f600}": "Emoji: Grinning Face",
        "\u{80}": "Control",
        "\u{f6}": "Latin Small Letter O With Diaeresis",
    });
    let order: Vec<String> = match Json::from(&keys) {
        Json::Object(object) => {
            object.members().iter().map(|(_, value)| value.as_str().unwrap().to_owned()).collect()
        }
        _ => unreachable!(),
    };
    assert_eq!(
        order,
        [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh",
        ]
    );
    let value = json!({
        "string": "\u{20ac}$\u{f}\nA'B\"\\\\\"/\u{8}\u{c}\t\r",
        "literals": [null, true, false],
        "b": {"y": 1.0, "x": []},
    });
    assert_eq!(
        canonical_text(&value),
        "{\"b\":{\"x\":[],\"y\":1},\"literals\":[null,true,false],\
         \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\f\\t\\r\"}"
    );
}

#[test]
fn order_is_that_of_utf16() {
    let texts = [
        "",
        "a",
        "ab",
        "b",
        "é",
        "\u{d7ff}",
        "\u{10000}",
        "\u{10ffff}",
        "\u{e000}",
        "\u{ffff}",
        "\u{ffff}a",
    ];
    for a in texts {
        for b in texts {
            let expected = a.encode_utf16().cmp(b.encode_utf16());
            assert_eq!(utf16_order(a, b), expected, "{a:?} {b:?}");
        }
    }
}

#[test]
fn members_are_found_and_duplicates_keep_their_order() {
    let member = |key: &'static str, value| (Cow::Borrowed(key), Json::Bool(value));
    let object = Object::new(vec![member("b", true), member("a", true), member("b", false)]);
    assert!(object.has_duplicates());
    assert_eq!(object.get("b"), Some(&Json::Bool(true)));
    assert_eq!(object.get("c"), None);
    assert!(!Object::new(vec![member("b", true), member("a", true)]).has_duplicates());
}

#[test]
fn serde_writes_numbers_as_they_were_read() {
    let number = |literal| Json::Number(Number::written(literal));
    let list = Json::Array(vec![number("1.50"), number("12345678901234567890123"), number("-0")]);
    assert_eq!(serde_json::to_string(&list).unwrap(), "[1.50,12345678901234567890123,-0]");
}

#[test]
fn values_survive_the_way_through_serde_json() {
    let value = json!({"a": [1, -2, 2.5, 1e300, u64::MAX, null, true, "x"], "b": {}});
    assert_eq!(serde_json::Value::from(&Json::from(&value)), value);
}
