//! One trial: workspace, installation, install checks, harness, result checks.

use std::cell::RefCell;
use std::time::Instant;

use camino::{Utf8Path, Utf8PathBuf, absolute_utf8};
use proctor_corpus::{MANAGED_DIRECTORY, Slice};
use proctor_formats::conformance::FixtureEntry;
use proctor_grade::{CommandEnd, Verdict, Workspace};
use proctor_harness::{Adapter, Credentials, SessionRequest};
use proctor_model::conformance::fixture::{CheckKind, Fixture, Phase};
use proctor_model::conformance::report::{InstalledInstruction, ResultPhase, Selection};
use proctor_model::run::PhaseName;
use proctor_model::{CheckStatus, Outcome, OutcomeClass};
use proctor_sandbox::{Limits, Room, StageLimits, git_skeleton, stage_input};

use super::command::run_command;
use super::draft::{Draft, Ended};
use super::load::Loads;
use super::plan::HarnessMode;
use super::record::{conclusion, session_key};
use super::run::{Settings, Slices, TrialPhase};
use super::transcript::Transcript;
use super::words::reportable;
use crate::archive::Keeping;
use crate::session::{self, NoSession, Surroundings};
use crate::streams::Shared;

/// The script of the built-in agent, beside `fixture.json`.
const SCRIPT_NAME: &str = "agent.yaml";

/// Everything that one trial needs.
pub(super) struct Trial<'a> {
    /// Its place in the plan.
    pub(super) index: usize,
    pub(super) settings: &'a Settings<'a>,
    pub(super) slices: &'a Slices<'a>,
    pub(super) entry: &'a FixtureEntry,
    pub(super) fixture: &'a Fixture,
    pub(super) harness: &'a str,
    pub(super) selection: &'a Selection,
}

/// How a step ends a trial.
enum Stop {
    /// With this status and reason.
    End(CheckStatus, String),
    /// Without a result: the run was cancelled.
    Cancelled,
}

/// A step that may end the trial.
type Step<T = ()> = Result<T, Stop>;

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
fn error(reason: impl ToString) -> Stop {
    Stop::End(CheckStatus::Error, reason.to_string())
}

impl Trial<'_> {
    /// Runs the trial. `None` means that the run was cancelled before the trial was over.
    pub(super) fn run(&self, tell: &dyn Fn(TrialPhase)) -> Option<Ended> {
        let started = Instant::now();
        let mut draft = Draft::new(self.settings, self.fixture, self.harness);
        let deadline = started + draft.timeout();
        let mut keeping = self.keeping();
        let ended = match self.steps(&mut draft, &mut keeping, deadline, tell) {
            Ok(()) => draft.end(CheckStatus::Passed, None),
            Err(Stop::End(status, reason)) => {
                let reason = self.settings.redactor.text(&reason).into_owned();
                draft.end(status, Some(reason))
            }
            Err(Stop::Cancelled) => return None,
        };
        keeping.finish(conclusion(&ended));
        Some(ended)
    }

    fn keeping(&self) -> Keeping<'_> {
        let settings = self.settings;
        let session = session_key(settings, self.fixture, self.harness);
        session.map_or_else(Keeping::nothing, |session| {
            Keeping::begin(settings.archive, &session, settings.redactor)
        })
    }

    fn steps(
        &self,
        draft: &mut Draft,
        keeping: &mut Keeping<'_>,
        deadline: Instant,
        tell: &dyn Fn(TrialPhase),
    ) -> Step {
        tell(TrialPhase::Install);
        keeping.phase(PhaseName::Stage);
        let room = self.settings.rooms.create("trial").map_err(error)?;
        self.steps_in(&room, draft, keeping, deadline, tell).map_err(|stop| match stop {
            Stop::End(status, reason) => {
                Stop::End(status, reportable(self.settings, &room, &reason))
            }
            Stop::Cancelled => Stop::Cancelled,
        })
    }

    fn steps_in(
        &self,
        room: &Room,
        draft: &mut Draft,
        keeping: &mut Keeping<'_>,
        deadline: Instant,
        tell: &dyn Fn(TrialPhase),
    ) -> Step {
        let adapter = proctor_harness::find(self.harness);
        let slice = self.install(draft, room, adapter)?;
        keeping.phase(PhaseName::Checks);
        self.checks(draft, room, Phase::Install, deadline)?;
        verdict(draft, Phase::Install)?;
        if self.settings.harness_mode == HarnessMode::InstallOnly {
            draft.leave_out_result_phase();
            let any = draft.checks().iter().any(|row| row.phase == Phase::Install);
            let none = || Stop::End(CheckStatus::Skipped, "no install-phase checks".to_owned());
            return if any { Ok(()) } else { Err(none()) };
        }
        let adapter = adapter.ok_or_else(|| {
            Stop::End(CheckStatus::Skipped, format!("no adapter runs harness `{}`", self.harness))
        })?;
        tell(TrialPhase::Harness);
        git_skeleton(room.workspace().as_std_path()).map_err(error)?;
        let mut loads =
            Loads::new(room.workspace(), &slice, &self.fixture.expected_instruction_paths);
        keeping.phase(PhaseName::Snapshot);
        keeping.before(room.workspace());
        keeping.phase(PhaseName::Agent);
        let session = self.session(draft, room, adapter, deadline, (&mut loads, keeping));
        draft.result_mut().observed_load = loads.into_rows();
        keeping.phase(PhaseName::Snapshot);
        keeping.after(room.workspace());
        session?;
        tell(TrialPhase::Checks);
        keeping.phase(PhaseName::Tests);
        draft.result_mut().result_phase = ResultPhase::Completed;
        self.checks(draft, room, Phase::Result, deadline)?;
        verdict(draft, Phase::Result)
    }

    /// Stages the input and installs the slice.
    fn install(
        &self,
        draft: &mut Draft,
        room: &Room,
        adapter: Option<&dyn Adapter>,
    ) -> Step<std::sync::Arc<Slice>> {
        draft.result_mut().selection = self.selection.clone();
        if let Some(input) = &self.entry.input {
            stage_input(
                input.as_std_path(),
                room.workspace().as_std_path(),
                &StageLimits::default(),
            )
            .map_err(error)?;
        }
        // The built-in agent has no integration files of its own.
        let integration = match adapter {
            Some(adapter) => adapter.corpus_harness(),
            None => Some(self.harness),
        };
        let slice = self.slices.get(self.selection, integration).map_err(error)?;
        slice.install_fresh(room.workspace()).map_err(error)?;
        let result = draft.result_mut();
        result.installed_instructions = instructions(&slice);
        let rows = Loads::new(room.workspace(), &slice, &self.fixture.expected_instruction_paths);
        result.observed_load = rows.into_rows();
        Ok(slice)
    }

    /// Runs the checks of a phase, in file order.
    fn checks(&self, draft: &mut Draft, room: &Room, phase: Phase, deadline: Instant) -> Step {
        let workspace = Workspace::new(room.workspace());
        let mut cut_off = false;
        for (index, check) in self.fixture.checks.iter().enumerate() {
            if check.phase != phase {
                continue;
            }
            if self.settings.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            if cut_off || Instant::now() >= deadline {
                return Err(timed_out());
            }
            let row = &mut draft.result_mut().checks[index];
            // Before each, as a command can do what an agent can.
            if let Err(replaced) = room.check_workspace() {
                row.status = CheckStatus::Error;
                row.message = replaced.to_string();
                continue;
            }
            let answer = match &check.kind {
                CheckKind::Command { run, exit_code } => {
                    let command = run_command(self.settings, room, run, deadline);
                    row.output = Some(command.output);
                    if self.settings.cancel.is_cancelled() {
                        return Err(Stop::Cancelled);
                    }
                    cut_off = command.end == CommandEnd::TimedOut;
                    proctor_grade::judge_command(*exit_code, check.optional, &command.end)
                }
                _ => proctor_grade::evaluate(check, &workspace),
            };
            row.status = answer.status;
            row.message = reportable(self.settings, room, &answer.message);
            row.files = answer.files;
        }
        if cut_off { Err(timed_out()) } else { Ok(()) }
    }

    /// Runs the harness and decides whether its work can be checked.
    fn session(
        &self,
        draft: &mut Draft,
        room: &Room,
        adapter: &dyn Adapter,
        deadline: Instant,
        (loads, keeping): (&mut Loads, &mut Keeping<'_>),
    ) -> Step {
        let settings = self.settings;
        // The agent runs in the workspace, so a path relative to the project would mislead it.
        let script = absolute_utf8(self.entry.directory.join(SCRIPT_NAME)).map_err(error)?;
        let request = SessionRequest {
            max_turns: self.fixture.bounds.max_turns,
            max_budget_usd: draft.max_budget_usd(),
            script: script.is_file().then_some(script.as_path()),
            ..SessionRequest::new(&self.fixture.prompt, room.workspace(), settings.proctor)
        };
        let env = session::environment(settings.env, room);
        let surroundings = Surroundings {
            launcher: settings.launcher,
            env: &env,
            limits: Limits {
                first_output: Some(settings.first_output),
                between_output: Some(settings.between_output),
                ..Limits::until(deadline)
            },
            cancel: settings.cancel,
        };
        let stem = format!("{}-{}.{}", self.index, self.fixture.name, self.harness);
        let mut transcript = Transcript::create(settings, &stem).map_err(error)?;
        let keeping = RefCell::new(keeping);
        let mut recorder = (&mut transcript, Shared(&keeping));
        let mut observe = |event| {
            loads.observe(&event);
            keeping.borrow_mut().observe(&event);
        };
        let evidence = session::run(adapter, &request, &surroundings, &mut recorder, &mut observe);
        let kept = transcript.finish();
        let evidence = evidence.map_err(|why| match why {
            NoSession::Unavailable(_) | NoSession::ProgramMissing(_) => {
                Stop::End(CheckStatus::Skipped, why.to_string())
            }
            NoSession::Start(_) => error(why),
        })?;
        if settings.cancel.is_cancelled() {
            return Err(Stop::Cancelled);
        }
        for warning in &evidence.warnings {
            draft.note(&reportable(settings, room, warning));
        }
        let message = reportable(settings, room, &evidence.outcome.message);
        let result = draft.result_mut();
        result.outcome = Some(Outcome { message, ..evidence.outcome.clone() });
        result.usage = evidence.usage;
        result.transcript = kept.map_err(error)?.map(Utf8PathBuf::into_string);
        judge_session(&evidence, || {
            adapter.credentials(&|name| env.get(name).cloned(), &|path| path.is_file())
        })
    }
}

/// Decides whether a session's work can be checked, and if not, how the trial ends.
///
/// Failures between harness and provider say nothing about the guidance: they are errors, not
/// failures. A session that never began for lack of credentials or of a mode is skipped.
fn judge_session(evidence: &session::Evidence, credentials: impl Fn() -> Credentials) -> Step {
    let outcome = &evidence.outcome;
    if evidence.exit_code == Some(0) && !evidence.any_output {
        return Err(Stop::End(CheckStatus::Skipped, "no output".to_owned()));
    }
    let said = || match outcome.message.as_str() {
        "" => format!("harness ended with {}", outcome.class),
        message => format!("harness ended with {}: {message}", outcome.class),
    };
    match outcome.class {
        OutcomeClass::Completed => Ok(()),
        OutcomeClass::Timeout => Err(timed_out()),
        OutcomeClass::AuthFailed => match (outcome.http_status, credentials()) {
            (_, Credentials::Absent { tried }) => Err(Stop::End(
                CheckStatus::Skipped,
                format!("credentials missing: looked for {}", tried.join(", ")),
            )),
            (None, Credentials::Present) => Err(Stop::End(
                CheckStatus::Skipped,
                format!("credentials missing: {}", outcome.message),
            )),
            (Some(_), Credentials::Present) => Err(error(said())),
        },
        OutcomeClass::UsageError if refuses_a_flag(&outcome.message) => Err(Stop::End(
            CheckStatus::Skipped,
            format!("mode unavailable in this version of the harness: {}", outcome.message),
        )),
        class if class.is_infrastructure() => Err(error(said())),
        _ => Err(Stop::End(CheckStatus::Failed, said())),
    }
}

/// Whether a harness that did not start says that it does not know a flag of ours.
fn refuses_a_flag(message: &str) -> bool {
    let message = message.to_lowercase();
    ["unknown option", "unexpected argument", "unrecognized option", "unknown argument"]
        .iter()
        .any(|words| message.contains(words))
}

fn timed_out() -> Stop {
    Stop::End(CheckStatus::Failed, "timed out".to_owned())
}

/// Ends the trial unless the checks of the phase passed, or there are none.
fn verdict(draft: &Draft, phase: Phase) -> Step {
    let rows: Vec<_> = draft.checks().iter().filter(|row| row.phase == phase).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let Verdict { status, reason } = proctor_grade::verdict(rows);
    match reason {
        None => Ok(()),
        Some(reason) => Err(Stop::End(status, format!("{} phase: {reason}", phase.as_str()))),
    }
}

/// The installed Markdown files: what a model can be instructed by.
fn instructions(slice: &Slice) -> Vec<InstalledInstruction> {
    let is_text = |path: &str| matches!(Utf8Path::new(path).extension(), Some("md" | "mdc"));
    slice
        .files()
        .iter()
        .filter(|file| is_text(file.destination()))
        .map(|file| InstalledInstruction {
            path: format!("{MANAGED_DIRECTORY}/{}", file.destination()),
            sha256: file.digest().upper_hex(),
        })
        .collect()
}
