//! `command`: a shell command that speaks the protocol.

use std::ffi::OsString;
use std::mem;
use std::time::{Duration, Instant};

use proctor_model::eval::protocol::{PROTOCOL_VERSION, Request, Response};
use proctor_model::json::go;
use proctor_sandbox::{Ending, Finished, Limits, Spawn, Stream};

use super::answer::{self, AnswerError, MAX_ANSWER_BYTES};
use super::registry::Options;
use super::relay::Relay;
use super::runner::{Answer, Call, CallError, Machine, Runner, Told};

/// The name of this runner.
pub(super) const NAME: &str = "command";

/// The version of the protocol, for the command.
const PROTOCOL_VARIABLE: &str = "AI_RULEZ_EVAL_PROTOCOL";
/// The id of the skill, for the command.
const SKILL_VARIABLE: &str = "AI_RULEZ_EVAL_SKILL";
/// What is asked for, for the command; empty when cases are to be run.
const MODE_VARIABLE: &str = "AI_RULEZ_EVAL_MODE";

/// The runner.
struct Command {
    shell: Shell,
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Runner>, String> {
    Shell::new(options).map(|shell| Box::new(Command { shell }) as Box<dyn Runner>)
}

impl Runner for Command {
    fn name(&self) -> &'static str {
        NAME
    }

    fn runs_per_case(&self) -> u64 {
        1
    }

    fn run(&self, call: &Call<'_>, tell: &mut dyn FnMut(Told)) -> Result<Answer, CallError> {
        let time = Time { deadline: call.deadline, timeout: call.timeout };
        let mut answered = self.shell.ask(call.machine, &call.request(), time, tell)?;
        if let Err(error) = answer::check(&answered.response, call) {
            return Err(answered.refused(error));
        }
        Ok(Answer { response: answered.response, warnings: answered.warnings, ..Answer::default() })
    }
}

/// A shell command that speaks the protocol.
pub(super) struct Shell {
    command: String,
}

/// How long an answer may take.
#[derive(Clone, Copy)]
pub(super) struct Time {
    /// When the time is up.
    pub(super) deadline: Instant,
    /// How long that was.
    pub(super) timeout: Duration,
}

/// A whole answer, of which nothing has been checked.
#[derive(Debug)]
pub(super) struct Answered {
    /// The answer.
    pub(super) response: Response,
    /// What a reader should know beside it.
    pub(super) warnings: Vec<String>,
    /// Its last words on standard error.
    said: String,
}

impl Answered {
    /// The error of an answer that does not hold what is asked of it.
    pub(super) fn refused(&mut self, error: AnswerError) -> CallError {
        CallError::Answer { error, said: mem::take(&mut self.said) }
    }
}

impl Shell {
    pub(super) fn new(options: &Options) -> Result<Self, String> {
        match &options.command {
            Some(command) if !command.trim().is_empty() => Ok(Self { command: command.clone() }),
            _ => Err(format!("runner `{NAME}` needs a command; name it with `--runner-command`")),
        }
    }

    /// Starts the command, hands it `request`, and reads its answer.
    pub(super) fn ask(
        &self,
        machine: Machine<'_>,
        request: &Request,
        time: Time,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Answered, CallError> {
        let input = go::compact(request).map_err(|e| CallError::Machine(e.to_string()))?;
        let spawn = Spawn {
            program: "sh".into(),
            args: vec!["-c".into(), self.command.clone().into()],
            cwd: machine.project.as_std_path().to_owned(),
            env: environment(machine, request),
            stdin: Some(input.into_bytes()),
        };
        // A command that never stops printing is stopped when it has printed too much.
        let enough = machine.cancel.linked().map_err(|e| CallError::Machine(e.to_string()))?;
        let mut printed = Printed::default();
        let mut relay = Relay::new(machine.redactor);
        let limits = Limits::until(time.deadline);
        let finished =
            machine.launcher.run(&spawn, &limits, &enough, &mut |stream, bytes| match stream {
                Stream::Out if printed.take(bytes) => {}
                Stream::Out => enough.cancel(),
                Stream::Err => relay.push(bytes, &mut |line| tell(Told::Stderr(line))),
            });
        let said = relay.finish(&mut |line| tell(Told::Stderr(line)));
        let finished = finished.map_err(|error| CallError::NotStarted(error.to_string()))?;
        if machine.cancel.is_cancelled() {
            return Err(CallError::Interrupted);
        }
        conclude(time.timeout, &finished, &printed, said)
    }
}

/// The environment of the command: the machine's, and what the protocol adds.
fn environment(machine: Machine<'_>, request: &Request) -> Vec<(OsString, OsString)> {
    let version = PROTOCOL_VERSION.to_string();
    let added = [
        (PROTOCOL_VARIABLE, version.as_str()),
        (SKILL_VARIABLE, request.skill.id.as_str()),
        (MODE_VARIABLE, request.mode.as_str()),
    ];
    let own = machine.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    own.chain(added).map(|(name, value)| (name.into(), value.into())).collect()
}

/// What a command printed to standard output.
#[derive(Default)]
struct Printed {
    bytes: Vec<u8>,
    too_much: bool,
}

impl Printed {
    /// Takes the next bytes; false when there are more than an answer may have.
    fn take(&mut self, bytes: &[u8]) -> bool {
        if self.too_much || self.bytes.len() + bytes.len() > MAX_ANSWER_BYTES {
            self.too_much = true;
            self.bytes = Vec::new();
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    fn answer(&self) -> Result<Response, AnswerError> {
        if self.too_much { Err(AnswerError::TooLong) } else { answer::read(&self.bytes) }
    }
}

/// An answer counts when the command ended by itself, with code 0, after all of it.
fn conclude(
    timeout: Duration,
    finished: &Finished,
    printed: &Printed,
    said: String,
) -> Result<Answered, CallError> {
    if printed.too_much {
        return Err(CallError::Answer { error: AnswerError::TooLong, said });
    }
    match finished.ending {
        Ending::Exited(0) => {}
        Ending::Exited(code) => {
            return Err(CallError::Exited { code, answered: printed.answer().is_ok(), said });
        }
        Ending::Signaled(signal) => return Err(CallError::Signaled { signal, said }),
        Ending::TimedOut | Ending::Stalled(_) => {
            return Err(CallError::TimedOut { timeout, said });
        }
        Ending::Cancelled => return Err(CallError::Interrupted),
    }
    let left: Vec<String> = finished.survivors.iter().map(|left| left.name.clone()).collect();
    let response = match printed.answer() {
        Ok(response) => response,
        Err(AnswerError::Nothing | AnswerError::Half { .. }) if !left.is_empty() => {
            return Err(CallError::ForkedAway { left });
        }
        Err(error) => return Err(CallError::Answer { error, said }),
    };
    let warnings = match left.as_slice() {
        [] => Vec::new(),
        left => vec![format!(
            "the runner left processes behind, which were killed ({})",
            left.join(", ")
        )],
    };
    Ok(Answered { response, warnings, said })
}
