//! `native`: Proctor itself runs each case, with the adapters that drive agents everywhere else.
//!
//! Each session has a room of its own. With the skill, it lies where the harness finds the skills of
//! a project; without it, the workspace holds neither skill nor cases, and nothing that the agent is
//! given says where they lie. Whether the skill fired is read from the whole transcript, assertions
//! are graded on the workspace while it is there, and a session that did not complete, or in which
//! the agent saw what it must not see, gives no figure.
//!
//! What it saw is told by what tools and harness returned ([`texts`], in whatever encoding), by the
//! names of files, by where its commands go ([`outside`]), and by the kernel, which knows whether
//! anybody opened the files ([`guard`]).

mod assemble;
mod conceal;
mod guard;
mod home;
mod loads;
mod names;
mod needles;
mod outside;
mod scripts;
mod shell;
mod squash;
mod texts;
mod trial;
mod views;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{EVALS_NAME, SKILL_FILE};
use proctor_grade::eval::RubricBy;
use proctor_harness::Adapter;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult};
use proctor_sandbox::Cancel;

use self::assemble::{Ended, assemble};
use self::conceal::{concealable, place_program};
use self::guard::{Guard, GuardError};
use self::needles::{Material, Needles};
use self::outside::Outside;
use self::trial::{Stop, Trial, TrialEnd};
use super::kept::{Kept, conclusion, session_key};
use super::program::program;
use super::purse::Purse;
use super::registry::Options;
use super::runner::{Answer, Call, CallError, Machine, Runner, Told};
use crate::archive::{Conclusion, Keeping, SessionKey};
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
        let (cases, skipped) = plan(call);
        let work = Work::new(self, call)?;
        work.announce(&cases);
        let mut sessions = Vec::new();
        // One arm after the other: a room with the skill is no neighbour of one without it.
        for &arm in call.arms() {
            let planned: Vec<Planned<'_>> = self.sessions(&cases, arm).collect();
            let ends = work.sessions(&planned, tell);
            sessions.extend(planned.iter().map(|planned| (planned.case, arm)).zip(ends));
        }
        if call.machine.cancel.is_cancelled() {
            return Err(CallError::Interrupted);
        }
        let (guess, warning) = (work.purse.guess(), work.unguarded.clone());
        if let Some(reason) = work.into_cannot_run() {
            return Err(CallError::CannotRun(reason));
        }
        let mut answer = assemble(sessions.into_iter().map(|((case, arm), end)| (case, arm, end)));
        answer.response.results.extend(skipped);
        answer.response.cost_usd = guess;
        answer.warnings.extend(warning);
        Ok(answer)
    }
}

/// What the sessions of one call share.
struct Work<'a> {
    native: &'a Native,
    call: &'a Call<'a>,
    /// The program, when it has another name than usual.
    program: Option<String>,
    /// The folder that sessions are not told of.
    concealed: Option<&'a Utf8Path>,
    needles: BTreeMap<Arm, Needles>,
    outside: Outside,
    guards: BTreeMap<Arm, Guard>,
    /// Why there are none, for people.
    unguarded: Option<String>,
    purse: Purse,
    /// Ends all of them.
    stop: Cancel,
    /// Why none of them has a result.
    cannot_run: Mutex<Option<String>>,
}

impl<'a> Work<'a> {
    fn new(native: &'a Native, call: &'a Call<'a>) -> Result<Self, CallError> {
        let machine = call.machine;
        if call.ablation {
            check_rooms(machine)?;
        }
        let material = Material::read(call);
        let guarded = |&arm: &Arm| Ok((arm, guard_of(call, arm)?));
        let (guards, unguarded) = match call.arms().iter().map(guarded).collect() {
            Ok(guards) => (guards, None),
            Err(error) => (BTreeMap::new(), Some(unguarded(&error))),
        };
        let evals = call.eval_folders.iter().map(Utf8PathBuf::as_path);
        let concealed = concealable(machine.project, machine.env);
        // Where an agent is at home, the project is too much to be told from the rest.
        let place = concealed.or(call.folder.parent()).unwrap_or(machine.project);
        let program = native.program.as_deref().map(|name| {
            let name = program(name, machine.project);
            concealed.map(|project| place_program(&name, machine.env, project)).unwrap_or(name)
        });
        Ok(Self {
            native,
            call,
            program,
            concealed,
            needles: call.arms().iter().map(|&arm| (arm, Needles::new(&material, arm))).collect(),
            outside: Outside::new(place, call.folder, evals),
            guards,
            unguarded,
            purse: Purse::new(call),
            stop: machine.cancel.linked().map_err(|e| CallError::Machine(e.to_string()))?,
            cannot_run: Mutex::default(),
        })
    }

    /// Runs sessions side by side.
    fn sessions(&self, planned: &[Planned<'_>], tell: &mut dyn FnMut(Told)) -> Vec<Ended> {
        let mut begun = vec![false; planned.len()];
        let mut ends: Vec<Ended> = planned.iter().map(|_| None).collect();
        pool::run(
            planned.len(),
            self.native.jobs,
            &self.stop,
            |index, begin| self.session(&planned[index], &|| begin(())),
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
        ends
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
            concealed: self.concealed,
            outside: &self.outside,
            guard: self.guards.get(&planned.arm),
            case: planned.case,
            arm: planned.arm,
            budget,
            cancel: &self.stop,
        };
        let machine = self.call.machine;
        let mut keeping = Keeping::begin(machine.archive, &self.key(planned), machine.redactor);
        match trial.run(&mut keeping) {
            Ok(mut end) => {
                self.purse.pay(budget, end.usage);
                let kept = keeping.finish(self.conclusion(planned, &end));
                end.kept = kept.map(|(trial, record)| Box::new(Kept { trial, record }));
                Some(Ok(end))
            }
            Err(Stop::Error(reason)) => {
                keeping
                    .finish(Conclusion { reason: Some(reason.clone()), ..Conclusion::default() });
                Some(Err(reason))
            }
            Err(Stop::Cancelled) => None,
            Err(Stop::CannotRun(reason)) => {
                keeping
                    .finish(Conclusion { reason: Some(reason.clone()), ..Conclusion::default() });
                // What a panic elsewhere has left is whole: it is only ever replaced.
                let mut known = self.cannot_run.lock().unwrap_or_else(PoisonError::into_inner);
                known.get_or_insert(reason);
                self.stop.cancel();
                None
            }
        }
    }

    /// Tells the archive of the sessions that are to come.
    fn announce(&self, cases: &[&ExpandedCase]) {
        let Some(archive) = self.call.machine.archive else { return };
        let arms = self.call.arms().iter();
        let keys: Vec<SessionKey> = arms
            .flat_map(|&arm| self.native.sessions(cases, arm))
            .map(|planned| self.key(&planned))
            .collect();
        if !keys.is_empty()
            && let Err(error) = archive.plan(&keys)
        {
            archive.lost(&error.to_string());
        }
    }

    fn key(&self, planned: &Planned<'_>) -> SessionKey {
        let agent = self.native.adapter.id();
        session_key(self.call, agent, planned.case, planned.arm.as_str(), planned.run)
    }

    fn conclusion(&self, planned: &Planned<'_>, end: &TrialEnd) -> Conclusion {
        Conclusion {
            outcome: Some(end.outcome.clone()),
            usage: end.usage,
            warnings: end.warnings.clone(),
            ..conclusion(planned.case, &end.judged, self.call.rubrics == RubricBy::Builtin)
        }
    }

    fn into_cannot_run(self) -> Option<String> {
        self.cannot_run.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Native {
    /// The sessions of one arm, case by case.
    fn sessions<'a>(
        &self,
        cases: &[&'a ExpandedCase],
        arm: Arm,
    ) -> impl Iterator<Item = Planned<'a>> {
        let runs = self.runs;
        cases.iter().flat_map(move |&case| (1..=runs).map(move |run| Planned { case, arm, run }))
    }
}

/// The cases that this runner runs, and the results of the others.
fn plan<'a>(call: &Call<'a>) -> (Vec<&'a ExpandedCase>, Vec<CaseResult>) {
    let (mut cases, mut skipped) = (Vec::new(), Vec::new());
    for case in call.cases {
        match cannot_judge(call, case) {
            None => cases.push(case),
            Some(reason) => skipped.extend(call.skipped(case, reason)),
        }
    }
    (cases, skipped)
}

/// Why a case cannot be judged here, if so.
fn cannot_judge(call: &Call<'_>, case: &ExpandedCase) -> Option<&'static str> {
    let reason = "it has a rubric, which this runner does not grade; add `--grader builtin`, or \
                  choose another runner";
    (case.rubric.is_some() && call.rubrics == RubricBy::Runner).then_some(reason)
}

/// Sees that workspaces do not lie in the project, before anything is spent.
fn check_rooms(machine: Machine<'_>) -> Result<(), CallError> {
    let room = machine.rooms.create("trial").map_err(|e| CallError::Machine(e.to_string()))?;
    let project = machine.project.canonicalize_utf8();
    if room.root().starts_with(project.as_deref().unwrap_or(machine.project)) {
        return Err(CallError::CannotRun(format!(
            "the workspaces would lie in the project ({}), whose skills agents would find; set \
             TMPDIR to a folder outside of it",
            room.root()
        )));
    }
    Ok(())
}

/// Guards what the sessions of an arm must not open: the cases, and without the skill the skill too.
fn guard_of(call: &Call<'_>, arm: Arm) -> Result<Guard, GuardError> {
    let mut files: BTreeSet<Utf8PathBuf> =
        call.cases.iter().map(|case| call.machine.project.join(&case.place.file)).collect();
    let folder = (arm == Arm::Without).then_some(call.folder);
    // The folder does not tell of its file when that is opened by another name.
    files.extend(folder.map(|folder| folder.join(SKILL_FILE)));
    Guard::new(files.iter().map(Utf8PathBuf::as_path), folder, EVALS_NAME)
}

fn unguarded(error: &GuardError) -> String {
    format!(
        "the skill's files could not be watched ({error}), so that a run which read them in an \
         encoding that is not recognised would not be noticed"
    )
}

impl Planned<'_> {
    fn told(&self, ended: bool) -> Told {
        let (case, arm, run) = (self.case.id.clone(), self.arm, self.run);
        if ended { Told::SessionEnded { case, arm, run } } else { Told::Session { case, arm, run } }
    }
}
