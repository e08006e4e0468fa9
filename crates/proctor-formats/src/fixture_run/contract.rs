//! Values against the contract: the envelope, its strictness, every violation at once.

use proctor_model::json::Json;
use proctor_model::recorded::report::{CheckName, FixtureEcho, Verdict};
use proctor_model::recorded::run::{
    Actual, Category, ContractVersion, Expected, Fixture, FixtureRun, INTENDED_VERDICT, Kind,
    MAX_NEEDLES, Scalar, Violation,
};

use super::describe::{Pointer, did_you_mean};
use super::parse::Document;
use super::violations::Violations;

/// Where a run's answer comes from.
#[derive(Debug, Clone, Copy)]
pub enum ActualSource<'a> {
    /// From `actual` in the envelope.
    Envelope,
    /// From an adapter, which read it from `payload`; nothing when there was no payload.
    Adapter(Option<&'a Json<'a>>),
}

/// A document that breaks the contract.
#[derive(Debug, Clone, PartialEq)]
pub struct Broken<'a> {
    /// What of the fixture could be read nevertheless.
    pub fixture: FixtureEcho<'a>,
    /// The checks that could be read.
    pub expected: Expected<'a>,
    /// What the self-test was told to expect.
    pub intended_verdict: Option<Verdict>,
    /// Every violation, by pointer, as far as [`super::MAX_VIOLATIONS`]; never empty.
    pub violations: Vec<Violation>,
}

impl<'a> Document<'a> {
    /// The run that the document holds.
    pub fn run<'d>(&'d self, actual: ActualSource<'d>) -> Result<FixtureRun<'d>, Box<Broken<'d>>>
    where
        'a: 'd,
    {
        let mut reader = Reader { violations: self.flaws.clone() };
        let mut partial = Partial::default();
        let run = reader.envelope(&self.root, actual, &mut partial);
        if let Some(run) = run
            && reader.violations.is_empty()
        {
            return Ok(run);
        }
        if !self.flaws.is_empty() {
            // Neither can be echoed value for value.
            (partial.fixture.query, partial.fixture.memory) = (None, None);
        }
        Err(Box::new(Broken {
            fixture: partial.fixture,
            expected: partial.expected,
            intended_verdict: partial.intended_verdict,
            violations: reader.violations.into_sorted(""),
        }))
    }

    /// The payload of a vendor, which an adapter reads.
    pub fn payload(&self) -> Option<&Json<'a>> {
        self.root.get("payload")
    }
}

/// What could be read, also of a document that breaks the contract.
#[derive(Default)]
struct Partial<'d> {
    fixture: FixtureEcho<'d>,
    expected: Expected<'d>,
    intended_verdict: Option<Verdict>,
}

struct Reader {
    violations: Violations,
}

impl Reader {
    fn envelope<'d>(
        &mut self,
        root: &'d Json<'d>,
        source: ActualSource<'d>,
        partial: &mut Partial<'d>,
    ) -> Option<FixtureRun<'d>> {
        let at = Pointer::ROOT;
        if !matches!(root, Json::Object(_)) {
            self.violations.push(at.expected("an object", root));
            return None;
        }
        self.top_level_keys(root, source);
        let schema = self.optional(root, &at, "$schema", text);
        let version = self.required(root, &at, "contractVersion", version);
        let fixture =
            self.required(root, &at, "fixture", |value, at, this| this.fixture(value, at, partial));
        let actual = match source {
            ActualSource::Envelope => root.get("actual"),
            ActualSource::Adapter(actual) => actual,
        };
        let actual = match actual {
            Some(value) => self.actual(value, &at.key("actual")).map(Some),
            None => Some(None),
        };
        Some(FixtureRun {
            schema: schema?,
            contract_version: version?,
            fixture: fixture?,
            actual: actual?,
        })
    }

    fn top_level_keys(&mut self, root: &Json<'_>, source: ActualSource<'_>) {
        let Json::Object(object) = root else { return };
        let (answer, other) = match source {
            ActualSource::Envelope => ("actual", "payload"),
            ActualSource::Adapter(_) => ("payload", "actual"),
        };
        let known = ["$schema", "contractVersion", "fixture", answer];
        for (key, _) in object.members().iter().filter(|(key, _)| !known.contains(&key.as_ref())) {
            let message = match source {
                ActualSource::Envelope if key == other => {
                    "unknown key; `--adapter NAME` reads the payload of a vendor".to_owned()
                }
                ActualSource::Adapter(_) if key == other => {
                    "unknown key; an adapter makes `actual` from `payload`".to_owned()
                }
                _ => {
                    let free = known.into_iter().filter(|known| root.get(known).is_none());
                    format!("unknown key{}", did_you_mean(key, free))
                }
            };
            self.violations.push(Pointer::ROOT.key(key).violation(message));
        }
    }

    fn fixture<'d>(
        &mut self,
        value: &'d Json<'d>,
        at: &Pointer<'_>,
        partial: &mut Partial<'d>,
    ) -> Option<Fixture<'d>> {
        if !matches!(value, Json::Object(_)) {
            self.violations.push(at.expected("an object", value));
            return None;
        }
        let id = self.required(value, at, "id", non_blank);
        let category = self.required(value, at, "category", |value, at, this| {
            this.choice(value, at, Category::ALL, Category::as_str)
        });
        let kind = self.required(value, at, "kind", |value, at, this| {
            this.choice(value, at, Kind::ALL, Kind::as_str)
        });
        let (query, memory) = (value.get("query"), value.get("memory"));
        let intended = value.get(INTENDED_VERDICT).and_then(Json::as_str);
        let intended_verdict =
            Verdict::ALL.into_iter().find(|verdict| Some(verdict.as_str()) == intended);
        partial.fixture = FixtureEcho { id, category, kind, query, memory };
        partial.intended_verdict = intended_verdict;
        let expected = self.required(value, at, "expected", |value, at, this| {
            this.expected(value, at, &mut partial.expected)
        });
        Some(Fixture {
            id: id?,
            category: category?,
            kind: kind?,
            query,
            memory,
            expected: expected?,
            intended_verdict,
        })
    }

    fn expected<'d>(
        &mut self,
        value: &'d Json<'d>,
        at: &Pointer<'_>,
        partial: &mut Expected<'d>,
    ) -> Option<Expected<'d>> {
        let Json::Object(object) = value else {
            self.violations.push(at.expected("an object", value));
            return None;
        };
        for (key, _) in object.members() {
            let names = CheckName::ALL.map(CheckName::as_str);
            if !names.contains(&key.as_ref()) {
                let free = names.into_iter().filter(|name| object.get(name).is_none());
                let message = format!("unknown check{}", did_you_mean(key, free));
                self.violations.push(at.key(key).violation(message));
            }
        }
        let name = CheckName::as_str;
        let answer_equals = self.optional(value, at, name(CheckName::AnswerEquals), scalar);
        let must_contain = self.optional(value, at, name(CheckName::MustContain), needles);
        let must_not_contain = self.optional(value, at, name(CheckName::MustNotContain), needles);
        let order = self.optional(value, at, name(CheckName::Order), list);
        let attributed_to = self.optional(value, at, name(CheckName::AttributedTo), non_blank);
        *partial = Expected {
            answer_equals: answer_equals.flatten(),
            must_contain: must_contain.flatten(),
            must_not_contain: must_not_contain.flatten(),
            order: order.flatten(),
            attributed_to: attributed_to.flatten(),
        };
        Some(Expected {
            answer_equals: answer_equals?,
            must_contain: must_contain?,
            must_not_contain: must_not_contain?,
            order: order?,
            attributed_to: attributed_to?,
        })
    }

    fn actual<'d>(&mut self, value: &'d Json<'d>, at: &Pointer<'_>) -> Option<Actual<'d>> {
        if !matches!(value, Json::Object(_)) {
            self.violations.push(at.expected("an object", value));
            return None;
        }
        let answer = self.optional(value, at, "answer", scalar);
        let order = self.optional(value, at, "order", list);
        let entity = self.optional(value, at, "entity", text);
        let truncated = self.optional(value, at, "truncated", boolean);
        Some(Actual {
            answer: answer?,
            order: order?,
            entity: entity?,
            truncated: truncated?.unwrap_or_default(),
        })
    }

    fn required<'d, T>(
        &mut self,
        object: &'d Json<'d>,
        at: &Pointer<'_>,
        key: &str,
        read: impl FnOnce(&'d Json<'d>, &Pointer<'_>, &mut Self) -> Option<T>,
    ) -> Option<T> {
        let at = at.key(key);
        let Some(value) = object.get(key) else {
            self.violations.push(at.violation("is missing"));
            return None;
        };
        read(value, &at, self)
    }

    /// `Some(None)` when the key is left out.
    #[expect(clippy::option_option, reason = "left out and wrong are two things")]
    fn optional<'d, T>(
        &mut self,
        object: &'d Json<'d>,
        at: &Pointer<'_>,
        key: &str,
        read: impl FnOnce(&'d Json<'d>, &Pointer<'_>, &mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        match object.get(key) {
            None => Some(None),
            Some(value) => read(value, &at.key(key), self).map(Some),
        }
    }

    fn choice<T: Copy, const N: usize>(
        &mut self,
        value: &Json<'_>,
        at: &Pointer<'_>,
        choices: [T; N],
        name: fn(T) -> &'static str,
    ) -> Option<T> {
        let text = value.as_str();
        let found = choices.into_iter().find(|choice| text == Some(name(*choice)));
        if found.is_none() {
            let names = choices.map(name);
            let mut violation = at.expected(&format!("`{}`", names.join("`, `")), value);
            violation.message += &text.map(|text| did_you_mean(text, names)).unwrap_or_default();
            self.violations.push(violation);
        }
        found
    }

    fn refuse<T>(&mut self, at: &Pointer<'_>, expected: &str, value: &Json<'_>) -> Option<T> {
        self.violations.push(at.expected(expected, value));
        None
    }
}

fn version(value: &Json<'_>, at: &Pointer<'_>, reader: &mut Reader) -> Option<ContractVersion> {
    let version = ContractVersion::V1;
    match value.as_str() {
        Some(text) if text == version.as_str() => Some(version),
        _ => reader.refuse(at, "the string \"1\"", value),
    }
}

fn text<'d>(value: &'d Json<'d>, at: &Pointer<'_>, reader: &mut Reader) -> Option<&'d str> {
    value.as_str().or_else(|| reader.refuse(at, "a string", value))
}

fn non_blank<'d>(value: &'d Json<'d>, at: &Pointer<'_>, reader: &mut Reader) -> Option<&'d str> {
    let text = text(value, at, reader)?;
    if is_blank(text) {
        return reader.refuse(at, "a string that is not blank", value);
    }
    Some(text)
}

fn boolean(value: &Json<'_>, at: &Pointer<'_>, reader: &mut Reader) -> Option<bool> {
    match value {
        Json::Bool(value) => Some(*value),
        _ => reader.refuse(at, "`true` or `false`", value),
    }
}

fn scalar<'d>(value: &'d Json<'d>, at: &Pointer<'_>, reader: &mut Reader) -> Option<Scalar<'d>> {
    Scalar::of(value).or_else(|| reader.refuse(at, "a string, number or boolean", value))
}

fn list<'d>(value: &'d Json<'d>, at: &Pointer<'_>, reader: &mut Reader) -> Option<&'d [Json<'d>]> {
    match value {
        Json::Array(items) => Some(items),
        _ => reader.refuse(at, "a list", value),
    }
}

/// A list of scalars, none of them blank: every text contains a blank one.
fn needles<'d>(
    value: &'d Json<'d>,
    at: &Pointer<'_>,
    reader: &mut Reader,
) -> Option<&'d [Json<'d>]> {
    let items = list(value, at, reader)?;
    if items.len() > MAX_NEEDLES {
        let message = format!("lists {} values; the limit is {MAX_NEEDLES}", items.len());
        reader.violations.push(at.violation(message));
        return None;
    }
    let mut whole = true;
    for (index, item) in items.iter().enumerate() {
        let at = at.index(index);
        whole &= match scalar(item, &at, reader) {
            Some(Scalar::String(text)) if is_blank(text) => {
                let message = "is blank; every answer contains it";
                reader.violations.push(at.violation(message));
                false
            }
            read => read.is_some(),
        };
    }
    whole.then_some(items)
}

/// Whether nothing is left of a text once white space is taken off, as text is compared.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}
