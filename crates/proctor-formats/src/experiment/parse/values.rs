//! Readers for single values.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::str::FromStr;

use camino::Utf8PathBuf;
use proctor_model::experiment::setup::{REFERENCE_SCHEME, SECRET_PREFIX};
use proctor_model::experiment::{Dest, NameError, Rule, Value};
use proctor_model::{Diagnostic, Location};

use crate::tree::{Field, Kind, Problems, list, text, whole_number};

/// How long a path of the host may be, in bytes.
const MAX_PATH: usize = 4096;

/// Reads a name by the rule of its kind.
pub(super) fn name<T: FromStr<Err = NameError>>(
    field: &Field<'_>,
    problems: &mut Problems,
) -> Option<T> {
    parsed(Rule::Name)(field, problems)
}

/// Reads a destination.
pub(super) fn dest(field: &Field<'_>, problems: &mut Problems) -> Option<Dest> {
    let written = text(field, problems)?;
    written
        .parse()
        .map_err(|error: NameError| {
            let error = field.expected(error.expected()).rule(Rule::Dest);
            let inside = written.strip_prefix("/workspace/").filter(|rest| !rest.is_empty());
            problems.push(match inside {
                Some(rest) => error.hint(format!("write `{}`", rest.escape_debug())),
                None => error,
            });
        })
        .ok()
}

fn parsed<T: FromStr<Err = NameError>>(
    rule: Rule,
) -> impl Fn(&Field<'_>, &mut Problems) -> Option<T> {
    move |field, problems| {
        let text = text(field, problems)?;
        let parsed = text.parse::<T>();
        if let Err(error) = &parsed {
            problems.push(field.expected(error.expected()).rule(rule));
        }
        parsed.ok()
    }
}

/// Reads a text with something in it.
pub(super) fn words(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let text = text(field, problems)?;
    if text.trim().is_empty() {
        problems.push(field.error("expected some text, found none").rule(Rule::Empty));
        return None;
    }
    Some(text)
}

/// Reads a bash script: a text with something in it, and no NUL, which no command line can hold.
pub(super) fn script(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let script = text(field, problems)?;
    if script.trim().is_empty() {
        let error = field.error("the script is empty").rule(Rule::Empty);
        problems.push(error.hint("write `\"true\"` for a script that does nothing"));
        return None;
    }
    without_nul(field, script, problems)
}

/// Refuses NUL, which ends a text for every program that receives it.
pub(super) fn without_nul(
    field: &Field<'_>,
    text: String,
    problems: &mut Problems,
) -> Option<String> {
    if text.contains('\0') {
        problems.push(field.error("holds a NUL character, which no program can be given"));
        return None;
    }
    Some(text)
}

/// Reads one coordinate of an id that may hold dots: a model's name, an effort.
pub(super) fn coordinate(field: &Field<'_>, problems: &mut Problems) -> Option<String> {
    let name: proctor_model::experiment::Name = name(field, problems)?;
    Some(name.as_str().to_owned())
}

/// Reads a path of the host.
pub(super) fn host_path(field: &Field<'_>, problems: &mut Problems) -> Option<Utf8PathBuf> {
    let path = words(field, problems)?;
    let path = without_nul(field, path, problems)?;
    if path.len() > MAX_PATH {
        problems.push(field.error(format!("the path is longer than {MAX_PATH} bytes")));
        return None;
    }
    Some(path.into())
}

/// Reads a list of texts.
pub(super) fn texts(field: &Field<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    list("strings", words)(field, problems)
}

/// Reads a literal or a reference to a secret.
pub(super) fn value(field: &Field<'_>, problems: &mut Problems) -> Option<Value> {
    let written = text(field, problems)?;
    let written = without_nul(field, written, problems)?;
    if !written.starts_with(REFERENCE_SCHEME) {
        return Some(Value::Literal(written));
    }
    let slug = written.strip_prefix(SECRET_PREFIX).and_then(|slug| slug.parse().ok());
    if slug.is_none() {
        let expected = "`axp://secrets/<slug>`: `axp://` begins nothing else";
        problems.push(field.expected(expected).rule(Rule::Reference));
    }
    slug.map(Value::Secret)
}

/// Reads a whole number above 0 that fits 32 bits.
pub(super) fn count(field: &Field<'_>, problems: &mut Problems) -> Option<NonZeroU32> {
    let number = whole_number(1..=i64::from(u32::MAX))(field, problems)?;
    u32::try_from(number).ok().and_then(NonZeroU32::new)
}

/// Reads a list of things with names that must differ; `key` gives what they are told apart by.
pub(super) fn unique<T>(
    what: &str,
    key: impl Fn(&T) -> String,
    read: impl Fn(&Field<'_>, &mut Problems) -> Option<T>,
) -> impl FnOnce(&Field<'_>, &mut Problems) -> Option<Vec<T>> {
    move |field, problems| {
        let Kind::Array(items) = &field.node().kind else {
            problems.push(field.expected(&format!("a list of {what}")));
            return None;
        };
        let mut first: BTreeMap<String, Location> = BTreeMap::new();
        let mut all = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let item_field = field.item(index, item);
            let Some(one) = read(&item_field, problems) else { continue };
            let key = key(&one);
            if let Some(place) = first.get(&key) {
                problems.push_error(|| duplicate(&item_field, &key, *place));
                continue;
            }
            first.insert(key, item.location);
            all.push(one);
        }
        Some(all)
    }
}

/// The error about a name that is taken.
pub(super) fn duplicate(field: &Field<'_>, key: &str, first: Location) -> Diagnostic {
    let Location { line, column } = first;
    let message = format!("`{}` stands here already, at {line}:{column}", key.escape_debug());
    field.error(message).rule(Rule::DuplicateName)
}

/// Like [`unique`], for axes: an axis that is declared has something on it.
pub(super) fn axis<T>(
    what: &str,
    key: impl Fn(&T) -> String,
    read: impl Fn(&Field<'_>, &mut Problems) -> Option<T>,
) -> impl FnOnce(&Field<'_>, &mut Problems) -> Option<Vec<T>> {
    move |field, problems| {
        if matches!(&field.node().kind, Kind::Array(items) if items.is_empty()) {
            let hint = "leave the key out to have no such axis";
            problems.push(field.expected(&format!("at least one of {what}")).hint(hint));
            return None;
        }
        unique(what, key, read)(field, problems)
    }
}
