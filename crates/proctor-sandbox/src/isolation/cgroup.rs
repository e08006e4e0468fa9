//! Control groups: limits for all processes of a sandbox together, where this process may make
//! groups of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;

const MOUNT: &str = "/sys/fs/cgroup";
const PREFIX: &str = "proctor-";

/// What can be limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    Processes,
    Memory,
}

/// Where groups of ours can be made.
#[derive(Debug, Clone, Default)]
pub(super) struct Groups {
    /// The group that takes ours, for processes.
    processes: Option<Parent>,
    /// The same for memory.
    memory: Option<Parent>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Parent {
    folder: PathBuf,
    /// The one hierarchy of version 2, and not one for each resource.
    unified: bool,
}

impl Groups {
    /// Looks, and tries.
    pub(super) fn find() -> Self {
        let membership = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mount = Path::new(MOUNT);
        let find = |controller: &str| {
            parent(mount, &membership, controller).filter(|parent| parent.takes_groups(controller))
        };
        let groups = Self { processes: find("pids"), memory: find("memory") };
        groups.reap();
        groups
    }

    fn parent(&self, resource: Resource) -> Option<&Parent> {
        match resource {
            Resource::Processes => self.processes.as_ref(),
            Resource::Memory => self.memory.as_ref(),
        }
    }

    /// A group for one sandbox with these limits; which of them it enforces,
    /// [`Group::limits`] says.
    pub(super) fn create(&self, number: u64, limits: &[(Resource, u64)]) -> Group {
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        let mut group = Group { folders: Vec::new(), limited: Vec::new() };
        for (resource, limit) in limits {
            let Some(parent) = self.parent(*resource) else { continue };
            let folder = parent.folder.join(&name);
            if !group.folders.contains(&folder) {
                if fs::create_dir(&folder).is_err() {
                    continue;
                }
                group.folders.push(folder.clone());
            }
            if parent.set(&folder, *resource, *limit).is_ok() {
                group.limited.push(*resource);
            }
        }
        group
    }

    /// Removes groups of processes that are gone.
    fn reap(&self) {
        let parents = [&self.processes, &self.memory];
        for parent in parents.into_iter().flatten() {
            for entry in fs::read_dir(&parent.folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let pid = name
                    .to_str()
                    .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok());
                if pid.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)) {
                    // Refused while a process is in it.
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// The group of this process in the hierarchy that has `controller` (`cgroups(7)`).
fn parent(mount: &Path, membership: &str, controller: &str) -> Option<Parent> {
    let mut unified = None;
    for line in membership.lines() {
        let mut fields = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let below = |folder: PathBuf| folder.join(path.trim_start_matches('/'));
        if controllers.split(',').any(|name| name == controller) {
            return Some(Parent { folder: below(mount.join(controllers)), unified: false });
        }
        if controllers.is_empty() {
            unified = Some(Parent { folder: below(mount.to_owned()), unified: true });
        }
    }
    unified
}

impl Parent {
    fn takes_groups(&self, controller: &str) -> bool {
        if self.unified {
            let switch = self.folder.join("cgroup.subtree_control");
            let on = |text: String| text.split_whitespace().any(|name| name == controller);
            if !fs::read_to_string(&switch).is_ok_and(on)
                && fs::write(&switch, format!("+{controller}")).is_err()
            {
                return false;
            }
        }
        nix::unistd::access(&self.folder, nix::unistd::AccessFlags::W_OK).is_ok()
            && self.folder.join("cgroup.procs").exists()
    }

    fn set(&self, folder: &Path, resource: Resource, limit: u64) -> io::Result<()> {
        let file = match (resource, self.unified) {
            (Resource::Processes, _) => "pids.max",
            (Resource::Memory, true) => "memory.max",
            (Resource::Memory, false) => "memory.limit_in_bytes",
        };
        fs::write(folder.join(file), limit.to_string())
    }
}

/// The group of one sandbox. Dropping it removes it, once its processes are gone.
#[derive(Debug, Default)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    limited: Vec<Resource>,
}

impl Group {
    /// Whether the limit of a resource is set.
    pub(super) fn limits(&self, resource: Resource) -> bool {
        self.limited.contains(&resource)
    }

    /// The files by which a process joins.
    pub(super) fn doors(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.join("cgroup.procs")).collect()
    }

    /// Takes a process in.
    pub(super) fn admit(&self, pid: u32) -> io::Result<()> {
        self.doors().iter().try_for_each(|door| fs::write(door, pid.to_string()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.folders {
            // When something is left in it, the next start tries again.
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_found_in_each_kind_of_hierarchy() {
        let mount = Path::new("/m");
        let parent = |membership, controller| parent(mount, membership, controller);
        let old = "5:pids:/a/b\n4:cpu,cpuacct:/\n0::/c\n";
        let found = parent(old, "pids").unwrap();
        assert_eq!((found.folder.as_path(), found.unified), (Path::new("/m/pids/a/b"), false));
        let found = parent(old, "cpu").unwrap();
        assert_eq!(found.folder, Path::new("/m/cpu,cpuacct"));
        let found = parent("0::/user.slice\n", "memory").unwrap();
        assert_eq!((found.folder.as_path(), found.unified), (Path::new("/m/user.slice"), true));
        assert_eq!(parent("nonsense", "memory"), None);
    }
}
