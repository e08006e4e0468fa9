//! Sandboxes: their life, and what programs in them share.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod common;
#[path = "common/sandbox.rs"]
mod hall;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

use proctor_model::Layering;
use proctor_sandbox::isolation::{
    Engine, Network, RoomLimits, SandboxSpec, User, Violation, Wanted,
};
use proctor_sandbox::workspace::{DiffLimits, Snapshot, Workspace};
use proctor_sandbox::{Cancel, Ending, Limits, Spawn, SpawnError};

use crate::common::has;
use crate::hall::{bash, bash_within, hall};

#[test]
fn a_trial_from_setup_to_tests() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
    let sandbox = hall.open(&SandboxSpec::bubblewrap(), &base);
    let setup = bash(&sandbox, User::Setup, "id -u; pwd; echo made > setup.txt; ls").ok();
    assert_eq!(setup, "0\n/workspace\na.txt\nsetup.txt\nsub\n");
    sandbox.hand_over().unwrap();
    let before = sandbox.baseline().unwrap();
    let agent = bash(
        &sandbox,
        User::Agent,
        "id -un; echo more >> setup.txt; rm a.txt; echo new > sub/new.txt; ls -A ~",
    );
    assert_eq!(agent.ok(), "agent\n");
    let after = sandbox.close().unwrap();
    let diff = before.diff(&after, &DiffLimits::default()).unwrap();
    assert_eq!(diff.added.len(), 1, "{diff:#?}");
    assert_eq!(diff.added[0].path, "sub/new.txt");
    assert_eq!(diff.changed.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["setup.txt"]);
    assert_eq!(diff.deleted.iter().map(|it| it.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);

    let fork = after.fork(hall.rooms.create("tests").unwrap());
    let fork = hall.sandboxes.open(&SandboxSpec::bubblewrap(), fork).unwrap();
    assert_eq!(
        bash(&fork, User::Setup, "cat setup.txt sub/*; touch t").ok(),
        "made\nmore\ntwo\nnew\n"
    );
}

#[test]
fn what_setups_install_is_there_for_agents_and_tests_and_agents_cannot_replace_it() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("tool", "#!/bin/sh\necho works\n")]);
    let sandbox = hall.open(&SandboxSpec::bubblewrap(), &base);
    let install = "install -m 0755 tool /usr/local/bin/proctor-test-tool; \
         mkdir -p /usr/local/lib/p && touch /usr/local/lib/p/q && ls -d /usr/local/lib/p";
    assert_eq!(bash(&sandbox, User::Setup, install).ok(), "/usr/local/lib/p\n");
    let replace = "proctor-test-tool; (echo x > /usr/local/bin/proctor-test-tool) 2>/dev/null && echo BAD; \
         rm -f /usr/local/bin/proctor-test-tool 2>/dev/null && echo BAD; \
         (touch /usr/local/bin/jq) 2>/dev/null && echo BAD; true";
    assert_eq!(bash(&sandbox, User::Agent, replace).ok(), "works\n");
    assert!(!std::path::Path::new("/usr/local/bin/proctor-test-tool").exists());
    let live = sandbox.snapshot(hall.rooms.create("live").unwrap()).unwrap();
    let after = sandbox.close().unwrap();
    let file = hall.temp.path().join("saved");
    after.save(&file).unwrap();
    let loaded = Snapshot::load(&base, &file, hall.rooms.create("loaded").unwrap()).unwrap();
    for state in [live, after, loaded] {
        let fork = state.fork(hall.rooms.create("tests").unwrap());
        let fork = hall.sandboxes.open(&SandboxSpec::bubblewrap(), fork).unwrap();
        let script = "proctor-test-tool; rm /usr/local/bin/proctor-test-tool; ls /usr/local/lib/p";
        assert_eq!(bash(&fork, User::Setup, script).ok(), "works\nq\n");
    }
}

#[test]
fn who_is_not_root_has_sandboxes_too() {
    // Held by the other half of this test, as another user.
    if std::env::var_os("PROCTOR_TEST_LAUNCHER").is_some() {
        let hall = hall().unwrap();
        let base = hall.base(&[("a", "one\n"), ("d/x", "x\n")]);
        let spec = SandboxSpec { network: Network::None, ..SandboxSpec::bubblewrap() };
        let sandbox = hall.open(&spec, &base);
        let isolation = sandbox.isolation().clone();
        assert_eq!(isolation.workspace, Layering::Overlay, "{:?}", hall.sandboxes.available());
        assert!(isolation.files.holds() && isolation.processes.holds());
        assert!(!isolation.users.holds());
        let daemon = "id -u; setsid sleep 1000 </dev/null >/dev/null 2>&1 & \
             while ! pgrep sleep >/dev/null; do :; done; echo s > s; rm -r d; mkdir d";
        assert_eq!(bash(&sandbox, User::Setup, daemon).ok(), "0\n");
        sandbox.hand_over().unwrap();
        let before = sandbox.baseline().unwrap();
        let agent = "id -un; pgrep sleep >/dev/null || echo BAD; echo more >> s; echo new > d/n; \
             kill -9 1 2>/dev/null; ls /proc/1/root/ 2>/dev/null && echo BAD; \
             grep CapEff /proc/self/status; mknod n c 1 3 2>/dev/null && echo BAD; ulimit -u";
        let said = bash(&sandbox, User::Agent, agent).ok();
        assert_eq!(said, "agent\nCapEff:\t0000000000000000\n1024\n");
        let live = sandbox.snapshot(hall.rooms.create("live").unwrap()).unwrap();
        let after = sandbox.close().unwrap();
        let diff = before.diff(&after, &DiffLimits::default()).unwrap();
        assert_eq!((diff.added.len(), diff.changed.len(), diff.deleted.len()), (1, 1, 0));
        assert_eq!(live.manifest().unwrap(), after.manifest().unwrap());
        let fork = after.fork(hall.rooms.create("tests").unwrap());
        let fork = hall.sandboxes.open(&spec, fork).unwrap();
        let source = hall.temp.path().join("source");
        fs::write(&source, "placed\n").unwrap();
        let placed = fork.place(&source, "d/placed".as_ref()).unwrap();
        assert_eq!(bash(&fork, User::Setup, "cat s d/*").ok(), "s\nmore\nnew\nplaced\n");
        fork.unplace(&placed).unwrap();
        return;
    }
    as_another_user("who_is_not_root_has_sandboxes_too");
}

/// Holds a test of this file once more, as a user who is not root.
fn as_another_user(test: &str) {
    let Some(hall) = hall() else { return };
    if !nix::unistd::geteuid().is_root() || !has("setpriv") {
        return;
    }
    // Where anybody may come.
    let temp = hall.temp.path();
    fs::set_permissions(temp, fs::Permissions::from_mode(0o711)).unwrap();
    let launcher = temp.join("launcher");
    let this = temp.join("this");
    fs::copy(env!("CARGO_BIN_EXE_proctor-launch"), &launcher).unwrap();
    fs::copy(std::env::current_exe().unwrap(), &this).unwrap();
    let theirs = temp.join("theirs");
    fs::create_dir(&theirs).unwrap();
    nix::unistd::chown(&theirs, Some(4711.into()), Some(4711.into())).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", "4711", "--regid", "4711", "--clear-groups"])
        .arg(&this)
        .args(["--exact", test])
        .env("PROCTOR_TEST_LAUNCHER", &launcher)
        .env("TMPDIR", &theirs)
        .current_dir("/")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

/// An agent that is the same user as Proctor can shut its files for both.
#[test]
fn what_an_agent_has_shut_is_compared_kept_and_covered_by_files_of_tests() {
    if std::env::var_os("PROCTOR_TEST_LAUNCHER").is_none() {
        as_another_user("what_an_agent_has_shut_is_compared_kept_and_covered_by_files_of_tests");
        return;
    }
    let hall = hall().unwrap();
    let base = hall.base(&[("d/old", "x\n"), ("e/same", "x\n")]);
    let source = hall.temp.path().join("source");
    fs::write(&source, "key\n").unwrap();
    for wanted in [Wanted::Bubblewrap, Wanted::Landlock, Wanted::None] {
        for root in ["555", "400", "0"] {
            let spec = SandboxSpec { wanted: wanted.clone(), ..SandboxSpec::bubblewrap() };
            let sandbox = hall.open(&spec, &base);
            let before = sandbox.baseline().unwrap();
            let agent = format!(
                "echo a > mode0; mkdir -p closed/in ro r; echo b > closed/in/f; ln -s /tmp ro/k; \
                 rm -r d; mkdir d; echo n > d/new; \
                 chmod 0 mode0 closed/in/f closed/in closed d; chmod 555 ro; chmod 400 r; \
                 chmod {root} ."
            );
            bash(&sandbox, User::Agent, &agent).ok();
            let live = sandbox.snapshot(hall.rooms.create("live").unwrap()).unwrap();
            let after = sandbox.close().unwrap();
            let diff = before.diff(&after, &DiffLimits::default()).unwrap();
            let added: Vec<_> = diff.added.iter().map(|one| one.path.as_str()).collect();
            assert_eq!(
                added,
                ["closed", "closed/in", "closed/in/f", "d/new", "mode0", "r", "ro", "ro/k"]
            );
            let text = serde_json::to_string(&diff).unwrap();
            assert_eq!(text.matches(r#""mode":"0000""#).count(), 5, "{text}");
            assert_eq!((diff.omitted.unread, diff.deleted.len()), (0, 1), "{text}");
            let file = hall.temp.path().join("saved");
            after.save(&file).unwrap();
            let saved = Snapshot::load(&base, &file, hall.rooms.create("saved").unwrap()).unwrap();
            fs::remove_file(&file).unwrap();
            for state in [after, live, saved] {
                assert_eq!(before.diff(&state, &DiffLimits::default()).unwrap(), diff);
                let fork = state.fork(hall.rooms.create("fork").unwrap());
                let fork = hall.sandboxes.open(&spec, fork).unwrap();
                for dest in ["k", "ro/k", "closed/in/k", "r/k", "mode0"] {
                    let placed = fork.place(&source, dest.as_ref()).unwrap();
                    let script = format!("test ! -L {dest} && cat {dest}");
                    assert_eq!(bash(&fork, User::Setup, &script).ok(), "key\n", "{dest}");
                    fork.unplace(&placed).unwrap();
                }
                let modes = "chmod u+x . r; stat -c %a closed ro r mode0; readlink ro/k";
                assert_eq!(bash(&fork, User::Setup, modes).ok(), "0\n555\n500\n0\n/tmp\n");
            }
        }
    }
    let limits = RoomLimits { disk: Some(32 << 20), ..RoomLimits::usual() };
    let sandbox = hall.open(&SandboxSpec { limits, ..SandboxSpec::bubblewrap() }, &base);
    let flood = "mkdir h; chmod 300 h; head -c 419430400 /dev/zero > h/f; sleep 60";
    let said = bash(&sandbox, User::Agent, flood);
    assert_ne!(said.finished.ending, Ending::Exited(0));
    assert_eq!(sandbox.violation(), Some(Violation::Disk));
}

/// An image with bash and the tools of the test, made of static programs; `None` where podman or
/// those are not installed.
fn image(hall: &hall::Hall) -> Option<String> {
    let programs = ["/bin/busybox", "/bin/bash-static"].map(std::path::Path::new);
    if !has("podman") || !programs.iter().all(|program| program.exists()) {
        let reason = "no podman, or no static busybox and bash for an image";
        let required = std::env::var_os("PROCTOR_REQUIRE_HARNESSES");
        assert!(required.is_none_or(|value| value != "1"), "{reason}");
        eprintln!("skipped: {reason}");
        return None;
    }
    let root = hall.temp.path().join("image");
    let bin = root.join("bin");
    for folder in ["bin", "tmp", "etc", "home", "workspace"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::copy(programs[0], bin.join("busybox")).unwrap();
    fs::copy(programs[1], bin.join("bash")).unwrap();
    for tool in ["sh", "sleep", "ls", "cat", "id", "rm", "setsid", "ps", "grep", "kill", "touch"] {
        std::os::unix::fs::symlink("busybox", bin.join(tool)).unwrap();
    }
    fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/:/bin/sh\n")
        .unwrap();
    let image = format!("localhost/proctor-test:{}", std::process::id());
    let archive = hall.temp.path().join("image.tar");
    let tar = Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg(".").status();
    assert!(tar.unwrap().success());
    let import = Command::new("podman").arg("import").arg(&archive).arg(&image).output().unwrap();
    assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
    Some(image)
}

#[test]
fn a_container_serves_as_well() {
    let Some(hall) = hall() else { return };
    let Some(image) = image(&hall) else { return };
    let base = hall.base(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let wanted = Wanted::Container { engine: Engine::Podman, image: image.clone() };
    let spec = SandboxSpec { wanted, network: Network::None, ..SandboxSpec::bubblewrap() };
    let sandbox = hall.open(&spec, &base);
    let setup = "id -u; echo s > s; setsid sleep 4711 </dev/null >/dev/null 2>&1 &";
    assert_eq!(bash(&sandbox, User::Setup, setup).ok(), "0\n");
    sandbox.hand_over().unwrap();
    let before = sandbox.baseline().unwrap();
    let agent = "id -u; ps | grep -q 'sleep 471[1]' || echo BAD; echo more >> s; rm a.txt; \
         (touch /etc/x) 2>/dev/null && echo BAD; echo $HOME; exit 3";
    let said = bash(&sandbox, User::Agent, agent);
    assert_eq!(said.finished.ending, Ending::Exited(3), "{said:?}");
    assert_eq!(said.out, "1000\n/home/agent\n");
    let late = bash_within(&sandbox, User::Agent, "sleep 4712", Duration::from_secs(2));
    assert_eq!(late.finished.ending, Ending::TimedOut);
    let after = sandbox.close().unwrap();
    assert!(hall::running("sleep 4711").is_empty() && hall::running("sleep 4712").is_empty());
    let diff = before.diff(&after, &DiffLimits::default()).unwrap();
    assert_eq!((diff.added.len(), diff.changed.len(), diff.deleted.len()), (0, 1, 1));
    let fork = after.fork(hall.rooms.create("tests").unwrap());
    let fork = hall.sandboxes.open(&spec, fork).unwrap();
    assert_eq!(bash(&fork, User::Setup, "cat *").ok(), "two\ns\nmore\n");
    drop(fork);
    let listed = Command::new("podman").args(["ps", "-a", "--format", "{{.Names}}"]).output();
    let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
    assert!(!listed.contains(&format!("proctor-{}-", std::process::id())), "{listed}");
    let _ = Command::new("podman").args(["rmi", "--force", &image]).output();
}

#[test]
fn landlock_alone_hides_the_host_and_leaves_no_process() {
    let Some(hall) = hall() else { return };
    if hall.sandboxes.available().landlock.is_none() {
        eprintln!("skipped: no Landlock");
        return;
    }
    let base = hall.base(&[("a", "one\n")]);
    let secret = hall.temp.path().join("secret");
    fs::write(&secret, "s").unwrap();
    let spec = SandboxSpec {
        wanted: Wanted::Landlock,
        network: Network::None,
        ..SandboxSpec::bubblewrap()
    };
    let sandbox = hall.open(&spec, &base);
    let isolation = sandbox.isolation();
    assert!(isolation.landlock.holds() && isolation.files.holds());
    assert!(!isolation.processes.holds() && !isolation.network.holds() && !isolation.users.holds());
    let script = format!(
        "cat {0} 2>/dev/null && echo BAD; (echo x > {0}) 2>/dev/null && echo BAD; \
         (touch /usr/x /tmp/proctor-x) 2>/dev/null && echo BAD; \
         echo two >> a; echo x > $HOME/x; cat a; setsid sleep 4713 >/dev/null 2>&1 & ",
        secret.display()
    );
    let before = sandbox.baseline().unwrap();
    for user in [User::Setup, User::Agent] {
        bash(&sandbox, user, &script).ok();
    }
    assert!(hall::running("sleep 4713").is_empty());
    let after = sandbox.close().unwrap();
    let diff = before.diff(&after, &DiffLimits::default()).unwrap();
    assert_eq!((diff.added.len(), diff.changed.len()), (0, 1));
    assert_eq!(fs::read(base.folder().join("a")).unwrap(), b"one\n");
}

#[test]
fn without_isolation_everything_else_is_the_same_and_said_so() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("a", "one\n")]);
    let spec = SandboxSpec { wanted: Wanted::None, ..SandboxSpec::bubblewrap() };
    let sandbox = hall.open(&spec, &base);
    let before = sandbox.baseline().unwrap();
    assert_eq!(bash(&sandbox, User::Setup, "cat a; ls -A $HOME; echo two > b").ok(), "one\n");
    let report = serde_json::to_value(sandbox.isolation()).unwrap();
    assert_eq!(report["level"], "none");
    assert_eq!(report["files"]["status"], "not_enforced");
    assert_eq!(report["network"]["status"], "not_requested");
    assert_eq!(report["max_file_size"]["status"], "enforced");
    let after = sandbox.close().unwrap();
    assert_eq!(before.diff(&after, &DiffLimits::default()).unwrap().added.len(), 1);
}

#[test]
fn programs_that_cannot_be_run_inside_are_told_apart() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("plain", "x"), ("folder/x", "")]);
    let sandbox = hall.open(&SandboxSpec::bubblewrap(), &base);
    let limits = Limits::until(Instant::now() + Duration::from_mins(1));
    let run = |program: &str, cwd: &str| {
        let spawn = Spawn::new(program, cwd);
        let cancel = Cancel::new().unwrap();
        sandbox.run(User::Agent, &spawn, &limits, &cancel, &mut |_, _| {}).unwrap_err()
    };
    assert!(matches!(run("no-such-program", "/workspace"), SpawnError::NotFound { .. }));
    assert!(matches!(run("./plain", "/workspace"), SpawnError::NotExecutable { .. }));
    assert!(matches!(run("./folder", "/workspace"), SpawnError::NotExecutable { .. }));
    assert!(matches!(run("/bin/true", "/nowhere"), SpawnError::WorkingDirectory { .. }));
    let missing = Wanted::Container { engine: Engine::Podman, image: "localhost/no:0".into() };
    let spec = SandboxSpec { wanted: missing, ..SandboxSpec::bubblewrap() };
    let workspace = Workspace::new(&base, hall.rooms.create("none").unwrap());
    assert!(hall.sandboxes.open(&spec, workspace).is_err());
}
