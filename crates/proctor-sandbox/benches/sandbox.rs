//! What a sandboxed trial costs beyond the same scripts in as many plain calls of bubblewrap, and
//! what keeping, forking and comparing a large workspace costs.
//!
//! Wall time, as that is what a trial waits for; compare ratios of one run. `trial` opens two
//! sandboxes (one for the agent, a fork of its end for two tests) and closes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use proctor_sandbox::isolation::{Network, SandboxSpec, Sandboxes, User};
use proctor_sandbox::workspace::{Base, DiffLimits, Workspace};
use proctor_sandbox::{Cancel, Ending, Launcher, Limits, Rooms, Spawn};

struct Hall {
    rooms: Rooms,
    sandboxes: Sandboxes,
    base: Arc<Base>,
    spec: SandboxSpec,
    cancel: Cancel,
    temp: tempfile::TempDir,
}

fn hall() -> Option<Hall> {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let path = Utf8Path::from_path(temp.path()).expect("UTF-8");
    let rooms = Rooms::open(&path.join("rooms")).expect("rooms");
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_proctor-launch"));
    let sandboxes = Sandboxes::new(launcher, &rooms).expect("a room");
    if sandboxes.available().bubblewrap.is_err() {
        return None;
    }
    let folder = temp.path().join("base");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("file"), "x").expect("a file");
    let base = Base::freeze(folder).expect("a base");
    let spec = SandboxSpec { network: Network::None, ..SandboxSpec::bubblewrap() };
    Some(Hall { rooms, sandboxes, base, spec, cancel: Cancel::new().expect("a pipe"), temp })
}

impl Hall {
    fn script(&self, sandbox: &proctor_sandbox::isolation::Sandbox<'_>, user: User, script: &str) {
        let mut spawn = Spawn::new("bash", "/workspace");
        spawn.args = vec!["-c".into(), script.into()];
        spawn.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let limits = Limits::until(Instant::now() + Duration::from_mins(1));
        let finished = sandbox.run(user, &spawn, &limits, &self.cancel, &mut |_, _| {});
        assert_eq!(finished.expect("bash runs").ending, Ending::Exited(0));
    }

    fn trial(&self) {
        let room = |label| self.rooms.create(label).expect("a room");
        let workspace = Workspace::new(&self.base, room("trial"));
        let sandbox = self.sandboxes.open(&self.spec, workspace).expect("a sandbox");
        let before = sandbox.baseline().expect("a baseline");
        self.script(&sandbox, User::Agent, "echo done > result");
        let after = sandbox.close().expect("a snapshot");
        before.diff(&after, &DiffLimits::default()).expect("a diff");
        let fork = self.sandboxes.open(&self.spec, after.fork(room("tests"))).expect("a fork");
        for _ in 0..2 {
            self.script(&fork, User::Setup, "test -s result");
        }
    }

    /// The same three scripts.
    fn plain(&self) {
        let temp = tempfile::tempdir_in(self.temp.path()).expect("a folder");
        for script in ["echo done > result", "test -s result", "test -s result"] {
            let mut command = Command::new("bwrap");
            command.args(["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"]);
            command.args(["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"]);
            command.args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]);
            command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]);
            command.arg("--bind").arg(temp.path()).args(["/workspace", "--chdir", "/workspace"]);
            command.args(["bash", "-c", script]).stdin(Stdio::null());
            assert!(command.status().expect("bwrap starts").success());
        }
    }
}

fn trials(criterion: &mut Criterion) {
    let Some(hall) = hall() else { return };
    let mut group = criterion.benchmark_group("trial");
    group.sample_size(10).measurement_time(Duration::from_secs(8));
    for parallel in [1, 4, 64] {
        let at_once = |runs: u64, run: &(dyn Fn() + Sync)| {
            let start = Instant::now();
            thread::scope(|scope| {
                for index in 0..parallel {
                    let share = runs / parallel + u64::from(index < runs % parallel);
                    scope.spawn(move || (0..share).for_each(|_| run()));
                }
            });
            start.elapsed()
        };
        group.bench_function(BenchmarkId::new("bwrap", parallel), |bencher| {
            bencher.iter_custom(|runs| at_once(runs, &|| hall.plain()));
        });
        group.bench_function(BenchmarkId::new("proctor", parallel), |bencher| {
            bencher.iter_custom(|runs| at_once(runs, &|| hall.trial()));
        });
    }
    group.finish();
}

/// 10,000 files of 50 KiB.
fn large(folder: &Path) {
    for file in 0..10_000_u32 {
        let path = folder.join(format!("d{:03}/f{file:05}", file % 200));
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        let mut state = file.wrapping_mul(2_654_435_761).max(1);
        let content: Vec<u8> = (0..50 << 10)
            .map(|_| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state.to_le_bytes()[0]
            })
            .collect();
        fs::write(path, content).expect("a file");
    }
}

fn command(program: &str, args: &[&Path]) {
    let mut words = program.split(' ');
    let status = Command::new(words.next().expect("a program")).args(words).args(args).status();
    assert!(status.expect("it starts").success());
}

/// A trial that changes some files; what happens to them afterwards is measured.
fn changed(hall: &Hall, base: &Arc<Base>, compares: bool) -> Duration {
    let room = |label| hall.rooms.create(label).expect("a room");
    let workspace = Workspace::new(base, room("trial"));
    let sandbox = hall.sandboxes.open(&hall.spec, workspace).expect("a sandbox");
    let before = sandbox.baseline().expect("a baseline");
    let script = "for i in {100..199}; do echo x >> d$i/f00$i; echo new > d$i/new; \
                  rm d$i/f01$i; done";
    hall.script(&sandbox, User::Agent, script);
    let start = Instant::now();
    let after = sandbox.close().expect("a snapshot");
    let diff = compares.then(|| before.diff(&after, &DiffLimits::default()).expect("a diff"));
    let fork = after.fork(room("tests"));
    let taken = start.elapsed();
    assert!(diff.is_none_or(|diff| diff.added.len() + diff.changed.len() >= 200));
    drop(hall.sandboxes.open(&hall.spec, fork).expect("a fork"));
    taken
}

fn workspaces(criterion: &mut Criterion) {
    let Some(hall) = hall() else { return };
    let folder = hall.temp.path().join("large");
    large(&folder);
    let base = Base::freeze(&folder).expect("a base");
    base.digest().expect("readable");
    let mut group = criterion.benchmark_group("10,000 files, 500 MB");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    let fresh = || -> PathBuf { tempfile::tempdir_in(hall.temp.path()).expect("a folder").keep() };
    for (name, line) in [("cp --reflink", "cp --reflink=auto -a"), ("hard links", "cp -al")] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|runs| {
                let mut taken = Duration::ZERO;
                for _ in 0..runs {
                    let to = fresh();
                    let start = Instant::now();
                    command(line, &[&folder, &to.join("copy")]);
                    taken += start.elapsed();
                    fs::remove_dir_all(to).expect("removable");
                }
                taken
            });
        });
    }
    if nix::unistd::geteuid().is_root() {
        group.bench_function("mount overlay", |bencher| {
            bencher.iter_custom(|runs| {
                let mut taken = Duration::ZERO;
                for _ in 0..runs {
                    let to = fresh();
                    for name in ["u", "w", "m"] {
                        fs::create_dir(to.join(name)).expect("a folder");
                    }
                    let (lower, to_shown) = (folder.display(), to.display());
                    let options =
                        format!("lowerdir={lower},upperdir={to_shown}/u,workdir={to_shown}/w");
                    let start = Instant::now();
                    let line = format!("mount -t overlay overlay -o {options}");
                    command(&line, &[&to.join("m")]);
                    taken += start.elapsed();
                    command("umount", &[&to.join("m")]);
                }
                taken
            });
        });
    }
    // Of 100 files changed, 100 added and 100 removed. The overlay of the fork is mounted when it is
    // opened, as part of a trial.
    for (name, compares) in [("snapshot and fork", false), ("snapshot, fork and diff", true)] {
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|runs| {
                (0..runs).map(|_| changed(&hall, &base, compares)).sum::<Duration>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, trials, workspaces);
criterion_main!(benches);
