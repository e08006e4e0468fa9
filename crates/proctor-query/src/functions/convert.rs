//! From one type to another.

use proctor_model::moment::days;
use rusqlite::Result;
use rusqlite::types::{Value, ValueRef};

use super::{Arguments, Functions, number, too_large, truth, wrong};
use crate::calendar::{DAY, month_length};
use crate::format;
use crate::types::Type;

pub(super) const FUNCTIONS: Functions = &[
    ("ch_text", 2, |a| {
        let ty = ty(a, 0)?;
        let value = format::Value::of_sqlite(a.value(1), &ty);
        let value = value.ok_or_else(|| wrong(format!("a value is no {ty}")))?;
        Ok(match value {
            format::Value::Null => Value::Null,
            value => value.text().into_owned().into(),
        })
    }),
    ("ch_cast", 3, |a| cast(a.value(2), &ty(a, 0)?, &ty(a, 1)?)),
    ("ch_read", 3, read),
];

fn ty(a: &Arguments<'_>, at: usize) -> Result<Type> {
    a.text(at).and_then(|name| Type::read(&name)).ok_or_else(|| wrong("a type is not known"))
}

fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// A value that is no compound as one of another type.
fn cast(value: ValueRef<'_>, from: &Type, to: &Type) -> Result<Value> {
    let text = match (from, value) {
        (_, ValueRef::Null) => return Ok(Value::Null),
        (Type::String, value) => super::text_of(value).unwrap_or_default().into_owned(),
        (Type::Float, value) => return of_float(number::float(value).unwrap_or(0.0), to),
        (from, value) => return of_whole(number::whole(value).unwrap_or(0), from, to),
    };
    let read = read_text(&text, to)?;
    read.ok_or_else(|| wrong(format!("`{}` cannot be read as {to}", shown(&text))))
}

fn of_float(number: f64, to: &Type) -> Result<Value> {
    let out_of_range = || wrong(format!("{number} is out of the range of {to}"));
    #[expect(clippy::cast_possible_truncation, reason = "checked")]
    let whole = |number: f64| {
        (number.is_finite() && number.abs() < 9.2e18)
            .then_some(number as i64)
            .ok_or_else(out_of_range)
    };
    match to {
        Type::Bool => Ok(truth(number != 0.0)),
        Type::DateTime64(digits) => {
            let ticks = whole(number * 10_f64.powi(i32::from(*digits)))?;
            Ok(Value::Integer(ticks))
        }
        to => of_whole(whole(number)?, &Type::Int(64), to),
    }
}

/// What is kept as a whole number as another such type.
fn of_whole(number: i64, from: &Type, to: &Type) -> Result<Value> {
    let out_of_range = || wrong(format!("a value is out of the range of {to}"));
    #[expect(clippy::cast_precision_loss, reason = "as in ClickHouse")]
    if *to == Type::Float {
        return Ok(Value::Real(match from {
            Type::DateTime64(digits) => number as f64 / 10_f64.powi(i32::from(*digits)),
            _ => number as f64,
        }));
    }
    // Times by seconds, days by days.
    let seconds = match from {
        Type::DateTime64(digits) => number.div_euclid(10_i64.pow((*digits).into())),
        Type::Date if matches!(to, Type::DateTime | Type::DateTime64(_)) => number * DAY,
        _ => number,
    };
    let made = match to {
        Type::Date => match from {
            Type::Date => number,
            Type::DateTime | Type::DateTime64(_) => seconds.div_euclid(DAY),
            // A number that is no day is a time.
            _ if number > 65_535 => number.div_euclid(DAY),
            _ => number,
        },
        Type::DateTime64(digits) => {
            let unit = 10_i64.pow((*digits).into());
            match from {
                Type::DateTime64(had) if had > digits => {
                    number.div_euclid(10_i64.pow((*had - *digits).into()))
                }
                Type::DateTime64(had) => number
                    .checked_mul(10_i64.pow((*digits - *had).into()))
                    .ok_or_else(out_of_range)?,
                _ => seconds.checked_mul(unit).ok_or_else(out_of_range)?,
            }
        }
        _ => seconds,
    };
    let fits = match to {
        Type::Date => (0..=65_535).contains(&made),
        Type::DateTime => u32::try_from(made).is_ok(),
        _ => true,
    };
    if !fits {
        return Err(out_of_range());
    }
    Ok(Value::Integer(match to {
        Type::Bool => i64::from(made != 0),
        Type::UInt(64) if made < 0 => return Err(too_large()),
        Type::UInt(bits) if *bits < 64 => made & ((1_i64 << bits) - 1),
        Type::Int(bits) if *bits < 64 => (made << (64 - bits)) >> (64 - bits),
        _ => made,
    }))
}

/// A text as another type; `None` when it is none of them.
fn read_text(text: &str, to: &Type) -> Result<Option<Value>> {
    Ok(match to {
        Type::String => Some(text.to_owned().into()),
        Type::Float => read_float(text).map(Value::Real),
        Type::Bool => match text.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(truth(true)),
            "false" | "0" => Some(truth(false)),
            _ => None,
        },
        Type::UInt(_) | Type::Int(_) => {
            let is_too_large = *to == Type::UInt(64)
                && text.parse::<u64>().is_ok()
                && text.parse::<i64>().is_err();
            if is_too_large {
                return Err(too_large());
            }
            read_whole(text, to).map(Value::Integer)
        }
        Type::Date => read_time(text, 0).map(|ticks| Value::Integer(ticks.div_euclid(DAY))),
        Type::DateTime => read_time(text, 0).map(Value::Integer),
        Type::DateTime64(digits) => read_time(text, *digits).map(Value::Integer),
        _ => None,
    })
}

/// A text as a type, and what stands there when it is none: `null`, `zero`, or nothing.
fn read(a: &Arguments<'_>) -> Result<Value> {
    let ty = ty(a, 0)?;
    let Some(text) = a.text(2) else { return Ok(Value::Null) };
    if let Some(value) = read_text(&text, &ty)? {
        return Ok(value);
    }
    let otherwise = a.text(1).unwrap_or_default();
    // ClickHouse knows more ways to write a time than this engine.
    let may_be_time = ty.is_time() && text.bytes().any(|byte| byte.is_ascii_digit());
    match &*otherwise {
        "null" if !may_be_time => Ok(Value::Null),
        "zero" if !may_be_time && ty == Type::Float => Ok(Value::Real(0.0)),
        "zero" if !may_be_time => Ok(Value::Integer(0)),
        _ => Err(wrong(format!("`{}` cannot be read as {ty}", shown(&text)))),
    }
}

/// A whole number of a type, as ClickHouse reads it: a sign and digits, and nothing else.
pub(crate) fn read_whole(text: &str, ty: &Type) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = text.parse().ok()?;
    let fits = match ty {
        Type::UInt(64) => number >= 0,
        Type::UInt(bits) => (0..1_i64 << bits).contains(&number),
        Type::Int(64) => true,
        Type::Int(bits) => (-(1_i64 << (bits - 1))..1_i64 << (bits - 1)).contains(&number),
        _ => (0..=1).contains(&number),
    };
    fits.then_some(number)
}

fn read_float(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !is_plain || text.is_empty() {
        return None;
    }
    text.parse().ok()
}

/// A time in UTC, in units of which a second has ten to the power of `digits`. Further digits are
/// cut. `2026-12-01`, `2026-12-01 03:07:19.250`, with `T` and `Z` or an offset, and seconds since
/// 1970.
pub(crate) fn read_time(text: &str, digits: u8) -> Option<i64> {
    let unit = 10_i64.pow(digits.into());
    let text = text.trim();
    if (9..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse::<i64>().ok()?.checked_mul(unit);
    }
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let mut part = |most: usize| {
        let part = parts.next()?;
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && part.len() <= most).then(|| part.parse::<i64>().ok()).flatten()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    if parts.next().is_some() || !(1900..=2299).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    if !(1..=month_length(year, month)).contains(&day) {
        return None;
    }
    let midnight = days(year, month, day) * DAY;
    let Some(time) = time else { return midnight.checked_mul(unit) };
    let (time, offset) = zone(time)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut parts = time.split(':');
    let mut part = |limit: i64| {
        let part = parts.next()?;
        let is_number = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| part.parse::<i64>().ok()).flatten().filter(|number| *number < limit)
    };
    let (hour, minute, second) = (part(24)?, part(60)?, part(60)?);
    if parts.next().is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let seconds = midnight + hour * 3600 + minute * 60 + second - offset;
    let fraction: String =
        fraction.chars().chain("000000000".chars()).take(digits.into()).collect();
    let fraction: i64 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    seconds.checked_mul(unit)?.checked_add(fraction)
}

/// Takes `Z` or `+02:00` off the end of a time.
fn zone(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix('Z') {
        return Some((time.trim_end(), 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (time, offset) = time.split_at(at);
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 14 && minutes < 60).then_some((time.trim_end(), sign * (hours * 3600 + minutes * 60)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_ways_of_iso() {
        for (text, digits, expected) in [
            ("2024-01-02", 0, Some(1_704_153_600)),
            ("2024-01-02 03:04:05", 0, Some(1_704_164_645)),
            ("2024-01-02T03:04:05.678Z", 3, Some(1_704_164_645_678)),
            ("2024-01-02T03:04:05.6789+02:00", 3, Some(1_704_157_445_678)),
            ("1704164645", 0, Some(1_704_164_645)),
            ("2024-02-30", 0, None),
            ("2024-01-02 24:00:00", 0, None),
            ("yesterday", 0, None),
            ("", 0, None),
        ] {
            assert_eq!(read_time(text, digits), expected, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_digits_and_fit() {
        for (text, ty, expected) in [
            ("12", Type::UInt(8), Some(12)),
            ("300", Type::UInt(8), None),
            ("-5", Type::UInt(8), None),
            ("-128", Type::Int(8), Some(-128)),
            ("+5", Type::Int(64), Some(5)),
            (" 5", Type::Int(64), None),
            ("5.5", Type::Int(64), None),
            ("", Type::Int(64), None),
        ] {
            assert_eq!(read_whole(text, &ty), expected, "{text}");
        }
    }
}
