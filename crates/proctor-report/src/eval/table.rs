//! Columns of text.

use std::fmt::Write as _;

use anstyle::Style;

/// A table in which the first `left` columns stand left and the others right.
pub(super) struct Table<const N: usize> {
    headings: [&'static str; N],
    left: usize,
    rows: Vec<([String; N], Style)>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(headings: [&'static str; N], left: usize) -> Self {
        Self { headings, left, rows: Vec::new() }
    }

    /// Adds a row; `style` is that of its second column.
    pub(super) fn row(&mut self, cells: [String; N], style: Style) {
        self.rows.push((cells, style));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Appends all lines; the headings have the style `quiet`.
    pub(super) fn write(&self, quiet: Style, text: &mut String) {
        let mut widths = self.headings.map(str::len);
        for (cells, _) in &self.rows {
            for (width, cell) in widths.iter_mut().zip(cells) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let headings = self.headings.map(str::to_owned);
        let head = self.line(&headings, &widths, Style::new());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{quiet}{head}{quiet:#}");
        for (cells, style) in &self.rows {
            let _ = writeln!(text, "{}", self.line(cells, &widths, *style));
        }
    }

    fn line(&self, cells: &[String; N], widths: &[usize; N], style: Style) -> String {
        let mut line = String::new();
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let cell = if index < self.left {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            };
            let gap = if index == 0 { "" } else { "  " };
            let style = if index == 1 { style } else { Style::new() };
            // Writing to a string cannot fail.
            let _ = write!(line, "{gap}{style}{cell}{style:#}");
        }
        line
    }
}
