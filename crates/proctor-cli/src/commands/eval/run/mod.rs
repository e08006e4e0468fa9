//! `proctor eval run`.

mod activation;
mod args;
mod base;
mod choose;
mod keep;
mod plan;
mod print;
mod refuse;

use proctor_formats::eval::{Project, inspect};
use proctor_grade::eval::grader::grader_name;
use proctor_grade::eval::{DEFAULT_MODEL, RunPlan};
use proctor_llm::Client;
use proctor_model::ExitCode;
use proctor_model::eval::report::REPORT_SCHEMA_VERSION;
use proctor_model::eval::{Estimate, EvalReport, SkillReport, SkillStatus};
use proctor_model::run::RunKind;
use proctor_runner::eval::{self as runner, Job, Machine, Ran, Runner, Settings, Stopped};
use proctor_sandbox::Launcher;

pub(crate) use self::args::{Args, amount};
use self::args::{Figure, Grader, Mode};
use self::base::Base;
use self::keep::Keeper;
use self::plan::{Planned, Terms};
use super::{FAILED, common};
use crate::archive::RunArchive;
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::judge::Judge;
use crate::progress::EvalProgress;

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    refuse::unfit(args)?;
    if args.mode == Mode::Activation {
        return activation::run(args, context);
    }
    let prepared = Prepared::new(args, context)?;
    let plan = prepared.plan(args, context)?;
    let estimate = plan::estimate(&plan);
    if args.dry_run {
        let skills = plan.into_iter().map(|planned| planned.job.report).collect();
        let mut report = prepared.report(args, skills, estimate);
        // A result that is stored and bad is no result of this run.
        report.failed = report.skills.iter().any(|s| s.status == SkillStatus::Invalid);
        print::report(&report, prepared.threshold, args, context)?;
        return Ok(exit_code(&report));
    }
    prepared.base.refuse_too_dear(args, &estimate, Figure::Expected)?;
    let keeper = Keeper::new(args, &prepared, &plan, context);
    keeper.replay(&plan)?;
    let archive = RunArchive::new(&prepared.base.project.root, RunKind::SkillEval, "eval");
    let (ran, keeper) = prepared.execute(args, plan, (keeper, &archive), context)?;
    let skills = ran.skills.into_iter().map(|run| keeper.with_estimate(run)).collect();
    let mut report = prepared.report(args, skills, estimate);
    (report.cost_usd, report.grader_cost_usd) = (ran.cost_usd, ran.grader_cost_usd);
    archive.report(&proctor_report::eval::run_json(&report));
    archive.tell(context);
    print::report(&report, prepared.threshold, args, context)?;
    if let Some(failure) = keeper.failure() {
        return Err(CommandError::usage(failure)
            .hint("what was measured last stands in the report and nowhere else"));
    }
    if let Some(stopped) = ran.stopped {
        return Err(explain(stopped));
    }
    prepared.base.sign(context)?;
    Ok(exit_code(&report))
}

fn exit_code(report: &EvalReport) -> ExitCode {
    if report.failed { FAILED } else { ExitCode::SUCCESS }
}

fn explain(stopped: Stopped) -> CommandError {
    match stopped {
        Stopped::Interrupted => CommandError::usage("interrupted")
            .hint("skills that were finished are kept; the next run goes on with the others"),
        Stopped::CannotRun(why) => CommandError::usage(why),
        Stopped::Asked => CommandError::usage("the run was stopped"),
    }
}

/// What is known before anything is planned.
struct Prepared {
    base: Base,
    runner: Box<dyn Runner>,
    /// The built-in grader, when it grades; in a dry run nothing is connected.
    grader: Option<(Judge, Option<Client>)>,
    threshold: f64,
}

impl Prepared {
    /// Refuses everything that can be refused without spending anything.
    fn new(args: &Args, context: &Context) -> Result<Self, CommandError> {
        let runner = choose::runner(args)?;
        let base = Base::new(args, context)?;
        let grader = builtin(args, &base.project, context)?;
        let threshold = args.threshold.or(base.settings.min_pass_rate).unwrap_or(1.0);
        Ok(Self { base, runner, grader, threshold })
    }

    fn plan(&self, args: &Args, context: &Context) -> Result<Vec<Planned>, CommandError> {
        let chosen = common::choose(&self.base.project, &args.skills)?;
        let fingerprint =
            choose::fingerprint(self.runner.as_ref(), args, &self.base.project.root, context);
        let changed = self.base.changed(args, &chosen)?;
        let grader = self.grader.as_ref().map(|(judge, _)| grader_name(&judge.id));
        let terms = Terms {
            results: &self.base.results,
            changed: changed.as_ref(),
            tags: &args.tags,
            force: args.force,
            dry_run: args.dry_run,
            threshold: self.threshold,
            runner: self.runner.name(),
            fingerprint: &fingerprint,
            harness: &args.harness,
            model: args.model(),
            date: self.base.date.as_deref().unwrap_or_default(),
            allow_exec: args.allow_exec,
            grader: grader.as_deref(),
            runs: self.runs(args),
            params: self.base.settings.estimate.params(),
            rates: self.base.price.rates,
        };
        let inspected = inspect(&self.base.project, &chosen);
        let plan: Vec<Planned> = inspected.iter().map(|skill| terms.plan(skill)).collect();
        let has_cases = |planned: &Planned| planned.job.report.status != SkillStatus::NoCases;
        if !args.tags.is_empty() && !plan.iter().any(has_cases) {
            return Err(common::no_case_has(&args.tags));
        }
        Ok(plan)
    }

    fn grader(&self) -> Option<runner::Grader<'_>> {
        let (_, client) = self.grader.as_ref()?;
        Some(runner::Grader { model: client.as_ref()? })
    }

    fn runs(&self, args: &Args) -> RunPlan {
        RunPlan { runs: self.runner.runs_per_case(), ablation: args.ablation }
    }

    /// Runs what is to be run.
    fn execute<'a>(
        &'a self,
        args: &'a Args,
        plan: Vec<Planned>,
        (mut keeper, archive): (Keeper<'a>, &RunArchive),
        context: &Context,
    ) -> Result<(Ran, Keeper<'a>), CommandError> {
        let rooms = base::rooms(context)?;
        let cancel = interrupt::cancel_on_signal(context.printer)?;
        let settings = Settings {
            runner: self.runner.as_ref(),
            harness: &args.harness,
            model: args.model.as_deref().filter(|model| !model.is_empty()),
            ablation: args.ablation,
            threshold: self.threshold,
            timeout: args.timeout,
            allow_exec: args.allow_exec,
            grader: self.grader(),
            max_cost_usd: args.max_cost,
            rates: self.base.price.rates,
            machine: Machine {
                launcher: &Launcher::new(context.proctor.as_std_path()),
                rooms: &rooms,
                env: &context.env,
                redactor: &context.redactor,
                cancel: &cancel,
                proctor: &context.proctor,
                project: &self.base.project.root,
                archive: Some(archive),
            },
        };
        let jobs: Vec<Job> = plan.into_iter().map(|planned| planned.job).collect();
        let to_run = jobs.iter().filter(|job| job.task.is_some()).count();
        let progress = EvalProgress::new(to_run, context.printer);
        let ran = runner::run(&settings, jobs, &mut |event| progress.show(event), &mut |run| {
            let status = run.report.status;
            progress.finished(matches!(status, SkillStatus::Ran | SkillStatus::Error));
            keeper.keep(run)
        });
        progress.finish();
        Ok((ran, keeper))
    }

    fn report(&self, args: &Args, skills: Vec<SkillReport>, estimate: Estimate) -> EvalReport {
        EvalReport {
            schema_version: REPORT_SCHEMA_VERSION,
            runner: self.runner.name().to_owned(),
            harness: args.harness.clone(),
            model: args.model().to_owned(),
            date: self.base.date.clone(),
            ablation: args.ablation,
            dry_run: args.dry_run,
            failed: skills.iter().any(SkillReport::failed),
            skills,
            estimate,
            cost_usd: 0.0,
            grader: self.grader.as_ref().map(|(judge, _)| grader_name(&judge.id)),
            grader_cost_usd: 0.0,
            price_known: self.base.price.known,
            priced_as: self.base.price.priced_as.clone(),
        }
    }
}

impl Args {
    /// Whether results of the run are kept.
    fn keeps(&self) -> bool {
        let whole = self.tags.is_empty() && self.description_from.is_none();
        whole && !self.dry_run && !self.no_write
    }

    /// The model as it is recorded.
    fn model(&self) -> &str {
        self.model.as_deref().filter(|model| !model.is_empty()).unwrap_or(DEFAULT_MODEL)
    }

    /// The day of the run: `--date`, else `AI_RULEZ_EVAL_DATE`, never the clock.
    fn date(&self, context: &Context) -> Result<Option<String>, CommandError> {
        match (&self.date, context.var("AI_RULEZ_EVAL_DATE")) {
            (Some(day), _) => Ok(Some(day.clone())),
            (None, None) => Ok(None),
            (None, Some(text)) => args::day(text).map(Some).map_err(|error| {
                CommandError::usage(format!("AI_RULEZ_EVAL_DATE is `{text}`: {error}"))
            }),
        }
    }
}

/// The built-in grader, when it is asked for: everything that forbids it is found here, before any
/// case runs.
fn builtin(
    args: &Args,
    project: &Project,
    context: &Context,
) -> Result<Option<(Judge, Option<Client>)>, CommandError> {
    if args.grader == Grader::Runner {
        return Ok(None);
    }
    let judge = Judge::new(Some(project), &[args.grader_max_cost, args.max_cost], context)?;
    let client = if args.dry_run { None } else { Some(judge.connect(args.allow_llm, context)?) };
    Ok(Some((judge, client)))
}
