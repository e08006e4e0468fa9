//! What the engine's process may touch.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    Scope,
};

/// The newest version whose rules are used; a kernel that has an older one enforces what it knows.
const KNOWN: ABI = ABI::V6;

/// What the dynamic linker and the engine itself read. What is secret on a machine is not there; in
/// particular not what belongs to other processes, whose environments stand under `/proc`.
const READABLE: [&str; 15] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/sys/kernel",
    "/proc/sys/vm",
    "/sys/devices/system",
    "/sys/fs/cgroup",
    "/dev/urandom",
    "/dev/null",
];

/// Closes everything to this process and its threads but the engine's library and its folder.
///
/// # Errors
///
/// When the kernel cannot enforce it: then nothing may be asked, since ClickHouse reads and writes
/// files even in its read-only mode.
pub(super) fn confine(library: &Path, scratch: &Path) -> Result<(), String> {
    // First in line when memory is short, so that the run goes on. It may be forbidden.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    close(library, scratch).map_err(|error| {
        format!(
            "this kernel does not enforce Landlock, without which a statement could read and \
             write files of this machine: {error}"
        )
    })
}

fn close(library: &Path, scratch: &Path) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let read = AccessFs::from_read(KNOWN);
    for path in READABLE.iter().map(Path::new).chain([library]) {
        ruleset = allow(ruleset, path, read)?;
    }
    ruleset = allow(ruleset, scratch, AccessFs::from_all(KNOWN))?;
    ruleset.restrict_self().map(|_| ())
}

/// What is not there needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else { return Ok(ruleset) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
    ruleset.add_rule(PathBeneath::new(fd, access))
}
