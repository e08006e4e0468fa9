//! The rules about skills, their cases and their recorded results.

use camino::Utf8PathBuf;
use proctor_model::eval::{ActivationRecord, Case, Finding, LintSeverity, Rule, SkillRecord};
use proctor_model::{Diagnostic, Location, Severity};

use super::inspect::Inspected;
use super::layout::Project;
use super::settings::EvalSettings;

const START: Location = Location { line: 1, column: 1 };

/// What is recorded about the skills of a project.
#[derive(Debug, Clone, Copy)]
pub enum Recorded<'a> {
    /// The records of the results file; none when there is no file.
    Records(&'a [Evidence<'a>]),
    /// The file cannot be read.
    Unreadable(&'a Diagnostic),
}

/// A record, and whether the user's own key signed it: only then does it prove anything.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// The record.
    pub record: &'a SkillRecord,
    /// Whether its signature holds.
    pub is_verified: bool,
}

/// Everything that the rules find, by file, place and code.
pub fn lint(
    project: &Project,
    skills: &[Inspected<'_>],
    recorded: Recorded<'_>,
    settings: &EvalSettings,
) -> Vec<Finding> {
    let mut linter = Linter { project, settings, findings: Vec::new() };
    for warning in &project.warnings.0 {
        linter.diagnostic(None, warning);
    }
    let records = match recorded {
        Recorded::Records(records) => records,
        Recorded::Unreadable(diagnostic) => {
            linter.unreadable(diagnostic);
            &[]
        }
    };
    for skill in skills {
        linter.skill(skill);
        let id = &skill.skill.id;
        if let Some(evidence) = records.iter().find(|evidence| evidence.record.id == *id) {
            linter.record(skill, *evidence);
        }
    }
    let mut findings = linter.findings;
    findings.sort_by(|a, b| (&a.file, a.location, a.code).cmp(&(&b.file, b.location, b.code)));
    findings
}

/// Where a finding stands.
struct Spot {
    file: Utf8PathBuf,
    location: Location,
}

struct Linter<'a> {
    project: &'a Project,
    settings: &'a EvalSettings,
    findings: Vec<Finding>,
}

impl Linter<'_> {
    fn is_on(&self, rule: Rule) -> bool {
        self.settings.severity(rule).is_some()
    }

    fn push(&mut self, rule: Rule, spot: Spot, skill: Option<&str>, message: String, hint: &str) {
        let Some(severity) = self.settings.severity(rule) else { return };
        self.findings.push(Finding {
            code: rule,
            name: rule.name().to_owned(),
            severity,
            file: spot.file,
            location: spot.location,
            skill: skill.map(str::to_owned),
            message,
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        });
    }

    /// A mistake or a warning of case files; a warning is never worse than one.
    fn diagnostic(&mut self, skill: Option<&str>, diagnostic: &Diagnostic) {
        let file = diagnostic.file.clone().unwrap_or_default();
        let spot = Spot { file, location: diagnostic.location.unwrap_or(START) };
        let message = match &diagnostic.field {
            Some(field) => format!("{field}: {}", diagnostic.message),
            None => diagnostic.message.clone(),
        };
        let hint = diagnostic.hint.as_deref().unwrap_or_default();
        let before = self.findings.len();
        self.push(Rule::EvalCaseInvalid, spot, skill, message, hint);
        if diagnostic.severity == Severity::Warning {
            for finding in self.findings.iter_mut().skip(before) {
                finding.severity = finding.severity.min(LintSeverity::Warning);
            }
        }
    }

    fn unreadable(&mut self, diagnostic: &Diagnostic) {
        let file = diagnostic.file.clone().unwrap_or_default();
        let spot = Spot { file, location: diagnostic.location.unwrap_or(START) };
        let hint = diagnostic.hint.as_deref().unwrap_or("restore it, or delete it and run again");
        self.push(Rule::EvalResultsInvalid, spot, None, diagnostic.message.clone(), hint);
    }

    fn skill(&mut self, inspected: &Inspected<'_>) {
        let skill = inspected.skill;
        for diagnostic in &inspected.loaded.diagnostics.0 {
            self.diagnostic(Some(&skill.id), diagnostic);
        }
        if !inspected.loaded.has_material && !self.settings.allows(&skill.id) {
            let location = inspected.front_matter.name_location.unwrap_or(START);
            let spot = Spot { location, ..self.skill_file(inspected) };
            let message = format!("skill `{}` has no eval cases", skill.id);
            let hint = "add a case file in its `evals` folder, or list the skill in \
                        `lint.evals.allow`";
            self.push(Rule::EvalsMissing, spot, Some(&skill.id), message, hint);
        }
        for case in inspected.loaded.cases.iter().filter(|case| case.expect_trigger) {
            self.positive_case(inspected, case);
        }
    }

    fn skill_file(&self, inspected: &Inspected<'_>) -> Spot {
        Spot { file: self.project.shown(&inspected.skill.file()), location: START }
    }

    fn positive_case(&mut self, inspected: &Inspected<'_>, case: &Case) {
        let id = &inspected.skill.id;
        let spot = || Spot { file: case.place.file.clone(), location: case.place.location };
        if let Some(policy) = inspected.front_matter.never_fires {
            let message = format!(
                "case `{}` expects skill `{id}` to fire, and its front matter says `{policy}`",
                case.id
            );
            let hint = "let the model invoke the skill, or drop the case";
            self.push(Rule::ActivationPolicyConflict, spot(), Some(id), message, hint);
        }
        if !self.is_on(Rule::ActivationPromptNamesSkill) {
            return;
        }
        let names = [Some(id.as_str()), inspected.front_matter.name.as_deref()];
        let named = names.into_iter().flatten().find(|name| names_word(&case.prompt, name));
        if let Some(name) = named {
            let message = format!("the prompt of case `{}` gives the name `{name}` away", case.id);
            let hint = "ask as somebody would who does not know the skill";
            self.push(Rule::ActivationPromptNamesSkill, spot(), Some(id), message, hint);
        }
    }

    fn record(&mut self, inspected: &Inspected<'_>, evidence: Evidence<'_>) {
        if let Some(activation) = &evidence.record.activation {
            self.activation(inspected, activation, evidence.is_verified);
        }
        if !evidence.record.has_run() {
            return;
        }
        let id = &inspected.skill.id;
        if !evidence.is_verified {
            for rule in [Rule::EvalStale, Rule::EvalScoreLow] {
                self.unverified(rule, inspected, "result");
            }
            return;
        }
        if let Some(last_pass) = &evidence.record.last_pass {
            let message = match &inspected.digest {
                Ok(digest) if *digest == last_pass.digest => None,
                Ok(_) if last_pass.date.is_empty() => {
                    Some(format!("skill `{id}` changed after its last passing run"))
                }
                Ok(_) => Some(format!(
                    "skill `{id}` changed after its last passing run, of {}",
                    last_pass.date
                )),
                Err(error) => Some(format!("skill `{id}`: {error}")),
            };
            if let Some(message) = message {
                let (spot, hint) = (self.skill_file(inspected), run_again(id));
                self.push(Rule::EvalStale, spot, Some(id), message, &hint);
            }
        }
        let score = &evidence.record.score;
        if let Some(floor) = self.settings.min_pass_rate
            && score.scored > 0
            && score.pass_rate < floor
        {
            let message = format!(
                "skill `{id}` has a recorded pass rate of {}, below {}",
                percent(score.pass_rate),
                percent(floor)
            );
            let spot = self.skill_file(inspected);
            self.push(Rule::EvalScoreLow, spot, Some(id), message, "mend the skill or its cases");
        }
    }

    fn unverified(&mut self, rule: Rule, inspected: &Inspected<'_>, what: &str) {
        let id = &inspected.skill.id;
        let message = format!(
            "the recorded {what} of skill `{id}` is unverified: your key did not sign it, so it \
             proves nothing"
        );
        let (spot, hint) = (self.skill_file(inspected), run_again(id));
        self.push(rule, spot, Some(id), message, &hint);
    }

    fn activation(
        &mut self,
        inspected: &Inspected<'_>,
        activation: &ActivationRecord,
        is_verified: bool,
    ) {
        if !is_verified {
            return self.unverified(Rule::ActivationLow, inspected, "activation");
        }
        if inspected.digest.as_ref().ok() != Some(&activation.digest) {
            return;
        }
        let id = &inspected.skill.id;
        for (what, value, floor) in [
            ("recall", activation.recall, self.settings.min_activation_recall),
            ("precision", activation.precision, self.settings.min_activation_precision),
        ] {
            if let (Some(value), Some(floor)) = (value, floor)
                && value < floor
            {
                let message = format!(
                    "skill `{id}` has a recorded activation {what} of {}, below {}",
                    percent(value),
                    percent(floor)
                );
                let spot = self.skill_file(inspected);
                let hint = "mend the description of the skill";
                self.push(Rule::ActivationLow, spot, Some(id), message, hint);
            }
        }
        let Some(threshold) = self.settings.confusion_threshold else { return };
        for thief in activation.stolen_by.iter().filter(|thief| thief.share >= threshold) {
            let message = format!(
                "skill `{}` wins {} of the prompts of skill `{id}`",
                thief.skill,
                percent(thief.share)
            );
            let spot = self.skill_file(inspected);
            let hint = "tell the two apart in their descriptions";
            self.push(Rule::SkillConfusable, spot, Some(id), message, hint);
        }
    }
}

fn run_again(skill: &str) -> String {
    format!("run `proctor eval run {skill}`")
}

fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}

/// Whether `text` has `word` as a word; letters, digits, `_` and `-` make words, and letter case
/// does not count.
fn names_word(text: &str, word: &str) -> bool {
    let (text, word) = (text.to_lowercase(), word.trim().to_lowercase());
    let part = |byte: Option<&u8>| {
        byte.is_some_and(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
        })
    };
    !word.is_empty()
        && text.match_indices(&word).any(|(start, found)| {
            let bytes = text.as_bytes();
            let before = start.checked_sub(1).and_then(|at| bytes.get(at));
            !part(before) && !part(bytes.get(start + found.len()))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_borders() {
        for (text, word, expected) in [
            ("Use deploy-staging now", "deploy-staging", true),
            ("Use DEPLOY-Staging.", "deploy-staging", true),
            ("deploy", "deploy", true),
            ("deployment", "deploy", false),
            ("re-deploy it", "deploy", false),
            ("deploy_it and deploy!", "deploy", true),
            ("édeploy", "deploy", true),
            ("anything", "", false),
        ] {
            assert_eq!(names_word(text, word), expected, "{text}");
        }
    }
}
