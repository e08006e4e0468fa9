//! Text of strangers, made safe to print.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Replaces every character that acts on a terminal, or hides or reorders text, by its code point,
/// like `\u{1b}`. Line feeds and tabs stay.
///
/// These are the C0 and C1 controls and DEL, the bidirectional controls, the line and paragraph
/// separators, invisible characters that no script needs, interlinear annotation, and the tag
/// characters, in which text can be hidden. The joiners that emoji and scripts need stay.
pub fn inert(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut inert = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if acts(character) {
            // Writing to a string cannot fail.
            let _ = write!(inert, "\\u{{{:x}}}", u32::from(character));
        } else {
            inert.push(character);
        }
    }
    Cow::Owned(inert)
}

/// The same for a JSON document: escapes take the place of the characters, which changes no value.
pub fn inert_json(json: &str) -> String {
    let mut inert = String::with_capacity(json.len());
    let mut done = 0;
    // Inside strings such a character may stand raw; outside of them there is none.
    for (at, character) in json.match_indices(acts) {
        inert.push_str(json.get(done..at).unwrap_or_default());
        for unit in character.encode_utf16() {
            // Writing to a string cannot fail.
            let _ = write!(inert, "\\u{unit:04x}");
        }
        done = at + character.len();
    }
    inert.push_str(json.get(done..).unwrap_or_default());
    inert
}

/// Whether [`inert`] replaces the character.
pub(crate) fn acts(character: char) -> bool {
    matches!(character,
        '\0'..='\x08'
        | '\x0b'..='\x1f'
        | '\x7f'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_any_script_is_borrowed() {
        for text in ["", "a\tb\nc", "Grüße, 世界 👩‍💻", "نص", "क्‍ष", "\\u{1b}"]
        {
            assert!(matches!(inert(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn a_json_document_keeps_its_values() {
        let json = "{\"a\":\"\u{9b}x\u{202e}\u{e0041}\"}";
        let inert = inert_json(json);
        assert_eq!(inert, r#"{"a":"\u009bx\u202e\udb40\udc41"}"#);
        let value: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&inert).unwrap(), value);
    }

    #[test]
    fn what_acts_is_shown_instead() {
        assert_eq!(inert("a\x1b[2Jb\rc"), "a\\u{1b}[2Jb\\u{d}c");
        assert_eq!(inert("\u{9b}31m\x07\x08"), "\\u{9b}31m\\u{7}\\u{8}");
        assert_eq!(inert("a\u{202e}cod.exe"), "a\\u{202e}cod.exe");
        assert_eq!(inert("\u{e0041}"), "\\u{e0041}");
        assert!(
            !inert(&(0..=0x10_ffff).filter_map(char::from_u32).collect::<String>())
                .chars()
                .any(|c| c.is_control() && c != '\n' && c != '\t')
        );
    }
}
