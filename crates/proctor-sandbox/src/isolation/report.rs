//! What is said of a sandbox: only what was done.

use proctor_model::{Guard, Isolation, IsolationLevel, Layering};

use super::cgroup::{Group, Resource};
use super::spec::{Engine, Network, SandboxSpec, Wanted};

/// What is known of a sandbox beside what was asked for.
pub(super) struct Facts<'a> {
    pub(super) layering: Layering,
    /// Whether Proctor is root.
    pub(super) root: bool,
    pub(super) landlock: Option<u32>,
    pub(super) group: &'a Group,
}

pub(super) fn bubblewrap(spec: &SandboxSpec, facts: &Facts<'_>) -> Isolation {
    let landlock = match facts.landlock {
        Some(version) => Guard::enforced(format!("Landlock version {version}")),
        None => Guard::not_enforced("the kernel has no Landlock, or does not allow it"),
    };
    Isolation {
        level: IsolationLevel::Bubblewrap,
        workspace: facts.layering,
        files: Guard::enforced("mount namespace"),
        processes: Guard::enforced("process namespace"),
        ipc: Guard::enforced("IPC namespace"),
        network: match spec.network {
            Network::None => Guard::enforced("network namespace"),
            Network::Host => Guard::not_requested(),
        },
        users: if facts.root {
            Guard::enforced(
                "the agent is user 1000, setups and tests are root without capabilities outside",
            )
        } else {
            Guard::not_enforced(
                "only root can run programs as different users: outside all are one",
            )
        },
        landlock,
        max_processes: limit(spec.limits.processes, |limit| {
            if facts.group.limits(Resource::Processes) {
                Guard::enforced("control group").of(limit)
            } else {
                Guard::not_enforced("for the agent alone: RLIMIT_NPROC in its user namespace; no control group can be made").of(limit)
            }
        }),
        ..common(spec, facts)
    }
}

pub(super) fn container(spec: &SandboxSpec, engine: Engine) -> Isolation {
    let by = engine.program();
    let limited = |limit: u64| Guard::enforced(by).of(limit);
    let group = Group::default();
    let facts = Facts { layering: Layering::Copy, root: true, landlock: None, group: &group };
    let limits = &spec.limits;
    Isolation {
        level: IsolationLevel::Container,
        files: Guard::enforced(by),
        processes: Guard::enforced(by),
        ipc: Guard::enforced(by),
        network: match spec.network {
            Network::None => Guard::enforced(by),
            Network::Host => Guard::not_requested(),
        },
        users: Guard::enforced("the agent is user 1000, setups and tests are root inside"),
        max_processes: limit(limits.processes, limited),
        max_memory: limit(limits.memory, limited),
        max_file_size: limit(limits.file_size, limited),
        max_open_files: limit(limits.open_files, limited),
        ..common(spec, &facts)
    }
}

pub(super) fn plain(spec: &SandboxSpec, facts: &Facts<'_>) -> Isolation {
    match spec.wanted {
        Wanted::Landlock => {
            let version = facts.landlock.unwrap_or_default();
            Isolation {
                level: IsolationLevel::Landlock,
                files: Guard::enforced(format!(
                    "Landlock version {version}: only the system, the workspace, home and \
                     temporary files can be read"
                )),
                network: match spec.network {
                    Network::Host => Guard::not_requested(),
                    Network::None if version >= 4 => Guard::not_enforced("only TCP is shut off"),
                    Network::None => Guard::not_enforced(NO_NAMESPACES),
                },
                landlock: Guard::enforced(format!("Landlock version {version}")),
                ..common(spec, facts)
            }
        }
        _ => common(spec, facts),
    }
}

const NO_NAMESPACES: &str = "there are no namespaces at this level";

/// What holds at every level, and what does not hold without more.
fn common(spec: &SandboxSpec, facts: &Facts<'_>) -> Isolation {
    let none = || Guard::not_enforced(NO_NAMESPACES);
    let limits = &spec.limits;
    let by_group = |resource| {
        move |limit| {
            if facts.group.limits(resource) {
                Guard::enforced("control group").of(limit)
            } else {
                Guard::not_enforced("no control group can be made here").of(limit)
            }
        }
    };
    Isolation {
        level: IsolationLevel::None,
        workspace: facts.layering,
        files: none(),
        processes: none(),
        ipc: none(),
        network: match spec.network {
            Network::None => none(),
            Network::Host => Guard::not_requested(),
        },
        users: Guard::not_enforced("everything runs as the user of Proctor"),
        landlock: Guard::not_requested(),
        max_processes: limit(limits.processes, by_group(Resource::Processes)),
        max_memory: limit(limits.memory, by_group(Resource::Memory)),
        max_file_size: limit(limits.file_size, |limit| Guard::enforced("RLIMIT_FSIZE").of(limit)),
        max_open_files: limit(limits.open_files, |limit| {
            Guard::enforced("RLIMIT_NOFILE").of(limit)
        }),
        max_disk: limit(limits.disk, |limit| {
            Guard::enforced("looked at every 50 ms, and the trial is ended").of(limit)
        }),
    }
}

fn limit(limit: Option<u64>, guard: impl FnOnce(u64) -> Guard) -> Guard {
    limit.map_or_else(Guard::not_requested, guard)
}
