//! Numbers.

use rusqlite::Result;
use rusqlite::types::{Value, ValueRef};

use super::{Arguments, Functions, no_nan, owned, too_large, truth, wrong};

pub(super) const FUNCTIONS: Functions = &[
    ("ch_identity", 1, |a| Ok(owned(a.value(0)))),
    ("ch_arithmetic", 4, arithmetic),
    ("ch_divide", -1, |a| fraction(a, 2, |x, y| x / y)),
    ("ch_modulo_fraction", -1, |a| fraction(a, 2, |x, y| x % y)),
    ("ch_pow", -1, |a| fraction(a, 2, f64::powf)),
    ("ch_sqrt", -1, |a| fraction(a, 1, |x, _| x.sqrt())),
    ("ch_exp", -1, |a| fraction(a, 1, |x, _| x.exp())),
    ("ch_log", -1, |a| fraction(a, 1, |x, _| x.ln())),
    ("ch_log2", -1, |a| fraction(a, 1, |x, _| x.log2())),
    ("ch_log10", -1, |a| fraction(a, 1, |x, _| x.log10())),
    ("ch_int_div", 2, |a| divided(a, i64::checked_div)),
    ("ch_modulo", 2, |a| divided(a, i64::checked_rem)),
    ("ch_abs", 1, |a| {
        Ok(match a.value(0) {
            ValueRef::Integer(number) => {
                Value::Integer(number.checked_abs().ok_or_else(too_large)?)
            }
            ValueRef::Real(number) => Value::Real(number.abs()),
            _ => Value::Null,
        })
    }),
    ("ch_sign", 1, |a| {
        Ok(match a.float(0) {
            Some(number) => Value::Integer(i64::from(number > 0.0) - i64::from(number < 0.0)),
            None => Value::Null,
        })
    }),
    ("ch_round", 2, |a| {
        rounded(a, f64::round_ties_even, |rest, unit| {
            // Halves of whole numbers go away from zero.
            if rest * 2 >= unit { unit } else { 0 }
        })
    }),
    ("ch_floor", 2, |a| rounded(a, f64::floor, |_, _| 0)),
    ("ch_ceil", 2, |a| rounded(a, f64::ceil, |rest, unit| if rest == 0 { 0 } else { unit })),
    ("ch_number", 1, |a| if a.is_null(0) { Err(no_nan()) } else { Ok(owned(a.value(0))) }),
    ("ch_not_null", 1, |a| {
        if a.is_null(0) {
            Err(wrong("NULL cannot be cast to a type without NULL"))
        } else {
            Ok(owned(a.value(0)))
        }
    }),
    ("ch_is_finite", 1, |a| Ok(truth(a.float(0).is_some_and(f64::is_finite)))),
];

/// A whole number: fractions are cut.
pub(super) fn whole(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(number) => Some(number),
        #[expect(clippy::cast_possible_truncation, reason = "fractions are cut")]
        ValueRef::Real(number) => number.is_finite().then_some(number as i64),
        _ => None,
    }
}

pub(super) fn float(value: ValueRef<'_>) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "as in ClickHouse")]
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        _ => None,
    }
}

/// The operator, whether what comes of it has a sign, and the two sides. What has a sign goes round
/// at its ends, as in ClickHouse; so does what has none, but this engine has no room for the upper
/// half of it.
fn arithmetic(a: &Arguments<'_>) -> Result<Value> {
    let (Some(one), Some(other)) = (a.whole(2), a.whole(3)) else { return Ok(Value::Null) };
    let (wrapped, exact) = match a.text(0).as_deref() {
        Some("+") => (one.wrapping_add(other), one.checked_add(other)),
        Some("-") => (one.wrapping_sub(other), one.checked_sub(other)),
        _ => (one.wrapping_mul(other), one.checked_mul(other)),
    };
    if a.whole(1) == Some(1) {
        return Ok(Value::Integer(wrapped));
    }
    exact.map(Value::Integer).ok_or_else(too_large)
}

/// A function of one or two numbers; a further argument says that NULL may be among them.
fn fraction(a: &Arguments<'_>, numbers: usize, make: impl Fn(f64, f64) -> f64) -> Result<Value> {
    let (Some(one), other) = (a.float(0), a.float(1)) else { return Ok(Value::Null) };
    if numbers == 2 && other.is_none() {
        return Ok(Value::Null);
    }
    let made = make(one, other.unwrap_or_default());
    if made.is_nan() && a.len() > numbers {
        return Err(no_nan());
    }
    Ok(Value::Real(made))
}

fn divided(a: &Arguments<'_>, make: impl Fn(i64, i64) -> Option<i64>) -> Result<Value> {
    match (a.whole(0), a.whole(1)) {
        (Some(_), Some(0)) => Err(wrong("division by zero")),
        (Some(one), Some(other)) => make(one, other).map(Value::Integer).ok_or_else(too_large),
        _ => Ok(Value::Null),
    }
}

/// A number with so many digits after the point; before it when there are fewer than none.
fn rounded(a: &Arguments<'_>, fraction: fn(f64) -> f64, up: fn(i64, i64) -> i64) -> Result<Value> {
    let digits = i32::try_from(a.whole(1).unwrap_or(0)).unwrap_or(0).clamp(-18, 18);
    match a.value(0) {
        ValueRef::Integer(number) if digits < 0 => {
            let unit = 10_i64.pow(digits.unsigned_abs());
            // Towards zero for `round`, down for the others: both are symmetric here but for signs.
            let rest = number.rem_euclid(unit);
            let below = number - rest;
            let up = if number < 0 && rest * 2 == unit { 0 } else { up(rest, unit) };
            below.checked_add(up).map(Value::Integer).ok_or_else(too_large)
        }
        ValueRef::Integer(number) => Ok(Value::Integer(number)),
        ValueRef::Real(number) => Ok(Value::Real(if digits >= 0 {
            let scale = 10_f64.powi(digits);
            let scaled = fraction(number * scale) / scale;
            if scaled.is_finite() { scaled } else { number }
        } else {
            let scale = 10_f64.powi(-digits);
            fraction(number / scale) * scale
        })),
        _ => Ok(Value::Null),
    }
}
