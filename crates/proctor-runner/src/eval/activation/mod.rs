//! Activation on the surface `native`: which skill a real agent program chooses for a prompt.
//!
//! [`activator`] gives a runner by its name, and [`run`] has it measure one skill after the other:
//! every competing skill is installed at once, each prompt is run several times, and a run ends with
//! the first turn. What a skill comes to is in its report when `each` is told of it.
//!
//! ```text
//! let activator = activator("claude-native", &options)?;       // refused: exit 1
//! if max_cost > 0 && !activator.reports_cost() { refuse }      // unless it is a dry run
//! // an estimate: `activator.proof_runs()` runs on top of prompts x `runs.ceiling()`
//! let ran = run(&settings, jobs, &mut observe, &mut each);     // jobs without a task are passed on
//! ```
//!
//! Before the first skill the activator is *proven*, once: a command is asked for its capabilities,
//! and a harness must load a canary and be seen to fire it. An instrument that cannot be proven gives
//! every skill an `error`, never a recall of 0.

mod canary;
mod check;
mod claude;
mod codex;
mod command;
mod contest;
mod flow;
mod harness;
mod native;
mod skills;
mod tally;
mod watch;
mod waves;

use proctor_model::nearest;

pub use contest::{Activator, Competitor, Contest, Measured, Proof, Runs};
pub use flow::{Job, Kept, Ran, Settings, SkillRun, Task, run};

use super::registry::{NoRunner, Options};

/// Repetitions of a prompt when nobody says how many.
pub const USUAL_RUNS: u32 = 5;

type Build = fn(&Options) -> Result<Box<dyn Activator>, String>;

/// Every activator, in the order in which they are listed to people.
const ACTIVATORS: &[(&str, Build)] = &[
    (claude::NAME, claude::build),
    (codex::NAME, codex::build),
    (super::command::NAME, command::build),
];

/// The names of the activators.
pub fn names() -> Vec<&'static str> {
    ACTIVATORS.iter().map(|(name, _)| *name).collect()
}

/// The activator with this name. Of the options, those of case runs alone have no say.
pub fn activator(name: &str, options: &Options) -> Result<Box<dyn Activator>, NoRunner> {
    match ACTIVATORS.iter().find(|(known, _)| *known == name) {
        Some((_, build)) => build(options).map_err(NoRunner::Unfit),
        None => Err(NoRunner::Unfit(unknown(name))),
    }
}

fn unknown(name: &str) -> String {
    let known = names();
    if super::names().contains(&name) {
        return format!(
            "runner `{name}` does not support activation mode; {} do",
            known.join(", ")
        );
    }
    let nearest = nearest(name, known.iter().copied());
    let suggestion =
        nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
    format!("activation is measured by {}, not by `{name}`{suggestion}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activators_are_found_by_name_and_others_are_told_apart() {
        let options = Options {
            harness: "claude".to_owned(),
            command: Some("true".to_owned()),
            ..Options::default()
        };
        let refused = |name: &str| activator(name, &options).err().map(|error| error.to_string());
        assert_eq!(refused("claude-native"), None);
        assert_eq!(refused("command"), None);
        insta::assert_snapshot!(refused("codex-native").unwrap(), @"runner `codex-native` runs harness `codex` only; say `--harness codex`");
        insta::assert_snapshot!(refused("claude-plugin-eval").unwrap(), @"runner `claude-plugin-eval` does not support activation mode; claude-native, codex-native, command do");
        insta::assert_snapshot!(refused("claud-native").unwrap(), @"activation is measured by claude-native, codex-native, command, not by `claud-native`; did you mean `claude-native`?");
    }
}
