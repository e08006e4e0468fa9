//! Calls of functions of one row.

use sqlparser::ast::{Expr, Function, Spanned};
use sqlparser::tokenizer::Span;

use super::catalogue::{self, Combination, Make};
use super::expr::arguments_of;
use super::scope::{Place, Scope};
use super::typed::{Typed, call, or_default, quoted, unsupported, wrong};
use super::{DialectError, Translator, operators, times};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

impl Translator<'_> {
    /// A call of whatever kind.
    pub(super) fn function(&mut self, function: &Function, scope: &mut Scope) -> Result<Typed> {
        let span = function.name.span();
        let written = function.name.to_string();
        let name = written.trim_matches(['`', '"']);
        // `median(x)` is a function of many rows, `any(x)` has another name by now.
        match catalogue::entry(name).map(|entry| entry.make) {
            Some(Make::Aggregate) => return self.aggregate(name, function, scope),
            Some(Make::Window) => return self.window_function(name, function, scope),
            Some(_) => {}
            None => match catalogue::combination(name) {
                Combination::Known(_) => return self.aggregate(name, function, scope),
                Combination::Unknown(ending) => {
                    return Err(unsupported(
                        format!("the combinator `-{ending}` of `{name}`"),
                        span,
                    ));
                }
                Combination::None => return Err(refused(name, function, span)),
            },
        }
        if function.over.is_some() {
            return Err(wrong(format!("`{name}` is no function of a window"), span));
        }
        if !arguments_of(&function.parameters)?.is_empty() {
            return Err(wrong(format!("`{name}` takes no parameters"), span));
        }
        let arguments = arguments_of(&function.args)?;
        if let (true, [_, Some(Expr::Interval(interval)), ..]) =
            (name == "toStartOfInterval", arguments.as_slice())
        {
            let time = arguments.first().copied().flatten();
            let time = time.ok_or_else(|| wrong("`toStartOfInterval` takes a time first", span))?;
            let time = self.expr(time, scope)?;
            let (unit, count) = self.interval(interval, scope)?;
            return times::start_of_interval(&time, &unit, &count, span);
        }
        // `dateDiff(day, a, b)`: the unit as a word.
        let unit = match (name.to_ascii_lowercase().as_str(), arguments.first()) {
            ("datediff" | "date_diff", Some(Some(Expr::Identifier(unit)))) => Some(unit),
            _ => None,
        };
        let mut typed = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let Some(argument) = argument else {
                return Err(wrong(format!("`{name}` of `*`"), span));
            };
            typed.push(match unit.filter(|_| at == 0) {
                Some(unit) => Typed::text(&unit.value.to_ascii_lowercase(), unit.span),
                None => self.expr(argument, scope)?,
            });
        }
        if name == "arrayJoin" {
            return array_join(&typed, span, scope);
        }
        self.call_scalar(name, typed, span)
    }

    /// A call of a function of one row, whose arguments are translated.
    #[expect(clippy::unused_self, reason = "beside the other kinds of calls")]
    pub(super) fn call_scalar(
        &self,
        name: &str,
        arguments: Vec<Typed>,
        span: Span,
    ) -> Result<Typed> {
        let entry = catalogue::entry(name).ok_or_else(|| unknown(name, span))?;
        let call = Call { name: entry.name, arguments, span };
        match entry.make {
            Make::Plain(takes, gives, sql) => call.plain(takes, gives, sql),
            Make::Fraction(takes, sql) => {
                call.check(takes)?;
                if call.arguments.iter().any(Typed::is_null) {
                    return Ok(Typed::null(span));
                }
                let arguments: Vec<&Typed> = call.arguments.iter().collect();
                Ok(operators::fraction(sql, &arguments, span))
            }
            Make::Special => special(&call),
            Make::Aggregate | Make::Window => Err(unknown(name, span)),
        }
    }
}

/// `arrayJoin(array)`: a row an element.
fn array_join(arguments: &[Typed], span: Span, scope: &mut Scope) -> Result<Typed> {
    let [array] = arguments else { return Err(wrong("`arrayJoin` takes one array", span)) };
    let Type::Array(element) = &array.ty else {
        return Err(wrong(format!("`arrayJoin` of {}", array.ty), span));
    };
    if scope.place == Place::Groups && scope.has_aggregates && scope.is_inside {
        return Err(unsupported("`arrayJoin` of a window", span));
    }
    let known = scope.array_joins.iter().find(|(sql, _)| *sql == array.sql);
    let table = if let Some((_, table)) = known {
        table.clone()
    } else {
        let table = format!("j{}", scope.array_joins.len());
        scope.array_joins.push((array.sql.clone(), table.clone()));
        table
    };
    scope.loose.push(("arrayJoin".to_owned(), span));
    Ok(joined(&table, &array.sql, element, span))
}

/// The element of an array that `table` has in its row.
pub(super) fn joined(table: &str, array: &str, element: &Type, span: Span) -> Typed {
    let sql = match element.plain() {
        // SQLite reads fractions less exactly.
        Type::Float => format!("ch_element({array}, {table}.key + 1)"),
        _ => format!("{table}.value"),
    };
    Typed::new(sql, element.clone(), span)
}

/// Why there is no such function.
fn refused(name: &str, function: &Function, span: Span) -> DialectError {
    const CLOCK: [&str; 8] =
        ["now", "now64", "today", "yesterday", "rand", "rand32", "rand64", "generateUUIDv4"];
    let arguments = arguments_of(&function.args).unwrap_or_default();
    if arguments.iter().any(|argument| matches!(argument, Some(Expr::Lambda(_)))) {
        return unsupported(format!("`{name}` with a lambda"), span);
    }
    if CLOCK.contains(&name) {
        return unsupported(format!("`{name}`, which gives something else each time,"), span);
    }
    unknown(name, span)
}

pub(super) fn unknown(name: &str, span: Span) -> DialectError {
    let name = name.trim_end_matches('_');
    DialectError::UnknownFunction {
        name: name.to_owned(),
        line: span.start.line,
        column: span.start.column,
        nearest: proctor_model::nearest(name, catalogue::names().map(|(name, _)| name))
            .map(str::to_owned),
    }
}

/// A call whose arguments are translated.
pub(super) struct Call {
    /// The name as ClickHouse writes it.
    pub(super) name: &'static str,
    pub(super) arguments: Vec<Typed>,
    pub(super) span: Span,
}

impl Call {
    pub(super) fn wrong(&self, message: &str) -> DialectError {
        wrong(format!("`{}` {message}", self.name.trim_end_matches('_')), self.span)
    }

    /// As many arguments as there must be.
    pub(super) fn exactly<const N: usize>(&self) -> Result<&[Typed; N]> {
        let plural = if N == 1 { "" } else { "s" };
        <&[Typed; N]>::try_from(self.arguments.as_slice())
            .map_err(|_| self.wrong(&format!("takes {N} argument{plural}")))
    }

    pub(super) fn is_nullable(&self) -> bool {
        self.arguments.iter().any(|argument| argument.ty.is_nullable())
    }

    pub(super) fn has_null(&self) -> bool {
        self.arguments.iter().any(Typed::is_null)
    }

    /// Whether the arguments are of the kinds of [`Make::Plain`].
    fn check(&self, takes: &str) -> Result<()> {
        let mut kinds = takes.split(' ').filter(|kind| !kind.is_empty());
        for (at, argument) in self.arguments.iter().enumerate() {
            let kind = kinds.next().ok_or_else(|| self.wrong("has too many arguments"))?;
            let ty = argument.ty.plain();
            let fits = match kind.as_bytes().first() {
                Some(b's') => *ty == Type::String,
                Some(b'n') => ty.is_number(),
                Some(b'i') => ty.is_whole(),
                Some(b'a') => matches!(ty, Type::Array(_)),
                Some(b't') => ty.is_time(),
                _ => true,
            };
            if !fits && !argument.is_null() {
                return Err(self.wrong(&format!(
                    "does not take {} as argument {}",
                    argument.ty,
                    at + 1
                )));
            }
        }
        match kinds.next() {
            Some(kind) if !kind.ends_with(['?', '*']) => Err(self.wrong("has too few arguments")),
            _ => Ok(()),
        }
    }

    fn plain(&self, takes: &str, gives: &str, sql: &str) -> Result<Typed> {
        self.check(takes)?;
        let first = || self.arguments.first().map(|argument| argument.ty.plain().clone());
        let ty = match gives {
            "=1" => first(),
            written => Type::read(written),
        };
        self.gives(sql, ty.unwrap_or(Type::Nothing))
    }

    /// A function of SQLite of this name with the same arguments, which is NULL where one of them
    /// is.
    pub(super) fn gives(&self, sql: &str, ty: Type) -> Result<Typed> {
        if self.has_null() {
            return Ok(Typed::null(self.span));
        }
        let is_nullable = self.is_nullable();
        if is_nullable && ty.is_compound() {
            return Err(self.wrong(&format!(
                "gives {ty}, which cannot be NULL: put `assumeNotNull` or `ifNull` around what may be"
            )));
        }
        let arguments: Vec<&str> = self.arguments.iter().map(|a| a.sql.as_str()).collect();
        Ok(Typed::new(call(sql, &arguments), ty.nullable_if(is_nullable), self.span))
    }

    fn text_at(&self, at: usize) -> Result<&str> {
        let argument = self.arguments.get(at).and_then(Typed::constant_text);
        argument.ok_or_else(|| self.wrong(&format!("takes a constant text as argument {}", at + 1)))
    }
}

fn special(call: &Call) -> Result<Typed> {
    let name = call.name;
    if let Some(typed) = conditions(call) {
        return typed;
    }
    if name.starts_with("JSON") {
        return super::json::call(call);
    }
    if let Some(typed) = times::special(call) {
        return typed;
    }
    if let Some(typed) = super::arrays::special(call) {
        return typed;
    }
    if let Some(typed) = numbers(call) {
        return typed;
    }
    conversions(call).unwrap_or_else(|| Err(unknown(name, call.span)))
}

fn conditions(call: &Call) -> Option<Result<Typed>> {
    use sqlparser::ast::BinaryOperator as Op;
    let two = |op: Op| {
        let [one, other] = call.exactly::<2>()?;
        operators::binary(one, &op, other, call.span)
    };
    let chain = |op: Op| {
        let mut parts = call.arguments.iter();
        let first = parts.next().ok_or_else(|| call.wrong("has too few arguments"))?.clone();
        parts.try_fold(first, |all, part| operators::binary(&all, &op, part, call.span))
    };
    Some(match call.name {
        "if" => if_else(call),
        "multiIf" => multi_if(call),
        "coalesce" => coalesce(&call.arguments, call.span),
        "ifNull" => call.exactly::<2>().and_then(|parts| coalesce(parts, call.span)),
        "nullIf" => null_if(call),
        "isNull" => call.exactly::<1>().map(|[value]| operators::is_null(value, false)),
        "isNotNull" => call.exactly::<1>().map(|[value]| operators::is_null(value, true)),
        "assumeNotNull" => call.exactly::<1>().and_then(|[value]| assume_not_null(value)),
        "toNullable" => call.exactly::<1>().map(|[value]| {
            let sql = if value.may_be_nan() {
                self::call("ch_number", &[&value.sql])
            } else {
                value.sql.clone()
            };
            Typed::new(sql, value.ty.clone().nullable(), call.span)
        }),
        "materialize" => call.exactly::<1>().map(|[value]| Typed {
            constant: None,
            parts: None,
            ..value.clone()
        }),
        "toTypeName" => call
            .exactly::<1>()
            .map(|[value]| Typed::new(quoted(&value.ty.to_string()), Type::String, call.span)),
        "not" => call.exactly::<1>().and_then(|[value]| operators::not(value)),
        "and" => chain(Op::And),
        "or" => chain(Op::Or),
        "xor" => chain(Op::Xor),
        "equals" => two(Op::Eq),
        "notEquals" => two(Op::NotEq),
        "less" => two(Op::Lt),
        "lessOrEquals" => two(Op::LtEq),
        "greater" => two(Op::Gt),
        "greaterOrEquals" => two(Op::GtEq),
        "plus" => two(Op::Plus),
        "minus" => two(Op::Minus),
        "multiply" => two(Op::Multiply),
        "divide" => two(Op::Divide),
        "modulo" => two(Op::Modulo),
        "intDiv" => {
            call.exactly::<2>().and_then(|[one, other]| operators::int_div(one, other, call.span))
        }
        "negate" => call.exactly::<1>().and_then(|[value]| operators::negate(value)),
        "concat" => Ok(operators::concat(&call.arguments, call.span)),
        "length" => sized(call, "ch_length", Type::COUNT),
        "empty" => sized(call, "ch_empty", Type::TRUTH),
        "notEmpty" => sized(call, "ch_not_empty", Type::TRUTH),
        "reverse" => sized(call, "ch_reverse", Type::String),
        "format" => format(call),
        _ => return None,
    })
}

fn if_else(call: &Call) -> Result<Typed> {
    let [condition, one, other] = call.exactly::<3>()?;
    let condition = operators::condition(condition)?;
    operators::choose(&[(condition, one.clone())], other, call.span)
}

fn multi_if(call: &Call) -> Result<Typed> {
    let Some((otherwise, cases)) = call.arguments.split_last() else {
        return Err(call.wrong("has too few arguments"));
    };
    if cases.is_empty() || cases.len() % 2 == 1 {
        return Err(call.wrong("takes an odd number of arguments"));
    }
    let cases = cases.chunks(2).filter_map(|pair| match pair {
        [condition, result] => Some(operators::condition(condition).map(|c| (c, result.clone()))),
        _ => None,
    });
    operators::choose(&cases.collect::<Result<Vec<_>>>()?, otherwise, call.span)
}

/// The first value that is not NULL.
fn coalesce(values: &[Typed], span: Span) -> Result<Typed> {
    let mut kept: Vec<&Typed> = Vec::new();
    for value in values.iter().filter(|value| !value.is_null()) {
        kept.push(value);
        if !value.ty.is_nullable() {
            break;
        }
    }
    let Some(last) = kept.last() else { return Ok(Typed::null(span)) };
    let mut ty = last.ty.plain().clone();
    for value in &kept {
        ty = value.ty.plain().common(&ty).ok_or_else(|| {
            unsupported(
                format!("a choice between {} and {ty}, which is a Variant,", value.ty),
                span,
            )
        })?;
    }
    if kept.len() > 1 && last.may_be_nan() {
        return Err(unsupported("a choice between NULL and what may be no number", span));
    }
    let ty = ty.nullable_if(last.ty.is_nullable());
    let sql: Vec<String> = kept.iter().map(|value| value.to(&ty).sql).collect();
    let sql = if sql.len() == 1 { sql.concat() } else { format!("coalesce({})", sql.join(", ")) };
    Ok(Typed::new(sql, ty, span))
}

fn null_if(call: &Call) -> Result<Typed> {
    let [one, other] = call.exactly::<2>()?;
    if one.is_null() || other.is_null() {
        return Ok(Typed::new(one.sql.clone(), one.ty.clone().nullable(), call.span));
    }
    let equal = operators::binary(one, &sqlparser::ast::BinaryOperator::Eq, other, call.span)?;
    operators::choose(&[(equal, Typed::null(call.span))], one, call.span)
}

fn assume_not_null(value: &Typed) -> Result<Typed> {
    if value.is_null() {
        return Err(unsupported("`assumeNotNull` of NULL", value.span));
    }
    let ty = value.ty.plain().clone();
    let sql = if value.ty.is_nullable() { or_default(&value.sql, &ty) } else { value.sql.clone() };
    Ok(Typed::new(sql, ty, value.span))
}

/// A function of texts and of arrays alike.
fn sized(call: &Call, sql: &str, ty: Type) -> Result<Typed> {
    let [value] = call.exactly::<1>()?;
    match value.ty.plain() {
        Type::String | Type::Nothing => call.gives(sql, ty),
        array @ (Type::Array(_) | Type::Map(..)) => {
            let name = sql.replacen("ch_", "ch_array_", 1);
            call.gives(&name, if ty == Type::String { array.clone() } else { ty })
        }
        other => Err(call.wrong(&format!("does not take {other}"))),
    }
}

fn format(call: &Call) -> Result<Typed> {
    call.text_at(0)?;
    let mut texts = vec![call.arguments.first().map(|first| first.sql.clone()).unwrap_or_default()];
    for argument in call.arguments.iter().skip(1) {
        texts.push(operators::text_of(argument));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(Typed::new(
        self::call("ch_format", &texts),
        Type::String.nullable_if(call.is_nullable()),
        call.span,
    ))
}

fn numbers(call: &Call) -> Option<Result<Typed>> {
    Some(match call.name {
        "abs" => call.exactly::<1>().and_then(|[value]| match value.ty.plain() {
            Type::Int(bits) => call.gives("ch_abs", Type::UInt(*bits)),
            ty if ty.is_number() => call.gives("ch_abs", ty.clone()),
            Type::Nothing => Ok(value.clone()),
            ty => Err(call.wrong(&format!("does not take {ty}"))),
        }),
        "round" => rounded(call, "ch_round"),
        "floor_" => rounded(call, "ch_floor"),
        "ceil_" | "ceiling_" => rounded(call, "ch_ceil"),
        "greatest" => extreme(call, "max"),
        "least" => extreme(call, "min"),
        "isNaN" | "isFinite" => call.exactly::<1>().and_then(|[value]| {
            if !value.ty.plain().is_number() {
                return Err(call.wrong(&format!("does not take {}", value.ty)));
            }
            let sql = match (call.name, value.ty.is_nullable()) {
                ("isNaN", false) if value.ty == Type::Float => format!("({} IS NULL)", value.sql),
                ("isNaN", _) => format!("({} * 0)", value.sql),
                (_, false) => format!("coalesce(abs({}) < 9e999, 0)", value.sql),
                _ => format!("(abs({}) < 9e999)", value.sql),
            };
            Ok(Typed::new(sql, Type::TRUTH.nullable_if(value.ty.is_nullable()), call.span))
        }),
        _ => return None,
    })
}

fn rounded(call: &Call, sql: &str) -> Result<Typed> {
    let (value, digits) = match call.arguments.as_slice() {
        [value] => (value, None),
        [value, digits] if digits.ty.is_whole() => (value, Some(digits)),
        _ => return Err(call.wrong("takes a number, and how many digits to keep")),
    };
    if value.is_null() {
        return Ok(Typed::null(call.span));
    }
    if !value.ty.plain().is_number()
        || digits.is_some_and(|digits| digits.constant_whole().is_none())
    {
        return Err(call.wrong(&format!("does not take {}", value.ty)));
    }
    let digits = digits.map_or("0", |digits| digits.sql.as_str());
    let sql = self::call(sql, &[&value.sql, digits]);
    let ty = if *value.ty.plain() == Type::Bool { Type::TRUTH } else { value.ty.plain().clone() };
    Ok(Typed::new(sql, ty.nullable_if(value.ty.is_nullable()), call.span))
}

/// The greatest or the least; NULLs take no part.
fn extreme(call: &Call, sql: &str) -> Result<Typed> {
    let mut parts = call.arguments.iter().filter(|part| !part.is_null());
    let Some(first) = parts.next() else { return Err(call.wrong("has too few arguments")) };
    let mut ty = first.ty.clone();
    for part in parts {
        ty = ty.common(&part.ty).ok_or_else(|| {
            unsupported(format!("`{}` of {ty} and {}", call.name, part.ty), call.span)
        })?;
    }
    let parts: Vec<&Typed> = call.arguments.iter().filter(|part| !part.is_null()).collect();
    if ty.is_compound() || parts.iter().any(|part| part.may_be_nan()) {
        return Err(unsupported(
            format!("`{}` of {ty} that is not written out", call.name),
            call.span,
        ));
    }
    // A NULL beside other values counts for nothing, as long as one is left.
    let is_nullable = call.arguments.iter().all(|part| part.ty.is_nullable()) || call.has_null();
    if ty.is_nullable() {
        if parts.len() > 2 {
            return Err(unsupported(
                format!("`{}` of more than two that may be NULL", call.name),
                call.span,
            ));
        }
        let ty = if is_nullable { ty } else { ty.plain().clone() }.nullable();
        let values: Vec<String> = parts.iter().map(|part| part.to(&ty).sql).collect();
        let sql = match values.as_slice() {
            [one, other] => format!("coalesce({sql}({one}, {other}), {one}, {other})"),
            values => values.concat(),
        };
        return Ok(Typed::new(sql, ty, call.span));
    }
    let values: Vec<String> = parts.iter().map(|part| part.to(&ty).sql).collect();
    let sql =
        if values.len() == 1 { values.concat() } else { format!("{sql}({})", values.join(", ")) };
    Ok(Typed::new(sql, ty.nullable_if(is_nullable), call.span))
}

/// `toInt64`, `toUInt8OrZero`, ...
fn conversions(call: &Call) -> Option<Result<Typed>> {
    if call.name == "CAST" {
        return Some(call.text_at(1).and_then(|to| {
            let [value, _] = call.exactly::<2>()?;
            operators::cast(value, to, call.span)
        }));
    }
    if call.name == "accurateCastOrNull" {
        return Some(call.text_at(1).and_then(|to| {
            let [value, _] = call.exactly::<2>()?;
            let ty = Type::read(to).filter(|ty| ty.is_number() && *ty != Type::Bool);
            match ty {
                Some(ty) if *value.ty.plain() == Type::String => or(value, &ty, "null", call),
                _ => Err(unsupported(format!("a cast of {} to `{to}`", value.ty), call.span)),
            }
        }));
    }
    let rest = call.name.strip_prefix("to")?;
    if rest == "String" {
        return Some(call.exactly::<1>().map(|[value]| {
            if value.is_null() {
                return value.clone();
            }
            let ty = Type::String.nullable_if(value.ty.is_nullable());
            Typed::new(operators::text_of(value), ty, call.span)
        }));
    }
    let (name, otherwise) = match (rest.strip_suffix("OrNull"), rest.strip_suffix("OrZero")) {
        (Some(name), _) => (name, Some("null")),
        (_, Some(name)) => (name, Some("zero")),
        _ => (rest, None),
    };
    let ty = Type::read(name)?;
    Some(call.exactly::<1>().and_then(|[value]| match otherwise {
        None if value.is_null() => Ok(value.clone()),
        None if value.ty.is_compound() => Err(call.wrong(&format!("does not take {}", value.ty))),
        None => operators::convert(value, &ty, call.name, call.span),
        Some(otherwise) => or(value, &ty, otherwise, call),
    }))
}

/// A text as another type, and something else when it is none.
pub(super) fn or(value: &Typed, ty: &Type, otherwise: &str, call: &Call) -> Result<Typed> {
    if value.is_null() {
        return Ok(value.clone());
    }
    if *value.ty.plain() != Type::String {
        return Err(call.wrong(&format!("takes a text and not {}", value.ty)));
    }
    let sql = self::call("ch_read", &[&quoted(&ty.to_string()), &quoted(otherwise), &value.sql]);
    let ty = ty.clone().nullable_if(value.ty.is_nullable() || otherwise == "null");
    Ok(Typed::new(sql, ty, call.span))
}
