//! What names mean within one `SELECT`.

use std::rc::Rc;

use sqlparser::ast::{Expr, NamedWindowDefinition};
use sqlparser::tokenizer::Span;

use super::typed::{Typed, named};
use crate::types::Type;

/// A column of a source.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) ty: Type,
    /// SQL that gives it within the `SELECT`.
    pub(super) sql: String,
    /// Whether its name alone means it: not the second one of two that `USING` makes one.
    pub(super) is_hidden: bool,
    /// Whether `*` means it, too.
    pub(super) is_in_star: bool,
}

/// A table, subquery or array in `FROM`.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// The names by which its columns are qualified.
    pub(super) names: Vec<String>,
    pub(super) columns: Vec<Column>,
}

impl Source {
    /// Columns of a table or subquery that SQLite knows as `table`.
    pub(super) fn new(
        names: Vec<String>,
        table: &str,
        columns: &[(String, Type)],
        kind: Kind,
    ) -> Self {
        let column = |(at, (name, ty)): (usize, &(String, Type))| Column {
            name: name.clone(),
            ty: ty.clone(),
            sql: match kind {
                Kind::Table => stored(&format!("{table}.{}", named(name)), ty),
                Kind::Query => format!("{table}.c{at}"),
            },
            is_hidden: false,
            is_in_star: true,
        };
        Self { names, columns: columns.iter().enumerate().map(column).collect() }
    }
}

/// SQL for the value of a column of a table: times are texts there.
pub(super) fn stored(column: &str, ty: &Type) -> String {
    match ty.plain() {
        time @ Type::DateTime64(_) => format!("ch_read('{time}', 'fail', {column})"),
        _ => column.to_owned(),
    }
}

/// What SQLite calls the columns of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// By their names.
    Table,
    /// By their places: `c0`, `c1`, ...
    Query,
}

/// Where an expression stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Where rows are as they come: `WHERE`, `GROUP BY`, arguments of aggregates.
    Rows,
    /// Where rows may be grouped: `SELECT`, `HAVING`, `ORDER BY`.
    Groups,
}

/// Everything that names mean, and what the expressions so far need.
pub(super) struct Scope {
    pub(super) sources: Vec<Source>,
    /// Names that the `SELECT` and its `WITH` give to expressions.
    pub(super) aliases: Vec<(String, Rc<Expr>)>,
    /// The aliases that are being looked into.
    pub(super) expanding: Vec<String>,
    pub(super) windows: Vec<NamedWindowDefinition>,
    /// Expressions by which rows are grouped, as SQL.
    pub(super) keys: Vec<String>,
    /// Columns that stand outside of aggregates, with their places.
    pub(super) loose: Vec<(String, Span)>,
    /// `arrayJoin`s: the array as SQL, and the name of the table that it is joined as.
    pub(super) array_joins: Vec<(String, String)>,
    pub(super) place: Place,
    /// Within the arguments of an aggregate or a window.
    pub(super) is_inside: bool,
    pub(super) has_aggregates: bool,
    pub(super) has_windows: bool,
}

/// What a name was found to be.
pub(super) enum Found {
    Alias(Rc<Expr>),
    Column(Typed),
    Ambiguous,
    Nothing,
}

impl Scope {
    pub(super) fn new(sources: Vec<Source>) -> Self {
        Self {
            sources,
            aliases: Vec::new(),
            expanding: Vec::new(),
            windows: Vec::new(),
            keys: Vec::new(),
            loose: Vec::new(),
            array_joins: Vec::new(),
            place: Place::Rows,
            is_inside: false,
            has_aggregates: false,
            has_windows: false,
        }
    }

    /// A plain name: an alias before a column, unless the alias is what is being looked into.
    pub(super) fn find(&self, name: &str, span: Span) -> Found {
        if !self.expanding.iter().any(|open| open == name)
            && let Some((_, expr)) = self.aliases.iter().find(|(alias, _)| alias == name)
        {
            return Found::Alias(Rc::clone(expr));
        }
        let mut found = self
            .sources
            .iter()
            .flat_map(|source| &source.columns)
            .filter(|column| column.name == name && !column.is_hidden);
        match (found.next(), found.next()) {
            (None, _) => Found::Nothing,
            // The columns of an `ON` are both there, and the left one is meant.
            (Some(column), _) => Found::Column(column.typed(span)),
        }
    }

    /// `table.column`.
    pub(super) fn find_in(&self, table: &str, name: &str, span: Span) -> Found {
        let source = self.sources.iter().find(|source| source.names.iter().any(|n| n == table));
        let Some(source) = source else { return Found::Nothing };
        let mut found = source.columns.iter().filter(|column| column.name == name);
        match (found.next(), found.next()) {
            (None, _) => Found::Nothing,
            (Some(column), None) => Found::Column(column.typed(span)),
            (Some(_), Some(_)) => Found::Ambiguous,
        }
    }

    /// The columns of all sources, as people are told of them.
    pub(super) fn columns(&self) -> impl Iterator<Item = &Column> {
        self.sources.iter().flat_map(|source| &source.columns)
    }
}

impl Column {
    pub(super) fn typed(&self, span: Span) -> Typed {
        Typed::new(self.sql.clone(), self.ty.clone(), span)
    }
}
