//! Graders as assertions, as the rubric, and as what the case expects of the skill.

use proctor_model::eval::{Assertion, Criteria, Rubric};

use crate::eval::import::Options;
use crate::eval::import::document::{At, Used};
use crate::eval::import::draft::NewCase;
use crate::eval::import::javascript;
use crate::eval::import::report::ScenarioReport;
use crate::eval::import::rubric::{Criterion, set_rubric};
use crate::eval::paths::clean;

/// One grader: its keys, and the text below them when it is a file.
pub(super) struct Grader<'a> {
    pub(super) at: At<'a>,
    pub(super) body: &'a str,
}

pub(super) struct Graders<'a> {
    pub(super) used: &'a mut Used,
    pub(super) report: &'a mut ScenarioReport,
}

/// What a grader with a counterpart becomes.
enum Mapped {
    Assertion(Assertion),
    Criterion(Criterion),
    /// Whether the skill must fire.
    Trigger(bool),
}

/// Why a grader has no counterpart.
type Reason = String;

impl Graders<'_> {
    /// Maps the graders of a case; those without a counterpart are listed whole.
    pub(super) fn map(&mut self, graders: &[Grader<'_>], case: &mut NewCase, options: Options) {
        let mut criteria = Vec::new();
        let mut triggers = Vec::new();
        let mut assertions = 0;
        for grader in graders {
            let mut keys = vec!["type"];
            match self.grader(grader, &mut keys) {
                Ok(Mapped::Assertion(assertion)) => {
                    case.assertions.push(assertion.into());
                    assertions += 1;
                    self.keep(grader, &keys);
                }
                Ok(Mapped::Criterion(criterion)) => {
                    criteria.push(criterion);
                    keys.push("weight");
                    self.keep(grader, &keys);
                }
                Ok(Mapped::Trigger(fires)) => {
                    keys.extend(["arm", "weight"]);
                    triggers.push((fires, grader, keys));
                }
                Err(reason) => self.refuse(grader, reason),
            }
        }
        if assertions > 0 {
            self.report.mapped.push(format!("{assertions} grader(s) -> assertions"));
        }
        self.triggers(triggers, case);
        self.rubric(criteria, case, options);
    }

    /// Marks what was read of a grader, and lists what was not.
    fn keep(&mut self, grader: &Grader<'_>, keys: &[&str]) {
        self.used.mark(&grader.at);
        // The name is for reports; in a file it is the file's own.
        for key in keys.iter().copied().chain(["name"]) {
            if let Some(at) = grader.at.get(key) {
                self.used.mark_all(&at);
            }
        }
        // Graders in case.yaml are covered by the walk through that file.
        if grader.at.path.ends_with('$') {
            self.used.rest(&grader.at, &[], &mut self.report.unmapped);
        }
    }

    /// Lists a grader whole.
    fn refuse(&mut self, grader: &Grader<'_>, reason: impl Into<String>) {
        self.report.unmapped.push(grader.at.unmapped(reason));
        self.used.mark_all(&grader.at);
    }

    fn triggers(&mut self, triggers: Vec<(bool, &Grader<'_>, Vec<&str>)>, case: &mut NewCase) {
        let fires = triggers.iter().any(|(fires, ..)| *fires);
        if triggers.is_empty() {
            let note = "expect_trigger: true (no grader looks at the Skill tool)";
            self.report.assumed.push(note.to_owned());
            return;
        }
        case.expect_trigger = fires;
        let mut names_skill = false;
        for (grader_fires, grader, keys) in triggers {
            if grader_fires == fires {
                names_skill |= grader.at.get("input_match").is_some();
                self.keep(grader, &keys);
            } else {
                let reason = "one case cannot ask that one skill fires and another does not";
                self.refuse(grader, reason);
            }
        }
        self.report.mapped.push(format!("tool_used Skill -> expect_trigger: {fires}"));
        if names_skill {
            let note = "the skill that `input_match` names is the one that the case is filed under";
            self.report.assumed.push(note.to_owned());
        }
    }

    /// The tool passes a case when every grader does.
    fn rubric(&mut self, criteria: Vec<Criterion>, case: &mut NewCase, options: Options) {
        let count = criteria.len();
        let words = match (criteria.as_slice(), options.rubric_mode) {
            ([], _) => return,
            ([only], super::super::RubricMode::Single) => {
                let rubric = Criteria::Text(only.text.clone());
                case.rubric = Some(Rubric { criteria: rubric, min_score: Some(1.0) });
                case.criteria = criteria;
                "rubric"
            }
            _ => set_rubric(case, criteria, Some(1.0), options),
        };
        self.report.mapped.push(format!("{count} llm grader(s) -> {words}"));
        let note =
            "rubric_min_score: 1 (every llm grader must pass, as with the threshold of the tool)";
        self.report.assumed.push(note.to_owned());
    }

    /// Maps one grader; the keys that it used are added to `keys`.
    fn grader(&mut self, grader: &Grader<'_>, keys: &mut Vec<&str>) -> Result<Mapped, Reason> {
        let text = |key: &str| grader.at.get(key).and_then(|at| at.text().map(str::to_owned));
        match text("type").as_deref() {
            Some("regex") => self.regex(grader, keys),
            Some("file_exists") => {
                keys.extend(["path", "exists"]);
                let path = text("path").ok_or("has no path")?;
                if path.contains(['*', '?', '[', '{']) {
                    return Err("a pattern of paths has no counterpart".to_owned());
                }
                let path = clean(&path).map_err(|why| format!("the path {why}"))?;
                let exists = grader.at.get("exists").and_then(|at| at.boolean()).unwrap_or(true);
                Ok(Mapped::Assertion(Assertion::FileExists { path, exists }))
            }
            Some("llm") => {
                keys.extend(["criteria", "focus"]);
                if text("focus").is_some_and(|focus| focus != "last_message")
                    || grader.at.get("focus").is_some_and(|focus| focus.text().is_none())
                {
                    return Err("a rubric judges the last message and nothing else".to_owned());
                }
                let criteria = text("criteria").filter(|text| !text.trim().is_empty());
                let criteria = criteria.unwrap_or_else(|| grader.body.to_owned());
                let text = criteria.trim().to_owned();
                if text.is_empty() {
                    return Err("has no criteria".to_owned());
                }
                let weight = grader.at.get("weight").and_then(|at| at.number());
                let weight = weight.filter(|weight| *weight > 0.0).unwrap_or(1.0);
                Ok(Mapped::Criterion(Criterion { name: String::new(), text, weight }))
            }
            Some("tool_used") => {
                keys.extend(["tool", "input_match", "min", "max"]);
                if text("tool").as_deref() != Some("Skill") {
                    return Err("only the Skill tool has a counterpart: expect_trigger".to_owned());
                }
                let number = |key: &str| grader.at.get(key).and_then(|at| at.number());
                match (number("min").unwrap_or(1.0), number("max")) {
                    (min, Some(max)) if min == 0.0 && max == 0.0 => Ok(Mapped::Trigger(false)),
                    (min, None) if (min - 1.0).abs() < f64::EPSILON => Ok(Mapped::Trigger(true)),
                    _ => Err("a count of calls has no counterpart".to_owned()),
                }
            }
            Some("tool_order") => Err("the order of tool calls has no counterpart".to_owned()),
            Some("baseline") => {
                Err("a comparison with a recorded run has no counterpart".to_owned())
            }
            _ => Err("the tool knows no such type of grader".to_owned()),
        }
    }

    fn regex(&mut self, grader: &Grader<'_>, keys: &mut Vec<&str>) -> Result<Mapped, Reason> {
        keys.extend(["pattern", "flags", "match", "target"]);
        let text = |key: &str| grader.at.get(key).and_then(|at| at.text().map(str::to_owned));
        let pattern = text("pattern").unwrap_or_else(|| grader.body.to_owned());
        if pattern.is_empty() {
            return Err("has no pattern".to_owned());
        }
        let path = match grader.at.get("target") {
            None => None,
            Some(target) if target.text() == Some("last_message") => None,
            Some(target) => {
                let source = target.get("source");
                let is_file = source.as_ref().and_then(At::text) == Some("file");
                let path = target.get("path");
                let path = path.as_ref().and_then(At::text).filter(|_| is_file);
                let path =
                    path.ok_or("only the last message and single files have counterparts")?;
                Some(clean(path).map_err(|why| format!("the path {why}"))?)
            }
        };
        let flags = text("flags").unwrap_or_default();
        match text("match").as_deref() {
            None | Some("contains") => {
                let value = javascript::translate(&pattern, &flags)?;
                if let Some(note) = javascript::differences(&pattern)
                    && !self.report.assumed.iter().any(|line| line == note)
                {
                    self.report.assumed.push(note.to_owned());
                }
                Ok(Mapped::Assertion(Assertion::Regex { value, path }))
            }
            Some("not_contains") => {
                let plain = javascript::is_literal(&pattern) && !flags.contains('i');
                if !plain {
                    let reason = "that a pattern does not match can be said of plain texts only";
                    return Err(reason.to_owned());
                }
                Ok(Mapped::Assertion(Assertion::NotContains { value: pattern, path }))
            }
            Some(_) => Err("a count of matches has no counterpart".to_owned()),
        }
    }
}
