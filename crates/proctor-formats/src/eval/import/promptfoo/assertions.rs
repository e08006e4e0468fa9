//! Assertions of promptfoo as assertions, as the rubric, and as what the case expects of the skill.

use proctor_model::eval::Assertion;

use super::template::Templates;
use crate::eval::import::Options;
use crate::eval::import::document::{At, Used};
use crate::eval::import::draft::NewCase;
use crate::eval::import::javascript;
use crate::eval::import::report::ScenarioReport;
use crate::eval::import::rubric::{Criterion, set_rubric};

pub(super) struct Assertions<'a> {
    pub(super) used: &'a mut Used,
    pub(super) report: &'a mut ScenarioReport,
    pub(super) templates: Templates<'a>,
}

enum Mapped {
    Assertions(Vec<Assertion>),
    Criterion(Criterion),
    Trigger(bool),
}

impl Assertions<'_> {
    pub(super) fn map(
        &mut self,
        test: &At<'_>,
        default: Option<&At<'_>>,
        case: &mut NewCase,
        options: Options,
    ) {
        let mut criteria = Vec::new();
        let mut trigger = None;
        let lists = [default, Some(test)].into_iter().flatten().filter_map(|at| at.get("assert"));
        for list in lists {
            let Some(items) = list.items() else { continue };
            self.used.mark(&list);
            for item in items {
                // What an assertion costs beside its texts.
                if self.templates.room.take(16).is_none() {
                    return;
                }
                match self.assertion(&item) {
                    Ok(Mapped::Assertions(found)) => {
                        case.assertions.extend(found.into_iter().map(Into::into));
                        self.keep(&item, &["type", "value"]);
                    }
                    Ok(Mapped::Criterion(criterion)) => {
                        criteria.push(criterion);
                        self.keep(&item, &["type", "value", "weight"]);
                    }
                    Ok(Mapped::Trigger(fires)) if trigger.is_none_or(|known| known == fires) => {
                        trigger = Some(fires);
                        self.keep(&item, &["type", "value"]);
                    }
                    Ok(Mapped::Trigger(_)) => {
                        let why = "one case cannot ask that one skill fires and another does not";
                        self.refuse(&item, why);
                    }
                    Err(why) => self.refuse(&item, &why),
                }
            }
        }
        self.expect(trigger, case);
        self.rubric(test, criteria, case, options);
    }

    fn expect(&mut self, trigger: Option<bool>, case: &mut NewCase) {
        let note = match trigger {
            Some(fires) => {
                case.expect_trigger = fires;
                "the skill that `skill-used` names is the one that the cases are filed under"
            }
            None => "expect_trigger: true where no assertion looks at the skill",
        };
        self.assume(note);
    }

    fn rubric(
        &mut self,
        test: &At<'_>,
        criteria: Vec<Criterion>,
        case: &mut NewCase,
        options: Options,
    ) {
        if criteria.is_empty() {
            return;
        }
        // A threshold is the share of all assertions; it is that of the rubric when there is
        // nothing else.
        let threshold = test.get("threshold").filter(|_| case.assertions.is_empty());
        let min_score = threshold.as_ref().and_then(At::number);
        let min_score = min_score.filter(|score| (0.0..=1.0).contains(score));
        if let (Some(_), Some(at)) = (min_score, &threshold) {
            self.used.mark(at);
        } else {
            self.assume(
                "rubric_min_score: 1 (every llm-rubric must pass where there is no threshold)",
            );
        }
        set_rubric(case, criteria, Some(min_score.unwrap_or(1.0)), options);
    }

    fn assume(&mut self, note: &str) {
        if !self.report.assumed.iter().any(|line| line == note) {
            self.report.assumed.push(note.to_owned());
        }
    }

    /// Marks what was read of an assertion; what was not is listed later.
    fn keep(&mut self, at: &At<'_>, keys: &[&str]) {
        self.used.mark(at);
        for key in keys {
            if let Some(value) = at.get(key) {
                self.used.mark_all(&value);
            }
        }
    }

    /// Lists an assertion, once however many prompts or tests share it.
    fn refuse(&mut self, at: &At<'_>, why: &str) {
        if self.used.contains(at) {
            return;
        }
        let kind = at.get("type");
        let kind = kind.as_ref().map_or_else(String::new, At::summary);
        let mut unmapped = at.unmapped(why);
        unmapped.value = kind;
        self.used.mark_all(at);
        self.report.unmapped.push(unmapped);
    }

    fn assertion(&mut self, at: &At<'_>) -> Result<Mapped, String> {
        let kind = at.get("type");
        let kind = kind.as_ref().and_then(At::text).ok_or("has no type")?;
        let contains = |value: String| Assertion::Contains { value, path: None };
        let not_contains = |value: String| Assertion::NotContains { value, path: None };
        let pattern = |value: String| Assertion::Regex { value, path: None };
        let one = |assertion: Assertion| Ok(Mapped::Assertions(vec![assertion]));
        match kind {
            "contains" => one(contains(self.value(at)?)),
            "not-contains" => one(not_contains(self.value(at)?)),
            "contains-all" => {
                Ok(Mapped::Assertions(self.values(at)?.into_iter().map(contains).collect()))
            }
            "not-contains-any" => {
                Ok(Mapped::Assertions(self.values(at)?.into_iter().map(not_contains).collect()))
            }
            "icontains" => one(pattern(format!("(?i){}", javascript::literal(&self.value(at)?)))),
            "contains-any" | "icontains-any" | "icontains-all" => {
                let values = self.values(at)?;
                let literals = values.iter().map(|value| javascript::literal(value));
                let flags = if kind.starts_with('i') { "(?i)" } else { "" };
                if kind.ends_with("-all") {
                    let all = literals.map(|value| pattern(format!("{flags}{value}")));
                    return Ok(Mapped::Assertions(all.collect()));
                }
                let any: Vec<String> = literals.collect();
                one(pattern(format!("{flags}(?:{})", any.join("|"))))
            }
            "starts-with" => one(pattern(format!("\\A{}", javascript::literal(&self.value(at)?)))),
            "equals" => one(pattern(format!("\\A{}\\z", javascript::literal(&self.value(at)?)))),
            "regex" => {
                let value = self.value(at)?;
                let translated = javascript::translate(&value, "")?;
                if let Some(note) = javascript::differences(&value) {
                    self.assume(note);
                }
                one(pattern(translated))
            }
            "not-regex" => {
                let value = self.value(at)?;
                if !javascript::is_literal(&value) {
                    let why = "that a pattern does not match can be said of plain texts only";
                    return Err(why.to_owned());
                }
                one(not_contains(value))
            }
            "llm-rubric" => {
                let weight = at.get("weight").and_then(|at| at.number());
                let weight = weight.filter(|weight| *weight > 0.0).unwrap_or(1.0);
                let text = self.value(at)?.trim().to_owned();
                if text.is_empty() {
                    return Err("has no text".to_owned());
                }
                Ok(Mapped::Criterion(Criterion { name: String::new(), text, weight }))
            }
            "skill-used" | "not-skill-used" => {
                self.value(at).map_err(|_| "only a single skill has a counterpart")?;
                Ok(Mapped::Trigger(kind == "skill-used"))
            }
            _ => Err("this type of assertion has no counterpart".to_owned()),
        }
    }

    fn value(&mut self, at: &At<'_>) -> Result<String, String> {
        self.text(at.get("value").as_ref().and_then(At::scalar))
    }

    fn values(&mut self, at: &At<'_>) -> Result<Vec<String>, String> {
        let items = at.get("value").and_then(|value| value.items());
        let items = items.ok_or("its value is no list of texts")?;
        if items.is_empty() {
            return Err("its list is empty".to_owned());
        }
        items.iter().map(|item| self.text(item.scalar())).collect()
    }

    fn text(&mut self, text: Option<&str>) -> Result<String, String> {
        let text = text.filter(|text| !text.is_empty()).ok_or("its value is no text")?;
        if text.starts_with("file://") {
            return Err("a value in a file has no counterpart".to_owned());
        }
        self.templates
            .render(text)
            .ok_or_else(|| "its value needs a template that is not read".to_owned())
    }
}
