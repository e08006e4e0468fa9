//! One `SELECT`.

use std::rc::Rc;

use sqlparser::ast::{
    Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    LimitClause, OrderBy, OrderByExpr, OrderByKind, OrderBySort, Select, SelectItem,
    SelectItemQualifiedWildcardKind, Spanned, Value, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;

use super::scope::{Column, Place, Scope};
use super::typed::{Typed, unsupported, wrong};
use super::{DialectError, Inner, Translator, column_name, operators};
use crate::types::Type;

type Result<T> = std::result::Result<T, DialectError>;

/// Something that a `SELECT` gives.
struct Item {
    name: String,
    what: What,
}

enum What {
    Expr(Rc<Expr>),
    Column(Column),
}

/// The parts of the statement that are translated.
#[derive(Default)]
struct Parts {
    items: Vec<(String, Typed)>,
    filters: Vec<String>,
    keys: Vec<Typed>,
    having: Option<String>,
    qualify: Option<String>,
    /// What rows are ordered by, with and without the direction.
    order: Vec<(String, String)>,
    is_grouped: bool,
    is_distinct: bool,
    limit: Limit,
    limit_by: Option<LimitBy>,
}

/// Which rows are given.
#[derive(Clone, Copy, Default)]
pub(super) struct Limit {
    pub(super) rows: Option<u64>,
    pub(super) offset: u64,
    /// The offset of a `LIMIT n BY` before it.
    pub(super) by_offset: u64,
}

struct LimitBy {
    keys: Vec<String>,
    rows: u64,
    offset: u64,
}

impl Translator<'_> {
    pub(super) fn select(
        &mut self,
        select: &Select,
        order_by: Option<&OrderBy>,
        limit: Option<&LimitClause>,
        after: Limit,
    ) -> Result<Inner> {
        refuse(select)?;
        let (from, sources) = self.from(&select.from)?;
        let mut scope = Scope::new(sources);
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { expr, alias } = item {
                scope.aliases.push((alias.value.clone(), Rc::new(expr.clone())));
            }
        }
        scope.windows.clone_from(&select.named_window);
        let items = self.items(select, &scope)?;
        let mut parts = Parts { is_distinct: select.distinct.is_some(), ..Parts::default() };
        for filter in [&select.prewhere, &select.selection].into_iter().flatten() {
            let filter = self.expr(filter, &mut scope)?;
            parts.filters.push(operators::condition(&filter)?.sql);
        }
        scope.loose.clear();
        self.group_by(&select.group_by, &items, &mut scope, &mut parts)?;
        scope.place = Place::Groups;
        for item in &items {
            let typed = self.item(item, &mut scope)?;
            parts.items.push((item.name.clone(), typed));
        }
        if let Some(having) = &select.having {
            let having = self.expr(having, &mut scope)?;
            parts.having = Some(operators::condition(&having)?.sql);
        }
        if let Some(qualify) = &select.qualify {
            let qualify = self.expr(qualify, &mut scope)?;
            parts.qualify = Some(operators::condition(&qualify)?.sql);
        }
        if let Some(order_by) = order_by {
            parts.order = self.order_by(order_by, &items, &mut scope)?;
        }
        self.limits(limit, after, &mut scope, &mut parts)?;
        if let Some(Distinct::On(keys)) = &select.distinct {
            let keys = self.exprs(keys, &mut scope)?;
            if parts.limit_by.is_some() {
                return Err(unsupported("DISTINCT ON together with LIMIT BY", select.span()));
            }
            let keys = keys.into_iter().map(|key| key.sql).collect();
            parts.limit_by = Some(LimitBy { keys, rows: 1, offset: 0 });
            parts.is_distinct = false;
        }
        parts.is_grouped |= scope.has_aggregates;
        finish(&from, &scope, &parts, select.span())
    }

    /// What is selected, with `*` and `COLUMNS` written out.
    #[expect(clippy::unused_self, reason = "beside the other clauses")]
    fn items(&self, select: &Select, scope: &Scope) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        let mut subqueries = 0;
        for item in &select.projection {
            match item {
                SelectItem::UnnamedExpr(expr) => match columns_function(expr)? {
                    Some(regex) => {
                        let fits =
                            |column: &&Column| column.is_in_star && regex.is_match(&column.name);
                        items.extend(scope.columns().filter(fits).map(of_column));
                    }
                    None => items.push(Item {
                        name: name_of(expr, &items, &mut subqueries),
                        what: What::Expr(Rc::new(expr.clone())),
                    }),
                },
                SelectItem::ExprWithAlias { expr, alias } => items.push(Item {
                    name: alias.value.clone(),
                    what: What::Expr(Rc::new(expr.clone())),
                }),
                SelectItem::Wildcard(options) => star(scope, None, options, &mut items)?,
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let name = name.to_string().trim_matches(['`', '"']).to_owned();
                    star(scope, Some(&name), options, &mut items)?;
                }
                other => return Err(unsupported(format!("`{other}`"), other.span())),
            }
        }
        if items.is_empty() {
            return Err(wrong("nothing is selected", select.span()));
        }
        Ok(items)
    }

    fn item(&mut self, item: &Item, scope: &mut Scope) -> Result<Typed> {
        match &item.what {
            What::Expr(expr) => {
                // Within what a name stands for, the name means the column.
                let is_alias = scope.aliases.iter().any(|(name, _)| *name == item.name);
                if is_alias {
                    scope.expanding.push(item.name.clone());
                }
                let typed = self.expr(expr, scope);
                if is_alias {
                    scope.expanding.pop();
                }
                typed
            }
            What::Column(column) => {
                let typed = column.typed(Span::empty());
                if !scope.keys.contains(&typed.sql) {
                    scope.loose.push((column.name.clone(), Span::empty()));
                }
                Ok(typed)
            }
        }
    }

    fn group_by(
        &mut self,
        group_by: &GroupByExpr,
        items: &[Item],
        scope: &mut Scope,
        parts: &mut Parts,
    ) -> Result<()> {
        let (exprs, modifiers) = match group_by {
            GroupByExpr::All(modifiers) => (None, modifiers),
            GroupByExpr::Expressions(exprs, modifiers) => (Some(exprs), modifiers),
        };
        if let Some(modifier) = modifiers.first() {
            let span = exprs.and_then(|exprs| exprs.first()).map_or(Span::empty(), Spanned::span);
            return Err(unsupported(modifier.to_string(), span));
        }
        let mut keys = Vec::new();
        if let Some(exprs) = exprs {
            for expr in exprs {
                keys.push(match position(expr, items)? {
                    Some(item) => self.item(item, scope)?,
                    None => self.expr(expr, scope)?,
                });
            }
        } else {
            scope.place = Place::Groups;
            for item in items {
                scope.has_aggregates = false;
                let key = self.item(item, scope)?;
                if !scope.has_aggregates {
                    keys.push(key);
                }
            }
            scope.place = Place::Rows;
        }
        parts.is_grouped = !keys.is_empty() || scope.has_aggregates;
        scope.has_aggregates = false;
        scope.loose.clear();
        for key in keys {
            scope.keys.push(key.sql.clone());
            if let Some(inner) = &key.parts {
                scope.keys.extend(inner.iter().map(|part| part.sql.clone()));
                parts.keys.extend(inner.iter().cloned());
            } else {
                parts.keys.push(key);
            }
        }
        Ok(())
    }

    fn order_by(
        &mut self,
        order_by: &OrderBy,
        items: &[Item],
        scope: &mut Scope,
    ) -> Result<Vec<(String, String)>> {
        if order_by.interpolate.is_some() {
            return Err(unsupported("INTERPOLATE", Span::empty()));
        }
        let mut terms = Vec::new();
        match &order_by.kind {
            OrderByKind::All(options) => {
                for item in items {
                    let value = self.item(item, scope)?;
                    terms.extend(directed(&value, options.sort.as_ref(), options.nulls_first)?);
                }
            }
            OrderByKind::Expressions(exprs) => {
                for term in exprs {
                    match position(&term.expr, items)? {
                        Some(item) => {
                            let value = self.item(item, scope)?;
                            let options = &term.options;
                            terms.extend(directed(
                                &value,
                                options.sort.as_ref(),
                                options.nulls_first,
                            )?);
                        }
                        None => terms.extend(self.order_term(term, scope)?),
                    }
                }
            }
        }
        Ok(terms)
    }

    /// SQL for what rows are ordered by: with the direction, and without it.
    pub(super) fn order_term(
        &mut self,
        term: &OrderByExpr,
        scope: &mut Scope,
    ) -> Result<Vec<(String, String)>> {
        if term.with_fill.is_some() {
            return Err(unsupported("WITH FILL", term.expr.span()));
        }
        let value = self.expr(&term.expr, scope)?;
        directed(&value, term.options.sort.as_ref(), term.options.nulls_first)
    }

    fn limits(
        &mut self,
        limit: Option<&LimitClause>,
        after: Limit,
        scope: &mut Scope,
        parts: &mut Parts,
    ) -> Result<()> {
        let offset_of = |offset: Option<&Expr>| offset.map_or(Ok(0), count);
        match limit {
            None => {}
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                parts.limit =
                    Limit { rows: Some(count(limit)?), offset: count(offset)?, by_offset: 0 };
            }
            Some(LimitClause::LimitOffset { limit, offset, limit_by }) => {
                let rows = limit.as_ref().map(count).transpose()?;
                let offset = offset_of(offset.as_ref().map(|offset| &offset.value))?;
                if limit_by.is_empty() {
                    parts.limit = Limit { rows, offset, by_offset: 0 };
                } else {
                    let keys = self.exprs(limit_by, scope)?;
                    let keys = keys.into_iter().map(|key| key.sql).collect();
                    let rows = rows.unwrap_or(0);
                    let offset = offset.max(after.by_offset);
                    parts.limit_by = Some(LimitBy { keys, rows, offset });
                    parts.limit = after;
                }
            }
        }
        Ok(())
    }
}

/// The name of a column that has none. Of two of one name the second keeps its table's, and
/// subqueries are numbered.
fn name_of(expr: &Expr, items: &[Item], subqueries: &mut usize) -> String {
    let name = column_name::of(expr);
    if let Expr::CompoundIdentifier(parts) = expr {
        let is_other = |item: &Item| {
            item.name == name && !matches!(&item.what, What::Expr(other) if **other == *expr)
        };
        if items.iter().any(is_other) {
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            return parts.join(".");
        }
    }
    let mut pieces = name.split(column_name::SUBQUERY);
    let mut numbered = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        *subqueries += 1;
        numbered += &format!("{}_{subqueries}{piece}", column_name::SUBQUERY);
    }
    numbered
}

fn of_column(column: &Column) -> Item {
    Item { name: column.name.clone(), what: What::Column(column.clone()) }
}

fn refuse(select: &Select) -> Result<()> {
    let what = if select.into.is_some() {
        return Err(DialectError::NoQuestion);
    } else if select.top.is_some() {
        "TOP"
    } else if !select.lateral_views.is_empty() {
        "LATERAL VIEW"
    } else if !select.connect_by.is_empty() {
        "CONNECT BY"
    } else if !select.cluster_by.is_empty()
        || !select.distribute_by.is_empty()
        || !select.sort_by.is_empty()
    {
        "CLUSTER BY, DISTRIBUTE BY or SORT BY"
    } else {
        return Ok(());
    };
    Err(unsupported(what, select.span()))
}

/// `COLUMNS('regex')`.
fn columns_function(expr: &Expr) -> Result<Option<regex::Regex>> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else {
        return Ok(None);
    };
    if !name.to_string().eq_ignore_ascii_case("COLUMNS") {
        return Ok(None);
    }
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(pattern)))] = list.args.as_slice()
    else {
        return Err(unsupported("COLUMNS with something else than one pattern", expr.span()));
    };
    let Value::SingleQuotedString(pattern) = &pattern.value else {
        return Err(wrong("COLUMNS takes a pattern", expr.span()));
    };
    let regex = regex::RegexBuilder::new(pattern).size_limit(1 << 20).build();
    regex
        .map(Some)
        .map_err(|error| wrong(format!("the pattern cannot be used: {error}"), expr.span()))
}

/// `*` or `table.*`.
fn star(
    scope: &Scope,
    table: Option<&str>,
    options: &WildcardAdditionalOptions,
    items: &mut Vec<Item>,
) -> Result<()> {
    let span = options.wildcard_token.0.span;
    if options.opt_ilike.is_some() || options.opt_rename.is_some() || options.opt_exclude.is_some()
    {
        return Err(unsupported("ILIKE, RENAME or EXCLUDE after `*`", span));
    }
    let mut left_out: Vec<&str> = Vec::new();
    if let Some(except) = &options.opt_except {
        left_out.push(&except.first_element.value);
        left_out.extend(except.additional_elements.iter().map(|name| name.value.as_str()));
    }
    let sources = scope
        .sources
        .iter()
        .filter(|source| table.is_none_or(|table| source.names.iter().any(|name| name == table)));
    let sources: Vec<_> = sources.collect();
    if sources.is_empty() {
        return Err(wrong("there is no table whose columns `*` could mean", span));
    }
    for source in sources {
        for column in source.columns.iter().filter(|column| column.is_in_star) {
            if left_out.contains(&column.name.as_str()) {
                continue;
            }
            let mut item = of_column(column);
            let replaced = options.opt_replace.iter().flat_map(|replace| &replace.items);
            if let Some(new) = replaced.into_iter().find(|new| new.column_name.value == column.name)
            {
                item.what = What::Expr(Rc::new(new.expr.clone()));
            }
            // The second of two columns of one name is called by its table, too.
            if items.iter().any(|other: &Item| other.name == item.name)
                && let (None, Some(table)) = (table, source.names.first())
            {
                item.name = format!("{table}.{}", column.name);
            }
            items.push(item);
        }
    }
    Ok(())
}

/// `ORDER BY 2`, `GROUP BY 1`: what stands there.
fn position<'a>(expr: &Expr, items: &'a [Item]) -> Result<Option<&'a Item>> {
    let Expr::Value(value) = expr else { return Ok(None) };
    let Value::Number(number, _) = &value.value else { return Ok(None) };
    let at = number.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
    let item = at.and_then(|at| items.get(at));
    item.map(Some).ok_or_else(|| wrong("there is no column of that number", value.span))
}

fn directed(
    value: &Typed,
    sort: Option<&OrderBySort>,
    nulls_first: Option<bool>,
) -> Result<Vec<(String, String)>> {
    if let Some(parts) = &value.parts {
        let terms = parts.iter().map(|part| directed(part, sort, nulls_first));
        return Ok(terms.collect::<Result<Vec<_>>>()?.concat());
    }
    // Ordering by a number would mean a column to SQLite.
    if value.constant.is_some() {
        return Ok(Vec::new());
    }
    if value.ty.is_compound() {
        return Err(unsupported(format!("ORDER BY of {}", value.ty), value.span));
    }
    let direction = match sort {
        None | Some(OrderBySort::Asc) => "ASC",
        Some(OrderBySort::Desc) => "DESC",
        Some(OrderBySort::Using(_)) => return Err(unsupported("ORDER BY USING", value.span)),
    };
    let nulls = if nulls_first == Some(true) { "FIRST" } else { "LAST" };
    Ok(vec![(format!("{} {direction} NULLS {nulls}", value.sql), value.sql.clone())])
}

/// A number of rows.
pub(super) fn count(expr: &Expr) -> Result<u64> {
    let number = match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(number, _) => number.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    number
        .filter(|number: &u64| i64::try_from(*number).is_ok())
        .ok_or_else(|| unsupported("a LIMIT or OFFSET that is no whole number", expr.span()))
}

fn finish(from: &str, scope: &Scope, parts: &Parts, span: Span) -> Result<Inner> {
    if parts.is_grouped
        && let Some((name, place)) = scope.loose.first()
    {
        return Err(wrong(
            format!("`{name}` stands neither in an aggregate nor in GROUP BY"),
            *place,
        ));
    }
    if parts.is_distinct {
        let is_selected =
            |(_, sql): &(String, String)| parts.items.iter().any(|(_, item)| item.sql == *sql);
        if !parts.order.iter().all(is_selected) {
            return Err(unsupported(
                "DISTINCT with ORDER BY of something that is not selected",
                span,
            ));
        }
    }
    let mut filters: Vec<&str> = parts.filters.iter().map(String::as_str).collect();
    let mut having = parts.having.as_deref();
    if !parts.is_grouped {
        filters.extend(having.take());
    }
    let mut tail = String::new();
    for (array, table) in &scope.array_joins {
        let join = if from.is_empty() && tail.is_empty() { " FROM" } else { " CROSS JOIN" };
        tail += &format!("{join} json_each({array}) AS {table}");
    }
    if !filters.is_empty() {
        tail += &format!(" WHERE {}", filters.join(" AND "));
    }
    if parts.is_grouped && !parts.keys.is_empty() {
        // A constant is no key, unless there is no other: then there is no group without a row.
        let keys: Vec<&str> = parts
            .keys
            .iter()
            .filter(|key| key.constant.is_none())
            .map(|key| key.sql.as_str())
            .collect();
        let keys = if keys.is_empty() { "(0 + 0)".to_owned() } else { keys.join(", ") };
        tail += &format!(" GROUP BY {keys}");
    }
    if let Some(having) = having {
        tail += &format!(" HAVING {having}");
    }
    let columns: Vec<(String, Type)> =
        parts.items.iter().map(|(name, typed)| (name.clone(), typed.ty.clone())).collect();
    let items: Vec<String> = parts
        .items
        .iter()
        .enumerate()
        .map(|(at, (_, item))| format!("{} AS c{at}", item.sql))
        .collect();
    let items = items.join(", ");
    let distinct = if parts.is_distinct { "DISTINCT " } else { "" };
    let limit = limit_sql(&parts.limit);
    if parts.limit_by.is_none() && parts.qualify.is_none() {
        let order = terms(parts.order.iter().map(|(term, _)| term.as_str()));
        let sql = format!("SELECT {distinct}{items}{from}{tail}{order}{limit}");
        return Ok(Inner { sql, columns });
    }
    if parts.is_distinct {
        return Err(unsupported("DISTINCT together with LIMIT BY or QUALIFY", span));
    }
    let sql = around(items, &format!("{from}{tail}"), parts, &limit);
    Ok(Inner { sql, columns })
}

/// LIMIT BY and QUALIFY come after the rows are made: a query around them.
fn around(mut inner: String, from: &str, parts: &Parts, limit: &str) -> String {
    let mut order = Vec::new();
    for (at, (term, sql)) in parts.order.iter().enumerate() {
        inner += &format!(", {sql} AS o{at}");
        order.push(format!("o{at}{}", term.strip_prefix(sql.as_str()).unwrap_or_default()));
    }
    if let Some(qualify) = &parts.qualify {
        inner += &format!(", {qualify} AS q");
    }
    let order = terms(order.iter().map(String::as_str));
    let filter = if parts.qualify.is_some() { " WHERE q" } else { "" };
    let rows = if let Some(LimitBy { keys, rows, offset }) = &parts.limit_by {
        for (at, key) in keys.iter().enumerate() {
            inner += &format!(", {key} AS b{at}");
        }
        let by: Vec<String> = (0..keys.len()).map(|at| format!("b{at}")).collect();
        format!(
            "(SELECT *, row_number() OVER (PARTITION BY {}{order}) AS n FROM (SELECT {inner}{from}){filter}) \
             WHERE n > {offset} AND n <= {}",
            by.join(", "),
            offset.saturating_add(*rows)
        )
    } else {
        format!("(SELECT {inner}{from}){filter}")
    };
    let outer: Vec<String> = (0..parts.items.len()).map(|at| format!("c{at}")).collect();
    format!("SELECT {} FROM {rows}{order}{limit}", outer.join(", "))
}

fn terms<'a>(terms: impl Iterator<Item = &'a str>) -> String {
    let terms: Vec<&str> = terms.collect();
    if terms.is_empty() { String::new() } else { format!(" ORDER BY {}", terms.join(", ")) }
}

fn limit_sql(limit: &Limit) -> String {
    match (limit.rows, limit.offset) {
        (None, 0) => String::new(),
        (rows, offset) => {
            let rows = rows.map_or("-1".to_owned(), |rows| rows.to_string());
            format!(" LIMIT {rows} OFFSET {offset}")
        }
    }
}
