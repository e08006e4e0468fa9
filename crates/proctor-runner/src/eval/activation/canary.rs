//! The canary: a skill that any model would use for the prompt that it gets. Without it, nobody could
//! tell a skill that never fires from an instrument that never sees one fire.

use std::collections::BTreeSet;
use std::time::Instant;

use proctor_grade::eval::spend;
use proctor_model::Location;
use proctor_model::eval::ExpandedCase;
use proctor_model::eval::case::Place;
use proctor_model::eval::protocol::{Arm, PROTOCOL_VERSION, Response};

use super::contest::{Contest, Proof};
use super::harness::{Halt, RunEnd, Stage};
use super::native::Native;
use super::skills::{Installed, Lineup};
use super::tally::Tally;
use crate::archive::Keeping;
use crate::eval::purse::Purse;
use crate::eval::runner::Told;

/// Its id, with a number behind it when a skill has that id.
const ID: &str = "proctor-canary";

/// What it is asked: nothing that any other skill could be for.
const PROMPT: &str =
    "zanthorple: use the skill that is for the word zanthorple, and do nothing else.";

/// What it says of itself.
const DESCRIPTION: &str = "Always use this skill when the word zanthorple is mentioned. It is the only \
                           one that knows what to do about zanthorple.";

/// Runs until it is given up: one model in a moment of its own proves nothing.
const ATTEMPTS: u32 = 2;

/// Installs the canary among the skills of the contest, has the harness show that it loads them, and
/// then fires it once.
///
/// Any of the installed skills that fires proves as much, since a skill that wants to be used for
/// everything may come before the canary.
pub(super) fn prove(native: &Native, contest: &Contest<'_>, tell: &mut dyn FnMut(Told)) -> Proof {
    // What is wrong with skills is told with them.
    let lineup = Lineup::new(contest);
    let id = unused_id(&lineup.ids());
    let mut skills = lineup.skills;
    skills.push(canary(&id));
    let mut proof = Proof::default();
    let (stage, _) = match native.stage(contest, &skills, BTreeSet::from([id.clone()])) {
        Ok(staged) => staged,
        Err(why) => return Proof { broken: Some(why), ..proof },
    };
    match stage.withheld() {
        Ok(Some(withheld)) if !withheld.is_empty() => {
            return Proof { broken: Some(native.withheld(&withheld)), ..proof };
        }
        Ok(None) if native.harness.listing().is_some() => proof.warnings.push(format!(
            "this {} does not list the skills that it offers: that they load is known of those alone \
             that fire",
            stage.adapter.id()
        )),
        Ok(_) => {}
        Err(halt) => return halted(native, halt, proof),
    }
    let case = case(&id);
    Trial { native, contest, stage: &stage, case: &case }.run(proof, tell)
}

/// The firing half.
struct Trial<'a> {
    native: &'a Native,
    contest: &'a Contest<'a>,
    stage: &'a Stage<'a>,
    case: &'a ExpandedCase,
}

impl Trial<'_> {
    fn run(&self, mut proof: Proof, tell: &mut dyn FnMut(Told)) -> Proof {
        let id = &self.case.id;
        let purse = Purse::new(&self.contest.call);
        let mut tally = Tally::new(self.case);
        for run in 1..=ATTEMPTS {
            let Ok(left) = purse.left() else { break };
            let (case, arm) = (id.clone(), Arm::With);
            tell(Told::Session { case: case.clone(), arm, run });
            let model = self.contest.call.model;
            let end = self.stage.run(PROMPT, model, &mut Keeping::nothing());
            tell(Told::SessionEnded { case, arm, run });
            proof.runs += 1;
            let end = match end {
                Ok(end) => end,
                Err(halt) => {
                    proof = halted(self.native, halt, proof);
                    break;
                }
            };
            purse.pay(left, end.usage);
            proof.broken = self.failure(&end, run);
            if let Ok(fired) = &end.fired
                && let Some(other) = fired.iter().next().filter(|_| !fired.contains(id))
            {
                proof.warnings.push(format!(
                    "the canary did not fire, but `{other}` did for its prompt: what fires is seen"
                ));
            }
            proof.warnings.extend(end.warnings.iter().cloned());
            tally.count(Ok(end));
            if proof.broken.is_none() || Instant::now() >= self.contest.call.deadline {
                break;
            }
        }
        let response = Response {
            version: PROTOCOL_VERSION,
            results: vec![tally.result(id)],
            cost_usd: purse.guess(),
            ..Response::default()
        };
        proof.spend = spend(&response, self.contest.call.rates);
        proof
    }

    /// Why the run with this number proves nothing.
    fn failure(&self, end: &RunEnd, run: u32) -> Option<String> {
        let harness = self.stage.adapter.id();
        match &end.fired {
            Ok(fired) if !fired.is_empty() => None,
            Ok(_) => {
                let runs = if run == 1 { "1 run".to_owned() } else { format!("{run} runs") };
                Some(format!(
                    "the canary did not fire: in {runs}, {harness} was asked for exactly what the skill \
                     `{}` says that it must always be used for, and no skill was seen to load. Skills \
                     that are never seen to fire cannot be measured; try another `--model`, look at \
                     `--runner-arg`, and at whether this {harness} has skills at all",
                    self.case.id
                ))
            }
            Err(why) => Some(format!("the run of the canary failed: {why}")),
        }
    }
}

fn halted(native: &Native, halt: Halt, proof: Proof) -> Proof {
    match halt {
        Halt::Stopped(stopped) => Proof { stopped: Some(stopped), ..proof },
        Halt::Withheld(skills) => Proof { broken: Some(native.withheld(&skills)), ..proof },
    }
}

fn unused_id(taken: &BTreeSet<String>) -> String {
    let mut id = ID.to_owned();
    let mut number = 2;
    while taken.contains(&id) {
        id = format!("{ID}-{number}");
        number += 1;
    }
    id
}

fn canary(id: &str) -> Installed {
    let reduced = format!(
        "---\nname: {id}\ndescription: {DESCRIPTION}\n---\n\n# Canary\n\nSay `zanthorple` and stop.\n"
    );
    Installed { id: id.to_owned(), folder: None, reduced, described: DESCRIPTION.len() }
}

fn case(id: &str) -> ExpandedCase {
    ExpandedCase {
        id: id.to_owned(),
        description: None,
        prompt: PROMPT.to_owned(),
        expect_trigger: true,
        files: Vec::new(),
        assertions: Vec::new(),
        rubric: None,
        model: None,
        tags: Vec::new(),
        near_miss_of: None,
        place: Place { file: id.into(), location: Location { line: 1, column: 1 } },
    }
}
