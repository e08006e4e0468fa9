//! Rooms of this run, of others, and of runs that were killed.

#![allow(clippy::print_stdout, reason = "one test talks to another")]

mod common;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::process::{Command, Stdio};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_sandbox::{ROOM_VARIABLE, Rooms};

use crate::common::{MARK, alive, has, launcher, scene, wait_until};

fn base(temp: &tempfile::TempDir) -> Utf8PathBuf {
    Utf8Path::from_path(temp.path()).unwrap().canonicalize_utf8().unwrap().join("base")
}

fn listing(path: &Utf8Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_room_is_empty_private_and_gone_afterwards() {
    let temp = tempfile::tempdir().unwrap();
    let base = base(&temp);
    let rooms = Rooms::open(&base).unwrap();
    let first = rooms.create("a label/../with everything in it").unwrap();
    let second = rooms.create("").unwrap();
    assert_eq!(first.root().file_name(), Some("0-a_label____with_everythi"));
    assert_eq!(second.root().file_name(), Some("1-"));
    assert_eq!(listing(first.root()), ["tmp", "workspace"]);
    assert_eq!(fs::metadata(first.root()).unwrap().mode() & 0o777, 0o700);
    let root = first.root().to_owned();
    fs::create_dir_all(first.workspace().join("a/b")).unwrap();
    fs::set_permissions(first.workspace().join("a"), fs::Permissions::from_mode(0o000)).unwrap();
    first.remove().unwrap();
    assert!(!root.exists());
    drop(rooms);
    assert_eq!(listing(&base), ["lock", &format!("run-{}", std::process::id())]);
    // A room keeps its run, so that nobody reaps it.
    assert_eq!(Rooms::open(&base).unwrap().reap().unwrap().removed, Vec::<Utf8PathBuf>::new());
    assert!(second.workspace().exists());
    drop(second);
    assert_eq!(listing(&base), ["lock"]);
}

#[test]
fn a_base_that_others_control_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    let base = base(&temp);
    let refusal = || {
        let message = Rooms::open(&base).unwrap_err().to_string();
        message.replace(base.as_str(), "BASE")
    };
    let way_out = "; remove it, or set TMPDIR to another folder";
    fs::write(&base, "").unwrap();
    assert_eq!(refusal(), format!("`BASE` cannot hold rooms: it is not a folder{way_out}"));
    fs::remove_file(&base).unwrap();
    symlink(temp.path(), &base).unwrap();
    assert_eq!(refusal(), format!("`BASE` cannot hold rooms: it is not a folder{way_out}"));
    fs::remove_file(&base).unwrap();
    fs::create_dir(&base).unwrap();
    fs::set_permissions(&base, fs::Permissions::from_mode(0o750)).unwrap();
    assert_eq!(refusal(), format!("`BASE` cannot hold rooms: other users may enter it{way_out}"));
    let nowhere = Rooms::open(&base.join("no/such")).unwrap_err().to_string();
    assert!(nowhere.contains("cannot create") && nowhere.contains("no/such"), "{nowhere}");
}

#[test]
fn what_dead_runs_left_is_reaped_and_what_lives_is_not() {
    let temp = tempfile::tempdir().unwrap();
    let base = base(&temp);
    let living = Rooms::open(&base).unwrap();
    let occupied = living.create("occupied").unwrap();
    // Three dead runs: one with a room, one cut short at birth, one cut short at removal.
    let room = base.join("run-1/0-x");
    fs::create_dir_all(room.join("workspace/deep")).unwrap();
    fs::write(base.join("run-1/lock"), "").unwrap();
    fs::set_permissions(room.join("workspace"), fs::Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(base.join("run-2")).unwrap();
    fs::create_dir_all(base.join("run-3/1-y/4/z")).unwrap();
    fs::write(base.join("not-ours"), "").unwrap();
    let sleeper = |value: &str| {
        let mut command = Command::new("sleep");
        command.arg("300").env(ROOM_VARIABLE, value).spawn().unwrap()
    };
    let mut left = sleeper(room.as_str());
    let mut other = sleeper(base.join("run-11/0-x").as_str());

    let rooms = Rooms::open(&base).unwrap();
    let reaped = rooms.reap().unwrap();
    assert_eq!(reaped.removed, [room, base.join("run-3/1-y")]);
    assert!(reaped.failures.is_empty(), "{:?}", reaped.failures);
    assert_eq!(reaped.killed.len(), 1);
    assert_eq!((reaped.killed[0].name.as_str(), reaped.killed[0].killed), ("sleep", true));
    assert_eq!(left.wait().unwrap().code(), None);
    assert!(other.try_wait().unwrap().is_none(), "a path that only begins alike is another room");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(occupied.workspace().exists());
    let own = format!("run-{}", std::process::id());
    assert_eq!(listing(&base), ["lock", "not-ours", &own, &format!("{own}-1")]);
    assert!(rooms.reap().unwrap().removed.is_empty());
}

#[test]
fn a_run_that_is_being_reaped_is_left_to_its_reaper() {
    let temp = tempfile::tempdir().unwrap();
    let base = base(&temp);
    let rooms = Rooms::open(&base).unwrap();
    fs::create_dir_all(base.join("run-1/0-x")).unwrap();
    let lock = File::create(base.join("run-1/lock")).unwrap();
    lock.lock().unwrap();
    assert!(rooms.reap().unwrap().removed.is_empty());
    drop(lock);
    assert_eq!(rooms.reap().unwrap().removed, [base.join("run-1/0-x")]);
}

/// Not a test: the program that the next test kills. It runs something below a launcher, in a room.
#[test]
#[ignore = "started by `nothing_outlives_a_parent_that_is_killed`"]
fn victim() {
    let base = Utf8PathBuf::from(std::env::var("VICTIM_BASE").unwrap());
    let mut scene = scene();
    scene.mark = std::env::var(MARK).unwrap();
    let room = Rooms::open(&base).unwrap().create("victim").unwrap();
    let script = "setsid sh -c 'trap \"\" TERM; touch up; sleep 300; sleep 300' & (sleep 300 &)\n\
                  while [ ! -e up ]; do :; done; echo up; sleep 300";
    let spawn = scene.spawn("sh", &["-c", script]).marked(&room);
    let said_up = &mut |_, _: &[u8]| println!("\nup");
    launcher().run(&spawn, &scene.limits, &scene.cancel, said_up).unwrap();
}

#[test]
fn nothing_outlives_a_parent_that_is_killed() {
    if !has("setsid") {
        return;
    }
    let scene = scene();
    let base = base(&scene.temp);
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["victim", "--exact", "--ignored", "--nocapture"])
        .env("VICTIM_BASE", &base)
        .env("TMPDIR", scene.temp.path())
        .env(MARK, &scene.mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "up"));
    assert!(alive(&scene.mark).len() >= 4);
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("the launcher sweeps by itself", || alive(&scene.mark).is_empty());

    // And the next start removes the room.
    let reaped = Rooms::open(&base).unwrap().reap().unwrap();
    assert_eq!(reaped.removed.len(), 1);
    assert_eq!(reaped.removed[0].file_name(), Some("0-victim"));
    assert_eq!(listing(&base), ["lock"]);
}

#[test]
fn what_agents_have_put_among_the_runs_stops_nobody() {
    let temp = tempfile::tempdir().unwrap();
    let base = base(&temp);
    drop(Rooms::open(&base).unwrap());
    let victim = base.with_file_name("victim");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("file"), "").unwrap();
    symlink(&victim, base.join("run-a")).unwrap();
    pipe(&base.join("run-b"));
    fs::write(base.join("run-c"), "").unwrap();
    for (run, lock) in [("run-d", "pipe"), ("run-e", "link"), ("run-f", "folder")] {
        let run = base.join(run);
        fs::create_dir_all(run.join("0-x/workspace")).unwrap();
        let path = run.join("lock");
        match lock {
            "pipe" => pipe(&path),
            "link" => symlink(victim.join("file"), &path).unwrap(),
            _ => fs::create_dir(&path).unwrap(),
        }
    }
    let shut = base.join("run-g");
    fs::create_dir(&shut).unwrap();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o000)).unwrap();

    let rooms = Rooms::open(&base).unwrap();
    let reaped = rooms.reap().unwrap();
    assert!(reaped.failures.is_empty(), "{:?}", reaped.failures);
    assert_eq!(listing(&base).len(), 2, "lock and this run: {:?}", listing(&base));
    assert_eq!(listing(&victim), ["file"]);
}

#[test]
fn a_pipe_in_the_place_of_the_lock_is_not_waited_for() {
    let temp = tempfile::tempdir().unwrap();
    let base = base(&temp);
    drop(Rooms::open(&base).unwrap());
    fs::remove_file(base.join("lock")).unwrap();
    pipe(&base.join("lock"));
    let refused = Rooms::open(&base).unwrap_err().to_string();
    assert!(refused.contains("lock` cannot hold rooms: it is not a regular file"), "{refused}");
}

#[test]
fn a_workspace_that_was_replaced_is_noticed() {
    let temp = tempfile::tempdir().unwrap();
    let rooms = Rooms::open(&base(&temp)).unwrap();
    let reason = |room: &proctor_sandbox::Room| room.check_workspace().unwrap_err().to_string();

    let room = rooms.create("x").unwrap();
    room.check_workspace().unwrap();
    fs::remove_dir(room.workspace()).unwrap();
    assert!(reason(&room).ends_with(": nothing is there"));
    symlink("/etc", room.workspace()).unwrap();
    assert!(reason(&room).ends_with(": a link is there"));
    fs::remove_file(room.workspace()).unwrap();
    fs::write(room.workspace(), "").unwrap();
    assert!(reason(&room).ends_with(": something else is there"));
    // Made anew it serves as well as the first one.
    fs::remove_file(room.workspace()).unwrap();
    fs::create_dir(room.workspace()).unwrap();
    room.check_workspace().unwrap();

    let room = rooms.create("y").unwrap();
    let aside = room.root().with_file_name("aside");
    fs::rename(room.root(), &aside).unwrap();
    fs::create_dir_all(room.workspace()).unwrap();
    assert!(reason(&room).ends_with(": the folder around it is another"));
}

fn pipe(path: &Utf8Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
