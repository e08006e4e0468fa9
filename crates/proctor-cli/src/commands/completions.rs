//! `proctor completions`.

use clap_complete::{Shell, generate};
use proctor_model::ExitCode;

use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor completions`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor completions bash > ~/.local/share/bash-completion/completions/proctor
  proctor completions fish > ~/.config/fish/completions/proctor.fish")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: &Args, context: &mut Context) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    generate(args.shell, &mut crate::command(), "proctor", &mut script);
    context.printer.data(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}
