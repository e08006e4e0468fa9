//! Runs of the `proctor` binary in a sealed project, with output that is the same everywhere.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use regex::Regex;

use crate::harness::{SealedHome, workspace_root};

/// A project directory beside a [`SealedHome`], and the binary to run in it.
#[derive(Debug)]
pub struct TestContext {
    home: SealedHome,
    project: PathBuf,
    proctor: PathBuf,
    filters: Vec<(Regex, String)>,
}

impl TestContext {
    /// An empty project for the binary `proctor`: `env!("CARGO_BIN_EXE_proctor")` in a test of
    /// the CLI.
    pub fn new(proctor: impl Into<PathBuf>) -> Self {
        Self::in_home(proctor, SealedHome::new())
    }

    /// An empty project in `home`, for tests with a real agent program.
    ///
    /// # Panics
    ///
    /// When the project's directory cannot be made.
    pub fn in_home(proctor: impl Into<PathBuf>, home: SealedHome) -> Self {
        let project = home.root().join("project");
        fs::create_dir(&project).expect("a directory in the sealed home");
        let mut context = Self { home, project, proctor: proctor.into(), filters: Vec::new() };
        for (path, name) in [
            (context.project.clone(), "[PROJECT]"),
            (context.home.root().to_owned(), "[SEALED]"),
            (workspace_root(), "[WORKSPACE]"),
        ] {
            context.add_filter(&regex::escape(&path.to_string_lossy()), name);
        }
        context.add_filter(r"\b\d+(\.\d+)? ?(ns|µs|us|ms|s|min)\b", "[TIME]");
        let version = regex::escape(env!("CARGO_PKG_VERSION"));
        context.add_filter(&format!(r"\b{version}\b"), "[VERSION]");
        context
    }

    /// The sealed home, to set variables and add programs.
    pub fn home(&mut self) -> &mut SealedHome {
        &mut self.home
    }

    /// The project's directory, in which the binary runs.
    pub fn project(&self) -> &Path {
        &self.project
    }

    /// Writes a file of the project, with the directories above it.
    ///
    /// # Panics
    ///
    /// When that fails.
    pub fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
        let path = self.project.join(path);
        let parent = path.parent().expect("a file has a parent");
        fs::create_dir_all(parent).expect("directories in the project");
        fs::write(path, contents).expect("a file in the project");
    }

    /// Reads a file of the project.
    ///
    /// # Panics
    ///
    /// When it is missing or no UTF-8.
    pub fn read(&self, path: &str) -> String {
        let path = self.project.join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// The binary in the project with the sealed environment and an empty standard input.
    pub fn proctor_cmd(&self) -> Command {
        let mut command = self.home.command(&self.proctor);
        command.current_dir(&self.project);
        command
    }

    /// Runs the binary with `args`.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Run {
        self.run_command(self.proctor_cmd().args(args))
    }

    /// Runs a command made from [`TestContext::proctor_cmd`].
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn run_command(&self, command: &mut Command) -> Run {
        let Output { status, stdout, stderr } = command.output().expect("a program that starts");
        Run {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()),
            stdout: self.filter(&String::from_utf8_lossy(&stdout)),
            stderr: self.filter(&String::from_utf8_lossy(&stderr)),
        }
    }

    /// Replaces what matches `pattern` in every later output, after the filters there are.
    ///
    /// # Panics
    ///
    /// When `pattern` is no regular expression.
    pub fn add_filter(&mut self, pattern: &str, replacement: &str) {
        let pattern = Regex::new(pattern).expect("a regular expression");
        self.filters.push((pattern, replacement.to_owned()));
    }

    /// `text` with what differs from run to run replaced: paths, times, the version.
    pub fn filter(&self, text: &str) -> String {
        let apply = |text: String, (pattern, replacement): &(Regex, String)| {
            pattern.replace_all(&text, replacement.as_str()).into_owned()
        };
        self.filters.iter().fold(text.to_owned(), apply)
    }
}

/// How a run ended and what it printed, with the filters applied; its `Display` is for snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "an outcome that nobody looks at tests nothing"]
pub struct Run {
    /// The exit code; 128 and the signal's number for a process that a signal killed.
    pub code: i32,
    /// The standard output.
    pub stdout: String,
    /// The standard error.
    pub stderr: String,
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { code, stdout, stderr } = self;
        write!(formatter, "exit {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_filtered() {
        let mut context = TestContext::new("/bin/sh");
        context.add_filter("pear", "apple");
        context.write("a/b", "text");
        assert_eq!(context.read("a/b"), "text");
        let script = format!(
            "pwd; echo $HOME; echo {}/x >&2; echo took 1.25s, 3 ms; echo proctor {} pear; exit 3",
            workspace_root().display(),
            env!("CARGO_PKG_VERSION")
        );
        let run = context.run(["-c", &script]);
        assert_eq!(
            run.to_string(),
            "exit 3\n--- stdout\n[PROJECT]\n[SEALED]/home\ntook [TIME], [TIME]\nproctor [VERSION] apple\n\
             --- stderr\n[WORKSPACE]/x\n"
        );
    }

    #[test]
    fn a_signal_shows_in_the_code() {
        let context = TestContext::new("/bin/sh");
        assert_eq!(context.run(["-c", "kill -9 $$"]).code, 137);
    }
}
