//! Hostile text made harmless for a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Makes control characters, terminal escapes and bidirectional overrides of foreign text visible
/// as `\u{..}` instead of effective. Line feeds and tabs stay.
pub fn inert(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_active(c) {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn is_active(c: char) -> bool {
    // The second group is Unicode's bidirectional controls (UAX #9), line and paragraph
    // separators, and the invisible tag characters.
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(
            c,
            '\u{061C}'
                | '\u{200E}'
                | '\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
                | '\u{E0000}'..='\u{E007F}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_is_borrowed() {
        assert!(matches!(inert("line\n\tüber 漢字"), Cow::Borrowed(_)));
    }

    #[test]
    fn escapes_and_overrides_become_visible() {
        assert_eq!(inert("\u{1b}[2Jx\r\u{202e}y\u{9b}"), "\\u{1b}[2Jx\\u{d}\\u{202e}y\\u{9b}");
    }
}
