//! Strings as YAML, in the style that the files of ai-rulez have (that of the Go library `yaml.v3`):
//! plain where that reads back as the same string, a block for several lines, quotation marks
//! otherwise.

use std::fmt::Write as _;

/// The text of a value that stands behind `key: ` or `- `. Lines of a block are indented by
/// `indent` spaces.
pub(crate) fn scalar(text: &str, indent: usize) -> String {
    if text.contains('\n') {
        if fits_block(text) { block(text, indent) } else { double_quoted(text) }
    } else if reads_as_something_else(text) || !text.chars().all(is_printable) {
        double_quoted(text)
    } else if fits_plain(text) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

/// Whether YAML takes the character as it is; line separators beyond `\n` are left out, because
/// readers disagree about them.
fn is_printable(character: char) -> bool {
    matches!(character, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}' | '\u{1_0000}'..)
}

fn fits_block(text: &str) -> bool {
    !text.starts_with([' ', '\t', '\n'])
        && !text.ends_with(' ')
        && !text.contains(" \n")
        && text.chars().all(|c| is_printable(c) || matches!(c, '\n' | '\t'))
}

fn block(text: &str, indent: usize) -> String {
    let body = text.trim_end_matches('\n');
    let chomping = match text.len() - body.len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let mut out = format!("|{chomping}");
    // The last line break is that of the last line.
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        out.push('\n');
        if !line.is_empty() {
            let _ = write!(out, "{:indent$}{line}", "");
        }
    }
    out
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        let code = u32::from(character);
        // Writing to a string cannot fail.
        let _ = match character {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\t' => write!(out, "\\t"),
            '\r' => write!(out, "\\r"),
            c if is_printable(c) => write!(out, "{c}"),
            _ if code <= 0xff => write!(out, "\\x{code:02X}"),
            _ if code <= 0xffff => write!(out, "\\u{code:04X}"),
            _ => write!(out, "\\U{code:08X}"),
        };
    }
    out.push('"');
    out
}

/// Whether a reader would see no string: null, a truth value, a number, a date, a merge key, in YAML
/// 1.1 or 1.2.
fn reads_as_something_else(text: &str) -> bool {
    const WORDS: [&str; 13] =
        ["", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", "<<", "="];
    let lower = text.to_ascii_lowercase();
    WORDS.contains(&lower.as_str()) || looks_like_number(&lower) || looks_like_date(text)
}

fn looks_like_number(lower: &str) -> bool {
    let unsigned = lower.strip_prefix(['+', '-']).unwrap_or(lower);
    if matches!(unsigned, ".inf" | ".nan") {
        return true;
    }
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return false;
    }
    let digits = unsigned.replace('_', "");
    let radix = [("0x", 16), ("0o", 8), ("0b", 2)];
    let in_radix = radix.into_iter().any(|(prefix, radix)| {
        digits
            .strip_prefix(prefix)
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
    });
    // Numbers to the base of 60: `12:30:45`.
    let in_sixties = digits.contains(':')
        && digits
            .split(':')
            .all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit() || c == '.'));
    in_radix || in_sixties || digits.parse::<f64>().is_ok()
}

fn looks_like_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut digits = |range: std::ops::RangeInclusive<usize>| {
        parts.next().is_some_and(|part| {
            range.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    digits(4..=4)
        && digits(1..=2)
        && parts.next().is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether the text, which is printable and on one line, may stand without quotation marks in a
/// block.
fn fits_plain(text: &str) -> bool {
    const INDICATORS: [char; 17] =
        ['#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '\u{a0}'];
    let mut characters = text.chars();
    let first = characters.next();
    let second = characters.next();
    let leads = match first {
        Some('-' | '?' | ':') => second.is_none_or(|c| c == ' '),
        Some(first) => INDICATORS.contains(&first) || first == ' ',
        None => true,
    };
    !leads
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.starts_with("---")
        && !text.starts_with("...")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tree::{Kind, Problems, yaml};

    fn read_back(text: &str) -> Option<String> {
        let document = format!("a:\n  - b: {}\n    c: 1\n", scalar(text, 6));
        let mut problems = Problems::new("f".into());
        let node = yaml(document.as_bytes(), &mut problems);
        let messages = problems.finish().to_string();
        assert_eq!(messages, "", "{document}");
        let Kind::Object(members) = node?.kind else { return None };
        let Kind::Array(items) = &members.first()?.value.kind else { return None };
        let Kind::Object(members) = &items.first()?.kind else { return None };
        assert_eq!(members.len(), 2, "{document}");
        match &members.first()?.value.kind {
            Kind::String(text) => Some(text.clone()),
            other => panic!("{other:?} in {document}"),
        }
    }

    #[test]
    fn strings_have_the_style_of_the_go_library() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("2.0.0", "2.0.0"),
            ("imported:tessl", "imported:tessl"),
            ("Explain: how", "'Explain: how'"),
            ("it's", "it's"),
            ("'quoted'", "'''quoted'''"),
            ("true", "\"true\""),
            ("Yes", "\"Yes\""),
            ("12", "\"12\""),
            ("1_000", "\"1_000\""),
            ("0x1f", "\"0x1f\""),
            ("12:30", "\"12:30\""),
            ("2026-01-02", "\"2026-01-02\""),
            ("", "\"\""),
            ("- a", "'- a'"),
            ("-a", "-a"),
            ("a #b", "'a #b'"),
            ("a#b", "a#b"),
            ("key:", "'key:'"),
            ("back\\slash", "back\\slash"),
            ("tab\there", "\"tab\\there\""),
            ("esc\u{1b}", "\"esc\\x1B\""),
            ("a\nb", "|-\n  a\n  b"),
            ("a\n\nb\n", "|\n  a\n\n  b"),
            ("a\n\n", "|+\n  a\n"),
            (" a\nb", "\" a\\nb\""),
            ("a \nb", "\"a \\nb\""),
            ("a\r\nb", "\"a\\r\\nb\""),
            ("日本語", "日本語"),
        ] {
            assert_eq!(scalar(text, 2), expected, "{text:?}");
            assert_eq!(read_back(text).as_deref(), Some(text));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn every_string_reads_back(text in r#"[-a-z0-9 :#'"\\\n\t\r.,?!&*\[\]{}|>%@`~_+=<é\u{a0}\u{85}\u{2028}\u{feff}\u{1b}😀]{0,12}"#) {
            prop_assert_eq!(read_back(&text), Some(text));
        }

        #[test]
        fn every_unicode_string_reads_back(text in any::<String>()) {
            prop_assert_eq!(read_back(&text), Some(text));
        }
    }
}
