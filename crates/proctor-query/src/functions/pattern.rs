//! Patterns: `LIKE` and regular expressions in the syntax of RE2.

use std::cell::RefCell;
use std::collections::BTreeMap;

use proctor_model::eval::re2;
use regex::{Captures, Match, Regex};
use rusqlite::Result;
use rusqlite::types::Value;

use super::{Arguments, Functions, MAX_MADE_BYTES, array, count, truth, wrong};

pub(super) const FUNCTIONS: Functions = &[
    ("ch_like", 2, |a| Ok(like(a, false, true))),
    ("ch_not_like", 2, |a| Ok(like(a, false, false))),
    ("ch_ilike", 2, |a| Ok(like(a, true, true))),
    ("ch_not_ilike", 2, |a| Ok(like(a, true, false))),
    ("ch_match", 2, |a| with(a, |regex, text| truth(regex.is_match(text)))),
    ("ch_extract", 2, |a| with(a, extract)),
    ("ch_extract_all", 2, |a| with(a, extract_all)),
    ("ch_count_matches", 2, |a| {
        with(a, |regex, text| {
            count(regex.find_iter(text).filter(|found| !found.is_empty()).count())
        })
    }),
    ("ch_replace_regexp_all", 3, |a| replace(a, true)),
    ("ch_replace_regexp_one", 3, |a| replace(a, false)),
    ("ch_split_by_regexp", 2, split),
    ("ch_multi_match_any", 2, |a| {
        let Some(text) = a.text(0) else { return Ok(Value::Null) };
        for pattern in array::read(a, 1)? {
            if compiled(pattern.as_str().unwrap_or_default())?.is_match(&text) {
                return Ok(truth(true));
            }
        }
        Ok(truth(false))
    }),
];

/// Compiled patterns that are kept: a statement has few, and uses them for every row.
const MAX_KEPT: usize = 64;
/// The largest compiled pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

thread_local! {
    static KEPT: RefCell<BTreeMap<String, Regex>> = const { RefCell::new(BTreeMap::new()) };
}

fn compiled(pattern: &str) -> Result<Regex> {
    if let Some(regex) = KEPT.with_borrow(|kept| kept.get(pattern).cloned()) {
        return Ok(regex);
    }
    let wrong_pattern =
        |error: &dyn std::fmt::Display| wrong(format!("the pattern cannot be used: {error}"));
    // A point takes a line feed in ClickHouse.
    let translated = re2::translate_with_groups(&format!("(?s){pattern}"));
    let translated = translated.map_err(|error| wrong_pattern(&error.message))?;
    let regex = regex::RegexBuilder::new(&translated)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|error| wrong_pattern(&error))?;
    KEPT.with_borrow_mut(|kept| {
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(pattern.to_owned(), regex.clone());
    });
    Ok(regex)
}

fn with(arguments: &Arguments<'_>, make: impl Fn(&Regex, &str) -> Value) -> Result<Value> {
    match (arguments.text(0), arguments.text(1)) {
        (Some(text), Some(pattern)) => Ok(make(&compiled(&pattern)?, &text)),
        _ => Ok(Value::Null),
    }
}

/// The first group of the first match; without groups the match.
fn extract(regex: &Regex, text: &str) -> Value {
    let found = regex.captures(text).and_then(|found| first_group(&found));
    found.map_or("", |found| found.as_str()).to_owned().into()
}

fn first_group<'t>(found: &Captures<'t>) -> Option<Match<'t>> {
    if found.len() > 1 { found.get(1) } else { found.get(0) }
}

/// The same of every match, up to one that is empty.
fn extract_all(regex: &Regex, text: &str) -> Value {
    let matches = regex.captures_iter(text);
    let matches = matches.take_while(|found| found.get(0).is_some_and(|all| !all.is_empty()));
    let groups: Vec<&str> =
        matches.map(|found| first_group(&found).map_or("", |group| group.as_str())).collect();
    array::texts(groups.into_iter())
}

/// Every match, or the first one, in another form. Unlike elsewhere an empty match may follow right
/// after another match.
fn replace(arguments: &Arguments<'_>, is_all: bool) -> Result<Value> {
    let (Some(text), Some(pattern), Some(replacement)) =
        (arguments.text(0), arguments.text(1), arguments.text(2))
    else {
        return Ok(Value::Null);
    };
    if pattern.is_empty() {
        return Ok(text.into_owned().into());
    }
    let regex = compiled(&pattern)?;
    let replacement = groups(&replacement);
    let mut out = String::new();
    let mut from = 0;
    while let Some(found) = regex.captures_at(&text, from) {
        let Some(all) = found.get(0) else { break };
        out.push_str(text.get(from..all.start()).unwrap_or_default());
        found.expand(&replacement, &mut out);
        from = all.end();
        if out.len() > MAX_MADE_BYTES {
            return Err(wrong("the text is too long"));
        }
        if !is_all {
            break;
        }
        if all.is_empty() {
            let Some(next) = text.get(from..).and_then(|rest| rest.chars().next()) else { break };
            out.push(next);
            from += next.len_utf8();
        }
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Ok(out.into())
}

/// `\0` to `\9` as the regex crate writes them.
fn groups(replacement: &str) -> String {
    let mut written = String::with_capacity(replacement.len());
    let mut characters = replacement.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                written.push_str("${");
                written.push(*digit);
                written.push('}');
                characters.next();
            }
            ('\\', Some('\\')) => {
                written.push('\\');
                characters.next();
            }
            ('$', _) => written.push_str("$$"),
            (other, _) => written.push(other),
        }
    }
    written
}

/// The pattern comes first. An empty one splits into characters.
fn split(a: &Arguments<'_>) -> Result<Value> {
    let (Some(pattern), Some(text)) = (a.text(0), a.text(1)) else { return Ok(Value::Null) };
    if pattern.is_empty() {
        let characters: Vec<String> = text.chars().map(String::from).collect();
        return Ok(array::texts(characters.iter().map(String::as_str)));
    }
    Ok(array::texts(compiled(&pattern)?.split(&text)))
}

fn like(a: &Arguments<'_>, any_case: bool, expected: bool) -> Value {
    let (Some(text), Some(pattern)) = (a.text(0), a.text(1)) else { return Value::Null };
    let is_like = if any_case {
        is_like(&text.to_lowercase(), &pattern.to_lowercase())
    } else {
        is_like(&text, &pattern)
    };
    truth(is_like == expected)
}

/// One part of a `LIKE` pattern.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Any,
    One,
    Exactly(char),
}

/// `%` takes any text, `_` one character, a backslash takes their meaning away. Keeps one place to
/// come back to, so that the time is at most the product of the lengths.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = Vec::new();
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        parts.push(match c {
            '%' => Part::Any,
            '_' => Part::One,
            '\\' => Part::Exactly(characters.next().unwrap_or('\\')),
            other => Part::Exactly(other),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part) = (0, 0);
    let mut back: Option<(usize, usize)> = None;
    while let Some(c) = text.get(at) {
        match parts.get(part) {
            Some(Part::Any) => {
                back = Some((at, part));
                part += 1;
                continue;
            }
            Some(Part::One) => {}
            Some(Part::Exactly(wanted)) if wanted == c => {}
            _ => {
                let Some((from, any)) = back else { return false };
                back = Some((from + 1, any));
                (at, part) = (from + 1, any + 1);
                continue;
            }
        }
        at += 1;
        part += 1;
    }
    parts.get(part..).unwrap_or_default().iter().all(|part| *part == Part::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_takes_any_text_and_underscore_one_character() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("abc", "a%c", true),
            ("abc", "a_c", true),
            ("äöü", "_ö_", true),
            ("abc", "a%d", false),
            ("aXbXc", "%X%X%", true),
            ("50%", "50\\%", true),
            ("505", "50\\%", false),
            ("a\nb", "a%b", true),
            ("ABC", "abc", false),
            ("aaaaab", "%a%a%b", true),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} like {pattern}");
        }
    }

    #[test]
    fn groups_are_numbers_after_a_backslash() {
        assert_eq!(groups(r"\1-$x-\\"), r"${1}-$$x-\");
    }
}
