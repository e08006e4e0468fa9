//! What a hostile agent tries in a sandbox.
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod common;
#[path = "common/sandbox.rs"]
mod hall;

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use proctor_sandbox::Ending;
use proctor_sandbox::isolation::{Network, RoomLimits, SandboxSpec, User, Violation};

use crate::common::wait_until;
use crate::hall::{Hall, bash, bash_within, hall, running};

/// Runs a script as the agent that says `BAD` when an attack succeeds.
#[track_caller]
fn harmless(hall: &Hall, spec: &SandboxSpec, script: &str) -> String {
    let base = hall.base(&[("file", "x\n")]);
    let sandbox = hall.open(spec, &base);
    let said = bash(&sandbox, User::Agent, script);
    let all = format!("{}{}", said.out, said.err);
    assert!(!said.out.contains("BAD"), "{all}");
    assert_eq!(said.finished.ending, Ending::Exited(0), "{all}");
    all
}

fn usual() -> SandboxSpec {
    SandboxSpec::bubblewrap()
}

#[test]
fn other_trials_and_the_host_cannot_be_seen() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[("file", "x\n")]);
    let other = hall.open(&usual(), &base);
    bash(&other, User::Agent, "echo secret > /workspace/other-trial").ok();
    let secret = hall.temp.path().join("host-secret");
    fs::write(&secret, "s").unwrap();
    let script = format!(
        "test -e {} && echo BAD temp; \
         find / -name other-trial -not -path '/proc/*' 2>/dev/null | grep . && echo BAD other; \
         find /proc -maxdepth 3 -name other-trial 2>/dev/null | grep . && echo BAD proc; \
         test \"$(ls /home)\" = agent || echo BAD home; \
         test -z \"$(ls -A /root 2>/dev/null)\" || echo BAD root; \
         test -e /etc/shadow && echo BAD shadow; \
         test -e /sys/kernel && echo BAD sys; \
         test \"$(ls -d /proc/[0-9]* | wc -l)\" -lt 10 || echo BAD processes; \
         cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep PROCTOR && echo BAD environ; \
         true",
        secret.display()
    );
    harmless(&hall, &usual(), &script);
}

#[test]
fn the_way_out_over_proc_is_closed() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    for user in [User::Agent, User::Setup] {
        let script = "ls /proc/1/root/ 2>/dev/null && echo BAD root; \
             readlink /proc/1/fd/0 2>/dev/null && echo BAD fd; \
             readlink /proc/1/exe 2>/dev/null && echo BAD exe; \
             (exec 3</proc/1/fd/0) 2>/dev/null && echo BAD open; \
             cat /proc/1/mem 2>/dev/null && echo BAD mem; \
             cat /proc/1/maps 2>/dev/null | grep . && echo BAD maps; \
             (echo x > /proc/sys/kernel/hostname) 2>/dev/null && echo BAD hostname; \
             (echo x > /proc/sys/vm/swappiness) 2>/dev/null && echo BAD sys; \
             (echo x > /proc/sysrq-trigger) 2>/dev/null && echo BAD sysrq; \
             (: >> /proc/sys/kernel/core_pattern) 2>/dev/null && echo BAD core_pattern; \
             true";
        assert_eq!(bash(&sandbox, user, script).ok(), "");
    }
}

#[test]
fn nothing_outside_can_be_written_made_or_killed() {
    let Some(hall) = hall() else { return };
    let me = std::process::id();
    let script = format!(
        "for place in / /usr /usr/bin /usr/local/bin /etc /opt /run /run/proctor /var /home /dev /lib; do \
           (touch $place/x) 2>/dev/null && echo BAD write $place; \
         done; \
         kill -0 {me} 2>/dev/null && echo BAD kill; \
         kill -9 1 2>/dev/null; \
         (mknod /workspace/null c 1 3 || mknod /tmp/sda b 254 0) 2>/dev/null && echo BAD device; \
         mount -t tmpfs none /workspace 2>/dev/null && echo BAD mount; \
         ln /usr/bin/bash /workspace/bash 2>/dev/null && echo BAD link; \
         chown 0 /workspace/file 2>/dev/null && echo BAD chown; \
         true"
    );
    harmless(&hall, &usual(), &script);

    // Who kills everything that can be seen kills what is its own.
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    let said = bash(&sandbox, User::Agent, "exec kill -9 -1");
    assert_eq!(said.out, "");
    assert_eq!(bash(&sandbox, User::Agent, "echo still there").ok(), "still there\n");
}

#[test]
fn root_inside_has_no_power_either() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    if !sandbox.isolation().users.holds() {
        return;
    }
    let script = "mknod /workspace/null c 1 3 2>/dev/null && echo BAD device; \
         mount -t tmpfs none /tmp 2>/dev/null && echo BAD mount; \
         umount /proc/sys 2>/dev/null && echo BAD umount; \
         (touch /usr/bin/x) 2>/dev/null && echo BAD usr; \
         chroot / true 2>/dev/null && echo BAD chroot; \
         nsenter -t 1 -m true 2>/dev/null && echo BAD nsenter; \
         grep CapEff /proc/self/status";
    // KILL, CHOWN and the like, and nothing that reaches further.
    assert_eq!(bash(&sandbox, User::Setup, script).ok(), "CapEff:\t00000000000004fb\n");
}

#[test]
fn a_set_user_id_program_gains_nothing() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    bash(&sandbox, User::Setup, "cp /usr/bin/id /workspace/id; chmod 6755 /workspace/id").ok();
    let id = bash(&sandbox, User::Agent, "/workspace/id -u; grep NoNewPrivs /proc/self/status");
    assert_eq!(id.ok(), "1000\nNoNewPrivs:\t1\n");
}

#[test]
fn landlock_is_there_when_it_is_said_to_be() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    if !sandbox.isolation().landlock.holds() {
        return;
    }
    // A folder that belongs to the agent and is none of its own.
    let made = "mkdir -p /run/open && chmod 777 /run/open";
    bash(&sandbox, User::Setup, made);
    let script = "(touch /run/open/x) 2>/dev/null && echo BAD; touch /workspace/a ~/b /tmp/c /dev/shm/d && echo fine";
    assert_eq!(bash(&sandbox, User::Agent, script).ok(), "fine\n");
}

#[test]
fn without_a_network_nobody_is_reached() {
    let Some(hall) = hall() else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo BAD; true");
    let spec = SandboxSpec { network: Network::None, ..usual() };
    harmless(&hall, &spec, &connect);
    harmless(
        &hall,
        &spec,
        "test \"$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ')\" = lo || echo BAD",
    );
    // The same with the network of the host, so that the test tests something.
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    assert_eq!(bash(&sandbox, User::Agent, &connect).ok(), "BAD\n");
}

#[test]
fn abstract_sockets_of_the_host_are_out_of_reach() {
    let Some(hall) = hall() else { return };
    if hall.sandboxes.available().landlock.is_none_or(|version| version < 6) {
        eprintln!("skipped: this Landlock knows no abstract sockets");
        return;
    }
    let name = format!("proctor-test-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let script = format!(
        "command -v python3 >/dev/null || exit 0; python3 - <<'E'\n\
         import socket\n\
         s = socket.socket(socket.AF_UNIX)\n\
         try:\n    s.connect('\\0{name}'); print('BAD')\n\
         except OSError: pass\n\
         E\n"
    );
    harmless(&hall, &usual(), &script);
}

#[test]
fn a_background_writer_ends_with_the_sandbox() {
    let Some(hall) = hall() else { return };
    let base = hall.base(&[]);
    let sandbox = hall.open(&usual(), &base);
    let mark = format!("writer-{}", std::process::id());
    let script = format!(
        "setsid bash -c 'while :; do echo x >> /workspace/log; done # {mark}' </dev/null >/dev/null 2>&1 & \
         while [ ! -s /workspace/log ]; do :; done"
    );
    bash(&sandbox, User::Agent, &script).ok();
    assert!(!running(&mark).is_empty(), "it lives on in the sandbox");
    let after = sandbox.close().unwrap();
    assert!(running(&mark).is_empty());
    let roots = [after.manifest().unwrap().root(), after.manifest().unwrap().root()];
    assert_eq!(roots[0], roots[1]);
}

#[test]
fn a_fork_bomb_ends_at_the_limit() {
    let Some(hall) = hall() else { return };
    let limits = RoomLimits { processes: Some(64), ..RoomLimits::usual() };
    let spec = SandboxSpec { limits, ..usual() };
    let base = hall.base(&[]);
    let sandbox = hall.open(&spec, &base);
    let mark = format!("bomb-{}", std::process::id());
    let bomb = format!("bomb() {{ bomb | bomb & }}; bomb; sleep 1 # {mark}");
    for user in [User::Agent, User::Setup] {
        if user == User::Setup && !sandbox.isolation().max_processes.holds() {
            continue;
        }
        let said = bash_within(&sandbox, user, &bomb, Duration::from_secs(3));
        assert!(said.err.contains("fork"), "{}", said.err);
    }
    assert!(running(&mark).len() <= 64);
    drop(sandbox);
    assert!(running(&mark).is_empty());
}

#[test]
fn the_processes_of_one_trial_do_not_count_for_another() {
    let Some(hall) = hall() else { return };
    let limits = RoomLimits { processes: Some(40), ..RoomLimits::usual() };
    let spec = SandboxSpec { limits, ..usual() };
    let base = hall.base(&[]);
    let trials: Vec<_> = (0..3).map(|_| hall.open(&spec, &base)).collect();
    for trial in &trials {
        let script = "for i in {1..25}; do sleep 100 & done 2>&1; jobs -p | wc -l";
        assert_eq!(bash(trial, User::Agent, script).ok(), "25\n");
    }
}

#[test]
fn a_flood_of_the_disk_ends_the_trial() {
    let Some(hall) = hall() else { return };
    let limits = RoomLimits { disk: Some(32 << 20), ..RoomLimits::usual() };
    let spec = SandboxSpec { limits, ..usual() };
    let base = hall.base(&[]);
    let flood = "i=0; while [ $i -lt 400 ]; do head -c 1048576 /dev/zero > f$i; i=$((i+1)); done";
    let nameless = "exec 3>f; rm f; head -c 419430400 /dev/zero >&3";
    for (place, flood) in [("/workspace", flood), ("~", flood), ("/tmp", flood), ("/tmp", nameless)]
    {
        let sandbox = hall.open(&spec, &base);
        let start = Instant::now();
        let script = format!("cd {place}; {flood}; sleep 60");
        let said = bash(&sandbox, User::Agent, &script);
        assert_ne!(said.finished.ending, Ending::Exited(0), "{place}");
        assert_eq!(sandbox.violation(), Some(Violation::Disk), "{place}");
        assert!(start.elapsed() < Duration::from_secs(30));
        // What was written before is still there to be looked at.
        assert!(sandbox.close().is_ok());
    }
}

#[test]
fn a_file_that_is_too_large_is_cut_off() {
    let Some(hall) = hall() else { return };
    let limits = RoomLimits { file_size: Some(1 << 20), ..RoomLimits::usual() };
    let spec = SandboxSpec { limits, ..usual() };
    let said = harmless(
        &hall,
        &spec,
        "trap '' XFSZ; head -c 3000000 /dev/zero > big; stat -c %s big; ulimit -n",
    );
    assert!(said.contains("1048576\n8192\n"), "{said}");
}

#[test]
fn memory_has_a_limit_where_control_groups_can_be_made() {
    let Some(hall) = hall() else { return };
    let limits = RoomLimits { memory: Some(64 << 20), ..RoomLimits::usual() };
    let base = hall.base(&[]);
    let sandbox = hall.open(&SandboxSpec { limits, ..usual() }, &base);
    if !sandbox.isolation().max_memory.holds() {
        return;
    }
    let said = bash(&sandbox, User::Agent, "head -c 200000000 /dev/zero | tail -n 1 | wc -c");
    assert_ne!(said.out.trim(), "200000000", "{said:?}");
}

#[test]
fn sockets_and_folders_that_are_bound_are_there_and_cannot_be_changed() {
    let Some(hall) = hall() else { return };
    let tools = hall.temp.path().join("tools");
    fs::create_dir(&tools).unwrap();
    fs::write(tools.join("tool"), "#!/bin/sh\necho works\n").unwrap();
    let mut spec = usual();
    spec.binds = vec![proctor_sandbox::isolation::Bind::same(&tools)];
    let script = format!(
        "sh {0}/tool; (echo x > {0}/tool) 2>/dev/null && echo BAD; (touch {0}/new) 2>/dev/null && echo BAD; true",
        tools.display()
    );
    assert_eq!(harmless(&hall, &spec, &script), "works\n");
}

#[test]
fn a_killed_proctor_leaves_nothing() {
    if std::env::var_os("PROCTOR_TEST_HOLDS").is_some() {
        let hall = hall().unwrap();
        let base = hall.base(&[("file", "x")]);
        let sandbox = hall.open(&usual(), &base);
        let mark = std::env::var("PROCTOR_TEST_HOLDS").unwrap();
        let daemon = format!("setsid sleep 1000.{mark} </dev/null >/dev/null 2>&1 &");
        bash(&sandbox, User::Setup, &daemon).ok();
        // The parent test waits for the daemon and kills this process while the agent is at work.
        bash(&sandbox, User::Agent, &format!("sleep 2000.{mark}"));
        return;
    }
    let Some(hall) = hall() else { return };
    let mark = std::process::id();
    let temp = hall.temp.path().join("killed");
    fs::create_dir(&temp).unwrap();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_killed_proctor_leaves_nothing"])
        .env("PROCTOR_TEST_HOLDS", mark.to_string())
        .env("TMPDIR", &temp)
        .spawn()
        .unwrap();
    let sleeps = || [format!("sleep 1000.{mark}"), format!("sleep 2000.{mark}")];
    wait_until("both run", || sleeps().iter().all(|sleep| !running(sleep).is_empty()));
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("nothing runs", || sleeps().iter().all(|sleep| running(sleep).is_empty()));
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains(temp.to_str().unwrap()), "{mounts}");
    // The next start removes the folders.
    let left = fs::read_dir(&temp).unwrap().next().unwrap().unwrap().path().join("rooms");
    let left = camino::Utf8PathBuf::from_path_buf(left).unwrap();
    let reaped = proctor_sandbox::Rooms::open(&left).unwrap().reap().unwrap();
    assert!(reaped.failures.is_empty(), "{:?}", reaped.failures);
    assert!(!reaped.removed.is_empty());
}
