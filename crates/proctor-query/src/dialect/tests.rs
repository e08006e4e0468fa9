use super::*;

fn tables(name: &str) -> Option<Vec<(String, Type)>> {
    let column = |name: &str, ty: Type| (name.to_owned(), ty);
    (name == "t").then(|| {
        vec![
            column("a", Type::String),
            column("b", Type::UInt(64)),
            column("c", Type::String.nullable()),
            column("d", Type::Int(64).nullable()),
        ]
    })
}

fn translated(text: &str) -> Result<Asked, DialectError> {
    translate(text, &tables)
}

fn sql(text: &str) -> String {
    match translated(text) {
        Ok(Asked::Select { sql, .. }) => sql,
        other => panic!("{text}: {other:?}"),
    }
}

fn columns(text: &str) -> String {
    match translated(text) {
        Ok(Asked::Select { columns, .. }) => {
            let columns: Vec<String> =
                columns.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
            columns.join(", ")
        }
        other => panic!("{text}: {other:?}"),
    }
}

fn refused(text: &str) -> String {
    translated(text).unwrap_err().to_string()
}

#[test]
fn statements_become_statements_of_sqlite() {
    for (text, expected) in [
        ("SELECT a FROM t", "SELECT s1.\"a\" AS c0 FROM \"t\" AS s1"),
        (
            "SELECT count() FROM t PREWHERE b = 1 WHERE a LIKE '%x'",
            "SELECT count(*) AS c0 FROM \"t\" AS s1 WHERE (s1.\"b\" = 1) AND ch_like(s1.\"a\", '%x')",
        ),
        (
            "SELECT sumIf(b, a = 'x') FROM t",
            "SELECT coalesce(sum(s1.\"b\") FILTER (WHERE (s1.\"a\" = 'x')), 0) AS c0 FROM \"t\" AS s1",
        ),
        ("SELECT b FROM t LIMIT 5, 10", "SELECT s1.\"b\" AS c0 FROM \"t\" AS s1 LIMIT 10 OFFSET 5"),
        (
            "SELECT b AS n FROM t WHERE n > 1 ORDER BY n DESC",
            "SELECT s1.\"b\" AS c0 FROM \"t\" AS s1 WHERE (s1.\"b\" > 1) ORDER BY s1.\"b\" DESC NULLS LAST",
        ),
    ] {
        assert_eq!(sql(text), expected, "{text}");
    }
}

#[test]
fn columns_have_the_names_and_types_of_clickhouse() {
    for (text, expected) in [
        (
            "SELECT count(*), 1 + 2, a = 'x' FROM t GROUP BY a",
            "count() UInt64, plus(1, 2) UInt16, equals(a, 'x') UInt8",
        ),
        (
            "SELECT b / 2, b - 1, d, max(d) FROM t GROUP BY b, d",
            "divide(b, 2) Float64, minus(b, 1) Int64, d Nullable(Int64), max(d) Nullable(Int64)",
        ),
        (
            "SELECT if(b > 1, 1, -1) AS x, [1, 2][1], c IS NULL FROM t",
            "x Int16, arrayElement([1, 2], 1) UInt8, isNull(c) UInt8",
        ),
    ] {
        assert_eq!(columns(text), expected, "{text}");
    }
}

#[test]
fn what_is_refused_is_named_with_its_place_and_the_way_out() {
    for (text, expected) in [
        (
            "SELECT arrayMap(x -> x, [1]) FROM t",
            "`arrayMap` with a lambda (line 1, column 8) cannot be translated; `--engine clickhouse` answers it",
        ),
        (
            "SELECT a FROM numbers(3)",
            "the table function `numbers` (line 1, column 15) cannot be translated; `--engine clickhouse` answers it",
        ),
        (
            "SELECT\n  a = 1 FROM t",
            "String and UInt8 cannot be compared (`toString` or `toInt64OrNull` make them alike) (line 2, column 3)",
        ),
        (
            "SELECT zz FROM t",
            "unknown column `zz` (line 1, column 8); the columns of t are a, b, c, d",
        ),
        (
            "SELECT a, count() FROM t",
            "`a` stands neither in an aggregate nor in GROUP BY (line 1, column 8)",
        ),
        (
            "INSERT INTO t VALUES (1)",
            "only SELECT, WITH, SHOW TABLES and DESCRIBE are answered, one statement at a time",
        ),
        (
            "SELECT 1; SELECT 2",
            "only SELECT, WITH, SHOW TABLES and DESCRIBE are answered, one statement at a time",
        ),
        ("", "only SELECT, WITH, SHOW TABLES and DESCRIBE are answered, one statement at a time"),
        (
            "SELECT ch_like(a, 'b') FROM t",
            "unknown function `ch_like` (line 1, column 8); did you mean `ilike`?; `--engine clickhouse` has all of ClickHouse's",
        ),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
    assert!(refused("SELEC 1").starts_with("the statement cannot be read: "));
}

#[test]
fn size_and_nesting_have_limits() {
    let deep = format!("SELECT {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(translated(&deep), Err(DialectError::TooLarge));
    let chain = format!("SELECT 1{}", "+1".repeat(MAX_TOKENS / 2 - 10));
    assert!(sql(&chain).contains("+ 1)"));
    let longer = format!("SELECT 1{}", " + 1".repeat(MAX_TOKENS));
    assert_eq!(translated(&longer), Err(DialectError::TooLarge));
    let long = format!("SELECT '{}'", "x".repeat(MAX_STATEMENT_BYTES));
    assert_eq!(translated(&long), Err(DialectError::TooLarge));
    // Each name stands for twice the one before.
    let names: Vec<String> =
        (1..40).map(|at| format!("a{} + a{} AS a{at}", at - 1, at - 1)).collect();
    assert_eq!(
        translated(&format!("SELECT 1 AS a0, {}", names.join(", "))),
        Err(DialectError::TooLarge)
    );
    let nested = format!("{}SELECT 1{}", "SELECT * FROM (".repeat(40), ")".repeat(40));
    assert_eq!(translated(&nested), Err(DialectError::TooLarge));
}

#[test]
fn tables_and_columns_can_be_asked_for() {
    assert_eq!(translated("SHOW TABLES"), Ok(Asked::Tables));
    assert_eq!(translated("DESCRIBE TABLE events"), Ok(Asked::Columns("events".to_owned())));
    assert_eq!(translated("DESC events"), Ok(Asked::Columns("events".to_owned())));
}

#[test]
fn the_format_is_told_and_taken_out() {
    let format = |text: &str| match translated(text) {
        Ok(Asked::Select { format, .. }) => format,
        other => panic!("{other:?}"),
    };
    assert_eq!(format("SELECT 1 FORMAT JSONEachRow;").as_deref(), Some("JSONEachRow"));
    assert_eq!(format("SELECT a FROM t\nformat TSV\n").as_deref(), Some("TSV"));
    assert_eq!(format("SELECT a format FROM t"), None);
}
