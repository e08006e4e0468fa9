//! Text. ClickHouse counts bytes, unless a name ends in `UTF8`.

use rusqlite::Result;
use rusqlite::types::Value;

use super::{Arguments, Functions, MAX_MADE_BYTES, array, count, text_or_bytes, truth, wrong};

pub(super) const FUNCTIONS: Functions = &[
    ("ch_length", 1, |a| Ok(bytes(a, |text| count(text.len())))),
    ("ch_length_utf8", 1, |a| Ok(with(a, |text| count(text.chars().count())))),
    ("ch_empty", 1, |a| Ok(bytes(a, |text| truth(text.is_empty())))),
    ("ch_not_empty", 1, |a| Ok(bytes(a, |text| truth(!text.is_empty())))),
    ("ch_lower_utf8", 1, |a| Ok(with(a, |text| text.to_lowercase().into()))),
    ("ch_upper_utf8", 1, |a| Ok(with(a, |text| text.to_uppercase().into()))),
    ("ch_reverse", 1, |a| {
        Ok(bytes(a, |text| text_or_bytes(&text.iter().rev().copied().collect::<Vec<u8>>())))
    }),
    ("ch_reverse_utf8", 1, |a| Ok(with(a, |text| text.chars().rev().collect::<String>().into()))),
    ("ch_concat", -1, concat),
    ("ch_substring", -1, |a| Ok(substring(a))),
    ("ch_substring_utf8", -1, |a| Ok(substring_utf8(a))),
    ("ch_left", 2, |a| Ok(side(a, true))),
    ("ch_right", 2, |a| Ok(side(a, false))),
    ("ch_left_pad", -1, |a| padded(a, true)),
    ("ch_right_pad", -1, |a| padded(a, false)),
    ("ch_repeat", 2, repeat),
    ("ch_trim", -1, |a| Ok(trimmed(a, true, true))),
    ("ch_trim_left", -1, |a| Ok(trimmed(a, true, false))),
    ("ch_trim_right", -1, |a| Ok(trimmed(a, false, true))),
    ("ch_position", -1, |a| Ok(position(a, (0, 1), false))),
    ("ch_locate", -1, |a| Ok(position(a, (1, 0), false))),
    ("ch_position_ci", -1, |a| Ok(position(a, (0, 1), true))),
    ("ch_position_utf8", -1, |a| Ok(position_utf8(a, false))),
    ("ch_position_ci_utf8", -1, |a| Ok(position_utf8(a, true))),
    ("ch_count_substrings", 2, |a| {
        Ok(both(a, |text, part| {
            count(if part.is_empty() { 0 } else { text.matches(part).count() })
        }))
    }),
    ("ch_starts_with", 2, |a| Ok(both(a, |text, part| truth(text.starts_with(part))))),
    ("ch_ends_with", 2, |a| Ok(both(a, |text, part| truth(text.ends_with(part))))),
    ("ch_has_token", 2, |a| has_token(a, false)),
    ("ch_has_token_ci", 2, |a| has_token(a, true)),
    ("ch_replace_one", 3, |a| Ok(replaced(a, 1))),
    ("ch_replace_all", 3, |a| Ok(replaced(a, usize::MAX))),
    ("ch_split_by_char", -1, |a| split(a, true)),
    ("ch_split_by_string", -1, |a| split(a, false)),
    ("ch_split_by_whitespace", 1, |a| {
        Ok(with(a, |text| {
            let is_blank = |c: char| c.is_ascii_whitespace() || c == '\u{b}';
            array::texts(text.split(is_blank).filter(|part| !part.is_empty()))
        }))
    }),
    ("ch_substring_index", 3, |a| Ok(substring_index(a))),
    ("ch_basename", 1, |a| {
        Ok(with(a, |text| text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned().into()))
    }),
    ("ch_ascii", 1, |a| {
        Ok(bytes(a, |text| {
            // The byte as a signed one.
            Value::Integer(text.first().map_or(0, |byte| i64::from(byte.cast_signed())))
        }))
    }),
    ("ch_format", -1, formatted),
    ("ch_multi_search_any", 2, |a| multi_search_any(a, false)),
    ("ch_multi_search_any_ci", 2, |a| multi_search_any(a, true)),
];

fn with(a: &Arguments<'_>, make: impl Fn(&str) -> Value) -> Value {
    a.text(0).map_or(Value::Null, |text| make(&text))
}

fn bytes(a: &Arguments<'_>, make: impl Fn(&[u8]) -> Value) -> Value {
    a.bytes(0).map_or(Value::Null, |text| make(&text))
}

fn both(a: &Arguments<'_>, make: impl Fn(&str, &str) -> Value) -> Value {
    match (a.text(0), a.text(1)) {
        (Some(text), Some(part)) => make(&text, &part),
        _ => Value::Null,
    }
}

fn concat(a: &Arguments<'_>) -> Result<Value> {
    let mut joined = Vec::new();
    for at in 0..a.len() {
        let Some(part) = a.bytes(at) else { return Ok(Value::Null) };
        joined.extend_from_slice(&part);
        if joined.len() > MAX_MADE_BYTES * 4 {
            return Err(wrong("the text is too long"));
        }
    }
    Ok(text_or_bytes(&joined))
}

/// Where a part begins and ends: an offset from 1, a negative one from the end, and a length, a
/// negative one up to that many before the end.
fn part(size: usize, offset: i64, length: Option<i64>) -> std::ops::Range<usize> {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let start = match offset {
        0 => return 0..0,
        1.. => offset - 1,
        _ => size.saturating_add(offset),
    };
    let end = match length {
        None => size,
        Some(length) if length < 0 => size.saturating_add(length),
        Some(length) => start.saturating_add(length),
    };
    let clamp = |at: i64| usize::try_from(at.clamp(0, size)).unwrap_or(0);
    clamp(start)..clamp(end).max(clamp(start))
}

fn range(a: &Arguments<'_>, size: usize) -> Option<std::ops::Range<usize>> {
    let length = (a.len() > 2).then(|| a.whole(2));
    if matches!(length, Some(None)) {
        return None;
    }
    Some(part(size, a.whole(1)?, length.flatten()))
}

fn substring(a: &Arguments<'_>) -> Value {
    let Some(text) = a.bytes(0) else { return Value::Null };
    let Some(range) = range(a, text.len()) else { return Value::Null };
    text_or_bytes(text.get(range).unwrap_or_default())
}

fn substring_utf8(a: &Arguments<'_>) -> Value {
    let Some(text) = a.text(0) else { return Value::Null };
    let Some(range) = range(a, text.chars().count()) else { return Value::Null };
    text.chars().skip(range.start).take(range.len()).collect::<String>().into()
}

/// So many bytes of one side; all but so many when there are fewer than none.
fn side(a: &Arguments<'_>, is_left: bool) -> Value {
    let (Some(text), Some(length)) = (a.bytes(0), a.whole(1)) else { return Value::Null };
    let size = i64::try_from(text.len()).unwrap_or(i64::MAX);
    let kept = if length < 0 { size.saturating_add(length) } else { length };
    let kept = usize::try_from(kept.clamp(0, size)).unwrap_or(0);
    text_or_bytes(
        if is_left { text.get(..kept) } else { text.get(text.len() - kept..) }.unwrap_or_default(),
    )
}

fn padded(a: &Arguments<'_>, is_left: bool) -> Result<Value> {
    let (Some(text), Some(length)) = (a.bytes(0), a.whole(1)) else { return Ok(Value::Null) };
    let filler = if a.len() > 2 { a.bytes(2) } else { Some(b" ".as_slice().into()) };
    let Some(filler) = filler else { return Ok(Value::Null) };
    let length = usize::try_from(length.max(0)).unwrap_or(usize::MAX);
    if length > MAX_MADE_BYTES {
        return Err(wrong("the text is too long"));
    }
    let filler = if filler.is_empty() { b" ".as_slice().into() } else { filler };
    let kept = text.get(..length.min(text.len())).unwrap_or_default();
    let added: Vec<u8> = filler.iter().copied().cycle().take(length - kept.len()).collect();
    let (one, other) = if is_left { (added.as_slice(), kept) } else { (kept, added.as_slice()) };
    Ok(text_or_bytes(&[one, other].concat()))
}

fn repeat(a: &Arguments<'_>) -> Result<Value> {
    let (Some(text), Some(times)) = (a.bytes(0), a.whole(1)) else { return Ok(Value::Null) };
    let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
    if text.len().saturating_mul(times) > MAX_MADE_BYTES {
        return Err(wrong("the text is too long"));
    }
    Ok(text_or_bytes(&text.repeat(times)))
}

fn trimmed(a: &Arguments<'_>, left: bool, right: bool) -> Value {
    let what = if a.len() > 1 { a.text(1) } else { Some(" ".into()) };
    let (Some(text), Some(what)) = (a.text(0), what) else { return Value::Null };
    let is_cut = |c: char| what.contains(c);
    let mut text: &str = &text;
    if left {
        text = text.trim_start_matches(is_cut);
    }
    if right {
        text = text.trim_end_matches(is_cut);
    }
    text.to_owned().into()
}

/// The place of a part, in bytes from 1; 0 when it is not there. An optional third argument says
/// from which byte to look.
fn position(a: &Arguments<'_>, (text, part): (usize, usize), any_case: bool) -> Value {
    let (Some(text), Some(part)) = (a.bytes(text), a.bytes(part)) else { return Value::Null };
    let from = if a.len() > 2 {
        match a.whole(2) {
            None => return Value::Null,
            Some(from) => usize::try_from(from - 1).unwrap_or(0),
        }
    } else {
        0
    };
    let found = if any_case {
        // ASCII only, as in ClickHouse.
        find(&text.to_ascii_lowercase(), &part.to_ascii_lowercase(), from)
    } else {
        find(&text, &part, from)
    };
    found.map_or(Value::Integer(0), |at| count(at + 1))
}

fn find(text: &[u8], part: &[u8], from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    if part.is_empty() {
        return Some(from);
    }
    let found = match (std::str::from_utf8(rest), std::str::from_utf8(part)) {
        (Ok(rest), Ok(part)) => rest.find(part),
        _ => rest.windows(part.len()).position(|window| window == part),
    };
    found.map(|at| at + from)
}

fn position_utf8(a: &Arguments<'_>, any_case: bool) -> Value {
    let (Some(text), Some(part)) = (a.text(0), a.text(1)) else { return Value::Null };
    let from = a.whole(2).map_or(0, |from| usize::try_from(from - 1).unwrap_or(0));
    let lower = |text: &str| if any_case { text.to_lowercase() } else { text.to_owned() };
    let rest: String = text.chars().skip(from).collect();
    let (rest, part) = (lower(&rest), lower(&part));
    match rest.find(&part) {
        Some(at) => {
            let before = rest.get(..at).unwrap_or_default();
            count(from + before.chars().count() + 1)
        }
        None => Value::Integer(0),
    }
}

fn has_token(a: &Arguments<'_>, any_case: bool) -> Result<Value> {
    let (Some(text), Some(token)) = (a.text(0), a.text(1)) else { return Ok(Value::Null) };
    let separates = |c: char| c.is_ascii() && !c.is_ascii_alphanumeric();
    if token.is_empty() || token.contains(separates) {
        return Err(wrong("a token is of letters and digits only"));
    }
    let mut words = text.split(separates);
    Ok(truth(if any_case {
        words.any(|word| word.eq_ignore_ascii_case(&token))
    } else {
        words.any(|word| word == token)
    }))
}

fn replaced(a: &Arguments<'_>, limit: usize) -> Value {
    let (Some(text), Some(from), Some(to)) = (a.text(0), a.text(1), a.text(2)) else {
        return Value::Null;
    };
    if from.is_empty() { text.into_owned() } else { text.replacen(&*from, &to, limit) }.into()
}

/// The parts between separators; an optional third argument says how many at most.
fn split(a: &Arguments<'_>, by_char: bool) -> Result<Value> {
    let (Some(separator), Some(text)) = (a.text(0), a.text(1)) else { return Ok(Value::Null) };
    if by_char && separator.len() != 1 {
        return Err(wrong("`splitByChar` takes one byte to split by"));
    }
    let most = a.whole(2).filter(|most| *most > 0).and_then(|most| usize::try_from(most).ok());
    let most = most.unwrap_or(usize::MAX);
    if separator.is_empty() {
        let characters: Vec<String> = text.chars().take(most).map(String::from).collect();
        return Ok(array::texts(characters.iter().map(String::as_str)));
    }
    Ok(array::texts(text.split(&*separator).take(most)))
}

fn substring_index(a: &Arguments<'_>) -> Value {
    let (Some(text), Some(part), Some(count)) = (a.text(0), a.text(1), a.whole(2)) else {
        return Value::Null;
    };
    let wanted = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if wanted == 0 || part.is_empty() {
        return String::new().into();
    }
    let found = if count > 0 {
        text.match_indices(&*part).nth(wanted - 1).and_then(|(at, _)| text.get(..at))
    } else {
        text.rmatch_indices(&*part).nth(wanted - 1).and_then(|(at, _)| text.get(at + part.len()..))
    };
    found.unwrap_or(&text).to_owned().into()
}

/// `{}` and `{0}` stand for the arguments, `{{` and `}}` for brackets.
fn formatted(a: &Arguments<'_>) -> Result<Value> {
    let Some(pattern) = a.text(0) else { return Ok(Value::Null) };
    let mut out = String::new();
    let (mut next, mut counted) = (0, None);
    let mut rest: &str = &pattern;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            out.push_str(from.get(..1).unwrap_or_default());
            rest = after;
            continue;
        }
        let inner = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let (place, after) = inner.ok_or_else(|| wrong("the pattern has an open bracket"))?;
        let is_counted = !place.is_empty();
        if *counted.get_or_insert(is_counted) != is_counted {
            return Err(wrong("the pattern has brackets with numbers and without"));
        }
        let place = if is_counted {
            place.parse().map_err(|_| wrong("the pattern has a bracket without a number"))?
        } else {
            next += 1;
            next - 1
        };
        if place + 1 >= a.len() {
            return Err(wrong("the pattern has more brackets than there are arguments"));
        }
        let Some(text) = a.text(place + 1) else { return Ok(Value::Null) };
        out.push_str(&text);
        if out.len() > MAX_MADE_BYTES {
            return Err(wrong("the text is too long"));
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out.into())
}

fn multi_search_any(a: &Arguments<'_>, any_case: bool) -> Result<Value> {
    let Some(text) = a.text(0) else { return Ok(Value::Null) };
    let parts = array::read(a, 1)?;
    let text = if any_case { text.to_ascii_lowercase() } else { text.into_owned() };
    Ok(truth(parts.iter().filter_map(serde_json::Value::as_str).any(|part| {
        if any_case { text.contains(&part.to_ascii_lowercase()) } else { text.contains(part) }
    })))
}
