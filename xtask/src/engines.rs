//! ClickHouse as a library, in `target/engines`, installed as users install it.

use std::path::PathBuf;

use crate::Result;
use crate::sh::{Run, cargo, root, say};

/// Installs it where there is one for this system; returns its file.
pub(crate) fn install() -> Result<Option<PathBuf>> {
    if (std::env::consts::OS, std::env::consts::ARCH) != ("linux", "x86_64") {
        say("ClickHouse as a library is for Linux on x86-64: tests with it are skipped");
        return Ok(None);
    }
    let folder = root().join("target/engines/clickhouse");
    let mut proctor = cargo(["run", "--quiet", "--package", "proctor-cli", "--bin", "proctor"]);
    proctor.args(["--", "engine", "install", "clickhouse", "--to"]).arg(&folder);
    proctor.stdout(std::process::Stdio::null()).run().map_err(|error| {
        format!(
            "ClickHouse could not be installed: {error}\nif npm cannot reach its registry from \
             here, `cargo xtask test --offline` leaves out the tests with it"
        )
    })?;
    Ok(Some(folder.join("libchdb.so")))
}
