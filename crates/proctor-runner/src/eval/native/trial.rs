//! One session of one case in one arm: room, skill, agent, judgement.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use camino::Utf8Path;
use fs_err as fs;
use proctor_grade::eval::ArmResult;
use proctor_harness::{Adapter, SessionRequest};
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{Arm, CaseResult};
use proctor_model::run::PhaseName;
use proctor_model::{Outcome, OutcomeClass, Usage};
use proctor_sandbox::{Cancel, Limits, Room, git_skeleton};

use super::conceal::conceal;
use super::guard::Guard;
use super::loads::{mentions, plain};
use super::needles::Needles;
use super::outside::{Outside, Place};
use super::watch::{Seen, Sought, Watch};
use super::{home, scripts};
use crate::archive::Keeping;
use crate::eval::environment::agent;
use crate::eval::install::install;
use crate::eval::judge::judge_arm;
use crate::eval::kept::Kept;
use crate::eval::runner::Call;
use crate::session::{self, Evidence, NoSession, Surroundings};
use crate::streams::Shared;

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
    /// What its arm is looked through for.
    pub(super) needles: &'a Needles,
    /// The folder that it is not told of.
    pub(super) concealed: Option<&'a Utf8Path>,
    /// Where it must not go.
    pub(super) outside: &'a Outside,
    /// Knows whether files were opened that it must not open.
    pub(super) guard: Option<&'a Guard>,
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
    /// The judgement, but for a rubric.
    pub(super) judged: ArmResult,
    /// What the agent answered.
    pub(super) answer: Option<String>,
    /// Whether the agent saw what it must not see: no majority makes up for that.
    pub(super) contaminated: bool,
    /// The skills that loaded, in order.
    pub(super) fired: Vec<String>,
    /// The harness's version, when it says.
    pub(super) version: Option<String>,
    /// What it used; `None` when nobody says.
    pub(super) usage: Option<Usage>,
    /// What a reader should know beside the judgement.
    pub(super) warnings: Vec<String>,
    /// How the session ended.
    pub(super) outcome: Outcome,
    /// The session as it is kept, if it is.
    pub(super) kept: Option<Box<Kept>>,
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

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn error(reason: impl ToString) -> Stop {
    Stop::Error(reason.to_string())
}

impl Trial<'_> {
    /// Runs the session.
    pub(super) fn run(&self, keeping: &mut Keeping<'_>) -> Result<TrialEnd, Stop> {
        keeping.phase(PhaseName::Stage);
        let machine = self.call.machine;
        // Its name says nothing of the skill: the agent sees it.
        let room = machine.rooms.create("trial").map_err(error)?;
        let script = match self.adapter.id() {
            "scripted" => {
                let script = scripts::script(machine.project, self.case, self.arm);
                // Its own path would tell every process where the cases lie.
                let copy = room.root().join("agent.yaml");
                fs::copy(script.map_err(error)?, &copy).map_err(error)?;
                Some(copy)
            }
            _ => None,
        };
        self.furnish(&room)?;
        let own = agent(machine.env, self.adapter);
        let mut env = session::environment(&own, &room);
        let note = home::furnish(&mut env, &room, self.adapter, self.call.skill).map_err(error)?;
        let naming = self.concealed.map(|project| conceal(&mut env, project)).unwrap_or_default();
        let needles = self.needles.of_case(self.case);
        let variables = ["HOME", "TMPDIR"];
        let variables = variables.iter().filter_map(|&name| Some((name, env.get(name)?.as_str())));
        let place = Place::new(room.workspace(), variables);
        let mut watch = Watch::new(Sought {
            skill: self.call.skill,
            arm: self.arm,
            needles: &needles,
            outside: self.outside,
            place: &place,
        });
        keeping.phase(PhaseName::Snapshot);
        keeping.before(room.workspace());
        keeping.phase(PhaseName::Agent);
        let start = self.guard.map(|guard| (guard, guard.now()));
        let evidence = self.session(&room, &env, script.as_deref(), &mut watch, keeping);
        let opened = start.and_then(|(guard, start)| guard.opened_since(start));
        keeping.phase(PhaseName::Snapshot);
        keeping.after(room.workspace());
        keeping.phase(PhaseName::Tests);
        let mut evidence = evidence?;
        evidence.warnings.extend(note);
        if self.arm == Arm::Without && !naming.is_empty() {
            evidence.warnings.push(format!("{} told where the project lies", naming.join(", ")));
        }
        let seen = watch.finish();
        self.conclude(&room, &env, evidence, seen, opened.as_deref())
    }

    fn session(
        &self,
        room: &Room,
        env: &BTreeMap<String, String>,
        script: Option<&Utf8Path>,
        watch: &mut Watch<'_>,
        keeping: &mut Keeping<'_>,
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
        let keeping = RefCell::new(keeping);
        let mut observe = |event| {
            watch.observe(&event);
            keeping.borrow_mut().observe(&event);
        };
        let mut recorder = Shared(&keeping);
        let evidence =
            session::run(self.adapter, &request, &surroundings, &mut recorder, &mut observe);
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
        opened: Option<&str>,
    ) -> Result<TrialEnd, Stop> {
        let Outcome { class, message, .. } = &evidence.outcome;
        let obstacle = match class {
            OutcomeClass::Completed => self.obstacle(&seen, opened),
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
        warnings.extend(self.notes(&seen));
        Ok(TrialEnd {
            judged,
            answer: seen.answer,
            contaminated,
            fired: seen.loaded.skills,
            version: seen.version,
            usage: evidence.usage,
            warnings: warnings.into_iter().chain(seen.loaded.warnings).collect(),
            outcome: evidence.outcome,
            kept: None,
        })
    }

    /// What a reader should know of how the judgement came about.
    fn notes(&self, seen: &Seen) -> Vec<String> {
        let (case, arm) = (&self.case.id, self.arm);
        let mut notes = Vec::new();
        if arm == Arm::With && seen.loaded.by_text_alone {
            notes.push(format!(
                "{case}: no call named the skill; it counts as loaded since its text was returned"
            ));
        }
        if let Some(call) = &seen.looked_around {
            notes.push(format!(
                "{case}: without the skill, a call looked around above the workspace: {call}"
            ));
        }
        if let Some(call) = &seen.suspicion {
            notes.push(format!("{case}: without the skill, a call named the project: {call}"));
        }
        notes
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
    fn obstacle(&self, seen: &Seen, opened: Option<&str>) -> Option<Obstacle> {
        let skill = self.call.skill;
        if let Some(sign) = self.sign_of_contamination(seen, opened) {
            let arm = match self.arm {
                Arm::With => "the run saw the answers",
                Arm::Without => "the run without the skill saw it",
            };
            return Some(Obstacle::contamination(format!("contaminated, {arm}: {sign}")));
        }
        let announced =
            seen.announced.as_ref().map(|names| names.iter().any(|name| plain(name) == skill));
        let fired = seen.loaded.skills.iter().any(|name| name == skill);
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

    /// The sign that the agent saw what it must not see. A session that called no tool opened no
    /// file; what may be chance counts only when no guard stands for the files.
    fn sign_of_contamination(&self, seen: &Seen, opened: Option<&str>) -> Option<String> {
        let by_kernel = || {
            let file = opened.filter(|_| seen.acted)?;
            Some(format!(
                "`{file}` was opened meanwhile: by the agent, by another session (`-j 1` rules that \
                 out) or by another program"
            ))
        };
        let by_chance = || {
            let call = seen.suspicion.as_ref().filter(|_| self.guard.is_none())?;
            Some(format!("{call} names the project"))
        };
        seen.trace.clone().or_else(by_kernel).or_else(by_chance)
    }

    /// Whether the skill fired; `Err` says why that cannot be told.
    fn fired(&self, seen: &Seen) -> Result<bool, String> {
        if seen.loaded.skills.iter().any(|name| name == self.call.skill) {
            return Ok(true);
        }
        if seen.incomplete {
            return Err("the transcript is too long to be followed to its end".to_owned());
        }
        let prompt = &self.case.prompt;
        if self.adapter.prompt_loads(prompt, self.call.skill) || mentions(prompt, self.call.skill) {
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
