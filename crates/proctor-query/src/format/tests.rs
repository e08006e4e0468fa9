use super::*;
use crate::types::Type;

/// A row with every kind of value, as ClickHouse 26.7 was asked for it.
fn written(format: Format) -> String {
    let read = |ty: &str| Type::read(ty).unwrap();
    let columns = [
        ("a", "UInt8"),
        ("s", "String"),
        ("arr", "Array(UInt8)"),
        ("sa", "Array(String)"),
        ("n", "Nullable(String)"),
        ("f", "Float64"),
        ("g", "Float64"),
        ("b", "Bool"),
        ("d", "Date"),
        ("t", "Tuple(UInt8, String)"),
        ("m", "Map(String, UInt8)"),
        ("dt", "DateTime64(3)"),
    ];
    let columns = columns.map(|(name, ty)| Heading { name: name.to_owned(), ty: read(ty) });
    let text = |text: &'static str| Cell::Text(text.into());
    let row = [
        Cell::Whole(1),
        text("x,\"y\"\tz/é"),
        text("[1,2]"),
        text(r#"["a\tb","c"]"#),
        Cell::Null,
        Cell::Float(1.5),
        Cell::Null,
        Cell::Whole(1),
        Cell::Whole(19_724),
        text(r#"[1,"q"]"#),
        text(r#"[["k",1]]"#),
        Cell::Whole(1_704_164_645_600),
    ];
    let mut out = Vec::new();
    let mut writer = format.sink(&mut out);
    writer.columns(&columns).unwrap();
    writer.row(&row).unwrap();
    writer.end().unwrap();
    drop(writer);
    String::from_utf8(out).unwrap()
}

#[test]
fn text_formats_have_the_bytes_of_clickhouse() {
    for (format, expected) in [
        (
            Format::Csv { has_names: false },
            "1,\"x,\"\"y\"\"\tz/é\",\"[1,2]\",\"['a\\tb','c']\",\\N,1.5,nan,true,\"2024-01-02\",1,\"q\",\"{'k':1}\",\"2024-01-02 03:04:05.600\"\n",
        ),
        (
            Format::Tsv { has_names: true },
            "a\ts\tarr\tsa\tn\tf\tg\tb\td\tt\tm\tdt\n1\tx,\"y\"\\tz/é\t[1,2]\t['a\\tb','c']\t\\N\t1.5\tnan\ttrue\t2024-01-02\t(1,'q')\t{'k':1}\t2024-01-02 03:04:05.600\n",
        ),
        (
            Format::JsonEachRow,
            "{\"a\":1,\"s\":\"x,\\\"y\\\"\\tz\\/é\",\"arr\":[1,2],\"sa\":[\"a\\tb\",\"c\"],\"n\":null,\"f\":1.5,\"g\":null,\"b\":true,\"d\":\"2024-01-02\",\"t\":[1,\"q\"],\"m\":{\"k\":1},\"dt\":\"2024-01-02 03:04:05.600\"}\n",
        ),
        (
            Format::JsonCompactEachRow,
            "[1, \"x,\\\"y\\\"\\tz\\/é\", [1,2], [\"a\\tb\",\"c\"], null, 1.5, null, true, \"2024-01-02\", [1,\"q\"], {\"k\":1}, \"2024-01-02 03:04:05.600\"]\n",
        ),
    ] {
        assert_eq!(written(format), expected, "{format:?}");
    }
    assert!(written(Format::Csv { has_names: true }).starts_with(
        "\"a\",\"s\",\"arr\",\"sa\",\"n\",\"f\",\"g\",\"b\",\"d\",\"t.1\",\"t.2\",\"m\",\"dt\"\n"
    ));
}

#[test]
fn one_document_has_types_and_rows() {
    insta::assert_snapshot!(written(Format::Json));
}

#[test]
fn tables_are_drawn_as_clickhouse_draws_them() {
    insta::assert_snapshot!(
        [Format::Pretty, Format::PrettyFull, Format::Markdown].map(written).join("\n")
    );
}

#[test]
fn a_terminal_is_not_commanded() {
    assert_eq!(pretty::inert("\u{1b}[31mred\u{202e}\t"), "\\u{1b}[31mred\\u{202e}\\t");
}

#[test]
fn a_parquet_file_is_one() {
    let mut out = Vec::new();
    let mut writer = Format::Parquet.sink(&mut out);
    let heading = |name: &str, ty| Heading { name: name.to_owned(), ty };
    // Names must differ in such a file.
    writer
        .columns(&[heading("n", Type::UInt(64)), heading("n", Type::array(Type::String))])
        .unwrap();
    writer.row(&[Cell::Whole(1), Cell::Text("[\"a\"]".into())]).unwrap();
    writer.end().unwrap();
    drop(writer);
    assert!(out.starts_with(b"PAR1") && out.ends_with(b"PAR1"));
}

#[test]
fn names_are_those_of_clickhouse() {
    assert_eq!(Format::named("JSONEachRow"), Ok(Format::JsonEachRow));
    assert_eq!(Format::named("TabSeparated"), Ok(Format::Tsv { has_names: false }));
    let error = Format::named("XML").unwrap_err().to_string();
    assert!(error.starts_with("unknown format `XML`; there are JSONEachRow, "), "{error}");
}
