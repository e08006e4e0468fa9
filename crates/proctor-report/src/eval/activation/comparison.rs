//! The comparison of two descriptions as Markdown.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proctor_model::eval::PromptStatus;
use proctor_model::eval::comparison::{
    ComparedPrompt, Comparison, ComparisonReport, ComparisonVerdict, PairedDifference,
    PairedOutcome,
};

use super::markdown::{Setting, estimate, prompt, remarks, section};
use crate::eval::markdown::{code, prose};
use crate::eval::words::percent;

/// The comparison of two descriptions as Markdown: the verdict, the differences, and the prompts that
/// went one way only.
pub fn comparison_markdown(report: &ComparisonReport) -> String {
    let mut text = String::from("# Skill description comparison\n\n");
    head(report, &mut text);
    for warning in &report.warnings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nWarning: {}", prose(warning));
    }
    // Writing to a string cannot fail.
    let _ =
        writeln!(text, "\n**{}**{}", report.comparison.verdict.as_str(), why(&report.comparison));
    differences(&report.comparison, &mut text);
    for (title, outcome) in [("Wins", PairedOutcome::Win), ("Losses", PairedOutcome::Loss)] {
        let prompts = report.comparison.prompts.iter().filter(|prompt| prompt.outcome == outcome);
        section(title, &prompts.map(compared).collect::<Vec<_>>(), &mut text);
    }
    section("Fail with both", &lost(report), &mut text);
    for (word, candidate) in [("New", &report.new), ("Against", &report.against)] {
        let title = format!("{word}: {}", candidate.file);
        let skill = &candidate.measured;
        let broken = skill.prompts.iter().filter(|prompt| prompt.status == PromptStatus::Error);
        let lines: Vec<String> = remarks(skill).chain(broken.filter_map(prompt)).collect();
        section(&title, &lines, &mut text);
    }
    text
}

fn head(report: &ComparisonReport, text: &mut String) {
    let setting = Setting {
        surface: report.surface,
        scope: report.scope.as_str(),
        date: report.date.as_deref(),
        runner: report.runner.as_deref(),
        harness: report.harness.as_deref(),
        model: report.model.as_deref(),
        runs: report.runs,
        cost_usd: report.cost.actual_usd,
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "Skill {}: new {} against {}; {}\n\n{}.",
        code(&report.skill),
        code(&report.new.file),
        code(&report.against.file),
        setting.line(),
        prose(&report.note)
    );
    estimate(report.estimate.as_ref().filter(|_| report.dry_run), text);
}

/// The reason for the verdict, behind its word.
fn why(comparison: &Comparison) -> String {
    let Comparison { wins, losses, ties, needed, .. } = comparison;
    let wins_word = if *wins == 1 { "win" } else { "wins" };
    let losses_word = if *losses == 1 { "loss" } else { "losses" };
    let ties_word = if *ties == 1 { "tie" } else { "ties" };
    let counts = format!(": {wins} {wins_word}, {losses} {losses_word}, {ties} {ties_word}");
    let tested = |p: f64| format!("{counts} (p = {p:.4}, exact McNemar test)");
    match (comparison.verdict, comparison.p_value) {
        (ComparisonVerdict::NotMeasured, _) => String::new(),
        (ComparisonVerdict::NoDifferenceShown, None) => {
            format!("{counts}. A verdict needs at least {needed} prompts that change")
        }
        (ComparisonVerdict::NoDifferenceShown, Some(p)) => {
            let smaller = match wins.min(losses) {
                0 => "all the same way".to_owned(),
                count => format!("{count} of them the other way"),
            };
            let counts = tested(p);
            format!("{counts}. A verdict needs at least {needed} prompts that change, {smaller}")
        }
        (_, p) => tested(p.unwrap_or_default()),
    }
}

fn differences(comparison: &Comparison, text: &mut String) {
    let rows = [("Recall", comparison.recall), ("False activation", comparison.false_activation)];
    let rows: Vec<String> =
        rows.into_iter().filter_map(|(name, row)| Some(row_of(name, row?))).collect();
    if rows.is_empty() {
        return;
    }
    text.push_str(
        "\n| | Prompts | New | Against | Difference | 95% interval |\n\
         | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for row in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{row}");
    }
    text.push_str("\nIntervals: Newcombe's score method for paired proportions.\n");
}

fn row_of(name: &str, row: PairedDifference) -> String {
    let [difference, low, high] =
        [row.difference, row.interval.low, row.interval.high].map(|part| part * 100.0);
    format!(
        "| {name} | {} | {} | {} | {difference:+.0} pts | {low:+.0} to {high:+.0} pts |",
        row.n,
        percent(Some(row.new)),
        percent(Some(row.against))
    )
}

/// A prompt with both descriptions.
fn compared(prompt: &ComparedPrompt) -> String {
    let expected = if prompt.expect { "should fire" } else { "should stay quiet" };
    format!(
        "{}: {expected}; fired {} with the new description, {} with the other",
        code(&prompt.case),
        percent(Some(prompt.new_rate)),
        percent(Some(prompt.against_rate))
    )
}

/// The prompts that neither description gets right.
fn lost(report: &ComparisonReport) -> Vec<String> {
    let failed: BTreeSet<&str> = report
        .new
        .measured
        .prompts
        .iter()
        .filter(|prompt| prompt.status == PromptStatus::Failed)
        .map(|prompt| prompt.case.as_str())
        .collect();
    let prompts = report.comparison.prompts.iter().filter(|prompt| {
        prompt.outcome == PairedOutcome::Tie && failed.contains(prompt.case.as_str())
    });
    prompts.map(compared).collect()
}

/// The comparison in one line, without a line feed.
pub fn comparison_summary(report: &ComparisonReport) -> String {
    format!("{}{}", report.comparison.verdict.as_str(), why(&report.comparison))
}
