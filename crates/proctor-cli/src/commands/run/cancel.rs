//! `proctor run cancel`.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proctor_model::ExitCode;
use proctor_store::runs::StoredRun;

use super::find::find_run;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run cancel`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run cancel latest
  proctor run cancel greetings-01J

The run ends as if it had been interrupted: trials that are under way are given up, finished ones
stay, and `proctor run resume` goes on.

Exit codes: 0 it was told to end; 2 nobody works on it.")]
pub(crate) struct Args {
    /// The run.
    #[arg(value_name = "ID")]
    id: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let run = find_run(&args.id, context)?;
    let id = &run.plan.run_id;
    let idle = || CommandError::usage(format!("nobody works on run {id}"));
    let pid = run.worker.ok_or_else(idle)?;
    // The lock names who took it, and only its holder may be told to end: looked at once more, since
    // another process may have that number by now.
    if StoredRun::open(&run.folder).map_err(CommandError::usage)?.worker != Some(pid) {
        return Err(idle());
    }
    let number = i32::try_from(pid).ok().filter(|pid| *pid > 1);
    let number = number.ok_or_else(|| {
        CommandError::usage(format!("run {id} does not say which process works on it"))
            .hint("interrupt that process")
    })?;
    kill(Pid::from_raw(number), Signal::SIGTERM)
        .map_err(|error| CommandError::usage(format!("process {pid} cannot be told: {error}")))?;
    context.printer.note(&format!("process {pid} was told to end run {id}"));
    Ok(ExitCode::SUCCESS)
}
