//! Everything the tests need, and then the tests.

use std::ffi::OsString;

use crate::sh::{Run, cargo, say};
use crate::{Result, engines, harnesses, packages};

/// Makes a missing agent program a failure instead of a skipped test.
const REQUIRE_HARNESSES: &str = "PROCTOR_REQUIRE_HARNESSES";

/// The same for ClickHouse as a library.
const REQUIRE_LIBRARY: &str = "PROCTOR_REQUIRE_LIBCHDB";

/// Where that library is.
const LIBRARY: &str = "PROCTOR_LIBCHDB";

/// Runs every test; `args` but `--offline` go to the runner.
pub(crate) fn run(args: &[String]) -> Result {
    let (offline, args): (Vec<&String>, Vec<&String>) =
        args.iter().partition(|arg| *arg == "--offline");
    let (required, library) = if offline.is_empty() {
        packages::install()?;
        harnesses::install()?;
        ("1", engines::install()?)
    } else {
        say("offline: tests with an agent program or an engine that is not installed are skipped");
        ("0", None)
    };
    let mut needs: Vec<(&str, OsString)> = vec![(REQUIRE_HARNESSES, required.into())];
    if let Some(library) = library {
        needs.extend([(REQUIRE_LIBRARY, "1".into()), (LIBRARY, library.into())]);
    }
    let nextest = cargo(["nextest", "--version"]).read();
    if nextest.is_err() {
        say("cargo-nextest is not installed, so `cargo test` runs the tests");
        let mut test = cargo(["test", "--workspace"]);
        return test.args(args).envs(needs).run();
    }
    // The examples in the documentation come first, so that the last line is the runner's.
    cargo(["test", "--quiet", "--doc", "--workspace"]).run()?;
    let mut nextest = cargo(["nextest", "run", "--workspace"]);
    nextest.args(args).envs(needs).run()
}
