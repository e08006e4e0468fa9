//! Tables, and the statements that make them.

use std::fmt::Write as _;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type, as ClickHouse writes it.
    pub type_name: String,
    /// What it says.
    pub doc: String,
}

/// A table of evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns, in order. One of them is `run_id`, the trial that a row belongs to.
    pub columns: Vec<Column>,
    /// The columns by which rows are kept in order; none of them may be NULL.
    pub key: Vec<String>,
}

impl Table {
    /// Whether the table has a column of this name.
    pub fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|known| known.name == column)
    }

    /// The statement that makes the table when it is not there. `window` is how many of the last
    /// insertions the table remembers, so that one which arrives twice counts once.
    pub(crate) fn create(&self, window: u32) -> String {
        let mut sql = format!("CREATE TABLE IF NOT EXISTS {} (", quoted_name(&self.name));
        for (at, column) in self.columns.iter().enumerate() {
            let separator = if at == 0 { "" } else { ", " };
            let (name, doc) = (quoted_name(&column.name), quoted_text(&column.doc));
            // Writing to a string cannot fail.
            let _ = write!(sql, "{separator}{name} {} COMMENT {doc}", column.type_name);
        }
        let key: Vec<String> = self.key.iter().map(|name| quoted_name(name)).collect();
        let _ = write!(sql, ") ENGINE = MergeTree ORDER BY ({})", key.join(", "));
        if window > 0 {
            let _ = write!(sql, " SETTINGS non_replicated_deduplication_window = {window}");
        }
        sql
    }
}

/// A name in backquotes.
pub(crate) fn quoted_name(name: &str) -> String {
    format!("`{}`", name.replace('\\', "\\\\").replace('`', "\\`"))
}

/// A text in quotes.
pub(crate) fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A table of texts, ordered by the first.
    pub(crate) fn table(name: &str, columns: &[&str]) -> Table {
        let column = |name: &&str| Column {
            name: (*name).to_owned(),
            type_name: "String".to_owned(),
            doc: "it's a text".to_owned(),
        };
        let key = columns.iter().take(1).map(|name| (*name).to_owned()).collect();
        Table { name: name.to_owned(), columns: columns.iter().map(column).collect(), key }
    }

    #[test]
    fn a_table_is_typed_ordered_and_explained() {
        assert_eq!(
            table("events", &["run_id", "kind"]).create(100),
            "CREATE TABLE IF NOT EXISTS `events` (`run_id` String COMMENT 'it\\'s a text', `kind` \
             String COMMENT 'it\\'s a text') ENGINE = MergeTree ORDER BY (`run_id`) SETTINGS \
             non_replicated_deduplication_window = 100"
        );
        assert!(table("x", &["run_id"]).create(0).ends_with("ORDER BY (`run_id`)"));
    }

    #[test]
    fn names_and_texts_cannot_break_out() {
        assert_eq!(quoted_name("a`b\\"), "`a\\`b\\\\`");
        assert_eq!(quoted_text("a'b\\"), "'a\\'b\\\\'");
    }
}
