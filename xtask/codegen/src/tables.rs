//! The tables of evidence, for people.

use std::fmt::Write as _;

use proctor_query::schema::{EVIDENCE_VERSION, TABLES};

/// The reference of the tables in Markdown.
pub(crate) fn markdown() -> String {
    let mut text = format!(
        "# Tables of evidence\n\nVersion {EVIDENCE_VERSION}. `proctor query --tables` and `DESCRIBE TABLE` say \
         the same; [how to ask them](../evidence.md). Types are those of ClickHouse.\n"
    );
    for table in TABLES {
        // A string takes everything.
        let _ = write!(
            text,
            "\n## {}\n\n{}; told apart by {}.\n\n| column | type | |\n|---|---|---|\n",
            table.name,
            table.doc,
            table.key.join(", ")
        );
        for column in table.columns {
            let (name, kind) = (column.name, column.clickhouse_type());
            let _ = writeln!(text, "| `{name}` | {kind} | {} |", column.doc);
        }
    }
    text
}
