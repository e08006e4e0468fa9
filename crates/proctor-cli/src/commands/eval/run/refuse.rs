//! What the command line cannot mean, told before anything is read.

use proctor_runner::eval::activation::names as activators;

use super::args::{Args, Format, Grader, Mode, Repetitions, ScopeName, SurfaceName};
use crate::error::CommandError;

/// Refuses arguments that do not go together.
pub(super) fn unfit(args: &Args) -> Result<(), CommandError> {
    match args.mode {
        Mode::Cases => unfit_for_cases(args),
        Mode::Activation => unfit_for_activation(args),
    }
}

fn unfit_for_cases(args: &Args) -> Result<(), CommandError> {
    let given = [
        ("--surface", args.surface.is_some()),
        ("--scope", args.scope != ScopeName::Domain),
        ("--description-from", args.description_from.is_some()),
        ("--against", args.against.is_some()),
        ("--runs auto", args.runs == Repetitions::Auto),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) {
        let message = format!("`{flag}` does not go with case runs");
        return Err(CommandError::usage(message)
            .hint("`--mode activation` measures which skill is chosen; leave the flag out else"));
    }
    let both = |name: &&String| super::choose::is_for_activation_alone(name);
    if let Some(name) = args.runner.as_ref().filter(both) {
        let message = format!("runner `{name}` measures activation and runs no cases");
        return Err(CommandError::usage(message).hint(
            "`--runner native` runs cases; `--mode activation --surface native` measures activation",
        ));
    }
    Ok(())
}

fn unfit_for_activation(args: &Args) -> Result<(), CommandError> {
    if args.grader == Grader::Builtin {
        return Err(CommandError::usage("activation has no rubrics to grade")
            .hint("leave out `--grader builtin`: only the choice of the skill is measured"));
    }
    let Some(surface) = args.surface else {
        return Err(CommandError::usage("`--mode activation` needs a `--surface`").hint(
            "`--surface retrieval` asks the built-in ranker, for free; `--surface native` asks a \
             real agent program",
        ));
    };
    if let Some(format @ (Format::Text | Format::Junit)) = args.format {
        let name = if format == Format::Text { "text" } else { "junit" };
        let message = format!("activation is not reported as {name}");
        return Err(CommandError::usage(message).hint("`--format markdown` or `--format json`"));
    }
    if args.ablation {
        return Err(CommandError::usage("`--ablation` does not go with activation")
            .hint("a skill that is not installed cannot be chosen"));
    }
    if args.against.is_some() && args.description_from.is_none() {
        return Err(CommandError::usage("`--against` needs a `--description-from`")
            .hint("`--description-from NEW --against OLD` compares two descriptions"));
    }
    if args.description_from.is_some() && args.skills.len() != 1 {
        let message = format!(
            "`--description-from` describes exactly one skill, and {} are named",
            args.skills.len()
        );
        return Err(CommandError::usage(message).hint("name the skill it is for"));
    }
    if args.description_from.is_some() && args.changed_only {
        return Err(CommandError::usage("`--changed-only` does not go with `--description-from`")
            .hint("the skill is measured with another description whether it changed or not"));
    }
    match surface {
        SurfaceName::Native => Ok(()),
        SurfaceName::Retrieval => unfit_for_retrieval(args),
    }
}

fn unfit_for_retrieval(args: &Args) -> Result<(), CommandError> {
    let given = [
        ("--runner", args.runner.is_some()),
        ("--runner-command", args.runner_command.is_some()),
        ("--runs", args.runs != Repetitions::Usual),
    ];
    let Some((flag, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let message = format!("`{flag}` does not go with `--surface retrieval`");
    let hint = format!(
        "the built-in ranker gives the same answer every time; `--surface native` has a runner: {}",
        activators().join(", ")
    );
    Err(CommandError::usage(message).hint(hint))
}
