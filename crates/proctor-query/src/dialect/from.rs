//! What stands after `FROM`.

use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, ObjectName, Query, SelectItem, SetExpr, Spanned,
    TableFactor, TableWithJoins,
};
use sqlparser::tokenizer::Span;

use super::scope::{Column, Kind, Scope, Source, stored};
use super::typed::{call, default_of, or_default, unsupported, wrong};
use super::{Columns, DialectError, Inner, Translator, operators};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

/// A table or subquery that is translated.
struct Relation {
    /// SQL, with the name that SQLite knows it by.
    sql: String,
    source: Source,
}

impl Translator<'_> {
    /// The sources of a `SELECT`, and SQL for them: ` FROM ...` or nothing.
    pub(super) fn from(&mut self, from: &[TableWithJoins]) -> Result<(String, Vec<Source>)> {
        let mut sql = String::new();
        let mut sources: Vec<Source> = Vec::new();
        for table in from {
            let relation = self.relation(&table.relation)?;
            sql += if sql.is_empty() { " FROM " } else { " CROSS JOIN " };
            sql += &relation.sql;
            sources.push(relation.source);
            for join in &table.joins {
                self.join(join, &mut sql, &mut sources)?;
            }
        }
        Ok((sql, sources))
    }

    /// A table by its name, as a query: `x IN table`.
    pub(super) fn whole_table(&mut self, name: &ObjectName) -> Result<Inner> {
        let (sql, columns, kind) = self.table(name)?;
        let names: Vec<String> = columns
            .iter()
            .enumerate()
            .map(|(at, (name, ty))| match kind {
                Kind::Table => format!("{} AS c{at}", stored(&super::typed::named(name), ty)),
                Kind::Query => format!("c{at}"),
            })
            .collect();
        Ok(Inner { sql: format!("SELECT {} FROM {sql}", names.join(", ")), columns })
    }

    fn table(&self, name: &ObjectName) -> Result<(String, Columns, Kind)> {
        let span = name.span();
        let written = name.to_string();
        let plain = written.trim_matches(['`', '"']);
        if let Some((_, sql, columns)) = self.ctes.iter().rev().find(|(cte, ..)| cte == plain) {
            return Ok((sql.clone(), columns.clone(), Kind::Query));
        }
        match (self.tables)(plain) {
            Some(columns) => Ok((super::typed::named(plain), columns, Kind::Table)),
            None => Err(DialectError::UnknownTable {
                table: plain.to_owned(),
                line: span.start.line,
                column: span.start.column,
            }),
        }
    }

    fn relation(&mut self, factor: &TableFactor) -> Result<Relation> {
        match factor {
            TableFactor::Table { name, args: Some(_), .. } => {
                Err(unsupported(format!("the table function `{name}`"), name.span()))
            }
            TableFactor::Table { sample: Some(_), name, .. }
            | TableFactor::Table { version: Some(_), name, .. } => {
                Err(unsupported("SAMPLE or a version of a table", name.span()))
            }
            TableFactor::Table { name, alias, .. } => {
                let (sql, columns, kind) = self.table(name)?;
                let known = self.next_name();
                // `FINAL` merges rows of some engines of ClickHouse; there are none to merge here.
                let alias = alias.as_ref().map(|alias| alias.name.value.clone());
                let alias = alias.filter(|alias| !alias.eq_ignore_ascii_case("final"));
                let plain = name.to_string().trim_matches(['`', '"']).to_owned();
                let source = Source::new(vec![alias.unwrap_or(plain)], &known, &columns, kind);
                Ok(Relation { sql: format!("{sql} AS {known}"), source })
            }
            TableFactor::Derived { lateral: true, .. } => {
                Err(unsupported("LATERAL", factor.span()))
            }
            TableFactor::Derived { subquery, alias, .. } => {
                let inner = self.query(subquery)?;
                let known = self.next_name();
                let names = alias.iter().map(|alias| alias.name.value.clone()).collect();
                let source = Source::new(names, &known, &inner.columns, Kind::Query);
                Ok(Relation { sql: format!("({}) AS {known}", inner.sql), source })
            }
            other => Err(unsupported(format!("`{other}` after FROM"), other.span())),
        }
    }

    fn join(&mut self, join: &Join, sql: &mut String, sources: &mut Vec<Source>) -> Result<()> {
        use JoinOperator as Op;
        let span = join.relation.span();
        let (kind, constraint) = match &join.join_operator {
            Op::ArrayJoin | Op::InnerArrayJoin => {
                return self.array_join_clause(&join.relation, false, sql, sources);
            }
            Op::LeftArrayJoin => return self.array_join_clause(&join.relation, true, sql, sources),
            Op::CrossJoin(JoinConstraint::None) => {
                let relation = self.relation(&join.relation)?;
                *sql += &format!(" CROSS JOIN {}", relation.sql);
                sources.push(relation.source);
                return Ok(());
            }
            Op::Join(constraint) | Op::Inner(constraint) => (Side::Inner, constraint),
            Op::Left(constraint) | Op::LeftOuter(constraint) => (Side::Left, constraint),
            Op::Right(constraint) | Op::RightOuter(constraint) => (Side::Right, constraint),
            Op::FullOuter(constraint) => (Side::Full, constraint),
            Op::Semi(_) | Op::LeftSemi(_) | Op::RightSemi(_) => {
                return Err(unsupported("a SEMI JOIN (`IN` says the same)", span));
            }
            Op::Anti(_) | Op::LeftAnti(_) | Op::RightAnti(_) => {
                return Err(unsupported("an ANTI JOIN (`NOT IN` says the same)", span));
            }
            Op::AsOf { .. } => return Err(unsupported("an ASOF JOIN", span)),
            _ => return Err(unsupported("this kind of JOIN", span)),
        };
        let relation = self.relation(&join.relation)?;
        if join.global {
            return self.any_join(kind, relation, constraint, span, sql, sources);
        }
        let on = self.join_condition(kind, &relation.source, constraint, span, sources)?;
        *sql += &format!(" {} {} ON {}", kind.sql(), relation.sql, on.sql);
        sources.push(relation.source);
        finish_join(kind, &on.using, span, sources)
    }

    /// `ON`, or the columns of `USING`.
    fn join_condition(
        &mut self,
        kind: Side,
        right: &Source,
        constraint: &JoinConstraint,
        span: Span,
        sources: &[Source],
    ) -> Result<On> {
        match constraint {
            JoinConstraint::On(condition) => {
                let mut both = sources.to_vec();
                both.push(right.clone());
                let mut scope = Scope::new(both);
                let condition = self.expr(condition, &mut scope)?;
                if !scope.array_joins.is_empty() {
                    return Err(unsupported("`arrayJoin` in ON", span));
                }
                Ok(On {
                    sql: operators::condition(&condition)?.sql,
                    using: Vec::new(),
                    equal: Vec::new(),
                })
            }
            JoinConstraint::Using(names) => {
                if kind == Side::Full {
                    return Err(unsupported("FULL JOIN with USING", span));
                }
                let mut equal = Vec::new();
                let mut using = Vec::new();
                for name in names {
                    let name = name.to_string().trim_matches(['`', '"']).to_owned();
                    let is_it = |column: &&Column| column.name == name && !column.is_hidden;
                    let left = sources.iter().flat_map(|source| &source.columns).find(is_it);
                    let right = right.columns.iter().find(is_it);
                    let typed = |column: Option<&Column>| column.map(|column| column.typed(span));
                    let (Some(left), Some(right)) = (typed(left), typed(right)) else {
                        return Err(wrong(
                            format!("`{name}` of USING is not a column of both sides"),
                            span,
                        ));
                    };
                    let op = sqlparser::ast::BinaryOperator::Eq;
                    let equality = operators::binary(&left, &op, &right, span)?;
                    if left.ty.plain() != right.ty.plain() {
                        return Err(unsupported(
                            format!("USING with {} and {}", left.ty, right.ty),
                            span,
                        ));
                    }
                    equal.push((left.sql, right.sql));
                    using.push((name, equality.sql));
                }
                let sql: Vec<String> = using.iter().map(|(_, sql)| sql.clone()).collect();
                Ok(On {
                    sql: sql.join(" AND "),
                    using: using.into_iter().map(|(name, _)| name).collect(),
                    equal,
                })
            }
            _ => Err(unsupported("a JOIN without ON or USING", span)),
        }
    }

    /// `ANY LEFT JOIN`: at most one row of the right side for each of the left.
    fn any_join(
        &mut self,
        kind: Side,
        relation: Relation,
        constraint: &JoinConstraint,
        span: Span,
        sql: &mut String,
        sources: &mut Vec<Source>,
    ) -> Result<()> {
        if kind != Side::Left {
            return Err(unsupported("an ANY JOIN that is no ANY LEFT JOIN", span));
        }
        let mut on = self.join_condition(kind, &relation.source, constraint, span, sources)?;
        if let JoinConstraint::On(condition) = constraint {
            let mut both = sources.clone();
            both.push(relation.source.clone());
            self.equalities(condition, &mut Scope::new(both), &relation.source, &mut on.equal)?;
        }
        let known = relation.sql.rsplit(' ').next().unwrap_or_default().to_owned();
        let keys: Vec<String> = on.equal.iter().map(|(_, right)| right.clone()).collect();
        let first = format!(
            "(SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY {}) AS n FROM {}) WHERE n = 1) AS {known}",
            keys.join(", "),
            relation.sql
        );
        *sql += &format!(" LEFT JOIN {first} ON {}", on.sql);
        sources.push(relation.source);
        finish_join(kind, &on.using, span, sources)
    }

    /// The equalities of an `ON` that has nothing else.
    fn equalities(
        &mut self,
        condition: &Expr,
        scope: &mut Scope,
        right: &Source,
        found: &mut Vec<(String, String)>,
    ) -> Result<()> {
        use sqlparser::ast::BinaryOperator as Op;
        let is_right = |sql: &str| right.columns.iter().any(|column| column.sql == sql);
        match condition {
            Expr::Nested(inner) => self.equalities(inner, scope, right, found),
            Expr::BinaryOp { left, op: Op::And, right: other } => {
                self.equalities(left, scope, right, found)?;
                self.equalities(other, scope, right, found)
            }
            Expr::BinaryOp { left, op: Op::Eq, right: other } => {
                let (one, other) = (self.expr(left, scope)?.sql, self.expr(other, scope)?.sql);
                match (is_right(&one), is_right(&other)) {
                    (false, true) => found.push((one, other)),
                    (true, false) => found.push((other, one)),
                    _ => return Err(unsupported("this ON of an ANY JOIN", condition.span())),
                }
                Ok(())
            }
            other => Err(unsupported("this ON of an ANY JOIN", other.span())),
        }
    }

    /// `[LEFT] ARRAY JOIN a AS x, b AS y`: a row an element, of all arrays at once.
    fn array_join_clause(
        &mut self,
        factor: &TableFactor,
        is_left: bool,
        sql: &mut String,
        sources: &mut Vec<Source>,
    ) -> Result<()> {
        let span = factor.span();
        let items = match factor {
            TableFactor::Derived { subquery, .. } => array_items(subquery),
            _ => None,
        };
        let items = items.ok_or_else(|| unsupported("this ARRAY JOIN", span))?;
        let table = self.next_name();
        let mut arrays = Vec::new();
        let mut scope = Scope::new(sources.clone());
        for (expr, alias) in &items {
            let array = self.expr(expr, &mut scope)?;
            let Type::Array(element) = array.ty.clone() else {
                return Err(wrong(format!("ARRAY JOIN of {}", array.ty), expr.span()));
            };
            let name = match (alias, expr) {
                (Some(alias), _) => alias.clone(),
                (None, Expr::Identifier(name)) => name.value.clone(),
                _ => {
                    return Err(unsupported(
                        "ARRAY JOIN of an expression without a name",
                        expr.span(),
                    ));
                }
            };
            arrays.push((array, *element, name, alias.is_some()));
        }
        if !scope.array_joins.is_empty() {
            return Err(unsupported("`arrayJoin` within ARRAY JOIN", span));
        }
        let all: Vec<&str> = arrays.iter().map(|(array, ..)| array.sql.as_str()).collect();
        let first = match all.as_slice() {
            [one] => (*one).to_owned(),
            many => call("ch_same_length", many),
        };
        *sql += &if is_left {
            format!(" LEFT JOIN json_each({first}) AS {table} ON 1")
        } else {
            format!(" CROSS JOIN json_each({first}) AS {table}")
        };
        let mut added = Vec::new();
        for (at, (array, element, name, is_named)) in arrays.into_iter().enumerate() {
            let value = if at == 0 && *element.plain() != Type::Float {
                format!("{table}.value")
            } else {
                format!("ch_element({}, {table}.key + 1)", array.sql)
            };
            let column = Column {
                name: name.clone(),
                sql: or_default(&value, &element),
                ty: element,
                is_hidden: false,
                is_in_star: !is_named,
            };
            let mut columns = sources.iter_mut().flat_map(|source| &mut source.columns);
            match columns.find(|column| !is_named && column.name == name) {
                Some(replaced) => *replaced = column,
                None => added.push(column),
            }
        }
        // These names come before those of columns.
        sources.insert(0, Source { names: Vec::new(), columns: added });
        Ok(())
    }

    fn next_name(&mut self) -> String {
        self.names += 1;
        format!("s{}", self.names)
    }
}

/// The expressions that [`super::prepare`] has put into a subquery, with their names.
fn array_items(query: &Query) -> Option<Vec<(&Expr, Option<String>)>> {
    let SetExpr::Select(select) = &*query.body else { return None };
    if !select.from.is_empty() || query.order_by.is_some() || query.limit_clause.is_some() {
        return None;
    }
    let mut items = Vec::new();
    for item in &select.projection {
        items.push(match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value.clone())),
            _ => return None,
        });
    }
    Some(items)
}

/// Which side of a join keeps rows that have no match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Inner,
    Left,
    Right,
    Full,
}

impl Side {
    fn sql(self) -> &'static str {
        match self {
            Self::Inner => "JOIN",
            Self::Left => "LEFT JOIN",
            Self::Right => "RIGHT JOIN",
            Self::Full => "FULL JOIN",
        }
    }
}

/// A condition of a join.
struct On {
    sql: String,
    /// The columns of `USING`.
    using: Vec<String>,
    /// Columns that are equal, left and right.
    equal: Vec<(String, String)>,
}

/// What the columns are after a join: ClickHouse has no NULL where a row has no match, but the
/// default of the type.
fn finish_join(kind: Side, using: &[String], span: Span, sources: &mut [Source]) -> Result<()> {
    let Some((right, left)) = sources.split_last_mut() else { return Ok(()) };
    let filled = |column: &mut Column| {
        if column.ty == Type::Float {
            return Err(unsupported("an outer JOIN with a column of fractions", span));
        }
        if !column.ty.is_nullable() {
            column.sql = format!("coalesce({}, {})", column.sql, default_of(&column.ty));
        }
        Ok(())
    };
    for name in using {
        let of_right = right.columns.iter_mut().find(|column| column.name == *name);
        let mut columns = left.iter_mut().flat_map(|source| &mut source.columns);
        let of_left = columns.find(|column| column.name == *name && !column.is_hidden);
        if let (Some(of_right), Some(of_left)) = (of_right, of_left) {
            of_right.is_hidden = true;
            of_right.is_in_star = false;
            if kind == Side::Right {
                of_left.sql.clone_from(&of_right.sql);
                of_left.ty = of_right.ty.clone();
            }
        }
    }
    if matches!(kind, Side::Left | Side::Full) {
        right.columns.iter_mut().try_for_each(filled)?;
    }
    if matches!(kind, Side::Right | Side::Full) {
        let is_kept = |column: &&mut Column| kind == Side::Full || !using.contains(&column.name);
        let columns = left.iter_mut().flat_map(|source| &mut source.columns);
        columns.filter(is_kept).try_for_each(filled)?;
    }
    Ok(())
}
