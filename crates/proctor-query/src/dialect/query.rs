//! Whole queries: `WITH`, set operations, limits.

use std::rc::Rc;

use sqlparser::ast::{
    Expr, LimitClause, Query, Select, SelectItem, SetExpr, SetOperator, SetQuantifier, Spanned,
};
use sqlparser::tokenizer::Span;

use super::prepare;
use super::scope::Scope;
use super::select::{Limit, count};
use super::typed::{Typed, unsupported, wrong};
use super::{DialectError, Inner, Translator};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

/// How deep queries may stand within each other.
const MAX_DEPTH: usize = 30;
/// Settings that do not change an answer.
const IGNORED: [&str; 8] = [
    "max_threads",
    "max_execution_time",
    "max_memory_usage",
    "max_block_size",
    "max_result_rows",
    "optimize_read_in_order",
    "log_comment",
    "readonly",
];

impl Translator<'_> {
    /// Translates a query and what stands within it.
    pub(super) fn query(&mut self, query: &Query) -> Result<Inner> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(DialectError::TooLarge);
        }
        let (tables, expressions) = (self.ctes.len(), self.expressions.len());
        let made = self.within(query);
        self.ctes.truncate(tables);
        self.expressions.truncate(expressions);
        self.depth -= 1;
        made
    }

    fn within(&mut self, query: &Query) -> Result<Inner> {
        let span = query.span();
        if query.fetch.is_some() || !query.locks.is_empty() || query.for_clause.is_some() {
            return Err(unsupported("FETCH or FOR", span));
        }
        if !query.pipe_operators.is_empty() {
            return Err(unsupported("a pipe operator", span));
        }
        if query.format_clause.is_some() {
            return Err(unsupported("FORMAT within a statement", span));
        }
        let mut after = Limit::default();
        for setting in query.settings.iter().flatten() {
            let name = setting.key.value.as_str();
            match name {
                prepare::LIMIT => after.rows = Some(count(&setting.value)?),
                prepare::OFFSET => after.offset = count(&setting.value)?,
                prepare::BY_OFFSET => after.by_offset = count(&setting.value)?,
                _ if IGNORED.contains(&name) => {}
                _ => return Err(unsupported(format!("the setting `{name}`"), setting.key.span)),
            }
        }
        if let Some(with) = &query.with {
            if with.recursive {
                return Err(unsupported("WITH RECURSIVE", with.with_token.0.span));
            }
            for cte in &with.cte_tables {
                let name = cte.alias.name.value.clone();
                if let Some(expr) = expression_of(&cte.query) {
                    self.expressions.push((name, Rc::new(expr.clone())));
                    continue;
                }
                if !cte.alias.columns.is_empty() {
                    return Err(unsupported(
                        "names of columns after a table of WITH",
                        cte.alias.name.span,
                    ));
                }
                let inner = self.query(&cte.query)?;
                let known = format!("w{}", self.with.len());
                self.with.push((known.clone(), inner.sql));
                self.ctes.push((name, known, inner.columns));
            }
        }
        let is_ordered = query.order_by.is_some() || query.limit_clause.is_some();
        match &*query.body {
            SetExpr::Select(select) => {
                self.select(select, query.order_by.as_ref(), query.limit_clause.as_ref(), after)
            }
            SetExpr::Query(inner) if !is_ordered => self.query(inner),
            SetExpr::SetOperation { .. } if is_ordered => Err(unsupported(
                "ORDER BY or LIMIT after a set operation, which in ClickHouse belongs to the last SELECT \
                 alone (`SELECT * FROM (... UNION ALL ...) ORDER BY` says what is meant)",
                span,
            )),
            SetExpr::Query(_) => Err(unsupported("ORDER BY or LIMIT after brackets", span)),
            body => self.set(body),
        }
    }

    fn set(&mut self, body: &SetExpr) -> Result<Inner> {
        let span = body.span();
        match body {
            SetExpr::Select(select) => {
                self.select(select, None, None::<&LimitClause>, Limit::default())
            }
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation { left, op, set_quantifier, right } => {
                self.depth += 1;
                if self.depth > MAX_DEPTH {
                    return Err(DialectError::TooLarge);
                }
                let (left, right) = (self.set(left)?, self.set(right)?);
                self.depth -= 1;
                combine(&left, *op, *set_quantifier, &right, span)
            }
            SetExpr::Values(_) => Err(unsupported("VALUES", span)),
            _ => Err(DialectError::NoQuestion),
        }
    }

    /// What `WITH expression AS name` gave a name to.
    pub(super) fn with_expression(&self, name: &str) -> Option<Rc<Expr>> {
        let found = self.expressions.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, expr)| Rc::clone(expr))
    }

    /// A column that nothing has.
    #[expect(clippy::unused_self, reason = "beside what else is said of names")]
    pub(super) fn unknown_column(&self, column: &str, span: Span, scope: &Scope) -> DialectError {
        let plain = column.rsplit('.').next().unwrap_or(column);
        let known =
            scope.sources.iter().filter(|source| !source.columns.is_empty()).map(|source| {
                let names: Vec<&str> =
                    source.columns.iter().map(|column| column.name.as_str()).collect();
                let table = source.names.first().map_or("the subquery", String::as_str);
                format!("the columns of {table} are {}", names.join(", "))
            });
        let known: Vec<String> = known.collect();
        let names = scope.columns().map(|column| column.name.as_str());
        let names = names.chain(scope.aliases.iter().map(|(name, _)| name.as_str()));
        DialectError::UnknownColumn {
            column: column.to_owned(),
            line: span.start.line,
            at: span.start.column,
            nearest: proctor_model::nearest(plain, names).map(str::to_owned),
            known: if known.is_empty() { "there is no FROM".to_owned() } else { known.join("; ") },
        }
    }
}

/// The expression of a `WITH expression AS name`, which [`prepare`] has made a table of.
fn expression_of(query: &Query) -> Option<&Expr> {
    let SetExpr::Select(select) = &*query.body else { return None };
    let Select { projection, from, .. } = &**select;
    match projection.as_slice() {
        [SelectItem::ExprWithAlias { expr, alias }]
            if from.is_empty() && alias.value == prepare::EXPRESSION =>
        {
            Some(expr)
        }
        _ => None,
    }
}

/// Two queries as one. The default of ClickHouse is `ALL`, but for `UNION`, which has none.
fn combine(
    left: &Inner,
    op: SetOperator,
    quantifier: SetQuantifier,
    right: &Inner,
    span: Span,
) -> Result<Inner> {
    if left.columns.len() != right.columns.len() {
        return Err(wrong("the two sides have different numbers of columns", span));
    }
    let is_all = match (op, quantifier) {
        (SetOperator::Union, SetQuantifier::None) => {
            return Err(wrong("UNION needs ALL or DISTINCT", span));
        }
        (_, SetQuantifier::All | SetQuantifier::None) => true,
        (_, SetQuantifier::Distinct) => false,
        _ => return Err(unsupported("a set operation BY NAME", span)),
    };
    let mut columns: Vec<(String, Type)> = Vec::new();
    for ((name, one), (_, other)) in left.columns.iter().zip(&right.columns) {
        let ty = one.common(other).ok_or_else(|| {
            unsupported(format!("a set operation of {one} and {other}, which is a Variant,"), span)
        })?;
        columns.push((name.clone(), ty));
    }
    let side = |side: &Inner, more: &str| {
        let columns: Vec<String> = side
            .columns
            .iter()
            .zip(&columns)
            .enumerate()
            .map(|(at, ((_, from), (_, to)))| {
                let value = Typed::new(format!("c{at}"), from.clone(), span).to(to);
                format!("{} AS c{at}", value.sql)
            })
            .collect();
        format!("SELECT {}{more} FROM ({})", columns.join(", "), side.sql)
    };
    let name = match op {
        SetOperator::Union => "UNION",
        SetOperator::Intersect => "INTERSECT",
        SetOperator::Except | SetOperator::Minus => "EXCEPT",
    };
    let sql = if op == SetOperator::Union {
        let all = if is_all { " ALL" } else { "" };
        format!("{} {name}{all} {}", side(left, ""), side(right, ""))
    } else if is_all {
        // Equal rows are numbered, so that as many are left as there should be.
        let names: Vec<String> = (0..columns.len()).map(|at| format!("c{at}")).collect();
        let names = names.join(", ");
        let numbered = |inner: &Inner| {
            format!(
                "SELECT {names}, row_number() OVER (PARTITION BY {names}) AS n FROM ({})",
                side(inner, "")
            )
        };
        format!("SELECT {names} FROM ({} {name} {})", numbered(left), numbered(right))
    } else {
        format!("{} {name} {}", side(left, ""), side(right, ""))
    };
    Ok(Inner { sql, columns })
}
