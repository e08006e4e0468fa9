//! Recorded runs: five checks over what a memory system answered, and what they add up to.
//!
//! A run's verdict is the worst of its checks, `fail` before `unknown` before `pass`. A check is
//! `unknown`, never `fail`, when the evidence it needs is not there. Text is compared as in
//! [`crate::text`], lists as in [`crate::json_equal`]. Pure: the same run gives the same result.

mod needles;
mod order;

use std::borrow::Cow;

use proctor_model::json::Json;
use proctor_model::recorded::report::{CheckName, CheckReport, Echo, Item, Reason, Verdict, note};
use proctor_model::recorded::run::{Actual, Expected, FixtureRun, Scalar, Violation};

use crate::text::{Boundary, EXCERPT_CONTEXT, Prepared};
use needles::Needles;

/// What the checks of a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Graded<'a> {
    /// The worst verdict of the checks; `unknown` without checks.
    pub verdict: Verdict,
    /// Why, when there is no check to say it.
    pub reason: Option<Reason>,
    /// Every declared check.
    pub checks: Vec<CheckReport<'a>>,
    /// What a reader should know beside the verdict.
    pub notes: Vec<Cow<'a, str>>,
}

/// Grades a run. An `Err` has the violations of the contract that only the comparison of texts
/// shows, see [`contradictions`].
pub fn grade<'a>(run: &FixtureRun<'a>, boundary: Boundary) -> Result<Graded<'a>, Vec<Violation>> {
    let expected = &run.fixture.expected;
    let needles = Needles::of(expected);
    let text = run.actual.and_then(|actual| actual.answer).map(|answer| (answer, answer.text()));
    let answer = text.as_ref().map(|(scalar, text)| Given::new(*scalar, text));
    let length = answer.as_ref().map_or(0, |answer| answer.text.normal().len());
    let violations = needles.violations(length);
    if !violations.is_empty() {
        return Err(violations);
    }
    let mut grader = Grader { actual: run.actual, boundary, checks: Vec::new(), notes: Vec::new() };
    if let Some(value) = expected.answer_equals {
        grader.equals(CheckName::AnswerEquals, value, answer.as_ref());
    }
    if let Some(values) = expected.must_contain {
        grader.containment(CheckName::MustContain, values, &needles.must, answer.as_ref());
    }
    if let Some(values) = expected.must_not_contain {
        grader.containment(CheckName::MustNotContain, values, &needles.must_not, answer.as_ref());
    }
    if let Some(list) = expected.order {
        grader.order(list);
    }
    if let Some(name) = expected.attributed_to {
        let entity = run.actual.and_then(|actual| actual.entity);
        let entity = entity.map(|entity| Given::new(Scalar::String(entity), entity));
        grader.equals(CheckName::AttributedTo, Scalar::String(name), entity.as_ref());
    }
    let Grader { checks, notes, .. } = grader;
    let reason = checks.is_empty().then_some(Reason::NoChecksDeclared);
    Ok(Graded { verdict: Verdict::worst(checks.iter().map(|c| c.verdict)), reason, checks, notes })
}

/// Values that are listed both as needed and as forbidden, so that no answer can pass.
pub fn contradictions(expected: &Expected<'_>) -> Vec<Violation> {
    Needles::of(expected).violations(0)
}

/// A value that a system gave, with its text.
struct Given<'t> {
    scalar: Scalar<'t>,
    text: Prepared<'t>,
}

impl<'t> Given<'t> {
    fn new(scalar: Scalar<'t>, text: &'t str) -> Self {
        Self { scalar, text: Prepared::new(text) }
    }

    /// Its beginning, for a reader who wonders what was compared.
    fn head(&self) -> String {
        let normal = self.text.normal();
        let end = normal.char_indices().nth(EXCERPT_CONTEXT).map_or(normal.len(), |(at, _)| at);
        self.text.excerpt(&(0..end)).to_owned()
    }
}

/// What a check found: nothing wrong, or why it is no pass.
type Finding = Result<(), (Verdict, Reason)>;

const fn fail(reason: Reason) -> Finding {
    Err((Verdict::Fail, reason))
}

const fn unknown(reason: Reason) -> Finding {
    Err((Verdict::Unknown, reason))
}

struct Grader<'a> {
    actual: Option<Actual<'a>>,
    boundary: Boundary,
    checks: Vec<CheckReport<'a>>,
    notes: Vec<Cow<'a, str>>,
}

impl<'a> Grader<'a> {
    /// `answerEquals` and `attributedTo`.
    fn equals(&mut self, check: CheckName, expected: Scalar<'a>, given: Option<&Given<'_>>) {
        let echo = Echo::Scalar(expected);
        let Some(given) = given else {
            return self.push(check, echo, self.absent(), Vec::new());
        };
        self.note_inexact([expected, given.scalar]);
        let equal = Prepared::new(&expected.text()).equals(&given.text);
        let excerpt = Some(given.head());
        let item = Item { index: None, value: echo, found: equal, boundary: None, excerpt };
        let finding = match check {
            _ if equal => Ok(()),
            CheckName::AttributedTo => fail(Reason::EntityDiffers),
            _ if self.is_truncated() => unknown(Reason::AnswerTruncated),
            _ => fail(Reason::NotEqual),
        };
        self.push(check, echo, finding, vec![item]);
    }

    /// `mustContain` and `mustNotContain`; `needles` are the texts of `values`.
    fn containment(
        &mut self,
        check: CheckName,
        values: &'a [Json<'a>],
        needles: &[Cow<'a, str>],
        answer: Option<&Given<'_>>,
    ) {
        let echo = Echo::List(values);
        if values.is_empty() {
            return self.push(check, echo, unknown(Reason::NoValuesListed), Vec::new());
        }
        let Some(answer) = answer else {
            return self.push(check, echo, self.absent(), Vec::new());
        };
        self.note_inexact(values.iter().filter_map(Scalar::of).chain([answer.scalar]));
        if self.boundary == Boundary::Word {
            self.note(note::BOUNDARY_WORD);
        }
        let items = needles::search(values, needles, &answer.text, self.boundary);
        let any_found = items.iter().any(|item| item.found);
        let all_found = items.iter().all(|item| item.found);
        let finding = match check {
            CheckName::MustContain if all_found => Ok(()),
            CheckName::MustNotContain if any_found => fail(Reason::StaleValuePresent),
            _ if self.is_truncated() => unknown(Reason::AnswerTruncated),
            CheckName::MustContain => fail(Reason::ValueMissing),
            // What is absent from an answer that says nothing proves nothing.
            _ if answer.text.is_blank() => {
                self.note(note::BLANK_ANSWER);
                unknown(Reason::FieldMissing)
            }
            _ => Ok(()),
        };
        let mut inside = items.iter().filter(|i| i.found).map(|i| i.boundary == Some(false));
        let depends_on_inside = match check {
            CheckName::MustContain => all_found && inside.any(|inside| inside),
            _ => any_found && inside.all(|inside| inside),
        };
        if depends_on_inside {
            self.note(note::ONLY_INSIDE_WORD);
        }
        self.push(check, echo, finding, items);
    }

    fn order(&mut self, expected: &'a [Json<'a>]) {
        let echo = Echo::List(expected);
        let Some(actual) = self.actual.and_then(|actual| actual.order) else {
            return self.push(CheckName::Order, echo, self.absent(), Vec::new());
        };
        if order::has_inexact(expected) || order::has_inexact(actual) {
            self.note(note::INEXACT_NUMBER);
        }
        let Some(difference) = order::first_difference(expected, actual) else {
            return self.push(CheckName::Order, echo, Ok(()), Vec::new());
        };
        if order::equal_normalised(expected, actual) {
            self.note(note::DIFFERS_ONLY_BY_NORMALISATION);
        }
        self.push(CheckName::Order, echo, fail(Reason::OrderDiffers), vec![difference]);
    }

    fn push(&mut self, check: CheckName, expected: Echo<'a>, found: Finding, items: Vec<Item<'a>>) {
        let (verdict, reason) = match found {
            Ok(()) => (Verdict::Pass, None),
            Err((verdict, reason)) => (verdict, Some(reason)),
        };
        let reads = check.reads();
        self.checks.push(CheckReport { check, verdict, reads, expected, items, reason });
    }

    fn note(&mut self, note: &'static str) {
        if !self.notes.iter().any(|other| other == note) {
            self.notes.push(Cow::Borrowed(note));
        }
    }

    fn note_inexact<'s>(&mut self, compared: impl IntoIterator<Item = Scalar<'s>>) {
        let inexact = |scalar| matches!(scalar, Scalar::Number(n) if n.is_inexact_integer());
        if compared.into_iter().any(inexact) {
            self.note(note::INEXACT_NUMBER);
        }
    }

    fn is_truncated(&self) -> bool {
        self.actual.is_some_and(|actual| actual.truncated)
    }

    /// Why the field that a check reads is not there.
    fn absent(&self) -> Finding {
        unknown(match self.actual {
            None => Reason::ActualMissing,
            Some(_) => Reason::FieldMissing,
        })
    }
}

#[cfg(test)]
mod tests;
