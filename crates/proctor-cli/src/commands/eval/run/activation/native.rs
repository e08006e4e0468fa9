//! The surface `native`: what it will cost, what need not be repeated, and the run.

use std::num::NonZeroU32;
use std::ops::ControlFlow;

use proctor_grade::eval::activation::{record, replay};
use proctor_grade::eval::{count_tokens, estimate_activation, estimate_record, round4, total};
use proctor_model::eval::{
    ActivationRecord, ActivationStatus, Estimate, EstimateRecord, SkillActivation,
};
use proctor_runner::eval::Machine;
use proctor_runner::eval::activation::{
    self as runner, Activator, Job, Kept, Ran, Runs, Settings, SkillRun, Task, USUAL_RUNS,
};
use proctor_sandbox::Launcher;
use proctor_store::eval::{ActivationInputs, CacheInputs, Lookup, ResultsError, lookup_activation};

use super::super::args::{Figure, Repetitions};
use super::super::{base, choose};
use super::entrant::{Entrant, Ready};
use super::{HarnessRun, Outcome, Session, keep};
use crate::error::CommandError;
use crate::interrupt;
use crate::progress::EvalProgress;

/// How a harness is asked.
struct Native<'a> {
    session: &'a Session<'a>,
    activator: Box<dyn Activator>,
    runs: Runs,
    fingerprint: String,
}

/// A skill with what is planned for it.
struct Planned {
    job: Job,
    load: Option<Load>,
}

/// What a skill takes, and under which key its measurement is kept.
struct Load {
    /// Tokens of each prompt, in the order of the cases.
    prompts: Vec<u64>,
    /// Tokens of what the harness lists of all skills.
    listing: u64,
    cache_key: String,
}

/// Measures the skills, or says what that would take.
pub(super) fn measure(
    session: &Session<'_>,
    entrants: Vec<Entrant<'_>>,
) -> Result<Outcome, CommandError> {
    let (args, context) = (session.args, session.context);
    let activator = choose::activator(args)?;
    let runs = runs(args.runs);
    let fingerprint = choose::activation_fingerprint(
        activator.name(),
        args,
        u64::from(runs.ceiling()),
        &session.base.project.root,
        context,
    );
    let native = Native { session, activator, runs, fingerprint };
    let plan: Vec<Planned> = entrants.into_iter().map(|entrant| native.plan(entrant)).collect();
    let estimate = native.estimate(&plan);
    native.say_the_price(&estimate);
    if args.dry_run {
        let skills = plan.into_iter().map(|planned| planned.job.report).collect();
        let harness = Some(native.harness(estimate, 0.0, None));
        return Ok(Outcome { skills, harness, failure: None, stopped: None });
    }
    native.refuse_blind_budget(&estimate)?;
    session.base.refuse_too_dear(args, &estimate, Figure::High)?;
    native.run(plan, estimate)
}

/// How often each prompt is run.
fn runs(asked: Repetitions) -> Runs {
    let usual = NonZeroU32::new(USUAL_RUNS).unwrap_or(NonZeroU32::MIN);
    match asked {
        Repetitions::Usual => Runs::Fixed(usual),
        Repetitions::Times(runs) => Runs::Fixed(runs),
        Repetitions::Auto => Runs::Auto { ceiling: usual },
    }
}

impl Native<'_> {
    fn plan(&self, entrant: Entrant<'_>) -> Planned {
        let Entrant { mut report, ready } = entrant;
        let Some(ready) = ready else {
            return Planned { job: Job { report, task: None }, load: None };
        };
        let cache_key = self.inputs(&report, &ready).key();
        if self.replayed(&mut report, &ready) {
            return Planned { job: Job { report, task: None }, load: None };
        }
        let load = Load {
            prompts: ready.cases.iter().map(|case| count_tokens(&case.prompt)).collect(),
            listing: ready.competition.listing_tokens,
            cache_key,
        };
        let task = Task { cases: ready.cases, skills: ready.competition.skills.clone() };
        Planned { job: Job { report, task: Some(task) }, load: Some(load) }
    }

    fn inputs<'a>(
        &'a self,
        report: &'a SkillActivation,
        ready: &'a Ready<'_>,
    ) -> ActivationInputs<'a> {
        let args = self.session.args;
        ActivationInputs {
            run: CacheInputs {
                digest: report.digest.as_deref().unwrap_or_default(),
                cases_digest: &ready.cases_digest,
                runner: self.activator.name(),
                fingerprint: &self.fingerprint,
                harness: &args.harness,
                model: args.model(),
                ablation: false,
                allow_exec: false,
                version: env!("CARGO_PKG_VERSION"),
                grader: None,
            },
            set_digest: &ready.competition.set_digest,
            scope: self.session.scope.as_str(),
            runs: u64::from(self.runs.ceiling()),
        }
    }

    /// Puts the stored measurement into the report, if there is one that holds.
    fn replayed(&self, report: &mut SkillActivation, ready: &Ready<'_>) -> bool {
        let args = self.session.args;
        // A part of the prompts is another thing than all of them, and so is another description.
        if args.force || !args.tags.is_empty() || args.description_from.is_some() {
            return false;
        }
        let stored = self.session.base.results.get(&report.id);
        match lookup_activation(stored, &self.inputs(report, ready)) {
            Lookup::Hit(stored) => {
                let Some(activation) = &stored.record().activation else { return false };
                replay(activation, report);
                report.warnings.push(
                    "replayed: nothing that decides this measurement changed, and whether it passes \
                     is as it was measured; `--force` repeats it"
                        .to_owned(),
                );
                true
            }
            Lookup::Unverified => {
                report.warnings.push(
                    "the stored measurement is unverified, since your key did not sign it: \
                     measured again"
                        .to_owned(),
                );
                false
            }
            Lookup::Miss => false,
        }
    }

    /// What everything that is not replayed is expected to cost, the proof of the instrument included.
    fn estimate(&self, plan: &[Planned]) -> Estimate {
        let runs = u64::from(self.runs.ceiling());
        let loads = plan.iter().filter_map(|planned| planned.load.as_ref());
        let skills = loads.clone().map(|load| self.estimate_of(&load.prompts, load.listing, runs));
        let proof = loads.clone().next().map(|load| {
            let prompt = load.prompts.first().copied().unwrap_or_default();
            self.estimate_of(&[prompt], load.listing, self.activator.proof_runs())
        });
        total(skills.chain(proof))
    }

    fn estimate_of(&self, prompts: &[u64], listing: u64, runs: u64) -> Estimate {
        let params = self.session.base.settings.estimate.params();
        estimate_activation(prompts, listing, runs, &params, self.session.base.price.rates)
    }

    fn harness(&self, estimate: Estimate, cost_usd: f64, canary_usd: Option<f64>) -> HarnessRun {
        let (runner, runs) = (self.activator.name(), self.runs.ceiling());
        HarnessRun { runner, runs, estimate, cost_usd, canary_usd }
    }

    /// Says what the price rests on, when that is not the price of the model.
    fn say_the_price(&self, estimate: &Estimate) {
        let price = &self.session.base.price;
        if estimate.agent_runs == 0 || price.known {
            return;
        }
        self.session.context.printer.warning(&format!(
            "the price of model `{}` is not known: the estimate is priced as {}; `--price-in` and \
             `--price-out` name a price",
            self.session.args.model(),
            price.priced_as.as_deref().unwrap_or("sonnet")
        ));
    }

    /// Refuses a budget that nobody can keep.
    fn refuse_blind_budget(&self, estimate: &Estimate) -> Result<(), CommandError> {
        let limited = self.session.args.max_cost > 0.0 && estimate.agent_runs > 0;
        if !limited || self.activator.reports_cost() {
            return Ok(());
        }
        let message = format!(
            "runner `{}` reports no cost, so `--max-cost` cannot be kept",
            self.activator.name()
        );
        Err(CommandError::usage(message)
            .hint("look at the estimate of `--dry-run`, then run without `--max-cost`"))
    }

    fn run(&self, plan: Vec<Planned>, estimate: Estimate) -> Result<Outcome, CommandError> {
        let (loads, jobs): (Vec<Option<Load>>, Vec<Job>) =
            plan.into_iter().map(|planned| (planned.load, planned.job)).unzip();
        let mut failure = None;
        let mut next = loads.iter();
        let ran = self.run_jobs(jobs, &mut |run| {
            // Every job is told of, in order.
            let load = next.next().and_then(Option::as_ref);
            match load.map_or(Ok(()), |load| self.keep(run, load)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    // To go on would be to pay for results that get lost.
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        let spend = ran.proof.as_ref().map(|proof| proof.spend);
        let canary_usd = spend.filter(|spend| !spend.is_unknown()).map(|spend| spend.cost_usd);
        let skills = ran.skills.into_iter().zip(&loads).map(|(run, load)| {
            let spent = load.as_ref().and_then(|load| self.spent(&run, load));
            let mut report = run.report;
            report.cost_usd = report.cost_usd.map(round4);
            if report.status != ActivationStatus::Cached {
                report.estimate_vs_actual = spent;
            }
            report
        });
        Ok(Outcome {
            skills: skills.collect(),
            harness: Some(self.harness(estimate, ran.cost_usd, canary_usd)),
            failure,
            stopped: ran.stopped,
        })
    }

    fn run_jobs(
        &self,
        jobs: Vec<Job>,
        each: &mut dyn FnMut(&SkillRun) -> ControlFlow<()>,
    ) -> Result<Ran, CommandError> {
        let Session { args, context, base, threshold, .. } = self.session;
        let rooms = base::rooms(context)?;
        let cancel = interrupt::cancel_on_signal(context.printer)?;
        let settings = Settings {
            activator: self.activator.as_ref(),
            harness: &args.harness,
            model: args.model.as_deref().filter(|model| !model.is_empty()),
            runs: self.runs,
            threshold: *threshold,
            timeout: args.timeout,
            max_cost_usd: args.max_cost,
            rates: base.price.rates,
            machine: Machine {
                launcher: &Launcher::new(context.proctor.as_std_path()),
                rooms: &rooms,
                env: &context.env,
                redactor: &context.redactor,
                cancel: &cancel,
                proctor: &context.proctor,
                project: &base.project.root,
                archive: Some(&self.session.archive),
            },
        };
        let to_run = jobs.iter().filter(|job| job.task.is_some()).count();
        let progress = EvalProgress::new(to_run, context.printer);
        let ran = runner::run(&settings, jobs, &mut |event| progress.show(event), &mut |run| {
            let status = run.report.status;
            progress.finished(matches!(status, ActivationStatus::Ran | ActivationStatus::Error));
            each(run)
        });
        progress.finish();
        Ok(ran)
    }

    /// Writes the record of a skill as soon as it is measured.
    fn keep(&self, run: &SkillRun, load: &Load) -> Result<(), ResultsError> {
        if run.kept.is_none() {
            return Ok(());
        }
        let Session { args, base, surface, scope, .. } = self.session;
        let date = base.date.as_deref().unwrap_or_default();
        let record = ActivationRecord {
            runner: self.activator.name().to_owned(),
            harness: args.harness.clone(),
            model: args.model().to_owned(),
            runs: u64::from(self.runs.ceiling()),
            passing: run.report.passing,
            cache_key: load.cache_key.clone(),
            estimate: self.spent(run, load),
            ..record(&run.report, *surface, *scope, date)
        };
        keep::put(self.session, vec![(run.report.id.clone(), record)])
    }

    /// What the runs that were made were expected to cost, beside what they cost: runs that were not
    /// needed would make the estimate look wrong.
    fn spent(&self, run: &SkillRun, load: &Load) -> Option<EstimateRecord> {
        let Kept { spend, .. } = run.kept?;
        let made = run.report.prompts.iter().zip(&load.prompts).flat_map(|(prompt, tokens)| {
            let runs = usize::try_from(prompt.runs + prompt.errored_runs).unwrap_or(0);
            std::iter::repeat_n(*tokens, runs)
        });
        let made: Vec<u64> = made.collect();
        let estimate = self.estimate_of(&made, load.listing, 1);
        let params = self.session.base.settings.estimate.params();
        Some(estimate_record(&estimate, &params, &spend))
    }
}
