//! The report of a run as text for people.

use std::fmt::Write as _;

use anstyle::Style;
use proctor_model::eval::{CaseReport, CaseStatus, EvalReport, SkillReport, SkillStatus};

use super::table::Table;
use super::words;
use crate::Styles;

const HEADINGS: [&str; 9] =
    ["SKILL", "STATUS", "CASES", "PASS", "PRECISION", "RECALL", "ABLATION", "TOKENS", "COST"];

/// The report of a run as text, with a final line feed: a table, then every skill that somebody
/// must look at. `threshold` is the pass rate, 0 to 1, from which skills pass.
pub fn run_text(report: &EvalReport, threshold: f64, styles: &Styles) -> String {
    let mut page = Page { text: String::new(), threshold, styles };
    page.head(report);
    page.table(report);
    for skill in &report.skills {
        page.details(skill);
    }
    page.foot(report);
    page.text
}

struct Page<'a> {
    text: String,
    threshold: f64,
    styles: &'a Styles,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn head(&mut self, report: &EvalReport) {
        let date = report.date.as_deref().map(|date| format!(", date {}", words::line(date)));
        let ablation = if report.ablation { ", ablation on" } else { "" };
        self.line(&format!(
            "runner {}, harness {}, model {}{}{ablation}",
            words::line(&report.runner),
            words::line(&report.harness),
            words::line(&report.model),
            date.unwrap_or_default()
        ));
        if report.dry_run {
            let [runs, expected, range] = words::estimate(&report.estimate);
            self.line(&format!("estimate: {runs}, {expected} ({range})"));
            if let Some(note) = words::price_note(report) {
                self.note("note", self.styles.warning, "", &note);
            }
        }
    }

    fn table(&mut self, report: &EvalReport) {
        let mut table = Table::new(HEADINGS, 2);
        for skill in report.skills.iter().filter(|skill| words::is_listed(skill)) {
            let [cases, pass, precision, recall, ablation, tokens, cost] = words::figures(skill);
            let id = words::line(&skill.id);
            let status = words::status(skill);
            let cells = [id, status, cases, pass, precision, recall, ablation, tokens, cost];
            table.row(cells, style(skill, self.styles));
        }
        if !table.is_empty() {
            self.text.push('\n');
            table.write(self.styles.quiet, &mut self.text);
        }
    }

    fn details(&mut self, skill: &SkillReport) {
        let cases: Vec<&CaseReport> =
            skill.cases.iter().filter(|case| case.status != CaseStatus::Passed).collect();
        let overrun = overrun(skill);
        let nothing = cases.is_empty()
            && overrun.is_none()
            && skill.problems.is_empty()
            && skill.warnings.is_empty()
            && words::not_run(skill).is_none();
        if nothing && !skill.failed() {
            return;
        }
        self.line("");
        let id = styled(&words::line(&skill.id), self.styles.subject);
        let counts = skill.score.map(|score| format!(": {}", words::counts(&score)));
        let mark = match skill.status {
            SkillStatus::Ran | SkillStatus::Cached => {
                format!("; the mark is {}", words::percent(Some(self.threshold)))
            }
            _ => String::new(),
        };
        self.line(&format!("{id}{}{mark}", counts.unwrap_or_default()));
        for problem in &skill.problems {
            let place = format!("{}:{}: ", words::line(&problem.file), problem.line);
            self.note("error", self.styles.failed, &place, &problem.message);
        }
        if let Some(reason) = words::not_run(skill) {
            self.note("error", self.styles.error, "", &reason);
        }
        for case in cases {
            self.case(case);
        }
        for warning in skill.warnings.iter().chain(&overrun) {
            self.note("warning", self.styles.warning, "", warning);
        }
    }

    fn case(&mut self, case: &CaseReport) {
        let style = match case.status {
            CaseStatus::Passed => self.styles.passed,
            CaseStatus::Failed => self.styles.failed,
            CaseStatus::Error => self.styles.error,
            CaseStatus::Skipped => self.styles.skipped,
        };
        let word = styled(case.status.as_str(), style);
        let why = words::line(&words::why(case));
        self.line(&format!("  {word} {}: {why}", words::line(&case.case)));
        if !case.fired.is_empty() {
            self.line(&format!("    skills that loaded: {}", words::line(&case.fired.join(", "))));
        }
        if let Some(note) = &case.rubric_note {
            self.line(&format!("    grader: {}", words::line(note)));
        }
    }

    fn note(&mut self, word: &str, style: Style, subject: &str, message: &str) {
        let message = words::line(message);
        self.line(&format!("  {}: {subject}{message}", styled(word, style)));
    }

    fn foot(&mut self, report: &EvalReport) {
        self.line("");
        self.line(&counts(report));
        if let Some(grader) = &report.grader {
            let grader = words::line(grader);
            self.line(&format!("graded by {grader}, ${:.4} of the cost", report.grader_cost_usd));
        }
        let (word, style) = verdict(report, self.styles);
        self.line(&format!("verdict: {}", styled(word, style)));
    }
}

/// The report of a run in one line, without a line feed.
pub fn run_summary(report: &EvalReport) -> String {
    format!("{}; verdict: {}", counts(report), verdict(report, &Styles::plain()).0)
}

/// How many skills came to what, and the cost.
fn counts(report: &EvalReport) -> String {
    let count = |wanted: &dyn Fn(&SkillReport) -> bool| {
        report.skills.iter().filter(|skill| wanted(skill)).count()
    };
    let is = |status: SkillStatus| move |skill: &SkillReport| skill.status == status;
    let parts = [
        (count(&|skill| skill.passing && !skill.failed()), "passing"),
        (count(&SkillReport::failed), "failing"),
        (count(&is(SkillStatus::DryRun)), "not run (dry run)"),
        (count(&is(SkillStatus::SkippedUnchanged)), "unchanged"),
        (count(&is(SkillStatus::NoCases)), "without cases"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let skills = match report.skills.len() {
        1 => "1 skill".to_owned(),
        count => format!("{count} skills"),
    };
    let parts = if parts.is_empty() { "nothing to run".to_owned() } else { parts.join(", ") };
    let cost = if report.cost_usd == 0.0 {
        String::new()
    } else {
        format!("; cost ${:.4}", report.cost_usd)
    };
    format!("{skills}: {parts}{cost}")
}

/// One word for the exit code, so that the two never disagree.
fn verdict(report: &EvalReport, styles: &Styles) -> (&'static str, Style) {
    let graded = report.skills.iter().any(|skill| skill.passing);
    match (report.failed, graded) {
        (true, _) => ("failed", styles.failed),
        (false, true) => ("passed", styles.passed),
        (false, false) => ("nothing was evaluated", styles.skipped),
    }
}

/// A cost that the estimate did not foresee.
fn overrun(skill: &SkillReport) -> Option<String> {
    let record = skill.estimate_vs_actual.filter(|record| record.in_range == Some(false))?;
    Some(format!(
        "cost ${:.4}, estimated ${:.4} to ${:.4}; `proctor eval calibrate-estimate` proposes \
         better assumptions",
        record.actual_usd, record.low_usd, record.high_usd
    ))
}

fn style(skill: &SkillReport, styles: &Styles) -> Style {
    match skill.status {
        SkillStatus::Error | SkillStatus::SkippedOverBudget => styles.error,
        SkillStatus::DryRun => styles.skipped,
        _ if skill.failed() => styles.failed,
        _ => styles.passed,
    }
}

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}
