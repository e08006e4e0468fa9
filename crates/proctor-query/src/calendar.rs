//! Days and times as ClickHouse writes them, in UTC.

use proctor_model::moment::{civil, days};

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;

/// How many days a month has.
pub(crate) fn month_length(year: i64, month: i64) -> i64 {
    let (next_year, next) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days(next_year, next, 1) - days(year, month, 1)
}

/// `2026-12-01`.
pub(crate) fn date_text(days: i64) -> String {
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// `2026-12-01 03:07:19`, with so many digits of the second.
pub(crate) fn date_time_text(ticks: i64, digits: u8) -> String {
    let unit = 10_i64.pow(digits.into());
    let (seconds, rest) = (ticks.div_euclid(unit), ticks.rem_euclid(unit));
    let (day, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let date = date_text(day);
    let plain = format!("{date} {hour:02}:{minute:02}:{second:02}");
    if digits == 0 { plain } else { format!("{plain}.{rest:0width$}", width = digits.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_their_days() {
        let lengths = |year| (1..=12).map(|month| month_length(year, month)).collect::<Vec<_>>();
        assert_eq!(lengths(2023), [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
        assert_eq!((month_length(2024, 2), month_length(1900, 2)), (29, 28));
    }

    #[test]
    fn times_are_written_with_their_digits() {
        assert_eq!(date_time_text(0, 0), "1970-01-01 00:00:00");
        assert_eq!(date_time_text(1_704_164_645_678, 3), "2024-01-02 03:04:05.678");
        assert_eq!(date_time_text(-1, 3), "1969-12-31 23:59:59.999");
    }
}
