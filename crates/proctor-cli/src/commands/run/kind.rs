//! Runs of other kinds than experiments: what cannot be done with them, and what to do instead.

use proctor_model::run::{RunKind, RunPlan};

use crate::error::CommandError;

/// The kinds of runs, as they are written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum KindName {
    /// Of `proctor experiment run`.
    Experiment,
    /// Of `proctor conformance test`.
    Conformance,
    /// Of `proctor eval run`.
    #[value(name = "skill_eval")]
    SkillEval,
    /// Of `proctor run import`.
    Imported,
}

impl KindName {
    /// The kind.
    pub(super) fn kind(self) -> RunKind {
        match self {
            Self::Experiment => RunKind::Experiment,
            Self::Conformance => RunKind::Conformance,
            Self::SkillEval => RunKind::SkillEval,
            Self::Imported => RunKind::Imported,
        }
    }
}

/// What somebody wants to do with the agents of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wish {
    /// Let those work that have not.
    Resume,
    /// Let them work once more.
    Rerun,
    /// Run tests over what they left.
    Retest,
}

/// Refuses what cannot be done with a run of its kind, and says what can.
pub(super) fn allow(plan: &RunPlan, wish: Wish) -> Result<(), CommandError> {
    match refusal(plan, wish) {
        None => Ok(()),
        Some((why, instead)) => Err(CommandError::usage(why).hint(instead)),
    }
}

/// Why not, and what to do instead.
fn refusal(plan: &RunPlan, wish: Wish) -> Option<(String, &'static str)> {
    let verb = match wish {
        Wish::Resume => "cannot go on",
        Wish::Rerun => "cannot be run again from here",
        Wish::Retest => "has no tests that could run again",
    };
    let (what, instead) = match (plan.kind, wish) {
        (RunKind::Experiment, _) | (RunKind::Imported, Wish::Retest) => return None,
        (RunKind::Conformance, _) => (
            "is one of `proctor conformance test` and",
            "`proctor conformance test --fixture NAME --harnesses ID` makes a new run",
        ),
        (RunKind::SkillEval, _) => (
            "is one of `proctor eval run` and",
            "`proctor eval run SKILL` makes a new run; `--force` repeats what has not changed",
        ),
        (RunKind::Imported, Wish::Resume | Wish::Rerun) => (
            "was imported, so its agents worked elsewhere: it",
            "`proctor run rerun ID --tests --experiment FILE` grades what they left",
        ),
    };
    Some((format!("run {} {what} {verb}", plan.run_id), instead))
}

#[cfg(test)]
mod tests {
    use proctor_model::run::{PLAN_VERSION, RunOptions};

    use super::*;

    #[test]
    fn every_kind_says_what_to_do_instead() {
        let mut said = Vec::new();
        for kind in
            [RunKind::Experiment, RunKind::Conformance, RunKind::SkillEval, RunKind::Imported]
        {
            let plan = RunPlan {
                schema_version: PLAN_VERSION,
                run_id: "r".to_owned(),
                kind,
                experiment_id: String::new(),
                created_at: 0,
                proctor_version: String::new(),
                retest_of: None,
                rerun_of: None,
                experiment_file: String::new(),
                experiment_digest: String::new(),
                options: RunOptions::default(),
                trials: Vec::new(),
            };
            for wish in [Wish::Resume, Wish::Rerun, Wish::Retest] {
                said.extend(refusal(&plan, wish).map(|(why, instead)| format!("{why}; {instead}")));
            }
        }
        insta::assert_snapshot!(said.join("\n"), @r"
        run r is one of `proctor conformance test` and cannot go on; `proctor conformance test --fixture NAME --harnesses ID` makes a new run
        run r is one of `proctor conformance test` and cannot be run again from here; `proctor conformance test --fixture NAME --harnesses ID` makes a new run
        run r is one of `proctor conformance test` and has no tests that could run again; `proctor conformance test --fixture NAME --harnesses ID` makes a new run
        run r is one of `proctor eval run` and cannot go on; `proctor eval run SKILL` makes a new run; `--force` repeats what has not changed
        run r is one of `proctor eval run` and cannot be run again from here; `proctor eval run SKILL` makes a new run; `--force` repeats what has not changed
        run r is one of `proctor eval run` and has no tests that could run again; `proctor eval run SKILL` makes a new run; `--force` repeats what has not changed
        run r was imported, so its agents worked elsewhere: it cannot go on; `proctor run rerun ID --tests --experiment FILE` grades what they left
        run r was imported, so its agents worked elsewhere: it cannot be run again from here; `proctor run rerun ID --tests --experiment FILE` grades what they left
        ");
    }
}
