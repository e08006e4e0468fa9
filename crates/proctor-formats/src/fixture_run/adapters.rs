//! Adapters: what a vendor's payload says in the terms of a fixture-run.
//!
//! An adapter is a pure function from the value under `payload` to the members of `actual`. It
//! never guesses: what a payload does not say is left out, and the checks that need it come to
//! `unknown`. A payload of another shape than the adapter reads breaks the contract.
//!
//! A new adapter is a module here and a line in [`ADAPTERS`].

mod anthropic;
mod langmem;
mod letta;
mod locomo;
mod longmemeval;
mod mem0;
mod openai_chat;
mod openai_responses;
mod order;
mod shape;
#[cfg(test)]
mod tests;
mod transcript;
mod zep;

use std::borrow::Cow;

use proctor_model::json::{Json, Object};
use proctor_model::recorded::report::Subject;
use proctor_model::recorded::run::Violation;

/// Every adapter, by name.
pub const ADAPTERS: &[Adapter] = &[
    anthropic::ADAPTER,
    langmem::ADAPTER,
    letta::ADAPTER,
    locomo::ADAPTER,
    longmemeval::ADAPTER,
    mem0::ADAPTER,
    openai_chat::ADAPTER,
    openai_responses::ADAPTER,
    transcript::ADAPTER,
    zep::ADAPTER,
];

/// The adapter with this name.
pub fn adapter(name: &str) -> Option<&'static Adapter> {
    ADAPTERS.iter().find(|adapter| adapter.name == name)
}

/// Notes of adapters, beside `stop_reason:` with the reason for which Letta stopped.
pub mod note {
    /// The payload has no text that would be an answer.
    pub const NO_ANSWER_TEXT: &str = "no_answer_text";
    /// The memory gave nothing back.
    pub const NOTHING_RETRIEVED: &str = "nothing_retrieved";
    /// The memory gave facts back, all of which have ended.
    pub const NO_CURRENT_FACTS: &str = "no_current_facts";
    /// The text lists facts that have ended, with their dates, beside those that hold.
    pub const CONTAINS_ENDED_FACTS: &str = "contains_ended_facts";
    /// The rows cannot be put in order: the field is missing from some, or its values are of
    /// different kinds.
    pub const ORDER_NOT_COMPARABLE: &str = "order_not_comparable";
}

/// How the payload of one vendor is read.
#[derive(Debug)]
pub struct Adapter {
    /// The name for `--adapter`.
    pub name: &'static str,
    /// What it reads, in one line.
    pub reads: &'static str,
    /// What such a payload is evidence of.
    pub subject: Subject,
    /// Whether it makes an `order` of rows, which can be put in the order of one of their fields.
    pub orders_rows: bool,
    read: for<'p> fn(&mut shape::Reader, &'p Json<'p>, Option<&str>) -> Draft<'p>,
}

impl Adapter {
    /// Reads `payload`, which stands at `/payload`. `order_by` names the field of a row by which
    /// `order` is sorted; it has no meaning for adapters without [`Adapter::orders_rows`].
    ///
    /// # Errors
    ///
    /// Every place at which the payload has another shape than the adapter reads, by pointer, as far
    /// as [`super::MAX_VIOLATIONS`].
    pub fn adapt<'p>(
        &self,
        payload: &'p Json<'p>,
        order_by: Option<&str>,
    ) -> Result<Adapted<'p>, Vec<Violation>> {
        let mut reader = shape::Reader::new(self);
        let draft = (self.read)(&mut reader, payload, order_by);
        let violations = reader.into_violations();
        if violations.is_empty() { Ok(draft.finish()) } else { Err(violations) }
    }
}

/// What an adapter made of a payload.
#[derive(Debug, PartialEq)]
pub struct Adapted<'p> {
    /// `actual`, an object.
    pub actual: Json<'p>,
    /// What a reader of the report should know.
    pub notes: Vec<Cow<'static, str>>,
}

/// `actual` under construction.
#[derive(Debug, Default)]
struct Draft<'p> {
    answer: Option<Json<'p>>,
    order: Option<Vec<Json<'p>>>,
    entity: Option<&'p str>,
    /// The answer was cut off.
    truncated: bool,
    /// The answer is a refusal.
    refusal: bool,
    notes: Vec<Cow<'static, str>>,
}

impl<'p> Draft<'p> {
    /// Nothing, for a reason.
    fn nothing(note: impl Into<Cow<'static, str>>) -> Self {
        Self { notes: vec![note.into()], ..Self::default() }
    }

    /// An answer in text, or a note that there is none.
    fn answer(text: Option<Cow<'p, str>>) -> Self {
        match text {
            Some(text) => Self { answer: Some(Json::String(text)), ..Self::default() },
            None => Self::nothing(note::NO_ANSWER_TEXT),
        }
    }

    /// What a memory gave back, a line each; `order` has the same texts at `places`, if they have
    /// an order at all.
    fn retrieved(texts: &[Option<&'p str>], places: Option<Vec<usize>>) -> Self {
        if texts.is_empty() {
            return Self::nothing(note::NOTHING_RETRIEVED);
        }
        let lines: Vec<&str> = texts.iter().copied().flatten().collect();
        let mut draft = Self::answer(Some(lines.join("\n").into()));
        draft.order = places.map(|places| {
            let ordered = places.into_iter().filter_map(|at| *texts.get(at)?);
            ordered.map(|text| Json::String(Cow::Borrowed(text))).collect()
        });
        if draft.order.is_none() {
            draft.notes.push(note::ORDER_NOT_COMPARABLE.into());
        }
        draft
    }

    fn finish(self) -> Adapted<'p> {
        let answered = self.answer.is_some();
        let members = [
            ("answer", self.answer),
            ("order", self.order.map(Json::Array)),
            ("entity", self.entity.map(|name| Json::String(Cow::Borrowed(name)))),
            ("truncated", (answered && self.truncated).then_some(Json::Bool(true))),
            ("refusal", (answered && self.refusal).then_some(Json::Bool(true))),
        ];
        let present = members.into_iter().filter_map(|(key, value)| Some((key.into(), value?)));
        Adapted { actual: Json::Object(Object::new(present.collect())), notes: self.notes }
    }
}
