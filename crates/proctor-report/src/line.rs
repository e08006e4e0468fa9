//! Text of strangers on one line.

use crate::inert;

/// Text on one line, at most `most` characters of it, safe to print: nothing in it can pass for a
/// line of the report.
///
/// Build servers read commands out of what is printed; `##[` starts one even in the middle of a
/// line, so its bracket is shown as a code point.
pub fn one_line(text: &str, most: usize) -> String {
    let mut shown: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        shown.push_str("...");
    }
    inert(&shown).replace('\n', "\\n").replace('\t', "\\t").replace("##[", "##\\u{5b}")
}

/// A Markdown code span with this text, which stands on one line, whatever back ticks it has. In
/// it, text can neither link, nor mention, nor be HTML.
pub(crate) fn code_span(line: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for character in line.chars() {
        run = if character == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    let space = if line.starts_with('`') || line.ends_with('`') { " " } else { "" };
    format!("{fence}{space}{line}{space}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stays_one_and_commands_nothing() {
        assert_eq!(one_line("a\n::error::b\tc\x1b[2J", 400), "a\\n::error::b\\tc\\u{1b}[2J");
        assert_eq!(one_line("x ##[add-mask]y", 400), "x ##\\u{5b}add-mask]y");
        assert_eq!(one_line("世界世界", 2), "世界...");
        assert_eq!(one_line("世界", 2), "世界");
    }

    #[test]
    fn a_span_is_longer_than_the_back_ticks_in_it() {
        assert_eq!(code_span("a"), "`a`");
        assert_eq!(code_span("a``b"), "```a``b```");
        assert_eq!(code_span("`"), "`` ` ``");
    }
}
