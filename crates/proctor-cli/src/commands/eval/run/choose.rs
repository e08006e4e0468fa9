//! Which runner a run has, and what it is.

use std::ffi::OsStr;

use camino::Utf8Path;
use proctor_runner::eval::{Options, Runner, runner as registered};
use proctor_store::eval::{
    Programs, command_fingerprint, native_fingerprint, plugin_eval_fingerprint,
};

use super::args::{Args, Grader, Mode};
use crate::context::Context;
use crate::error::CommandError;

/// The runner that drives the eval command of Claude Code.
const PLUGIN_EVAL: &str = "claude-plugin-eval";
/// The runner that is a shell command.
const COMMAND: &str = "command";
/// The runner that is Proctor itself.
const NATIVE: &str = "native";

/// What the command line names and this version does not have.
pub(super) fn refuse_what_is_missing(args: &Args) -> Result<(), CommandError> {
    if args.mode == Mode::Activation {
        return Err(CommandError::usage("this version does not measure activation")
            .hint("leave out `--mode`: case runs tell whether skills fire, too"));
    }
    if args.grader == Grader::Builtin {
        return Err(CommandError::usage("this version has no grader of its own")
            .hint("leave out `--grader`: the runner grades rubrics"));
    }
    Ok(())
}

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
    if name != COMMAND && args.runner_command.is_some() {
        let message = format!("`--runner-command` does not go with `--runner {name}`");
        return Err(CommandError::usage(message).hint("leave one of the two out"));
    }
    let options = Options {
        harness: args.harness.clone(),
        command: args.runner_command.clone(),
        claude_bin: Some(args.claude_bin.clone()),
        codex_bin: Some(args.codex_bin.clone()),
        judge_model: args.judge_model.clone(),
        args: args.runner_arg.clone(),
        runs: (args.runs > 0).then_some(args.runs),
        jobs: args.jobs,
    };
    registered(name, &options).map_err(CommandError::usage)
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
