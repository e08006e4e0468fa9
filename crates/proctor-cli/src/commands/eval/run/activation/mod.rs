//! `proctor eval run --mode activation`.

mod candidates;
mod entrant;
mod field;
mod keep;
mod native;
mod print;
mod report;

use proctor_formats::eval::{Project, inspect};
use proctor_grade::eval::activation::{Subject, ranked, too_few_to_compare};
use proctor_model::ExitCode;
use proctor_model::eval::activation::{Scope, Surface};
use proctor_model::eval::{Estimate, SkillActivation};
use proctor_model::run::RunKind;
use proctor_report::eval::{activation_json, comparison_json};
use proctor_runner::eval::Stopped;
use proctor_store::eval::ResultsError;

use self::candidates::Candidates;
use self::entrant::{Entrant, Selection};
use self::field::Field;
use super::args::{Args, ScopeName, SurfaceName};
use super::base::Base;
use super::{FAILED, common, explain};
use crate::archive::RunArchive;
use crate::context::Context;
use crate::error::CommandError;

/// What holds for the whole measurement.
struct Session<'a> {
    args: &'a Args,
    context: &'a Context,
    base: Base,
    surface: Surface,
    scope: Scope,
    /// The share of its prompts that a skill must pass.
    threshold: f64,
    /// Keeps the sessions.
    archive: RunArchive,
}

/// What came of it.
struct Outcome {
    skills: Vec<SkillActivation>,
    /// Which harness was asked, how and at what price; `native` only.
    harness: Option<HarnessRun>,
    failure: Option<ResultsError>,
    stopped: Option<Stopped>,
}

/// How a harness was asked.
struct HarnessRun {
    runner: &'static str,
    runs: u32,
    estimate: Estimate,
    cost_usd: f64,
    /// Of that, what the proof of the instrument cost, where that is known.
    canary_usd: Option<f64>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let candidates = Candidates::read(args, context)?;
    let base = Base::new(args, context)?;
    let session = Session {
        args,
        context,
        archive: RunArchive::new(&base.project.root, RunKind::SkillEval, "activation"),
        base,
        surface: match args.surface {
            Some(SurfaceName::Native) => Surface::Native,
            Some(SurfaceName::Retrieval) | None => Surface::Retrieval,
        },
        scope: match args.scope {
            ScopeName::Domain => Scope::Domain,
            ScopeName::All => Scope::All,
        },
        threshold: args.threshold.unwrap_or(1.0),
    };
    match candidates {
        None => session.run(),
        Some(candidates) => session.run_candidates(&candidates),
    }
}

impl Session<'_> {
    /// Measures the skills as they are.
    fn run(&self) -> Result<ExitCode, CommandError> {
        if !self.args.tags.is_empty() && !self.args.no_write {
            self.context
                .printer
                .note("with `--tag` no result is kept: it would be of a part of the prompts");
        }
        let project = &self.base.project;
        let field = self.field(project);
        self.warn(&field);
        let entrants = self.entrants(project, &field)?;
        let outcome = self.measure(entrants)?;
        let report = self.report(&outcome);
        self.archive.report(&activation_json(&report));
        self.archive.tell(self.context);
        print::report(&report, self.args, self.context)?;
        self.end(outcome, report.failed)
    }

    /// Measures a candidate description, alone or against another.
    fn run_candidates(&self, candidates: &Candidates) -> Result<ExitCode, CommandError> {
        let temporary = candidates::scratch(self.context)?;
        let sides = candidates.sides(&self.base.project, &self.args.skills, &temporary)?;
        let fields: Vec<Field> = sides.iter().map(|side| self.field(&side.project)).collect();
        if let Some(field) = fields.first() {
            self.warn(field);
        }
        let mut entrants = Vec::new();
        for (side, field) in sides.iter().zip(&fields) {
            for mut entrant in self.entrants(&side.project, field)? {
                entrant.report.warnings.extend(side.warning.clone());
                entrants.push(entrant);
            }
        }
        if !candidates.is_comparison() {
            let outcome = self.measure(entrants)?;
            let report = self.report(&outcome);
            self.archive.report(&activation_json(&report));
            self.archive.tell(self.context);
            print::report(&report, self.args, self.context)?;
            return self.end(outcome, report.failed);
        }
        let prompts = entrants.first().map_or(0, Entrant::prompts);
        let doubt = too_few_to_compare(prompts).filter(|_| prompts > 0);
        // Before anything is spent.
        if let Some(doubt) = &doubt {
            self.context.printer.warning(doubt);
        }
        let outcome = self.measure(entrants)?;
        let report = self.comparison(&outcome, candidates, doubt);
        self.archive.report(&comparison_json(&report));
        self.archive.tell(self.context);
        print::comparison(&report, self.args, self.context)?;
        self.end(outcome, report.failed)
    }

    fn field(&self, project: &Project) -> Field {
        Field::new(project, self.scope)
    }

    fn warn(&self, field: &Field) {
        for warning in &field.warnings {
            self.context.printer.warning(warning);
        }
    }

    /// The chosen skills of a project, as far as it can be told without measuring.
    fn entrants<'a>(
        &self,
        project: &'a Project,
        field: &'a Field,
    ) -> Result<Vec<Entrant<'a>>, CommandError> {
        let chosen = common::choose(project, &self.args.skills)?;
        let changed = self.base.changed(self.args, &chosen)?;
        let selection = Selection { changed: changed.as_ref(), tags: &self.args.tags };
        let inspected = inspect(project, &chosen);
        let entrants: Vec<Entrant> =
            inspected.iter().map(|skill| selection.entrant(skill, field)).collect();
        if !self.args.tags.is_empty() && entrants.iter().all(Entrant::has_no_cases) {
            return Err(common::no_case_has(&self.args.tags));
        }
        Ok(entrants)
    }

    fn measure(&self, entrants: Vec<Entrant<'_>>) -> Result<Outcome, CommandError> {
        if self.surface == Surface::Native {
            return native::measure(self, entrants);
        }
        let skills = entrants.into_iter().map(|entrant| self.rank(entrant)).collect();
        let mut outcome = Outcome { skills, harness: None, failure: None, stopped: None };
        outcome.failure = keep::retrieval(self, &outcome.skills).err();
        Ok(outcome)
    }

    /// Ranks the prompts of one skill.
    fn rank(&self, entrant: Entrant<'_>) -> SkillActivation {
        let Entrant { mut report, ready } = entrant;
        if let Some(ready) = ready {
            let rankings: Vec<Vec<(&str, f64)>> = ready
                .cases
                .iter()
                .map(|case| {
                    let hits = ready.competition.index.search(&case.prompt);
                    hits.iter().map(|hit| (hit.document.id.as_str(), hit.score)).collect()
                })
                .collect();
            let subject = Subject {
                skill: &report.id.clone(),
                cases: &ready.cases,
                threshold: self.threshold,
            };
            ranked(&subject, &rankings).fill(0, &mut report);
        }
        report
    }

    /// The exit code, or why it is none of a result.
    fn end(&self, outcome: Outcome, failed: bool) -> Result<ExitCode, CommandError> {
        if let Some(failure) = outcome.failure {
            return Err(CommandError::usage(failure)
                .hint("what was measured last stands in the report and nowhere else"));
        }
        if let Some(stopped) = outcome.stopped {
            return Err(explain(stopped));
        }
        self.base.sign(self.context)?;
        Ok(if failed { FAILED } else { ExitCode::SUCCESS })
    }
}
