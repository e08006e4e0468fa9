//! `proctor experiment create`.

use camino::Utf8PathBuf;
use clap::ValueEnum;
use proctor_formats::experiment::{CliInstall, Template, scaffold};
use proctor_model::ExitCode;
use proctor_model::experiment::Slug;

use super::common::write_new;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor experiment create`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor experiment create greetings
  proctor experiment create install-greet --template cli-install --cli greet \\
    --target-description 'a tool that greets' --install-docs https://example.com/install \\
    --install-command 'pip install greet' --smoke-command 'greet --version'

Exit codes: 0 written; 2 nothing was written.")]
pub(crate) struct Args {
    /// The id, which is also the file's name: a-z, 0-9 and `-`.
    #[arg(value_name = "NAME")]
    name: Slug,
    /// What it begins with.
    #[arg(long, value_name = "TEMPLATE", default_value = "starter")]
    template: Kind,
    /// Where to write it [default: NAME.yaml].
    #[arg(short, long, value_name = "FILE")]
    output: Option<Utf8PathBuf>,
    #[command(flatten)]
    cli_install: Inputs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// One agent, two prompts, two tests.
    Starter,
    /// Can an agent install a command-line tool?
    CliInstall,
}

/// What the template cli-install needs, all of it.
#[derive(clap::Args)]
#[command(next_help_heading = "Template cli-install")]
struct Inputs {
    /// The command's name.
    #[arg(long, value_name = "NAME", required_if_eq("template", "cli-install"))]
    cli: Option<String>,
    /// What the tool is, in a few words.
    #[arg(long, value_name = "TEXT", required_if_eq("template", "cli-install"))]
    target_description: Option<String>,
    /// Where its installation is documented.
    #[arg(long, value_name = "URL", required_if_eq("template", "cli-install"))]
    install_docs: Option<String>,
    /// The documented command.
    #[arg(long, value_name = "COMMAND", required_if_eq("template", "cli-install"))]
    install_command: Option<String>,
    /// A command that works once the tool is installed.
    #[arg(long, value_name = "COMMAND", required_if_eq("template", "cli-install"))]
    smoke_command: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let text = scaffold(&args.name, &template(args)?);
    let shown =
        args.output.clone().unwrap_or_else(|| Utf8PathBuf::from(format!("{}.yaml", args.name)));
    write_new(&context.cwd.join(&shown), &text)?;
    context.printer.data(&proctor_report::inert(&format!("{shown}\n")))?;
    context.printer.note(&format!("check it with: proctor experiment validate {shown}"));
    Ok(ExitCode::SUCCESS)
}

fn template(args: &Args) -> Result<Template, CommandError> {
    let Inputs { cli, target_description, install_docs, install_command, smoke_command } =
        &args.cli_install;
    let given = [cli, target_description, install_docs, install_command, smoke_command];
    match args.template {
        Kind::Starter if given.iter().any(|input| input.is_some()) => {
            let message = "the template `starter` takes none of the inputs of `cli-install`";
            Err(CommandError::usage(message).hint("add `--template cli-install`"))
        }
        Kind::Starter => Ok(Template::Starter),
        Kind::CliInstall => {
            for input in given.into_iter().flatten() {
                if input.trim().is_empty() || input.chars().any(char::is_control) {
                    let message = "every input of `cli-install` is some text on one line";
                    return Err(CommandError::usage(message));
                }
            }
            let text = |input: &Option<String>| input.clone().unwrap_or_default();
            Ok(Template::CliInstall(CliInstall {
                cli: text(cli),
                target_description: text(target_description),
                install_docs: text(install_docs),
                install_command: text(install_command),
                smoke_command: text(smoke_command),
            }))
        }
    }
}
