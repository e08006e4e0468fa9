//! The agent of a trial at work in its sandbox.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;
use proctor_model::experiment::{Dest, Skill};
use proctor_model::run::ExitReason;
use proctor_model::{Event, Outcome, Usage};
use proctor_sandbox::isolation::{Sandbox, User};
use proctor_sandbox::{Cancel, Finished, Limits, Spawn, SpawnError, Stream};

use super::agents::{Place, exit_reason, skills};
use super::evidence::Counter;
use super::room::script_environment;
use super::stage::copy;
use super::trial::{Stop, Trial};
use crate::session::{self, Evidence, Host, NoSession, Recorder, Surroundings};

/// How long an agent may take until it is ready for a prompt: it has two minutes for each step.
const PROBE_TIME: Duration = Duration::from_mins(10);

/// How its session ended.
pub(super) struct Ended {
    pub(super) exit_reason: ExitReason,
    pub(super) reason: Option<String>,
    pub(super) outcome: Option<Outcome>,
    pub(super) usage: Option<Usage>,
    pub(super) warnings: Vec<String>,
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn undelivered(why: impl ToString) -> Stop {
    Stop::End(ExitReason::StagingFailed, why.to_string())
}

impl Trial<'_> {
    /// Puts the skills of the variant where its agent looks for them, and the agent's files into
    /// its home.
    pub(super) fn furnish(&self, sandbox: &Sandbox<'_>) -> Result<(), Stop> {
        let skills = skills(self.variant).map_err(undelivered)?;
        if !skills.is_empty() {
            self.place_skills(sandbox, &skills)?;
        }
        self.agent.furnish(sandbox, self.settings.cancel).map_err(undelivered)
    }

    fn place_skills(&self, sandbox: &Sandbox<'_>, skills: &[(&Skill, Dest)]) -> Result<(), Stop> {
        let room = self.room("skills")?;
        for (skill, dest) in skills {
            let name = &skill.name;
            let source = self.settings.preflight.sources.0.get(&skill.source);
            let source =
                source.ok_or_else(|| undelivered(format!("skill `{name}` is not there")))?;
            let folder: Utf8PathBuf = room.root().join(name.as_str());
            copy(source, &folder)
                .map_err(|error| undelivered(format!("skill `{name}`: {error}")))?;
            sandbox
                .place(folder.as_std_path(), dest.as_path().as_std_path())
                .map_err(|error| undelivered(format!("skill `{name}`: {error}")))?;
        }
        Ok(())
    }

    /// Opens a session of an agent behind the Agent Client Protocol and ends it before the prompt: it
    /// says then whether it has the model, and nothing is spent. Nothing tells that of other agents.
    pub(super) fn probe(&self, sandbox: &Sandbox<'_>) -> Result<(), Stop> {
        if self.agent.adapter().id() != proctor_harness::acp().id() {
            return Ok(());
        }
        self.furnish(sandbox)?;
        sandbox.hand_over()?;
        let ran =
            self.converse(sandbox, "", Instant::now() + PROBE_TIME, &mut Deaf, &mut |_| {})?;
        match ran.exit_code {
            Some(0) => Ok(()),
            _ => Err(Stop::End(exit_reason(&ran.outcome), ran.outcome.message)),
        }
    }

    /// Lets the agent work until it is done or the time is up.
    pub(super) fn session(
        &self,
        sandbox: &Sandbox<'_>,
        deadline: Instant,
        counter: &mut Counter<'_>,
    ) -> Result<Ended, Stop> {
        // Streams and events go to one place, in turn.
        let counter = RefCell::new(counter);
        let prompt = &self.variant.prompt.text;
        let mut observe = |event| {
            self.log.observe(&event);
            counter.borrow_mut().observe(event);
        };
        let evidence =
            self.converse(sandbox, prompt, deadline, &mut Streams(&counter), &mut observe)?;
        let message = evidence.outcome.message.clone();
        Ok(Ended {
            exit_reason: exit_reason(&evidence.outcome),
            reason: Some(message).filter(|message| !message.is_empty()),
            outcome: Some(evidence.outcome),
            usage: evidence.usage,
            warnings: evidence.warnings,
        })
    }

    /// One session with the agent's program.
    fn converse(
        &self,
        sandbox: &Sandbox<'_>,
        prompt: &str,
        deadline: Instant,
        recorder: &mut dyn Recorder,
        observe: &mut dyn FnMut(Event),
    ) -> Result<Evidence, Stop> {
        let place = Place::in_sandbox(sandbox);
        let request = self.agent.request(&place, prompt);
        let mut env = script_environment(sandbox, self.values);
        env.insert("HOME".to_owned(), sandbox.home().to_string_lossy().into_owned());
        self.agent.complete(&mut env);
        let surroundings = Surroundings {
            launcher: &Inside { sandbox },
            env: &env,
            limits: Limits::until(deadline),
            cancel: self.settings.cancel,
        };
        let ran = session::run(self.agent.adapter(), &request, &surroundings, recorder, observe);
        let evidence =
            ran.map_err(|error: NoSession| Stop::End(ExitReason::DriverError, error.to_string()))?;
        if self.settings.cancel.is_cancelled() && sandbox.violation().is_none() {
            return Err(Stop::Cancelled);
        }
        Ok(evidence)
    }
}

/// Keeps nothing.
struct Deaf;

impl Recorder for Deaf {
    fn record(&mut self, _: Stream, _: &[u8]) {}
}

/// The streams of an agent, on their way to where its events go too.
struct Streams<'a, 'b, 'c>(&'a RefCell<&'b mut Counter<'c>>);

impl Recorder for Streams<'_, '_, '_> {
    fn record(&mut self, stream: Stream, bytes: &[u8]) {
        self.0.borrow_mut().record(stream, bytes);
    }
}

/// A sandbox, as the place where the agent's program runs.
struct Inside<'a> {
    sandbox: &'a Sandbox<'a>,
}

impl Host for Inside<'_> {
    fn run(
        &self,
        spawn: &Spawn,
        limits: &Limits,
        cancel: &Cancel,
        sink: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Finished, SpawnError> {
        self.sandbox.run(User::Agent, spawn, limits, cancel, sink)
    }
}
