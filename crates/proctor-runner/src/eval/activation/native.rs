//! What `claude-native` and `codex-native` have in common: every run of every prompt of a skill.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use proctor_harness::Adapter;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, PROTOCOL_VERSION, Response};
use proctor_model::run::{GradedStatus, TrialStatus};

use super::contest::{Activator, Contest, Measured, Proof, broken};
use super::harness::{Halt, Harness, RunEnd, Stage};
use super::skills::{Installed, Lineup};
use super::tally::Tally;
use crate::archive::{Conclusion, Keeping};
use crate::eval::environment::agent;
use crate::eval::flow::Stopped;
use crate::eval::kept::{session_key, trigger};
use crate::eval::program::program;
use crate::eval::purse::Purse;
use crate::eval::registry::Options;
use crate::eval::runner::{CallError, Told};
use crate::pool::{self, Progress};
use crate::session;

/// Runs that fail one after the other until no more are begun: the next would fail, too.
const FAILURES_IN_A_ROW: u32 = 5;

/// The environment of such sessions in the records of a run.
const ARM: &str = "activation";

/// Warnings of one skill that are kept.
const MAX_WARNINGS: usize = 20;

/// The activator.
pub(super) struct Native {
    pub(super) harness: &'static dyn Harness,
    adapter: &'static dyn Adapter,
    program: String,
    args: Vec<String>,
    jobs: NonZeroUsize,
}

impl Native {
    /// `bin` is what the user says of the program.
    pub(super) fn build(
        harness: &'static dyn Harness,
        bin: Option<&str>,
        options: &Options,
    ) -> Result<Box<dyn Activator>, String> {
        let (name, id) = (harness.name(), harness.harness());
        if options.harness != id {
            return Err(format!("runner `{name}` runs harness `{id}` only; say `--harness {id}`"));
        }
        let adapter =
            proctor_harness::find(id).ok_or_else(|| format!("there is no adapter for {id}"))?;
        let usual = NonZeroUsize::new(harness.usual_jobs()).unwrap_or(NonZeroUsize::MIN);
        Ok(Box::new(Self {
            harness,
            adapter,
            program: bin.unwrap_or(id).to_owned(),
            args: options.args.clone(),
            jobs: options.jobs.unwrap_or(usual),
        }))
    }

    /// A new room with these skills, and what a reader should know of it. `Err` says why these skills
    /// cannot be measured here.
    pub(super) fn stage<'a>(
        &'a self,
        contest: &Contest<'a>,
        skills: &[Installed],
        required: BTreeSet<String>,
    ) -> Result<(Stage<'a>, Vec<String>), String> {
        let machine = contest.call.machine;
        // Its name says nothing of the skills: the agent sees it.
        let room = machine.rooms.create("trial").map_err(|error| error.to_string())?;
        self.harness.install(&room, skills).map_err(|error| error.to_string())?;
        let installed: BTreeSet<String> = skills.iter().map(|skill| skill.id.clone()).collect();
        let mut env = session::environment(&agent(machine.env, self.adapter), &room);
        let warnings = self.harness.environment(&mut env, &room, &installed)?;
        let stage = Stage {
            harness: self.harness,
            adapter: self.adapter,
            program: program(&self.program, machine.project),
            args: &self.args,
            machine,
            room,
            env,
            installed,
            required,
            stop: machine.cancel.linked().map_err(|error| error.to_string())?,
            deadline: contest.call.deadline,
        };
        Ok((stage, warnings))
    }

    /// Descriptions of which the model sees a part.
    fn cut(&self, skills: &[Installed]) -> impl Iterator<Item = String> {
        let shown = self.harness.shown_description();
        let cut = skills.iter().filter(move |skill| skill.described > shown);
        cut.map(move |skill| {
            format!(
                "the description of `{}` has {} characters, of which {} shows its model {shown}",
                skill.id,
                skill.described,
                self.adapter.id()
            )
        })
    }

    /// Why skills that are withheld from the model are not measured.
    pub(super) fn withheld(&self, skills: &[String]) -> String {
        let named: Vec<String> = skills.iter().map(|id| format!("`{id}`")).collect();
        format!(
            "{} does not offer {} to the model, though installed, so nothing could fire; look at \
             `--runner-arg`, at the version of the program, and at the front matter",
            self.adapter.id(),
            named.join(", ")
        )
    }
}

impl Activator for Native {
    fn name(&self) -> &'static str {
        self.harness.name()
    }

    fn reports_cost(&self) -> bool {
        self.harness.reports_cost()
    }

    fn proof_runs(&self) -> u64 {
        1
    }

    fn refuses(&self, contest: &Contest<'_>) -> Option<String> {
        Lineup::new(contest).refused
    }

    fn prove(&self, contest: &Contest<'_>, tell: &mut dyn FnMut(Told)) -> Result<Proof, CallError> {
        Ok(super::canary::prove(self, contest, tell))
    }

    fn measure(
        &self,
        contest: &Contest<'_>,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Measured, CallError> {
        let unmeasured = |error| Ok(Measured { error: Some(error), ..Measured::default() });
        let lineup = Lineup::new(contest);
        let mut warnings = lineup.left_out.clone();
        warnings.extend(self.cut(&lineup.skills));
        if let Some(refused) = lineup.refused {
            return unmeasured(refused);
        }
        let required = lineup.skills.iter().map(|skill| skill.id.clone()).collect();
        let (stage, notes) = match self.stage(contest, &lineup.skills, required) {
            Ok(staged) => staged,
            Err(why) => return unmeasured(why),
        };
        warnings.extend(notes);
        match stage.withheld() {
            Ok(Some(withheld)) if !withheld.is_empty() => {
                return unmeasured(broken(&self.withheld(&withheld)));
            }
            Ok(_) => {}
            Err(halt) => return Ok(self.halted(halt, Measured::default())),
        }
        let work = Work::new(contest, &stage);
        let mut measured = work.measure(self.jobs, tell);
        warnings.extend(std::mem::take(&mut measured.warnings));
        warnings.truncate(MAX_WARNINGS);
        measured.warnings = warnings;
        Ok(match work.into_halt() {
            None => measured,
            Some(halt) => self.halted(halt, measured),
        })
    }
}

impl Native {
    fn halted(&self, halt: Halt, measured: Measured) -> Measured {
        match halt {
            Halt::Stopped(stopped) => Measured { stopped: Some(stopped), ..measured },
            Halt::Withheld(skills) => {
                let error = Some(broken(&self.withheld(&skills)));
                Measured { error, ..measured }
            }
        }
    }
}

/// What the runs of one skill share.
struct Work<'a> {
    contest: &'a Contest<'a>,
    stage: &'a Stage<'a>,
    purse: Purse,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// US dollars that a run cost at most.
    dearest: Option<f64>,
    /// Runs that failed since one did not.
    failures: u32,
    last_failure: String,
    halt: Option<Halt>,
}

/// One run of the plan.
struct Planned<'a> {
    /// The index of its prompt.
    index: usize,
    case: &'a ExpandedCase,
    /// Which of the prompt's runs, from 1.
    run: u32,
}

impl Planned<'_> {
    fn told(&self, ended: bool) -> Told {
        let (case, arm, run) = (self.case.id.clone(), Arm::With, self.run);
        if ended { Told::SessionEnded { case, arm, run } } else { Told::Session { case, arm, run } }
    }
}

impl<'a> Work<'a> {
    fn new(contest: &'a Contest<'a>, stage: &'a Stage<'a>) -> Self {
        let state = State { dearest: contest.run_usd, ..State::default() };
        Self { contest, stage, purse: Purse::new(&contest.call), state: Mutex::new(state) }
    }

    fn measure(&self, jobs: NonZeroUsize, tell: &mut dyn FnMut(Told)) -> Measured {
        let (skill, runs) = (self.contest.call.skill, self.contest.runs);
        let mut tallies: Vec<Tally<'_>> =
            self.contest.call.cases.iter().map(|case| self.tally(case)).collect();
        let mut measured = Measured::default();
        let mut warnings = BTreeSet::new();
        loop {
            let planned = self.plan(&tallies);
            if planned.is_empty() || self.stage.stop.is_cancelled() {
                break;
            }
            pool::run(
                planned.len(),
                jobs,
                &self.stage.stop,
                |index, begin| self.once(&planned[index], &|| begin(())),
                |_, message| Some(Err(format!("a bug in proctor ended this run: {message}"))),
                |progress| match progress {
                    Progress::Event(index, ()) => {
                        measured.runs += 1;
                        tell(planned[index].told(false));
                    }
                    Progress::Done(index, None) => tell(planned[index].told(true)),
                    Progress::Done(index, Some(mut end)) => {
                        if let Ok(end) = &mut end {
                            warnings.append(&mut end.warnings);
                            tell(planned[index].told(true));
                        }
                        tallies[planned[index].index].count(end);
                    }
                },
            );
        }
        measured.saved_runs = tallies.iter().map(|tally| tally.saved(runs)).sum();
        let results = tallies.into_iter().map(|tally| tally.result(skill)).collect();
        measured.warnings = warnings.into_iter().collect();
        measured.response = Response {
            version: PROTOCOL_VERSION,
            results,
            cost_usd: self.purse.guess(),
            ..Response::default()
        };
        measured
    }

    /// A prompt before its first run.
    fn tally(&self, case: &'a ExpandedCase) -> Tally<'a> {
        let loads = |id: &&String| self.stage.adapter.prompt_loads(&case.prompt, id);
        match self.stage.installed.iter().find(loads) {
            None => Tally::new(case),
            Some(id) => Tally::refused(
                case,
                format!("the prompt itself loads `{id}`, so that the model chooses nothing"),
            ),
        }
    }

    /// The next runs: the first of every prompt before the second of any, so that a budget that runs
    /// out leaves no prompt without a run.
    fn plan(&self, tallies: &[Tally<'a>]) -> Vec<Planned<'a>> {
        let (skill, runs) = (self.contest.call.skill, self.contest.runs);
        let wanted: Vec<u64> = tallies.iter().map(|tally| tally.wanted(skill, runs)).collect();
        let rounds = 0..wanted.iter().copied().max().unwrap_or(0);
        let planned = rounds.flat_map(|round| {
            let indexed = tallies.iter().zip(&wanted).enumerate();
            indexed.filter(move |(_, (_, wanted))| round < **wanted).map(
                move |(index, (tally, _))| {
                    let run = tally.attempts() + round + 1;
                    Planned { index, case: tally.case, run: u32::try_from(run).unwrap_or(u32::MAX) }
                },
            )
        });
        planned.collect()
    }

    /// One run, if there is reason, time and money for it. `None` when it was ended from outside.
    fn once(&self, planned: &Planned<'_>, begin: &dyn Fn()) -> Option<Result<RunEnd, String>> {
        if let Some(why) = self.hopeless() {
            return Some(Err(why));
        }
        let left = match self.purse.left() {
            Ok(left) => left,
            Err(reason) => return Some(Err(reason)),
        };
        begin();
        let call = &self.contest.call;
        let model = planned.case.model.as_deref().or(call.model);
        let key = session_key(call, self.stage.adapter.id(), planned.case, ARM, planned.run);
        let mut keeping = Keeping::begin(call.machine.archive, &key, call.machine.redactor);
        match self.stage.run(&planned.case.prompt, model, &mut keeping) {
            Ok(end) => {
                self.pay(left, &end);
                keeping.finish(self.conclusion(planned, &end));
                Some(Ok(end))
            }
            Err(halt) => {
                if halt != Halt::Stopped(Stopped::Interrupted) {
                    self.pay(left, &RunEnd::unseen());
                    self.state().halt.get_or_insert(halt);
                    self.stage.stop.cancel();
                }
                None
            }
        }
    }

    fn conclusion(&self, planned: &Planned<'_>, end: &RunEnd) -> Conclusion {
        let outcome = end.outcome.clone();
        let graded = end.fired.as_ref().ok().map(|fired| {
            let skill = self.contest.call.skill;
            let mut check = trigger(planned.case.expect_trigger, fired.contains(skill));
            let names: Vec<&str> = fired.iter().map(String::as_str).collect();
            check.excerpt = (!names.is_empty()).then(|| names.join(", "));
            check
        });
        let status = graded.as_ref().map(|check| match check.status {
            GradedStatus::Passed => TrialStatus::Pass,
            _ => TrialStatus::Fail,
        });
        Conclusion {
            status,
            reason: end.fired.as_ref().err().cloned(),
            outcome,
            usage: end.usage,
            graded: graded.into_iter().collect(),
            warnings: end.warnings.iter().cloned().collect(),
        }
    }

    /// Why a run would be for nothing.
    fn hopeless(&self) -> Option<String> {
        if Instant::now() >= self.contest.call.deadline {
            return Some("not run: the time was up before; raise `--timeout`".to_owned());
        }
        let state = self.state();
        (state.failures >= FAILURES_IN_A_ROW).then(|| {
            format!(
                "not run: {} runs in a row failed, the last: {}",
                state.failures, state.last_failure
            )
        })
    }

    /// Counts what a run cost. One that does not say is taken for as dear as the dearest so far.
    fn pay(&self, left: Option<f64>, end: &RunEnd) {
        let mut state = self.state();
        match &end.fired {
            Ok(_) => state.failures = 0,
            Err(why) => {
                state.failures += 1;
                state.last_failure.clone_from(why);
            }
        }
        if let Some(usd) = end.usage.and_then(|usage| usage.cost_usd) {
            state.dearest = Some(state.dearest.map_or(usd, |dearest| dearest.max(usd)));
        }
        let assumed = left.map(|left| state.dearest.map_or(left, |dearest| dearest.min(left)));
        self.purse.pay(assumed, end.usage);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic elsewhere has left is whole: fields are only ever replaced.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn into_halt(self) -> Option<Halt> {
        if self.contest.call.machine.cancel.is_cancelled() {
            return Some(Halt::Stopped(Stopped::Interrupted));
        }
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).halt
    }
}
