//! The top of the command line.

use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory as _, Parser, Subcommand, ValueEnum};
use proctor_model::ExitCode;

use crate::commands;
use crate::context::Context;
use crate::error::CommandError;

/// Proctor examines AI agents: it gives an agent a task in a room of its own, watches the time and
/// the budget, and marks the result by rules.
#[derive(Parser)]
#[command(name = "proctor", version, max_term_width = 100, propagate_version = true)]
#[command(after_help = "Start with `proctor demo`. Each command has `--help` with examples.")]
pub(crate) struct Cli {
    /// When to use colours.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Test whether installed guidance arrives and leaves the right files.
    #[command(
        subcommand,
        visible_alias = "ai",
        after_help = "Examples:
  proctor conformance test --source ../AI --install-only
  proctor conformance install --source ../AI --profiles cratis/chronicle --harnesses claude"
    )]
    Conformance(commands::conformance::Command),
    /// Evaluate skills: whether they fire when they should, and whether they help.
    #[command(subcommand)]
    Eval(commands::eval::Command),
    /// Check the model that grades answers.
    #[command(
        subcommand,
        after_help = "Examples:
  proctor judge calibrate --labels labels.jsonl --dry-run"
    )]
    Judge(commands::judge::Command),
    /// Run agents, models, prompts and products against each other, graded by scripts.
    #[command(
        subcommand,
        after_help = "Examples:
  proctor experiment create greetings
  proctor experiment validate greetings.yaml
  proctor experiment variants greetings.yaml
  proctor experiment run greetings.yaml --mock"
    )]
    Experiment(commands::experiment::Command),
    /// Look at runs, go on with them, test them again.
    #[command(
        subcommand,
        after_help = "Examples:
  proctor run list
  proctor run view latest --tests
  proctor run resume"
    )]
    Run(commands::run::Command),
    /// Ask what happened in the runs of the project, in SQL.
    Query(commands::query::Args),
    /// What answers questions in SQL: which engines there are, and installing ClickHouse.
    #[command(
        subcommand,
        after_help = "Examples:
  proctor engine list
  proctor engine install clickhouse"
    )]
    Engine(commands::engine::Command),
    /// Let hostile agents loose on the sandboxes of this machine, and say which of them got through.
    Attack(commands::attack::Args),
    /// Hold two runs, or the agents of one, against each other.
    Compare(commands::compare::Args),
    /// Say what so many trials can show, before they are paid for.
    Power(commands::power::Args),
    /// Bundle skills as a plugin of Claude Code, and check such a bundle.
    #[command(subcommand)]
    Plugin(commands::plugin::Command),
    /// Score recorded runs of memory systems.
    Score(commands::score::Args),
    /// Rank the skills of the project by the words of a query.
    Search(commands::search::Args),
    /// Look at what an agent session did.
    #[command(
        subcommand,
        after_help = "Examples:
  proctor transcript show --harness claude session.jsonl"
    )]
    Transcript(commands::transcript::Command),
    /// Lay out a sample project in a temporary folder, test it, and print the report.
    Demo(commands::demo::Args),
    /// Print a completion script for a shell.
    Completions(commands::completions::Args),
}

impl Cli {
    pub(crate) fn run(self, context: &mut Context) -> Result<ExitCode, CommandError> {
        match self.command {
            Command::Conformance(command) => command.run(context),
            Command::Eval(command) => command.run(context),
            Command::Judge(command) => command.run(context),
            Command::Experiment(command) => command.run(context),
            Command::Run(command) => command.run(context),
            Command::Query(args) => commands::query::run(&args, context),
            Command::Engine(command) => command.run(context),
            Command::Attack(args) => commands::attack::run(&args, context),
            Command::Compare(args) => commands::compare::run(&args, context),
            Command::Power(args) => commands::power::run(&args, context),
            Command::Plugin(command) => command.run(context),
            Command::Score(args) => commands::score::run(&args, context),
            Command::Search(args) => commands::search::run(&args, context),
            Command::Transcript(command) => command.run(context),
            Command::Demo(args) => commands::demo::run(&args, context),
            Command::Completions(args) => commands::completions::run(&args, context),
        }
    }
}

/// The exit code of wrong usage, which is that of the command for which the arguments are meant, as
/// far as one can tell from arguments that are wrong.
pub(crate) fn usage_code(args: &[OsString]) -> ExitCode {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(args);
    match matches.as_ref().ok().and_then(clap::ArgMatches::subcommand_name) {
        Some("eval") => commands::eval::COULD_NOT_RUN,
        Some("judge") => commands::judge::COULD_NOT_RUN,
        Some("score") => commands::score::USAGE,
        _ => ExitCode::USAGE,
    }
}

/// How a command prints its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// For programs: one JSON document on standard output.
    Json,
}
