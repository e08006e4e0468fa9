//! The developer's tasks of this repository: `cargo xtask TASK`.

mod engines;
mod fuzz;
mod harnesses;
mod packages;
mod sh;
mod test;
mod tidy;

use std::env;
use std::error::Error;
use std::process::ExitCode;

use crate::sh::Run;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const USAGE: &str = "\
usage: cargo xtask TASK

  test [--offline] [ARGS]           set up what the tests need and run them; ARGS go to the runner
  tidy                              check the rules that no compiler checks
  codegen [--check]                 write (or compare) the schemas and the command line's reference
  fuzz TARGET [--seconds N] [ARGS]  fuzz for N seconds (60); ARGS (paths from fuzz/) go to libFuzzer
  harnesses                         only install the pinned agent programs
  engines                           only install ClickHouse as a library
";

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for a terminal")]
fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let (task, rest) = args.split_first().map_or(("help", &[][..]), |(task, rest)| (task, rest));
    let done = match task {
        "test" => test::run(rest),
        "tidy" => tidy::run(),
        "codegen" => {
            sh::cargo(["run", "--quiet", "--package", "xtask-codegen", "--"]).args(rest).run()
        }
        "fuzz" => fuzz::run(rest),
        "harnesses" => harnesses::install(),
        "engines" => engines::install().map(|_| ()),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(())
        }
        other => Err(format!("there is no task {other:?}\n\n{USAGE}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
