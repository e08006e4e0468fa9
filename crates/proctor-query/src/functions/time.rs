//! Days and times: whole numbers, in UTC.

#![expect(clippy::format_push_string, reason = "a pattern is short")]

use proctor_model::moment::{civil, days};
use rusqlite::Result;
use rusqlite::types::Value;

use super::{Arguments, Functions, wrong};
use crate::calendar::{DAY, month_length};
use crate::types::Type;

pub(super) const FUNCTIONS: Functions = &[
    ("ch_floor_to", 2, |a| {
        Ok(match (a.whole(0), a.whole(1)) {
            (Some(number), Some(unit)) if unit > 0 => {
                Value::Integer(number - number.rem_euclid(unit))
            }
            _ => Value::Null,
        })
    }),
    ("ch_shift", 4, shift),
    ("ch_start_of", 5, start_of),
    ("ch_time_part", 3, time_part),
    ("ch_date_diff", 5, date_diff),
    ("ch_format_time", 3, format_time),
];

/// A day or time, as seconds since 1970 and what is left of the second.
struct Moment {
    seconds: i64,
    rest: i64,
    /// The units of a second.
    unit: i64,
}

impl Moment {
    fn read(a: &Arguments<'_>, ty: usize, value: usize) -> Result<Option<Self>> {
        let Some(number) = a.whole(value) else { return Ok(None) };
        let ty = a.text(ty).and_then(|ty| Type::read(&ty));
        Ok(Some(match ty {
            Some(Type::Date) => Self { seconds: number * DAY, rest: 0, unit: 1 },
            Some(Type::DateTime) => Self { seconds: number, rest: 0, unit: 1 },
            Some(Type::DateTime64(digits)) => {
                let unit = 10_i64.pow(digits.into());
                Self { seconds: number.div_euclid(unit), rest: number.rem_euclid(unit), unit }
            }
            _ => return Err(wrong("a value is no day or time")),
        }))
    }

    fn day(&self) -> i64 {
        self.seconds.div_euclid(DAY)
    }

    fn second_of_day(&self) -> i64 {
        self.seconds.rem_euclid(DAY)
    }
}

/// The type, the value, the unit and how many of it.
fn shift(a: &Arguments<'_>) -> Result<Value> {
    let (Some(count), Some(moment)) = (a.whole(3), Moment::read(a, 0, 1)?) else {
        return Ok(Value::Null);
    };
    let months = |months: i64| {
        let (year, month, day) = civil(moment.day());
        let from_zero = year.checked_mul(12)?.checked_add(month - 1)?.checked_add(months)?;
        let (year, month) = (from_zero.div_euclid(12), from_zero.rem_euclid(12) + 1);
        if !(1900..=2299).contains(&year) {
            return None;
        }
        let day = days(year, month, day.min(month_length(year, month)));
        Some(day * DAY + moment.second_of_day())
    };
    let by = |seconds: i64| moment.seconds.checked_add(count.checked_mul(seconds)?);
    let seconds = match a.text(2).as_deref() {
        Some("second") => by(1),
        Some("minute") => by(60),
        Some("hour") => by(3600),
        Some("day") => by(DAY),
        Some("week") => by(7 * DAY),
        Some("month") => months(count),
        Some("quarter") => count.checked_mul(3).and_then(months),
        _ => count.checked_mul(12).and_then(months),
    };
    let is_date = a.text(0).as_deref() == Some("Date");
    let shifted = seconds.and_then(|seconds| {
        if is_date {
            return Some(seconds.div_euclid(DAY)).filter(|day| (0..=65_535).contains(day));
        }
        let ticks = seconds.checked_mul(moment.unit)?.checked_add(moment.rest)?;
        (moment.unit > 1 || u32::try_from(ticks).is_ok()).then_some(ticks)
    });
    shifted.map(Value::Integer).ok_or_else(|| wrong("a day or time is out of range"))
}

/// The type, the type that is wanted, the value, the unit and how many of it.
fn start_of(a: &Arguments<'_>) -> Result<Value> {
    let (Some(count), Some(moment)) = (a.whole(4), Moment::read(a, 0, 2)?) else {
        return Ok(Value::Null);
    };
    let (year, month, day) = civil(moment.day());
    // The first day of 1970 was a Thursday.
    let weekday = (moment.day() + 3).rem_euclid(7);
    let unit = a.text(3).unwrap_or_default();
    let start = match &*unit {
        "sunday" => moment.day() - (weekday + 1) % 7,
        "week" => moment.day() - weekday,
        "month" => moment.day() - day + 1,
        "quarter" => days(year, (month - 1) / 3 * 3 + 1, 1),
        "year" => days(year, 1, 1),
        unit => {
            let length = match unit {
                "minute" => 60,
                "hour" => 3600,
                _ => DAY,
            };
            // Intervals of several hours are counted from midnight.
            let midnight = moment.day() * DAY;
            let whole = (moment.seconds - midnight).div_euclid(length * count) * length * count;
            return Ok(Value::Integer(midnight + whole));
        }
    };
    let is_date = a.text(1).as_deref() == Some("Date");
    Ok(Value::Integer(if is_date { start.max(0) } else { start * DAY }))
}

fn time_part(a: &Arguments<'_>) -> Result<Value> {
    let Some(moment) = Moment::read(a, 0, 1)? else { return Ok(Value::Null) };
    let (year, month, day) = civil(moment.day());
    let second = moment.second_of_day();
    let part = a.text(2).unwrap_or_default();
    Ok(Value::Integer(match &*part {
        "year" => year,
        "quarter" => (month - 1) / 3 + 1,
        "month" => month,
        "day" => day,
        "day_of_year" => moment.day() - days(year, 1, 1) + 1,
        "day_of_week" => (moment.day() + 3).rem_euclid(7) + 1,
        "hour" => second / 3600,
        "minute" => second / 60 % 60,
        "second" => second % 60,
        "yyyymm" => year * 100 + month,
        _ => year * 10_000 + month * 100 + day,
    }))
}

/// The unit, and twice a type and a value.
fn date_diff(a: &Arguments<'_>) -> Result<Value> {
    let (Some(from), Some(to)) = (Moment::read(a, 1, 2)?, Moment::read(a, 3, 4)?) else {
        return Ok(Value::Null);
    };
    let unit = a.text(0).unwrap_or_default();
    let seconds = |length: i64| to.seconds.div_euclid(length) - from.seconds.div_euclid(length);
    let months = |moment: &Moment| {
        let (year, month, _) = civil(moment.day());
        year * 12 + month - 1
    };
    let ticks = |per_second: i64| {
        let at = |moment: &Moment| {
            let rest = i128::from(moment.rest) * i128::from(per_second) / i128::from(moment.unit);
            i128::from(moment.seconds) * i128::from(per_second) + rest
        };
        i64::try_from(at(&to) - at(&from)).unwrap_or(i64::MAX)
    };
    Ok(Value::Integer(match &*unit {
        "microsecond" => ticks(1_000_000),
        "millisecond" => ticks(1000),
        "second" => seconds(1),
        "minute" => seconds(60),
        "hour" => seconds(3600),
        "day" => to.day() - from.day(),
        "week" => (to.day() + 3).div_euclid(7) - (from.day() + 3).div_euclid(7),
        "month" => months(&to) - months(&from),
        "quarter" => months(&to).div_euclid(3) - months(&from).div_euclid(3),
        _ => civil(to.day()).0 - civil(from.day()).0,
    }))
}

fn format_time(a: &Arguments<'_>) -> Result<Value> {
    const DAYS: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let (Some(pattern), Some(moment)) = (a.text(2), Moment::read(a, 0, 1)?) else {
        return Ok(Value::Null);
    };
    let (year, month, day) = civil(moment.day());
    let second = moment.second_of_day();
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let weekday = usize::try_from((moment.day() + 3).rem_euclid(7)).unwrap_or(0);
    let weekday = DAYS.get(weekday).copied().unwrap_or_default();
    let name = MONTHS.get(usize::try_from(month - 1).unwrap_or(0)).copied().unwrap_or_default();
    let short = |text: &'static str| text.get(..3).unwrap_or_default().to_owned();
    let mut out = String::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        out += &match characters.next() {
            Some('Y') => format!("{year:04}"),
            Some('y') => format!("{:02}", year.rem_euclid(100)),
            Some('m') => format!("{month:02}"),
            Some('d') => format!("{day:02}"),
            Some('e') => day.to_string(),
            Some('H') => format!("{hour:02}"),
            Some('I') => format!("{:02}", (hour + 11) % 12 + 1),
            Some('i') => format!("{minute:02}"),
            Some('S' | 's') => format!("{second:02}"),
            Some('T') => format!("{hour:02}:{minute:02}:{second:02}"),
            Some('R') => format!("{hour:02}:{minute:02}"),
            Some('F') => format!("{year:04}-{month:02}-{day:02}"),
            Some('j') => format!("{:03}", moment.day() - days(year, 1, 1) + 1),
            Some('a') => short(weekday),
            Some('W') => weekday.to_owned(),
            Some('b') => short(name),
            Some('M') => name.to_owned(),
            Some('p') => if hour < 12 { "AM" } else { "PM" }.to_owned(),
            _ => "%".to_owned(),
        };
    }
    Ok(out.into())
}
