//! Expressions.

use std::rc::Rc;

use sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, InTarget, ObjectName, Spanned, Subscript, TrimWhereField, UnaryOperator, Value,
    ValueWithSpan,
};
use sqlparser::tokenizer::Span;

use super::scope::{Found, Scope};
use super::typed::{Constant, Typed, unsupported, wrong};
use super::{DialectError, Translator, membership, operators};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

/// How many parts all expressions of a statement may have, aliases looked into each time.
const MAX_PARTS: usize = 50_000;
/// How much SQL may come of one expression, in bytes.
const MAX_SQL_BYTES: usize = 2 << 20;

impl Translator<'_> {
    /// Translates an expression.
    pub(super) fn expr(&mut self, expr: &Expr, scope: &mut Scope) -> Result<Typed> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(DialectError::TooLarge);
        }
        let loose = scope.loose.len();
        let typed = self.any_expr(expr, scope)?;
        if typed.sql.len() > MAX_SQL_BYTES {
            return Err(DialectError::TooLarge);
        }
        // What rows are grouped by may stand outside of aggregates.
        if scope.keys.contains(&typed.sql) {
            scope.loose.truncate(loose);
        }
        Ok(typed)
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr], scope: &mut Scope) -> Result<Vec<Typed>> {
        exprs.iter().map(|expr| self.expr(expr, scope)).collect()
    }

    fn any_expr(&mut self, expr: &Expr, scope: &mut Scope) -> Result<Typed> {
        let span = expr.span();
        match expr {
            Expr::Identifier(name) => self.name(name, scope),
            Expr::CompoundIdentifier(names) => self.qualified(names, scope),
            Expr::Value(value) => literal(value),
            Expr::Nested(inner) => self.expr(inner, scope),
            Expr::Function(function) => self.function(function, scope),
            Expr::UnaryOp { op, expr } => self.unary(*op, expr, span, scope),
            Expr::BinaryOp { left, op, right } => self.binary(left, op, right, span, scope),
            Expr::IsNull(expr) => Ok(operators::is_null(&self.expr(expr, scope)?, false)),
            Expr::IsNotNull(expr) => Ok(operators::is_null(&self.expr(expr, scope)?, true)),
            Expr::IsTrue(_) | Expr::IsFalse(_) | Expr::IsNotTrue(_) | Expr::IsNotFalse(_) => {
                Err(unsupported("IS TRUE or IS FALSE", span))
            }
            Expr::IsDistinctFrom(one, other) => {
                let (one, other) = (self.expr(one, scope)?, self.expr(other, scope)?);
                operators::distinct(&one, &other, false)
            }
            Expr::IsNotDistinctFrom(one, other) => {
                let (one, other) = (self.expr(one, scope)?, self.expr(other, scope)?);
                operators::distinct(&one, &other, true)
            }
            Expr::Between { expr, negated, low, high } => {
                let value = self.expr(expr, scope)?;
                let (low, high) = (self.expr(low, scope)?, self.expr(high, scope)?);
                operators::between(&value, &low, &high, *negated)
            }
            Expr::In { expr, target, negated, .. } => {
                let value = self.expr(expr, scope)?;
                self.is_in(&value, target, *negated, span, scope)
            }
            Expr::Like { negated, any, expr, pattern, escape_char }
            | Expr::ILike { negated, any, expr, pattern, escape_char }
                if *any || escape_char.is_some() =>
            {
                let _ = (negated, expr, pattern);
                Err(unsupported("LIKE with ANY or ESCAPE", span))
            }
            Expr::Like { negated, expr, pattern, .. } => self.named_call(
                if *negated { "notLike" } else { "like" },
                [expr, pattern],
                span,
                scope,
            ),
            Expr::ILike { negated, expr, pattern, .. } => {
                let name = if *negated { "notILike" } else { "ilike" };
                self.named_call(name, [expr, pattern], span, scope)
            }
            Expr::RLike { negated: false, expr, pattern, .. } => {
                self.named_call("match", [expr, pattern], span, scope)
            }
            Expr::Cast { expr, data_type, .. } => {
                let value = self.expr(expr, scope)?;
                let name = data_type.to_string();
                operators::cast(&value, &name, span)
            }
            Expr::Case { operand, conditions, else_result, .. } => {
                self.case(operand.as_deref(), conditions, else_result.as_deref(), span, scope)
            }
            Expr::Tuple(parts) => {
                let parts = self.exprs(parts, scope)?;
                Ok(operators::tuple(parts, span))
            }
            Expr::Array(array) => {
                let elements = self.exprs(&array.elem, scope)?;
                operators::array(&elements, span)
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                self.access(root, access_chain, scope)
            }
            Expr::Subquery(query) => self.scalar_subquery(query, span),
            Expr::Exists { subquery, negated } => {
                let inner = self.query(subquery)?;
                let not = if *negated { "NOT " } else { "" };
                Ok(Typed::new(format!("({not}EXISTS ({}))", inner.sql), Type::TRUTH, span))
            }
            Expr::Trim { trim_where, trim_what, expr, trim_characters: None } => {
                let name = match trim_where {
                    None | Some(TrimWhereField::Both) => "trimBoth",
                    Some(TrimWhereField::Leading) => "trimLeft",
                    Some(TrimWhereField::Trailing) => "trimRight",
                };
                let mut arguments = vec![self.expr(expr, scope)?];
                if let Some(what) = trim_what {
                    arguments.push(self.expr(what, scope)?);
                }
                self.call_scalar(name, arguments, span)
            }
            Expr::TypedString(typed) => {
                let name = typed.data_type.to_string();
                operators::cast(&literal(&typed.value)?, &name, span)
            }
            other => Err(unsupported(what(other), span)),
        }
    }

    fn name(&mut self, name: &Ident, scope: &mut Scope) -> Result<Typed> {
        match scope.find(&name.value, name.span) {
            Found::Column(typed) => {
                scope.loose.push((name.value.clone(), name.span));
                Ok(typed)
            }
            Found::Alias(expr) => self.alias(&name.value, &expr, name.span, scope),
            Found::Ambiguous => Err(ambiguous(&name.value, name.span)),
            Found::Nothing => {
                if let Some(expr) = self.with_expression(&name.value) {
                    return self.alias(&name.value, &expr, name.span, scope);
                }
                match name.value.to_ascii_lowercase().as_str() {
                    "nan" => Ok(Typed::float(f64::NAN, name.span)),
                    "inf" | "infinity" => Ok(Typed::float(f64::INFINITY, name.span)),
                    _ => Err(self.unknown_column(&name.value, name.span, scope)),
                }
            }
        }
    }

    /// What a name stands for, in place of it.
    fn alias(
        &mut self,
        name: &str,
        expr: &Rc<Expr>,
        span: Span,
        scope: &mut Scope,
    ) -> Result<Typed> {
        if scope.expanding.len() > 50 {
            return Err(DialectError::TooLarge);
        }
        scope.expanding.push(name.to_owned());
        let typed = self.expr(expr, scope);
        scope.expanding.pop();
        typed.map(|typed| Typed { span, ..typed })
    }

    fn qualified(&mut self, names: &[Ident], scope: &mut Scope) -> Result<Typed> {
        let span = names.first().map_or(Span::empty(), |name| name.span);
        if let [table, column] = names {
            match scope.find_in(&table.value, &column.value, table.span) {
                Found::Column(typed) => {
                    scope.loose.push((format!("{}.{}", table.value, column.value), span));
                    return Ok(typed);
                }
                Found::Ambiguous => return Err(ambiguous(&column.value, span)),
                Found::Alias(_) | Found::Nothing => {}
            }
        }
        let written: Vec<&str> = names.iter().map(|name| name.value.as_str()).collect();
        Err(self.unknown_column(&written.join("."), span, scope))
    }

    fn unary(
        &mut self,
        op: UnaryOperator,
        expr: &Expr,
        span: Span,
        scope: &mut Scope,
    ) -> Result<Typed> {
        let value = self.expr(expr, scope)?;
        match op {
            UnaryOperator::Not => operators::not(&value),
            UnaryOperator::Minus if matches!(expr, Expr::Value(_)) => match value.constant {
                Some(Constant::Whole(number)) => Ok(Typed::whole(number.saturating_neg(), span)),
                Some(Constant::Float(number)) => Ok(Typed::float(-number, span)),
                _ => operators::negate(&value),
            },
            UnaryOperator::Minus => operators::negate(&value),
            UnaryOperator::Plus => Ok(value),
            other => Err(unsupported(format!("the operator `{other}`"), span)),
        }
    }

    fn binary(
        &mut self,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
        span: Span,
        scope: &mut Scope,
    ) -> Result<Typed> {
        // Chains are as deep as they are long to the left only.
        let one = self.expr(left, scope)?;
        if let Expr::Interval(interval) = right {
            let (unit, count) = self.interval(interval, scope)?;
            let sign = match op {
                BinaryOperator::Plus => 1,
                BinaryOperator::Minus => -1,
                _ => {
                    return Err(unsupported(
                        "an INTERVAL that is neither added nor taken off",
                        span,
                    ));
                }
            };
            return operators::shift(&one, &unit, &count, sign);
        }
        let other = self.expr(right, scope)?;
        operators::binary(&one, op, &other, span)
    }

    pub(super) fn interval(
        &mut self,
        interval: &sqlparser::ast::Interval,
        scope: &mut Scope,
    ) -> Result<(String, Typed)> {
        let span = interval.value.span();
        let count = self.expr(&interval.value, scope)?;
        // `INTERVAL '15 minutes'` has the unit within.
        if let (None, Some(text)) = (&interval.leading_field, count.constant_text())
            && let Some((number, unit)) = text.trim().split_once(' ')
            && let Ok(number) = number.parse()
        {
            return Ok((unit.trim().trim_end_matches('s').to_owned(), Typed::whole(number, span)));
        }
        let unit = interval.leading_field.as_ref().map(ToString::to_string).unwrap_or_default();
        let count = match count.constant_text().and_then(|text| text.trim().parse().ok()) {
            Some(number) => Typed::whole(number, span),
            None => count,
        };
        if !count.ty.plain().is_whole() {
            return Err(unsupported("an INTERVAL of something else than a whole number", span));
        }
        Ok((unit.to_ascii_lowercase().trim_end_matches('s').to_owned(), count))
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        otherwise: Option<&Expr>,
        span: Span,
        scope: &mut Scope,
    ) -> Result<Typed> {
        let operand = operand.map(|operand| self.expr(operand, scope)).transpose()?;
        let mut cases = Vec::new();
        for case in conditions {
            let condition = self.expr(&case.condition, scope)?;
            let condition = match &operand {
                Some(operand) => {
                    operators::binary(operand, &BinaryOperator::Eq, &condition, condition.span)?
                }
                None => operators::condition(&condition)?,
            };
            cases.push((condition, self.expr(&case.result, scope)?));
        }
        let otherwise = match otherwise {
            Some(otherwise) => self.expr(otherwise, scope)?,
            None => Typed::null(span),
        };
        operators::choose(&cases, &otherwise, span)
    }

    fn access(&mut self, root: &Expr, chain: &[AccessExpr], scope: &mut Scope) -> Result<Typed> {
        // `table.tuple.1` and `tuple.name[1]` begin with a name that may be qualified.
        let mut value = self.expr(root, scope)?;
        for step in chain {
            value = match step {
                AccessExpr::Subscript(Subscript::Index { index }) => {
                    let index = self.expr(index, scope)?;
                    operators::element(&value, &index)?
                }
                AccessExpr::Dot(Expr::Value(ValueWithSpan {
                    value: Value::Number(number, _),
                    span,
                })) => {
                    let place = number.parse().map_err(|_| wrong("no place of a tuple", *span))?;
                    operators::tuple_element(&value, place, *span)?
                }
                AccessExpr::Dot(other) => {
                    return Err(unsupported("a part of a tuple by its name", other.span()));
                }
                AccessExpr::Subscript(_) => {
                    return Err(unsupported("a slice in brackets", root.span()));
                }
            };
        }
        Ok(value)
    }

    fn is_in(
        &mut self,
        value: &Typed,
        target: &InTarget,
        negated: bool,
        span: Span,
        scope: &mut Scope,
    ) -> Result<Typed> {
        match target {
            InTarget::List(list) => {
                // `x IN table`.
                if let [Expr::Identifier(name)] = list.as_slice()
                    && matches!(scope.find(&name.value, name.span), Found::Nothing)
                    && self.with_expression(&name.value).is_none()
                {
                    let inner = self.whole_table(&ObjectName::from(vec![name.clone()]))?;
                    return membership::in_query(value, &inner, negated, span);
                }
                let loose = scope.loose.len();
                let mut items = self.exprs(list, scope)?;
                if scope.loose.len() > loose {
                    return Err(unsupported("IN with a list that is not constant", span));
                }
                // `x IN (1, 2)` and `x IN tuple(1, 2)` mean the same.
                if let [Typed { parts: Some(parts), .. }] = items.as_slice()
                    && value.parts.is_none()
                    && !matches!(value.ty, Type::Tuple(_))
                {
                    items = parts.clone();
                }
                membership::in_list(value, &items, negated, span)
            }
            InTarget::Subquery(query) => {
                let inner = self.query(query)?;
                membership::in_query(value, &inner, negated, span)
            }
            InTarget::Table { name, args: None } => {
                let inner = self.whole_table(name)?;
                membership::in_query(value, &inner, negated, span)
            }
            _ => Err(unsupported("IN with something else than a list or a subquery", span)),
        }
    }

    fn scalar_subquery(&mut self, query: &sqlparser::ast::Query, span: Span) -> Result<Typed> {
        let inner = self.query(query)?;
        let [column] = inner.columns.as_slice() else {
            return Err(unsupported("a subquery of several columns as a value", span));
        };
        let function = if column.1 == Type::Float { "ch_only_number" } else { "ch_only" };
        let sql = format!("(SELECT {function}(c0) FROM ({}))", inner.sql);
        let ty = column.1.clone().nullable();
        let sql = if ty.is_compound() { super::typed::or_default(&sql, &ty) } else { sql };
        Ok(Typed::new(sql, ty, span))
    }

    fn named_call<const N: usize>(
        &mut self,
        name: &str,
        arguments: [&Expr; N],
        span: Span,
        scope: &mut Scope,
    ) -> Result<Typed> {
        let arguments = arguments
            .into_iter()
            .map(|argument| self.expr(argument, scope))
            .collect::<Result<_>>()?;
        self.call_scalar(name, arguments, span)
    }
}

/// The expressions among the arguments of a call; `None` for `*`.
pub(super) fn arguments_of(arguments: &FunctionArguments) -> Result<Vec<Option<&Expr>>> {
    match arguments {
        FunctionArguments::None => Ok(Vec::new()),
        FunctionArguments::Subquery(query) => {
            Err(unsupported("a subquery as argument", query.span()))
        }
        FunctionArguments::List(list) => list
            .args
            .iter()
            .map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(Some(expr)),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => Ok(None),
                other => Err(unsupported(format!("the argument `{other}`"), other.span())),
            })
            .collect(),
    }
}

fn ambiguous(name: &str, span: Span) -> DialectError {
    wrong(format!("`{name}` may be a column of either table"), span)
}

/// A value that is written in the statement.
pub(super) fn literal(value: &ValueWithSpan) -> Result<Typed> {
    let span = value.span;
    match &value.value {
        Value::Null => Ok(Typed::null(span)),
        Value::Boolean(value) => Ok(Typed {
            constant: Some(Constant::Whole((*value).into())),
            ..Typed::new(if *value { "1" } else { "0" }, Type::Bool, span)
        }),
        Value::SingleQuotedString(text) => Ok(Typed::text(text, span)),
        Value::Number(number, _) => {
            let plain = number.replace('_', "");
            if let Ok(number) = plain.parse::<i64>() {
                return Ok(Typed::whole(number, span));
            }
            if plain.bytes().all(|byte| byte.is_ascii_digit()) && plain.parse::<u64>().is_ok() {
                return Err(unsupported("a whole number above 9223372036854775807", span));
            }
            let number = plain.parse().map_err(|_| wrong("no number", span))?;
            Ok(Typed::float(number, span))
        }
        Value::HexStringLiteral(digits) => i64::from_str_radix(digits, 16)
            .map(|number| Typed::whole(number, span))
            .map_err(|_| unsupported("this number", span)),
        Value::Placeholder(_) => Err(unsupported("a parameter of the statement", span)),
        other => Err(unsupported(format!("the literal `{other}`"), span)),
    }
}

/// What people call an expression.
fn what(expr: &Expr) -> String {
    match expr {
        Expr::Lambda(_) => "a lambda",
        Expr::Dictionary(_) | Expr::Map(_) => "a map in braces",
        Expr::Interval(_) => "an INTERVAL by itself",
        Expr::JsonAccess { .. } => "access to a part by `:`",
        Expr::SimilarTo { .. } | Expr::RLike { .. } => "SIMILAR TO or NOT REGEXP",
        Expr::AnyOp { .. } | Expr::AllOp { .. } => "ANY or ALL",
        Expr::AtTimeZone { .. } => "AT TIME ZONE",
        Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_) => "GROUPING SETS, CUBE or ROLLUP",
        Expr::Collate { .. } => "COLLATE",
        other => return format!("`{}`", other.to_string().chars().take(60).collect::<String>()),
    }
    .to_owned()
}
