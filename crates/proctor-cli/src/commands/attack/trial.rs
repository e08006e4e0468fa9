//! One attack: its experiment, its trial, and what both have shown.

use std::num::NonZeroUsize;

use proctor_formats::experiment::Selection;
use proctor_model::attack::{AttackCheck, AttackPurpose, AttackResult, AttackVerdict};
use proctor_model::run::{RunOptions, TestRecord, TestStatus, TrialRecord, TrialStatus};
use proctor_model::{Guard, Isolation};
use proctor_runner::experiment::Play;
use proctor_sandbox::find_program;
use proctor_sandbox::isolation::RoomLimits;
use proctor_store::runs::{Runs, StoredRun};

use super::field::{EXPERIMENT, Field};
use super::file::Attack;
use crate::commands::experiment::engine::{Hall, Kind, NetworkName, Ready, Work};
use crate::commands::experiment::run::{Origin, new_plan, planned};
use crate::context::Context;
use crate::error::CommandError;

/// Where programs of the system are, in every sandbox that shows them.
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// Seconds that one test may take.
const TEST_SECONDS: u64 = 60;
/// The word of an agent that has got through.
const WORD: &str = "agent";
/// What no agent may do.
const CHANGED: &str = "it has changed the experiment on this machine";
/// How much of what a test said is repeated.
const SAID: usize = 200;

/// An attack that is to be tried.
pub(super) struct Attempt<'a> {
    pub(super) attack: &'a Attack,
    pub(super) sandbox: Kind,
    pub(super) image: Option<&'a String>,
    pub(super) hall: &'a Hall,
    pub(super) context: &'a Context,
}

/// An attack that was tried, as far as that was possible.
pub(super) struct Fought {
    pub(super) result: AttackResult,
    pub(super) isolation: Option<Isolation>,
}

/// What a trial has shown.
struct Seen {
    record: TrialRecord,
    heard: String,
    is_untouched: bool,
}

/// A fault of ours is no attack that held.
pub(super) fn bug(attack: &Attack, message: &str) -> Fought {
    let why = format!("a bug in proctor ended it: {message}");
    Fought { result: result(attack, AttackVerdict::Untried, why, Vec::new()), isolation: None }
}

fn result(
    attack: &Attack,
    verdict: AttackVerdict,
    reason: String,
    checks: Vec<AttackCheck>,
) -> AttackResult {
    let (name, tries) = (attack.name.to_owned(), attack.tries.clone());
    AttackResult { name, tries, verdict, reason, checks }
}

impl Attempt<'_> {
    /// Tries it.
    pub(super) fn fight(&self) -> Fought {
        let attack = self.attack;
        let untried = |why: String, isolation| Fought {
            result: result(attack, AttackVerdict::Untried, why, Vec::new()),
            isolation,
        };
        if let Some(why) = self.hindrance() {
            return untried(why, None);
        }
        let network = if attack.is_offline { NetworkName::None } else { NetworkName::Host };
        let field = match Field::lay_out(attack, &self.context.temporary) {
            Ok(field) => field,
            Err(error) => return untried(error.to_string(), None),
        };
        let seen = match self.trial(&field, network) {
            Ok(seen) => seen,
            Err(error) if !field.is_untouched() => {
                let why = format!("{CHANGED}: {}", error.message());
                let result = result(attack, AttackVerdict::Broken, why, Vec::new());
                return Fought { result, isolation: None };
            }
            Err(error) => return untried(error.message().to_owned(), None),
        };
        let isolation = seen.record.isolation.clone();
        let (verdict, reason) = match self.judge(&seen) {
            (AttackVerdict::Held, _) if attack.has_networked_control => self.networked(),
            judged => judged,
        };
        let checks = checks(attack, &seen.record);
        Fought { result: result(attack, verdict, reason, checks), isolation }
    }

    /// Why it cannot be tried here.
    fn hindrance(&self) -> Option<String> {
        let Attack { levels, needs, .. } = self.attack;
        let kind = self.sandbox.as_str();
        if !levels.is_empty() && !levels.iter().any(|level| level == kind) {
            let why = "it would reach the processes of this machine";
            return Some(format!("not with `--sandbox {kind}`: {why}"));
        }
        let is_missing = |name: &&String| {
            find_program(name.as_ref(), Some(SYSTEM.as_ref()), "/".as_ref()).is_err()
        };
        let missing = needs.iter().find(is_missing)?;
        Some(format!("`{missing}` is not installed where the system has its programs"))
    }

    /// Runs the experiment of the attack on the way of every experiment.
    fn trial(&self, field: &Field, network: NetworkName) -> Result<Seen, CommandError> {
        let context = self.context;
        let place = field.place()?;
        let options = RunOptions {
            sandbox: self.sandbox.as_str().to_owned(),
            image: self.image.cloned(),
            network: network.as_str().to_owned(),
            test_timeout_seconds: TEST_SECONDS,
            ..RunOptions::default()
        };
        let ready = Ready::read(&place.join(EXPERIMENT), &options, &Selection::default(), context)?
            .ok_or_else(|| CommandError::usage("its experiment is wrong"))?;
        let cells = ready.cells(&options, &[], Play::Real, context)?;
        let plan = new_plan(&ready, options, Origin::default(), planned(&ready.variants, 1)?)?;
        let writer = Runs::of(&place).create(&plan, &ready.bytes).map_err(CommandError::usage)?;
        let work = Work {
            ready: &ready,
            cells: &cells,
            plan: &plan,
            trials: plan.trials.iter().collect(),
            past: &[],
            writer: &writer,
            jobs: NonZeroUsize::MIN,
            cap: None,
            store: None,
        };
        work.run_in(self.hall, limits(self.attack), context, &mut |_| {})?;
        // The listeners and the folder are looked at when nothing of the trial runs any more.
        let run = StoredRun::open(writer.folder()).map_err(CommandError::usage)?;
        let record = run.records().map_err(CommandError::usage)?.pop();
        let record =
            record.ok_or_else(|| CommandError::usage("there is no record of its trial"))?;
        Ok(Seen { record, heard: field.heard(), is_untouched: field.is_untouched() })
    }

    /// The same with a network: what was not heard before must be heard now.
    fn networked(&self) -> (AttackVerdict, String) {
        let field = Field::lay_out(self.attack, &self.context.temporary);
        let seen = field.map_err(CommandError::from);
        match seen.and_then(|field| self.trial(&field, NetworkName::Host)) {
            Err(error) => (AttackVerdict::Untried, error.message().to_owned()),
            Ok(seen) if seen.heard.contains(WORD) => {
                (AttackVerdict::Held, self.attack.held_by.clone())
            }
            Ok(_) => {
                (AttackVerdict::Untried, "with a network nothing was heard of it either".to_owned())
            }
        }
    }

    fn judge(&self, seen: &Seen) -> (AttackVerdict, String) {
        let (attack, record) = (self.attack, &seen.record);
        if let Some(broken) = self.broken(seen) {
            return (AttackVerdict::Broken, broken);
        }
        let untried = |why: String| (AttackVerdict::Untried, why);
        let ended = record.exit_reason.is_end_of_turn();
        if attack.ends_turn.is_some_and(|expected| expected != ended) {
            let why = record.reason.as_deref().unwrap_or("no reason was given");
            return untried(format!("its trial ended with `{}`: {why}", record.exit_reason));
        }
        if let Some(unkept) = attack.requires.as_deref().and_then(|name| unkept(record, name)) {
            return untried(unkept);
        }
        let controls = self.with(record, AttackPurpose::Control);
        if let Some(test) = controls.into_iter().find(|test| test.status != TestStatus::Passed) {
            return untried(format!("nobody would have seen it: {}", said(test)));
        }
        if let Some(word) = attack.heard.as_deref().filter(|word| !seen.heard.contains(*word)) {
            return untried(format!("nobody would have heard it: `{word}` was not heard either"));
        }
        (AttackVerdict::Held, attack.held_by.clone())
    }

    /// How it got through.
    fn broken(&self, seen: &Seen) -> Option<String> {
        let (attack, record) = (self.attack, &seen.record);
        if record.tests.iter().all(|test| test.status == TestStatus::Skipped) {
            return None;
        }
        if record.status == TrialStatus::Pass {
            return Some("the trial passed, and must not".to_owned());
        }
        let wrong = self.with(record, AttackPurpose::Wrong);
        if let Some(test) = wrong.into_iter().find(|test| test.status == TestStatus::Passed) {
            return Some(format!("`{}` passed, and must fail", test.name));
        }
        let held_up = attack.requires.as_deref().and_then(|name| unkept(record, name)).is_some();
        let guards = self.with(record, AttackPurpose::Guard);
        let failed = guards.into_iter().find(|test| test.status != TestStatus::Passed);
        if let Some(test) = failed.filter(|_| !held_up) {
            return Some(said(test));
        }
        if !seen.is_untouched {
            return Some(CHANGED.to_owned());
        }
        if seen.heard.contains(WORD) || (attack.is_offline && !seen.heard.is_empty()) {
            return Some("it was heard on this machine".to_owned());
        }
        None
    }

    fn with<'r>(&self, record: &'r TrialRecord, purpose: AttackPurpose) -> Vec<&'r TestRecord> {
        let tests = self.attack.tests.iter().filter(|test| test.purpose == purpose);
        tests
            .filter_map(|test| record.tests.iter().find(|record| record.name == test.name))
            .collect()
    }
}

/// Why the guard with this name did not hold.
fn unkept(record: &TrialRecord, name: &str) -> Option<String> {
    let isolation = record.isolation.as_ref()?;
    let guard: &Guard = match name {
        "max_memory" => &isolation.max_memory,
        "max_processes" => &isolation.max_processes,
        _ => return Some(format!("there is no guard `{name}`")),
    };
    (!guard.holds()).then(|| format!("`{name}` is not enforced here: {}", guard.how))
}

/// How a test ended, and what it said last.
fn said(test: &TestRecord) -> String {
    let last = [&test.stderr_tail, &test.stdout_tail]
        .into_iter()
        .find_map(|tail| tail.trim().lines().next_back());
    let last = test.reason.as_deref().or(last).unwrap_or_default();
    let last: String = last.chars().take(SAID).collect();
    let gap = if last.is_empty() { "" } else { ": " };
    format!("`{}` {}{gap}{last}", test.name, test.status)
}

fn checks(attack: &Attack, record: &TrialRecord) -> Vec<AttackCheck> {
    let check = |test: &TestRecord| {
        let purpose = attack.tests.iter().find(|one| one.name == test.name)?.purpose;
        Some(AttackCheck { name: test.name.clone(), purpose, status: test.status })
    };
    record.tests.iter().filter_map(check).collect()
}

fn limits(attack: &Attack) -> RoomLimits {
    let mut limits = RoomLimits::usual();
    for (name, limit) in &attack.limits {
        let place = match name.as_str() {
            "disk" => &mut limits.disk,
            "file_size" => &mut limits.file_size,
            "memory" => &mut limits.memory,
            _ => &mut limits.processes,
        };
        *place = Some(*limit);
    }
    limits
}
