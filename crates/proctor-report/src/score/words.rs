//! Reasons, values and steps in words, the same in every format for people.

use proctor_model::recorded::report::{
    Agreement, CheckName, CheckReport, Echo, Estimate, Item, Reason, RunReport, SelfTest, note,
};

use crate::line::one_line;

/// How many values of a list are named one by one.
const LISTED: usize = 5;

/// How many characters of a value are shown.
const VALUE: usize = 80;

/// How many characters of any other text of an input are shown on a line.
const LINE: usize = 500;

/// What a check found, in lines of plain text.
pub(super) fn finding(check: &CheckReport<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    match check.reason {
        None => lines.push(held(check)),
        Some(Reason::NoValuesListed) => lines.push("the fixture lists no value".to_owned()),
        Some(Reason::ActualMissing) => lines.push("the run has no `actual`".to_owned()),
        Some(Reason::FieldMissing) if check.items.is_empty() => {
            lines.push(format!("the run has no `{}`", check.reads));
        }
        Some(Reason::FieldMissing) => lines.push(format!("`{}` is blank", check.reads)),
        Some(_) => {
            let decided = |item: &&Item<'_>| match check.check {
                CheckName::MustNotContain if check.reason == Some(Reason::AnswerTruncated) => true,
                CheckName::MustNotContain => item.found,
                _ => !item.found,
            };
            let items: Vec<_> = check.items.iter().filter(decided).collect();
            for item in items.iter().take(LISTED) {
                lines.push(sentence(check, item));
                if let Some(excerpt) = &item.excerpt {
                    lines.push(format!("  {}", quoted(excerpt)));
                }
            }
            if items.len() > LISTED {
                lines.push(format!("and {} values more", items.len() - LISTED));
            }
        }
    }
    lines
}

fn held(check: &CheckReport<'_>) -> String {
    match check.check {
        CheckName::MustContain => "every value is in the answer".to_owned(),
        CheckName::MustNotContain => "no value is in the answer".to_owned(),
        CheckName::Order => "the order is as expected".to_owned(),
        CheckName::AnswerEquals | CheckName::AttributedTo => {
            format!("is {} as expected", value(check.expected))
        }
    }
}

fn sentence(check: &CheckReport<'_>, item: &Item<'_>) -> String {
    let value = value(item.value);
    let cut = check.reason == Some(Reason::AnswerTruncated);
    match check.check {
        CheckName::AnswerEquals if cut => format!("expected {value}; the answer was cut off:"),
        CheckName::AnswerEquals => format!("expected {value}; the answer is:"),
        CheckName::AttributedTo => format!("expected {value}; the entity is:"),
        CheckName::MustContain if item.boundary == Some(false) => {
            format!("{value} is only inside a longer word:")
        }
        CheckName::MustContain if cut => {
            format!("{value} is not in the answer, which was cut off")
        }
        CheckName::MustContain => format!("{value} is not in the answer"),
        CheckName::MustNotContain if item.found => format!("{value} is in the answer:"),
        CheckName::MustNotContain => {
            format!("{value} is not in the answer, which was cut off")
        }
        CheckName::Order => {
            let index = item.index.unwrap_or_default();
            match (item.value, &item.excerpt) {
                (Echo::Null, Some(_)) => format!("place {index} should not be there:"),
                (_, Some(_)) => format!("place {index} should be {value} and is:"),
                (_, None) => format!("place {index} should be {value} and is missing"),
            }
        }
    }
}

/// What a reader may do about a check that did not pass.
pub(super) fn next_step(check: &CheckReport<'_>) -> Option<&'static str> {
    Some(match check.reason? {
        Reason::NoChecksDeclared => "declare a check under `fixture.expected`",
        Reason::NoValuesListed => "list a value, or leave the check out",
        Reason::ActualMissing => "record what the system answered under `actual`",
        Reason::FieldMissing => "record the field, or leave the check out",
        Reason::AnswerTruncated => "record the run again with room for a longer answer",
        Reason::OrderDiffers => "compare the two lists from that place on",
        Reason::NotEqual => "free text rarely equals a value: `mustContain` looks for an anchor",
        Reason::ValueMissing => "if the answer says it in other words, list a shorter anchor",
        Reason::StaleValuePresent => {
            "history counts too: ask for the current value only in the query, if that is meant"
        }
        Reason::EntityDiffers => "see whether the answer is about the expected entity",
        Reason::ContractViolation => "`proctor score --schema` prints the contract",
    })
}

/// What a run without checks to show comes to.
pub(super) fn run_reason(report: &RunReport<'_>) -> Option<&'static str> {
    match report.reason? {
        Reason::NoChecksDeclared => Some("the fixture declares no check"),
        _ => None,
    }
}

/// A note in a sentence; those of adapters stand as they are.
pub(super) fn explained(name: &str) -> String {
    let sentence = match name {
        note::INEXACT_NUMBER => "an integer is larger than a double holds exactly",
        note::DIFFERS_ONLY_BY_NORMALISATION => {
            "the order differs only by case, white space or the encoding of letters"
        }
        note::ONLY_INSIDE_WORD => {
            "the verdict rests on a value inside a longer word; `--boundary word` ignores those"
        }
        note::BOUNDARY_WORD => "values count only as whole words",
        note::BLANK_ANSWER => "the answer is blank; what is not in it proves nothing",
        note::DUPLICATE_ID => "an earlier run has the same fixture id and other content",
        other => return line_of(other),
    };
    format!("{name}: {sentence}")
}

/// The labels in lines of plain text.
pub(super) fn agreement(agreement: &Agreement) -> Vec<String> {
    let mut lines = vec![
        format!("agreement: {}", estimate(agreement.agree)),
        format!("Cohen's kappa: {}", estimate(agreement.kappa)),
        format!("a pass is right: {}", estimate(agreement.pass_is_right)),
        format!("a fail is right: {}", estimate(agreement.fail_is_right)),
    ];
    if agreement.unlabelled > 0 {
        lines.push(format!("{} without a label", runs(agreement.unlabelled)));
    }
    if agreement.unused > 0 {
        lines.push(format!("labels without a run: {}", agreement.unused));
    }
    lines
}

fn estimate(estimate: Estimate) -> String {
    match (estimate.value, estimate.low, estimate.high) {
        (Some(value), Some(low), Some(high)) => {
            format!("{value:.3} (95 % interval {low:.3} to {high:.3})")
        }
        _ => "nothing to compare".to_owned(),
    }
}

/// The result of a self-test.
pub(super) fn self_test(test: SelfTest) -> String {
    let SelfTest { as_intended, otherwise, undecided } = test;
    format!(
        "self-test: {as_intended} as intended, {otherwise} otherwise, {undecided} without an \
         intention that can be read"
    )
}

/// Text of an input on one line, shortened and safe to print.
pub(super) fn line_of(text: &str) -> String {
    one_line(text, LINE)
}

/// A number of runs.
pub(super) fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// A value of the input, short and safe to print.
fn value(value: Echo<'_>) -> String {
    let json = serde_json::to_string(&value).unwrap_or_default();
    match json.char_indices().nth(VALUE) {
        None => line_of(&json),
        Some((end, _)) => line_of(json.get(..end).unwrap_or_default()) + "...",
    }
}

/// An excerpt on one line, safe to print.
fn quoted(excerpt: &str) -> String {
    let words: Vec<&str> = excerpt.split_whitespace().collect();
    format!("> {}", line_of(&words.join(" ")))
}
