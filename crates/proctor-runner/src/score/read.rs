//! One run, from bytes to its report.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use proctor_formats::fixture_run::adapters::Adapted;
use proctor_formats::fixture_run::{ActualSource, Document};
use proctor_grade::recorded::{Graded, contradictions, grade};
use proctor_model::recorded::EVALUATOR_VERSION;
use proctor_model::recorded::report::{FixtureEcho, Reason, RunReport, Subject, Verdict, note};
use proctor_model::recorded::run::{ContractVersion, Violation};

use super::Options;
use super::batch::Source;

/// A text taken apart, or why that cannot be done.
pub(super) type Parsed<'b> = Result<Document<'b>, Violation>;

/// What an adapter made of a payload; nothing where there is no adapter or no payload.
#[derive(Default)]
pub(super) struct Made<'d> {
    adapted: Option<Adapted<'d>>,
    violations: Vec<Violation>,
}

/// Takes a text apart.
pub(super) fn parse<'b>(source: &'b Source<'_>) -> Parsed<'b> {
    let bytes = source.bytes.as_deref().map_err(Clone::clone)?;
    guard(|| Document::parse(bytes))?
}

/// Lets the adapter read the payload.
pub(super) fn adapt<'d>(parsed: &'d Parsed<'_>, options: &Options) -> Made<'d> {
    let (Ok(document), Some(adapter)) = (parsed, options.adapter) else { return Made::default() };
    let Some(payload) = document.payload() else { return Made::default() };
    match guard(|| adapter.adapt(payload, options.order_by.as_deref())) {
        Ok(Ok(adapted)) => Made { adapted: Some(adapted), violations: Vec::new() },
        Ok(Err(violations)) => Made { adapted: None, violations },
        Err(violation) => Made { adapted: None, violations: vec![violation] },
    }
}

/// Scores a run. `room` is room to work in.
pub(super) fn report<'d>(
    parsed: &'d Parsed<'_>,
    made: &'d Made<'d>,
    options: &Options,
    room: &mut Vec<u8>,
) -> RunReport<'d> {
    let mut report = empty(options);
    match parsed {
        Err(violation) => report.violations = vec![violation.clone()],
        Ok(document) => {
            let done = guard(|| fill(&mut report, document, made, options, room));
            if let Err(violation) = done {
                report = empty(options);
                report.violations = vec![violation];
            }
        }
    }
    if !report.violations.is_empty() {
        report.verdict = Verdict::Error;
        report.reason = Some(Reason::ContractViolation);
        report.subject = None;
    }
    report
}

fn empty(options: &Options) -> RunReport<'static> {
    RunReport {
        path: None,
        contract_version: ContractVersion::V1,
        evaluator_version: EVALUATOR_VERSION,
        fixture: None,
        input_digest: None,
        adapter: options.adapter.map(|adapter| adapter.name),
        subject: Some(options.adapter.map_or(Subject::Answer, |adapter| adapter.subject)),
        verdict: Verdict::Error,
        reason: None,
        intended: options.self_test.then_some(None),
        checks: Vec::new(),
        violations: Vec::new(),
        notes: Vec::new(),
    }
}

fn fill<'d>(
    report: &mut RunReport<'d>,
    document: &'d Document<'_>,
    made: &'d Made<'d>,
    options: &Options,
    room: &mut Vec<u8>,
) {
    report.input_digest = document.digest(room);
    let source = match options.adapter {
        None => ActualSource::Envelope,
        Some(_) => ActualSource::Adapter(made.adapted.as_ref().map(|adapted| &adapted.actual)),
    };
    let intended = match document.run(source) {
        Ok(run) => {
            let fixture = run.fixture;
            report.fixture = Some(FixtureEcho {
                id: Some(fixture.id),
                category: Some(fixture.category),
                kind: Some(fixture.kind),
                query: fixture.query,
                memory: fixture.memory,
            });
            match grade(&run, options.boundary) {
                Ok(Graded { verdict, reason, checks, notes }) if made.violations.is_empty() => {
                    let adapted = made.adapted.iter().flat_map(|adapted| &adapted.notes);
                    let order_by = options
                        .order_by
                        .iter()
                        .map(|field| Cow::Owned(format!("{}{field}", note::ORDER_BY)));
                    report.notes = order_by.chain(adapted.cloned()).chain(notes).collect();
                    (report.verdict, report.reason, report.checks) = (verdict, reason, checks);
                }
                graded => report.violations = graded.err().unwrap_or_default(),
            }
            fixture.intended_verdict.or(Some(fixture.kind.intended_verdict()))
        }
        Err(broken) => {
            report.fixture = Some(broken.fixture);
            report.violations = contradictions(&broken.expected);
            report.violations.extend(broken.violations);
            let kind = broken.fixture.kind;
            broken.intended_verdict.or_else(|| Some(kind?.intended_verdict()))
        }
    };
    report.intended = options.self_test.then_some(intended);
    report.violations.extend_from_slice(&made.violations);
    report.violations.sort();
}

/// A panic is a bug of ours, and no reason to leave the other runs unscored.
fn guard<T>(work: impl FnOnce() -> T) -> Result<T, Violation> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| {
        Violation::new("", "proctor failed here; this is a bug in proctor, please report it")
    })
}
