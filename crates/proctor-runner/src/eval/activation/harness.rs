//! What a harness must know about itself to be measured, and one run of it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_harness::{Adapter, SessionEnd};
use proctor_model::run::PhaseName;
use proctor_model::{Event, Outcome, OutcomeClass, Usage};
use proctor_sandbox::{Cancel, Capture, Ending, Limits, Room, Spawn, SpawnError, Stream};

use super::skills::Installed;
use super::watch::Watch;
use crate::archive::Keeping;
use crate::eval::environment::scrubbed;
use crate::eval::flow::Stopped;
use crate::eval::install::InstallError;
use crate::eval::program::no_credentials;
use crate::eval::runner::Machine;
use crate::session::Recorder as _;

/// The longest that one run may take.
const RUN_TIME: Duration = Duration::from_mins(3);
/// How long a harness may be silent before its first output.
const FIRST_OUTPUT: Duration = Duration::from_mins(1);
/// The most that a run may print: 16 MiB.
pub(super) const MAX_OUTPUT_BYTES: usize = 16 << 20;

/// One agent program: how skills are installed for it, how it is started, how firing shows.
pub(super) trait Harness: Sync {
    /// The name of its activator.
    fn name(&self) -> &'static str;

    /// The id of the harness.
    fn harness(&self) -> &'static str;

    /// Runs side by side when nobody says how many.
    fn usual_jobs(&self) -> usize;

    /// Whether it says what its runs cost.
    fn reports_cost(&self) -> bool;

    /// Characters of a description that it shows the model at most.
    fn shown_description(&self) -> usize;

    /// Installs skills in a new room.
    fn install(&self, room: &Room, skills: &[Installed]) -> Result<(), InstallError>;

    /// Makes the environment of the user's that of the program. `Err` says why it cannot be measured.
    fn environment(
        &self,
        env: &mut BTreeMap<String, String>,
        room: &Room,
        installed: &BTreeSet<String>,
    ) -> Result<Vec<String>, String>;

    /// The arguments; the prompt comes from standard input.
    fn arguments(&self, room: &Room, model: Option<&str>, extra: &[String]) -> Vec<String>;

    /// Which of its own commands, if any, lists the skills that it offers, without a model.
    fn listing(&self) -> Option<Listing>;

    /// Looks at the next event.
    fn look(&self, event: &Event, watch: &mut Watch<'_>);

    /// Whether a run that ended so says which skills fire.
    fn counts(&self, watch: &Watch<'_>, class: OutcomeClass) -> bool;
}

/// A command of a harness that lists the skills that it offers.
pub(super) struct Listing {
    pub(super) args: &'static [&'static str],
    /// The skills that its output names; `None` when it is no list.
    pub(super) read: fn(&[u8]) -> Option<BTreeSet<String>>,
}

/// A room in which skills are installed, ready for runs.
pub(super) struct Stage<'a> {
    pub(super) harness: &'static dyn Harness,
    /// Reads its output.
    pub(super) adapter: &'static dyn Adapter,
    /// The program, as it is started.
    pub(super) program: String,
    pub(super) args: &'a [String],
    pub(super) machine: Machine<'a>,
    pub(super) room: Room,
    pub(super) env: BTreeMap<String, String>,
    /// The skills that can fire.
    pub(super) installed: BTreeSet<String>,
    /// Those of them without which nothing is measured.
    pub(super) required: BTreeSet<String>,
    /// Ends all runs.
    pub(super) stop: Cancel,
    /// When the time is up.
    pub(super) deadline: Instant,
}

/// What a run came to.
#[derive(Debug)]
pub(super) struct RunEnd {
    /// The skills that fired; `Err` says why the run counts for nothing.
    pub(super) fired: Result<BTreeSet<String>, String>,
    /// What it used; `None` when nobody says.
    pub(super) usage: Option<Usage>,
    /// What a reader should know.
    pub(super) warnings: BTreeSet<String>,
    /// How the session ended; `None` when nothing is known of it.
    pub(super) outcome: Option<Outcome>,
}

impl RunEnd {
    /// A run that was ended before it said anything.
    pub(super) fn unseen() -> Self {
        Self { fired: Err(String::new()), usage: None, warnings: BTreeSet::new(), outcome: None }
    }
}

/// Why no run would count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Halt {
    /// Nothing can be measured, whatever the skill.
    Stopped(Stopped),
    /// The harness does not offer these skills to the model, though they are installed.
    Withheld(Vec<String>),
}

impl Halt {
    fn cannot_run(why: String) -> Self {
        Self::Stopped(Stopped::CannotRun(why))
    }
}

impl Stage<'_> {
    fn spawn(&self, args: Vec<String>, cwd: &Utf8Path, stdin: Option<&str>) -> Spawn {
        Spawn {
            program: self.program.clone().into(),
            args: args.into_iter().map(Into::into).collect(),
            cwd: cwd.as_std_path().to_owned(),
            env: self.env.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            stdin: stdin.map(|text| text.as_bytes().to_vec()),
        }
    }

    /// Asks the harness which of the installed skills it withholds from the model, without asking the
    /// model. `None` when it cannot be asked that.
    pub(super) fn withheld(&self) -> Result<Option<Vec<String>>, Halt> {
        let Some(listing) = self.harness.listing() else { return Ok(None) };
        let args = listing.args.iter().map(ToString::to_string).collect();
        let mut spawn = self.spawn(args, self.room.workspace(), None);
        let home = self.room.root().join("listing");
        if fs_err::create_dir_all(&home).is_err() {
            return Ok(None);
        }
        // Neither settings nor credentials: it is only to look around.
        let own = scrubbed(&self.env, self.adapter.variables());
        spawn.env.retain(|(name, _)| !name.to_str().is_some_and(|name| own.contains_key(name)));
        if let Some(folder) = self.adapter.own_folder() {
            spawn.env.push((folder.variable.into(), home.as_str().into()));
        }
        let mut printed = Vec::new();
        let limits = Limits::until(self.deadline.min(Instant::now() + FIRST_OUTPUT));
        let enough = self.stop.linked().map_err(cannot_run)?;
        let ran = self.machine.launcher.run(&spawn, &limits, &enough, &mut |stream, bytes| {
            if stream == Stream::Out {
                if printed.len() + bytes.len() > MAX_OUTPUT_BYTES {
                    return enough.cancel();
                }
                printed.extend_from_slice(bytes);
            }
        });
        if self.stop.is_cancelled() {
            return Err(Halt::Stopped(Stopped::Interrupted));
        }
        let ended_well = ran.map_err(|error| self.no_program(error))?.ending == Ending::Exited(0);
        let offers = if ended_well { (listing.read)(&printed) } else { None };
        Ok(offers.map(|offers| self.required.difference(&offers).cloned().collect()))
    }

    /// Runs a prompt once.
    pub(super) fn run(
        &self,
        prompt: &str,
        model: Option<&str>,
        keeping: &mut Keeping<'_>,
    ) -> Result<RunEnd, Halt> {
        keeping.phase(PhaseName::Agent);
        let args = self.harness.arguments(&self.room, model, self.args);
        let spawn = self.spawn(args, self.room.workspace(), Some(prompt));
        let now = Instant::now();
        let limits = Limits {
            first_output: Some(FIRST_OUTPUT),
            ..Limits::until(self.deadline.min(now + RUN_TIME))
        };
        let enough = self.stop.linked().map_err(cannot_run)?;
        let mut parser = self.adapter.parser();
        let mut watch = Watch::new(&self.installed, &self.required);
        let (mut stderr, mut printed) = (Capture::new(), 0_usize);
        let mut sink = |stream, bytes: &[u8]| match stream {
            Stream::Err => {
                keeping.record(stream, bytes);
                stderr.push(bytes);
            }
            Stream::Out => {
                printed = printed.saturating_add(bytes.len());
                if printed <= MAX_OUTPUT_BYTES {
                    keeping.record(stream, bytes);
                    parser.push(bytes, &mut |event| {
                        keeping.observe(&event);
                        self.look(&event, &mut watch);
                    });
                }
                if watch.is_over || printed > MAX_OUTPUT_BYTES {
                    enough.cancel();
                }
            }
        };
        let finished = self.machine.launcher.run(&spawn, &limits, &enough, &mut sink);
        if self.stop.is_cancelled() {
            return Err(Halt::Stopped(Stopped::Interrupted));
        }
        let finished = finished.map_err(|error| self.no_program(error))?;
        let ended_by = match finished.ending {
            Ending::TimedOut => Some(OutcomeClass::Timeout),
            Ending::Stalled(_) => Some(OutcomeClass::Stalled),
            // We have seen enough: how it would have ended does not matter.
            Ending::Exited(_) | Ending::Signaled(_) | Ending::Cancelled => None,
        };
        let stderr = stderr.into_text();
        // The exit code says nothing that the stream does not: the turn limit is one, too.
        let end = SessionEnd { exit: None, stderr: &stderr, ended_by };
        let summary = parser.finish(&end, &mut |event| {
            keeping.observe(&event);
            self.look(&event, &mut watch);
        });
        if !watch.withheld.is_empty() {
            return Err(Halt::Withheld(watch.withheld));
        }
        let is_over = watch.is_over;
        let fired = if printed > MAX_OUTPUT_BYTES {
            Err(format!("it printed more than {} MiB", MAX_OUTPUT_BYTES >> 20))
        } else if self.harness.counts(&watch, summary.outcome.class) {
            Ok(watch.fired)
        } else {
            Err(self.failure(&summary.outcome)?)
        };
        let mut warnings = watch.warnings;
        warnings.extend(summary.warnings);
        let usage = summary.usage.filter(|_| self.harness.reports_cost());
        let outcome = match summary.outcome.class {
            OutcomeClass::Completed => summary.outcome,
            // How it would have ended does not matter.
            _ if is_over && fired.is_ok() => {
                Outcome::new(OutcomeClass::Completed, "ended when the choice of a skill was seen")
            }
            _ => summary.outcome,
        };
        Ok(RunEnd { fired, usage, warnings, outcome: Some(outcome) })
    }

    fn look(&self, event: &Event, watch: &mut Watch<'_>) {
        if !watch.is_over {
            self.harness.look(event, watch);
        }
    }

    /// Why a run counts for nothing; `Err` when no other would count either.
    fn failure(&self, outcome: &Outcome) -> Result<String, Halt> {
        let Outcome { class, message, .. } = outcome;
        let with = |words: String| match message.as_str() {
            "" => words,
            message => format!("{words}: {message}"),
        };
        let harness = self.adapter.id();
        match class {
            OutcomeClass::AuthFailed => {
                Err(Halt::cannot_run(with(no_credentials(harness, self.machine.env))))
            }
            OutcomeClass::Quota => {
                Err(Halt::cannot_run(with(format!("the account of {harness} has nothing left"))))
            }
            class => Ok(with(class.to_string())),
        }
    }

    fn no_program(&self, error: SpawnError) -> Halt {
        Halt::cannot_run(match error {
            SpawnError::NotFound { .. } => format!(
                "executable missing: `{}` was not found; install {}, or name it with `--{}-bin`",
                self.program,
                self.adapter.id(),
                self.adapter.id()
            ),
            other => format!("the harness could not be started: {other}"),
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn cannot_run(error: std::io::Error) -> Halt {
    Halt::cannot_run(error.to_string())
}
