//! The letters of a text: what is left of it however it was laid out.

/// How far an escape like `&quot;` may reach.
const MAX_ENTITY: usize = 10;

/// The letters of a text in lower case, without anything between them.
///
/// Spaces, line breaks, numbers, quotation marks and punctuation go, so that a text that was wrapped
/// anew, numbered, quoted, framed or spaced out has the same letters as before. So do escapes that
/// have letters of their own (`\n`, `\u2014`, `%20`, `=3D`, `&lt;`, `^I`, `M-b`, colours of a
/// terminal): a text that holds them from the beginning loses the same letters.
pub(super) fn squash(text: &str) -> String {
    let mut letters = String::with_capacity(text.len() / 2 + text.len() / 4);
    let mut rest = text;
    while let Some(&first) = rest.as_bytes().first() {
        let skipped = match first {
            b'a'..=b'z' => {
                letters.push(char::from(first));
                1
            }
            b'M' if rest.as_bytes().get(1) == Some(&b'-') => meta_length(rest.as_bytes()),
            b'A'..=b'Z' => {
                letters.push(char::from(first.to_ascii_lowercase()));
                1
            }
            b'\\' => match escape(rest.as_bytes()) {
                (length, Some(character)) => {
                    push(&mut letters, character);
                    length
                }
                (length, None) => length,
            },
            b'%' => hex_length(rest.as_bytes(), |digit| digit.is_ascii_hexdigit()),
            b'=' => hex_length(rest.as_bytes(), |digit| matches!(digit, b'0'..=b'9' | b'A'..=b'F')),
            b'&' => entity_length(rest.as_bytes()),
            b'^' => caret_length(rest.as_bytes()),
            0x1b => colour_length(rest.as_bytes()),
            0..0x80 => 1,
            _ => {
                let character = rest.chars().next().unwrap_or_default();
                push(&mut letters, character);
                character.len_utf8()
            }
        };
        // A length that is inside a character ends with it.
        let skipped = (skipped..rest.len()).find(|&at| rest.is_char_boundary(at));
        rest = skipped.and_then(|at| rest.get(at..)).unwrap_or_default();
    }
    letters
}

fn push(letters: &mut String, character: char) {
    if character.is_alphabetic() {
        letters.extend(character.to_lowercase());
    }
}

/// A backslash and what belongs to it: how long that is, and the letter for which it stands.
fn escape(bytes: &[u8]) -> (usize, Option<char>) {
    let code = |digits: usize| {
        let digits =
            bytes.get(2..2 + digits).filter(|all| all.iter().all(u8::is_ascii_hexdigit))?;
        let digits = std::str::from_utf8(digits).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    match bytes.get(1) {
        Some(b'u') => code(4).map_or((2, None), |code| (6, char::from_u32(code))),
        Some(b'x') => code(2).map_or((2, None), |_| (4, None)),
        _ => (2, None),
    }
}

/// `%20` or `=3D`.
fn hex_length(bytes: &[u8], is_digit: impl Fn(u8) -> bool) -> usize {
    match bytes {
        [_, high, low, ..] if is_digit(*high) && is_digit(*low) => 3,
        _ => 1,
    }
}

/// `&lt;` or `&#39;`.
fn entity_length(bytes: &[u8]) -> usize {
    let name = bytes.iter().skip(1).take(MAX_ENTITY);
    let length = name.take_while(|b| b.is_ascii_alphanumeric() || **b == b'#').count();
    if length > 0 && bytes.get(1 + length) == Some(&b';') { length + 2 } else { 1 }
}

/// `^I`, as `cat -A` writes it.
fn caret_length(bytes: &[u8]) -> usize {
    if matches!(bytes.get(1), Some(b'?'..=b'_')) { 2 } else { 1 }
}

/// `M-b` or `M-^Y`, as `cat -A` writes it.
fn meta_length(bytes: &[u8]) -> usize {
    match bytes.get(2) {
        Some(b'^') => 2 + caret_length(bytes.get(2..).unwrap_or_default()),
        Some(_) => 3,
        None => 2,
    }
}

/// The escape and what follows it, up to its last letter.
fn colour_length(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'[') {
        return 1;
    }
    let parameters = bytes.iter().skip(2).take_while(|b| matches!(b, b'0'..=b'?')).count();
    3 + parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_goes_and_the_letters_stay() {
        let plain = "asktheusertwice";
        for text in [
            "Ask the user twice.",
            "     1\tAsk the\n     2\tuser twice",
            "> Ask the\n> user\n> twice",
            "ask-the_user/TWICE 12",
            r#""Ask\tthe\nuser\u0020twice""#,
            "Ask%20the%20user%0atwice",
            "Ask=20the=\nuser=0Atwice",
            "&quot;Ask&#32;the user&nbsp;twice",
            "Ask^Ithe user twice$",
            "AskM-bM-^@M-^Ythe user twice",
            "\u{1b}[01;31mAsk\u{1b}[0m\u{1b}[K the user twice",
            "A s k\u{a0}t h e — u s e r t w i c e",
            r"A\u0053k the user twice",
        ] {
            assert_eq!(squash(text), plain, "{text:?}");
        }
    }

    #[test]
    fn escapes_that_are_none_and_ends_of_texts_are_harmless() {
        for (text, expected) in [
            ("", ""),
            ("\\", ""),
            ("a\\", "a"),
            ("\\u12", ""),
            ("\\u00e9T", "ét"),
            ("\\uZZZZ", "zzzz"),
            ("%", ""),
            ("100% of", "of"),
            ("&", ""),
            ("a & b; c", "abc"),
            ("M-", ""),
            ("M", "m"),
            ("^", ""),
            ("\u{1b}[", ""),
            ("\u{1b}[é", ""),
            ("\\é", ""),
            ("M-é", ""),
            ("ÉCOLE 学校", "école学校"),
        ] {
            assert_eq!(squash(text), expected, "{text:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_letters_only(text: String) {
            proptest::prop_assert!(squash(&text).chars().all(|c| !c.is_ascii() || c.is_lowercase()));
        }
    }
}
