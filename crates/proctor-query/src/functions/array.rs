//! Arrays, tuples and maps. They are texts of JSON: a tuple is an array, a map an array of pairs.

use std::cmp::Ordering;

use rusqlite::Result;
use rusqlite::types::{Value, ValueRef};
use serde_json::{Number, Value as Json};

use super::{Arguments, Functions, count, no_nan, too_large, truth, wrong};
use crate::types::Type;

/// The longest array that a function makes of a number.
const MAX_RANGE: i64 = 1_000_000;

pub(super) const FUNCTIONS: Functions = &[
    ("ch_array", -1, |a| {
        let flag = a.text(0).unwrap_or_default().chars().next().unwrap_or('v');
        let items = (1..a.len()).map(|at| json_of(a.value(at), flag));
        Ok(text(&items.collect::<Result<Vec<_>>>()?))
    }),
    ("ch_tuple", -1, |a| {
        let flags = a.text(0).unwrap_or_default();
        let items = flags.chars().enumerate().map(|(at, flag)| json_of(a.value(at + 1), flag));
        Ok(text(&items.collect::<Result<Vec<_>>>()?))
    }),
    ("ch_element", 2, |a| {
        let (items, Some(place)) = (read(a, 0)?, a.whole(1)) else { return Ok(Value::Null) };
        Ok(at(&items, place).map_or(Value::Null, value))
    }),
    ("ch_map_value", 2, |a| {
        let key = json_of(a.value(1), 'v')?;
        let pairs = read(a, 0)?;
        let found = pairs.iter().find(|pair| pair.get(0) == Some(&key));
        Ok(found.and_then(|pair| pair.get(1)).map_or(Value::Null, value))
    }),
    ("ch_map_keys", 1, |a| part_of_pairs(a, 0)),
    ("ch_map_values", 1, |a| part_of_pairs(a, 1)),
    ("ch_with_fractions", 2, |a| {
        let ty = a.text(1).and_then(|ty| Type::read(&ty)).unwrap_or(Type::Nothing);
        let items = Json::Array(read(a, 0)?);
        Ok(with_fractions(items, &ty).to_string().into())
    }),
    ("ch_same_length", -1, |a| {
        let length = read(a, 0)?.len();
        for at in 1..a.len() {
            if read(a, at)?.len() != length {
                return Err(wrong("the arrays of ARRAY JOIN are of different lengths"));
            }
        }
        Ok(super::owned(a.value(0)))
    }),
    ("ch_array_length", 1, |a| Ok(count(read(a, 0)?.len()))),
    ("ch_array_empty", 1, |a| Ok(truth(read(a, 0)?.is_empty()))),
    ("ch_array_not_empty", 1, |a| Ok(truth(!read(a, 0)?.is_empty()))),
    ("ch_array_reverse", 1, |a| changed(a, |items| items.reverse())),
    ("ch_array_compact", 1, |a| changed(a, Vec::dedup)),
    ("ch_array_distinct", 1, |a| {
        changed(a, |items| {
            items.retain(|item| !item.is_null());
            *items = distinct(std::mem::take(items));
        })
    }),
    ("ch_array_uniq", 1, |a| Ok(count(distinct(read(a, 0)?).len()))),
    ("ch_array_enumerate", 1, |a| {
        Ok(text(&(1..=read(a, 0)?.len()).map(Json::from).collect::<Vec<_>>()))
    }),
    ("ch_array_slice", -1, slice),
    ("ch_array_sort", 1, |a| changed(a, |items| items.sort_by(order))),
    ("ch_array_reverse_sort", 1, |a| {
        changed(a, |items| {
            items.sort_by(|one, other| match (one.is_null(), other.is_null()) {
                // NULLs stay at the end.
                (false, false) => order(other, one),
                (one, other) => one.cmp(&other),
            });
        })
    }),
    ("ch_array_concat", -1, |a| {
        let mut all = Vec::new();
        for at in 0..a.len() {
            all.append(&mut read(a, at)?);
        }
        Ok(text(&all))
    }),
    ("ch_array_push_back", 3, |a| {
        let item = item(a)?;
        changed(a, |items| items.push(item.clone()))
    }),
    ("ch_array_push_front", 3, |a| {
        let item = item(a)?;
        changed(a, |items| items.insert(0, item.clone()))
    }),
    ("ch_has", 3, |a| Ok(truth(read(a, 0)?.contains(&item(a)?)))),
    ("ch_index_of", 3, |a| {
        let item = item(a)?;
        Ok(count(read(a, 0)?.iter().position(|other| *other == item).map_or(0, |at| at + 1)))
    }),
    ("ch_count_equal", 3, |a| {
        let item = item(a)?;
        Ok(count(read(a, 0)?.iter().filter(|other| **other == item).count()))
    }),
    ("ch_has_any", 2, |a| {
        let (items, others) = (read(a, 0)?, read(a, 1)?);
        Ok(truth(others.iter().any(|other| items.contains(other))))
    }),
    ("ch_has_all", 2, |a| {
        let (items, others) = (read(a, 0)?, read(a, 1)?);
        Ok(truth(others.iter().all(|other| items.contains(other))))
    }),
    ("ch_array_fold", 2, fold),
    ("ch_array_string_concat", 3, string_concat),
    ("ch_range", -1, range),
];

/// The items of an argument.
pub(super) fn read(a: &Arguments<'_>, at: usize) -> Result<Vec<Json>> {
    let text = a.text(at).unwrap_or_else(|| "[]".into());
    serde_json::from_str(&text).map_err(|_| wrong("an array is damaged"))
}

/// An array of texts.
pub(super) fn texts<'a>(parts: impl Iterator<Item = &'a str>) -> Value {
    text(&parts.map(Json::from).collect::<Vec<_>>())
}

pub(super) fn text(items: &[Json]) -> Value {
    serde_json::to_string(items).unwrap_or_default().into()
}

/// A value of SQLite as part of an array. The flag is `j` for what is JSON already, and `n` for a
/// fraction, of which NULL means "not a number".
pub(super) fn json_of(value: ValueRef<'_>, flag: char) -> Result<Json> {
    Ok(match value {
        ValueRef::Null if flag == 'n' => return Err(no_nan()),
        ValueRef::Null => Json::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => Number::from_f64(number).map(Json::Number).ok_or_else(|| {
            wrong("an infinite number cannot stand in an array; `--engine clickhouse` has it")
        })?,
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            if flag == 'j' {
                serde_json::from_str(&text).map_err(|_| wrong("an array is damaged"))?
            } else {
                text.into_owned().into()
            }
        }
    })
}

/// A part of an array as a value of SQLite.
pub(super) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => truth(*value),
        Json::Number(number) => match number.as_i64() {
            Some(number) => Value::Integer(number),
            None => number.as_f64().map_or(Value::Null, Value::Real),
        },
        Json::String(text) => text.clone().into(),
        other => other.to_string().into(),
    }
}

/// The place from 1; a negative one counts from the end.
fn at(items: &[Json], place: i64) -> Option<&Json> {
    let length = i64::try_from(items.len()).ok()?;
    let at = if place < 0 { length.checked_add(place)? } else { place.checked_sub(1)? };
    items.get(usize::try_from(at).ok()?)
}

fn item(a: &Arguments<'_>) -> Result<Json> {
    json_of(a.value(2), a.text(1).unwrap_or_default().chars().next().unwrap_or('v'))
}

fn part_of_pairs(a: &Arguments<'_>, part: usize) -> Result<Value> {
    let pairs = read(a, 0)?;
    Ok(text(&pairs.iter().filter_map(|pair| pair.get(part).cloned()).collect::<Vec<_>>()))
}

fn changed(a: &Arguments<'_>, change: impl FnOnce(&mut Vec<Json>)) -> Result<Value> {
    let mut items = read(a, 0)?;
    change(&mut items);
    Ok(text(&items))
}

fn distinct(items: Vec<Json>) -> Vec<Json> {
    let mut seen = std::collections::HashSet::new();
    items.into_iter().filter(|item| seen.insert(item.to_string())).collect()
}

/// Numbers by size, texts by bytes, NULLs last.
fn order(one: &Json, other: &Json) -> Ordering {
    match (one, other) {
        (Json::Number(one), Json::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one.as_f64().unwrap_or(0.0).total_cmp(&other.as_f64().unwrap_or(0.0)),
        },
        (Json::String(one), Json::String(other)) => one.cmp(other),
        (one, other) => one.is_null().cmp(&other.is_null()),
    }
}

fn slice(a: &Arguments<'_>) -> Result<Value> {
    let items = read(a, 0)?;
    let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let Some(offset) = a.whole(1) else { return Ok(Value::Null) };
    let start = if offset < 0 { size.saturating_add(offset) } else { offset.saturating_sub(1) };
    let end = match (a.len() > 2).then(|| a.whole(2)).flatten() {
        None => size,
        Some(length) if length < 0 => size.saturating_add(length),
        Some(length) => start.saturating_add(length),
    };
    if offset == 0 {
        return Ok(text(&[]));
    }
    let clamp = |at: i64| usize::try_from(at.clamp(0, size)).unwrap_or(0);
    Ok(text(items.get(clamp(start)..clamp(end)).unwrap_or_default()))
}

fn fold(a: &Arguments<'_>) -> Result<Value> {
    let items = read(a, 1)?;
    let name = a.text(0).unwrap_or_default();
    let wholes: Option<Vec<i64>> = items.iter().map(Json::as_i64).collect();
    let fractions = || items.iter().filter_map(Json::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "as in ClickHouse")]
    let length = items.len() as f64;
    Ok(match (&*name, wholes) {
        ("avg", _) => {
            let mean = fractions().sum::<f64>() / length;
            if mean.is_nan() { Value::Null } else { Value::Real(mean) }
        }
        (_, _) if items.is_empty() => Value::Null,
        ("sum", Some(wholes)) => {
            let sum = wholes.iter().try_fold(0_i64, |sum, number| sum.checked_add(*number));
            Value::Integer(sum.ok_or_else(too_large)?)
        }
        ("min", Some(wholes)) => wholes.into_iter().min().map_or(Value::Null, Value::Integer),
        ("max", Some(wholes)) => wholes.into_iter().max().map_or(Value::Null, Value::Integer),
        ("sum", None) => Value::Real(fractions().sum()),
        ("min", None) => Value::Real(fractions().fold(f64::INFINITY, f64::min)),
        (_, None) => Value::Real(fractions().fold(f64::NEG_INFINITY, f64::max)),
        (_, Some(_)) => Value::Null,
    })
}

/// The type of the elements, the array, and what stands between them. NULLs are left out.
fn string_concat(a: &Arguments<'_>) -> Result<Value> {
    let ty = a.text(0).and_then(|ty| Type::read(&ty)).unwrap_or(Type::String);
    let items = read(a, 1)?;
    let Some(between) = a.text(2) else { return Ok(Value::Null) };
    let items = items.iter().filter(|item| !item.is_null());
    let parts = items.filter_map(|item| crate::format::Value::of_json(item, &ty));
    let parts: Vec<String> = parts.map(|part| part.text().into_owned()).collect();
    Ok(parts.join(&between).into())
}

fn range(a: &Arguments<'_>) -> Result<Value> {
    let number = |at| a.whole(at).unwrap_or_default();
    let (start, end, step) = match a.len() {
        1 => (0, number(0), 1),
        2 => (number(0), number(1), 1),
        _ => (number(0), number(1), number(2)),
    };
    if step == 0 {
        return Err(wrong("`range` takes a step that is not 0"));
    }
    if (end.saturating_sub(start) / step) > MAX_RANGE {
        return Err(wrong("the array is too long"));
    }
    let mut items = Vec::new();
    let mut next = start;
    while if step > 0 { next < end } else { next > end } {
        items.push(Json::from(next));
        next = next.saturating_add(step);
    }
    Ok(text(&items))
}

/// Whole numbers as fractions, where the type has those.
fn with_fractions(json: Json, ty: &Type) -> Json {
    match (json, ty.plain()) {
        (Json::Number(number), Type::Float) => {
            number.as_f64().and_then(Number::from_f64).map_or(Json::Null, Json::Number)
        }
        (Json::Array(items), Type::Array(element)) => {
            items.into_iter().map(|item| with_fractions(item, element)).collect()
        }
        (Json::Array(items), Type::Tuple(types)) => {
            items.into_iter().zip(types).map(|(item, ty)| with_fractions(item, ty)).collect()
        }
        (other, _) => other,
    }
}
