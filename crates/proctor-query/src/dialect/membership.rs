//! `IN`.

use sqlparser::tokenizer::Span;

use super::operators::comparable;
use super::typed::{Typed, unsupported, wrong};
use super::{DialectError, Inner};
use crate::types::Type;

type Result = std::result::Result<Typed, DialectError>;

/// `value IN (items)`.
pub(super) fn in_list(value: &Typed, items: &[Typed], negated: bool, span: Span) -> Result {
    if value.is_null() {
        return Ok(Typed::null(span));
    }
    if let Some(left) = &value.parts
        && matches!(value.ty, Type::Tuple(_))
    {
        return tuples_in_list(left, items, negated, span);
    }
    if value.ty.is_compound() {
        return Err(unsupported(format!("IN with {}", value.ty), span));
    }
    let mut sides = Vec::new();
    // `x IN [1, 2]` is `x IN (1, 2)`.
    let items: Vec<&Typed> = match items {
        [Typed { parts: Some(parts), ty: Type::Array(_), .. }] => parts.iter().collect(),
        items => items.iter().collect(),
    };
    // NULL in the list is in no row.
    for item in items.into_iter().filter(|item| !item.is_null()) {
        let (_, item) = comparable(value, item, span)?;
        if item.ty.plain().is_time() != value.ty.plain().is_time()
            || value.ty.plain().common(item.ty.plain()).is_none() && !item.ty.plain().is_number()
        {
            return Err(wrong(format!("{} cannot be IN a list of {}", value.ty, item.ty), span));
        }
        sides.push(item.sql);
    }
    let not = if negated { "NOT " } else { "" };
    let sql = format!("({} {not}IN ({}))", value.sql, sides.join(", "));
    let sql = if value.may_be_nan() {
        format!("coalesce({sql}, {})", i32::from(negated))
    } else if sides.is_empty() && value.ty.is_nullable() {
        format!("iif({} IS NULL, NULL, {})", value.sql, i32::from(negated))
    } else {
        sql
    };
    Ok(Typed::new(sql, Type::TRUTH.nullable_if(value.ty.is_nullable()), span))
}

fn tuples_in_list(left: &[Typed], items: &[Typed], negated: bool, span: Span) -> Result {
    if left.iter().any(|part| part.ty.is_nullable() || part.may_be_nan()) {
        return Err(unsupported("IN with a tuple that may hold NULL or fractions", span));
    }
    let mut rows = Vec::new();
    for item in items {
        let Some(parts) = item.parts.as_ref().filter(|parts| parts.len() == left.len()) else {
            return Err(wrong("a tuple is IN a list of tuples of its length", item.span));
        };
        let mut row = Vec::new();
        for (left, part) in left.iter().zip(parts) {
            row.push(comparable(left, part, span)?.1.sql);
        }
        rows.push(format!("({})", row.join(", ")));
    }
    let sides: Vec<&str> = left.iter().map(|part| part.sql.as_str()).collect();
    let not = if negated { "NOT " } else { "" };
    let sql = format!("(({}) {not}IN (VALUES {}))", sides.join(", "), rows.join(", "));
    Ok(Typed::new(sql, Type::TRUTH, span))
}

/// `value IN (query)`.
pub(super) fn in_query(value: &Typed, inner: &Inner, negated: bool, span: Span) -> Result {
    let single = [value.clone()];
    let left: &[Typed] = match &value.parts {
        Some(parts) if matches!(value.ty, Type::Tuple(_)) => parts,
        _ => &single,
    };
    if left.len() != inner.columns.len() {
        return Err(wrong("IN needs as many columns as there are values before it", span));
    }
    let mut filters = Vec::new();
    for (at, (part, (_, ty))) in left.iter().zip(&inner.columns).enumerate() {
        let alike = (part.ty.plain().is_number() && ty.plain().is_number())
            || part.ty.plain() == ty.plain() && !ty.is_compound();
        if !alike {
            return Err(wrong(format!("{} cannot be IN a subquery of {ty}", part.ty), span));
        }
        if left.len() > 1 && part.ty.is_nullable() {
            return Err(unsupported("IN with a tuple that may hold NULL", span));
        }
        if ty.is_nullable() {
            filters.push(format!("c{at} IS NOT NULL"));
        }
    }
    let sides: Vec<&str> = left.iter().map(|part| part.sql.as_str()).collect();
    let filter = if filters.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", filters.join(" AND "))
    };
    let not = if negated { "NOT " } else { "" };
    let sides = if left.len() == 1 { sides.concat() } else { format!("({})", sides.join(", ")) };
    let sql = format!("({sides} {not}IN (SELECT * FROM ({}){filter}))", inner.sql);
    // SQLite says 0 of NULL IN an empty list, and ClickHouse NULL.
    let sql = match left {
        [part] if part.ty.is_nullable() => format!("iif({} IS NULL, NULL, {sql})", part.sql),
        [part] if part.may_be_nan() => format!("coalesce({sql}, {})", i32::from(negated)),
        _ => sql,
    };
    let is_nullable = left.len() == 1 && value.ty.is_nullable();
    Ok(Typed::new(sql, Type::TRUTH.nullable_if(is_nullable), span))
}
