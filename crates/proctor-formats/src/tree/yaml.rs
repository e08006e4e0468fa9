//! YAML 1.2 with its core schema to [`Node`]s.
//!
//! The grammar is the work of `granit-parser`, which gives events with places; what stands here is
//! what makes a tree of them that is no richer than JSON: scalar types by the core schema alone
//! (`no` and `1_000` are strings), plain keys, aliases as copies within a budget. The first mistake
//! of the grammar ends the reading, as for JSON; duplicate keys are reported and leave the tree
//! whole.

use std::collections::BTreeMap;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use proctor_model::{Diagnostic, Location};

use super::json::{decode, deny_duplicates, too_long};
use super::read::{Field, quoted};
use super::{Kind, MAX_BYTES, MAX_DEPTH, MAX_VALUES, Member, Node, Problems};

/// Reads one YAML document; a second one is a mistake.
pub fn yaml(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    read(bytes, problems, Rest::MustBeEmpty)
}

/// Reads the first YAML document and nothing after it, not even for mistakes.
pub fn yaml_first(bytes: &[u8], problems: &mut Problems) -> Option<Node> {
    read(bytes, problems, Rest::Unread)
}

/// What may follow the first document.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    MustBeEmpty,
    Unread,
}

fn read(bytes: &[u8], problems: &mut Problems, rest: Rest) -> Option<Node> {
    if bytes.len() as u64 > MAX_BYTES {
        problems.push(too_long(bytes.len() as u64));
        return None;
    }
    let text = decode(bytes, problems)?;
    let options = granit_parser::options! { emit_comments: false };
    let mut builder = Builder {
        events: Parser::new_from_str_with_options(text, options),
        anchors: BTreeMap::new(),
        values: 0,
        copied_bytes: 0,
    };
    match builder.document(rest) {
        Ok(root) => {
            deny_duplicates(&Field::root(&root), problems);
            Some(root)
        }
        Err(fault) => {
            problems.push(fault);
            None
        }
    }
}

/// A node that an alias may repeat.
struct Anchored {
    node: Node,
    measure: Measure,
}

/// How much a node holds.
#[derive(Clone, Copy, Default)]
struct Measure {
    values: usize,
    bytes: u64,
    height: usize,
}

/// The first mistake of the grammar.
type Fault = Diagnostic;

fn fault(location: Location, message: impl Into<String>) -> Fault {
    Diagnostic::error(message).at(location)
}

struct Builder<'a> {
    events: Parser<'a, StrInput<'a>>,
    anchors: BTreeMap<usize, Anchored>,
    values: usize,
    copied_bytes: u64,
}

impl<'a> Builder<'a> {
    fn document(&mut self, rest: Rest) -> Result<Node, Fault> {
        let root = loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) => {}
                Event::StreamEnd => {
                    let message = "expected a YAML document, found an empty file";
                    return Err(fault(location(span), message));
                }
                first => break self.node(first, span, 1)?,
            }
        };
        if rest == Rest::Unread {
            return Ok(root);
        }
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::DocumentEnd => {}
                _ => {
                    let message = "expected the end of the file, found a second document";
                    let hint = "put it in a file of its own";
                    return Err(fault(location(span), message).hint(hint));
                }
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        match self.events.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(syntax(&error)),
            // Nothing follows the end of the stream, at which every caller stops.
            None => Err(fault(Location { line: 1, column: 1 }, "unexpected end of the file")),
        }
    }

    /// The node that begins with `event`.
    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Fault> {
        let location = location(span);
        let (kind, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, location)?;
                let kind = scalar(&text, style, tag.as_deref())
                    .map_err(|message| fault(location, message))?;
                (kind, anchor)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(location, depth, tag.as_deref(), "seq")?;
                (Kind::Array(self.sequence(depth)?), anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(location, depth, tag.as_deref(), "map")?;
                (Kind::Object(self.mapping(depth)?), anchor)
            }
            Event::Alias(anchor) => return self.alias(anchor, location, depth),
            _ => return Err(fault(location, "expected a value")),
        };
        let node = Node { location, kind };
        if anchor != 0 {
            let measure = measure(&node);
            self.copy(measure, location)?;
            self.anchors.insert(anchor, Anchored { node: node.clone(), measure });
        }
        Ok(node)
    }

    fn open(
        &mut self,
        location: Location,
        depth: usize,
        tag: Option<&Tag>,
        expected: &str,
    ) -> Result<(), Fault> {
        self.count(1, location)?;
        if depth > MAX_DEPTH {
            return Err(too_deep(location));
        }
        match tag {
            Some(tag) if !is_non_specific(tag) && tag.core_suffix() != Some(expected) => {
                Err(fault(location, unknown_tag(tag)))
            }
            _ => Ok(()),
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<Vec<Node>, Fault> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<Vec<Member>, Fault> {
        let mut members = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(members);
            }
            let key_location = location(span);
            let key = self.key(event, key_location)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            members.push(Member { key, key_location, value });
        }
    }

    /// A key, as it is written whatever its type would be: keys are strings.
    fn key(&mut self, event: Event<'a>, location: Location) -> Result<String, Fault> {
        match event {
            Event::Scalar(text, ScalarStyle::Plain, _, _) if text == "<<" => {
                let hint = "write the keys out, or repeat a whole value with an alias";
                Err(fault(location, "merge keys are not part of YAML 1.2").hint(hint))
            }
            Event::Scalar(text, style, anchor, _) => {
                if anchor != 0 {
                    let kind = scalar(&text, style, None).unwrap_or(Kind::Null);
                    let node = Node { location, kind };
                    let measure = measure(&node);
                    self.copy(measure, location)?;
                    self.anchors.insert(anchor, Anchored { node, measure });
                }
                Ok(text.into_owned())
            }
            Event::Alias(anchor) => match self.alias(anchor, location, 1)?.kind {
                Kind::String(text) | Kind::Number(text) => Ok(text),
                _ => Err(fault(location, "expected a plain key, found an alias of another kind")),
            },
            _ => Err(fault(location, "expected a plain key, found a list or a mapping")),
        }
    }

    /// A copy of the anchored node. It keeps its inner places, and stands itself where the alias
    /// does.
    fn alias(&mut self, anchor: usize, location: Location, depth: usize) -> Result<Node, Fault> {
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(fault(location, "alias inside the value that it repeats"));
        };
        let Measure { height, .. } = anchored.measure;
        if height > 0 && depth + height - 1 > MAX_DEPTH {
            return Err(too_deep(location));
        }
        let kind = anchored.node.kind.clone();
        let measure = anchored.measure;
        self.copy(measure, location)?;
        Ok(Node { location, kind })
    }

    fn count(&mut self, values: usize, location: Location) -> Result<(), Fault> {
        self.values += values;
        if self.values > MAX_VALUES {
            return Err(fault(location, format!("more than {MAX_VALUES} values")));
        }
        Ok(())
    }

    /// Takes what a copy costs from the budget, before it is made.
    fn copy(&mut self, measure: Measure, location: Location) -> Result<(), Fault> {
        self.copied_bytes += measure.bytes;
        if self.copied_bytes > MAX_BYTES {
            let message = format!("aliases repeat more than {MAX_BYTES} bytes of text");
            return Err(fault(location, message));
        }
        self.count(measure.values, location)
    }
}

fn too_deep(location: Location) -> Fault {
    fault(location, format!("nested deeper than {MAX_DEPTH} levels"))
}

/// Lines are counted from 1 and columns from 0 by the parser.
fn location(span: Span) -> Location {
    place(span.start.line(), span.start.col())
}

fn place(line: usize, column: usize) -> Location {
    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    Location { line: number(line).max(1), column: number(column).saturating_add(1) }
}

fn syntax(error: &ScanError) -> Fault {
    let at = place(error.marker().line(), error.marker().col());
    let hint = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return too_deep(at),
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => {
            "put text that holds `: ` in quotes"
        }
        ErrorKind::SimpleKeyExpected => "a key needs `:` and a space after it",
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => "indent with spaces",
        ErrorKind::UnknownAnchor => {
            "an alias must follow its anchor; quote text that starts with `*`"
        }
        ErrorKind::UnexpectedCharacter { .. } => "put text that starts with it in quotes",
        ErrorKind::UnknownQuotedScalarEscape => "write a backslash as `\\\\`, or use single quotes",
        _ => return fault(at, format!("invalid YAML: {}", error.info())),
    };
    fault(at, format!("invalid YAML: {}", error.info())).hint(hint)
}

fn measure(node: &Node) -> Measure {
    let mut sum = match &node.kind {
        Kind::String(text) | Kind::Number(text) => {
            return Measure { values: 1, bytes: text.len() as u64, height: 0 };
        }
        Kind::Null | Kind::Bool(_) => return Measure { values: 1, ..Measure::default() },
        Kind::Array(items) => items.iter().map(measure).fold(Measure::default(), Measure::beside),
        Kind::Object(members) => members
            .iter()
            .map(|member| {
                let value = measure(&member.value);
                Measure { bytes: value.bytes + member.key.len() as u64, ..value }
            })
            .fold(Measure::default(), Measure::beside),
    };
    sum.values += 1;
    sum.height += 1;
    sum
}

impl Measure {
    fn beside(self, other: Self) -> Self {
        Self {
            values: self.values + other.values,
            bytes: self.bytes + other.bytes,
            height: self.height.max(other.height),
        }
    }
}

/// The type of a scalar: by its tag, else by the core schema when it is plain, else a string.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Kind, String> {
    let string = || Kind::String(text.to_owned());
    let Some(tag) = tag else {
        return Ok(match style {
            ScalarStyle::Plain => core_schema(text),
            _ => string(),
        });
    };
    if is_non_specific(tag) {
        return Ok(string());
    }
    let kind = core_schema(text);
    let fits = match (tag.core_suffix(), &kind) {
        (Some("str"), _) => return Ok(string()),
        (Some("null"), Kind::Null)
        | (Some("bool"), Kind::Bool(_))
        | (Some("float"), Kind::Number(_)) => true,
        (Some("int"), Kind::Number(number)) => !number.contains(['.', 'e', 'E']),
        (Some("null" | "bool" | "int" | "float"), _) => false,
        _ => return Err(unknown_tag(tag)),
    };
    if fits { Ok(kind) } else { Err(format!("{} is not a value of its tag", quoted(text, '"'))) }
}

/// The tag `!`, which makes a string of a scalar and says nothing about a collection.
fn is_non_specific(tag: &Tag) -> bool {
    matches!((tag.handle(), tag.suffix()), ("" | "!", "!" | "") if tag.original() == "!")
}

fn unknown_tag(tag: &Tag) -> String {
    format!("tag {} does not belong here", quoted(&tag.original(), '`'))
}

/// The core schema, section 10.3.2 of YAML 1.2.2.
fn core_schema(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => number(text).map_or_else(|| Kind::String(text.to_owned()), Kind::Number),
    }
}

/// A number of the core schema in the spelling of JSON: decimal, without a plus sign, leading zeros
/// or a bare point. The three that JSON does not have become `.inf`, `-.inf` and `.nan`.
fn number(text: &str) -> Option<String> {
    let based = |digits: &str, radix| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        u128::from_str_radix(digits, radix).ok().filter(|_| plain).map(|value| value.to_string())
    };
    if let Some(digits) = text.strip_prefix("0x") {
        return based(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return based(digits, 8);
    }
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(format!("{sign}.inf")),
        ".nan" | ".NaN" | ".NAN" if unsigned == text => return Some(".nan".to_owned()),
        _ => {}
    }
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fits = exponent.is_none_or(|text| {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        !unsigned.is_empty() && digits(unsigned)
    });
    if (whole.is_empty() && fraction.is_empty())
        || !digits(whole)
        || !digits(fraction)
        || !exponent_fits
    {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        rest => rest,
    };
    let mut number = format!("{sign}{whole}");
    if !fraction.is_empty() {
        number.push('.');
        number.push_str(fraction);
    }
    if let Some(exponent) = exponent {
        number.push('e');
        number.push_str(exponent);
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_have_the_types_of_the_core_schema() {
        for (text, expected) in [
            ("", "null"),
            ("~", "null"),
            ("Null", "null"),
            ("nULL", "string"),
            ("true", "true"),
            ("TRUE", "true"),
            ("False", "false"),
            ("yes", "string"),
            ("no", "string"),
            ("on", "string"),
            ("0", "0"),
            ("-0", "-0"),
            ("+12", "12"),
            ("012", "12"),
            ("0o14", "12"),
            ("0x1F", "31"),
            ("-0x1F", "string"),
            ("0o8", "string"),
            ("0x", "string"),
            ("0x+1", "string"),
            ("1_000", "string"),
            ("1.", "1"),
            (".5", "0.5"),
            ("-.5e3", "-0.5e3"),
            ("1e3", "1e3"),
            ("1E+03", "1e+03"),
            ("1e", "string"),
            (".", "string"),
            ("-", "string"),
            ("1.2.3", "string"),
            ("12:30", "string"),
            ("2026-10-05", "string"),
            (".inf", ".inf"),
            ("-.INF", "-.inf"),
            ("+.inf", ".inf"),
            (".NaN", ".nan"),
            ("-.nan", "string"),
            ("inf", "string"),
            ("NaN", "string"),
        ] {
            let shown = match core_schema(text) {
                Kind::Null => "null".to_owned(),
                Kind::Bool(value) => value.to_string(),
                Kind::Number(number) => number,
                _ => "string".to_owned(),
            };
            assert_eq!(shown, expected, "{text}");
        }
    }
}
