//! What the tests of real processes share.
#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use proctor_sandbox::{Cancel, Finished, Launcher, Limits, Spawn, SpawnError, Stream};

/// Set in the environment of everything that a test starts, so that what is left can be found.
pub(crate) const MARK: &str = "PROCTOR_SANDBOX_TEST";

/// One scene of a test: a folder, a mark, and the limits to run with.
pub(crate) struct Scene {
    pub(crate) temp: tempfile::TempDir,
    pub(crate) mark: String,
    pub(crate) limits: Limits,
    pub(crate) cancel: Cancel,
    pub(crate) out: String,
    pub(crate) err: String,
}

pub(crate) fn scene() -> Scene {
    static SCENES: AtomicU32 = AtomicU32::new(0);
    let number = SCENES.fetch_add(1, Ordering::Relaxed);
    Scene {
        temp: tempfile::tempdir().unwrap(),
        mark: format!("{}.{number}.", std::process::id()),
        limits: Limits::until(Instant::now() + Duration::from_mins(2)),
        cancel: Cancel::new().unwrap(),
        out: String::new(),
        err: String::new(),
    }
}

pub(crate) fn launcher() -> Launcher {
    // Another one where a test runs as somebody who cannot reach this one.
    let other = std::env::var_os("PROCTOR_TEST_LAUNCHER");
    Launcher::new(other.unwrap_or_else(|| env!("CARGO_BIN_EXE_proctor-launch").into()))
}

impl Scene {
    pub(crate) fn spawn(&self, program: &str, args: &[&str]) -> Spawn {
        let mut spawn = Spawn::new(program, self.temp.path());
        spawn.args = args.iter().map(Into::into).collect();
        spawn.env = vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            (MARK.into(), (&self.mark).into()),
        ];
        spawn
    }

    pub(crate) fn run(&mut self, spawn: &Spawn) -> Result<Finished, SpawnError> {
        self.run_with(spawn, |_, _| {})
    }

    /// Runs it, collects its output as text, and checks that nothing of it is left.
    pub(crate) fn run_with(
        &mut self,
        spawn: &Spawn,
        mut sink: impl FnMut(&Cancel, &str),
    ) -> Result<Finished, SpawnError> {
        let Self { limits, cancel, out, err, .. } = self;
        let result = launcher().run(spawn, limits, cancel, &mut |stream, bytes| {
            let text = String::from_utf8_lossy(bytes);
            match stream {
                Stream::Out => out.push_str(&text),
                Stream::Err => err.push_str(&text),
            }
            sink(cancel, &text);
        });
        assert_eq!(alive(&self.mark), Vec::<String>::new(), "nothing is left");
        result
    }

    pub(crate) fn sh(&mut self, script: &str) -> Finished {
        let spawn = self.spawn("sh", &["-c", script]);
        self.run(&spawn).unwrap()
    }

    /// Runs the script and cancels as soon as it says `up`.
    pub(crate) fn sh_until_up(&mut self, script: &str) -> Finished {
        let spawn = self.spawn("sh", &["-c", script]);
        self.run_with(&spawn, |cancel, text| {
            if text.contains("up") {
                cancel.cancel();
            }
        })
        .unwrap()
    }
}

/// The names of processes that carry the mark and have not ended.
pub(crate) fn alive(mark: &str) -> Vec<String> {
    let entry = format!("{MARK}={mark}");
    let mut names = Vec::new();
    for process in fs::read_dir("/proc").unwrap() {
        let process = process.unwrap().path();
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        if environment.split(|byte| *byte == 0).any(|found| found == entry.as_bytes()) {
            let comm = fs::read_to_string(process.join("comm")).unwrap_or_default();
            names.push(format!("{} {}", process.display(), comm.trim()));
        }
    }
    names
}

/// Waits until `done` holds; fails the test when it does not within 20 s.
pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < give_up, "{what}");
        std::thread::yield_now();
    }
}

/// Whether the system has a command; says so when it has not.
pub(crate) fn has(command: &str) -> bool {
    let path = std::env::var_os("PATH");
    let found = proctor_sandbox::find_program(command.as_ref(), path.as_deref(), Path::new("/"));
    if found.is_err() {
        eprintln!("skipped: no {command}");
    }
    found.is_ok()
}
