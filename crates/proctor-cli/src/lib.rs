//! The command line of Proctor: arguments, settings, printing; one file a command.
//!
//! Commands hold no logic that a library user would need: they turn arguments into calls of the
//! crates below, and what those return into text, JSON and an exit code.

mod archive;
mod args;
mod ask;
mod ax_run_query;
mod commands;
mod context;
mod error;
mod git_of_tests;
mod interrupt;
mod judge;
mod printer;
mod progress;
mod settings;
mod store;
mod trials;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use proctor_model::ExitCode as Code;
use proctor_sandbox::launcher;

use crate::args::{Cli, usage_code};
use crate::context::Context;
use crate::printer::Printer;

/// The whole command line, for reference documentation, completions and tests.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with the arguments of this process.
///
/// Hidden forms come first, before any parsing, because each trial pays for them: `__launch` is the
/// small process that stands over each child, `__agent` is the built-in scripted agent, `__acp` the
/// client of agents that speak the Agent Client Protocol, `__clickhouse` the process in which
/// ClickHouse runs as a library, and tests find the program under the names
/// `ax-run-query` and `git`.
pub fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    if ax_run_query::is_asked_for(args.first()) {
        return exit(ax_run_query::main(&args));
    }
    if git_of_tests::is_asked_for(args.first()) {
        return exit(git_of_tests::main(&args));
    }
    match args.get(1..) {
        Some([form, rest @ ..]) if form == launcher::ARGUMENT => return exit(launcher::main(rest)),
        Some([form, rest @ ..]) if form == "__agent" => return exit(proctor_scripted::main(rest)),
        Some([form, rest @ ..]) if form == proctor_acp::ARGUMENT => {
            return exit(proctor_acp::main(rest));
        }
        Some([form, rest @ ..]) if form == proctor_clickhouse::local::ARGUMENT => {
            return exit(proctor_clickhouse::local::main(rest));
        }
        _ => {}
    }
    install_panic_message();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing can be done when even this cannot be printed.
            let _ = error.print();
            let code = if error.use_stderr() { usage_code(&args) } else { Code::SUCCESS };
            return ExitCode::from(code.0);
        }
    };
    let printer = Printer::new(cli.color);
    let context =
        Context::from_process(printer).map_err(|error| error.with_code(usage_code(&args)));
    let code = match context.and_then(|mut context| cli.run(&mut context)) {
        Ok(code) => code,
        Err(error) => error.report(printer),
    };
    ExitCode::from(code.0)
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(Code::BUG.0))
}

/// A panic is a bug of ours: say so, and leave the default report for whoever mends it.
fn install_panic_message() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        Printer::new(clap::ColorChoice::Auto).error(
            "this is a bug in proctor",
            &["please report it with the lines above and the output of `proctor --version`".into()],
        );
    }));
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }

    /// Help is as wide as 100 columns, and a longer line would leave a word of it alone on the next.
    #[test]
    fn lines_of_help_are_not_broken() {
        let mut commands = vec![super::command()];
        let mut lines = 0;
        while let Some(command) = commands.pop() {
            let name = command.get_name();
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines() {
                assert!(line.chars().count() <= 100, "{name}: {line}");
                lines += 1;
            }
            commands.extend(command.get_subcommands().cloned());
        }
        assert!(lines > 300, "{lines} lines");
    }
}
