//! Becoming a program that can start no other.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Becomes `command`, which from then on can start threads and no process: whatever its files tell
/// it to run, nothing is run. Returns only when that failed; without this fence nothing is started.
pub fn become_alone(mut command: Command) -> io::Error {
    match close() {
        Ok(()) => command.exec(),
        Err(error) => error,
    }
}

fn close() -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| failed(&error))?;
    for (rules, errno) in [(forks()?, libc::EPERM), (unseen(), libc::ENOSYS)] {
        // Both are small numbers above zero.
        let action = SeccompAction::Errno(errno.unsigned_abs());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch)
            .map_err(|error| failed(&error))?;
        let program = BpfProgram::try_from(filter).map_err(|error| failed(&error))?;
        // Sets `no_new_privs` as well.
        seccompiler::apply_filter(&program).map_err(|error| failed(&error))?;
    }
    Ok(())
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// What makes a process.
fn forks() -> io::Result<Rules> {
    // `clone(2)` without this flag; with it, it makes a thread.
    let thread = u64::try_from(libc::CLONE_THREAD).map_err(io::Error::other)?;
    let rule = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::MaskedEq(thread), 0)
        .and_then(|without| SeccompRule::new(vec![without]))
        .map_err(|error| io::Error::other(error.to_string()))?;
    let mut rules = Rules::from([(libc::SYS_clone, vec![rule])]);
    #[cfg(target_arch = "x86_64")]
    rules.extend([(libc::SYS_fork, Vec::new()), (libc::SYS_vfork, Vec::new())]);
    Ok(rules)
}

/// `clone3(2)`, whose flags no filter can see: C libraries then take `clone`.
fn unseen() -> Rules {
    Rules::from([(libc::SYS_clone3, Vec::new())])
}
