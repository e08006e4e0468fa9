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
use proctor_sandbox::Cancel;

use self::assemble::{Ended, assemble};
use self::needles::Needles;
use self::purse::Purse;
use self::trial::{Stop, Trial};
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
        let work = Work::new(self, call)?;
        let mut begun = vec![false; planned.len()];
        let mut ends: Vec<Ended> = planned.iter().map(|_| None).collect();
        pool::run(
            planned.len(),
            self.jobs,
            &work.stop,
            |index, begin| work.session(&planned[index], &|| begin(())),
            |_, message| Some(Err(format!("a bug in proctor ended this case: {message}"))),
            |progress| match progress {
                Progress::Event(index, ()) => {
                    begun[index] = true;
                    tell(planned[index].told(false));
                }
                Progress::Done(index, end) => {
                    if begun[index] {
                        tell(planned[index].told(true));
                    }
                    ends[index] = end;
                }
            },
        );
        if call.machine.cancel.is_cancelled() {
            return Err(CallError::Interrupted);
        }
        let guess = work.purse.guess();
        if let Some(reason) = work.into_cannot_run() {
            return Err(CallError::CannotRun(reason));
        }
        let sessions = planned.iter().zip(ends);
        let sessions = sessions.map(|(planned, end)| (planned.case, planned.arm, end));
        let mut answer = assemble(sessions);
        answer.response.results.extend(skipped);
        answer.response.cost_usd = guess;
        Ok(answer)
    }
}

/// What the sessions of one call share.
struct Work<'a> {
    native: &'a Native,
    call: &'a Call<'a>,
    /// The program, when it has another name than usual.
    program: Option<String>,
    needles: BTreeMap<Arm, Needles>,
    purse: Purse,
    /// Ends all of them.
    stop: Cancel,
    /// Why none of them has a result.
    cannot_run: Mutex<Option<String>>,
}

impl<'a> Work<'a> {
    fn new(native: &'a Native, call: &'a Call<'a>) -> Result<Self, CallError> {
        let machine = call.machine;
        Ok(Self {
            native,
            call,
            program: native.program.as_deref().map(|name| program(name, machine.project)),
            needles: call.arms().iter().map(|&arm| (arm, Needles::new(call, arm))).collect(),
            purse: Purse::new(call),
            stop: machine.cancel.linked().map_err(|e| CallError::Machine(e.to_string()))?,
            cannot_run: Mutex::default(),
        })
    }

    /// Runs one session, if there is money for it.
    fn session(&self, planned: &Planned<'_>, begin: &dyn Fn()) -> Ended {
        let budget = match self.purse.left() {
            Ok(budget) => budget,
            Err(reason) => return Some(Err(reason)),
        };
        begin();
        let trial = Trial {
            call: self.call,
            adapter: self.native.adapter,
            program: self.program.as_deref(),
            args: &self.native.args,
            needles: &self.needles[&planned.arm],
            case: planned.case,
            arm: planned.arm,
            budget,
            cancel: &self.stop,
        };
        match trial.run() {
            Ok(end) => {
                self.purse.pay(budget, end.usage);
                Some(Ok(end))
            }
            Err(Stop::Error(reason)) => Some(Err(reason)),
            Err(Stop::Cancelled) => None,
            Err(Stop::CannotRun(reason)) => {
                // What a panic elsewhere has left is whole: it is only ever replaced.
                let mut known = self.cannot_run.lock().unwrap_or_else(PoisonError::into_inner);
                known.get_or_insert(reason);
                self.stop.cancel();
                None
            }
        }
    }

    fn into_cannot_run(self) -> Option<String> {
        self.cannot_run.into_inner().unwrap_or_else(PoisonError::into_inner)
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
