//! Measurements as workflow commands of GitHub Actions.

use proctor_model::eval::comparison::{ComparisonReport, ComparisonVerdict};
use proctor_model::eval::{ActivationReport, ActivationStatus, PromptStatus, SkillActivation};

use super::comparison::comparison_summary;
use super::words;
use crate::eval::annotations::command;

/// One workflow command a line for each mistake, failure and warning of a measurement.
pub fn activation_annotations(report: &ActivationReport) -> String {
    let mut text = String::new();
    for skill in &report.skills {
        of_skill(skill, &mut text);
    }
    text
}

/// The same for a comparison: what kept it from being made, and a verdict against the new
/// description.
pub fn comparison_annotations(report: &ComparisonReport) -> String {
    let mut text = String::new();
    let title = [("title", format!("skill {}", report.skill))];
    for warning in &report.warnings {
        command("warning", &title, warning, &mut text);
    }
    if report.comparison.verdict == ComparisonVerdict::Worse {
        command("error", &title, &comparison_summary(report), &mut text);
    }
    for candidate in [&report.new, &report.against] {
        if candidate.measured.status != ActivationStatus::Ran {
            of_skill(&candidate.measured, &mut text);
        }
    }
    text
}

fn of_skill(skill: &SkillActivation, text: &mut String) {
    let title = |case: Option<&str>| {
        let case = case.map(|case| format!(", case {case}")).unwrap_or_default();
        [("title", format!("skill {}{case}", skill.id))]
    };
    for problem in &skill.problems {
        let place = [
            ("file", problem.file.clone()),
            ("line", problem.line.to_string()),
            ("title", format!("skill {}", skill.id)),
        ];
        command("error", &place, &problem.message, text);
    }
    if let Some(reason) = words::not_measured(skill) {
        command("error", &title(None), &reason, text);
    }
    // A prompt that fails does not fail a skill that still reaches its mark.
    let level = if skill.failed() { "error" } else { "warning" };
    let wrong = |status| matches!(status, PromptStatus::Failed | PromptStatus::Error);
    for prompt in skill.prompts.iter().filter(|prompt| wrong(prompt.status)) {
        if let Some(why) = words::prompt(prompt) {
            command(level, &title(Some(&prompt.case)), &why, text);
        }
    }
    if skill.status == ActivationStatus::Cached && skill.failed() {
        command("error", &title(None), &words::status(skill), text);
    }
    for warning in &skill.warnings {
        command("warning", &title(None), warning, text);
    }
}
