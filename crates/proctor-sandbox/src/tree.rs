//! Processes as `/proc` shows them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgrp, getpid};

/// How long a sweep goes on against processes that do not die: those in uninterruptible sleep, and
/// those that became another user's.
pub(crate) const SWEEP_LIMIT: Duration = Duration::from_secs(5);

/// A process that was still alive when its tree was swept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivor {
    /// Its number.
    pub pid: i32,
    /// Its name as the system keeps it: at most 15 bytes, not the whole command line.
    pub name: String,
    /// Whether it is dead now. `false` for one that may not be killed (it became another user's),
    /// or cannot be (it hangs inside the system).
    pub killed: bool,
}

/// One process at the moment of reading.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    pub(crate) group: i32,
    pub(crate) session: i32,
    /// Clock ticks since boot; with the number it identifies the process.
    pub(crate) start: u64,
    pub(crate) name: String,
    /// Not merely waiting to be reaped.
    pub(crate) alive: bool,
    /// Stopped, and not to run before somebody lets it.
    stopped: bool,
    /// Waiting to be reaped.
    dead: bool,
}

impl Process {
    pub(crate) fn read(pid: i32) -> Option<Self> {
        // The longest line the kernel writes is under 400 bytes.
        let mut buffer = [0; 1024];
        let length = File::open(format!("/proc/{pid}/stat")).ok()?.read(&mut buffer).ok()?;
        Self::parse(pid, buffer.get(..length)?)
    }

    /// Parses `/proc/PID/stat` (`proc_pid_stat(5)`). The name may hold anything, even `)`.
    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        let open = stat.iter().position(|byte| *byte == b'(')?;
        let close = stat.iter().rposition(|byte| *byte == b')')?;
        let name = String::from_utf8_lossy(stat.get(open + 1..close)?).into_owned();
        let fields: Vec<&str> =
            std::str::from_utf8(stat.get(close + 1..)?).ok()?.split_ascii_whitespace().collect();
        // Counted from field 3, the state.
        let number = |field: usize| fields.get(field - 3)?.parse::<i32>().ok();
        let dead = matches!(*fields.first()?, "Z" | "X" | "x");
        Some(Self {
            pid,
            parent: number(4)?,
            group: number(5)?,
            session: number(6)?,
            start: fields.get(22 - 3)?.parse().ok()?,
            name,
            // A first thread may be gone while others still run.
            alive: !dead || number(20)? > 1,
            stopped: matches!(*fields.first()?, "T" | "t"),
            dead,
        })
    }

    /// Signals it, if its number still means the same process. Says whether it did.
    pub(crate) fn signal(&self, signal: Signal) -> bool {
        Self::read(self.pid).is_some_and(|now| now.start == self.start)
            && kill(Pid::from_raw(self.pid), signal).is_ok()
    }
}

/// Every process that this one can see, in the order of their numbers.
pub(crate) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut processes: Vec<Process> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Process::read)
        .collect();
    processes.sort_by_key(|process| process.pid);
    processes
}

/// Every process of the space of process numbers that `first` is in, and of those inside it.
pub(crate) fn sharing_numbers(first: i32) -> Vec<Process> {
    let space = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let Some(own) = space(first) else { return Vec::new() };
    let all = all();
    let mut inside: BTreeSet<i32> = all
        .iter()
        .filter(|process| space(process.pid).as_ref() == Some(&own))
        .map(|process| process.pid)
        .collect();
    // The first one of a space inside it is the child of one that is in it.
    loop {
        let below = all.iter().filter(|process| inside.contains(&process.parent));
        let found: Vec<i32> = below.map(|process| process.pid).collect();
        let known = inside.len();
        inside.extend(found);
        if inside.len() == known {
            return all.into_iter().filter(|process| inside.contains(&process.pid)).collect();
        }
    }
}

/// Whether no process that this one can see does anything, but this one.
pub(crate) fn all_stand_still() -> bool {
    let me = getpid().as_raw();
    all().iter().filter(|process| process.pid != me && process.alive).all(|process| {
        let threads = fs::read_dir(format!("/proc/{}/task", process.pid));
        // A process without threads is gone.
        threads.into_iter().flatten().flatten().all(|thread| {
            let stat = fs::read(thread.path().join("stat")).unwrap_or_default();
            // One that is gone does nothing either.
            Process::parse(process.pid, &stat).is_none_or(|thread| thread.stopped || thread.dead)
        })
    })
}

/// Every process below `root`, parents before their children.
pub(crate) fn descendants(root: i32) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<Process>> = BTreeMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = children.remove(&root).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let below = children.remove(&process.pid);
        next += 1;
        found.extend(below.unwrap_or_default());
    }
    found
}

/// Kills `processes`: first all are stopped, so that none can start another or notice.
///
/// A whole group gets its signal in one step, against which no fork in it can win; this process's
/// own group is left out, as a hostile program may have joined it.
pub(crate) fn kill_all(processes: &[Process]) {
    let own = getpgrp().as_raw();
    let mut groups = BTreeSet::new();
    for process in processes {
        if process.signal(Signal::SIGSTOP) && process.group != own {
            groups.insert(process.group);
        }
    }
    for group in groups {
        let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
    }
    for process in processes {
        process.signal(Signal::SIGKILL);
    }
}

/// Kills every process but this one for which `chosen` holds, until none is found.
///
/// Unlike [`kill_all`] it touches no groups: nothing says who else is in them.
pub(crate) fn kill_where(chosen: impl Fn(&Process) -> bool) -> Vec<Survivor> {
    let me = getpid().as_raw();
    let give_up = Instant::now() + SWEEP_LIMIT;
    let mut seen: BTreeMap<(i32, u64), Survivor> = BTreeMap::new();
    loop {
        let found: Vec<Process> = all()
            .into_iter()
            .filter(|process| process.alive && process.pid != me && chosen(process))
            .collect();
        for survivor in seen.values_mut() {
            survivor.killed = true;
        }
        for process in &found {
            let survivor = Survivor { pid: process.pid, name: process.name.clone(), killed: false };
            seen.insert((process.pid, process.start), survivor);
        }
        if found.is_empty() || Instant::now() >= give_up {
            return seen.into_values().collect();
        }
        for process in &found {
            process.signal(Signal::SIGSTOP);
        }
        for process in &found {
            process.signal(Signal::SIGKILL);
        }
        // They are not our children, so nothing tells us when they are gone.
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether the environment that `process` was started with sets `name` to `path` or to something
/// below it. `false` when that environment cannot be read.
pub(crate) fn environment_points_into(process: &Process, name: &str, path: &Path) -> bool {
    let read = || -> io::Result<Vec<u8>> {
        let mut environment = Vec::new();
        // `execve(2)` takes a few megabytes at most.
        File::open(format!("/proc/{}/environ", process.pid))?
            .take(8 << 20)
            .read_to_end(&mut environment)?;
        Ok(environment)
    };
    read().is_ok_and(|environment| {
        environment.split(|byte| *byte == 0).any(|entry| {
            entry
                .strip_prefix(name.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .is_some_and(|value| Path::new(OsStr::from_bytes(value)).starts_with(path))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let line = b"7 (a) R (b\xFF) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 1 1";
        let process = Process::parse(7, line).unwrap();
        assert_eq!(process.name, "a) R (b\u{FFFD}");
        assert_eq!((process.parent, process.group, process.session), (3, 4, 5));
        assert_eq!(process.start, 99);
        assert!(process.alive);
    }

    #[test]
    fn a_zombie_with_threads_is_alive() {
        let line = |state: &str, threads: u32| {
            format!("7 (x) {state} 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 99 1 1")
        };
        let alive = |line: String| Process::parse(7, line.as_bytes()).unwrap().alive;
        assert!(!alive(line("Z", 1)));
        assert!(alive(line("Z", 2)));
        assert!(alive(line("D", 1)));
    }

    #[test]
    fn half_a_line_is_no_process() {
        let line = b"7 (x) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 1 1";
        for length in 0..line.len() - 6 {
            assert!(Process::parse(7, &line[..length]).is_none(), "{length}");
        }
    }

    #[test]
    fn this_process_is_among_all() {
        let me = getpid().as_raw();
        assert!(all().iter().any(|process| process.pid == me && process.alive));
    }
}
