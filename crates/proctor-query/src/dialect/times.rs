//! Calls of functions of days and times. All of it is in UTC, which is the zone of the evidence.

use sqlparser::tokenizer::Span;

use super::DialectError;
use super::call::{Call, or};
use super::operators;
use super::typed::{Typed, call as sql, quoted, unsupported};
use crate::types::Type;

type Result = std::result::Result<Typed, DialectError>;

/// What a day or time is cut to, and what that gives.
const STARTS: &[(&str, &str, i64)] = &[
    ("toStartOfMinute", "minute", 1),
    ("toStartOfFiveMinutes", "minute", 5),
    ("toStartOfTenMinutes", "minute", 10),
    ("toStartOfFifteenMinutes", "minute", 15),
    ("toStartOfHour", "hour", 1),
    ("toStartOfDay", "day", 1),
    ("toStartOfWeek", "sunday", 1),
    ("toMonday", "week", 1),
    ("toStartOfMonth", "month", 1),
    ("toStartOfQuarter", "quarter", 1),
    ("toStartOfYear", "year", 1),
];

/// Parts of a day or time.
const PARTS: &[(&str, &str, u8)] = &[
    ("toYear", "year", 16),
    ("toQuarter", "quarter", 8),
    ("toMonth", "month", 8),
    ("toDayOfYear", "day_of_year", 16),
    ("toDayOfMonth", "day", 8),
    ("toDayOfWeek", "day_of_week", 8),
    ("toHour", "hour", 8),
    ("toMinute", "minute", 8),
    ("toSecond", "second", 8),
    ("toYYYYMM", "yyyymm", 32),
    ("toYYYYMMDD", "yyyymmdd", 32),
];

/// The calls that are translated here.
pub(super) fn special(call: &Call) -> Option<Result> {
    let name = call.name;
    if let Some((_, unit, count)) = STARTS.iter().find(|(start, ..)| *start == name) {
        return Some(call.exactly::<1>().and_then(|[time]| start(call, time, unit, *count)));
    }
    if let Some((_, part, bits)) = PARTS.iter().find(|(part, ..)| *part == name) {
        return Some(call.exactly::<1>().and_then(|[time]| {
            of_time(call, time, |time| {
                (sql("ch_time_part", &[&kind(time), &time.sql, &quoted(part)]), Type::UInt(*bits))
            })
        }));
    }
    if let Some(unit) = name.strip_prefix("add").filter(|unit| unit.ends_with('s')) {
        return Some(shifted(call, unit, 1));
    }
    if let Some(unit) = name.strip_prefix("subtract") {
        return Some(shifted(call, unit, -1));
    }
    Some(match name {
        "toDate" | "toDateOrNull" | "toDateOrZero" => to(call, &Type::Date),
        "toDateTime" | "toDateTimeOrNull" | "toDateTimeOrZero" => to(call, &Type::DateTime),
        "toDateTime64" | "toDateTime64OrNull" | "toDateTime64OrZero" => to_digits(call),
        "parseDateTimeBestEffort"
        | "parseDateTimeBestEffortOrNull"
        | "parseDateTimeBestEffortOrZero"
        | "parseDateTime64BestEffort"
        | "parseDateTime64BestEffortOrNull"
        | "parseDateTime64BestEffortOrZero" => best_effort(call),
        "fromUnixTimestamp" => call.exactly::<1>().and_then(|[value]| {
            if !value.ty.plain().is_whole() {
                return Err(call.wrong(&format!("does not take {}", value.ty)));
            }
            Ok(Typed::new(
                value.sql.clone(),
                Type::DateTime.nullable_if(value.ty.is_nullable()),
                call.span,
            ))
        }),
        "toUnixTimestamp" => call.exactly::<1>().and_then(|[value]| {
            let value = match value.ty.plain() {
                Type::String => {
                    operators::convert(value, &Type::DateTime, "toDateTime", call.span)?
                }
                _ => value.clone(),
            };
            of_time(call, &value, |time| {
                (sql("ch_cast", &[&kind(time), "'UInt32'", &time.sql]), Type::UInt(32))
            })
        }),
        "toUnixTimestamp64Milli" => {
            call.exactly::<1>().and_then(|[value]| match value.ty.plain() {
                Type::DateTime64(3) => Ok(Typed::new(
                    value.sql.clone(),
                    Type::Int(64).nullable_if(value.ty.is_nullable()),
                    call.span,
                )),
                other => {
                    Err(unsupported(format!("`toUnixTimestamp64Milli` of {other}"), call.span))
                }
            })
        }
        "dateDiff" | "date_diff" => difference(call),
        "dateTrunc" | "date_trunc" => truncated(call),
        "formatDateTime" => formatted(call),
        "toStartOfSecond" => call.exactly::<1>().and_then(|[time]| match time.ty.plain() {
            Type::DateTime64(digits) => {
                let unit = 10_i64.pow((*digits).into());
                let text = format!("ch_floor_to({}, {unit})", time.sql);
                Ok(Typed::new(text, time.ty.clone(), call.span))
            }
            other => Err(call.wrong(&format!("takes a DateTime64 and not {other}"))),
        }),
        _ => return None,
    })
}

/// The type of a time, as functions of SQLite are told it.
fn kind(time: &Typed) -> String {
    quoted(&time.ty.plain().to_string())
}

fn of_time(call: &Call, time: &Typed, make: impl FnOnce(&Typed) -> (String, Type)) -> Result {
    if time.is_null() {
        return Ok(time.clone());
    }
    if !time.ty.plain().is_time() {
        return Err(call.wrong(&format!("takes a day or a time and not {}", time.ty)));
    }
    let (text, ty) = make(time);
    Ok(Typed::new(text, ty.nullable_if(time.ty.is_nullable()), call.span))
}

fn start(call: &Call, time: &Typed, unit: &str, count: i64) -> Result {
    of_time(call, time, |time| {
        let ty = if matches!(unit, "sunday" | "week" | "month" | "quarter" | "year") {
            Type::Date
        } else {
            Type::DateTime
        };
        let to = quoted(&ty.to_string());
        (sql("ch_start_of", &[&kind(time), &to, &time.sql, &quoted(unit), &count.to_string()]), ty)
    })
}

/// `toStartOfInterval(time, INTERVAL 15 minute)`.
pub(super) fn start_of_interval(time: &Typed, unit: &str, count: &Typed, span: Span) -> Result {
    let call = Call { name: "toStartOfInterval", arguments: vec![time.clone()], span };
    match (unit, count.constant_whole()) {
        ("minute" | "hour", Some(count)) if count > 0 => start(&call, time, unit, count),
        ("day" | "week" | "month" | "quarter" | "year", Some(1))
            if *time.ty.plain() == Type::Date || unit != "day" =>
        {
            start(&call, time, unit, 1)
        }
        ("day", Some(1)) => start(&call, time, "day", 1),
        ("second", Some(count)) if count > 0 && *time.ty.plain() == Type::DateTime => {
            Ok(Typed::new(format!("ch_floor_to({}, {count})", time.sql), time.ty.clone(), span))
        }
        _ => Err(unsupported(format!("`toStartOfInterval` of {} by this interval", time.ty), span)),
    }
}

fn shifted(call: &Call, unit: &str, sign: i64) -> Result {
    let [time, count] = call.exactly::<2>()?;
    if call.has_null() {
        return Ok(Typed::null(call.span));
    }
    let unit = unit.to_ascii_lowercase();
    operators::shift(time, unit.trim_end_matches('s'), count, sign)
}

fn to(call: &Call, ty: &Type) -> Result {
    let [value] = call
        .exactly::<1>()
        .map_err(|_| unsupported(format!("`{}` with a zone", call.name), call.span))?;
    if value.is_null() {
        return Ok(value.clone());
    }
    if let Some(otherwise) = call.name.strip_prefix(&format!("to{ty}Or")) {
        return or(value, ty, &otherwise.to_ascii_lowercase(), call);
    }
    if value.ty.is_compound() || *value.ty.plain() == Type::Bool {
        return Err(call.wrong(&format!("does not take {}", value.ty)));
    }
    operators::convert(value, ty, call.name, call.span)
}

/// The digits of the second that are asked for, and a zone that must be UTC.
fn digits(call: &Call, usual: Option<u8>) -> std::result::Result<u8, DialectError> {
    let zone = call.arguments.get(2).map(|zone| zone.constant_text());
    if !matches!(zone, None | Some(Some("UTC"))) {
        return Err(unsupported(format!("`{}` with another zone than UTC", call.name), call.span));
    }
    let written = call.arguments.get(1).map(Typed::constant_whole);
    match (written, usual) {
        (None, Some(usual)) => Ok(usual),
        (Some(Some(digits @ 0..=9)), _) => Ok(u8::try_from(digits).unwrap_or(9)),
        _ => Err(call.wrong("takes the digits of the second, 0 to 9, as a constant")),
    }
}

fn to_digits(call: &Call) -> Result {
    let Some(value) = call.arguments.first() else { return Err(call.wrong("takes a value")) };
    let ty = Type::DateTime64(digits(call, None)?);
    if value.is_null() {
        return Ok(value.clone());
    }
    match call.name.strip_prefix("toDateTime64Or") {
        Some(otherwise) => or(value, &ty, &otherwise.to_ascii_lowercase(), call),
        None => operators::convert(value, &ty, call.name, call.span),
    }
}

fn best_effort(call: &Call) -> Result {
    let Some(value) = call.arguments.first() else { return Err(call.wrong("takes a text")) };
    let ty = if call.name.contains("64") {
        Type::DateTime64(digits(call, Some(3))?)
    } else {
        call.exactly::<1>()
            .map_err(|_| unsupported(format!("`{}` with a zone", call.name), call.span))?;
        Type::DateTime
    };
    let otherwise = call.name.rsplit_once("BestEffort").map_or("", |(_, rest)| rest);
    let otherwise = match otherwise {
        "OrNull" => "null",
        "OrZero" => "zero",
        _ => "fail",
    };
    or(value, &ty, otherwise, call)
}

/// `dateDiff(unit, from, to)`: how many bounds of the unit lie between.
fn difference(call: &Call) -> Result {
    let [unit, from, to] = call.exactly::<3>()?;
    let unit =
        unit.constant_text().ok_or_else(|| call.wrong("takes the unit as a constant text"))?;
    let unit = match unit.to_ascii_lowercase().trim_end_matches('s') {
        "second" | "ss" => "second",
        "minute" | "mi" | "n" => "minute",
        "hour" | "hh" | "h" => "hour",
        "day" | "dd" | "d" => "day",
        "week" | "wk" | "ww" => "week",
        "month" | "mm" | "m" => "month",
        "quarter" | "qq" | "q" => "quarter",
        "year" | "yy" | "yyyy" => "year",
        "millisecond" => "millisecond",
        "microsecond" => "microsecond",
        _ => return Err(unsupported(format!("`dateDiff` in `{unit}`"), call.span)),
    };
    if from.is_null() || to.is_null() {
        return Ok(Typed::null(call.span));
    }
    if !from.ty.plain().is_time() || !to.ty.plain().is_time() {
        return Err(call.wrong(&format!("takes days or times and not {} and {}", from.ty, to.ty)));
    }
    let text = sql("ch_date_diff", &[&quoted(unit), &kind(from), &from.sql, &kind(to), &to.sql]);
    Ok(Typed::new(text, Type::Int(64).nullable_if(call.is_nullable()), call.span))
}

fn truncated(call: &Call) -> Result {
    let [unit, time] = call.exactly::<2>()?;
    let unit =
        unit.constant_text().ok_or_else(|| call.wrong("takes the unit as a constant text"))?;
    let unit = unit.to_ascii_lowercase();
    match (unit.as_str(), time.ty.plain()) {
        ("minute" | "hour" | "day", Type::DateTime | Type::DateTime64(_))
        | ("week" | "month" | "quarter" | "year", _) => start(call, time, &unit, 1),
        (unit, ty) => Err(unsupported(format!("`date_trunc` of {ty} to `{unit}`"), call.span)),
    }
}

fn formatted(call: &Call) -> Result {
    let [time, pattern] = call.exactly::<2>()?;
    let pattern = pattern.constant_text();
    let pattern = pattern.ok_or_else(|| call.wrong("takes the pattern as a constant text"))?;
    let known = |c: char| "YymdeHIiSsTRFjaWbMp%".contains(c);
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        if c == '%' && !characters.next().is_some_and(known) {
            return Err(unsupported("this pattern of `formatDateTime`", call.span));
        }
    }
    let pattern = quoted(pattern);
    of_time(call, time, |time| {
        (sql("ch_format_time", &[&kind(time), &time.sql, &pattern]), Type::String)
    })
}
