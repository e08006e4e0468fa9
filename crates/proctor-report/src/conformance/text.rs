//! The report as text for people.
//!
//! A result is one line, and more only when there is something to look at: checks that did not
//! hold, what a command said, the next step. Every status is a word; colour only repeats it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anstyle::Style;
use proctor_model::conformance::fixture::Phase;
use proctor_model::conformance::report::{
    CheckRow, CommandOutput, LoadStatus, Mode, Report, ResultPhase, TrialResult,
};
use proctor_model::{CheckStatus, Enforcement};

use super::next_step::next_step;
use crate::{Styles, inert};

/// Where everything under a result's first line begins: behind the widest status word.
const INDENT: &str = "         ";

/// How many of the last lines of a failed command's streams are shown.
const TAIL_LINES: usize = 5;

/// How many characters of any line of foreign text are shown.
const MAX_COLUMNS: usize = 400;

/// How many lines of a reason or message are shown: more than a fixture has listed mistakes.
const MAX_LINES: usize = 120;

/// The report as text, with a final line feed. `styles` are applied as they are; a caller that
/// writes to a pipe passes [`Styles::plain`].
pub fn render_text(report: &Report, styles: &Styles) -> String {
    let mut page = Page { text: String::new(), styles };
    for result in &report.results {
        page.result(result);
    }
    page.blank_line();
    page.notes(report);
    for warning in &report.warnings {
        page.block("", &styled("warning", styles.warning), warning);
    }
    page.summary(report);
    page.text
}

struct Page<'a> {
    text: String,
    styles: &'a Styles,
}

impl Page<'_> {
    fn result(&mut self, result: &TrialResult) {
        let subject = styled(&one_line(&result.fixture), self.styles.subject);
        let mut head = format!("{}{subject}", self.status(result.status));
        let facts = facts(result);
        if !facts.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(head, " ({})", facts.join(", "));
        }
        match result.reason.as_deref() {
            Some(reason) => self.block("", &head, reason),
            None => self.line(&head),
        }
        for check in result.checks.iter().filter(|check| is_shown(check, result)) {
            self.check(check);
        }
        if result.status == CheckStatus::Skipped {
            self.install_checks(&result.checks);
        }
        self.instructions(result);
        if let Some(step) = next_step(result) {
            self.block(INDENT, &styled("next", self.styles.hint), &one_line(&step));
        }
        if let Some(transcript) = &result.transcript {
            self.block(INDENT, "transcript", &one_line(transcript));
        }
    }

    fn check(&mut self, check: &CheckRow) {
        let optional = if check.optional { ", optional" } else { "" };
        let phase = check.phase.as_str();
        let head = format!(
            "{}checks[{}] {} ({phase} phase{optional})",
            self.status(check.status),
            check.index,
            one_line(&check.kind)
        );
        if check.message.is_empty() {
            self.line(&format!("{INDENT}{head}"));
        } else {
            self.block(INDENT, &head, &check.message);
        }
        if let Some(output) = &check.output {
            self.output(output);
        }
    }

    /// The end of what a command said.
    fn output(&mut self, output: &CommandOutput) {
        for (name, stream) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let lines: Vec<&str> = stream.lines().filter(|line| !line.trim().is_empty()).collect();
            for line in lines.iter().skip(lines.len().saturating_sub(TAIL_LINES)) {
                let label = styled(&format!("{name} |"), self.styles.quiet);
                self.line(&format!("{INDENT}{INDENT}{label} {}", shortened(line)));
            }
        }
    }

    /// What is known although the harness did not run.
    fn install_checks(&mut self, checks: &[CheckRow]) {
        let ran = |check: &&CheckRow| {
            check.phase == Phase::Install && check.status == CheckStatus::Passed
        };
        let passed = checks.iter().filter(ran).count();
        if passed > 0 {
            let line = format!("{} passed", counted(passed as u64, "install-phase check"));
            self.line(&format!("{INDENT}{}", styled(&line, self.styles.quiet)));
        }
    }

    /// What is known about the instruction files that the fixture expects to be read.
    fn instructions(&mut self, result: &TrialResult) {
        let absent: Vec<Cow<'_, str>> = result
            .observed_load
            .iter()
            .filter(|row| !row.installed && reached_install(result))
            .map(|row| one_line(&row.path))
            .collect();
        if !absent.is_empty() {
            let label = styled("not installed", self.styles.warning);
            self.line(&format!("{INDENT}{label}: {}", absent.join(", ")));
        }
        if shows_load(result) {
            let observed = result
                .observed_load
                .iter()
                .filter(|row| row.status == LoadStatus::Observed)
                .count();
            let unknown = result.observed_load.len() - observed;
            let line = format!("instruction files read: {observed} observed, {unknown} unknown");
            self.line(&format!("{INDENT}{}", styled(&line, self.styles.quiet)));
        }
    }

    /// What is said once for all results.
    fn notes(&mut self, report: &Report) {
        if report.mode == Mode::InstallOnly {
            self.line(
                "result-phase checks were not run: nothing is claimed about what an agent does",
            );
        }
        let unknown =
            report.results.iter().filter(|result| shows_load(result)).any(|result| {
                result.observed_load.iter().any(|row| row.status == LoadStatus::Unknown)
            });
        if unknown {
            self.note(
                "unknown: no explicit read names the file; a harness loads some guidance by \
                 itself, so it may have been read or not",
            );
        }
        for (harness, bounds) in not_enforced(&report.results) {
            let bounds: Vec<&str> = bounds.into_iter().collect();
            self.note(&format!("not enforced by {}: {}", one_line(harness), bounds.join(", ")));
        }
        if report.redaction.skipped > 0 {
            self.note(&format!(
                "{} of secret-looking variables not redacted: plain words or paths",
                counted(report.redaction.skipped as u64, "value")
            ));
        }
    }

    fn summary(&mut self, report: &Report) {
        let summary = &report.summary;
        if report.results.is_empty() {
            self.line("no selected runs");
            return;
        }
        let part = |count: u64, text: String, style: Style| {
            if count == 0 { styled(&text, self.styles.quiet) } else { styled(&text, style) }
        };
        let line = [
            part(summary.passed, format!("{} passed", summary.passed), self.styles.passed),
            part(summary.failed, format!("{} failed", summary.failed), self.styles.failed),
            part(summary.errors, counted(summary.errors, "error"), self.styles.error),
            part(summary.skipped, format!("{} skipped", summary.skipped), self.styles.skipped),
        ]
        .join(", ");
        let revision = one_line(&report.source.revision);
        let corpus = styled(&format!("(corpus {revision})"), self.styles.quiet);
        self.line(&format!("{line} {corpus}"));
    }

    /// A status word, as wide as the widest with the space behind it.
    fn status(&self, status: CheckStatus) -> String {
        let style = match status {
            CheckStatus::Passed => self.styles.passed,
            CheckStatus::Failed => self.styles.failed,
            CheckStatus::Error => self.styles.error,
            CheckStatus::Skipped => self.styles.skipped,
        };
        let word = status.as_str();
        let blanks = INDENT.get(word.len()..).unwrap_or(" ");
        format!("{}{blanks}", styled(word, style))
    }

    /// `head: text`; further lines of the text stand under its result.
    fn block(&mut self, indent: &str, head: &str, text: &str) {
        let mut lines = text.lines().map(shortened);
        let first = lines.next().unwrap_or_default();
        self.line(&format!("{indent}{head}: {first}"));
        for line in lines.by_ref().take(MAX_LINES - 1) {
            self.line(&format!("{indent}{INDENT}{line}"));
        }
        let rest = lines.count();
        if rest > 0 {
            self.line(&format!("{indent}{INDENT}({} not shown)", counted(rest as u64, "line")));
        }
    }

    fn note(&mut self, text: &str) {
        let line = styled(text, self.styles.quiet);
        self.line(&line);
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn blank_line(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

/// What stands in brackets behind a fixture's name.
fn facts(result: &TrialResult) -> Vec<String> {
    let usage = result.usage.unwrap_or_default();
    let harness = result.harness.as_deref().map(|harness| one_line(harness).into_owned());
    let turns = usage.turns.map(|turns| counted(turns, "turn"));
    let cost = usage.cost_usd.map(|dollars| format!("${dollars:.4}"));
    [harness, turns, cost].into_iter().flatten().collect()
}

/// Checks that were never reached say nothing that the result's reason does not say.
fn is_shown(check: &CheckRow, result: &TrialResult) -> bool {
    match check.status {
        CheckStatus::Passed => false,
        CheckStatus::Failed | CheckStatus::Error => true,
        CheckStatus::Skipped => result.result_phase == ResultPhase::Completed,
    }
}

/// A session is the only source of evidence about reading.
fn shows_load(result: &TrialResult) -> bool {
    result.outcome.is_some() && !result.observed_load.is_empty()
}

/// Whether the installation was made, so that a missing file is a fact.
fn reached_install(result: &TrialResult) -> bool {
    !result.installed_instructions.is_empty()
        || result
            .checks
            .iter()
            .any(|check| check.phase == Phase::Install && check.status != CheckStatus::Skipped)
        || result.outcome.is_some()
}

/// By harness, the bounds that were asked for and that nothing enforced.
fn not_enforced(results: &[TrialResult]) -> BTreeMap<&str, BTreeSet<&'static str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for result in results.iter().filter(|result| result.outcome.is_some()) {
        let bounds = &result.bounds;
        let states = [
            ("timeout_seconds", bounds.timeout_seconds.status),
            ("max_budget_usd", bounds.max_budget_usd.status),
            ("max_turns", bounds.max_turns.status),
        ];
        for (name, status) in states {
            if status == Enforcement::NotEnforced {
                let harness = result.harness.as_deref().unwrap_or_default();
                found.entry(harness).or_default().insert(name);
            }
        }
    }
    found
}

fn styled(text: &str, style: Style) -> String {
    format!("{style}{text}{style:#}")
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Text that must not begin a line of its own.
fn one_line(text: &str) -> Cow<'_, str> {
    match inert(text) {
        safe if safe.contains('\n') => Cow::Owned(safe.replace('\n', "\\n")),
        safe => safe,
    }
}

/// A line of foreign text, cut when it is too long to be read.
fn shortened(line: &str) -> String {
    let mut shown: String = line.chars().take(MAX_COLUMNS).collect();
    if shown.len() < line.len() {
        shown.push_str("...");
    }
    inert(&shown).into_owned()
}
