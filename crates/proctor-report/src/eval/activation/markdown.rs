//! The report of a measurement as Markdown.

use std::fmt::Write as _;

use proctor_model::eval::activation::Surface;
use proctor_model::eval::{ActivationReport, Estimate, PromptActivation, SkillActivation};

use super::words;
use crate::eval::markdown::{code, prose};
use crate::eval::words::{self as common, percent};

/// The report of a measurement of activation as Markdown: a table, a section for each skill with
/// something to look at, and who won whose prompts.
pub fn activation_markdown(report: &ActivationReport) -> String {
    let mut text = String::from("# Skill activation results\n\n");
    head(report, &mut text);
    table(report, &mut text);
    for skill in &report.skills {
        let lines: Vec<String> =
            remarks(skill).chain(skill.prompts.iter().filter_map(prompt)).collect();
        section(&skill.id, &lines, &mut text);
    }
    section(confusion_title(report.surface), &confusion(report), &mut text);
    text
}

/// What was measured, in one line: surface, scope, and of a harness which and how often.
pub(super) struct Setting<'a> {
    pub(super) surface: Surface,
    pub(super) scope: &'a str,
    pub(super) date: Option<&'a str>,
    pub(super) runner: Option<&'a str>,
    pub(super) harness: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) runs: Option<u32>,
    pub(super) cost_usd: f64,
}

impl Setting<'_> {
    pub(super) fn line(&self) -> String {
        let mut line =
            format!("surface {}, scope {}", code(self.surface.as_str()), code(self.scope));
        for (word, value) in
            [("runner", self.runner), ("harness", self.harness), ("model", self.model)]
        {
            if let Some(value) = value {
                // Writing to a string cannot fail.
                let _ = write!(line, ", {word} {}", code(value));
            }
        }
        if let Some(runs) = self.runs {
            // Writing to a string cannot fail.
            let _ = write!(line, ", up to {runs} runs a prompt");
        }
        if let Some(date) = self.date {
            // Writing to a string cannot fail.
            let _ = write!(line, ", date {}", prose(date));
        }
        format!("{line}, cost ${:.2}", self.cost_usd)
    }
}

fn head(report: &ActivationReport, text: &mut String) {
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
    let _ = writeln!(text, "Measured: {}\n\n{}.", setting.line(), prose(&report.note));
    estimate(report.estimate.as_ref().filter(|_| report.dry_run), text);
}

/// What a run would take.
pub(super) fn estimate(estimate: Option<&Estimate>, text: &mut String) {
    if let Some(estimate) = estimate {
        let [runs, expected, range] = common::estimate(estimate);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nEstimate: {runs}, **{expected}** ({range})");
    }
}

fn table(report: &ActivationReport, text: &mut String) {
    let last = match report.surface {
        Surface::Retrieval => "recall@1 | recall@3 | MRR |",
        Surface::Native => "Run recall | Cost |",
    };
    let rule = " ---: |".repeat(last.matches('|').count());
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\n| Skill | Status | Prompts | Recall | Precision | False activation | {last}\n\
         | --- | --- | ---: | ---: | ---: | ---: |{rule}"
    );
    for skill in report.skills.iter().filter(|skill| words::is_listed(skill)) {
        let cells = match report.surface {
            Surface::Retrieval => {
                let mrr = skill.mrr.map_or_else(|| "n/a".to_owned(), |mrr| format!("{mrr:.2}"));
                format!("{} | {} | {mrr}", percent(skill.recall_at_1), percent(skill.recall_at_3))
            }
            Surface::Native => {
                let cost = skill.cost_usd.map_or("-".to_owned(), |usd| format!("${usd:.4}"));
                format!("{} | {cost}", words::rate(skill.run_recall))
            }
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {cells} |",
            prose(&skill.id),
            words::status(skill),
            skill.prompts.len(),
            words::rate(skill.recall),
            words::rate(skill.precision),
            words::rate(skill.false_activation),
        );
    }
}

/// Appends a section with these lines, if there are any.
pub(super) fn section(title: &str, lines: &[String], text: &mut String) {
    if lines.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n### {}\n", prose(title));
    for line in lines {
        let _ = writeln!(text, "- {line}");
    }
}

/// What somebody should know of a skill beside its prompts.
pub(super) fn remarks(skill: &SkillActivation) -> impl Iterator<Item = String> {
    let problems = skill.problems.iter().map(|problem| {
        let place = format!("{}:{}", problem.file, problem.line);
        format!("{}: {}", code(&place), code(&problem.message))
    });
    let error = words::not_measured(skill).map(|error| format!("error: {}", code(&error)));
    let warnings = skill.warnings.iter().map(|warning| format!("warning: {}", prose(warning)));
    let thieves = skill.stolen_by.iter().map(|thief| code(&thief.skill));
    let stolen = thieves.zip(words::stolen(skill)).map(|(thief, won)| format!("{thief} {won}"));
    problems.chain(error).chain(warnings).chain(stolen).chain(words::saved(skill))
}

/// What somebody should know of a prompt.
pub(super) fn prompt(prompt: &PromptActivation) -> Option<String> {
    Some(format!("{}: {}", code(&prompt.case), prose(&words::prompt(prompt)?)))
}

fn confusion_title(surface: Surface) -> &'static str {
    match surface {
        Surface::Retrieval => "Confusion (prompts that should fire a skill: who ranked first)",
        Surface::Native => "Confusion (runs of prompts that should fire a skill: who fired)",
    }
}

fn confusion(report: &ActivationReport) -> Vec<String> {
    let rows = report.confusion.iter().map(|(expected, won)| {
        let won: Vec<String> =
            won.iter().map(|(winner, count)| format!("{} {count}", code(winner))).collect();
        format!("{}: {}", code(expected), won.join(", "))
    });
    rows.collect()
}
