//! One session of one case in one arm: room, skill, agent, judgement.

use std::collections::BTreeMap;
use std::time::Duration;

use camino::Utf8Path;
use fs_err as fs;
use proctor_grade::eval::ArmResult;
use proctor_harness::{Adapter, SessionRequest};
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult};
use proctor_model::{Outcome, OutcomeClass, Usage};
use proctor_sandbox::{Cancel, Limits, Room, Stream, git_skeleton};

use super::needles::Needles;
use super::watch::{Seen, Watch, plain};
use super::{home, scripts};
use crate::eval::environment::agent;
use crate::eval::install::install;
use crate::eval::judge::judge_arm;
use crate::eval::runner::Call;
use crate::session::{self, Evidence, NoSession, Recorder, Surroundings};

/// How long a harness may be silent before its first output.
const FIRST_OUTPUT: Duration = Duration::from_mins(1);
/// How long a harness may be silent between outputs.
const BETWEEN_OUTPUT: Duration = Duration::from_mins(10);

/// What is to be run.
pub(super) struct Trial<'a> {
    pub(super) call: &'a Call<'a>,
    pub(super) adapter: &'a dyn Adapter,
    /// The program, when it has another name than usual.
    pub(super) program: Option<&'a str>,
    pub(super) args: &'a [String],
    /// What its arm must not show.
    pub(super) needles: &'a Needles,
    pub(super) case: &'a ExpandedCase,
    pub(super) arm: Arm,
    /// US dollars that it may cost.
    pub(super) budget: Option<f64>,
    /// Ends it early.
    pub(super) cancel: &'a Cancel,
}

/// What a session came to.
#[derive(Debug)]
pub(super) struct TrialEnd {
    /// The judgement.
    pub(super) judged: ArmResult,
    /// Whether the agent saw what it must not see: no majority makes up for that.
    pub(super) contaminated: bool,
    /// The skills that loaded, in order.
    pub(super) fired: Vec<String>,
    /// What it used; `None` when nobody says.
    pub(super) usage: Option<Usage>,
    /// What a reader should know beside the judgement.
    pub(super) warnings: Vec<String>,
}

/// Why a session proves nothing.
struct Obstacle {
    reason: String,
    /// Whether the agent saw what it must not see.
    contaminates: bool,
}

impl Obstacle {
    fn new(reason: String) -> Self {
        Self { reason, contaminates: false }
    }

    fn contamination(reason: String) -> Self {
        Self { reason, contaminates: true }
    }
}

/// Why there is nothing to judge.
pub(super) enum Stop {
    /// The case has no result.
    Error(String),
    /// Nor would any other have one.
    CannotRun(String),
    /// The run was interrupted.
    Cancelled,
}

/// The raw streams are not kept.
struct Forget;

impl Recorder for Forget {
    fn record(&mut self, _: Stream, _: &[u8]) {}
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn error(reason: impl ToString) -> Stop {
    Stop::Error(reason.to_string())
}

impl Trial<'_> {
    /// Runs the session.
    pub(super) fn run(&self) -> Result<TrialEnd, Stop> {
        let machine = self.call.machine;
        let script = match self.adapter.id() {
            "scripted" => {
                Some(scripts::script(machine.project, self.case, self.arm).map_err(error)?)
            }
            _ => None,
        };
        // Its name says nothing of the skill: the agent sees it.
        let room = machine.rooms.create("trial").map_err(error)?;
        self.furnish(&room)?;
        let own = agent(machine.env, self.adapter);
        let mut env = session::environment(&own, &room);
        let note = home::furnish(&mut env, &room, self.adapter, self.call.skill).map_err(error)?;
        let needles = self.needles.of_case(self.case);
        let mut watch = Watch::new(self.call.skill, &needles);
        let mut evidence = self.session(&room, &env, script.as_deref(), &mut watch)?;
        evidence.warnings.extend(note);
        let seen = watch.finish();
        self.conclude(&room, &env, evidence, seen)
    }

    fn session(
        &self,
        room: &Room,
        env: &BTreeMap<String, String>,
        script: Option<&Utf8Path>,
        watch: &mut Watch<'_>,
    ) -> Result<Evidence, Stop> {
        let machine = self.call.machine;
        let request = SessionRequest {
            max_budget_usd: self.budget,
            model: self.case.model.as_deref().or(self.call.model),
            script,
            program: self.program,
            args: self.args,
            ..SessionRequest::new(&self.case.prompt, room.workspace(), machine.proctor)
        };
        let surroundings = Surroundings {
            launcher: machine.launcher,
            env,
            limits: Limits {
                first_output: Some(FIRST_OUTPUT),
                between_output: Some(BETWEEN_OUTPUT),
                ..Limits::until(self.call.deadline)
            },
            cancel: self.cancel,
        };
        let mut observe = |event| watch.observe(&event);
        let evidence =
            session::run(self.adapter, &request, &surroundings, &mut Forget, &mut observe);
        let evidence = evidence.map_err(|why| match why {
            NoSession::ProgramMissing(_) => Stop::CannotRun(why.to_string()),
            NoSession::Unavailable(_) | NoSession::Start(_) => error(why),
        })?;
        if self.cancel.is_cancelled() { Err(Stop::Cancelled) } else { Ok(evidence) }
    }

    fn conclude(
        &self,
        room: &Room,
        env: &BTreeMap<String, String>,
        evidence: Evidence,
        seen: Seen,
    ) -> Result<TrialEnd, Stop> {
        let Outcome { class, message, .. } = &evidence.outcome;
        let obstacle = match class {
            OutcomeClass::Completed => self.obstacle(&seen),
            OutcomeClass::AuthFailed => {
                return Err(Stop::CannotRun(self.no_credentials(env, message)));
            }
            class if message.is_empty() => {
                Some(Obstacle::new(format!("the session ended: {class}")))
            }
            class => Some(Obstacle::new(format!("the session ended: {class}: {message}"))),
        };
        let contaminated = obstacle.as_ref().is_some_and(|obstacle| obstacle.contaminates);
        let judged = match obstacle {
            Some(Obstacle { reason, .. }) => ArmResult::Error { reason },
            None => self.judge(room, &seen),
        };
        let mut warnings = evidence.warnings;
        warnings.extend(seen.warnings);
        Ok(TrialEnd { judged, contaminated, fired: seen.fired, usage: evidence.usage, warnings })
    }

    /// Puts the files of the case and, in its arm, the skill into the workspace.
    fn furnish(&self, room: &Room) -> Result<(), Stop> {
        let workspace = room.workspace();
        let place = Utf8Path::new(self.adapter.skills_folder()).join(self.call.skill);
        for file in &self.case.files {
            let path = Utf8Path::new(&file.path);
            if path.starts_with(&place) {
                return Err(error(format!("`files` of the case would replace the skill: {path}")));
            }
            let path = workspace.join(path);
            // A clean relative path has a parent below the workspace.
            fs::create_dir_all(path.parent().unwrap_or(workspace)).map_err(error)?;
            fs::write(path, &file.content).map_err(error)?;
        }
        if self.arm == Arm::With {
            install(self.call.folder, &workspace.join(place)).map_err(error)?;
        }
        git_skeleton(workspace.as_std_path()).map_err(error).map(|_| ())
    }

    fn no_credentials(&self, env: &BTreeMap<String, String>, message: &str) -> String {
        let reason = crate::eval::program::no_credentials(self.adapter.id(), env);
        if message.is_empty() { reason } else { format!("{reason} ({message})") }
    }

    /// Why a completed session proves nothing, if so.
    fn obstacle(&self, seen: &Seen) -> Option<Obstacle> {
        let skill = self.call.skill;
        if let Some(trace) = &seen.trace {
            let arm = match self.arm {
                Arm::With => "the run saw the answers",
                Arm::Without => "the run without the skill saw it",
            };
            return Some(Obstacle::contamination(format!("contaminated, {arm}: {trace}")));
        }
        let announced =
            seen.announced.as_ref().map(|names| names.iter().any(|name| plain(name) == skill));
        let fired = seen.fired.iter().any(|name| name == skill);
        match (self.arm, announced) {
            (Arm::Without, announced) if announced == Some(true) || fired => {
                Some(Obstacle::contamination(
                    "contaminated, the run without the skill had it: another copy is installed"
                        .to_owned(),
                ))
            }
            (Arm::With, Some(false)) => Some(Obstacle::new(format!(
                "{} did not announce the skill to the model, so it could not fire; does its front \
                 matter have a `description`, and not turn the model's use of it off?",
                self.adapter.id()
            ))),
            _ => None,
        }
    }

    /// Whether the skill fired; `Err` says why that cannot be told.
    fn fired(&self, seen: &Seen) -> Result<bool, String> {
        if seen.fired.iter().any(|name| name == self.call.skill) {
            return Ok(true);
        }
        if seen.incomplete {
            return Err("the transcript is too long to be followed to its end".to_owned());
        }
        if self.adapter.prompt_loads(&self.case.prompt, self.call.skill) {
            return Err("the prompt itself loads it, which the transcript does not show".to_owned());
        }
        Ok(false)
    }

    fn judge(&self, room: &Room, seen: &Seen) -> ArmResult {
        let mut result = CaseResult {
            case: self.case.id.clone(),
            arm: self.arm.as_str().to_owned(),
            output: seen.answer.clone(),
            work_dir: Some(room.workspace().to_string()),
            ..CaseResult::default()
        };
        if self.arm == Arm::With {
            match self.fired(seen) {
                Ok(fired) => result.triggered = Some(fired),
                Err(why) => {
                    result.error = Some(format!("whether the skill fired cannot be told: {why}"));
                }
            }
        }
        judge_arm(self.call, self.case, self.arm, Some(&result))
    }
}
