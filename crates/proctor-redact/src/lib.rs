//! Redaction: what must not reach a report, a transcript or a terminal.
//!
//! A [`Redactor`] knows the secrets of the environment by value and other people's by their look.
//! It finds a value as it is, in JSON strings (also strings inside strings), percent-encoded, and
//! inside base64 text at any alignment, wrapped or not. It is best effort: a secret that was
//! reversed, split over two lines of prose or encrypted passes.
//!
//! Every function here takes time proportional to its input, whatever the input.

mod shapes;
mod spans;
mod stream;
mod values;
mod views;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use serde_json::{Map, Value};

use spans::{Spans, whole};
use views::{Decoding, View};

/// What stands where a secret stood. Nothing in it needs escaping in JSON, XML text or a shell
/// word in quotation marks.
pub const MARK: &str = "[redacted]";

/// Encodings inside encodings are followed this deep: a URL in a JSON string in a JSON string is
/// one too many for most programs that write them.
const DEPTH: usize = 2;

/// Finds secrets and puts [`MARK`] in their place. Cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor(Arc<Inner>);

#[derive(Default)]
struct Inner {
    secrets: Option<AhoCorasick>,
    decodings: Vec<Decoding>,
    /// Length in bytes of the longest secret.
    longest: usize,
    skipped: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The automaton holds the secrets; a debug print must not.
        f.debug_struct("Redactor").field("skipped", &self.0.skipped).finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor for `values` and for known token shapes.
    ///
    /// Values below 8 characters are left alone. So are values that reports are full of, plain
    /// words and paths, which [`skipped`](Self::skipped) counts.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let (secrets, skipped) = values::select(values);
        let mut decodings = vec![Decoding::Json, Decoding::Percent, Decoding::Wrapped];
        if secrets.iter().any(|secret| secret.contains(' ')) {
            decodings.push(Decoding::Form);
        }
        Self(Arc::new(Inner {
            longest: secrets.iter().map(String::len).max().unwrap_or(0),
            secrets: values::automaton(&secrets),
            decodings,
            skipped,
        }))
    }

    /// A redactor for the values of those variables whose names contain KEY, TOKEN or SECRET in
    /// any case.
    pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let secret =
            |(name, value): (String, String)| values::is_secret_name(&name).then_some(value);
        Self::new(variables.into_iter().filter_map(secret))
    }

    /// How many values were left alone because redacting them would blank a report.
    pub fn skipped(&self) -> usize {
        self.0.skipped
    }

    /// `text` with [`MARK`] for every secret; borrowed when there is none.
    ///
    /// Matches that overlap or touch share one mark, and redacting the result again changes
    /// nothing. A JSON document whose secrets stand inside strings stays a JSON document: no
    /// escape is cut, and a private key ends with its string. For documents whose secrets may be
    /// numbers or contain quotation marks use [`json`](Self::json).
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let spans = self.spans(text);
        if spans.iter().all(|span| text.get(span.clone()) == Some(MARK)) {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut plain = 0;
        for span in spans {
            redacted.push_str(text.get(plain..span.start).unwrap_or_default());
            redacted.push_str(MARK);
            plain = span.end;
        }
        redacted.push_str(text.get(plain..).unwrap_or_default());
        Cow::Owned(redacted)
    }

    /// What the secret in `text` is, in words for people and without its value; `None` when
    /// [`text`](Self::text) would change nothing. Of several secrets one is named.
    pub fn names_secret(&self, text: &str) -> Option<&'static str> {
        match self.text(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(_) => {
                Some(shapes::name(text.as_bytes()).unwrap_or("a value of the environment"))
            }
        }
    }

    /// Redacts every string, key and number of a document. A number that shows a secret becomes
    /// a string; a key that turns into one that is there already gets a number.
    pub fn json(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(number) => {
                if let Cow::Owned(text) = self.text(&number.to_string()) {
                    *value = Value::String(text);
                }
            }
            Value::String(text) => {
                if let Cow::Owned(redacted) = self.text(text) {
                    *text = redacted;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Value::Object(members) => self.members(members),
        }
    }

    fn members(&self, members: &mut Map<String, Value>) {
        members.values_mut().for_each(|member| self.json(member));
        if members.keys().all(|key| matches!(self.text(key), Cow::Borrowed(_))) {
            return;
        }
        for (number, (key, member)) in std::mem::take(members).into_iter().enumerate() {
            let mut redacted = self.text(&key).into_owned();
            if redacted != key && members.contains_key(&redacted) {
                redacted = format!("{redacted} {number}");
            }
            members.insert(redacted, member);
        }
    }

    /// Everything in `text` that must go, and the marks that are there already.
    fn spans(&self, text: &str) -> Vec<Range<usize>> {
        let mut all = Spans::default();
        let mut start = 0;
        // A mark parts what stands before it from what stands behind it: nothing is looked for
        // across one, or a second pass could find what the first one made.
        for (mark, _) in text.match_indices(MARK) {
            self.piece(text, start..mark, &mut all);
            start = mark + MARK.len();
            all.push(mark..start);
        }
        self.piece(text, start..text.len(), &mut all);
        all.into_vec()
    }

    fn piece(&self, text: &str, range: Range<usize>, all: &mut Spans) {
        let Some(piece) = text.get(range.clone()) else { return };
        let bytes = piece.as_bytes();
        let mut sources: Vec<Spans> = shapes::find(bytes).collect();
        if let Some(secrets) = &self.0.secrets {
            self.search(secrets, bytes, &mut Vec::new(), &mut sources);
        }
        let found = Spans::merged(sources).into_vec();
        let mut floor = 0;
        for span in found {
            if span.end <= floor {
                continue;
            }
            let span = whole(piece, span.start.max(floor)..span.end, floor);
            let mut end = span.end;
            while let Some(more) = bytes.get(end..).and_then(shapes::at_start) {
                end += more;
            }
            let end = whole(piece, span.start..end, span.start).end;
            all.push(range.start + span.start..range.start + end);
            floor = end;
        }
    }

    /// Looks for the secrets in `bytes`, and in what `bytes` decodes to.
    fn search(
        &self,
        secrets: &AhoCorasick,
        bytes: &[u8],
        views: &mut Vec<View>,
        sources: &mut Vec<Spans>,
    ) {
        let mut spans = Spans::default();
        for found in secrets.find_overlapping_iter(bytes) {
            spans.push(found.range());
        }
        if !spans.is_empty() {
            let mut mapped = Spans::default();
            for span in spans.iter() {
                mapped.push(views.iter().rev().fold(span.clone(), |span, view| view.origin(&span)));
            }
            sources.push(mapped);
        }
        if views.len() == DEPTH {
            return;
        }
        for decoding in &self.0.decodings {
            if let Some(mut view) = View::of(bytes, *decoding) {
                let decoded = std::mem::take(&mut view.bytes);
                views.push(view);
                self.search(secrets, &decoded, views, sources);
                views.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests;
