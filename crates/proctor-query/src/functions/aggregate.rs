//! Functions of many rows.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use rusqlite::functions::{Aggregate, Context};
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, Result};
use serde_json::Value as Json;

use super::{FLAGS, array, no_nan, number, owned, wrong};

/// The most that the arrays and numbers of one call keep, in bytes.
const MAX_KEPT_BYTES: usize = 64 << 20;

pub(super) fn register(connection: &Connection) -> Result<()> {
    connection.create_aggregate_function("ch_any", -1, FLAGS, Pick::First)?;
    connection.create_aggregate_function("ch_any_last", -1, FLAGS, Pick::Last)?;
    connection.create_aggregate_function("ch_arg_min", 3, FLAGS, Pick::AtLeast)?;
    connection.create_aggregate_function("ch_arg_max", 3, FLAGS, Pick::AtMost)?;
    connection.create_aggregate_function("ch_only", 1, FLAGS, Only { is_number: false })?;
    connection.create_aggregate_function("ch_only_number", 1, FLAGS, Only { is_number: true })?;
    connection.create_aggregate_function(
        "ch_sum",
        1,
        FLAGS,
        Mean { is_mean: false, poison: true },
    )?;
    connection.create_aggregate_function(
        "ch_avg",
        1,
        FLAGS,
        Mean { is_mean: true, poison: false },
    )?;
    let mean = Mean { is_mean: true, poison: true };
    connection.create_aggregate_function("ch_avg_number", 1, FLAGS, mean)?;
    for (name, is_exact, is_many) in [
        ("ch_quantile", false, false),
        ("ch_quantiles", false, true),
        ("ch_quantile_exact", true, false),
        ("ch_quantiles_exact", true, true),
    ] {
        connection.create_aggregate_function(name, 2, FLAGS, Quantile { is_exact, is_many })?;
    }
    connection.create_aggregate_function("ch_moments", 1, FLAGS, Moments)?;
    connection.create_aggregate_function("ch_pairs", 2, FLAGS, Moments)?;
    connection.create_scalar_function("ch_moment", 2, FLAGS, |context| Ok(moment(context)))?;
    connection.create_aggregate_function("ch_group_array", 3, FLAGS, Group { is_unique: false })?;
    connection.create_aggregate_function("ch_group_uniq_array", 3, FLAGS, Group { is_unique: true })
}

/// One value out of many. NULLs take no part.
enum Pick {
    First,
    Last,
    AtLeast,
    AtMost,
}

/// The value that is picked so far, and what it was picked for.
type Picked = Option<(Value, Value)>;

impl Aggregate<Picked, Value> for Pick {
    fn init(&self, _: &mut Context<'_>) -> Result<Picked> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, picked: &mut Picked) -> Result<()> {
        let value = context.get_raw(0);
        if matches!(self, Self::First | Self::Last) {
            // With another argument NULL is "not a number", and counts.
            let counts = value != ValueRef::Null || context.len() > 1;
            if counts && (picked.is_none() || matches!(self, Self::Last)) {
                *picked = Some((owned(value), Value::Null));
            }
            return Ok(());
        }
        let by = context.get_raw(1);
        // Which of the two may be "not a number".
        let flags = super::text_of(context.get_raw(2)).unwrap_or_default();
        if by == ValueRef::Null {
            return if flags.contains('b') { Err(no_nan()) } else { Ok(()) };
        }
        if value == ValueRef::Null && !flags.contains('v') {
            return Ok(());
        }
        let wanted = if matches!(self, Self::AtLeast) { Ordering::Less } else { Ordering::Greater };
        if picked.as_ref().is_none_or(|(_, best)| compare(by, best.into()) == wanted) {
            *picked = Some((owned(value), owned(by)));
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, picked: Option<Picked>) -> Result<Value> {
        Ok(picked.flatten().map_or(Value::Null, |(value, _)| value))
    }
}

/// Numbers by size, text by bytes.
fn compare(one: ValueRef<'_>, other: ValueRef<'_>) -> Ordering {
    let bytes = |value: &ValueRef<'_>| match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    };
    match (one, other) {
        (ValueRef::Integer(one), ValueRef::Integer(other)) => one.cmp(&other),
        (ValueRef::Integer(_) | ValueRef::Real(_), ValueRef::Integer(_) | ValueRef::Real(_)) => {
            let one = number::float(one).unwrap_or(f64::NAN);
            one.total_cmp(&number::float(other).unwrap_or(f64::NAN))
        }
        (one, other) => bytes(&one).cmp(&bytes(&other)),
    }
}

/// The value of a subquery that stands as a value: there may be one row, or none.
struct Only {
    /// Whether NULL would be "not a number".
    is_number: bool,
}

impl Aggregate<Option<Value>, Value> for Only {
    fn init(&self, _: &mut Context<'_>) -> Result<Option<Value>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, kept: &mut Option<Value>) -> Result<()> {
        if kept.is_some() {
            return Err(wrong("a subquery that stands as a value has more than one row"));
        }
        let value = context.get_raw(0);
        if self.is_number && value == ValueRef::Null {
            return Err(no_nan());
        }
        *kept = Some(owned(value));
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, kept: Option<Option<Value>>) -> Result<Value> {
        Ok(kept.flatten().unwrap_or(Value::Null))
    }
}

/// The sum or the mean.
struct Mean {
    is_mean: bool,
    /// Whether NULL is "not a number", of which the sum is none either.
    poison: bool,
}

#[derive(Default)]
struct Sum {
    whole: i128,
    float: f64,
    rows: u64,
}

impl Aggregate<Sum, Value> for Mean {
    fn init(&self, _: &mut Context<'_>) -> Result<Sum> {
        Ok(Sum::default())
    }

    fn step(&self, context: &mut Context<'_>, sum: &mut Sum) -> Result<()> {
        match context.get_raw(0) {
            ValueRef::Integer(number) => sum.whole += i128::from(number),
            ValueRef::Real(number) => sum.float += number,
            _ if self.poison => sum.float = f64::NAN,
            _ => return Ok(()),
        }
        sum.rows += 1;
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "as in ClickHouse")]
    fn finalize(&self, _: &mut Context<'_>, sum: Option<Sum>) -> Result<Value> {
        let Sum { whole, float, rows } = sum.unwrap_or_default();
        if rows == 0 {
            return Ok(Value::Null);
        }
        let total = if whole == 0 { float } else { whole as f64 + float };
        Ok(Value::Real(if self.is_mean { total / rows as f64 } else { total }))
    }
}

/// Quantiles at the levels of the second argument.
struct Quantile {
    /// A value that is there, rather than one between two.
    is_exact: bool,
    /// An array of several.
    is_many: bool,
}

/// The numbers, and which quantiles of them are asked for.
#[derive(Default)]
struct Numbers {
    all: Vec<f64>,
    has_fractions: bool,
    levels: Vec<f64>,
}

impl Aggregate<Numbers, Value> for Quantile {
    fn init(&self, _: &mut Context<'_>) -> Result<Numbers> {
        Ok(Numbers::default())
    }

    fn step(&self, context: &mut Context<'_>, kept: &mut Numbers) -> Result<()> {
        if kept.levels.is_empty() {
            kept.levels = levels(context.get_raw(1));
        }
        kept.has_fractions |= matches!(context.get_raw(0), ValueRef::Real(_));
        kept.all.extend(number::float(context.get_raw(0)));
        if kept.all.len() > MAX_KEPT_BYTES / 8 {
            return Err(wrong("a quantile of too many numbers"));
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, kept: Option<Numbers>) -> Result<Value> {
        let Numbers { all: mut numbers, has_fractions, levels } = kept.unwrap_or_default();
        numbers.sort_by(f64::total_cmp);
        let at = |level: f64| {
            if self.is_exact { exact(&numbers, level) } else { between(&numbers, level) }
        };
        #[expect(clippy::cast_possible_truncation, reason = "they were whole")]
        let value = |number: f64| {
            if self.is_exact && !has_fractions {
                Value::Integer(number as i64)
            } else {
                Value::Real(number)
            }
        };
        if !self.is_many {
            let level = levels.first().copied().unwrap_or(0.5);
            return Ok(at(level).map_or(Value::Null, value));
        }
        let found: Option<Vec<f64>> = levels.iter().map(|level| at(*level)).collect();
        let found = found.filter(|found| !found.is_empty()).ok_or_else(no_nan)?;
        let items = found.into_iter().map(|number| array::json_of((&value(number)).into(), 'v'));
        Ok(array::text(&items.collect::<Result<Vec<Json>>>()?))
    }
}

fn levels(value: ValueRef<'_>) -> Vec<f64> {
    super::text_of(value).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place among rows"
)]
fn between(numbers: &[f64], level: f64) -> Option<f64> {
    let last = numbers.len().checked_sub(1)?;
    let place = (level * last as f64).clamp(0.0, last as f64);
    let below = place as usize;
    let above = below + 1;
    let low = numbers.get(below).copied()?;
    // As ClickHouse reckons, so that the last digit is the same.
    Some(match numbers.get(above) {
        Some(high) => low * (above as f64 - place) + high * (place - below as f64),
        None => low,
    })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place among rows"
)]
fn exact(numbers: &[f64], level: f64) -> Option<f64> {
    let last = numbers.len().checked_sub(1)?;
    let place = if level < 1.0 { (level * numbers.len() as f64) as usize } else { last };
    numbers.get(place.min(last)).copied()
}

/// What variances and correlations are made of, as an array: the number of rows, and the sums of
/// both numbers, of their squares and of their product.
struct Moments;

impl Aggregate<[f64; 6], Value> for Moments {
    fn init(&self, _: &mut Context<'_>) -> Result<[f64; 6]> {
        Ok([0.0; 6])
    }

    fn step(&self, context: &mut Context<'_>, sums: &mut [f64; 6]) -> Result<()> {
        let one = number::float(context.get_raw(0));
        let other = if context.len() > 1 { number::float(context.get_raw(1)) } else { one };
        let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
        let more = [1.0, one, other, one * one, other * other, one * other];
        for (sum, more) in sums.iter_mut().zip(more) {
            *sum += more;
        }
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sums: Option<[f64; 6]>) -> Result<Value> {
        Ok(sums.map_or(Value::Null, |sums| array::text(&sums.map(Json::from))))
    }
}

/// The name of a moment, and what [`Moments`] has made. Reckoned as ClickHouse does, so that the
/// last digit is the same.
fn moment(context: &Context<'_>) -> Value {
    let sums = super::text_of(context.get_raw(1)).unwrap_or_default();
    let sums: Vec<f64> = serde_json::from_str(&sums).unwrap_or_default();
    let [n, x, y, xx, yy, xy] = sums.as_slice() else { return Value::Null };
    let square = (xx - x * x / n).max(0.0);
    let product = xy - x * y / n;
    let name = super::text_of(context.get_raw(0)).unwrap_or_default();
    Value::Real(match &*name {
        _ if *n == 0.0 => f64::NAN,
        "varPop" => square / n,
        "stddevPop" => (square / n).sqrt(),
        "covarPop" => product / n,
        "varSamp" | "stddevSamp" | "covarSamp" if *n <= 1.0 => f64::NAN,
        "varSamp" => square / (n - 1.0),
        "stddevSamp" => (square / (n - 1.0)).sqrt(),
        "covarSamp" => product / (n - 1.0),
        _ => (n * xy - x * y) / ((n * xx - x * x) * (n * yy - y * y)).sqrt(),
    })
}

/// All values, or all different ones.
struct Group {
    is_unique: bool,
}

#[derive(Default)]
struct Grouped {
    items: Vec<Json>,
    seen: BTreeSet<String>,
    bytes: usize,
}

impl Aggregate<Grouped, Value> for Group {
    fn init(&self, _: &mut Context<'_>) -> Result<Grouped> {
        Ok(Grouped::default())
    }

    fn step(&self, context: &mut Context<'_>, kept: &mut Grouped) -> Result<()> {
        let value = context.get_raw(0);
        let flag = super::text_of(context.get_raw(1)).unwrap_or_default();
        let flag = flag.chars().next().unwrap_or('v');
        if value == ValueRef::Null && flag != 'n' {
            return Ok(());
        }
        let most = number::whole(context.get_raw(2)).and_then(|most| usize::try_from(most).ok());
        if most.is_some_and(|most| kept.items.len() >= most) {
            return Ok(());
        }
        let item = array::json_of(value, flag)?;
        if self.is_unique && !kept.seen.insert(item.to_string()) {
            return Ok(());
        }
        kept.bytes += match value {
            ValueRef::Text(text) | ValueRef::Blob(text) => text.len() + 32,
            _ => 32,
        };
        if kept.bytes > MAX_KEPT_BYTES {
            return Err(wrong("an array of too many values"));
        }
        kept.items.push(item);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, kept: Option<Grouped>) -> Result<Value> {
        Ok(array::text(&kept.unwrap_or_default().items))
    }
}
