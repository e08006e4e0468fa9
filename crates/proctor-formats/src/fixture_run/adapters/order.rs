//! Rows in the order of one of their fields.

use proctor_model::json::Json;
use proctor_model::moment::days;

use super::shape::View;

/// A value by which rows are sorted. Only values of one kind can be compared.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Key<'p> {
    Number(f64),
    /// Nanoseconds since 1970 in UTC.
    Instant(i128),
    /// Nanoseconds since 1970 by some clock whose zone is not told.
    Local(i128),
    Text(&'p str),
}

/// The positions of `rows` in the order of `field`, or as they stand when none is asked for.
pub(super) fn by_rank_or_field(rows: &[View<'_>], field: Option<&str>) -> Option<Vec<usize>> {
    match field {
        Some(field) => by_field(rows, field, None),
        None => Some((0..rows.len()).collect()),
    }
}

/// The positions of `rows` in the order of `field`; equal ones by the text of `tie`, and then as
/// they stood. `None` when a row lacks the field or the values cannot be compared: strings that are
/// times with and without a zone, strings some of which are no times, strings and numbers.
pub(super) fn by_field(rows: &[View<'_>], field: &str, tie: Option<&str>) -> Option<Vec<usize>> {
    let keys: Option<Vec<Key<'_>>> = rows.iter().map(|row| key(row.get(field)?)).collect();
    let keys = keys?;
    let alike = |pair: &[Key<'_>]| matches!(pair, [one, other] if std::mem::discriminant(one) == std::mem::discriminant(other));
    if !keys.windows(2).all(alike) {
        return None;
    }
    let text = |at: &usize| rows[*at].get(tie?)?.as_str();
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by(|a, b| {
        // Numbers of JSON are never NaN, so keys of one kind always compare.
        let order = keys[*a].partial_cmp(&keys[*b]).unwrap_or(std::cmp::Ordering::Equal);
        order.then_with(|| text(a).cmp(&text(b)))
    });
    Some(places)
}

fn key<'p>(value: &'p Json<'p>) -> Option<Key<'p>> {
    match value {
        Json::Number(number) => Some(Key::Number(number.value())),
        Json::String(text) => Some(time(text).unwrap_or(Key::Text(text))),
        _ => None,
    }
}

/// Reads `2026-06-20`, `2026-06-20T09:30`, `2026-06-20 09:30:15.5Z`, `2026-06-20T09:30:15+02:00`
/// (RFC 3339 and what Python's `isoformat` writes).
fn time(text: &str) -> Option<Key<'static>> {
    let mut digits = Digits(text.as_bytes());
    let (year, month, day) =
        (digits.number(4)?, digits.after(b"-")?.number(2)?, digits.after(b"-")?.number(2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut seconds = days(year, month, day) * 86_400;
    let mut nanoseconds = 0;
    if !digits.0.is_empty() {
        seconds += digits.after(b"Tt ")?.number(2)? * 3600 + digits.after(b":")?.number(2)? * 60;
        if digits.0.first() == Some(&b':') {
            seconds += digits.after(b":")?.number(2)?;
        }
        if digits.0.first() == Some(&b'.') {
            nanoseconds = digits.after(b".")?.fraction()?;
        }
    }
    let since = |seconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    match digits.0 {
        [] => Some(Key::Local(since(seconds))),
        b"Z" | b"z" => Some(Key::Instant(since(seconds))),
        [sign @ (b'+' | b'-'), rest @ ..] => {
            let mut zone = Digits(rest);
            let hours = zone.number(2)?;
            if zone.0.first() == Some(&b':') {
                zone.after(b":")?;
            }
            let offset = hours * 3600 + if zone.0.is_empty() { 0 } else { zone.number(2)? * 60 };
            let offset = if *sign == b'-' { -offset } else { offset };
            zone.0.is_empty().then(|| Key::Instant(since(seconds - offset)))
        }
        _ => None,
    }
}

struct Digits<'t>(&'t [u8]);

impl Digits<'_> {
    /// The number in exactly `count` digits.
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        digits.iter().try_fold(0, |number, digit| {
            digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
        })
    }

    /// Nanoseconds in a fraction of a second; further digits are cut off.
    fn fraction(&mut self) -> Option<i64> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        let padded = digits.iter().copied().chain(std::iter::repeat(b'0')).take(9);
        (count > 0).then(|| padded.fold(0, |number, digit| number * 10 + i64::from(digit - b'0')))
    }

    /// Steps over one byte out of `any`.
    fn after(&mut self, any: &[u8]) -> Option<&mut Self> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        any.contains(first).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let second = 1_000_000_000;
        for (text, key) in [
            ("1970-01-01T00:00:00Z", Key::Instant(0)),
            ("1970-01-01T02:00:01+02:00", Key::Instant(second)),
            ("1969-12-31T17:00:00-0700", Key::Instant(0)),
            ("1970-01-01 00:00:00.25Z", Key::Instant(second / 4)),
            ("1970-01-02", Key::Local(86_400 * second)),
            ("1970-01-01T00:01", Key::Local(60 * second)),
            ("2000-03-01T00:00:00z", Key::Instant(951_868_800 * second)),
            ("2026-06-20T09:30:15.123456+00:00", Key::Instant(1_781_947_815_123_456_000)),
        ] {
            assert_eq!(time(text), Some(key), "{text}");
        }
        for text in
            ["", "2026", "2026-13-01", "2026-06-20x", "2026-06-20T09", "20 June", "é026-01-01"]
        {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn days_are_counted() {
        assert_eq!(days(1970, 1, 1), 0);
        assert_eq!(days(2000, 2, 29), 11_016);
        assert_eq!(days(2000, 3, 1), 11_017);
        assert_eq!(days(1600, 1, 1), -135_140);
        assert_eq!(days(0, 1, 1), -719_528);
    }
}
