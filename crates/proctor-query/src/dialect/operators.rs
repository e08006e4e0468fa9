//! What operators mean for the types on their two sides.

use sqlparser::ast::BinaryOperator;
use sqlparser::tokenizer::Span;

use super::DialectError;
use super::typed::{Typed, call, default_of, flag, or_default, quoted, unsupported, wrong};
use crate::functions::convert;
use crate::types::Type;

type Result = std::result::Result<Typed, DialectError>;

fn truth(one: &Typed, other: &Typed) -> Type {
    Type::TRUTH.nullable_if(one.ty.is_nullable() || other.ty.is_nullable())
}

/// `one op other`.
pub(super) fn binary(one: &Typed, op: &BinaryOperator, other: &Typed, span: Span) -> Result {
    use BinaryOperator as Op;
    match op {
        Op::Plus | Op::Minus | Op::Multiply => arithmetic(one, op, other, span),
        Op::Divide => divide(one, other, span),
        Op::Modulo => modulo(one, other, span),
        Op::And | Op::Or | Op::Xor => logic(one, op, other),
        Op::Eq | Op::NotEq | Op::Lt | Op::LtEq | Op::Gt | Op::GtEq => compare(one, op, other, span),
        Op::StringConcat => Ok(concat(&[one.clone(), other.clone()], span)),
        Op::Spaceship => distinct(one, other, true),
        other => Err(unsupported(format!("the operator `{other}`"), span)),
    }
}

/// Texts after each other; anything else as `toString` gives it.
pub(super) fn concat(parts: &[Typed], span: Span) -> Typed {
    if parts.iter().any(Typed::is_null) {
        return Typed::null(span);
    }
    let is_nullable = parts.iter().any(|part| part.ty.is_nullable());
    let texts: Vec<String> = parts.iter().map(text_of).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Typed::new(call("ch_concat", &texts), Type::String.nullable_if(is_nullable), span)
}

/// SQL for the text of a value: `toString`.
pub(super) fn text_of(value: &Typed) -> String {
    match value.ty.plain() {
        Type::String | Type::Nothing => value.sql.clone(),
        _ if value.may_be_nan() => {
            format!("coalesce(ch_text('Float64', {}), 'nan')", value.sql)
        }
        plain => format!("ch_text({}, {})", quoted(&plain.to_string()), value.sql),
    }
}

fn bits(ty: &Type) -> (u8, bool) {
    match ty {
        Type::UInt(bits) => (*bits, false),
        Type::Int(bits) => (*bits, true),
        _ => (8, false),
    }
}

fn mismatch(one: &Typed, other: &Typed, name: &str, span: Span) -> DialectError {
    wrong(format!("`{name}` of {} and {}", one.ty, other.ty), span)
}

fn arithmetic(one: &Typed, op: &BinaryOperator, other: &Typed, span: Span) -> Result {
    let is_nullable = one.ty.is_nullable() || other.ty.is_nullable();
    let (left, right) = (one.ty.plain(), other.ty.plain());
    if one.is_null() || other.is_null() {
        return Ok(Typed::null(span));
    }
    if left.is_time() || right.is_time() {
        return time_arithmetic(one, op, other, span);
    }
    if !left.is_number() || !right.is_number() {
        return Err(mismatch(one, other, &op.to_string(), span));
    }
    let sql = format!("({} {op} {})", one.sql, other.sql);
    if *left == Type::Float || *right == Type::Float {
        let sql =
            format!("({} {op} {})", one.to(&float_like(one)).sql, other.to(&float_like(other)).sql);
        return Ok(Typed::new(sql, Type::Float.nullable_if(is_nullable), span));
    }
    let ((left, left_signed), (right, right_signed)) = (bits(left), bits(right));
    let size = left.max(right).saturating_mul(2).min(64);
    let is_signed = left_signed || right_signed || *op == BinaryOperator::Minus;
    let ty = if is_signed { Type::Int(size) } else { Type::UInt(size) };
    let sql = if size < 64 {
        sql
    } else {
        // 64 bits can be left: SQLite would go over to fractions.
        let signed = if is_signed { "1" } else { "0" };
        call("ch_arithmetic", &[&format!("'{op}'"), signed, &one.sql, &other.sql])
    };
    Ok(Typed::new(sql, ty.nullable_if(is_nullable), span))
}

fn float_like(value: &Typed) -> Type {
    Type::Float.nullable_if(value.ty.is_nullable())
}

fn time_arithmetic(one: &Typed, op: &BinaryOperator, other: &Typed, span: Span) -> Result {
    let is_nullable = one.ty.is_nullable() || other.ty.is_nullable();
    let sql = |one: &str, other: &str| format!("({one} {op} {other})");
    match (one.ty.plain(), op, other.ty.plain()) {
        (Type::Date, BinaryOperator::Minus, Type::Date)
        | (Type::DateTime, BinaryOperator::Minus, Type::DateTime) => {
            Ok(Typed::new(sql(&one.sql, &other.sql), Type::Int(32).nullable_if(is_nullable), span))
        }
        (time @ (Type::Date | Type::DateTime), BinaryOperator::Plus | BinaryOperator::Minus, n)
            if n.is_whole() =>
        {
            Ok(Typed::new(sql(&one.sql, &other.sql), time.clone().nullable_if(is_nullable), span))
        }
        (Type::DateTime64(digits), BinaryOperator::Plus | BinaryOperator::Minus, n)
            if n.is_whole() =>
        {
            let ticks = format!("({} * {})", other.sql, 10_i64.pow((*digits).into()));
            let ty = Type::DateTime64(*digits).nullable_if(is_nullable);
            Ok(Typed::new(sql(&one.sql, &ticks), ty, span))
        }
        (Type::DateTime64(_), BinaryOperator::Minus, _) => Err(unsupported(
            "the difference of two DateTime64, which is a Decimal (`dateDiff` gives a whole number)",
            span,
        )),
        _ => Err(mismatch(one, other, &op.to_string(), span)),
    }
}

fn divide(one: &Typed, other: &Typed, span: Span) -> Result {
    if one.is_null() || other.is_null() {
        return Ok(Typed::null(span));
    }
    if !one.ty.plain().is_number() || !other.ty.plain().is_number() {
        return Err(mismatch(one, other, "/", span));
    }
    Ok(fraction("ch_divide", &[one, other], span))
}

/// A function that gives a fraction, and "not a number" at times. That is NULL here, so that it
/// cannot be where NULL means something else.
pub(super) fn fraction(name: &str, arguments: &[&Typed], span: Span) -> Typed {
    let is_nullable = arguments.iter().any(|argument| argument.ty.is_nullable());
    let mut sql: Vec<&str> = arguments.iter().map(|argument| argument.sql.as_str()).collect();
    if is_nullable {
        sql.push("1");
    }
    Typed::new(call(name, &sql), Type::Float.nullable_if(is_nullable), span)
}

pub(super) fn int_div(one: &Typed, other: &Typed, span: Span) -> Result {
    if one.is_null() || other.is_null() {
        return Ok(Typed::null(span));
    }
    let (left, right) = (one.ty.plain(), other.ty.plain());
    if !left.is_number() || !right.is_number() {
        return Err(mismatch(one, other, "intDiv", span));
    }
    let ty = if *left == Type::Float || *right == Type::Float {
        Type::Int(64)
    } else {
        let ((size, left_signed), (_, right_signed)) = (bits(left), bits(right));
        if left_signed || right_signed { Type::Int(size) } else { Type::UInt(size) }
    };
    let is_nullable = one.ty.is_nullable() || other.ty.is_nullable();
    Ok(Typed::new(call("ch_int_div", &[&one.sql, &other.sql]), ty.nullable_if(is_nullable), span))
}

pub(super) fn modulo(one: &Typed, other: &Typed, span: Span) -> Result {
    if one.is_null() || other.is_null() {
        return Ok(Typed::null(span));
    }
    let (left, right) = (one.ty.plain(), other.ty.plain());
    if !left.is_number() || !right.is_number() {
        return Err(mismatch(one, other, "%", span));
    }
    if *left == Type::Float || *right == Type::Float {
        return Ok(fraction("ch_modulo_fraction", &[one, other], span));
    }
    let ((_, left_signed), (size, _)) = (bits(left), bits(right));
    let ty = if left_signed { Type::Int(size.saturating_mul(2).min(64)) } else { Type::UInt(size) };
    let is_nullable = one.ty.is_nullable() || other.ty.is_nullable();
    Ok(Typed::new(call("ch_modulo", &[&one.sql, &other.sql]), ty.nullable_if(is_nullable), span))
}

/// What can be asked for truth.
pub(super) fn condition(value: &Typed) -> Result {
    if value.ty.plain().is_number() || value.is_null() {
        // Not a number is true in ClickHouse, and NULL is not.
        let sql = if value.may_be_nan() {
            format!("coalesce({}, 1)", value.sql)
        } else {
            value.sql.clone()
        };
        return Ok(Typed { sql, ..value.clone() });
    }
    Err(wrong(format!("a condition is a number and not {}", value.ty), value.span))
}

fn logical(value: &Typed) -> std::result::Result<(), DialectError> {
    if value.ty.plain().is_whole() || value.is_null() {
        return Ok(());
    }
    Err(wrong(format!("AND, OR, XOR and NOT take whole numbers and not {}", value.ty), value.span))
}

fn logic(one: &Typed, op: &BinaryOperator, other: &Typed) -> Result {
    logical(one)?;
    logical(other)?;
    let is_bool = *one.ty.plain() == Type::Bool && *other.ty.plain() == Type::Bool;
    let ty = if is_bool { Type::Bool } else { Type::TRUTH };
    let is_nullable = one.ty.is_nullable() || other.ty.is_nullable();
    let (left, right) = (&one.sql, &other.sql);
    let sql = match op {
        BinaryOperator::Xor => format!("(({left} <> 0) <> ({right} <> 0))"),
        op => format!("({left} {op} {right})"),
    };
    Ok(Typed::new(sql, ty.nullable_if(is_nullable), one.span))
}

pub(super) fn not(value: &Typed) -> Result {
    if value.is_null() {
        return Ok(value.clone());
    }
    logical(value)?;
    let ty = if *value.ty.plain() == Type::Bool { Type::Bool } else { Type::TRUTH };
    let ty = ty.nullable_if(value.ty.is_nullable());
    Ok(Typed::new(format!("(NOT {})", value.sql), ty, value.span))
}

pub(super) fn negate(value: &Typed) -> Result {
    if value.is_null() {
        return Ok(value.clone());
    }
    let ty = match value.ty.plain() {
        Type::Float => Type::Float,
        Type::Int(bits) => Type::Int(*bits),
        Type::UInt(bits) => Type::Int(bits.saturating_mul(2).min(64)),
        Type::Bool => Type::Int(16),
        other => return Err(wrong(format!("`-` of {other}"), value.span)),
    };
    let sql = if ty == Type::Int(64) {
        call("ch_arithmetic", &["'-'", "1", "0", &value.sql])
    } else {
        format!("(- {})", value.sql)
    };
    Ok(Typed::new(sql, ty.nullable_if(value.ty.is_nullable()), value.span))
}

/// Two sides that SQLite can compare: a text that is written beside something else is read as that.
pub(super) fn comparable(
    one: &Typed,
    other: &Typed,
    span: Span,
) -> std::result::Result<(Typed, Typed), DialectError> {
    let (left, right) = (one.ty.plain(), other.ty.plain());
    let no = || {
        let hint = match (left, right) {
            (Type::String, ty) | (ty, Type::String) if ty.is_number() => {
                " (`toString` or `toInt64OrNull` make them alike)"
            }
            _ => "",
        };
        wrong(format!("{left} and {right} cannot be compared{hint}"), span)
    };
    if let (Some(text), true) = (other.constant_text(), *left != Type::String) {
        return Ok((one.clone(), read_constant(text, left, other.span).ok_or_else(no)?));
    }
    if let (Some(text), true) = (one.constant_text(), *right != Type::String) {
        return Ok((read_constant(text, right, one.span).ok_or_else(no)?, other.clone()));
    }
    if left.is_number() && right.is_number() {
        return Ok((one.clone(), other.clone()));
    }
    if left.is_time() != right.is_time() {
        // A `DateTime` is a number of seconds to ClickHouse, too.
        let is_seconds = |ty: &Type, other: &Type| *ty == Type::DateTime && other.is_whole();
        if is_seconds(left, right) || is_seconds(right, left) {
            return Ok((one.clone(), other.clone()));
        }
        return Err(no());
    }
    let common = one.ty.common(&other.ty).ok_or_else(no)?;
    Ok((one.to(&common), other.to(&common)))
}

/// A text as a value of another type, while the statement is translated.
pub(super) fn read_constant(text: &str, ty: &Type, span: Span) -> Option<Typed> {
    match ty {
        Type::Float => text.parse().ok().map(|number| Typed::float(number, span)),
        Type::Bool | Type::UInt(_) | Type::Int(_) => {
            convert::read_whole(text, ty).map(|number| Typed::whole(number, span))
        }
        Type::Date | Type::DateTime | Type::DateTime64(_) => {
            let digits = if let Type::DateTime64(digits) = ty { *digits } else { 0 };
            let ticks = convert::read_time(text, digits)?;
            let number =
                if *ty == Type::Date { ticks.div_euclid(crate::calendar::DAY) } else { ticks };
            Some(Typed { ty: ty.clone(), ..Typed::whole(number, span) })
        }
        _ => None,
    }
}

fn compare(one: &Typed, op: &BinaryOperator, other: &Typed, span: Span) -> Result {
    if one.is_null() || other.is_null() {
        return Ok(Typed::null(span));
    }
    let is_tuple = |side: &Typed| matches!(side.ty, Type::Tuple(_));
    if let (Some(left), Some(right)) = (&one.parts, &other.parts)
        && is_tuple(one)
        && is_tuple(other)
    {
        return compare_tuples(left, op, right, span);
    }
    let (left, right) = comparable(one, other, span)?;
    let is_equality = matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
    if !is_equality && (left.ty.is_compound() || right.ty.is_compound()) {
        return Err(unsupported("the order of arrays or tuples", span));
    }
    let sql = format!("({} {op} {})", left.sql, right.sql);
    let sql = if left.may_be_nan() || right.may_be_nan() {
        // Not a number is unequal to everything, and NULL is unknown.
        let answer = i32::from(*op == BinaryOperator::NotEq);
        let unknown: Vec<String> = [&left, &right]
            .into_iter()
            .filter(|side| side.ty.is_nullable())
            .map(|side| format!("{} IS NULL", side.sql))
            .collect();
        let plain = format!("coalesce({sql}, {answer})");
        if unknown.is_empty() {
            plain
        } else {
            format!("iif({}, NULL, {plain})", unknown.join(" OR "))
        }
    } else {
        sql
    };
    Ok(Typed::new(sql, truth(&left, &right), span))
}

fn compare_tuples(left: &[Typed], op: &BinaryOperator, right: &[Typed], span: Span) -> Result {
    if left.len() != right.len() {
        return Err(wrong("tuples of different lengths cannot be compared", span));
    }
    let is_equality = matches!(op, BinaryOperator::Eq | BinaryOperator::NotEq);
    let mut parts = Vec::new();
    for (left, right) in left.iter().zip(right) {
        parts.push(compare(left, &BinaryOperator::Eq, right, span)?);
        if !is_equality && (left.ty.is_nullable() || right.ty.is_nullable() || left.may_be_nan()) {
            return Err(unsupported("the order of tuples with NULL or fractions", span));
        }
    }
    let is_nullable = parts.iter().any(|part| part.ty.is_nullable());
    let ty = Type::TRUTH.nullable_if(is_nullable);
    let sql = if is_equality {
        let all: Vec<&str> = parts.iter().map(|part| part.sql.as_str()).collect();
        let not = if *op == BinaryOperator::NotEq { "NOT " } else { "" };
        format!("({not}({}))", all.join(" AND "))
    } else {
        let mut sides = (Vec::new(), Vec::new());
        for (left, right) in left.iter().zip(right) {
            let (left, right) = comparable(left, right, span)?;
            sides.0.push(left.sql);
            sides.1.push(right.sql);
        }
        format!("(({}) {op} ({}))", sides.0.join(", "), sides.1.join(", "))
    };
    Ok(Typed::new(sql, ty, span))
}

/// `IS [NOT] DISTINCT FROM`: equality to which NULL is a value.
pub(super) fn distinct(one: &Typed, other: &Typed, is_equal: bool) -> Result {
    let (left, right) = comparable(one, other, one.span)?;
    if left.may_be_nan() || right.may_be_nan() {
        return Err(unsupported("IS DISTINCT FROM with fractions", one.span));
    }
    let op = if is_equal { "IS" } else { "IS NOT" };
    Ok(Typed::new(format!("({} {op} {})", left.sql, right.sql), Type::TRUTH, one.span))
}

/// `IS NULL`. Where ClickHouse has no NULL, SQLite's means "not a number".
pub(super) fn is_null(value: &Typed, negated: bool) -> Typed {
    let sql = if value.ty.is_nullable() {
        format!("({} IS {}NULL)", value.sql, if negated { "NOT " } else { "" })
    } else {
        i32::from(negated).to_string()
    };
    Typed::new(sql, Type::TRUTH, value.span)
}

pub(super) fn between(value: &Typed, low: &Typed, high: &Typed, negated: bool) -> Result {
    let (above, below, both) = if negated {
        (BinaryOperator::Lt, BinaryOperator::Gt, BinaryOperator::Or)
    } else {
        (BinaryOperator::GtEq, BinaryOperator::LtEq, BinaryOperator::And)
    };
    let (above, below) =
        (compare(value, &above, low, value.span)?, compare(value, &below, high, value.span)?);
    logic(&above, &both, &below)
}

/// `CASE`, `if`, `multiIf`: the first result whose condition holds.
pub(super) fn choose(cases: &[(Typed, Typed)], otherwise: &Typed, span: Span) -> Result {
    let results = || cases.iter().map(|(_, result)| result).chain([otherwise]);
    let mut ty = otherwise.ty.clone();
    for (_, result) in cases {
        ty = result.ty.common(&ty).ok_or_else(|| {
            unsupported(
                format!("a choice between {} and {ty}, which is a Variant,", result.ty),
                span,
            )
        })?;
    }
    // Not a number and NULL must stay apart.
    if ty.is_nullable() && results().any(Typed::may_be_nan) {
        let checked = |value: &Typed| {
            let sql = if value.may_be_nan() {
                call("ch_number", &[&value.sql])
            } else {
                value.to(&ty).sql
            };
            Typed { sql, ty: ty.clone(), ..value.clone() }
        };
        let cases: Vec<(Typed, Typed)> =
            cases.iter().map(|(condition, result)| (condition.clone(), checked(result))).collect();
        return Ok(written(&cases, &checked(otherwise), &ty, span));
    }
    Ok(written(cases, otherwise, &ty, span))
}

fn written(cases: &[(Typed, Typed)], otherwise: &Typed, ty: &Type, span: Span) -> Typed {
    let mut sql = String::from("(CASE");
    for (condition, result) in cases {
        sql += &format!(" WHEN {} THEN {}", condition.sql, result.to(ty).sql);
    }
    sql += &format!(" ELSE {} END)", otherwise.to(ty).sql);
    Typed::new(sql, ty.clone(), span)
}

pub(super) fn tuple(parts: Vec<Typed>, span: Span) -> Typed {
    let flags: String = parts.iter().map(|part| flag(&part.ty)).collect();
    let values: Vec<&str> = parts.iter().map(|part| part.sql.as_str()).collect();
    let sql = format!("ch_tuple('{flags}', {})", values.join(", "));
    let ty = Type::Tuple(parts.iter().map(|part| part.ty.clone()).collect());
    Typed { parts: Some(parts), ..Typed::new(sql, ty, span) }
}

pub(super) fn array(elements: &[Typed], span: Span) -> Result {
    let mut ty = Type::Nothing;
    for (at, element) in elements.iter().enumerate() {
        ty = if at == 0 {
            element.ty.clone()
        } else {
            ty.common(&element.ty).ok_or_else(|| {
                unsupported(
                    format!("an array of {ty} and {}, which is one of Variant,", element.ty),
                    span,
                )
            })?
        };
    }
    let values: Vec<String> = elements.iter().map(|element| element.to(&ty).sql).collect();
    let sql = if values.is_empty() {
        "'[]'".to_owned()
    } else {
        format!("ch_array('{}', {})", flag(&ty), values.join(", "))
    };
    let parts = Some(elements.to_vec());
    Ok(Typed { parts, ..Typed::new(sql, Type::array(ty), span) })
}

pub(super) fn element(value: &Typed, index: &Typed) -> Result {
    let (ty, sql) = match &value.ty {
        Type::Array(element) if index.ty.plain().is_whole() => {
            (&**element, call("ch_element", &[&value.sql, &index.sql]))
        }
        Type::Map(key, element) if key.common(&index.ty).is_some() => {
            (&**element, call("ch_map_value", &[&value.sql, &index.to(key).sql]))
        }
        Type::Tuple(_) => match index.constant_whole() {
            Some(place) => return tuple_element(value, place, value.span),
            None => {
                return Err(unsupported(
                    "a part of a tuple whose place is not constant",
                    index.span,
                ));
            }
        },
        ty => return Err(wrong(format!("`[]` of {ty} with {}", index.ty), value.span)),
    };
    if index.constant_whole() == Some(0) && matches!(value.ty, Type::Array(_)) {
        return Ok(Typed::new(default_of(ty), ty.clone(), value.span));
    }
    if index.ty.is_nullable() {
        return Err(unsupported("an index that may be NULL", index.span));
    }
    Ok(Typed::new(or_default(&sql, ty), ty.clone(), value.span))
}

pub(super) fn tuple_element(value: &Typed, place: i64, span: Span) -> Result {
    let at = usize::try_from(place).ok().and_then(|place| place.checked_sub(1));
    let Type::Tuple(types) = &value.ty else {
        return Err(wrong(format!("a part of {}, which is no tuple", value.ty), span));
    };
    if let (Some(parts), Some(at)) = (&value.parts, at)
        && let Some(part) = parts.get(at)
    {
        return Ok(part.clone());
    }
    let ty = at.and_then(|at| types.get(at)).ok_or_else(|| wrong("the tuple is shorter", span))?;
    let sql = call("ch_element", &[&value.sql, &place.to_string()]);
    Ok(Typed::new(or_default(&sql, ty), ty.clone(), span))
}

/// `CAST` and `::`.
pub(super) fn cast(value: &Typed, to: &str, span: Span) -> Result {
    let ty = Type::read(to).ok_or_else(|| unsupported(format!("a cast to `{to}`"), span))?;
    if value.is_null() {
        return if ty.is_nullable() {
            Ok(Typed { ty, ..value.clone() })
        } else {
            Err(wrong(format!("NULL cannot be cast to {ty}"), span))
        };
    }
    convert(value, &ty, "ch_cast", span)
}

/// A value as one of another type, by the function `name`.
pub(super) fn convert(value: &Typed, ty: &Type, name: &str, span: Span) -> Result {
    // `toInt64(x)` and `CAST` of what may be NULL give what may be NULL, but not `CAST` to a plain
    // type of a value that is NULL, which fails.
    let ty =
        if name == "ch_cast" { ty.clone() } else { ty.clone().nullable_if(value.ty.is_nullable()) };
    if value.ty.plain() == ty.plain() {
        let sql = match (value.ty.is_nullable(), ty.is_nullable()) {
            (true, false) => call("ch_not_null", &[&value.sql]),
            (false, true) if value.may_be_nan() => call("ch_number", &[&value.sql]),
            _ => value.sql.clone(),
        };
        return Ok(Typed { sql, ty, constant: None, ..value.clone() });
    }
    if value.ty.is_compound() && *ty.plain() != Type::String || ty.is_compound() {
        let is_same = value.ty.common(&ty).is_some_and(|common| common == ty);
        return if is_same {
            Ok(value.to(&ty))
        } else {
            Err(unsupported(format!("a cast of {} to {ty}", value.ty), span))
        };
    }
    if *ty.plain() == Type::String {
        return Ok(Typed::new(text_of(value), ty, span));
    }
    let sql = call(
        "ch_cast",
        &[&quoted(&value.ty.plain().to_string()), &quoted(&ty.plain().to_string()), &value.sql],
    );
    let sql = if value.ty.is_nullable() && !ty.is_nullable() {
        call("ch_not_null", &[&sql])
    } else {
        sql
    };
    Ok(Typed::new(sql, ty, span))
}

/// A time with an interval added or taken off.
pub(super) fn shift(time: &Typed, unit: &str, count: &Typed, sign: i64) -> Result {
    let ty = match (time.ty.plain(), unit) {
        (Type::Date, "day" | "week" | "month" | "quarter" | "year") => Type::Date,
        (Type::Date, "hour" | "minute" | "second") => Type::DateTime,
        (
            ty @ (Type::DateTime | Type::DateTime64(_)),
            "second" | "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year",
        ) => ty.clone(),
        (ty, unit) => {
            return Err(unsupported(format!("{ty} with an interval of `{unit}`"), time.span));
        }
    };
    if !count.ty.plain().is_whole() {
        return Err(wrong(format!("an interval of {}", count.ty), count.span));
    }
    let is_nullable = time.ty.is_nullable() || count.ty.is_nullable();
    let from = time.to(&ty.clone().nullable_if(time.ty.is_nullable()));
    let sql = call(
        "ch_shift",
        &[&quoted(&ty.to_string()), &from.sql, &quoted(unit), &format!("({sign} * {})", count.sql)],
    );
    Ok(Typed::new(sql, ty.nullable_if(is_nullable), time.span))
}
