//! How a program gets into a sandbox.
//!
//! The launcher starts this executable once more, already among the processes of the sandbox, as
//! `EXE __launch enter HOW CWD PROGRAM ARGS...`. It goes into the sandbox's other namespaces, gives
//! up what the program is not to have, and becomes the program. What goes wrong until then it
//! writes to descriptor 3, which closes by itself when the program starts; descriptor 4 means the
//! sandbox's first process.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File};
use std::io::Write as _;
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::prctl::{set_dumpable, set_no_new_privs};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Gid, Uid, chdir, execve, geteuid, setgroups, setresgid, setresuid};

use super::fence::{self, Fence};
use super::spec::{AGENT_ID, HOME, WORKSPACE};
use crate::control::Report;
use crate::spawn::{SpawnError, find_program};
use crate::sys;
use crate::tree::Process;

/// The word after `__launch` by which this is asked for.
pub(crate) const ENTER: &str = "enter";
/// Where it says what went wrong.
pub(crate) const STATUS_FD: RawFd = 3;
/// The sandbox's first process.
pub(crate) const HOLDER_FD: RawFd = 4;

/// What root inside keeps (`capabilities(7)`): to own, read and write every file there, to become
/// another user, to end processes, and to listen on low ports. Not to make devices, mount, trace,
/// or change the system.
const SETUP_CAPABILITIES: u64 = (1 << 0) // CHOWN
    | (1 << 1) // DAC_OVERRIDE
    | (1 << 3) // FOWNER
    | (1 << 4) // FSETID
    | (1 << 5) // KILL
    | (1 << 6) // SETGID
    | (1 << 7) // SETUID
    | (1 << 10); // NET_BIND_SERVICE

/// Which fence closes behind a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum FenceKind {
    /// None.
    #[default]
    Open,
    /// Inside a file tree of the trial's own: writing only where an agent writes.
    Inner,
    /// The only barrier that there is.
    Only {
        /// Where everything is allowed.
        writable: Vec<PathBuf>,
        /// What may be read beside the system.
        readable: Vec<PathBuf>,
        /// Whether TCP is allowed.
        network: bool,
    },
}

/// How to become the agent's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Become {
    /// As root does.
    Another,
    /// By a user namespace more, in which the only user there is has the agent's number.
    Renamed,
}

/// How a program enters. Travels as one word list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The sandbox's first process and when it started; `None` where there are no namespaces.
    pub(crate) holder: Option<(i32, u64)>,
    /// Whether its user namespace is joined by the program; otherwise the launcher has to.
    pub(crate) user_space: bool,
    /// Whether it has a network of its own.
    pub(crate) net_space: bool,
    /// How the program becomes the agent's user.
    pub(crate) agent: Option<Become>,
    /// Whether the program keeps the capabilities of root inside.
    pub(crate) root: bool,
    pub(crate) fence: FenceKind,
    pub(crate) processes: Option<u64>,
    pub(crate) open_files: Option<u64>,
    pub(crate) file_size: Option<u64>,
    /// `cgroup.procs` files to join.
    pub(crate) groups: Vec<PathBuf>,
}

impl Entry {
    /// As arguments; the paths among them are kept byte by byte.
    pub(crate) fn encode(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut word = |key: &str, value: &OsStr| {
            let mut word = OsString::from(key);
            word.push("=");
            word.push(value);
            words.push(word);
        };
        let text = |value: &dyn std::fmt::Display| OsString::from(value.to_string());
        if let Some((pid, start)) = self.holder {
            word("holder", &text(&format_args!("{pid}:{start}")));
        }
        for (key, on) in [
            ("user-space", self.user_space),
            ("net-space", self.net_space),
            ("another", self.agent == Some(Become::Another)),
            ("renamed", self.agent == Some(Become::Renamed)),
            ("root", self.root),
            ("inner", self.fence == FenceKind::Inner),
        ] {
            if on {
                word(key, "yes".as_ref());
            }
        }
        if let FenceKind::Only { writable, readable, network } = &self.fence {
            word("only", if *network { "network" } else { "files" }.as_ref());
            for path in writable {
                word("writable", path.as_os_str());
            }
            for path in readable {
                word("readable", path.as_os_str());
            }
        }
        for (key, limit) in [
            ("processes", self.processes),
            ("open-files", self.open_files),
            ("file-size", self.file_size),
        ] {
            if let Some(limit) = limit {
                word(key, &text(&limit));
            }
        }
        self.groups.iter().for_each(|path| word("group", path.as_os_str()));
        words
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(crate) fn decode(words: &[OsString]) -> Option<Self> {
        let mut entry = Self::default();
        for word in words {
            let bytes = word.as_bytes();
            let at = bytes.iter().position(|byte| *byte == b'=')?;
            let (key, value) = (std::str::from_utf8(&bytes[..at]).ok()?, &bytes[at + 1..]);
            let path = || PathBuf::from(OsStr::from_bytes(value));
            let number = || std::str::from_utf8(value).ok()?.parse::<u64>().ok();
            match key {
                "holder" => {
                    let (pid, start) = std::str::from_utf8(value).ok()?.split_once(':')?;
                    entry.holder = Some((pid.parse().ok()?, start.parse().ok()?));
                }
                "user-space" => entry.user_space = true,
                "net-space" => entry.net_space = true,
                "another" => entry.agent = Some(Become::Another),
                "renamed" => entry.agent = Some(Become::Renamed),
                "root" => entry.root = true,
                "inner" => entry.fence = FenceKind::Inner,
                "only" => {
                    entry.fence = FenceKind::Only {
                        writable: Vec::new(),
                        readable: Vec::new(),
                        network: value == b"network",
                    }
                }
                "writable" | "readable" => match &mut entry.fence {
                    FenceKind::Only { writable, .. } if key == "writable" => writable.push(path()),
                    FenceKind::Only { readable, .. } => readable.push(path()),
                    _ => return None,
                },
                "processes" => entry.processes = Some(number()?),
                "open-files" => entry.open_files = Some(number()?),
                "file-size" => entry.file_size = Some(number()?),
                "group" => entry.groups.push(path()),
                _ => return None,
            }
        }
        Some(entry)
    }

    /// The namespaces that the program itself goes into; that of the processes is the launcher's
    /// business, as it holds for children only.
    fn spaces(&self) -> CloneFlags {
        let mut spaces =
            CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
        spaces.set(CloneFlags::CLONE_NEWUSER, self.user_space);
        spaces.set(CloneFlags::CLONE_NEWNET, self.net_space);
        spaces
    }
}

/// Becomes the program, or says why not and returns. `args` are what follows [`ENTER`].
pub(crate) fn main(args: &[OsString]) -> i32 {
    let mut status = File::from(sys::inherited(STATUS_FD));
    let _ = fcntl(&status, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC));
    let report = enter(args);
    let _ = status.write_all(report.encode().as_bytes());
    127
}

fn enter(args: &[OsString]) -> Report {
    let Some(at) = args.iter().position(|arg| arg == "--") else {
        return Report::NotPrepared { errno: Errno::EINVAL as i32 };
    };
    let (words, rest) = (&args[..at], &args[at + 1..]);
    let (Some(entry), [cwd, program, args @ ..]) = (Entry::decode(words), rest) else {
        return Report::NotPrepared { errno: Errno::EINVAL as i32 };
    };
    // Nobody in the sandbox may look into this process while it is still half outside.
    let _ = set_dumpable(false);
    if let Err(errno) = entry.cross() {
        return Report::NotPrepared { errno: errno as i32 };
    }
    if let Err(errno) = chdir(cwd.as_os_str()) {
        return Report::NoFolder { errno: errno as i32 };
    }
    let program = match find_program(program, std::env::var_os("PATH").as_deref(), Path::new(cwd)) {
        Ok(program) => program,
        Err(SpawnError::NotFound { .. }) => return Report::NotFound,
        Err(_) => return Report::NotStarted { errno: Errno::EACCES as i32 },
    };
    if let Err(errno) = entry.give_up() {
        return Report::NotPrepared { errno: errno as i32 };
    }
    let errno = run(program.as_os_str(), args).unwrap_or_else(|errno| errno);
    Report::NotStarted { errno: errno as i32 }
}

impl Entry {
    /// Makes this process's children processes of the sandbox, and returns its first process.
    ///
    /// Who is not root must join the user namespace for that, as root there, and then the program
    /// need not.
    pub(crate) fn join_processes(&self) -> nix::Result<Option<OwnedFd>> {
        let Some((pid, start)) = self.holder else { return Ok(None) };
        let holder = sys::process_descriptor(pid).map_err(|error| errno(&error))?;
        // From here on the descriptor means one process, and this says which.
        if Process::read(pid).is_none_or(|process| process.start != start) {
            return Err(Errno::ESRCH);
        }
        let mut spaces = CloneFlags::CLONE_NEWPID;
        spaces.set(CloneFlags::CLONE_NEWUSER, !self.user_space);
        setns(&holder, spaces)?;
        Ok(Some(holder))
    }

    /// Goes in.
    fn cross(&self) -> nix::Result<()> {
        for group in &self.groups {
            fs::write(group, "0").map_err(|error| errno(&error))?;
        }
        if self.holder.is_some() {
            setns(sys::inherited(HOLDER_FD), self.spaces())?;
        }
        Ok(())
    }

    /// Gives up what the program is not to have.
    fn give_up(&self) -> nix::Result<()> {
        umask(Mode::from_bits_truncate(0o022));
        limit(Resource::RLIMIT_CORE, Some(0))?;
        limit(Resource::RLIMIT_NOFILE, self.open_files)?;
        limit(Resource::RLIMIT_FSIZE, self.file_size)?;
        limit(Resource::RLIMIT_NPROC, self.processes)?;
        // Behind the only fence everybody is Proctor's user; when that is root, it is one without
        // power over the machine.
        let is_root_of_machine =
            matches!(self.fence, FenceKind::Only { .. }) && geteuid().is_root();
        let kept = if self.root || is_root_of_machine { SETUP_CAPABILITIES } else { 0 };
        if self.holder.is_some() || is_root_of_machine {
            sys::bound_capabilities(kept).map_err(|error| errno(&error))?;
        }
        match self.agent {
            None => {}
            Some(Become::Another) => {
                setgroups(&[])?;
                let (user, group) = (Uid::from_raw(AGENT_ID), Gid::from_raw(AGENT_ID));
                setresgid(group, group, group)?;
                setresuid(user, user, user)?;
            }
            Some(Become::Renamed) => {
                unshare(CloneFlags::CLONE_NEWUSER)?;
                let map = format!("{AGENT_ID} 0 1\n");
                for (file, content) in [("setgroups", "deny"), ("uid_map", &map), ("gid_map", &map)]
                {
                    fs::write(Path::new("/proc/self").join(file), content)
                        .map_err(|error| errno(&error))?;
                }
                sys::bound_capabilities(kept).map_err(|error| errno(&error))?;
            }
        }
        if self.holder.is_some() || is_root_of_machine {
            sys::set_capabilities(kept).map_err(|error| errno(&error))?;
        }
        set_no_new_privs()?;
        let inner = [WORKSPACE, HOME, "/tmp"].map(Path::new);
        let fence = match &self.fence {
            FenceKind::Open => return Ok(()),
            FenceKind::Inner => Fence { writable: inner.to_vec(), readable: None, network: true },
            FenceKind::Only { writable, readable, network } => Fence {
                writable: writable.iter().map(PathBuf::as_path).collect(),
                readable: Some(readable.iter().map(PathBuf::as_path).collect()),
                network: *network,
            },
        };
        fence::close(&fence).map_err(|_| Errno::EPERM)
    }
}

/// Lowers a limit. What is lower already stays.
fn limit(resource: Resource, most: Option<u64>) -> nix::Result<()> {
    let Some(most) = most else { return Ok(()) };
    let (_, hard) = getrlimit(resource)?;
    let most = most.min(hard);
    setrlimit(resource, most, most)
}

fn run(program: &OsStr, args: &[OsString]) -> nix::Result<Errno> {
    let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|_| Errno::EINVAL);
    let program = text(program)?;
    let mut words = vec![program.clone()];
    for arg in args {
        words.push(text(arg)?);
    }
    let mut env = Vec::new();
    for (name, value) in std::env::vars_os() {
        env.push(text(&[name.as_os_str(), value.as_os_str()].join(OsStr::new("=")))?);
    }
    match execve(&program, &words, &env) {
        Err(errno) => Ok(errno),
        Ok(never) => match never {},
    }
}

fn errno(error: &std::io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::EINVAL, Errno::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let fences = [
            FenceKind::Open,
            FenceKind::Inner,
            FenceKind::Only {
                writable: vec!["/a=b".into(), OsStr::from_bytes(b"/\xFF").into()],
                readable: vec!["/c d".into()],
                network: false,
            },
        ];
        for fence in fences {
            let entry = Entry {
                holder: Some((7, 99)),
                user_space: true,
                net_space: false,
                agent: Some(Become::Renamed),
                root: false,
                fence,
                processes: Some(3),
                open_files: None,
                file_size: Some(5),
                groups: vec!["/sys/fs/cgroup/x/cgroup.procs".into()],
            };
            assert_eq!(Entry::decode(&entry.encode()), Some(entry));
        }
        assert_eq!(Entry::decode(&[]), Some(Entry::default()));
        assert_eq!(Entry::decode(&["nonsense".into()]), None);
        assert_eq!(Entry::decode(&["what=ever".into()]), None);
    }
}
