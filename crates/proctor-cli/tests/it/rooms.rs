//! Projects for tests that run trials in sandboxes.

use std::fs;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use proctor_sandbox::isolation::Sandboxes;
use proctor_sandbox::{Launcher, Rooms};
use proctor_testkit::TestContext;
use proctor_testkit::harness::REQUIRE_VARIABLE;

const PROCTOR: &str = env!("CARGO_BIN_EXE_proctor");

/// An empty project; `None` without bubblewrap, where that is allowed.
#[expect(clippy::print_stderr, reason = "the note of a skipped test belongs to its output")]
pub(crate) fn context() -> Option<TestContext> {
    let temp = tempfile::tempdir().unwrap();
    let rooms = Rooms::open(&Utf8Path::from_path(temp.path()).unwrap().join("rooms")).unwrap();
    let sandboxes = Sandboxes::new(Launcher::new(PROCTOR), &rooms).unwrap();
    if let Err(reason) = &sandboxes.available().bubblewrap {
        let required = std::env::var_os(REQUIRE_VARIABLE).is_some_and(|value| value == "1");
        assert!(!required, "{reason}");
        eprintln!("skipped: {reason}");
        return None;
    }
    Some(TestContext::new(PROCTOR))
}

/// Comes back when something holds that nobody tells.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < until, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a program with these arguments runs on this machine.
pub(crate) fn is_running(command: &[u8]) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .into_iter()
        .any(|process| fs::read(process.path().join("cmdline")).is_ok_and(|line| line == command))
}
