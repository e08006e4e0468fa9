//! What every runner has in common: what it is asked, what it answers, and how a call can fail.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_grade::eval::{ArmResult, Rates, RubricBy};
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::protocol::{
    Arm, CaseResult, Mode, PROTOCOL_VERSION, Request, RequestCase, Response, SkillRef,
};
use proctor_redact::Redactor;
use proctor_sandbox::{Cancel, Launcher, Rooms};

use super::answer::AnswerError;
use super::kept::Kept;
use crate::archive::Archive;

/// Runs the cases of one skill after the other.
pub trait Runner: Sync {
    /// The name that people write and records keep.
    fn name(&self) -> &'static str;

    /// How often an agent is started for one case in one arm, for estimates.
    fn runs_per_case(&self) -> u64;

    /// Runs the cases of one skill. What happens meanwhile goes to `tell`, on this thread.
    ///
    /// # Errors
    ///
    /// [`CallError`] when there is no answer that can be believed as a whole. What concerns one case
    /// alone is an error in the result of that case.
    fn run(&self, call: &Call<'_>, tell: &mut dyn FnMut(Told)) -> Result<Answer, CallError>;
}

/// What runs need of the machine.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Starts and kills process trees.
    pub launcher: &'a Launcher,
    /// Where workspaces are made.
    pub rooms: &'a Rooms,
    /// The environment that runners and harnesses are given, in whole or in part.
    pub env: &'a BTreeMap<String, String>,
    /// Applied to everything that is told or reported.
    pub redactor: &'a Redactor,
    /// Ends the run early.
    pub cancel: &'a Cancel,
    /// The `proctor` program, for the scripted agent.
    pub proctor: &'a Utf8Path,
    /// The project root.
    pub project: &'a Utf8Path,
    /// Keeps the sessions that Proctor itself runs.
    pub archive: Option<&'a dyn Archive>,
}

/// One skill to be run.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    /// The id of the skill.
    pub skill: &'a str,
    /// Its folder, absolute.
    pub folder: &'a Utf8Path,
    /// Its digest.
    pub digest: &'a str,
    /// Its eval folders: no part of the skill, and nothing that an agent may see.
    pub eval_folders: &'a [Utf8PathBuf],
    /// Its cases, near misses included.
    pub cases: &'a [ExpandedCase],
    /// The harness.
    pub harness: &'a str,
    /// The model; `None` leaves it to the harness.
    pub model: Option<&'a str>,
    /// Whether each case is run without the skill too.
    pub ablation: bool,
    /// US dollars that are left; `None` means no limit.
    pub max_cost_usd: Option<f64>,
    /// What tokens cost, for a harness that does not say what it cost.
    pub rates: Rates,
    /// How long the call may take.
    pub timeout: Duration,
    /// When that time is up.
    pub deadline: Instant,
    /// Whether the commands of cases may be run.
    pub allow_exec: bool,
    /// Who grades rubrics. The built-in grader does so after the call, from the answers.
    pub rubrics: RubricBy,
    /// The machine.
    pub machine: Machine<'a>,
}

impl Call<'_> {
    /// The request in the words of the protocol.
    pub fn request(&self) -> Request {
        Request {
            version: PROTOCOL_VERSION,
            mode: Mode::Cases,
            surface: None,
            skill: SkillRef {
                id: self.skill.to_owned(),
                dir: self.folder.to_string(),
                digest: self.digest.to_owned(),
                description: None,
            },
            skills: Vec::new(),
            harness: self.harness.to_owned(),
            model: self.model.map(str::to_owned),
            runs: None,
            max_turns: None,
            ablation: self.ablation,
            max_cost_usd: self.max_cost_usd,
            cases: self.cases.iter().map(RequestCase::from).collect(),
        }
    }

    /// The results of a case that the runner cannot run.
    pub(super) fn skipped(
        &self,
        case: &ExpandedCase,
        reason: &str,
    ) -> impl Iterator<Item = CaseResult> {
        self.arms().iter().map(|arm| CaseResult {
            case: case.id.clone(),
            arm: arm.as_str().to_owned(),
            skipped: Some(true),
            reason: Some(reason.to_owned()),
            ..CaseResult::default()
        })
    }

    /// The arms in which its cases are run.
    pub fn arms(&self) -> &'static [Arm] {
        if self.ablation { &[Arm::With, Arm::Without] } else { &[Arm::With] }
    }
}

/// What a runner answers.
#[derive(Debug, Default)]
pub struct Answer {
    /// What happened, in the words of the protocol; it holds what [`super::answer::check`] asks.
    pub response: Response,
    /// Arms that the runner judged itself, while the workspace was there. The others are judged from
    /// the response.
    pub judged: BTreeMap<(String, Arm), ArmResult>,
    /// Arms of which the built-in grader has yet to grade the answers, run by run. They are not in
    /// `judged`.
    pub to_grade: BTreeMap<(String, Arm), Vec<JudgedRun>>,
    /// The version of the harness, where the runner knows.
    pub harness_version: Option<String>,
    /// With the skill: the skills that loaded for each case, in order, where the runner knows.
    pub fired: BTreeMap<String, Vec<String>>,
    /// What a reader should know beside the results.
    pub warnings: Vec<String>,
}

/// One run of a case in one arm, judged but for its rubric.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRun {
    /// What it came to.
    pub judged: ArmResult,
    /// What the agent answered; `None` when it said nothing.
    pub answer: Option<String>,
    /// The session as it is kept, if it is.
    pub kept: Option<Box<Kept>>,
}

/// What a runner says while it works. Texts are redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A line that the runner wrote to its standard error.
    Stderr(String),
    /// A session of an agent began.
    Session {
        /// The case.
        case: String,
        /// With the skill, or without it.
        arm: Arm,
        /// Which of the case's runs, from 1.
        run: u32,
    },
    /// A session of an agent is over.
    SessionEnded {
        /// The case.
        case: String,
        /// With the skill, or without it.
        arm: Arm,
        /// Which of the case's runs, from 1.
        run: u32,
    },
}

/// Why there is no answer for a skill. Nothing of such a call is scored.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It could not be started.
    #[error("the runner could not be started: {0}")]
    NotStarted(String),
    /// It does not do what it is needed for, whatever the skill.
    #[error("{0}")]
    CannotRun(String),
    /// The time was up.
    #[error(
        "the runner was ended after {}, and what it had done does not count; raise `--timeout`{}",
        seconds(*.timeout), last_words(.said)
    )]
    TimedOut {
        /// How long it had.
        timeout: Duration,
        /// Its last words on standard error.
        said: String,
    },
    /// Somebody interrupted the run.
    #[error("interrupted before the runner was done")]
    Interrupted,
    /// It exited with another code than 0.
    #[error(
        "the runner exited with code {code}{}{}",
        if *.answered { " after a whole answer, which does not count" } else { "" }, last_words(.said)
    )]
    Exited {
        /// The code.
        code: i32,
        /// Whether there was a whole answer nevertheless.
        answered: bool,
        /// Its last words on standard error.
        said: String,
    },
    /// A signal ended it.
    #[error("the runner was ended by signal {signal}{}", last_words(.said))]
    Signaled {
        /// The signal.
        signal: i32,
        /// Its last words on standard error.
        said: String,
    },
    /// It ended and left the work to processes in the background, which were killed.
    #[error(
        "the runner ended without a whole answer and left processes behind, which were killed \
         ({}); it must wait for its work and then answer", .left.join(", ")
    )]
    ForkedAway {
        /// The names of the processes.
        left: Vec<String>,
    },
    /// What it printed is no answer.
    #[error("{error}{}", last_words(.said))]
    Answer {
        /// What is wrong with it.
        error: AnswerError,
        /// Its last words on standard error.
        said: String,
    },
    /// It ended, and left no result where it should.
    #[error("the runner exited with code {code} and left no result{}", last_words(.said))]
    NoResult {
        /// The code.
        code: i32,
        /// Its last words on standard error.
        said: String,
    },
    /// It stopped at the budget. What it had done is a chance selection of the runs.
    #[error(
        "the runner stopped at its budget of ${usd} before every case was run, and what it had done \
         does not count; raise `--max-cost`"
    )]
    OverBudget {
        /// The budget.
        usd: f64,
    },
    /// It stopped early. What it had done is a chance selection of the runs.
    #[error(
        "the runner stopped before every case was run, and what it had done does not count: {reason}"
    )]
    Partial {
        /// Why, in its words.
        reason: String,
    },
    /// The skill took no part, so that nothing was measured.
    #[error("the skill was not loaded, so that nothing was measured: {problem}")]
    NotLoaded {
        /// Why, in the words of the harness.
        problem: String,
    },
    /// The machine is at fault.
    #[error("{0}")]
    Machine(String),
}

/// The end of a message that quotes the last words of a runner.
fn last_words(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("; its last words: {words}") }
}

/// A duration as people write it.
fn seconds(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}
