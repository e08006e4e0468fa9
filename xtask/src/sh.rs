//! Other programs, and where things are.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace's root").to_owned()
}

/// Says what is being done, on standard error.
#[expect(clippy::print_stderr, reason = "a program for a terminal")]
pub(crate) fn say(what: &str) {
    eprintln!("xtask: {what}");
}

/// A program that runs in the root of the workspace.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// The cargo that runs this task.
pub(crate) fn cargo<const N: usize>(args: [&str; N]) -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args);
    command
}

/// Whether a program of this name is on the `PATH`.
pub(crate) fn is_installed(name: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| directory.join(name).is_file())
}

/// Runs of a [`Command`] whose failure names it.
pub(crate) trait Run {
    /// Runs it with this process's input and output; an exit code other than 0 is an error.
    fn run(&mut self) -> Result;

    /// Runs it and returns its standard output.
    fn read(&mut self) -> Result<String>;
}

impl Run for Command {
    fn run(&mut self) -> Result {
        let status = self.status().map_err(|error| cannot_start(self, &error))?;
        if status.success() { Ok(()) } else { Err(format!("`{}`: {status}", words(self)).into()) }
    }

    fn read(&mut self) -> Result<String> {
        let output = self.output().map_err(|error| cannot_start(self, &error))?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{}`: {}\n{}", words(self), output.status, said.trim_end()).into())
    }
}

fn cannot_start(command: &Command, error: &io::Error) -> String {
    format!("`{}` cannot be started: {error}", words(command))
}

fn words(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_command() {
        assert_eq!(program("echo").arg("a b").read().unwrap(), "a b\n");
        let error = program("sh").args(["-c", "echo no >&2; exit 3"]).read().unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no >&2; exit 3`: exit status: 3\nno");
        let error = program("no-such-program").run().unwrap_err().to_string();
        assert!(error.starts_with("`no-such-program` cannot be started: "), "{error}");
    }

    #[test]
    fn programs_are_looked_up_on_the_path() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
    }
}
