//! Moments in text (RFC 3339) and as milliseconds since 1970, and days of the calendar.

use std::fmt::Write as _;

const DAY_MS: i64 = 86_400_000;

/// The last millisecond of the year 9999, beyond which no format names a moment.
pub const LAST_MS: u64 = 253_402_300_799_999;

/// A moment as RFC 3339 in UTC with milliseconds, like `2026-03-01T22:38:47.557Z`. What lies beyond
/// the year 9999 becomes its last millisecond.
pub fn rfc3339(milliseconds: u64) -> String {
    let at = i64::try_from(milliseconds.min(LAST_MS)).unwrap_or_default();
    let (year, month, day) = civil(at.div_euclid(DAY_MS));
    let rest = at.rem_euclid(DAY_MS);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, fraction) = (rest / 1000 % 60, rest % 1000);
    let mut text = String::with_capacity(24);
    let _ = write!(
        text,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z"
    );
    text
}

/// Milliseconds since 1970 of a moment in RFC 3339, or in what Python's `isoformat` makes of it; one
/// without an offset counts as UTC. `None` for anything else, and for what lies before 1970.
pub fn milliseconds(text: &str) -> Option<u64> {
    let (date, clock) = text.trim().split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(digits);
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (clock, offset) = split_offset(clock)?;
    let (clock, fraction) = clock.split_once(['.', ',']).unwrap_or((clock, "0"));
    let mut clock = clock.split(':').map(digits);
    let (hour, minute) = (clock.next()??, clock.next()??);
    let second = clock.next().unwrap_or(Some(0))?;
    if clock.next().is_some()
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || year > 9999
        || hour > 24
        || minute > 59
        || second > 60
        || fraction.is_empty()
        || !fraction.bytes().all(|byte| byte.is_ascii_digit())
    {
        return None;
    }
    // Three digits of the fraction, with zeros after what is missing.
    let mut digits = fraction.bytes().map(|byte| i64::from(byte - b'0')).chain([0, 0]);
    let thousandths = (0..3).fold(0, |sum, _| sum * 10 + digits.next().unwrap_or(0));
    let minutes = days(year, month, day) * 1440 + hour * 60 + minute - offset;
    u64::try_from((minutes * 60 + second) * 1000 + thousandths).ok()
}

/// The time of day, and how many minutes it is ahead of UTC.
fn split_offset(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.rfind(['+', '-']) else { return Some((clock, 0)) };
    let (clock, offset) = clock.split_at_checked(at)?;
    let (sign, offset) = offset.split_at_checked(1)?;
    let (hours, minutes) = match offset.split_once(':') {
        Some(parts) => parts,
        None => offset.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() { 0 } else { digits(minutes)? };
    let ahead = digits(hours)? * 60 + minutes;
    Some((clock, if sign == "-" { -ahead } else { ahead }))
}

fn digits(text: &str) -> Option<i64> {
    let is_plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { text.parse().ok() } else { None }
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar; the day may lie beyond the end of
/// its month. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of a count of days since 1970-01-01: `civil_from_days` of the same work.
pub fn civil(days: i64) -> (i64, i64, i64) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_what_everybody_says() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", 0),
            ("2026-03-01T22:38:47.557Z", 1_772_404_727_557),
            ("2026-03-01T23:38:47.557+01:00", 1_772_404_727_557),
            ("2026-03-01T20:08:47.557-0230", 1_772_404_727_557),
            ("2026-03-01 22:38:47.557123", 1_772_404_727_557),
            ("2024-02-29T12:00", 1_709_208_000_000),
            ("2024-02-29T12:00:00.5z", 1_709_208_000_500),
        ] {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        assert_eq!(rfc3339(1_772_404_727_557), "2026-03-01T22:38:47.557Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(u64::MAX), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_day_is_found_again() {
        for day in (-800_000..800_000).step_by(97) {
            let (year, month, of_month) = civil(day);
            assert_eq!(days(year, month, of_month), day);
            assert!((1..=12).contains(&month) && (1..=31).contains(&of_month), "{day}");
        }
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(19_782), (2024, 2, 29));
        assert_eq!(days(2024, 2, 30), days(2024, 3, 1));
    }

    #[test]
    fn there_and_back_is_the_same() {
        for step in 0..20_000_u64 {
            let at = step * 12_345_678_901 % 253_402_300_800_000;
            assert_eq!(milliseconds(&rfc3339(at)), Some(at));
        }
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "x",
            "2026-03-01",
            "2026-13-01T00:00:00Z",
            "2026-03-01T00:00:00.Z",
            "2026-03-01T00:00:00+é9",
            "2026-03-01T00:00:0é",
            "1969-12-31T23:59:59Z",
            "99999-01-01T00:00:00Z",
            "2026-03-01T1:2:3:4Z",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
