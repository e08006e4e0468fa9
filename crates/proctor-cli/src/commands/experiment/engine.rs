//! Trials of experiments, whichever command asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use clap::ValueEnum as _;
use proctor_clickhouse::server::Server;
use proctor_formats::experiment::{
    self as formats, Bindings, Places, Preflight, Purpose, Selection, Values, script_of, select,
    value_sources,
};
use proctor_model::experiment::{Experiment, SecretText, Variant};
use proctor_model::run::{PlannedTrial, RunOptions, RunPlan, RunReport};
use proctor_model::{Digest, ExitCode};
use proctor_redact::Redactor;
use proctor_runner::experiment::{
    self as runner, AgentError, Bound, Cap, Cell, Due, Event, Ground, Paid, Past, Payee, Play,
    Settings, Stopped,
};
use proctor_sandbox::isolation::{Engine, Network, RoomLimits, SandboxSpec, Sandboxes, Wanted};
use proctor_sandbox::{Cancel, Launcher, Rooms};
use proctor_store::runs::{RunWriter, Runs, StoredRun};

use super::common::{self, complain, has_errors};
use super::format::{Format, Shown};
use super::shelf::Kept;
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::progress::ExperimentProgress;
use crate::store::Pusher;

/// A test failed, or a trial has no result.
pub(crate) const FAILED: ExitCode = ExitCode(1);

/// What keeps a trial apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// Namespaces by bubblewrap, Landlock inside where the kernel has it.
    Bubblewrap,
    /// A container of podman or docker, of the image that `--image` names.
    Container,
    /// Landlock alone; there is no /workspace.
    Landlock,
    /// Nothing.
    None,
}

impl Kind {
    /// The word in records.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Bubblewrap => "bubblewrap",
            Self::Container => "container",
            Self::Landlock => "landlock",
            Self::None => "none",
        }
    }

    fn wanted(options: &RunOptions) -> Result<Wanted, CommandError> {
        Ok(match (Self::of(options)?, &options.image) {
            (Self::Bubblewrap, _) => Wanted::Bubblewrap,
            (Self::Landlock, _) => Wanted::Landlock,
            (Self::None, _) => Wanted::None,
            (Self::Container, Some(image)) => Wanted::Container {
                // Where none is installed, that is what is said.
                engine: Engine::installed().unwrap_or(Engine::Podman),
                image: image.clone(),
            },
            (Self::Container, None) => {
                return Err(CommandError::usage("`--sandbox container` needs `--image IMAGE`"));
            }
        })
    }

    fn of(options: &RunOptions) -> Result<Self, CommandError> {
        Self::from_str(&options.sandbox, false).map_err(|_| {
            let message = format!("there is no sandbox `{}` here", options.sandbox);
            CommandError::usage(message).hint("the run was made by another version of Proctor")
        })
    }
}

/// Which network there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum NetworkName {
    /// That of this machine.
    Host,
    /// None.
    None,
}

impl NetworkName {
    /// The word in records.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::None => "none",
        }
    }

    fn of(options: &RunOptions) -> Result<Network, CommandError> {
        match Self::from_str(&options.network, false) {
            Ok(Self::Host) => Ok(Network::Host),
            Ok(Self::None) => Ok(Network::None),
            Err(_) => {
                let message = format!("there is no network `{}` here", options.network);
                Err(CommandError::usage(message)
                    .hint("the run was made by another version of Proctor"))
            }
        }
    }
}

/// An experiment whose file, sources and variants are as they must be.
pub(crate) struct Ready {
    pub(crate) experiment: Experiment,
    /// The file, absolute.
    pub(crate) file: Utf8PathBuf,
    /// What stands in it.
    pub(crate) bytes: Vec<u8>,
    folder: Utf8PathBuf,
    preflight: Preflight,
    /// Those that are wanted.
    pub(crate) variants: Vec<Variant>,
}

impl Ready {
    /// Reads an experiment and looks at its sources; `None` when its errors were told.
    pub(crate) fn read(
        file: &Utf8Path,
        options: &RunOptions,
        selection: &Selection,
        context: &Context,
    ) -> Result<Option<Self>, CommandError> {
        let Ok(loaded) = common::load(file, context) else { return Ok(None) };
        let mut bindings = bindings(&options.files, context)?;
        bindings.selection = selection.clone();
        let purpose = Purpose::Run { bindings: &bindings };
        let mut preflight = formats::preflight(&loaded.experiment, file, &loaded.folder, purpose);
        complain(&preflight.findings, context);
        if has_errors(&preflight.findings) {
            return Ok(None);
        }
        let variants = std::mem::take(&mut preflight.variants);
        let variants = select(variants, selection).map_err(CommandError::usage)?;
        let file = context.cwd.join(file);
        Ok(Some(Self {
            bytes: fs_err::read(&file)?,
            experiment: loaded.experiment,
            file,
            folder: loaded.folder,
            preflight,
            variants,
        }))
    }

    /// `sha256:` and the digest of the file.
    pub(crate) fn digest(&self) -> String {
        format!("sha256:{}", Digest::of(&self.bytes))
    }

    /// The digests of what is bound by flags, which no fingerprint has.
    pub(crate) fn bound(&self) -> BTreeMap<String, String> {
        let slots = self.preflight.slots.iter().map(|((variant, name), source)| {
            let variant = variant.as_ref().map(|id| format!("{id}:")).unwrap_or_default();
            (format!("{variant}{name}"), source)
        });
        let extra = self.preflight.extra.iter();
        let extra = extra.map(|(dest, source)| (format!("::{}", dest.as_str()), source));
        slots.chain(extra).map(|(name, source)| (name, source.digest.to_string())).collect()
    }

    /// Scripts that name `/workspace` would read and write that folder of this machine.
    pub(crate) fn refuse_unsandboxed(&self, options: &RunOptions) -> Result<(), CommandError> {
        if matches!(Kind::of(options)?, Kind::Bubblewrap | Kind::Container) {
            return Ok(());
        }
        let names = |script: &str| script.contains("/workspace");
        let is_named = self.variants.iter().any(|variant| {
            variant.setups().any(|setup| names(&setup.script))
                || variant.checks().any(|check| names(&check.script))
                || variant
                    .tests
                    .iter()
                    .filter_map(|test| script_of(test, &self.preflight))
                    .any(names)
        });
        if !is_named {
            return Ok(());
        }
        let message =
            format!("scripts name /workspace, and `--sandbox {}` has none", options.sandbox);
        Err(CommandError::usage(message).hint(
            "use bubblewrap or a container; `--allow-unsandboxed` lets them use that folder of this machine",
        ))
    }

    /// The variants with the values of their variables and their agents. Everything that is missing
    /// is told at once.
    pub(crate) fn cells(
        &self,
        options: &RunOptions,
        env: &[String],
        play: Play,
        context: &Context,
    ) -> Result<Vec<Cell<'_>>, CommandError> {
        let env_files = options.env_files.iter().map(Utf8PathBuf::from);
        let env_files: Vec<_> =
            env_files.map(|file| (file.clone(), context.cwd.join(file))).collect();
        let secrets = secrets_file(context);
        let sources = value_sources(Places {
            flags: env,
            env_files: &env_files,
            environment: &context.env,
            secrets_file: secrets.as_deref(),
        })
        .map_err(CommandError::usage)?;
        let wanted = Kind::wanted(options)?;
        let ground = Ground {
            env: &context.env,
            proctor: &context.proctor,
            folder: &self.folder,
            wanted: &wanted,
            play,
        };
        let no_sandbox = check_sandbox(&wanted, context)?;
        let mut problems: Vec<String> = no_sandbox.clone().into_iter().collect();
        let mut cells = Vec::new();
        for variant in &self.variants {
            match formats::values(variant, &sources) {
                Err(missing) => {
                    problems.extend(missing.iter().map(ToString::to_string));
                    let errors = runner::prepare(variant, &Values::default(), &ground).err();
                    let errors = errors.into_iter().flat_map(|errors| errors.0);
                    let certain = errors.filter(AgentError::is_certain);
                    problems.extend(certain.map(|error| error.to_string()));
                }
                Ok(values) => match runner::prepare(variant, &values, &ground) {
                    Err(errors) => problems.extend(errors.0.iter().map(ToString::to_string)),
                    Ok(agent) => cells.push(Cell { variant, values, agent }),
                },
            }
        }
        problems.sort();
        problems.dedup();
        if problems.is_empty() {
            return Ok(cells);
        }
        let message = format!("nothing was run\n  {}", problems.join("\n  "));
        let error = CommandError::usage(message);
        Err(match (no_sandbox, &wanted, play) {
            (Some(_), Wanted::Bubblewrap, _) => error.hint(
                "Debian has it as the package `bubblewrap`; `--sandbox container --image IMAGE` needs \
                 podman or docker instead",
            ),
            (None, _, Play::Real) => error.hint("`--mock` plays every agent and needs none of them"),
            _ => error,
        })
    }
}

/// Why no sandbox of a kind can be had here.
fn check_sandbox(wanted: &Wanted, context: &Context) -> Result<Option<String>, CommandError> {
    let rooms = rooms(context)?;
    let launcher = Launcher::new(context.proctor.as_std_path());
    let sandboxes = Sandboxes::new(launcher, &rooms).map_err(CommandError::usage)?;
    Ok(sandboxes.check(wanted).err().map(|error| error.to_string()))
}

fn rooms(context: &Context) -> Result<Rooms, CommandError> {
    let folder = context.temporary.join(format!("proctor-{}", nix::unistd::getuid()));
    Rooms::open(&folder).map_err(CommandError::usage)
}

/// How the agents of a run are played.
pub(crate) fn play(options: &RunOptions) -> Play {
    if options.mock { Play::Mock } else { Play::Real }
}

fn bindings(flags: &[String], context: &Context) -> Result<Bindings, CommandError> {
    let mut bindings = Bindings::default();
    for flag in flags {
        bindings
            .add(flag, &context.cwd)
            .map_err(|error| CommandError::usage(format!("--file {flag}: {error}")))?;
    }
    Ok(bindings)
}

/// Where the user keeps secrets.
pub(crate) fn secrets_file(context: &Context) -> Option<Utf8PathBuf> {
    let folder = context.var("XDG_CONFIG_HOME").map(Utf8PathBuf::from);
    let folder = folder.or_else(|| Some(Utf8PathBuf::from(context.var("HOME")?).join(".config")));
    folder.map(|folder| folder.join("proctor/secrets.toml"))
}

/// What trials of one invocation have in common: where they happen, and what ends them early.
pub(crate) struct Hall {
    pub(crate) rooms: Rooms,
    pub(crate) sandboxes: Sandboxes,
    pub(crate) cancel: Cancel,
}

impl Hall {
    /// Clears away what killed runs have left, and listens to interrupts.
    pub(crate) fn open(context: &Context) -> Result<Self, CommandError> {
        let rooms = rooms(context)?;
        for failure in rooms.reap().map_err(CommandError::usage)?.failures {
            context.printer.warning(&format!("left over: {failure}"));
        }
        let launcher = Launcher::new(context.proctor.as_std_path());
        let sandboxes = Sandboxes::new(launcher, &rooms).map_err(CommandError::usage)?;
        let cancel = interrupt::cancel_on_signal(context.printer)?;
        Ok(Self { rooms, sandboxes, cancel })
    }
}

/// Trials that are to be run, and where they are kept.
pub(crate) struct Work<'a> {
    pub(crate) ready: &'a Ready,
    pub(crate) cells: &'a [Cell<'a>],
    pub(crate) plan: &'a RunPlan,
    pub(crate) trials: Vec<&'a PlannedTrial>,
    /// For each of them the trial of which only the tests run again; empty when agents work.
    pub(crate) past: &'a [Past],
    pub(crate) writer: &'a RunWriter,
    pub(crate) jobs: NonZeroUsize,
    /// The most that the run may cost.
    pub(crate) cap: Option<Cap>,
    /// The server that gets each trial when it is finished.
    pub(crate) store: Option<&'a Server>,
}

impl Work<'_> {
    /// Runs the trials, and reports everything that the run holds then, whatever stopped it.
    pub(crate) fn execute(
        &self,
        format: Format,
        context: &Context,
    ) -> Result<ExitCode, CommandError> {
        let stopped = self.run(context)?;
        let mut run = StoredRun::open(self.writer.folder()).map_err(CommandError::usage)?;
        if let Some(Stopped::Capped(reason)) = &stopped {
            self.writer.capped(reason).map_err(CommandError::usage)?;
            run = StoredRun::open(self.writer.folder()).map_err(CommandError::usage)?;
        }
        let summary = summary(&run)?;
        context.printer.data(&format.render(&summary, Shown::Problems, context))?;
        match stopped {
            Some(Stopped::Interrupted) => {
                context.printer.note(&format!(
                    "interrupted: what was finished is kept; `proctor run resume {}` goes on",
                    run.plan.run_id
                ));
                Ok(ExitCode::INTERRUPTED)
            }
            Some(Stopped::Capped(_)) => {
                context.printer.note(&format!(
                    "`proctor run resume {} --max-cost USD` goes on with a higher cap",
                    run.plan.run_id
                ));
                Ok(FAILED)
            }
            Some(Stopped::NotKept(why)) => Err(CommandError::usage(why).with_code(FAILED)),
            None => Ok(verdict(&run.plan, &summary)),
        }
    }

    fn run(&self, context: &Context) -> Result<Option<Stopped>, CommandError> {
        let hall = Hall::open(context)?;
        let names = self.trials.iter().map(|trial| trial.id.as_str()).collect();
        let mut progress = ExperimentProgress::new(names, context.printer);
        let limits = RoomLimits::usual();
        let is_cancelled = || hall.cancel.is_cancelled();
        let (stopped, sent) = thread::scope(|scope| {
            let pusher =
                self.store.map(|server| Pusher::start(scope, server, &context.cwd, &is_cancelled));
            let stopped = self.run_in(&hall, limits, context, &mut |event| match event {
                Event::Phase { index, phase } => progress.phase(index, phase),
                Event::Again { index, reason } => progress.again(index, reason),
                Event::Finished { index, record } => {
                    progress.finished(index, record);
                    if let Some(pusher) = &pusher {
                        pusher.add(&record.run_id);
                    }
                }
            });
            progress.finish();
            (stopped, pusher.map(Pusher::finish))
        });
        if let (Some(sent), Some(server)) = (sent, self.store) {
            sent.tell(server, &self.plan.run_id, context);
        }
        stopped
    }

    /// Runs the trials, and tells what happens.
    pub(crate) fn run_in(
        &self,
        hall: &Hall,
        limits: RoomLimits,
        context: &Context,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Option<Stopped>, CommandError> {
        let redactor = redactor(self.cells, context);
        let options = &self.plan.options;
        let settings = Settings {
            run_id: &self.plan.run_id,
            experiment_id: &self.plan.experiment_id,
            preflight: &self.ready.preflight,
            sandboxes: &hall.sandboxes,
            spec: SandboxSpec {
                wanted: Kind::wanted(options)?,
                network: NetworkName::of(options)?,
                limits,
                ..SandboxSpec::bubblewrap()
            },
            rooms: &hall.rooms,
            redactor: &redactor,
            cancel: &hall.cancel,
            proctor: &context.proctor,
            test_timeout: Duration::from_secs(options.test_timeout_seconds),
            check_only: options.check_only,
            jobs: self.jobs,
            cap: self.cap.as_ref(),
        };
        let due: Vec<Due<'_>> = self.due();
        let variants = self.ready.variants.iter();
        let kept = Kept {
            writer: self.writer,
            experiment: &self.ready.experiment,
            preflight: &self.ready.preflight,
            contents: self.ready.preflight.contents(),
            variants: variants.map(|variant| (variant.id.as_str(), variant)).collect(),
        };
        Ok(runner::run(&settings, self.cells, &due, &kept, observe))
    }

    fn due(&self) -> Vec<Due<'_>> {
        let cell_of = |trial: &PlannedTrial| {
            self.cells.iter().position(|cell| cell.variant.id.as_str() == trial.variant_id)
        };
        let trials = self.trials.iter().enumerate();
        trials
            .filter_map(|(index, trial)| {
                Some(Due { trial, cell: cell_of(trial)?, past: self.past.get(index) })
            })
            .collect()
    }
}

/// What a run came to, made of what is kept of it.
pub(crate) fn summary(run: &StoredRun) -> Result<RunReport, CommandError> {
    let records = run.records().map_err(CommandError::usage)?;
    Ok(proctor_grade::experiment::report(&run.plan, records, run.unfinished_trials()))
}

/// US dollars of an option.
pub(crate) fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(usd),
        _ => Err("an amount of US dollars above 0, such as 2.50".to_owned()),
    }
}

/// The most that a run may cost, less what it has cost already; warns of agents that keep no limit
/// of their own.
pub(crate) fn cap(
    options: &RunOptions,
    run: Option<&StoredRun>,
    cells: &[Cell<'_>],
    context: &Context,
) -> Result<Option<Cap>, CommandError> {
    let Some(limit) = options.max_cost_usd else { return Ok(None) };
    let mut told = BTreeSet::new();
    for cell in cells {
        let agent = &cell.variant.agent.name;
        let warning = match cell.agent.bound() {
            Bound::Nothing | Bound::Kept(_) => continue,
            Bound::Hoped(Some(usd)) => format!(
                "`{agent}` does not keep `max_cost_usd` itself: a trial may cost more than the ${usd} \
                 that are set aside for it, and so pass the cap"
            ),
            Bound::Hoped(None) => format!(
                "nothing says what a trial of `{agent}` may cost: its first one runs alone, and may \
                 pass the cap; `max_cost_usd` under `limits` says it"
            ),
        };
        if told.insert(warning.clone()) {
            context.printer.warning(&warning);
        }
    }
    let paid = run.map(paid).transpose()?.unwrap_or_default();
    let bounds = cells.iter().map(|cell| cell.agent.bound());
    Cap::after(limit, &paid, bounds).map(Some).map_err(CommandError::usage)
}

/// What is known of the money of the trials of a run.
fn paid(run: &StoredRun) -> Result<Vec<Paid>, CommandError> {
    let mut paid = Vec::new();
    for trial in run.plan.trials.iter().filter(|trial| run.was_started(trial)) {
        let set_aside = run.set_aside(trial);
        let record = run.record(trial).map_err(CommandError::usage)?;
        // Where no money was set aside nobody knows whether an agent had begun that did not end.
        let began = set_aside.last.is_some()
            || record.as_ref().is_none_or(|record| record.outcome.is_some());
        if began || set_aside.lost > 0.0 {
            let payee = record.as_ref().map(|record| Payee::of(&record.coordinates));
            let cost = record.as_ref().and_then(runner::cost);
            paid.push(Paid {
                payee: payee.unwrap_or_default(),
                cost_usd: cost.filter(|_| began),
                set_aside_usd: if began { set_aside.last } else { Some(0.0) },
                lost_usd: set_aside.lost,
            });
        }
    }
    Ok(paid)
}

/// What a run that ran to its end came to.
pub(crate) fn verdict(plan: &RunPlan, summary: &RunReport) -> ExitCode {
    let is_good = if plan.options.check_only {
        summary.finished == summary.planned
            && summary.trials.iter().all(|trial| trial.reason.is_none())
    } else {
        summary.total.passed == summary.planned
    };
    if is_good { ExitCode::SUCCESS } else { FAILED }
}

/// Makes the run on disk, and tells of it.
pub(crate) fn create(
    plan: &RunPlan,
    ready: &Ready,
    context: &Context,
) -> Result<RunWriter, CommandError> {
    let runs = Runs::of(&context.cwd);
    let writer = runs.create(plan, &ready.bytes).map_err(CommandError::usage)?;
    context.printer.note(&format!("run {}: {} trials", plan.run_id, plan.trials.len()));
    Ok(writer)
}

/// Knows the secrets of the environment, of variables and of agents.
fn redactor(cells: &[Cell<'_>], context: &Context) -> Redactor {
    let secrets = cells.iter().flat_map(|cell| {
        let values: &[SecretText] = &cell.values.secrets;
        values.iter().chain(cell.agent.secrets())
    });
    // Under a name that says what they are.
    let secrets = secrets.map(|secret| ("SECRET".to_owned(), secret.expose().to_owned()));
    Redactor::from_environment(context.env.clone().into_iter().chain(secrets))
}
