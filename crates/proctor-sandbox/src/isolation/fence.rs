//! Landlock: what a process may do to files, whatever its user may.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};

use nix::unistd::geteuid;

use super::bwrap::{ETC_FILES, ETC_FOLDERS};

/// The newest version whose rules are used; a kernel that has an older one enforces what it knows.
const KNOWN: ABI = ABI::V6;

/// What of the system may be read where there is no file tree of a trial's own,
const SYSTEM: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/proc", "/sys"];

/// and of `/etc`, beside what every sandbox shows of it, where Proctor is root and so may read the
/// passwords there.
const ETC_OF_ROOT: [&str; 5] = ["passwd", "group", "hosts", "hostname", "nsswitch.conf"];

/// Devices and the like that everybody writes to.
const WRITABLE: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// What a fence lets through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fence<'a> {
    /// Folders in which everything is allowed.
    pub(crate) writable: Vec<&'a Path>,
    /// What may be read and executed; `None` is everything.
    pub(crate) readable: Option<Vec<&'a Path>>,
    /// Whether TCP is allowed.
    pub(crate) network: bool,
}

/// Closes the fence around this process and all that it starts. Fails when the kernel does not
/// enforce at least the rules about files.
pub(crate) fn close(fence: &Fence<'_>) -> Result<(), RulesetError> {
    let all = AccessFs::from_all(KNOWN);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?;
    if !fence.network {
        ruleset = ruleset.handle_access(AccessNet::BindTcp | AccessNet::ConnectTcp)?;
    }
    let mut ruleset = ruleset.create()?;
    let read = AccessFs::from_read(KNOWN);
    match &fence.readable {
        None => ruleset = allow(ruleset, Path::new("/"), read)?,
        Some(paths) => {
            let system = SYSTEM.iter().map(Path::new);
            for path in system.chain(paths.iter().copied()) {
                ruleset = allow(ruleset, path, read)?;
            }
            for path in etc() {
                ruleset = allow(ruleset, &path, read)?;
            }
        }
    }
    for path in &fence.writable {
        ruleset = allow(ruleset, path, all)?;
    }
    for path in WRITABLE {
        ruleset = allow(ruleset, Path::new(path), all)?;
    }
    // What a process may write there is decided by its user. Root of the machine may write the
    // settings of the kernel.
    if fence.readable.is_none() || !geteuid().is_root() {
        ruleset = allow(ruleset, Path::new("/proc"), read | AccessFs::WriteFile)?;
    }
    let status = ruleset.no_new_privs(false).restrict_self()?;
    debug_assert_ne!(status.ruleset, RulesetStatus::NotEnforced);
    Ok(())
}

/// What of `/etc` may be read.
fn etc() -> Vec<PathBuf> {
    let etc = Path::new("/etc");
    if !geteuid().is_root() {
        return vec![etc.to_owned()];
    }
    let names = ETC_FOLDERS.iter().chain(&ETC_FILES).chain(&ETC_OF_ROOT);
    names.map(|name| etc.join(name)).collect()
}

/// What is not there needs no rule.
fn allow(
    ruleset: RulesetCreated,
    path: &Path,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(fd) = PathFd::new(path) else { return Ok(ruleset) };
    let is_folder = path.is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(KNOWN) };
    ruleset.add_rule(PathBeneath::new(fd, access))
}
