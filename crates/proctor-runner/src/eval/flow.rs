//! The run loop: planned skills one after the other, under one budget.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use proctor_grade::eval::{
    ArmResult, Budget, Charge, Handed, Rates, RubricBy, Spend, case_report, case_usage, majority,
    round4, score, spend, warnings,
};
use proctor_model::eval::protocol::{Arm, CaseResult};
use proctor_model::eval::{CaseReport, ExpandedCase, Score, SkillReport, SkillStatus};
use proctor_redact::Redactor;

use super::grader::{Grader, Grading};
use super::judge::judge_arm;
use super::kept::amended;
use super::runner::{Answer, Call, CallError, JudgedRun, Machine, Runner, Told};

/// The longest that a call may take: a year, far below what the clock can add.
pub(super) const LONGEST: Duration = Duration::from_hours(365 * 24);

/// What holds for a whole run.
pub struct Settings<'a> {
    /// Runs the cases.
    pub runner: &'a dyn Runner,
    /// The harness.
    pub harness: &'a str,
    /// The model; `None` leaves it to the harness.
    pub model: Option<&'a str>,
    /// Whether each case is run without the skill too.
    pub ablation: bool,
    /// The pass rate, 0 to 1, that a skill must reach.
    pub threshold: f64,
    /// How long the runner may take for one skill.
    pub timeout: Duration,
    /// Whether the commands of cases may be run.
    pub allow_exec: bool,
    /// Grades rubrics in place of the runner.
    pub grader: Option<Grader<'a>>,
    /// US dollars for all skills together; 0 means no limit.
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
    pub report: SkillReport,
    /// What is to be run; `None` when the plan has settled it: replayed, invalid, without cases.
    pub task: Option<Task>,
}

/// What is to be run of a skill.
#[derive(Debug, Clone)]
pub struct Task {
    /// The folder of the skill, absolute.
    pub folder: Utf8PathBuf,
    /// Its eval folders, absolute.
    pub eval_folders: Vec<Utf8PathBuf>,
    /// Its cases, near misses included.
    pub cases: Vec<ExpandedCase>,
    /// Tokens of its `SKILL.md`.
    pub skill_tokens: u64,
}

/// What happens in a run, told as it happens.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// The runner is asked to run a skill.
    Started {
        /// The skill.
        skill: &'a str,
        /// How many cases it has.
        cases: usize,
    },
    /// The runner says something.
    Told {
        /// The skill.
        skill: &'a str,
        /// What.
        told: Told,
    },
    /// The built-in grader looks at what the runner answered.
    Grading {
        /// The skill.
        skill: &'a str,
    },
}

/// What a skill came to.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRun {
    /// What is reported: figures of cost are what was charged.
    pub report: SkillReport,
    /// What a record keeps when the cases ran and the score says something about the skill: figures
    /// of cost are what the runner reported.
    pub kept: Option<Score>,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    /// Every job, in order.
    pub skills: Vec<SkillRun>,
    /// US dollars that were charged.
    pub cost_usd: f64,
    /// US dollars of these that the grader spent.
    pub grader_cost_usd: f64,
    /// Why the rest was not run.
    pub stopped: Option<Stopped>,
}

/// Why a run ended before its last skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stopped {
    /// Somebody interrupted it.
    Interrupted,
    /// The runner cannot run at all.
    CannotRun(String),
    /// Whoever was told of a finished skill asked for it.
    Asked,
}

impl Stopped {
    pub(super) fn reason(&self) -> &'static str {
        match self {
            Self::Interrupted => "not run: the run was interrupted",
            Self::CannotRun(_) => "not run: the runner cannot run",
            Self::Asked => "not run: the run was stopped",
        }
    }
}

/// Runs the jobs in their order. `each` is told of every skill as soon as it is finished, so that
/// nothing that was paid for gets lost, and can stop the run.
pub fn run(
    settings: &Settings<'_>,
    jobs: Vec<Job>,
    observe: &mut dyn FnMut(Event<'_>),
    each: &mut dyn FnMut(&SkillRun) -> ControlFlow<()>,
) -> Ran {
    let mut budget = Budget::new(settings.max_cost_usd);
    let mut grader_cost_usd = 0.0;
    let mut stopped = None;
    let mut skills = Vec::with_capacity(jobs.len());
    for Job { mut report, task } in jobs {
        let mut kept = None;
        if let Some(task) = task {
            if stopped.is_none() && settings.machine.cancel.is_cancelled() {
                stopped = Some(Stopped::Interrupted);
            }
            match (&stopped, budget.handed()) {
                (Some(why), _) => fail(&mut report, why.reason().to_owned()),
                (None, Handed::Nothing) => report.status = SkillStatus::SkippedOverBudget,
                (None, handed) => {
                    let mut skill =
                        Skill { settings, task: &task, report: &mut report, grader_cost_usd: 0.0 };
                    let ran = skill.run(handed, &mut budget, observe);
                    grader_cost_usd += skill.grader_cost_usd;
                    ran.map_or_else(|why| stopped = Some(why), |score| kept = score);
                }
            }
        }
        redact(&mut report, settings.machine.redactor);
        let run = SkillRun { report, kept };
        let go_on = each(&run);
        skills.push(run);
        if go_on.is_break() {
            stopped.get_or_insert(Stopped::Asked);
        }
    }
    Ran {
        skills,
        cost_usd: round4(budget.spent()),
        grader_cost_usd: round4(grader_cost_usd),
        stopped,
    }
}

fn fail(report: &mut SkillReport, error: String) {
    report.status = SkillStatus::Error;
    report.error = Some(error);
}

/// One skill at its turn.
struct Skill<'a> {
    settings: &'a Settings<'a>,
    task: &'a Task,
    report: &'a mut SkillReport,
    /// What its grades cost, in US dollars.
    grader_cost_usd: f64,
}

impl Skill<'_> {
    /// Runs it, and gives what a record keeps, or why nothing more can be run.
    fn run(
        &mut self,
        handed: Handed,
        budget: &mut Budget,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Score>, Stopped> {
        let (settings, task) = (self.settings, self.task);
        let id = self.report.id.clone();
        observe(Event::Started { skill: &id, cases: task.cases.len() });
        let digest = self.report.digest.clone().unwrap_or_default();
        let call = Call {
            skill: &id,
            folder: &task.folder,
            digest: &digest,
            eval_folders: &task.eval_folders,
            cases: &task.cases,
            harness: settings.harness,
            model: settings.model,
            ablation: settings.ablation,
            max_cost_usd: match handed {
                Handed::Left(usd) => Some(usd),
                Handed::Unlimited | Handed::Nothing => None,
            },
            rates: settings.rates,
            timeout: settings.timeout,
            deadline: Instant::now() + settings.timeout.min(LONGEST),
            allow_exec: settings.allow_exec,
            rubrics: if settings.grader.is_some() { RubricBy::Builtin } else { RubricBy::Runner },
            machine: settings.machine,
        };
        let mut tell = |told| observe(Event::Told { skill: &id, told });
        let answer = match settings.runner.run(&call, &mut tell) {
            Ok(answer) => answer,
            Err(error) => return self.fail_call(error, budget).map(|()| None),
        };
        let spent = spend(&answer.response, settings.rates);
        let charge = budget.charge(&spent);
        let mut grading = settings.grader.map(|grader| {
            observe(Event::Grading { skill: &id });
            Grading::new(grader, *budget, settings.machine.redactor, settings.machine.cancel)
        });
        let cases = report_cases(&call, &answer, &mut grading);
        self.report.harness_version = answer.harness_version;
        // An interrupt ends the commands of cases, which then look as if they had failed.
        let mut interrupted = settings.machine.cancel.is_cancelled();
        let mut missing = 0;
        if let Some(grading) = grading {
            budget.charge_grader(grading.spent_usd());
            self.grader_cost_usd += grading.spent_usd();
            self.report.warnings.extend(grading.warnings);
            missing = grading.missing;
            match grading.stopped {
                Some(Stopped::CannotRun(why)) => {
                    return self.fail_call(CallError::CannotRun(why), budget).map(|()| None);
                }
                stopped => interrupted |= stopped.is_some(),
            }
        }
        if interrupted {
            return self.fail_call(CallError::Interrupted, budget).map(|()| None);
        }
        Ok(self.finish(answer.warnings, cases, spent, charge).filter(|_| missing == 0))
    }

    /// Reports that there is no answer; the error says why nothing more can be run.
    fn fail_call(&mut self, error: CallError, budget: &mut Budget) -> Result<(), Stopped> {
        fail(self.report, error.to_string());
        match error {
            CallError::CannotRun(why) => {
                Err(Stopped::CannotRun(self.settings.machine.redactor.text(&why).into_owned()))
            }
            CallError::Interrupted => {
                budget.charge_failed_call();
                Err(Stopped::Interrupted)
            }
            _ => {
                budget.charge_failed_call();
                Ok(())
            }
        }
    }

    fn finish(
        &mut self,
        told: Vec<String>,
        cases: Vec<CaseReport>,
        spent: Spend,
        charge: Charge,
    ) -> Option<Score> {
        let report = &mut *self.report;
        let kept = score(&cases, &spent, self.task.skill_tokens);
        let charged = Spend { cost_usd: charge.usd, ..spent };
        report.status = SkillStatus::Ran;
        report.passing = kept.passes(self.settings.threshold);
        report.score = Some(score(&cases, &charged, self.task.skill_tokens));
        report.warnings.extend(told);
        report.warnings.extend(warnings(&cases, self.settings.ablation));
        report.warnings.extend(charge.warning);
        report.cases = cases;
        kept.is_cacheable().then_some(kept)
    }
}

/// The report of each case, in the order of the cases. Of repeated results the last counts.
fn report_cases(
    call: &Call<'_>,
    answer: &Answer,
    grading: &mut Option<Grading<'_>>,
) -> Vec<CaseReport> {
    let mut results: BTreeMap<(&str, &str), &CaseResult> = BTreeMap::new();
    for result in &answer.response.results {
        results.insert((&result.case, &result.arm), result);
    }
    let mut settle = |case: &ExpandedCase, arm, judged: ArmResult, said: Option<&str>| match grading
    {
        Some(grading) => grading.settle(case, arm, judged, said),
        None => judged,
    };
    let mut arm_result = |case: &ExpandedCase, arm: Arm| {
        let key = (case.id.clone(), arm);
        if let Some(judged) = answer.judged.get(&key) {
            return judged.clone();
        }
        if let Some(runs) = answer.to_grade.get(&key) {
            let runs = runs
                .iter()
                .map(|run| {
                    let judged = settle(case, arm, run.judged.clone(), run.answer.as_deref());
                    amend(call, case, run, &judged);
                    judged
                })
                .collect::<Vec<_>>();
            return majority(case, arm, &runs);
        }
        let result = results.get(&(case.id.as_str(), arm.as_str())).copied();
        let judged = judge_arm(call, case, arm, result);
        settle(case, arm, judged, result.and_then(|result| result.output.as_deref()))
    };
    let reports = call.cases.iter().map(|case| {
        let with = arm_result(case, Arm::With);
        let without = call.ablation.then(|| arm_result(case, Arm::Without));
        let usage = case_usage(&answer.response, &case.id);
        let mut report = case_report(case, &with, without.as_ref(), usage);
        report.fired = answer.fired.get(&case.id).cloned().unwrap_or_default();
        if report.triggered == Some(false) && case.expect_trigger && !report.fired.is_empty() {
            report.failures.push(format!("loaded instead: {}", report.fired.join(", ")));
        }
        report
    });
    reports.collect()
}

/// Keeps what the rubric of a session came to.
fn amend(call: &Call<'_>, case: &ExpandedCase, run: &JudgedRun, judged: &ArmResult) {
    if let (Some(archive), Some(kept)) = (call.machine.archive, &run.kept) {
        let mut record = amended(&kept.record, case, judged);
        for check in &mut record.graded {
            let texts = check.reason.iter_mut().chain(&mut check.excerpt);
            texts.for_each(|text| *text = call.machine.redactor.text(text).into_owned());
        }
        if let Err(error) = archive.finish(&kept.trial, &record) {
            archive.lost(&format!("{}: {error}", kept.trial.id));
        }
    }
}

/// Takes secrets out of everything that the runner and the agents have had a hand in.
fn redact(report: &mut SkillReport, redactor: &Redactor) {
    let clean = |text: &mut String| {
        if let std::borrow::Cow::Owned(redacted) = redactor.text(text) {
            *text = redacted;
        }
    };
    report.error.iter_mut().chain(&mut report.warnings).for_each(clean);
    for case in &mut report.cases {
        let texts = case.reason.iter_mut().chain(&mut case.rubric_note).chain(&mut case.failures);
        texts.for_each(clean);
    }
}
