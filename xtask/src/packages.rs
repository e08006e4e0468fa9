//! Programs of the system that the tests need.

use std::os::unix::fs::MetadataExt;

use crate::Result;
use crate::sh::{Run, is_installed, program, say};

/// A program, the Debian package that holds it, and what it is needed for.
struct Needed {
    program: &'static str,
    package: &'static str,
    purpose: &'static str,
}

const CONTAINERS: &str = "for tests of containers";

/// Everything that the tests need beyond cargo and a C linker.
const NEEDED: [Needed; 8] = [
    Needed { program: "bwrap", package: "bubblewrap", purpose: "to keep trials apart" },
    Needed { program: "git", package: "git", purpose: "to make repositories in tests" },
    Needed { program: "jq", package: "jq", purpose: "for tests of experiments" },
    Needed { program: "podman", package: "podman", purpose: CONTAINERS },
    Needed { program: "runc", package: "runc", purpose: CONTAINERS },
    Needed { program: "busybox", package: "busybox-static", purpose: CONTAINERS },
    Needed { program: "bash-static", package: "bash-static", purpose: CONTAINERS },
    Needed { program: "npm", package: "npm", purpose: "to install the agent programs" },
];

/// Installs what is missing where that is possible.
pub(crate) fn install() -> Result {
    let missing: Vec<&Needed> = NEEDED.iter().filter(|need| !is_installed(need.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let wanted: Vec<String> =
        missing.iter().map(|need| format!("{} ({})", need.program, need.purpose)).collect();
    let wanted = wanted.join(", ");
    let cannot = if !is_installed("apt-get") {
        "this system has no apt-get"
    } else if is_root()? {
        say(&format!("installing {wanted}"));
        let apt = || {
            let mut apt = program("apt-get");
            apt.env("DEBIAN_FRONTEND", "noninteractive").arg("--quiet");
            apt
        };
        apt().arg("update").run()?;
        let packages = missing.iter().map(|need| need.package);
        return apt().args(["install", "--yes", "--no-install-recommends"]).args(packages).run();
    } else {
        "only root can install packages"
    };
    Err(format!(
        "{wanted} is missing, and {cannot}: install it and run this again, or run \
         `cargo xtask test --offline`, which leaves out the tests with real agent programs"
    )
    .into())
}

/// Whether this process runs as root.
fn is_root() -> Result<bool> {
    Ok(fs_err::metadata("/proc/self")?.uid() == 0)
}
