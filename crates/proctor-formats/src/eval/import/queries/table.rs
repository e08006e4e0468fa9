//! Lists as text: YAML, JSON, JSON Lines and CSV, all as values that know their places.

use std::iter::Peekable;
use std::str::Chars;

use proctor_model::{Diagnostic, Location};

use super::MAX_QUERIES;
use crate::tree::{Kind, Member, Node, Problems, json, yaml};

/// How many columns a table may have.
const MAX_COLUMNS: usize = 64;

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Yaml,
    Json,
    JsonLines,
    /// Every value is text, and an empty cell is none.
    Csv,
}

impl Format {
    /// By the ending of the file's name.
    pub(super) fn of(ending: &str) -> Option<Self> {
        match ending.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(Self::Yaml),
            "json" => Some(Self::Json),
            "jsonl" => Some(Self::JsonLines),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// The value that a file holds; rows and lines are the items of a list.
    pub(super) fn read(self, bytes: &[u8], problems: &mut Problems) -> Option<Node> {
        match self {
            Self::Yaml => yaml(bytes, problems),
            Self::Json => json(bytes, problems),
            Self::JsonLines => Some(json_lines(bytes, problems)),
            Self::Csv => csv(bytes, problems),
        }
    }
}

const START: Location = Location { line: 1, column: 1 };

fn json_lines(bytes: &[u8], problems: &mut Problems) -> Node {
    let mut items = Vec::new();
    for (above, line) in (0..).zip(bytes.split(|byte| *byte == b'\n')) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        if items.len() > MAX_QUERIES {
            break;
        }
        let mut slips = Problems::new("".into());
        let item = json(line, &mut slips);
        for slip in slips.finish().0 {
            let location = slip.location.map(|place| below(place, above));
            problems.push(Diagnostic { location, ..slip });
        }
        items.extend(item.map(|mut node| {
            shift(&mut node, above);
            node
        }));
    }
    Node { location: START, kind: Kind::Array(items) }
}

fn below(place: Location, lines: u32) -> Location {
    Location { line: place.line.saturating_add(lines), ..place }
}

/// The parser bounds how deep this goes.
fn shift(node: &mut Node, lines: u32) {
    node.location = below(node.location, lines);
    match &mut node.kind {
        Kind::Array(items) => items.iter_mut().for_each(|item| shift(item, lines)),
        Kind::Object(members) => {
            for member in members {
                member.key_location = below(member.key_location, lines);
                shift(&mut member.value, lines);
            }
        }
        _ => {}
    }
}

/// A table with its columns named in the first row, as RFC 4180 has it.
fn csv(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        problems.push(Diagnostic::error("is not valid UTF-8"));
        return None;
    };
    let mut cells = Cells { rest: text.chars().peekable(), place: START };
    let Some(header) = cells.row(problems) else {
        problems
            .push(Diagnostic::error("holds nothing; expected a row with the names of the columns"));
        return None;
    };
    let columns = columns(&header, problems)?;
    let mut items = Vec::new();
    while let Some(row) = cells.row(problems) {
        let location = row.first().map_or(START, |cell| cell.place);
        if row.len() != columns.len() {
            problems.push_error(|| {
                let (found, expected) = (row.len(), columns.len());
                let message =
                    format!("the row has {found} cell(s), and the first row has {expected}");
                let hint = "a text with a comma or a line break needs quotation marks around it";
                Diagnostic::error(message).at(location).hint(hint)
            });
            continue;
        }
        if items.len() > MAX_QUERIES {
            break;
        }
        let members = columns.iter().zip(row).map(|(key, Cell { text, place })| {
            let kind = if text.trim().is_empty() { Kind::Null } else { Kind::String(text) };
            let value = Node { location: place, kind };
            Member { key: key.clone(), key_location: place, value }
        });
        items.push(Node { location, kind: Kind::Object(members.collect()) });
    }
    Some(Node { location: START, kind: Kind::Array(items) })
}

/// The names of the columns.
fn columns(header: &[Cell], problems: &mut Problems) -> Option<Vec<String>> {
    let mut columns: Vec<String> = Vec::new();
    if header.len() > MAX_COLUMNS {
        let message = format!("has {} columns; the limit is {MAX_COLUMNS}", header.len());
        problems.push(Diagnostic::error(message).at(START));
        return None;
    }
    let mut is_sound = true;
    for Cell { text, place } in header {
        let name = text.trim();
        let offence = match name {
            "" => "the column has no name",
            name if columns.iter().any(|other| other == name) => "the column is there twice",
            _ => "",
        };
        if !offence.is_empty() {
            problems.push(Diagnostic::error(offence).at(*place));
            is_sound = false;
        }
        columns.push(name.to_owned());
    }
    is_sound.then_some(columns)
}

struct Cell {
    text: String,
    place: Location,
}

struct Cells<'a> {
    rest: Peekable<Chars<'a>>,
    place: Location,
}

/// What stands behind a cell.
#[derive(PartialEq)]
enum End {
    Cell,
    Row,
    Table,
}

impl Cells<'_> {
    /// The next row that is not blank.
    fn row(&mut self, problems: &mut Problems) -> Option<Vec<Cell>> {
        loop {
            self.rest.peek()?;
            let mut row = Vec::new();
            loop {
                let place = self.place;
                let mut text = String::new();
                let end = if self.rest.peek() == Some(&'"') {
                    self.quoted(&mut text, place, problems)
                } else {
                    self.plain(&mut text)
                };
                row.push(Cell { text, place });
                if end != End::Cell {
                    break;
                }
            }
            if row.len() > 1 || row.iter().any(|cell| !cell.text.trim().is_empty()) {
                return Some(row);
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let character = self.rest.next()?;
        if character == '\n' {
            self.place = Location { line: self.place.line.saturating_add(1), column: 1 };
        } else {
            self.place.column = self.place.column.saturating_add(1);
        }
        Some(character)
    }

    /// The rest of a cell up to a comma or the end of the line.
    fn plain(&mut self, text: &mut String) -> End {
        loop {
            match self.next() {
                None => return End::Table,
                Some(',') => return End::Cell,
                Some('\n') => return End::Row,
                Some('\r') if self.rest.peek() == Some(&'\n') => {}
                Some(character) => text.push(character),
            }
        }
    }

    /// A cell in quotation marks; two of them stand for one.
    fn quoted(&mut self, text: &mut String, place: Location, problems: &mut Problems) -> End {
        self.next();
        loop {
            match self.next() {
                None => {
                    let error = Diagnostic::error("the quotation mark is never closed");
                    problems.push(error.at(place));
                    return End::Table;
                }
                Some('"') if self.rest.peek() == Some(&'"') => text.extend(self.next()),
                Some('"') => break,
                Some(character) => text.push(character),
            }
        }
        let place = self.place;
        let mut behind = String::new();
        let end = self.plain(&mut behind);
        if !behind.trim().is_empty() {
            problems.push_error(|| {
                let error = Diagnostic::error("text stands behind the closing quotation mark");
                error.at(place).hint("write two quotation marks for one inside a cell")
            });
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The texts of the cells of each row behind the first.
    fn read(text: &str) -> Vec<Vec<String>> {
        let mut problems = Problems::new("t.csv".into());
        let node = csv(text.as_bytes(), &mut problems);
        assert_eq!(problems.finish().to_string(), "", "{text:?}");
        let Some(Node { kind: Kind::Array(rows), .. }) = node else { panic!("{text:?}") };
        let text = |member: Member| match member.value.kind {
            Kind::String(text) => text,
            _ => String::new(),
        };
        let cells = |row: Node| match row.kind {
            Kind::Object(members) => members.into_iter().map(text).collect(),
            _ => Vec::new(),
        };
        rows.into_iter().map(cells).collect()
    }

    #[test]
    fn cells_have_their_places() {
        let mut problems = Problems::new("t.csv".into());
        let node = csv("a,b\r\n\"é\n\",x\n,\"\"\"y\"".as_bytes(), &mut problems).unwrap();
        let Kind::Array(rows) = node.kind else { panic!() };
        let places = |row: &Node| {
            let Kind::Object(members) = &row.kind else { panic!() };
            let place =
                |member: &Member| (member.value.location.line, member.value.location.column);
            members.iter().map(place).collect::<Vec<_>>()
        };
        assert_eq!(places(&rows[0]), [(2, 1), (3, 3)]);
        assert_eq!(places(&rows[1]), [(4, 1), (4, 2)]);
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            rows in prop::collection::vec(prop::collection::vec("[a-c,\"\\n é;]{0,5}", 3), 0..5),
            quote_all in any::<bool>(),
        ) {
            let cell = |text: &String| {
                if quote_all || text.contains([',', '"', '\n']) {
                    format!("\"{}\"", text.replace('"', "\"\""))
                } else {
                    text.clone()
                }
            };
            let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<_>>().join(",");
            let mut text = String::from("x,y,z");
            for row in &rows {
                text = format!("{text}\r\n{}", line(row));
            }
            let kept = |text: &String| if text.trim().is_empty() { "" } else { text }.to_owned();
            let expected: Vec<Vec<String>> =
                rows.iter().map(|row| row.iter().map(kept).collect()).collect();
            prop_assert_eq!(read(&text), expected);
        }
    }
}
