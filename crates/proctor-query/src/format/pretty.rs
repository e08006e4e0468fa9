//! `Pretty` and `PrettyCompact`: tables for people.

#![expect(clippy::format_push_string, reason = "a table is made a line at a time")]

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::{Value, values};
use crate::answer::{Cell, Heading, Sink};
use crate::types::Type;

/// Rows of which one table is made: the widths are those of its widest values.
const MAX_ROWS: usize = 10_000;
/// Characters of a line of a value that are shown.
const MAX_WIDTH: usize = 10_000;
/// The bytes that the rows of one table may take.
const MAX_BYTES: usize = 16 << 20;

/// The lines of a table.
pub(super) struct Style {
    /// Whether the names have lines of their own.
    is_heavy: bool,
}

pub(super) const HEAVY: Style = Style { is_heavy: true };
pub(super) const LIGHT: Style = Style { is_heavy: false };

/// Collects rows and writes tables.
pub(super) struct Writer<W> {
    out: W,
    style: &'static Style,
    columns: Vec<Heading>,
    /// The lines of the values of rows.
    rows: Vec<Vec<Vec<String>>>,
    bytes: usize,
    /// The rows that are written.
    done: usize,
}

impl<W> Writer<W> {
    pub(super) fn new(out: W, style: &'static Style) -> Self {
        Self { out, style, columns: Vec::new(), rows: Vec::new(), bytes: 0, done: 0 }
    }
}

/// Whether values stand at the right side: numbers and times.
pub(super) fn is_right(ty: &Type) -> bool {
    let plain = ty.plain();
    (plain.is_number() && *plain != Type::Bool) || plain.is_time()
}

/// A text on one line, without what a terminal would obey or not show.
pub(super) fn inert(text: &str) -> String {
    let acts = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut shown = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == MAX_WIDTH {
            shown.push('⋯');
            break;
        }
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' => shown.push_str("\\t"),
            c if acts(c) => shown += &format!("\\u{{{:x}}}", u32::from(c)),
            c => shown.push(c),
        }
    }
    shown
}

fn width(text: &str) -> usize {
    text.width()
}

/// The lines of a value: those that go on are marked.
fn lines(value: &Value) -> Vec<String> {
    if *value == Value::Null {
        return vec!["ᴺᵁᴸᴸ".to_owned()];
    }
    let text = value.text();
    let count = text.split('\n').count();
    let marked = text.split('\n').enumerate().map(|(at, line)| {
        let before = if at > 0 { "↳" } else { "" };
        let after = if at + 1 < count { "↴" } else { "" };
        format!("{before}{}{after}", inert(line))
    });
    marked.collect()
}

fn padded(text: &str, width_of: usize, right: bool) -> String {
    padded_with(" ", text, width_of, right)
}

fn padded_with(fill: &str, text: &str, width_of: usize, right: bool) -> String {
    let fill = fill.repeat(width_of.saturating_sub(width(text)));
    if right { format!("{fill}{text}") } else { format!("{text}{fill}") }
}

impl<W: Write> Writer<W> {
    fn table(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(&mut self.rows);
        self.bytes = 0;
        let names: Vec<String> = self.columns.iter().map(|column| inert(&column.name)).collect();
        let right: Vec<bool> = self.columns.iter().map(|column| is_right(&column.ty)).collect();
        let widths: Vec<usize> = names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let values = rows.iter().filter_map(|row| row.get(at)).flatten();
                values.map(|line| width(line)).chain([width(name)]).max().unwrap_or(0)
            })
            .collect();
        let last = self.done + rows.len();
        let number_width = last.to_string().len().max(1) + 1;
        let margin = " ".repeat(number_width + 1);
        let rule = |line: char, left: &str, middle: &str, right: &str| {
            let parts: Vec<String> =
                widths.iter().map(|width| line.to_string().repeat(width + 2)).collect();
            format!("{margin}{left}{}{right}\n", parts.join(middle))
        };
        let fill = if self.style.is_heavy { " " } else { "─" };
        let names: Vec<String> = names
            .iter()
            .zip(&widths)
            .zip(&right)
            .map(|((name, wide), right)| {
                format!("{fill}{}{fill}", padded_with(fill, name, *wide, *right))
            })
            .collect();
        let mut text = String::new();
        if self.style.is_heavy {
            text += &rule('━', "┏", "┳", "┓");
            text += &format!("{margin}┃{}┃\n", names.join("┃"));
            text += &rule('━', "┡", "╇", "┩");
        } else {
            text += &format!("{margin}┌{}┐\n", names.join("┬"));
        }
        for (at, row) in rows.iter().enumerate() {
            if at > 0 && self.style.is_heavy {
                text += &rule('─', "├", "┼", "┤");
            }
            let height = row.iter().map(Vec::len).max().unwrap_or(1);
            for line in 0..height {
                let number =
                    if line == 0 { format!("{}.", self.done + at + 1) } else { String::new() };
                text += &padded(&number, number_width, true);
                text.push(' ');
                for ((value, wide), right) in row.iter().zip(&widths).zip(&right) {
                    let value = value.get(line).map_or("", String::as_str);
                    text += &format!("│ {} ", padded(value, *wide, *right));
                }
                text += "│\n";
            }
        }
        text += &rule('─', "└", "┴", "┘");
        self.done = last;
        self.out.write_all(text.as_bytes())
    }
}

impl<W: Write> Sink for Writer<W> {
    fn columns(&mut self, columns: &[Heading]) -> io::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        let row: Vec<Vec<String>> = values(&self.columns, cells)?.iter().map(lines).collect();
        self.bytes += row.iter().flatten().map(|line| line.len() + 24).sum::<usize>();
        self.rows.push(row);
        if self.rows.len() >= MAX_ROWS || self.bytes >= MAX_BYTES { self.table() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        self.table()?;
        Ok(())
    }
}
