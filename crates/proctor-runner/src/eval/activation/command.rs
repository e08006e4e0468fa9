//! `command`: a shell command that speaks the protocol, and says that it measures activation.

use std::time::{Duration, Instant};

use proctor_formats::eval::{FrontMatter, SKILL_FILE};
use proctor_model::eval::activation::Surface;
use proctor_model::eval::protocol::{Mode, PROTOCOL_VERSION, Request, RequestCase, SkillRef};

use super::check::check;
use super::contest::{Activator, Competitor, Contest, Measured, Proof};
use crate::eval::command::{NAME, Shell, Time};
use crate::eval::registry::Options;
use crate::eval::runner::{CallError, Told};

/// The longest that a command may take to say what it can do.
const PROBE_TIME: Duration = Duration::from_mins(1);

/// Turns of one run.
const MAX_TURNS: u64 = 1;

/// The activator.
struct Command {
    shell: Shell,
}

pub(super) fn build(options: &Options) -> Result<Box<dyn Activator>, String> {
    Shell::new(options).map(|shell| Box::new(Command { shell }) as Box<dyn Activator>)
}

impl Activator for Command {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reports_cost(&self) -> bool {
        true
    }

    fn proof_runs(&self) -> u64 {
        0
    }

    fn refuses(&self, _: &Contest<'_>) -> Option<String> {
        None
    }

    /// Asks for its capabilities. Whether firing is seen is for the command to know.
    fn prove(&self, contest: &Contest<'_>, tell: &mut dyn FnMut(Told)) -> Result<Proof, CallError> {
        let timeout = contest.call.timeout.min(PROBE_TIME);
        let time = Time { deadline: Instant::now() + timeout, timeout };
        let request = Request {
            mode: Mode::Capabilities,
            skill: SkillRef::default(),
            model: None,
            max_cost_usd: None,
            cases: Vec::new(),
            ..contest.call.request()
        };
        let refused = |why: String| {
            CallError::CannotRun(format!("runner `{NAME}` does not support activation mode: {why}"))
        };
        let answered = match self.shell.ask(contest.call.machine, &request, time, tell) {
            Ok(answered) => answered,
            Err(CallError::Interrupted) => return Err(CallError::Interrupted),
            Err(error) => {
                return Err(refused(format!("asked for its capabilities, it failed: {error}")));
            }
        };
        let response = &answered.response;
        let has = |words: &[String], word: &str| words.iter().any(|known| known == word);
        let activation = Mode::Activation.as_str();
        let native = Surface::Native.as_str();
        if response.version != PROTOCOL_VERSION {
            return Err(refused(format!(
                "it answers in version {} of the protocol; this is version {PROTOCOL_VERSION}",
                response.version
            )));
        }
        if !response.results.is_empty() {
            return Err(refused(
                "asked for its capabilities, it answered with results: it ran something".to_owned(),
            ));
        }
        if !has(&response.capabilities, activation) {
            return Err(refused(format!("its `capabilities` do not hold `{activation}`")));
        }
        if !has(&response.surfaces, native) {
            return Err(refused(format!("its `surfaces` do not hold `{native}`")));
        }
        Ok(Proof { warnings: answered.warnings, ..Proof::default() })
    }

    fn measure(
        &self,
        contest: &Contest<'_>,
        tell: &mut dyn FnMut(Told),
    ) -> Result<Measured, CallError> {
        let call = &contest.call;
        let time = Time { deadline: call.deadline, timeout: call.timeout };
        let mut answered = self.shell.ask(call.machine, &request(contest), time, tell)?;
        if let Err(error) = check(&answered.response, contest) {
            return Err(answered.refused(error));
        }
        let runs = answered.response.results.iter().flat_map(|r| [r.runs, r.errored_runs]);
        let runs = runs.flatten().filter_map(|runs| u64::try_from(runs).ok());
        Ok(Measured {
            // An answer without a run has its price, too.
            runs: runs.fold(0, u64::saturating_add).max(1),
            response: answered.response,
            warnings: answered.warnings,
            ..Measured::default()
        })
    }
}

/// The request of a contest. Fixtures, assertions and rubrics are not sent.
fn request(contest: &Contest<'_>) -> Request {
    let call = &contest.call;
    let runs = Some(u64::from(contest.runs.ceiling()));
    let skills: Vec<SkillRef> = contest.skills.iter().map(skill_ref).collect();
    let subject = skills.iter().find(|skill| skill.id == call.skill).cloned();
    let request = call.request();
    let cases = request.cases.into_iter().map(|case| RequestCase {
        files: Vec::new(),
        assertions: Vec::new(),
        rubric: None,
        rubric_items: None,
        rubric_min_score: None,
        target: Some(call.skill.to_owned()),
        runs,
        ..case
    });
    Request {
        mode: Mode::Activation,
        surface: Some(Surface::Native.as_str().to_owned()),
        skill: subject.unwrap_or(request.skill),
        skills,
        runs,
        max_turns: Some(MAX_TURNS),
        cases: cases.collect(),
        ..request
    }
}

fn skill_ref(skill: &Competitor) -> SkillRef {
    SkillRef {
        id: skill.id.clone(),
        dir: skill.folder.to_string(),
        digest: skill.digest.clone(),
        description: FrontMatter::load(&skill.folder.join(SKILL_FILE)).description,
    }
}
