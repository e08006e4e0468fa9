//! The loop: planned skills one after the other, under one budget, after one proof.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use proctor_grade::eval::activation::{Subject, fired};
use proctor_grade::eval::{Budget, Handed, Rates, RubricBy, Spend, spend};
use proctor_model::eval::{ActivationStatus, ExpandedCase, SkillActivation};
use proctor_redact::Redactor;

use super::contest::{Activator, Competitor, Contest, Measured, Proof, Runs};
use crate::eval::flow::{Event, LONGEST, Stopped};
use crate::eval::runner::{Call, CallError, Machine};

/// What holds for a whole run.
pub struct Settings<'a> {
    /// Measures.
    pub activator: &'a dyn Activator,
    /// The harness.
    pub harness: &'a str,
    /// The model; `None` leaves it to the harness.
    pub model: Option<&'a str>,
    /// How often each prompt is run.
    pub runs: Runs,
    /// The share of its prompts, 0 to 1, that must pass for a skill to pass.
    pub threshold: f64,
    /// How long one skill may take.
    pub timeout: Duration,
    /// US dollars for all skills and the proof together; 0 means no limit.
    pub max_cost_usd: f64,
    /// What tokens cost.
    pub rates: Rates,
    /// The machine.
    pub machine: Machine<'a>,
}

/// A skill in the order of the run.
#[derive(Debug, Clone)]
pub struct Job {
    /// What the plan knows of it, and what is reported when it is not run.
    pub report: SkillActivation,
    /// What is to be run; `None` when the plan has settled it: replayed, invalid, without cases.
    pub task: Option<Task>,
}

/// What is to be run of a skill.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its prompts, near misses included.
    pub cases: Vec<ExpandedCase>,
    /// Every skill that is installed, the one under test included, by id. For `--description-from`
    /// the folder of the one under test is the copy with the other description.
    pub skills: Vec<Competitor>,
}

/// What a skill came to.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRun {
    /// What is reported; its cost is what was charged.
    pub report: SkillActivation,
    /// What a record keeps beside the report, when that says something about the skill.
    pub kept: Option<Kept>,
}

/// What a measurement took, as the activator reported it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// Tokens and money.
    pub spend: Spend,
    /// How often an agent was started.
    pub runs: u64,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Every job, in order.
    pub skills: Vec<SkillRun>,
    /// US dollars that were charged, the proof included.
    pub cost_usd: f64,
    /// The proof of the activator; `None` when nothing was to be measured.
    pub proof: Option<Proof>,
    /// Why the rest was not run.
    pub stopped: Option<Stopped>,
}

/// Runs the jobs in their order. `each` is told of every skill as soon as it is finished, so that
/// nothing that was paid for gets lost, and can stop the run.
pub fn run(
    settings: &Settings<'_>,
    jobs: Vec<Job>,
    observe: &mut dyn FnMut(Event<'_>),
    each: &mut dyn FnMut(&SkillRun) -> ControlFlow<()>,
) -> Ran {
    let mut course = Course {
        settings,
        budget: Budget::new(settings.max_cost_usd),
        proof: None,
        stopped: None,
        observe,
    };
    let mut skills = Vec::with_capacity(jobs.len());
    for Job { mut report, task } in jobs {
        let kept = task.and_then(|task| course.turn(&task, &mut report));
        redact(&mut report, settings.machine.redactor);
        let run = SkillRun { report, kept };
        if each(&run).is_break() && course.stopped.is_none() {
            course.stopped = Some(Stopped::Asked);
        }
        skills.push(run);
    }
    let Course { budget, proof, stopped, .. } = course;
    Ran { skills, cost_usd: budget.spent(), proof, stopped }
}

/// A run under way.
struct Course<'a, 'b> {
    settings: &'a Settings<'a>,
    budget: Budget,
    proof: Option<Proof>,
    stopped: Option<Stopped>,
    observe: &'b mut dyn FnMut(Event<'_>),
}

impl<'a> Course<'a, '_> {
    /// One skill at its turn. Gives what a record keeps.
    fn turn(&mut self, task: &Task, report: &mut SkillActivation) -> Option<Kept> {
        if self.stopped.is_none() && self.settings.machine.cancel.is_cancelled() {
            self.stopped = Some(Stopped::Interrupted);
        }
        if let Some(why) = &self.stopped {
            fail(report, why.reason().to_owned());
            return None;
        }
        if self.is_over_budget(report) {
            return None;
        }
        let skill = report.id.clone();
        self.settle(task, &skill, report);
        if report.error.is_some() || self.is_over_budget(report) {
            return None;
        }
        (self.observe)(Event::Started { skill: &skill, cases: task.cases.len() });
        let measured = self.contest(task, &skill).and_then(|contest| {
            let mut tell = |told| (self.observe)(Event::Told { skill: &skill, told });
            self.settings.activator.measure(&contest, &mut tell)
        });
        match measured {
            Ok(measured) => self.finish(task, measured, report),
            Err(error) => {
                self.failed(error, report);
                None
            }
        }
    }

    /// Whether nothing is left for the skill.
    fn is_over_budget(&self, report: &mut SkillActivation) -> bool {
        let is_over = self.budget.handed() == Handed::Nothing;
        if is_over {
            report.status = ActivationStatus::SkippedOverBudget;
        }
        is_over
    }

    /// Everything that must hold before the skill is measured; what does not is the skill's error.
    fn settle(&mut self, task: &Task, skill: &str, report: &mut SkillActivation) {
        let contest = match self.contest(task, skill) {
            Ok(contest) => contest,
            Err(error) => return fail(report, error.to_string()),
        };
        if let Some(why) = self.settings.activator.refuses(&contest) {
            return fail(report, why);
        }
        if self.proof.is_none() {
            self.prove(&contest, report);
        }
        if let Some(error) = self.proof.as_ref().and_then(Proof::error) {
            fail(report, error);
        }
    }

    /// Proves the activator with the first skill that is measured.
    fn prove(&mut self, contest: &Contest<'_>, report: &mut SkillActivation) {
        let activator = self.settings.activator;
        if self.budget.handed() != Handed::Unlimited && !activator.reports_cost() {
            let name = activator.name();
            let why = format!("runner `{name}` reports no cost, so no budget can be kept");
            return self.failed(CallError::CannotRun(why), report);
        }
        let skill = contest.call.skill;
        let mut tell = |told| (self.observe)(Event::Told { skill, told });
        let mut proof = match activator.prove(contest, &mut tell) {
            Ok(proof) => proof,
            Err(error @ (CallError::CannotRun(_) | CallError::Interrupted)) => {
                return self.failed(error, report);
            }
            Err(error) => {
                self.budget.charge_failed_call();
                Proof { broken: Some(error.to_string()), ..Proof::default() }
            }
        };
        if proof.runs > 0 {
            let charge = self.budget.charge(&proof.spend);
            proof.warnings.extend(charge.warning);
        }
        report.warnings.extend(proof.warnings.iter().cloned());
        let stopped = proof.stopped.take();
        self.proof = Some(proof);
        self.end(stopped, report);
    }

    /// What the activator is asked about a skill.
    fn contest<'t>(&self, task: &'t Task, skill: &'t str) -> Result<Contest<'t>, CallError>
    where
        'a: 't,
    {
        let settings = self.settings;
        let subject = task.skills.iter().find(|competitor| competitor.id == skill);
        let subject = subject.ok_or_else(|| {
            CallError::Machine(format!("`{skill}` is not among the skills that compete"))
        })?;
        let call = Call {
            skill,
            folder: &subject.folder,
            digest: &subject.digest,
            eval_folders: &[],
            cases: &task.cases,
            harness: settings.harness,
            model: settings.model,
            ablation: false,
            max_cost_usd: match self.budget.handed() {
                Handed::Left(usd) => Some(usd),
                Handed::Unlimited | Handed::Nothing => None,
            },
            rates: settings.rates,
            timeout: settings.timeout,
            deadline: Instant::now() + settings.timeout.min(LONGEST),
            allow_exec: false,
            rubrics: RubricBy::Runner,
            machine: settings.machine,
        };
        let run_usd = self.proof.as_ref().and_then(Proof::run_usd);
        Ok(Contest { call, skills: &task.skills, runs: settings.runs, run_usd })
    }

    /// Ends the run, if there is a reason. Says whether there was one.
    fn end(&mut self, stopped: Option<Stopped>, report: &mut SkillActivation) -> bool {
        // An interrupt looks like failures of what it ended.
        let interrupted = self.settings.machine.cancel.is_cancelled();
        let why = if interrupted { Some(Stopped::Interrupted) } else { stopped };
        self.stopped = match why {
            None => return false,
            Some(Stopped::CannotRun(why)) => {
                fail(report, why.clone());
                let why = self.settings.machine.redactor.text(&why).into_owned();
                Some(Stopped::CannotRun(why))
            }
            Some(other) => {
                fail(report, CallError::Interrupted.to_string());
                Some(other)
            }
        };
        true
    }

    /// A call that failed, of which nobody knows what it cost.
    fn failed(&mut self, error: CallError, report: &mut SkillActivation) {
        fail(report, error.to_string());
        let stopped = match error {
            CallError::CannotRun(why) => Some(Stopped::CannotRun(why)),
            CallError::Interrupted => Some(Stopped::Interrupted),
            _ => None,
        };
        if !matches!(stopped, Some(Stopped::CannotRun(_))) {
            self.budget.charge_failed_call();
        }
        self.end(stopped, report);
    }

    fn finish(
        &mut self,
        task: &Task,
        measured: Measured,
        report: &mut SkillActivation,
    ) -> Option<Kept> {
        let spent = spend(&measured.response, self.settings.rates);
        if measured.runs > 0 {
            let charge = self.budget.charge(&spent);
            report.cost_usd = Some(charge.usd);
            report.warnings.extend(charge.warning);
        }
        report.warnings.extend(measured.warnings);
        if self.end(measured.stopped, report) {
            return None;
        }
        if let Some(error) = measured.error {
            fail(report, error);
            return None;
        }
        let subject = Subject {
            skill: &report.id.clone(),
            cases: &task.cases,
            threshold: self.settings.threshold,
        };
        let figures = fired(&subject, &measured.response.results);
        let storable = figures.is_storable();
        figures.fill(measured.saved_runs, report);
        storable.then_some(Kept { spend: spent, runs: measured.runs })
    }
}

fn fail(report: &mut SkillActivation, error: String) {
    report.status = ActivationStatus::Error;
    report.error = Some(error);
}

/// Takes secrets out of everything that the harness and the agents have had a hand in.
fn redact(report: &mut SkillActivation, redactor: &Redactor) {
    let prompts = report.prompts.iter_mut().filter_map(|prompt| prompt.error.as_mut());
    let texts = report.error.iter_mut().chain(&mut report.warnings).chain(prompts);
    for text in texts {
        if let Cow::Owned(redacted) = redactor.text(text) {
            *text = redacted;
        }
    }
}
