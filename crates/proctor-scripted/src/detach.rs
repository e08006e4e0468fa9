//! Leaving a process behind.
//!
//! A process can become the leader of a session, or an orphan, only by itself; so the agent starts
//! itself once more, as `__agent --detach [--setsid] [--double-fork] -- PROGRAM ARGS...`.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{self, Stdio};

use nix::unistd::setsid;

use crate::ARGUMENT;
use crate::script::Detached;

const DETACH: &str = "--detach";
const SETSID: &str = "--setsid";
const DOUBLE_FORK: &str = "--double-fork";

/// What the second process is to do.
pub(crate) struct Command<'a> {
    setsid: bool,
    double_fork: bool,
    run: &'a [OsString],
}

impl<'a> Command<'a> {
    /// `None` when this is not that second process.
    pub(crate) fn parse(args: &'a [OsString]) -> Option<Self> {
        let (first, mut rest) = args.split_first()?;
        if first != DETACH {
            return None;
        }
        let (mut setsid, mut double_fork) = (false, false);
        while let Some((option, others)) = rest.split_first() {
            rest = others;
            match option.to_str() {
                Some(SETSID) => setsid = true,
                Some(DOUBLE_FORK) => double_fork = true,
                Some("--") => return Some(Self { setsid, double_fork, run: rest }),
                _ => return None,
            }
        }
        None
    }

    /// Returns the exit code of this second process, when it does not become the program.
    pub(crate) fn obey(&self) -> i32 {
        let Some((program, args)) = self.run.split_first() else { return 2 };
        if self.setsid {
            // It fails only for a leader of a group, which this process is not.
            let _ = setsid();
        }
        let mut command = process::Command::new(program);
        command.args(args);
        let failure = if self.double_fork {
            match command.spawn() {
                Ok(_) => return 0,
                Err(error) => error,
            }
        } else {
            command.exec()
        };
        let _ = writeln!(io::stderr(), "cannot run `{}`: {failure}", program.display());
        1
    }
}

/// Leaves the program of `step` behind.
pub(crate) fn leave(step: &Detached, run: &[String]) -> io::Result<()> {
    let mut command = process::Command::new(std::env::current_exe()?);
    command.args([ARGUMENT, DETACH]);
    if step.setsid {
        command.arg(SETSID);
    }
    if step.double_fork {
        command.arg(DOUBLE_FORK);
    }
    command.arg("--").args(run).stdin(Stdio::null());
    if !step.keep_pipes {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    let mut child = command.spawn()?;
    if step.double_fork {
        child.wait()?;
    }
    Ok(())
}
