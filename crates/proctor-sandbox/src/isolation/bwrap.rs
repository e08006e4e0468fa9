//! The command line of bubblewrap: what a sandbox's file tree consists of.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::spec::{Bind, HOME, LAUNCHER, Network, WORKSPACE};
use super::stages::HOLD;
use crate::launcher::ARGUMENT;
use crate::workspace::system::SYSTEM;

/// Where the files are, inside, that stand for those of `/etc`.
const FILES: &str = "/run/proctor/etc";

/// What of `/etc` the programs of a system need, and what tells nothing of its people: folders,
pub(super) const ETC_FOLDERS: [&str; 4] = ["alternatives", "crypto-policies", "pki", "ssl"];
/// and files.
pub(super) const ETC_FILES: [&str; 12] = [
    "bash.bashrc",
    "ca-certificates.conf",
    "ld.so.cache",
    "ld.so.conf",
    "localtime",
    "login.defs",
    "magic",
    "mime.types",
    "os-release",
    "protocols",
    "resolv.conf",
    "services",
];
/// Larger ones are not what they seem.
const ETC_FILE: u64 = 4 << 20;

/// The folders of the system that are often links into `/usr`.
const ROOTS: [&str; 7] = ["bin", "lib", "lib32", "lib64", "libx32", "sbin", "opt"];

/// What the file tree of a sandbox is made of.
pub(super) struct Tree<'a> {
    /// This executable, outside.
    pub(super) exe: &'a Path,
    pub(super) etc: &'a Etc,
    pub(super) workspace: &'a Path,
    /// What takes the place of [`SYSTEM`].
    pub(super) system: Option<&'a Path>,
    pub(super) home: &'a Path,
    pub(super) tmp: &'a Path,
    pub(super) network: Network,
    pub(super) binds: &'a [Bind],
}

impl Tree<'_> {
    /// Everything after the program's name.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut args = Arguments(Vec::new());
        args.add(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]);
        if self.network == Network::None {
            args.add(["--unshare-net"]);
        }
        // To stop and end the processes of all users of the sandbox.
        args.add(["--cap-drop", "ALL", "--cap-add", "CAP_KILL"]);
        args.add(["--as-pid-1", "--hostname", "sandbox", "--clearenv"]);
        self.system(&mut args);
        self.etc(&mut args);
        args.add(["--bind".as_ref(), self.tmp.as_os_str(), "/tmp".as_ref()]);
        args.add(["--bind".as_ref(), self.home.as_os_str(), HOME.as_ref()]);
        args.add(["--bind".as_ref(), self.workspace.as_os_str(), WORKSPACE.as_ref()]);
        args.bind_below(self.exe, Path::new(LAUNCHER));
        for Bind { from, to } in self.binds {
            args.bind_below(from, to);
        }
        args.add(["--chdir", "/", "--", LAUNCHER, ARGUMENT, HOLD]);
        args.0
    }

    fn system(&self, args: &mut Arguments) {
        args.bind(Path::new("/usr"), Path::new("/usr"));
        if let Some(system) = self.system {
            args.add(["--bind".as_ref(), system.as_os_str(), SYSTEM.as_ref()]);
        }
        for name in ROOTS {
            let path = Path::new("/").join(name);
            match fs::read_link(&path) {
                Ok(to) => args.add(["--symlink".as_ref(), to.as_os_str(), path.as_os_str()]),
                Err(_) => {
                    // An empty `/opt` is not worth a mount.
                    if fs::read_dir(&path).is_ok_and(|mut entries| entries.next().is_some()) {
                        args.bind(&path, &path);
                    }
                }
            }
        }
        args.add(["--proc", "/proc"]);
        // Root inside is root to these files where Proctor is, whatever capabilities it lacks.
        // Bubblewrap sees to `irq` and `bus`.
        for path in ["/proc/sys", "/proc/sysrq-trigger", "/proc/fs"] {
            args.add(["--ro-bind-try", path, path]);
        }
        args.add(["--dev", "/dev"]);
        args.add(["--perms", "1777", "--size", "268435456", "--tmpfs", "/dev/shm"]);
        args.add(["--perms", "0755", "--dir", "/home", "--perms", "0755", "--dir", "/run"]);
        args.add(["--perms", "0755", "--dir", "/var", "--symlink", "/tmp", "/var/tmp"]);
        args.add(["--perms", "0700", "--dir", "/root"]);
        args.add(["--symlink", "/run", "/var/run"]);
    }

    fn etc(&self, args: &mut Arguments) {
        args.add(["--perms", "0755", "--dir", "/etc"]);
        for name in ETC_FOLDERS {
            let path = Path::new("/etc").join(name);
            if path.is_dir() {
                args.bind(&path, &path);
            }
        }
        // One mount and links, as bubblewrap takes its time over each mount.
        args.bind_below(&self.etc.folder, Path::new(FILES));
        for name in &self.etc.names {
            if self.network == Network::Host || name != "resolv.conf" {
                let link = Path::new("/etc").join(name);
                let to = Path::new(FILES).join(name);
                args.add(["--symlink".as_ref(), to.as_os_str(), link.as_os_str()]);
            }
        }
    }
}

/// The files that stand for those of the host's `/etc`.
#[derive(Debug)]
pub(super) struct Etc {
    folder: PathBuf,
    names: Vec<String>,
}

/// The files below `/etc` that are ours.
const OWN: [(&str, &str); 5] = [
    (
        "passwd",
        "root:x:0:0:root:/root:/bin/bash\n\
         agent:x:1000:1000:agent:/home/agent:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("group", "root:x:0:\ntty:x:5:\nagent:x:1000:\nnogroup:x:65534:\n"),
    ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
    ("hostname", "sandbox\n"),
    ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n"),
];

impl Etc {
    /// Writes them: our own, and copies of what the host has.
    pub(super) fn write(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        let mut names = Vec::new();
        let mut write = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, content)?;
            names.push(name.to_owned());
            fs::set_permissions(&path, Permissions::from_mode(0o644))
        };
        for (name, content) in OWN {
            write(name, content.as_bytes())?;
        }
        for name in ETC_FILES {
            let path = Path::new("/etc").join(name);
            let fits = fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= ETC_FILE);
            if fits && let Ok(content) = fs::read(&path) {
                write(name, &content)?;
            }
        }
        Ok(Self { folder: folder.to_owned(), names })
    }
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn add<S: AsRef<OsStr>>(&mut self, words: impl IntoIterator<Item = S>) {
        self.0.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
    }

    /// The same somewhere in the tree: the folders on the way, which bubblewrap would make for
    /// root alone, are everybody's.
    fn bind_below(&mut self, from: &Path, to: &Path) {
        let mut above: Vec<&Path> = to.ancestors().skip(1).collect();
        above.pop();
        for folder in above.into_iter().rev() {
            self.add(["--perms".as_ref(), "0755".as_ref(), "--dir".as_ref(), folder.as_os_str()]);
        }
        self.bind(from, to);
    }

    fn bind(&mut self, from: &Path, to: &Path) {
        self.add(["--ro-bind".as_ref(), from.as_os_str(), to.as_os_str()]);
    }
}

/// Looks for bubblewrap on the `PATH` of this process.
pub(super) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH");
    crate::find_program("bwrap".as_ref(), path.as_deref(), Path::new("/")).ok()
}

#[cfg(test)]
mod tests {
    use super::super::spec::AGENT_ID;
    use super::*;

    #[test]
    fn the_agent_of_the_user_list_is_the_one_that_runs() {
        let (_, passwd) = OWN[0];
        assert!(passwd.contains(&format!("agent:x:{AGENT_ID}:{AGENT_ID}:agent:{HOME}:")));
    }
}
