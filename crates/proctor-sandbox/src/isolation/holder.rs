//! Proctor's side of the process that holds a sandbox.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::fcntl::{AT_FDCWD, OFlag, openat};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid};

use super::SandboxError;
use super::cgroup::Group;
use super::spec::WORKSPACE;
use super::stages::{FORGOTTEN, OUTER, overlay_options, word};
use crate::control::Control;
use crate::launcher::ARGUMENT;
use crate::tree::Process;

/// How long a step of the making may take on a crowded machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Of what bubblewrap says on its standard error this much is repeated.
const COMPLAINT: u64 = 2_000;

/// What is needed to make a sandbox.
pub(super) struct Plan<'a> {
    pub(super) exe: &'a Path,
    pub(super) bwrap: &'a Path,
    pub(super) overlays: Vec<Overlay>,
    /// What bubblewrap is told.
    pub(super) arguments: Vec<OsString>,
    pub(super) group: &'a Group,
}

/// An overlay to be mounted.
#[derive(Clone)]
pub(super) struct Overlay {
    /// The folder that has the two below; `None` when what is written is to be forgotten.
    pub(super) folder: Option<PathBuf>,
    /// The name of what takes the changes.
    pub(super) upper: &'static str,
    /// The name of that in which it works.
    pub(super) work: &'static str,
    /// What is below, the uppermost first.
    pub(super) lowers: Vec<PathBuf>,
    /// Where it goes.
    pub(super) target: PathBuf,
}

/// The first process of a sandbox. Dropping this ends it, and with it everything in the sandbox.
#[derive(Debug)]
pub(super) struct Holder {
    control: Arc<Control>,
    /// Bubblewrap, which waits for the first process outside.
    monitor: Child,
    pub(super) pid: i32,
    pub(super) start: u64,
}

impl Holder {
    pub(super) fn start(plan: &Plan<'_>) -> Result<Self, SandboxError> {
        let failed =
            |action: &'static str| move |source: io::Error| SandboxError::Io { action, source };
        let (ours, theirs) = Control::pair().map_err(failed("make a socket"))?;
        ours.be_careful(PATIENCE).map_err(|errno| failed("make a socket")(errno.into()))?;
        let mut command = Command::new(plan.exe);
        command.args([ARGUMENT, OUTER]);
        for Overlay { folder, upper, work, lowers, target } in &plan.overlays {
            match folder {
                Some(folder) => command.arg(folder),
                None => command.arg(FORGOTTEN),
            };
            command.arg(overlay_options(lowers, upper, work)).arg(target);
        }
        command.arg("--").arg(plan.bwrap).args(&plan.arguments);
        command.env_clear().current_dir("/").stdin(theirs.into_fd());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let monitor = command.spawn().map_err(failed("start the launcher"))?;
        // Our copy of their end, without which nobody would notice that they are gone.
        drop(command);
        let mut holder = Self { control: Arc::new(ours), monitor, pid: 0, start: 0 };
        holder.settle(plan.group)?;
        Ok(holder)
    }

    /// Goes along until the first process is there.
    fn settle(&mut self, group: &Group) -> Result<(), SandboxError> {
        let monitor = self.monitor.id();
        match self.control.hear_whom() {
            Some((said, _)) if said == word::APART => {}
            other => return Err(self.complaint(other)),
        }
        let mapped = write_maps(monitor).and_then(|()| group.admit(monitor));
        mapped.map_err(|source| SandboxError::Io { action: "map its users", source })?;
        self.control.say(word::MAPPED);
        match self.control.hear_whom() {
            Some((said, pid)) if said == word::READY => {
                let gone = || SandboxError::Ended { said: "its first process is gone".into() };
                self.pid = pid;
                self.start = Process::read(pid).ok_or_else(gone)?.start;
                Ok(())
            }
            other => Err(self.complaint(other)),
        }
    }

    /// What went wrong, from what was said instead of the expected.
    fn complaint(&mut self, said: Option<(String, i32)>) -> SandboxError {
        if let Some((said, _)) = said {
            let mut words = said.splitn(3, ' ');
            if let (Some(word::FAILED), Some(errno), Some(step)) =
                (words.next(), words.next(), words.next())
            {
                let errno = errno.parse().unwrap_or(0);
                let source = io::Error::from_raw_os_error(errno);
                return SandboxError::Step { step: step.to_owned(), source };
            }
        }
        self.control.hang_up();
        let _ = self.monitor.kill();
        let mut text = Vec::new();
        if let Some(stderr) = self.monitor.stderr.take() {
            let _ = stderr.take(COMPLAINT).read_to_end(&mut text);
        }
        SandboxError::Ended { said: String::from_utf8_lossy(&text).trim().to_owned() }
    }

    /// The socket by which everything can be ended from elsewhere.
    pub(super) fn control(&self) -> Arc<Control> {
        Arc::clone(&self.control)
    }

    /// The workspace as the processes of the sandbox see it.
    pub(super) fn workspace(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/{}/root{WORKSPACE}", self.pid);
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let folder = openat(AT_FDCWD, path.as_str(), flags, Mode::empty())?;
        // The number may have become another process's meanwhile.
        match Process::read(self.pid) {
            Some(process) if process.start == self.start => Ok(folder),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Stops everything in the sandbox while `work` goes on.
    pub(super) fn while_stopped<T>(&self, work: impl FnOnce() -> T) -> Result<T, SandboxError> {
        self.control.say(word::STOP);
        match self.control.hear_whom() {
            Some((said, _)) if said == word::STOPPED => {}
            Some((said, _)) if said == word::RUNNING => return Err(SandboxError::NotStopped),
            _ => return Err(SandboxError::Ended { said: "its first process is gone".into() }),
        }
        let result = work();
        self.control.say(word::GO_ON);
        Ok(result)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.control.hang_up();
        // Bubblewrap ends when the first process has, and that one when no other is left.
        let _ = self.monitor.wait();
    }
}

/// Says who is who in a user namespace (`user_namespaces(7)`): for root everybody is who they are;
/// who is not root is the only one there is, and root in it.
fn write_maps(pid: u32) -> io::Result<()> {
    let file = |name: &str| format!("/proc/{pid}/{name}");
    if geteuid().is_root() {
        // As far as this process's own namespace goes.
        fs::write(file("uid_map"), whole_map(&fs::read_to_string("/proc/self/uid_map")?))?;
        return fs::write(file("gid_map"), whole_map(&fs::read_to_string("/proc/self/gid_map")?));
    }
    fs::write(file("setgroups"), "deny")?;
    fs::write(file("uid_map"), format!("0 {} 1\n", geteuid()))?;
    fs::write(file("gid_map"), format!("0 {} 1\n", getegid()))
}

/// A map that leaves every number that this namespace has as it is.
fn whole_map(own: &str) -> String {
    let lines = own.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        let (inside, _, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some([inside, " ", inside, " ", count, "\n"].concat())
    });
    lines.collect()
}
