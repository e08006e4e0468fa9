//! Which runner a run has, and what it is.

use std::ffi::OsStr;

use camino::Utf8Path;
use proctor_runner::eval::activation::{self, Activator, activator as registered_activator};
use proctor_runner::eval::{self, Options, Runner, runner as registered};
use proctor_store::eval::{
    Programs, command_fingerprint, native_fingerprint, plugin_eval_fingerprint,
};

use super::args::{Args, Repetitions};
use crate::context::Context;
use crate::error::CommandError;

/// The runner that drives the eval command of Claude Code.
const PLUGIN_EVAL: &str = "claude-plugin-eval";
/// The runner that is a shell command.
const COMMAND: &str = "command";
/// The runner that is Proctor itself.
const NATIVE: &str = "native";
/// Asks Claude Code which skill it loads.
const CLAUDE_NATIVE: &str = "claude-native";
/// Asks Codex.
const CODEX_NATIVE: &str = "codex-native";

/// The runner that the arguments ask for.
pub(super) fn runner(args: &Args) -> Result<Box<dyn Runner>, CommandError> {
    let name = match (&args.runner, &args.runner_command) {
        (Some(name), _) => name.as_str(),
        (None, Some(_)) => COMMAND,
        (None, None) if args.harness == "claude" => PLUGIN_EVAL,
        (None, None) => {
            let message = format!("no runner is named for harness `{}`", args.harness);
            return Err(CommandError::usage(message)
                .hint("`--runner native`, or `--runner-command` with a command of your own"));
        }
    };
    refuse_two_runners(name, args)?;
    registered(name, &options(args)).map_err(CommandError::usage)
}

/// What measures activation with the harness that the arguments name.
pub(super) fn activator(args: &Args) -> Result<Box<dyn Activator>, CommandError> {
    let name = match (&args.runner, &args.runner_command, args.harness.as_str()) {
        (Some(name), _, _) => name.as_str(),
        (None, Some(_), _) => COMMAND,
        (None, None, "claude") => CLAUDE_NATIVE,
        (None, None, "codex") => CODEX_NATIVE,
        (None, None, harness) => {
            let message = format!("no runner measures activation with harness `{harness}`");
            return Err(CommandError::usage(message).hint(
                "`--runner-command` with a command of your own does; harnesses claude and codex have \
                 runners",
            ));
        }
    };
    refuse_two_runners(name, args)?;
    registered_activator(name, &options(args)).map_err(CommandError::usage)
}

/// Whether the runner of this name measures activation and does nothing else.
pub(super) fn is_for_activation_alone(name: &str) -> bool {
    activation::names().contains(&name) && !eval::names().contains(&name)
}

fn refuse_two_runners(name: &str, args: &Args) -> Result<(), CommandError> {
    if name == COMMAND || args.runner_command.is_none() {
        return Ok(());
    }
    let message = format!("`--runner-command` does not go with `--runner {name}`");
    Err(CommandError::usage(message).hint("leave one of the two out"))
}

/// What runners are told of the command line.
pub(super) fn options(args: &Args) -> Options {
    Options {
        harness: args.harness.clone(),
        command: args.runner_command.clone(),
        claude_bin: Some(args.claude_bin.clone()),
        codex_bin: Some(args.codex_bin.clone()),
        judge_model: args.judge_model.clone(),
        args: args.runner_arg.clone(),
        runs: match args.runs {
            Repetitions::Times(runs) => Some(runs.get()),
            Repetitions::Usual | Repetitions::Auto => None,
        },
        jobs: args.jobs,
    }
}

/// What the runner itself is, for the cache. Commands are looked for in `project`.
pub(super) fn fingerprint(
    runner: &dyn Runner,
    args: &Args,
    project: &Utf8Path,
    context: &Context,
) -> String {
    let programs =
        Programs { folder: project.as_std_path(), search: context.var("PATH").map(OsStr::new) };
    let runs = runner.runs_per_case();
    let extra = args.runner_arg.as_slice();
    match runner.name() {
        PLUGIN_EVAL => {
            let judge = args.judge_model.as_deref().unwrap_or_default();
            plugin_eval_fingerprint(&args.claude_bin, runs, judge, extra, &programs)
        }
        NATIVE => {
            let program = match args.harness.as_str() {
                "claude" => args.claude_bin.as_str(),
                "codex" => args.codex_bin.as_str(),
                _ => context.proctor.as_str(),
            };
            native_fingerprint(program, runs, extra, &programs)
        }
        _ => {
            let command = args.runner_command.as_deref().unwrap_or_default();
            command_fingerprint(command, &programs)
        }
    }
}

/// What the runner that measures activation is, for the cache.
pub(super) fn activation_fingerprint(
    name: &str,
    args: &Args,
    runs: u64,
    project: &Utf8Path,
    context: &Context,
) -> String {
    let programs =
        Programs { folder: project.as_std_path(), search: context.var("PATH").map(OsStr::new) };
    let program = match name {
        CLAUDE_NATIVE => args.claude_bin.as_str(),
        CODEX_NATIVE => args.codex_bin.as_str(),
        _ => {
            let command = args.runner_command.as_deref().unwrap_or_default();
            return command_fingerprint(command, &programs);
        }
    };
    native_fingerprint(program, runs, &args.runner_arg, &programs)
}
