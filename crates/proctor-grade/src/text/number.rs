//! Scalars as text.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// A scalar as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScalarText<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// The scalar is an integer that double precision cannot hold, so that `text` has its nearest
    /// neighbour, as every tool shows it that reads JSON numbers as ECMAScript does.
    pub inexact: bool,
}

/// The text of a string, boolean or number; `None` for everything else.
pub fn scalar_text(value: &Value) -> Option<ScalarText<'_>> {
    let text = match value {
        Value::String(text) => Cow::Borrowed(text.as_str()),
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        Value::Number(number) => return Some(of_number(number)),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(ScalarText { text, inexact: false })
}

/// An integer beyond 64 bits has been rounded by the reader before it gets here and is not known
/// as inexact; [`literal_text`] sees the digits.
fn of_number(number: &Number) -> ScalarText<'static> {
    let value = number.as_f64().unwrap_or(f64::NAN);
    let integer = number.as_i128();
    #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 64 bits")]
    let inexact = integer.is_some_and(|integer| value as i128 != integer);
    ScalarText { text: Cow::Owned(number_text(value)), inexact }
}

/// The text of a number as it stands in a JSON file, read in double precision; `None` if it is no
/// JSON number or too big for double precision.
pub fn literal_text(literal: &str) -> Option<ScalarText<'static>> {
    if !literal.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b)) {
        return None;
    }
    let value = literal.parse::<f64>().ok().filter(|value| value.is_finite())?;
    let digits = literal.bytes().skip(usize::from(literal.starts_with('-')));
    let integer = digits.clone().all(|b| b.is_ascii_digit());
    // `{:.0}` writes all digits of the double.
    let inexact = integer && !format!("{:.0}", value.abs()).bytes().eq(digits);
    Some(ScalarText { text: Cow::Owned(number_text(value)), inexact })
}

/// A number as ECMAScript prints it (ECMA-262, `Number::toString` with radix 10): the shortest
/// digits that read back as the same number, an exponent from 1e21 up and from 1e-7 down, and no
/// minus sign on zero.
pub fn number_text(value: f64) -> String {
    if !value.is_finite() {
        let sign = if value < 0.0 { "-" } else { "" };
        return if value.is_nan() { "NaN".to_owned() } else { format!("{sign}Infinity") };
    }
    // Rust's exponent form has the same digits; only their layout differs.
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if value < 0.0 { "-" } else { "" };
    format!("{sign}{}", lay_out(&digits, exponent))
}

/// `digits` with a point after the first, times ten to the power `exponent`.
fn lay_out(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // How many digits stand before the point; `n` in the standard.
    let before = exponent + 1;
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
    if (count..=21).contains(&before) {
        return format!("{digits}{}", zeros(before - count));
    }
    if (-5..=0).contains(&before) {
        return format!("0.{}{digits}", zeros(-before));
    }
    let split = if (1..=21).contains(&before) { before } else { 1 };
    let (whole, fraction) = digits.split_at(usize::try_from(split).unwrap_or(1).min(digits.len()));
    let point = if fraction.is_empty() { "" } else { "." };
    if split == before {
        return format!("{whole}{point}{fraction}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{whole}{point}{fraction}e{sign}{}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_print_as_in_ecmascript() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e3, "1000"),
            (0.1 + 0.2, "0.30000000000000004"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e21, "1.5e+21"),
            (-1.25e300, "-1.25e+300"),
            (0.000_001, "0.000001"),
            (0.000_001_5, "0.0000015"),
            (1e-7, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993_f64, "9007199254740992"),
            (12.5, "12.5"),
        ] {
            assert_eq!(number_text(value), text);
        }
    }

    #[test]
    fn what_is_no_number_in_json_has_a_name() {
        assert_eq!(number_text(f64::NAN), "NaN");
        assert_eq!(number_text(f64::NEG_INFINITY), "-Infinity");
    }

    #[test]
    fn scalars_have_text() {
        for (value, text, inexact) in [
            (json!("x"), "x", false),
            (json!(true), "true", false),
            (json!(false), "false", false),
            (json!(2022), "2022", false),
            (json!(1.0), "1", false),
            (json!(-0.0), "0", false),
            (json!(9_007_199_254_740_992_u64), "9007199254740992", false),
            (json!(9_007_199_254_740_993_u64), "9007199254740992", true),
            (json!(u64::MAX), "18446744073709552000", true),
            (json!(i64::MIN), "-9223372036854776000", false),
            (json!(i64::MIN + 1), "-9223372036854776000", true),
        ] {
            let scalar = scalar_text(&value).expect("a scalar");
            assert_eq!((scalar.text.as_ref(), scalar.inexact), (text, inexact));
        }
        for value in [json!(null), json!([]), json!({})] {
            assert_eq!(scalar_text(&value), None);
        }
    }

    #[test]
    fn literals_show_what_a_reader_would_lose() {
        for (literal, text, inexact) in [
            ("1e3", "1000", false),
            ("1.0", "1", false),
            ("-0", "0", false),
            ("1e21", "1e+21", false),
            ("1000000000000000000000", "1e+21", false),
            ("1000000000000000000001", "1e+21", true),
            ("-9007199254740993", "-9007199254740992", true),
            ("0.1", "0.1", false),
        ] {
            let scalar = literal_text(literal).expect("a number");
            assert_eq!((scalar.text.as_ref(), scalar.inexact), (text, inexact), "{literal}");
        }
        for literal in ["", "x", "NaN", "inf", "1e999", "1 "] {
            assert_eq!(literal_text(literal), None, "{literal}");
        }
    }

    proptest! {
        #[test]
        fn text_reads_back(value in any::<f64>()) {
            prop_assume!(value.is_finite());
            let back: f64 = number_text(value).parse().expect("a number");
            prop_assert!(back.to_bits() == value.to_bits() || (back, value) == (0.0, -0.0));
        }
    }
}
