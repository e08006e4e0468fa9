//! Everything the tests need, and then the tests.

use crate::sh::{Run, cargo, say};
use crate::{Result, harnesses, packages};

/// Makes a missing agent program a failure instead of a skipped test.
const REQUIRE_HARNESSES: &str = "PROCTOR_REQUIRE_HARNESSES";

/// Runs every test; `args` but `--offline` go to the runner.
pub(crate) fn run(args: &[String]) -> Result {
    let (offline, args): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| *arg == "--offline");
    let required = if offline.is_empty() {
        packages::install()?;
        harnesses::install()?;
        "1"
    } else {
        say("offline: tests with an agent program that is not installed are skipped");
        "0"
    };
    let nextest = cargo(["nextest", "--version"]).read();
    if nextest.is_err() {
        say("cargo-nextest is not installed, so `cargo test` runs the tests");
        let mut test = cargo(["test", "--workspace"]);
        return test.args(args).env(REQUIRE_HARNESSES, required).run();
    }
    // The examples in the documentation come first, so that the last line is the runner's.
    cargo(["test", "--quiet", "--doc", "--workspace"]).run()?;
    let mut nextest = cargo(["nextest", "run", "--workspace"]);
    nextest.args(args).env(REQUIRE_HARNESSES, required).run()
}
