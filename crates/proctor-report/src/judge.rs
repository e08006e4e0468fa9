//! How a judge compares with people, as text and as JSON.

use std::fmt::Write as _;

use proctor_model::json::go;
use proctor_model::judge::{Figure, JudgeReport, JudgedItem, Share};
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::{Styles, inert_json, one_line};

/// Answers that are listed of each kind.
const LISTED: usize = 10;

/// Characters of a stranger's text that are shown.
const LONGEST: usize = 160;

/// The report as text: one sentence with what matters, then the figures, then where judge and people
/// differ.
pub fn text(report: &JudgeReport, styles: &Styles) -> String {
    let mut text = String::new();
    let subject = styles.subject;
    let answers = plural(report.answers.total, "answer");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{subject}{}{subject:#}, {answers}", line(&report.judge));
    if report.dry_run {
        estimate(report, &mut text);
        return text;
    }
    let _ = writeln!(text, "\n{}\n", verdict(report));
    for (name, value) in figures(report) {
        let _ = writeln!(text, "  {name:<12} {value}");
    }
    differences(report, styles, &mut text);
    for warning in &report.warnings {
        let _ = writeln!(text, "\nwarning: {}", line(warning));
    }
    if let Some(gate) = &report.gate {
        let (verdict, style) =
            if gate.passed { ("passed", styles.passed) } else { ("failed", styles.failed) };
        let mark = gate.min_kappa;
        let _ = writeln!(text, "\n{style}verdict: {verdict}{style:#} (kappa of at least {mark})");
    }
    text
}

/// What the whole comparison comes to, in one sentence.
fn verdict(report: &JudgeReport) -> String {
    let Some(agreement) = report.agreement else {
        return "no answer was graded, so that nothing is known of the judge".to_owned();
    };
    let mut text = format!("agrees with people in {}", of(&agreement));
    // Writing to a string cannot fail.
    let _ = match &report.kappa {
        Some(kappa) => write!(text, ", kappa {}", with_interval(kappa)),
        None => write!(text, ", no kappa"),
    };
    if let Some(leniency) = report.leniency {
        let _ = write!(text, "; passes {} of {} that people failed", leniency.count, leniency.of);
    }
    text
}

fn figures(report: &JudgeReport) -> Vec<(&'static str, String)> {
    let mut figures = Vec::new();
    if let Some(reason) = &report.kappa_undefined {
        figures.push(("kappa", format!("not defined: {}", line(reason))));
    }
    let missing = |what: &str| format!("no answer that people {what} was graded");
    figures.push((
        "leniency",
        report.leniency.as_ref().map_or_else(
            || missing("failed"),
            |share| format!("passes {} that people failed", of(share)),
        ),
    ));
    figures.push((
        "strictness",
        report.strictness.as_ref().map_or_else(
            || missing("passed"),
            |share| format!("fails {} that people passed", of(share)),
        ),
    ));
    if let Some(bias) = &report.bias {
        let Figure { value, low, high } = bias;
        figures.push((
            "bias",
            format!("{value:+.2} ({low:+.2} to {high:+.2}) beside people's scores"),
        ));
    }
    figures.push((
        "flicker",
        match &report.flicker {
            None => "not measured: each answer was judged once (`--repeat 3`)".to_owned(),
            Some(flicker) => {
                let changed = flicker.verdicts.as_ref().map_or_else(
                    || "no answer was graded twice".to_owned(),
                    |share| format!("the verdict changed for {}", of(share)),
                );
                let (mean, max) = (flicker.mean_spread, flicker.max_spread);
                format!("{changed}; scores differ by {mean:.2} on average, at most {max:.2}")
            }
        },
    ));
    if report.answers.ungraded > 0 {
        figures.push(("ungraded", plural(report.answers.ungraded, "answer")));
    }
    figures.push((
        "cost",
        format!("${:.4} for {}", report.cost.spent_usd, plural(report.cost.questions, "question")),
    ));
    figures
}

fn estimate(report: &JudgeReport, text: &mut String) {
    let cost = &report.cost;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\nnothing was sent: {} with {} tokens in all",
        plural(cost.questions, "question"),
        cost.input_tokens
    );
    let _ = match (cost.expected_usd, cost.high_usd) {
        (Some(expected), Some(high)) => {
            writeln!(text, "expected ${expected:.4}; ${high:.4} if each reply took all that it may")
        }
        _ => writeln!(text, "the price of the model is not known"),
    };
}

/// Where judge and people differ, and what has no grade.
fn differences(report: &JudgeReport, styles: &Styles, text: &mut String) {
    let differs = |judge: bool| {
        move |item: &&JudgedItem| item.judge_pass == Some(judge) && item.people_pass != judge
    };
    let ungraded = |item: &&JudgedItem| item.judge_pass.is_none();
    let mut group = |heading: &str, items: Vec<&JudgedItem>| {
        if items.is_empty() {
            return;
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n{heading}:");
        for item in items.iter().take(LISTED) {
            let score = item.scores.first().copied().flatten();
            let score = score.map(|score| format!(" ({score})")).unwrap_or_default();
            let why = item.rationale.as_ref().or(item.ungraded.as_ref());
            let why = why.map(|why| format!(": {}", line(why))).unwrap_or_default();
            let style = styles.failed;
            let _ = writeln!(text, "  {style}{}{style:#}{score}{why}", line(&item.id));
        }
        if items.len() > LISTED {
            let _ = writeln!(text, "  and {} more", items.len() - LISTED);
        }
    };
    group(
        "passed by the judge, failed by people",
        report.items.iter().filter(differs(true)).collect(),
    );
    group(
        "failed by the judge, passed by people",
        report.items.iter().filter(differs(false)).collect(),
    );
    group("without a grade", report.items.iter().filter(ungraded).collect());
}

/// `43 of 50 (86%, 74-93%)`.
fn of(share: &Share) -> String {
    let Share { count, of, value, low, high } = share;
    let percent = |share: &f64| share * 100.0;
    format!("{count} of {of} ({:.0}%, {:.0}-{:.0}%)", percent(value), percent(low), percent(high))
}

/// `0.70 (0.51 to 0.89)`.
fn with_interval(figure: &Figure) -> String {
    format!("{:.2} ({:.2} to {:.2})", figure.value, figure.low, figure.high)
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// A stranger's text, on one line.
fn line(text: &str) -> String {
    one_line(text, LONGEST)
}

/// The report as JSON.
pub fn json(report: &JudgeReport) -> String {
    // Fails for keys that are no strings; reports have none.
    inert_json(&go::pretty(report).expect("a report is always JSON"))
}

/// JSON Schema (draft 2020-12) of [`json`].
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<JudgeReport>();
    schema.insert("title".to_owned(), "Report of proctor judge calibrate".into());
    schema.to_value()
}

#[cfg(test)]
mod tests {
    use proctor_model::judge::{Flicker, JudgeCost, JudgeCounts, JudgeGate};

    use super::*;

    fn share(count: u64, of: u64) -> Share {
        Share { count, of, value: 0.25, low: 0.125, high: 0.5 }
    }

    fn item(id: &str, people: bool, judge: Option<bool>) -> JudgedItem {
        JudgedItem {
            id: id.to_owned(),
            people_pass: people,
            people_score: None,
            judge_pass: judge,
            scores: vec![judge.map(|passes| if passes { 0.9 } else { 0.1 }), None],
            rationale: judge.map(|_| "because \u{1b}[31mso".to_owned()),
            ungraded: judge.is_none().then(|| "the judge said nothing".to_owned()),
        }
    }

    fn report() -> JudgeReport {
        let figure = Figure { value: 0.5, low: 0.25, high: 0.75 };
        JudgeReport {
            schema_version: 1,
            judge: "builtin:openai/m:evals-grader/v1".to_owned(),
            labels_digest: "sha256:00".to_owned(),
            repeat: 2,
            dry_run: false,
            stopped: None,
            answers: JudgeCounts { total: 4, graded: 3, ungraded: 1, ..JudgeCounts::default() },
            agreement: Some(share(1, 3)),
            kappa: Some(figure),
            kappa_undefined: None,
            leniency: Some(share(1, 1)),
            strictness: Some(share(1, 2)),
            bias: Some(figure),
            flicker: Some(Flicker {
                verdicts: Some(share(1, 3)),
                mean_spread: 0.125,
                max_spread: 0.5,
            }),
            cost: JudgeCost { questions: 8, spent_usd: 0.0123, ..JudgeCost::default() },
            gate: Some(JudgeGate { min_kappa: 0.5, passed: true }),
            warnings: vec!["1 of 4 answers have no grade, and are in no figure".to_owned()],
            items: vec![
                item("good", true, Some(true)),
                item("strict", true, Some(false)),
                item("lenient", false, Some(true)),
                item("silent", false, None),
            ],
        }
    }

    #[test]
    fn a_report_as_people_see_it() {
        insta::assert_snapshot!(text(&report(), &Styles::plain()), @r"
        builtin:openai/m:evals-grader/v1, 4 answers

        agrees with people in 1 of 3 (25%, 12-50%), kappa 0.50 (0.25 to 0.75); passes 1 of 1 that people failed

          leniency     passes 1 of 1 (25%, 12-50%) that people failed
          strictness   fails 1 of 2 (25%, 12-50%) that people passed
          bias         +0.50 (+0.25 to +0.75) beside people's scores
          flicker      the verdict changed for 1 of 3 (25%, 12-50%); scores differ by 0.12 on average, at most 0.50
          ungraded     1 answer
          cost         $0.0123 for 8 questions

        passed by the judge, failed by people:
          lenient (0.9): because \u{1b}[31mso

        failed by the judge, passed by people:
          strict (0.1): because \u{1b}[31mso

        without a grade:
          silent: the judge said nothing

        warning: 1 of 4 answers have no grade, and are in no figure

        verdict: passed (kappa of at least 0.5)
        ");
    }

    #[test]
    fn what_is_not_known_is_said() {
        let empty = JudgeReport {
            agreement: None,
            kappa: None,
            kappa_undefined: Some("no answer was graded".to_owned()),
            leniency: None,
            strictness: None,
            bias: None,
            flicker: None,
            gate: None,
            warnings: Vec::new(),
            items: Vec::new(),
            ..report()
        };
        insta::assert_snapshot!(text(&empty, &Styles::plain()), @r"
        builtin:openai/m:evals-grader/v1, 4 answers

        no answer was graded, so that nothing is known of the judge

          kappa        not defined: no answer was graded
          leniency     no answer that people failed was graded
          strictness   no answer that people passed was graded
          flicker      not measured: each answer was judged once (`--repeat 3`)
          ungraded     1 answer
          cost         $0.0123 for 8 questions
        ");
    }

    #[test]
    fn the_json_is_what_its_schema_says() {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        for report in [report(), JudgeReport { kappa: None, flicker: None, ..report() }] {
            let text = json(&report);
            assert!(!text.contains('\u{1b}'), "{text}");
            let value: Value = serde_json::from_str(&text).unwrap();
            let errors: Vec<String> =
                validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert_eq!(errors, [""; 0]);
            assert_eq!(serde_json::from_value::<JudgeReport>(value).unwrap(), report);
        }
    }
}
