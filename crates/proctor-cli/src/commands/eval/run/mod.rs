//! `proctor eval run`.

mod args;
mod choose;
mod keep;
mod plan;
mod print;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{EvalSettings, Project, Skill, inspect};
use proctor_grade::eval::{DEFAULT_MODEL, PRICES, Price, PriceOverrides, RunPlan};
use proctor_model::ExitCode;
use proctor_model::eval::report::REPORT_SCHEMA_VERSION;
use proctor_model::eval::{Estimate, EvalReport, SkillReport, SkillStatus};
use proctor_runner::eval::{self as runner, Job, Machine, Ran, Runner, Settings, Stopped};
use proctor_sandbox::{Launcher, Rooms};
use proctor_store::eval::{Key, PrivateKey, Results, changed_files, load, write_attestation};

pub(crate) use self::args::Args;
use self::args::Figure;
use self::keep::Keeper;
use self::plan::{Planned, Terms};
use super::{FAILED, common};
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::progress::EvalProgress;

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let prepared = Prepared::new(args, context)?;
    let plan = prepared.plan(args, context)?;
    let estimate = plan::estimate(&plan);
    if args.dry_run {
        let skills = plan.into_iter().map(|planned| planned.job.report).collect();
        let mut report = prepared.report(args, skills, estimate, 0.0);
        // A result that is stored and bad is no result of this run.
        report.failed = report.skills.iter().any(|s| s.status == SkillStatus::Invalid);
        print::report(&report, prepared.threshold, args, context)?;
        return Ok(exit_code(&report));
    }
    prepared.refuse_too_dear(args, &estimate)?;
    let keeper = Keeper::new(args, &prepared, &plan, context);
    keeper.replay(&plan)?;
    let (ran, keeper) = prepared.execute(args, plan, keeper, context)?;
    let skills = ran.skills.into_iter().map(|run| keeper.with_estimate(run)).collect();
    let report = prepared.report(args, skills, estimate, ran.cost_usd);
    print::report(&report, prepared.threshold, args, context)?;
    if let Some(failure) = keeper.failure() {
        return Err(CommandError::usage(failure)
            .hint("what was measured last stands in the report and nowhere else"));
    }
    if let Some(stopped) = ran.stopped {
        return Err(explain(stopped));
    }
    prepared.sign(context)?;
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
    project: Project,
    settings: EvalSettings,
    file: Utf8PathBuf,
    key: Option<Key>,
    results: Results,
    runner: Box<dyn Runner>,
    price: Price,
    threshold: f64,
    date: Option<String>,
    /// Signs the results file for others.
    signer: Option<PrivateKey>,
}

impl Prepared {
    /// Refuses everything that can be refused without spending anything.
    fn new(args: &Args, context: &Context) -> Result<Self, CommandError> {
        choose::refuse_what_is_missing(args)?;
        let date = args.date(context)?;
        let signer =
            args.sign_key.as_deref().map(|file| signer(file, args, context)).transpose()?;
        let runner = choose::runner(args)?;
        let project = args.place.project(context)?;
        for warning in &project.warnings.0 {
            context.printer.warning(&warning.to_string());
        }
        let settings = common::settings(&project, context)?;
        let overrides = PriceOverrides::given(args.price_in, args.price_out).or(PriceOverrides {
            input: settings.estimate.price_in_per_mtok,
            output: settings.estimate.price_out_per_mtok,
        });
        let price = PRICES.price(args.model(), overrides);
        let threshold = args.threshold.or(settings.min_pass_rate).unwrap_or(1.0);
        let file = args.place.results(&project, context);
        let key = if args.dry_run || args.no_write {
            common::load_key(context)
        } else {
            common::load_or_create_key(context)
        };
        let results = args.place.load(&project, key.as_ref(), context)?;
        Ok(Self { project, settings, file, key, results, runner, price, threshold, date, signer })
    }

    fn plan(&self, args: &Args, context: &Context) -> Result<Vec<Planned>, CommandError> {
        let chosen = common::choose(&self.project, &args.skills)?;
        let fingerprint =
            choose::fingerprint(self.runner.as_ref(), args, &self.project.root, context);
        let changed = self.changed(args, &chosen)?;
        let terms = Terms {
            results: &self.results,
            changed: changed.as_ref(),
            tags: &args.tags,
            force: args.force,
            dry_run: args.dry_run,
            threshold: self.threshold,
            runner: self.runner.name(),
            fingerprint: &fingerprint,
            harness: &args.harness,
            model: args.model(),
            date: self.date.as_deref().unwrap_or_default(),
            allow_exec: args.allow_exec,
            runs: self.runs(args),
            params: self.settings.estimate.params(),
            rates: self.price.rates,
        };
        let inspected = inspect(&self.project, &chosen);
        let plan: Vec<Planned> = inspected.iter().map(|skill| terms.plan(skill)).collect();
        let has_cases = |planned: &Planned| planned.job.report.status != SkillStatus::NoCases;
        if !args.tags.is_empty() && !plan.iter().any(has_cases) {
            let tags = args.tags.join("`, `");
            return Err(CommandError::usage(format!("no case has the tag `{tags}`"))
                .hint("`proctor eval list --format json` shows the tags"));
        }
        Ok(plan)
    }

    /// The skills that differ from the base; `None` when that does not matter.
    fn changed(
        &self,
        args: &Args,
        chosen: &[&Skill],
    ) -> Result<Option<BTreeSet<String>>, CommandError> {
        if !args.changed_only {
            return Ok(None);
        }
        let files = changed_files(&self.project.root, &args.base).map_err(CommandError::usage)?;
        let changed = chosen.iter().filter(|skill| files.touch(skill));
        Ok(Some(changed.map(|skill| skill.id.clone()).collect()))
    }

    fn runs(&self, args: &Args) -> RunPlan {
        RunPlan { runs: self.runner.runs_per_case(), ablation: args.ablation }
    }

    fn refuse_too_dear(&self, args: &Args, estimate: &Estimate) -> Result<(), CommandError> {
        if args.max_cost == 0.0 || estimate.agent_runs == 0 {
            return Ok(());
        }
        if !self.price.known {
            let message = format!("the price of model `{}` is not known", args.model());
            return Err(CommandError::usage(message).hint(
                "`--max-cost` needs one: give `--price-in` and `--price-out`, US dollars a million \
                 tokens",
            ));
        }
        let (figure, word) = match args.max_cost_mode {
            Figure::Expected => (estimate.cost_usd, "expected"),
            Figure::High => (estimate.cost_high_usd, "high"),
        };
        if figure <= args.max_cost {
            return Ok(());
        }
        let message = format!(
            "nothing was started: the estimate is ${figure:.4} ({word} figure), above the \
             `--max-cost` of ${}",
            args.max_cost
        );
        Err(CommandError::usage(message)
            .hint("`--dry-run` shows the estimate of each skill; name fewer, or raise the cap"))
    }

    /// Runs what is to be run.
    fn execute<'a>(
        &'a self,
        args: &'a Args,
        plan: Vec<Planned>,
        mut keeper: Keeper<'a>,
        context: &Context,
    ) -> Result<(Ran, Keeper<'a>), CommandError> {
        let base = context.temporary.join(format!("proctor-{}", nix::unistd::getuid()));
        let rooms = Rooms::open(&base).map_err(CommandError::usage)?;
        for failure in rooms.reap().map_err(CommandError::usage)?.failures {
            context.printer.warning(&format!("left over: {failure}"));
        }
        let cancel = interrupt::cancel_on_signal(context.printer)?;
        let settings = Settings {
            runner: self.runner.as_ref(),
            harness: &args.harness,
            model: args.model.as_deref().filter(|model| !model.is_empty()),
            ablation: args.ablation,
            threshold: self.threshold,
            timeout: args.timeout,
            allow_exec: args.allow_exec,
            max_cost_usd: args.max_cost,
            rates: self.price.rates,
            machine: Machine {
                launcher: &Launcher::new(context.proctor.as_std_path()),
                rooms: &rooms,
                env: &context.env,
                redactor: &context.redactor,
                cancel: &cancel,
                proctor: &context.proctor,
                project: &self.project.root,
            },
        };
        let jobs: Vec<Job> = plan.into_iter().map(|planned| planned.job).collect();
        let to_run = jobs.iter().filter(|job| job.task.is_some()).count();
        let progress = EvalProgress::new(to_run, context.printer);
        let ran = runner::run(&settings, jobs, &mut |event| progress.show(event), &mut |run| {
            progress.finished(run);
            keeper.keep(run)
        });
        progress.finish();
        Ok((ran, keeper))
    }

    /// Signs the results file as it now is, unless that would make others believe what is not
    /// believed here.
    fn sign(&self, context: &Context) -> Result<(), CommandError> {
        let Some(signer) = &self.signer else { return Ok(()) };
        let results = load(&self.file, self.key.as_ref()).map_err(CommandError::usage)?;
        let unbelieved: Vec<&str> = results
            .records()
            .filter(|stored| !stored.is_believed())
            .map(|stored| stored.record().id.as_str())
            .collect();
        if !unbelieved.is_empty() {
            let message = format!(
                "the results file is not signed: the records of {} are unverified",
                unbelieved.join(", ")
            );
            return Err(
                CommandError::usage(message).hint("run these skills too, or remove their records")
            );
        }
        let path = write_attestation(&self.file, signer, env!("CARGO_PKG_VERSION"))
            .map_err(CommandError::usage)?;
        context.printer.note(&format!("signed: {}", self.project.shown(&path)));
        Ok(())
    }

    fn report(
        &self,
        args: &Args,
        skills: Vec<SkillReport>,
        estimate: Estimate,
        cost_usd: f64,
    ) -> EvalReport {
        EvalReport {
            schema_version: REPORT_SCHEMA_VERSION,
            runner: self.runner.name().to_owned(),
            harness: args.harness.clone(),
            model: args.model().to_owned(),
            date: self.date.clone(),
            ablation: args.ablation,
            dry_run: args.dry_run,
            failed: skills.iter().any(SkillReport::failed),
            skills,
            estimate,
            cost_usd,
            grader: None,
            grader_cost_usd: 0.0,
            price_known: self.price.known,
            priced_as: self.price.priced_as.clone(),
        }
    }
}

impl Args {
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

/// The key that signs for others.
fn signer(file: &Utf8Path, args: &Args, context: &Context) -> Result<PrivateKey, CommandError> {
    if args.dry_run || args.no_write || !args.tags.is_empty() {
        return Err(CommandError::usage("there is nothing to sign: no result is kept")
            .hint("`--sign` does not go with `--dry-run`, `--no-write` and `--tag`"));
    }
    let text = fs_err::read_to_string(context.cwd.join(file).as_std_path())?;
    PrivateKey::from_pem(&text).map_err(|error| CommandError::usage(format!("{file}: {error}")))
}
