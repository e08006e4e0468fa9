//! Documents of other tools: values with their JSON paths, and which of them were used.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use camino::Utf8Path;

use super::files::{Files, Links};
use super::report::Unmapped;
use super::{ImportError, MAX_INPUT_DEPTH};
use crate::tree::{self, Kind, Member, Node, Problems};

/// How many characters of a value stand in a report.
const SUMMARY: usize = 80;

/// A value and its path.
#[derive(Debug, Clone)]
pub(super) struct At<'a> {
    pub(super) node: &'a Node,
    pub(super) path: String,
}

impl<'a> At<'a> {
    /// The whole document; `file` stands before every path when there are several documents.
    pub(super) fn root(node: &'a Node, file: Option<&str>) -> Self {
        let path = file.map_or_else(|| "$".to_owned(), |file| format!("{file}: $"));
        Self { node, path }
    }

    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, At<'a>)> + use<'a> {
        let members: &[Member] = match &self.node.kind {
            Kind::Object(members) => members,
            _ => &[],
        };
        let path = self.path.clone();
        members.iter().map(move |member| {
            (member.key.as_str(), At { node: &member.value, path: child(&path, &member.key) })
        })
    }

    pub(super) fn is_object(&self) -> bool {
        matches!(self.node.kind, Kind::Object(_))
    }

    /// The elements of a list; `None` for anything else.
    pub(super) fn items(&self) -> Option<Vec<At<'a>>> {
        let Kind::Array(items) = &self.node.kind else { return None };
        let numbered = items.iter().enumerate();
        Some(numbered.map(|(i, node)| At { node, path: format!("{}[{i}]", self.path) }).collect())
    }

    pub(super) fn get(&self, key: &str) -> Option<At<'a>> {
        let Kind::Object(members) = &self.node.kind else { return None };
        let member = members.iter().find(|member| member.key == key)?;
        Some(At { node: &member.value, path: child(&self.path, key) })
    }

    /// The first of these keys that is there.
    pub(super) fn first<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, At<'a>)> {
        keys.iter().find_map(|key| Some((*key, self.get(key)?)))
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        match &self.node.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    /// A string, or a number as it was written.
    pub(super) fn scalar(&self) -> Option<&'a str> {
        match &self.node.kind {
            Kind::String(text) | Kind::Number(text) => Some(text),
            Kind::Bool(true) => Some("true"),
            Kind::Bool(false) => Some("false"),
            _ => None,
        }
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        match self.node.kind {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// A finite number.
    pub(super) fn number(&self) -> Option<f64> {
        match &self.node.kind {
            Kind::Number(written) => written.parse().ok().filter(|value: &f64| value.is_finite()),
            _ => None,
        }
    }

    /// The value for a report: short, on one line.
    pub(super) fn summary(&self) -> String {
        match &self.node.kind {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => value.to_string(),
            Kind::Number(written) => match written.parse::<f64>() {
                Ok(value) if value == 0.0 || (1e-4..1e21).contains(&value.abs()) => {
                    summarized(&value.to_string())
                }
                _ => summarized(written),
            },
            Kind::String(text) => summarized(text),
            Kind::Array(items) => format!("{} item(s)", items.len()),
            Kind::Object(members) => format!("{} item(s)", members.len()),
        }
    }

    /// The entry for the list of what did not map.
    pub(super) fn unmapped(&self, hint: impl Into<String>) -> Unmapped {
        let hint = Some(hint.into()).filter(|hint: &String| !hint.is_empty());
        Unmapped { path: self.path.clone(), value: self.summary(), hint }
    }
}

/// Which values of a document have found a place, or an entry in the report.
#[derive(Debug, Default)]
pub(super) struct Used(BTreeSet<String>);

impl Used {
    /// The value was used; what it holds is looked at on its own.
    pub(super) fn mark(&mut self, at: &At<'_>) {
        self.0.insert(at.path.clone());
    }

    /// [`Self::mark`], when there is something.
    pub(super) fn mark_some(&mut self, at: Option<&At<'_>>) {
        if let Some(at) = at {
            self.mark(at);
        }
    }

    pub(super) fn contains(&self, at: &At<'_>) -> bool {
        self.0.contains(&at.path)
    }

    /// The value and all that it holds were used.
    pub(super) fn mark_all(&mut self, at: &At<'_>) {
        self.mark(at);
        for (_, member) in at.members() {
            self.mark_all(&member);
        }
        for item in at.items().unwrap_or_default() {
            self.mark_all(&item);
        }
    }

    /// Everything that no mark covers: a value, or as little of a container as was not used.
    pub(super) fn rest(&self, root: &At<'_>, hints: &[(&str, &str)], out: &mut Vec<Unmapped>) {
        for (key, at) in root.members() {
            self.visit(key, &at, hints, out);
        }
    }

    fn visit(&self, key: &str, at: &At<'_>, hints: &[(&str, &str)], out: &mut Vec<Unmapped>) {
        if !self.0.contains(&at.path) {
            let hint = hints.iter().find(|(known, _)| *known == key);
            out.push(at.unmapped(hint.map_or("", |(_, hint)| *hint)));
            return;
        }
        for (key, member) in at.members() {
            self.visit(key, &member, hints, out);
        }
        for item in at.items().unwrap_or_default() {
            self.visit("", &item, hints, out);
        }
    }
}

/// The path of a member. A key that is no plain word stands as a quoted index, so that no key can
/// forge another path.
fn child(path: &str, key: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if (1..=64).contains(&key.len()) && key.chars().all(plain) {
        format!("{path}.{key}")
    } else {
        format!("{path}[{}]", quoted(&summarized(key)))
    }
}

/// At most [`SUMMARY`] characters, none of which controls anything.
pub(super) fn summarized(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    if text.chars().nth(SUMMARY).is_none() {
        return text.chars().map(shown).collect();
    }
    let start: String = text.chars().take(SUMMARY - 3).map(shown).collect();
    format!("{start}...")
}

/// The text in quotation marks on one line, with everything invisible escaped, as Go's `%q` does.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        // Writing to a string cannot fail.
        let _ = match character {
            '"' => write!(out, "\\\""),
            '\\' => write!(out, "\\\\"),
            '\n' => write!(out, "\\n"),
            '\r' => write!(out, "\\r"),
            '\t' => write!(out, "\\t"),
            '\u{7}' => write!(out, "\\a"),
            '\u{8}' => write!(out, "\\b"),
            '\u{b}' => write!(out, "\\v"),
            '\u{c}' => write!(out, "\\f"),
            c if c < ' ' || c == '\u{7f}' => write!(out, "\\x{:02x}", u32::from(c)),
            c if !is_visible(c) && u32::from(c) > 0xffff => write!(out, "\\U{:08x}", u32::from(c)),
            c if !is_visible(c) => write!(out, "\\u{:04x}", u32::from(c)),
            c => write!(out, "{c}"),
        };
    }
    out.push('"');
    out
}

fn is_visible(character: char) -> bool {
    character == ' '
        || !(character.is_control()
            || character.is_whitespace()
            || super::security::is_hidden(character))
}

/// Reads a text file.
pub(super) fn read_text(
    files: &dyn Files,
    folder: &str,
    path: &str,
    links: Links,
) -> Result<String, ImportError> {
    let bytes = files.read(folder, path, links);
    let bytes = bytes.map_err(|message| ImportError::file(joined(folder, path), message))?;
    String::from_utf8(bytes)
        .map_err(|_| ImportError::file(joined(folder, path), "is not valid UTF-8"))
}

/// What stands behind the last dot of a file's name; empty without one.
pub(super) fn ending(path: &str) -> &str {
    Utf8Path::new(path).extension().unwrap_or_default()
}

/// The path below the root.
pub(super) fn joined(folder: &str, path: &str) -> String {
    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") }
}

/// The object that a JSON text holds.
pub(super) fn json_value(file: &str, text: &str) -> Result<Node, ImportError> {
    parsed(file, "JSON", |problems| tree::json(text.as_bytes(), problems))
}

/// The value that the first document of a YAML text holds.
pub(super) fn yaml_value(file: &str, text: &str) -> Result<Node, ImportError> {
    parsed(file, "YAML", |problems| tree::yaml_first(text.as_bytes(), problems))
}

fn parsed(
    file: &str,
    language: &str,
    parse: impl FnOnce(&mut Problems) -> Option<Node>,
) -> Result<Node, ImportError> {
    let mut problems = Problems::new(Utf8Path::new(""));
    let node = parse(&mut problems);
    let has_errors = problems.has_errors();
    let diagnostics = problems.finish();
    match node {
        Some(node) if !has_errors => {
            if depth(&node) > MAX_INPUT_DEPTH {
                let message = format!("is nested deeper than {MAX_INPUT_DEPTH} levels");
                return Err(ImportError::file(file, message));
            }
            Ok(node)
        }
        _ => {
            let first = diagnostics.0.into_iter().next();
            let place = first.as_ref().and_then(|first| first.location);
            let place = place.map_or_else(String::new, |p| format!("{}:{}: ", p.line, p.column));
            let message = first.map_or_else(String::new, |first| first.message);
            Err(ImportError::file(file, format!("is not valid {language}: {place}{message}")))
        }
    }
}

/// How many containers lie inside each other. The parsers bound it.
pub(super) fn depth(node: &Node) -> usize {
    match &node.kind {
        Kind::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Kind::Object(members) => {
            1 + members.iter().map(|member| depth(&member.value)).max().unwrap_or(0)
        }
        _ => 0,
    }
}
