//! TOML documents to [`Node`]s: tables become objects, dates strings.

use std::collections::BTreeMap;

use proctor_model::{Diagnostic, Location};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::json::{Locator, decode, too_long};
use super::{Kind, MAX_BYTES, Member, Node, Problems};

/// Reads one TOML document. Every mistake of the grammar is pushed, and after one there is no tree.
pub fn toml(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    if bytes.len() as u64 > MAX_BYTES {
        problems.push(too_long(bytes.len() as u64));
        return None;
    }
    let text = decode(bytes, problems)?;
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let mut locator = Locator::new(text);
        for error in errors {
            let start = error.span().map_or(text.len(), |span| span.start);
            let message = format!("invalid TOML: {}", error.message().trim_end());
            let at = locator.at(start);
            problems.push_error(|| Diagnostic::error(message).at(at));
        }
        return None;
    }
    let mut offsets = Vec::new();
    offsets_of_table(root.get_ref(), &mut offsets);
    let places = Places::new(text, offsets);
    let kind = Kind::Object(members(root.get_ref(), &places));
    Some(Node { location: Location { line: 1, column: 1 }, kind })
}

/// The places of offsets, found in one pass although tables may be continued anywhere.
struct Places(BTreeMap<usize, Location>);

impl Places {
    fn new(text: &str, mut offsets: Vec<usize>) -> Self {
        offsets.sort_unstable();
        let mut locator = Locator::new(text);
        Self(offsets.into_iter().map(|offset| (offset, locator.at(offset))).collect())
    }

    fn of<T>(&self, spanned: &Spanned<T>) -> Location {
        let start = spanned.span().start;
        self.0.get(&start).copied().unwrap_or(Location { line: 1, column: 1 })
    }
}

fn offsets_of_table(table: &DeTable<'_>, offsets: &mut Vec<usize>) {
    for (key, value) in table {
        offsets.push(key.span().start);
        offsets_of_value(value, offsets);
    }
}

fn offsets_of_value(value: &Spanned<DeValue<'_>>, offsets: &mut Vec<usize>) {
    offsets.push(value.span().start);
    match value.get_ref() {
        DeValue::Table(table) => offsets_of_table(table, offsets),
        DeValue::Array(items) => {
            for item in items {
                offsets_of_value(item, offsets);
            }
        }
        _ => {}
    }
}

fn members(table: &DeTable<'_>, places: &Places) -> Vec<Member> {
    let mut members: Vec<Member> = table
        .iter()
        .map(|(key, value)| Member {
            key: key.get_ref().to_string(),
            key_location: places.of(key),
            value: node(value, places),
        })
        .collect();
    members.sort_by_key(|member| member.key_location);
    members
}

fn node(value: &Spanned<DeValue<'_>>, places: &Places) -> Node {
    let kind = match value.get_ref() {
        DeValue::String(text) => Kind::String(text.to_string()),
        DeValue::Boolean(value) => Kind::Bool(*value),
        DeValue::Integer(integer) => Kind::Number(
            i128::from_str_radix(integer.as_str(), integer.radix())
                .map_or_else(|_| integer.as_str().to_owned(), |value| value.to_string()),
        ),
        DeValue::Float(float) => Kind::Number(float_text(float.as_str())),
        DeValue::Datetime(date) => Kind::String(date.to_string()),
        DeValue::Array(items) => Kind::Array(items.iter().map(|item| node(item, places)).collect()),
        DeValue::Table(table) => Kind::Object(members(table, places)),
    };
    Node { location: places.of(value), kind }
}

/// A float in the spelling of JSON and of [`super::yaml()`].
fn float_text(written: &str) -> String {
    let plain = written.strip_prefix('+').unwrap_or(written);
    match plain {
        "inf" => ".inf".to_owned(),
        "-inf" => "-.inf".to_owned(),
        "nan" | "-nan" => ".nan".to_owned(),
        number => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::{Field, json};

    fn read(text: &str) -> Result<Node, String> {
        let mut problems = Problems::new("f".into());
        toml(text.as_bytes(), &mut problems).ok_or_else(|| problems.finish().to_string())
    }

    fn kind(node: &Node, path: &[&str]) -> (Kind, Location, Location) {
        let mut node = node;
        let mut key = node.location;
        for name in path {
            let Kind::Object(members) = &node.kind else { panic!("{node:?}") };
            let member = members.iter().find(|member| member.key == *name).unwrap();
            (node, key) = (&member.value, member.key_location);
        }
        (node.kind.clone(), key, node.location)
    }

    #[test]
    fn values_and_places_are_those_of_the_text() {
        let text = "a = 1\n[lint.evals]\n  \"é\" = +0.8\nd = 2026-10-05\n\n[b]\nc = [0x1F, 1_0, inf]\n\
                    [lint.severity]\nAR997 = \"off\"\n";
        let root = read(text).unwrap();
        let at = |line, column| Location { line, column };
        assert_eq!(
            kind(&root, &["lint", "evals", "é"]),
            (Kind::Number("0.8".to_owned()), at(3, 3), at(3, 9))
        );
        assert_eq!(
            kind(&root, &["lint", "severity", "AR997"]),
            (Kind::String("off".to_owned()), at(9, 1), at(9, 9))
        );
        assert_eq!(kind(&root, &["lint", "evals", "d"]).0, Kind::String("2026-10-05".to_owned()));
        let mut problems = Problems::new("f".into());
        let numbers = json(b"[31, 10]", &mut problems).unwrap();
        let Kind::Array(expected) = numbers.kind else { panic!() };
        let Kind::Array(found) = kind(&root, &["b", "c"]).0 else { panic!() };
        let kinds = |nodes: &[Node]| nodes.iter().map(|n| n.kind.clone()).collect::<Vec<_>>();
        assert_eq!(kinds(&found[..2]), kinds(&expected));
        assert_eq!(found[2].kind, Kind::Number(".inf".to_owned()));
        assert_eq!(Field::root(&root).path(), "");
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        let found = read("a = \nb = 1\nb = 2\n[c\n").unwrap_err();
        insta::assert_snapshot!(found);
        assert!(read("a = \"\u{1}\"").unwrap_err().starts_with("f:1:6: invalid TOML"));
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("a = {}", "[".repeat(100_000))).is_err());
        assert!(read(&format!("{}\nx = 1", "a.".repeat(50_000))).is_err());
    }

    #[test]
    fn tables_continued_anywhere_take_linear_time() {
        use std::fmt::Write as _;
        let mut text = String::new();
        for number in 0..20_000 {
            writeln!(text, "[a.t{number}]\nx = 1\n[b.t{number}]\ny = 1").unwrap();
        }
        assert!(read(&text).is_ok());
    }
}
