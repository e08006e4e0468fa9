//! `native`: Proctor itself runs each case, with the adapters that drive agents everywhere else.
//!
//! Each session has a room of its own. With the skill, it lies where the harness finds the skills of
//! a project; without it, the workspace holds neither skill nor cases. Whether the skill fired is
//! read from the whole transcript, assertions are graded on the workspace while it is there, and a
//! session that did not complete, or in which the agent saw what it must not see, gives no figure.

mod assemble;
mod home;
mod needles;
mod purse;
mod scripts;
mod trial;
mod watch;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use proctor_harness::Adapter;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult};

use self::assemble::assemble;
use self::needles::Needles;
use self::purse::Purse;
use self::trial::{Stop, Trial, TrialEnd};
use super::program::program;
use super::registry::Options;
use super::runner::{Answer, Call, CallError, Runner, Told};
use crate::pool::{self, Progress};

/// The name of this runner.
pub(super) const NAME: &str = "native";

/// Sessions side by side when nobody says how many: they share one account's limits.
const USUAL_JOBS: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// The runner.
struct Native {
    adapter: &'static dyn Adapter,
    program: Option<String>,
    args: Vec<String>,
    runs: u32,
    jobs: NonZeroUsize,
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Runner>, String> {
    let Some(adapter) = proctor_harness::find(&options.harness) else {
        let known: Vec<&str> = proctor_harness::adapters().iter().map(|a| a.id()).collect();
        return Err(format!(
            "runner `{NAME}` cannot drive harness `{}`; it drives {}",
            options.harness,
            known.join(", ")
        ));
    };
    let program = match adapter.id() {
        "claude" => options.claude_bin.clone(),
        "codex" => options.codex_bin.clone(),
        _ => None,
    };
    Ok(Box::new(Native {
        adapter,
        program,
        args: options.args.clone(),
        runs: options.runs.unwrap_or(1).max(1),
        jobs: options.jobs.unwrap_or(USUAL_JOBS),
    }))
}

/// One session of the plan.
struct Planned<'a> {
    case: &'a ExpandedCase,
    arm: Arm,
    run: u32,
}

impl Runner for Native {
    fn name(&self) -> &'static str {
        NAME
    }

    fn runs_per_case(&self) -> u64 {
        u64::from(self.runs)
    }

    fn run(&self, call: &Call<'_>, tell: &mut dyn FnMut(Told)) -> Result<Answer, CallError> {
        let (planned, skipped) = self.plan(call);
        let program = self.program.as_deref().map(|name| program(name, call.machine.project));
        let needles: BTreeMap<Arm, Needles> =
            call.arms().iter().map(|&arm| (arm, Needles::new(call, arm))).collect();
        let stop = call.machine.cancel.linked().map_err(|e| CallError::Machine(e.to_string()))?;
        let purse = Purse::new(call);
        let cannot_run = Mutex::new(None);
        let mut ends: Vec<Option<Result<TrialEnd, String>>> =
            planned.iter().map(|_| None).collect();
        pool::run(
            planned.len(),
            self.jobs,
            &stop,
            |index, begun| {
                let Planned { case, arm, .. } = planned[index];
                let budget = match purse.left() {
                    Ok(budget) => budget,
                    Err(reason) => return Some(Err(reason)),
                };
                begun(());
                let trial = Trial {
                    call,
                    adapter: self.adapter,
                    program: program.as_deref(),
                    args: &self.args,
                    needles: &needles[&arm],
                    case,
                    arm,
                    budget,
                    cancel: &stop,
                };
                let ended = trial.run();
                purse.pay(budget, ended.as_ref().ok().and_then(|end| end.usage));
                match ended {
                    Ok(end) => Some(Ok(end)),
                    Err(Stop::Error(reason)) => Some(Err(reason)),
                    Err(Stop::Cancelled) => None,
                    Err(Stop::CannotRun(reason)) => {
                        lock(&cannot_run).get_or_insert(reason);
                        stop.cancel();
                        None
                    }
                }
            },
            |_, message| Some(Err(format!("a bug in proctor ended this case: {message}"))),
            |progress| match progress {
                Progress::Event(index, ()) => tell(planned[index].told(false)),
                Progress::Done(index, end) => {
                    tell(planned[index].told(true));
                    ends[index] = end;
                }
            },
        );
        if call.machine.cancel.is_cancelled() {
            return Err(CallError::Interrupted);
        }
        if let Some(reason) = lock(&cannot_run).take() {
            return Err(CallError::CannotRun(reason));
        }
        let ends = planned.iter().zip(ends);
        let ends = ends.map(|(planned, end)| (planned.case, planned.arm, end));
        let mut answer = assemble(ends);
        answer.response.results.extend(skipped);
        answer.response.cost_usd = purse.guess();
        Ok(answer)
    }
}

impl Native {
    /// Every session, case by case and the two arms beside each other; and the cases that this
    /// runner cannot run.
    fn plan<'a>(&self, call: &Call<'a>) -> (Vec<Planned<'a>>, Vec<CaseResult>) {
        let (mut planned, mut skipped) = (Vec::new(), Vec::new());
        for case in call.cases {
            if case.rubric.is_some() {
                let reason =
                    "it has a rubric, which this runner does not grade; choose another runner";
                skipped.extend(call.skipped(case, reason));
                continue;
            }
            for run in 1..=self.runs {
                let arms = call.arms().iter();
                planned.extend(arms.map(|&arm| Planned { case, arm, run }));
            }
        }
        (planned, skipped)
    }
}

impl Planned<'_> {
    fn told(&self, ended: bool) -> Told {
        let (case, arm, run) = (self.case.id.clone(), self.arm, self.run);
        if ended { Told::SessionEnded { case, arm, run } } else { Told::Session { case, arm, run } }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What a panic elsewhere has left is whole: values are only ever replaced.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
