//! Regular expressions of JavaScript as patterns of RE2, which is what assertions are written in.
//!
//! A pattern either matches the same texts afterwards, but for what [`differences`] names, or is
//! refused with the reason.

use std::fmt::Write as _;

use crate::eval::assertion::check_pattern;

/// The pattern in RE2, or why there is none.
pub(super) fn translate(pattern: &str, flags: &str) -> Result<String, String> {
    let mut prefix = String::new();
    for flag in flags.chars() {
        match flag {
            'i' | 'm' | 's' if !prefix.contains(flag) => prefix.push(flag),
            // Whether there is a match does not depend on these.
            'g' | 'd' | 'u' | 'i' | 'm' | 's' => {}
            other => return Err(format!("flag `{other}` has no counterpart in RE2")),
        }
    }
    let unicode = flags.contains('u');
    let mut out = if prefix.is_empty() { prefix } else { format!("(?{prefix})") };
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '\\' => {
                let (length, text) = escape(rest, unicode, in_class)?;
                taken = length;
                out.push_str(&text);
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                if rest.starts_with("[]") || rest.starts_with("[^]") {
                    return Err("an empty class has no counterpart in RE2".to_owned());
                }
                in_class = true;
                out.push('[');
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '(' if !in_class && rest.starts_with("(?") => {
                let group = ["(?:", "(?<"].into_iter().find(|group| rest.starts_with(group));
                let looks_back = rest.starts_with("(?<=") || rest.starts_with("(?<!");
                match group {
                    Some("(?<") if !looks_back => {
                        taken = "(?<".len();
                        out.push_str("(?P<");
                    }
                    Some("(?:") => {
                        taken = "(?:".len();
                        out.push_str("(?:");
                    }
                    _ => return Err("looking ahead or behind has no counterpart in RE2".to_owned()),
                }
            }
            // A brace that counts nothing is a character in JavaScript.
            '{' if !in_class && !counts(rest) => out.push_str("\\{"),
            other => out.push(other),
        }
        rest = rest.get(taken..).unwrap_or_default();
    }
    check_pattern(&out).map_err(|why| format!("is no pattern of RE2: {why}"))?;
    Ok(out)
}

/// What a translated pattern may still see differently.
pub(super) fn differences(pattern: &str) -> Option<&'static str> {
    let differs = pattern.contains("\\s")
        || pattern.contains("\\S")
        || pattern.contains('.')
        || pattern.contains('$');
    differs.then_some(
        "patterns of JavaScript were rewritten for RE2: `.`, `\\s` and line ends know only `\\n` \
         and the white space of ASCII there, and case is folded by Unicode",
    )
}

/// Whether a text is its own pattern.
pub(super) fn is_literal(pattern: &str) -> bool {
    !pattern.contains(['\\', '^', '$', '.', '|', '?', '*', '+', '(', ')', '[', ']', '{', '}'])
}

/// The pattern of RE2 that matches exactly this text.
pub(super) fn literal(text: &str) -> String {
    regex::escape(text)
}

fn counts(rest: &str) -> bool {
    let Some((inside, _)) = rest.get(1..).and_then(|rest| rest.split_once('}')) else {
        return false;
    };
    let (low, high) = inside.split_once(',').unwrap_or((inside, ""));
    !low.is_empty() && [low, high].iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
}

/// The length of the escape at the start of `rest`, and its text in RE2.
fn escape(rest: &str, unicode: bool, in_class: bool) -> Result<(usize, String), String> {
    let Some(next) = rest.chars().nth(1) else {
        return Err("a backslash at the end escapes nothing".to_owned());
    };
    let as_written =
        |length: usize| Ok((length, rest.get(..length).unwrap_or_default().to_owned()));
    let code = |digits: &str, length: usize| {
        let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        let code = code.ok_or_else(|| format!("`\\{next}` names no character"))?;
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "\\x{{{:x}}}", u32::from(code));
        Ok((length, text))
    };
    match next {
        'd' | 'D' | 'w' | 'W' | 's' | 'S' | 'n' | 'r' | 't' | 'f' | 'v' => as_written(2),
        'b' if in_class => Ok((2, "\\x08".to_owned())),
        'b' | 'B' if !in_class => as_written(2),
        '0' if !rest.get(2..).is_some_and(|r| r.starts_with(|c: char| c.is_ascii_digit())) => {
            Ok((2, "\\x00".to_owned()))
        }
        'x' => match rest.get(2..4) {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => code(digits, 4),
            _ => Err("`\\x` without two digits has no counterpart in RE2".to_owned()),
        },
        'u' if unicode && rest.get(2..3) == Some("{") => {
            let end = rest.find('}').ok_or("`\\u{` is not closed")?;
            code(rest.get(3..end).unwrap_or_default(), end + 1)
        }
        'u' => match rest.get(2..6) {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => code(digits, 6),
            _ => Err("`\\u` without four digits has no counterpart in RE2".to_owned()),
        },
        'p' | 'P' if unicode => as_written(2),
        '1'..='9' | 'k' => Err("a reference back to a group has no counterpart in RE2".to_owned()),
        'c' => Err("`\\c` has no counterpart in RE2".to_owned()),
        // Any other letter stands for itself in JavaScript, and for something else in RE2.
        c if c.is_ascii_alphanumeric() => Ok((2, c.to_string())),
        c if c.is_ascii() && c != '\0' => as_written(2),
        c => Ok((1 + c.len_utf8(), c.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_the_same_is_rewritten() {
        for (pattern, flags, expected) in [
            ("deployed \\d+ services?", "", "deployed \\d+ services?"),
            ("a\\/b", "i", "(?i)a\\/b"),
            ("^x$", "gm", "(?m)^x$"),
            ("(?<name>a)", "", "(?P<name>a)"),
            ("(?:a|b)", "s", "(?s)(?:a|b)"),
            ("\\u00e9\\x41", "", "\\x{e9}\\x{41}"),
            ("\\u{1F600}", "u", "\\x{1f600}"),
            ("\\A\\z\\Q", "", "AzQ"),
            ("[[:alpha:]", "", "[\\[:alpha:]"),
            ("{\"a\": 1}", "", "\\{\"a\": 1}"),
            ("a{2,3}", "", "a{2,3}"),
            ("[\\b]", "", "[\\x08]"),
            ("\\0", "", "\\x00"),
            ("\\é", "", "é"),
        ] {
            assert_eq!(translate(pattern, flags).as_deref(), Ok(expected), "{pattern} {flags}");
        }
    }

    #[test]
    fn what_means_something_else_is_refused() {
        for (pattern, flags, expected) in [
            ("(?=a)", "", "looking ahead or behind"),
            ("(?<!a)b", "", "looking ahead or behind"),
            ("(?i)a", "", "looking ahead or behind"),
            ("(a)\\1", "", "reference back"),
            ("[^]", "", "empty class"),
            ("a", "y", "flag `y`"),
            ("a\\", "", "backslash at the end"),
            ("\\ud800", "", "names no character"),
            ("\\cA", "", "`\\c`"),
            ("(", "", "no pattern of RE2"),
            ("\\uZZ", "", "without four digits"),
        ] {
            let error = translate(pattern, flags).unwrap_err();
            assert!(error.contains(expected), "{pattern}: {error}");
        }
    }

    #[test]
    fn texts_are_patterns_of_themselves() {
        assert!(is_literal("FAIL") && !is_literal("a.b"));
        let pattern = literal("a.b (c) é");
        assert!(check_pattern(&pattern).is_ok());
        assert!(regex::Regex::new(&pattern).unwrap().is_match("a.b (c) é"));
    }
}
