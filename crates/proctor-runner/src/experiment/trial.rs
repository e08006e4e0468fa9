//! One trial: a sandbox, setups, the agent, and tests in a fork of what it left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_formats::experiment::Values;
use proctor_model::EventKind;
use proctor_model::experiment::{Variant, When};
use proctor_model::run::{
    ExitReason, HarnessEventKind, PhaseName, PlannedTrial, ScriptRecord, ScriptRole, TrialRecord,
};
use proctor_model::{Outcome, OutcomeClass};
use proctor_sandbox::isolation::{Sandbox, SandboxError, SandboxSpec};
use proctor_sandbox::workspace::{Base, Baseline, DiffLimits, Snapshot, Workspace};

use super::agents::AgentPlan;
use super::cap::Aside;
use super::draft::Draft;
use super::evidence::{self, Counter};
use super::examine::{Drawer, Examination};
use super::log::Log;
use super::retest::{Past, WORKSPACE};
use super::room::{TestRoom, script_environment, test_environment};
use super::run::Settings;
use super::script::{self, NoEnd, Script};
use super::shelf::Shelf;
use super::stage::Bases;

/// How long a setup script or a check may take.
const SETUP_TIME: Duration = Duration::from_mins(15);

/// Everything that one trial needs.
pub(super) struct Trial<'a> {
    pub(super) settings: &'a Settings<'a>,
    pub(super) bases: &'a Bases<'a>,
    pub(super) planned: &'a PlannedTrial,
    /// The place of its variant among those of the run.
    pub(super) index: usize,
    pub(super) variant: &'a Variant,
    pub(super) values: &'a Values,
    pub(super) agent: &'a AgentPlan,
    /// Where it is kept.
    pub(super) folder: &'a Utf8Path,
    /// The trial whose agent's work is tested again.
    pub(super) past: Option<&'a Past>,
    /// What is done with it.
    pub(super) log: &'a Log<'a>,
    pub(super) shelf: &'a dyn Shelf,
    /// What its agent may cost, under a cap.
    pub(super) aside: Option<&'a Aside<'a>>,
}

/// How a step ends a trial.
pub(super) enum Stop {
    /// With this.
    End(ExitReason, String),
    /// There is no sandbox: worth another attempt.
    NoSandbox(String),
    /// The run was cancelled.
    Cancelled,
}

pub(super) type Step<T = ()> = Result<T, Stop>;

impl From<SandboxError> for Stop {
    fn from(error: SandboxError) -> Self {
        Self::End(ExitReason::DriverError, error.to_string())
    }
}

/// Something of the machine failed in the middle of a trial.
#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` wants")]
pub(super) fn broken(error: impl ToString) -> Stop {
    Stop::End(ExitReason::DriverError, error.to_string())
}

impl Trial<'_> {
    /// Runs the trial; `None` when the run was cancelled before it was over. What needs another
    /// attempt since it never got a sandbox is `Err`.
    pub(super) fn run(
        &self,
        tell: &dyn Fn(PhaseName),
    ) -> Result<Option<TrialRecord>, Box<TrialRecord>> {
        let run = self.settings;
        let mut draft = Draft::new(run.run_id, run.experiment_id, self.planned, self.variant);
        let stopped = self.steps(&mut draft, tell).err();
        let mut end = |exit_reason, reason: String| {
            draft.record.exit_reason = exit_reason;
            draft.record.reason = Some(run.redactor.text(&reason).into_owned());
        };
        let has_sandbox = match stopped {
            None => true,
            Some(Stop::Cancelled) => return Ok(None),
            // Whatever failed then may have failed for that.
            Some(_) if run.cancel.is_cancelled() => return Ok(None),
            Some(Stop::End(exit_reason, reason)) => {
                end(exit_reason, reason);
                true
            }
            Some(Stop::NoSandbox(reason)) => {
                end(ExitReason::NeverStarted, reason);
                false
            }
        };
        let mut record = draft.finish(self.variant);
        self.log.close(&mut record);
        if has_sandbox { Ok(Some(record)) } else { Err(Box::new(record)) }
    }

    fn steps(&self, draft: &mut Draft, tell: &dyn Fn(PhaseName)) -> Step {
        let begin = |draft: &mut Draft, phase| {
            draft.phase(Some(phase));
            self.log.phase(Some(phase));
            tell(phase);
        };
        if let Some(past) = self.past {
            return self.retest(past, draft, &begin);
        }
        begin(draft, PhaseName::Stage);
        let base = self.base()?;
        let drawer = self.drawer()?;
        begin(draft, PhaseName::Sandbox);
        let tests = TestRoom::open(self)?;
        let sandbox = self.open(&self.spec(&tests), Workspace::new(&base, self.room("trial")?))?;
        draft.record.isolation = Some(sandbox.isolation().clone());
        begin(draft, PhaseName::Setup);
        self.setups(&sandbox, draft)?;
        begin(draft, PhaseName::Checks);
        self.checks(&sandbox, draft)?;
        if self.settings.check_only {
            return self.probe(&sandbox);
        }
        self.furnish(&sandbox)?;
        sandbox.hand_over()?;
        let before = sandbox.baseline()?;
        begin(draft, PhaseName::Agent);
        let mut counter = self.agent(&sandbox, &tests, draft)?;
        let after = self.leave(sandbox, &tests, &drawer, draft, &begin)?;
        self.keep(&before, &after, &mut counter, draft)?;
        begin(draft, PhaseName::Tests);
        self.examine(&after, &tests, &drawer, draft)?;
        begin(draft, PhaseName::Collect);
        counter.close(&mut draft.record);
        Ok(())
    }

    pub(super) fn room(&self, label: &str) -> Step<proctor_sandbox::Room> {
        let room = self.settings.rooms.create(label);
        room.map_err(|error| Stop::NoSandbox(error.to_string()))
    }

    /// The workspace from which the trial starts.
    pub(super) fn base(&self) -> Step<Arc<Base>> {
        let base = self.bases.get(self.index, self.variant);
        base.map_err(|why| Stop::End(ExitReason::StagingFailed, why))
    }

    pub(super) fn drawer(&self) -> Step<Drawer<'_>> {
        Drawer::fill(self.settings.preflight, self.variant, self.room("tests")?)
            .map_err(|why| Stop::End(ExitReason::StagingFailed, why))
    }

    /// The sandbox of the agent. Tests that run there need their room in it.
    fn spec(&self, tests: &TestRoom) -> SandboxSpec {
        let mut spec = self.settings.spec.clone();
        spec.binds.extend(self.agent.binds().iter().cloned());
        if self.has_live_tests() {
            spec.binds.extend(tests.binds(&spec.wanted));
        }
        spec
    }

    pub(super) fn has_live_tests(&self) -> bool {
        self.variant.tests.iter().any(|test| test.when == When::Live)
    }

    pub(super) fn open(&self, spec: &SandboxSpec, workspace: Workspace) -> Step<Sandbox<'_>> {
        let opened = self.settings.sandboxes.open(spec, workspace);
        opened.map_err(|error| Stop::NoSandbox(error.to_string()))
    }

    fn setups(&self, sandbox: &Sandbox<'_>, draft: &mut Draft) -> Step {
        let env = script_environment(sandbox, self.values);
        for (number, setup) in self.variant.setups().enumerate() {
            let label = setup.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
            let label = format!("setup {number}{label}");
            let record = self.script(sandbox, &setup.script, &env, ScriptRole::Setup, &label)?;
            if record.exit_code != 0 {
                let name = setup.name.as_ref().map(|name| format!(" `{name}`")).unwrap_or_default();
                let why = failure(&format!("setup{name}"), &record);
                return Err(Stop::End(ExitReason::SetupFailed, why));
            }
        }
        draft.record.checks.clear();
        Ok(())
    }

    fn checks(&self, sandbox: &Sandbox<'_>, draft: &mut Draft) -> Step {
        let env = script_environment(sandbox, self.values);
        for (number, check) in self.variant.checks().enumerate() {
            let label = format!("check {number} `{}`", check.name);
            let mut record =
                self.script(sandbox, &check.script, &env, ScriptRole::Check, &label)?;
            check.name.as_str().clone_into(&mut record.name);
            let name = format!("setup-checks/{}.json", file_name(check.name.as_str()));
            evidence::write_json(&self.folder.join(name), &record).map_err(broken)?;
            let failed = (record.exit_code != 0)
                .then(|| failure(&format!("setup check `{}`", check.name), &record));
            draft.record.checks.push(record);
            if let Some(why) = failed {
                return Err(Stop::End(ExitReason::SetupCheckFailed, why));
            }
        }
        Ok(())
    }

    /// Runs a setup or a check; what it says is added to `setup.log`.
    fn script(
        &self,
        sandbox: &Sandbox<'_>,
        text: &str,
        env: &BTreeMap<String, String>,
        role: ScriptRole,
        label: &str,
    ) -> Step<ScriptRecord> {
        let [stdout, stderr] =
            ["stdout", "stderr"].map(|stream| self.folder.join(format!("setup.{stream}.log")));
        let script = Script {
            text,
            env,
            deadline: Instant::now() + SETUP_TIME,
            is_watched: false,
            stdout: &stdout,
            stderr: &stderr,
        };
        let end = script::run(&script, sandbox, self.settings.cancel, self.settings.redactor);
        let log = self.folder.join("setup.log");
        evidence::append(&log, label, [&stdout, &stderr], end.as_ref().ok()).map_err(broken)?;
        let end = end.map_err(|error| match error {
            NoEnd::Cancelled => Stop::Cancelled,
            other => broken(other),
        })?;
        self.log.script(role, label, &end);
        Ok(ScriptRecord {
            name: label.to_owned(),
            exit_code: end.exit_code,
            duration_ms: end.duration_ms,
            stdout_tail: end.stdout_tail,
            stderr_tail: end.stderr_tail,
        })
    }

    /// Lets the agent work, within its time.
    fn agent<'b>(
        &'b self,
        sandbox: &Sandbox<'_>,
        tests: &'b TestRoom,
        draft: &mut Draft,
    ) -> Step<Counter<'b>> {
        let unkept = self.agent.unkept_limits().into_iter();
        let unkept =
            unkept.map(|limit| format!("not_enforced: nothing keeps `{limit}` of this agent"));
        draft.record.warnings.extend(unkept);
        let mut counter = Counter::open(self, tests)?;
        self.begin_agent()?;
        let limit = Duration::from_secs(self.variant.limits.max_time_seconds.get().into());
        let deadline = Instant::now() + limit;
        let ended = self.session(sandbox, deadline, &mut counter)?;
        let (exit_reason, reason) = match sandbox.violation() {
            Some(violation) => (ExitReason::LimitExceeded, Some(violation.to_string())),
            None => (ended.exit_reason, ended.reason),
        };
        self.end_agent(sandbox, exit_reason, ended.outcome.as_ref());
        let record = &mut draft.record;
        record.exit_reason = exit_reason;
        record.reason = reason.map(|why| self.settings.redactor.text(&why).into_owned());
        record.outcome = ended.outcome;
        record.usage = ended.usage;
        record.warnings.extend(ended.warnings);
        counter.end().map_err(broken)?;
        Ok(counter)
    }

    /// Says that the agent begins; from now on it may cost something.
    fn begin_agent(&self) -> Step {
        if let Some(aside) = self.aside {
            self.shelf.set_aside(self.planned, aside.usd()).map_err(broken)?;
            aside.begin();
        }
        self.log.tell(HarnessEventKind::AgentBegin {
            adapter: self.agent.adapter().id().to_owned(),
            limit_seconds: self.variant.limits.max_time_seconds.get(),
            set_aside_usd: self.aside.map(Aside::usd),
        });
        Ok(())
    }

    fn end_agent(&self, sandbox: &Sandbox<'_>, exit_reason: ExitReason, outcome: Option<&Outcome>) {
        if let Some(violation) = sandbox.violation() {
            let message = violation.to_string();
            self.log.tell(HarnessEventKind::Violation { message });
        }
        let Some(outcome) = outcome.map(|outcome| outcome.class) else { return };
        let killed = sandbox.violation().is_some()
            || matches!(
                outcome,
                OutcomeClass::Timeout | OutcomeClass::Stalled | OutcomeClass::Interrupted
            );
        self.log.tell(HarnessEventKind::AgentEnd { exit_reason, outcome, killed });
    }

    /// Runs the tests that look at what is still running, and then ends all of it. What they did to
    /// the workspace is in no snapshot.
    fn leave(
        &self,
        sandbox: Sandbox<'_>,
        tests: &TestRoom,
        drawer: &Drawer<'_>,
        draft: &mut Draft,
        begin: &dyn Fn(&mut Draft, PhaseName),
    ) -> Step<Arc<Snapshot>> {
        if !self.has_live_tests() {
            begin(draft, PhaseName::Snapshot);
            return Ok(sandbox.close()?);
        }
        begin(draft, PhaseName::Snapshot);
        let snapshot = sandbox.snapshot(self.room("snapshot")?)?;
        begin(draft, PhaseName::LiveTests);
        self.tests(When::Live, &sandbox, tests, drawer, draft)?;
        drop(sandbox.close()?);
        Ok(snapshot)
    }

    /// Keeps what the agent did to the workspace, and the workspace.
    fn keep(
        &self,
        before: &Baseline,
        after: &Snapshot,
        counter: &mut Counter<'_>,
        draft: &mut Draft,
    ) -> Step {
        let diff = before.diff(after, &DiffLimits::default()).map_err(broken)?;
        let path = self.folder.join("fs-diff/000000.json");
        evidence::write_redacted(&path, &diff, self.settings.redactor).map_err(broken)?;
        counter.add(EventKind::file_manifest(&diff));
        counter.flush().map_err(broken)?;
        let file = self.folder.join(WORKSPACE);
        if let Err(error) = after.save(file.as_std_path()) {
            let warning = format!("the workspace was not kept for retests: {error}");
            draft.record.warnings.push(warning);
        }
        Ok(())
    }

    /// Runs the tests in a fork of what the agent left: none of its processes is there.
    pub(super) fn examine(
        &self,
        after: &Arc<Snapshot>,
        tests: &TestRoom,
        drawer: &Drawer<'_>,
        draft: &mut Draft,
    ) -> Step {
        let mut spec = self.settings.spec.clone();
        spec.binds.extend(tests.binds(&spec.wanted));
        let sandbox = self.open(&spec, after.fork(self.room("fork")?))?;
        self.tests(When::Snapshot, &sandbox, tests, drawer, draft)
    }

    fn tests(
        &self,
        when: When,
        sandbox: &Sandbox<'_>,
        tests: &TestRoom,
        drawer: &Drawer<'_>,
        draft: &mut Draft,
    ) -> Step {
        let env = test_environment(self, sandbox, tests);
        let examination = Examination {
            sandbox,
            drawer,
            desk: tests.desk(),
            env: &env,
            timeout: self.settings.test_timeout,
            is_live: when == When::Live,
            folder: self.folder,
            redactor: self.settings.redactor,
            cancel: self.settings.cancel,
            log: self.log,
        };
        for (index, test) in self.variant.tests.iter().enumerate() {
            if test.when == when {
                let record = examination.run(index, test).ok_or(Stop::Cancelled)?;
                let name = format!("tests/{}.json", record.name);
                evidence::write_json(&self.folder.join(name), &record).map_err(broken)?;
                draft.record.tests.push(record);
            }
        }
        Ok(())
    }
}

/// What a script that failed said last.
fn failure(what: &str, record: &ScriptRecord) -> String {
    let said = record.stderr_tail.trim();
    let said = if said.is_empty() { record.stdout_tail.trim() } else { said };
    let last = said.lines().next_back().unwrap_or_default();
    let end = match record.exit_code {
        -1 => "was ended when its time was up".to_owned(),
        code => format!("exited with {code}"),
    };
    if last.is_empty() { format!("{what} {end}") } else { format!("{what} {end}: {last}") }
}

/// A name as that of a file.
fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    name.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}
