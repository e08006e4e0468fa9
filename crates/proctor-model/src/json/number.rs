//! Numbers as they were written, and their text in ECMAScript.

use std::borrow::Cow;
use std::cmp::Ordering;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Integers of so many digits are below 2^53, so that a double holds each of them and ECMAScript
/// writes them as they stand.
const EXACT_DIGITS: usize = 15;

/// A number literal of JSON. Equality is equality of the literals; compare [`Number::value`]s to
/// compare numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number<'a>(Cow<'a, str>);

impl<'a> Number<'a> {
    /// The number with this literal, which must be one of JSON.
    pub fn written(literal: impl Into<Cow<'a, str>>) -> Self {
        Self(literal.into())
    }

    /// The literal.
    pub fn literal(&self) -> &str {
        &self.0
    }

    /// The nearest double; infinite beyond their range.
    pub fn value(&self) -> f64 {
        // A literal of JSON is one of Rust.
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// Whether a double can be as large as it.
    pub fn is_finite(&self) -> bool {
        // 308 digits without an exponent are below the largest double, 1.8e308.
        (self.0.len() <= 308 && !self.0.contains(['e', 'E'])) || self.value().is_finite()
    }

    /// Whether it is an integer literal that no double equals.
    pub fn is_inexact_integer(&self) -> bool {
        let digits = self.0.strip_prefix('-').unwrap_or(&self.0);
        digits.len() > EXACT_DIGITS
            && !digits.contains(['.', 'e', 'E'])
            && format!("{:.0}", self.value().abs()) != digits
    }

    /// The text of the value in ECMAScript, see [`number_text`].
    pub fn text(&self) -> Cow<'_, str> {
        let digits = self.0.strip_prefix('-').unwrap_or(&self.0);
        let plain = digits.len() <= EXACT_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
        if plain && &*self.0 != "-0" {
            Cow::Borrowed(&self.0)
        } else {
            Cow::Owned(number_text(self.value()))
        }
    }

    pub(super) fn to_serde(&self) -> serde_json::Value {
        let integer = || self.0.parse::<i64>().map(Into::into);
        let large = || self.0.parse::<u64>().map(Into::into);
        integer().or_else(|_| large()).unwrap_or_else(|_| self.value().into())
    }
}

/// Writes the literal as it stands.
impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

/// The text of a finite double as ECMAScript's `Number::toString` gives it for base 10: the
/// shortest digits that read back as the same value, an exponent from 1e21 up and below 1e-6.
pub fn number_text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rust writes the shortest digits too, always as `d.ddde-7`.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let mantissa = even_of_equally_near(value.abs(), mantissa);
    let digits = mantissa.replace('.', "");
    let count = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // The decimal point stands behind so many digits.
    let point = exponent.parse::<i32>().unwrap_or_default().saturating_add(1);
    let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or_default());
    let at = usize::try_from(point).unwrap_or_default();
    let text = match point {
        1..=21 if count <= point => format!("{digits}{}", zeros(point - count)),
        1..=21 => {
            let (whole, fraction) = digits.split_at_checked(at).unwrap_or((&digits, ""));
            format!("{whole}.{fraction}")
        }
        -5..=0 => format!("0.{}{digits}", zeros(-point)),
        _ => {
            let sign = match (point - 1).cmp(&0) {
                Ordering::Less => '-',
                Ordering::Equal | Ordering::Greater => '+',
            };
            format!("{mantissa}e{sign}{}", (point - 1).abs())
        }
    };
    if value < 0.0 { format!("-{text}") } else { text }
}

/// Of two shortest decimals that are equally near to the value, ECMAScript takes the even one and
/// Rust the upper one. Both are there only when the value lies exactly halfway, which takes at
/// least 16 digits to write.
fn even_of_equally_near(value: f64, upper: &str) -> Cow<'_, str> {
    const LONGEST_DOUBLE: usize = 770;
    let Some((head, last)) = upper.split_at_checked(upper.len() - 1) else { return upper.into() };
    let even = match last {
        "1" => '0',
        "3" => '2',
        "5" => '4',
        "7" => '6',
        "9" => '8',
        _ => return upper.into(),
    };
    if upper.len() <= EXACT_DIGITS {
        return upper.into();
    }
    let lower = format!("{head}{even}");
    let whole = format!("{value:.LONGEST_DOUBLE$e}");
    let (whole, exponent) = whole.split_once('e').unwrap_or((&whole, "0"));
    let halfway = whole.trim_end_matches('0').strip_suffix('5') == Some(&lower);
    let same = || format!("{lower}e{exponent}").parse() == Ok(value);
    if halfway && same() { lower.into() } else { upper.into() }
}
