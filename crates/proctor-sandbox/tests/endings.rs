//! How runs of real programs end, and what is reported of them.

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use proctor_sandbox::{Capture, Ending, Launcher, ROOM_VARIABLE, Rooms, Spawn, Stall, Stream};

use crate::common::{launcher, scene};

#[test]
fn output_and_exit_code_arrive() {
    let mut scene = scene();
    let finished = scene.sh("echo out; echo err >&2; printf last; exit 7");
    assert_eq!(finished.ending, Ending::Exited(7));
    assert_eq!((scene.out.as_str(), scene.err.as_str()), ("out\nlast", "err\n"));
    assert!(finished.drained && finished.survivors.is_empty());
}

#[test]
fn no_grace_is_waited_for_when_nobody_holds_the_streams() {
    let mut scene = scene();
    scene.limits.drain_grace = Duration::from_secs(100);
    scene.limits.term_grace = Duration::from_secs(100);
    let start = Instant::now();
    assert_eq!(scene.sh("echo x").ending, Ending::Exited(0));
    assert_eq!(scene.sh("exec >&- 2>&-; sleep 0.05").ending, Ending::Exited(0));
    assert_eq!(scene.sh_until_up("echo up; sleep 100").ending, Ending::Cancelled);
    assert!(start.elapsed() < Duration::from_secs(50));
}

#[test]
fn a_signal_is_no_exit_code() {
    assert_eq!(scene().sh("kill -SEGV $$").ending, Ending::Signaled(11));
    assert_eq!(scene().sh("kill -34 $$").ending, Ending::Signaled(34), "a real-time signal");
}

#[test]
fn a_program_that_kills_its_own_group_does_not_kill_its_launcher() {
    let finished = scene().sh("kill -KILL 0");
    assert_eq!(finished.ending, Ending::Signaled(9));
}

#[test]
fn input_is_empty_or_ends() {
    let mut scene = scene();
    let mut spawn = scene.spawn("cat", &[]);
    assert_eq!(scene.run(&spawn).unwrap().ending, Ending::Exited(0));
    assert_eq!(scene.out, "");
    spawn.stdin = Some("0123456789".repeat(30_000).into_bytes());
    assert_eq!(scene.run(&spawn).unwrap().ending, Ending::Exited(0));
    assert_eq!(scene.out.len(), 300_000);
}

#[test]
fn the_environment_is_what_was_given() {
    let mut scene = scene();
    let rooms_base = scene.temp.path().join("rooms");
    let rooms = Rooms::open(rooms_base.as_path().try_into().unwrap()).unwrap();
    let room = rooms.create("x").unwrap();
    let mut spawn = Spawn::new("/usr/bin/env", scene.temp.path()).marked(&room);
    spawn.env.push(("A".into(), "1".into()));
    scene.run(&spawn).unwrap();
    let mut lines: Vec<&str> = scene.out.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["A=1".to_owned(), format!("{ROOM_VARIABLE}={}", room.root())]);
}

#[test]
fn the_program_starts_in_its_folder_with_default_signals_and_three_files() {
    let mut scene = scene();
    scene.sh("pwd; grep -E 'SigBlk|SigIgn' /proc/self/status; ls /proc/self/fd");
    let here = scene.temp.path().canonicalize().unwrap();
    let lines: Vec<&str> = scene.out.lines().collect();
    assert_eq!(lines[0], here.to_str().unwrap());
    assert_eq!(lines[1], "SigBlk:\t0000000000000000");
    // Signals 32 and 33 are the C library's own.
    let ignored = u64::from_str_radix(lines[2].trim_start_matches("SigIgn:\t"), 16).unwrap();
    assert_eq!(ignored & !(3 << 31), 0);
    // The fourth is the listing itself.
    assert_eq!(lines[3..], ["0", "1", "2", "3"]);
}

#[test]
fn a_program_that_is_not_there_and_one_that_cannot_be_executed_are_told_apart() {
    let mut scene = scene();
    let temp = scene.temp.path().to_owned();
    let file = |name: &str, content: &[u8], mode| {
        fs::write(temp.join(name), content).unwrap();
        fs::set_permissions(temp.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    file("plain", b"", 0o644);
    file("orphan", b"#!/no/such/interpreter\n", 0o755);
    file("garbage", b"\x7fELF\0\0\0", 0o755);
    let mut fault = |program: &str| {
        let spawn = scene.spawn(program, &[]);
        let error = scene.run(&spawn).unwrap_err().to_string();
        error.replace(temp.to_str().unwrap(), "TEMP")
    };
    assert_eq!(fault("no-such-program"), "program `no-such-program` not found");
    assert_eq!(fault("./none"), "program `./none` not found");
    assert_eq!(
        fault("./plain"),
        "program `TEMP/./plain` cannot be executed: permission denied (is it marked executable?)"
    );
    assert_eq!(
        fault("./orphan"),
        "program `TEMP/./orphan` cannot be executed: its interpreter does not exist"
    );
    assert_eq!(
        fault("./garbage"),
        "program `TEMP/./garbage` cannot be executed: its format is not one that the system executes"
    );
}

#[test]
fn a_missing_folder_or_launcher_is_named() {
    let mut scene = scene();
    let mut spawn = scene.spawn("sh", &[]);
    spawn.cwd = "/no/such/folder".into();
    let error = scene.run(&spawn).unwrap_err().to_string();
    assert!(error.starts_with("cannot run in `/no/such/folder`: No such file"), "{error}");
    spawn.cwd = scene.temp.path().into();
    spawn.args = vec!["-c".into(), "x".repeat(200_000).into()];
    let error = scene.run(&spawn).unwrap_err().to_string();
    assert!(error.contains("Argument list too long"), "{error}");
    spawn.args.clear();
    let nowhere = Launcher::new("/no/such/launcher");
    let error = nowhere.run(&spawn, &scene.limits, &scene.cancel, &mut |_, _| {}).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("cannot start the launcher `/no/such/launcher`: No"), "{error}");
}

#[test]
fn the_deadline_ends_a_pipeline_at_once() {
    let mut scene = scene();
    let start = Instant::now();
    scene.limits.deadline = start + Duration::from_secs(1);
    let finished = scene.sh("sleep 100 | cat");
    assert_eq!(finished.ending, Ending::TimedOut);
    // An idle machine needs 1.01 s; what matters is that the 2 s of grace were not.
    assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
}

#[test]
fn both_watchdogs_bark() {
    let mut scene = scene();
    scene.limits.first_output = Some(Duration::from_millis(50));
    assert_eq!(scene.sh("sleep 100").ending, Ending::Stalled(Stall::FirstOutput));

    let mut scene = self::scene();
    scene.limits.between_output = Some(Duration::from_millis(50));
    let finished = scene.sh("echo one; echo two >&2; sleep 100");
    assert_eq!(finished.ending, Ending::Stalled(Stall::BetweenOutput));
    assert_eq!((scene.out.as_str(), scene.err.as_str()), ("one\n", "two\n"));
}

#[test]
fn a_watchdog_without_a_limit_sleeps() {
    let mut scene = scene();
    scene.limits.between_output = Some(Duration::from_millis(1));
    // Silent from the start, so nothing is "between".
    assert_eq!(scene.sh("sleep 0.1").ending, Ending::Exited(0));
}

#[test]
fn a_run_that_is_cancelled_or_late_does_not_start() {
    let mut scene = scene();
    let touch = scene.spawn("touch", &["started"]);
    scene.limits.deadline = Instant::now();
    assert_eq!(scene.run(&touch).unwrap().ending, Ending::TimedOut);
    scene.cancel.cancel();
    assert_eq!(scene.run(&touch).unwrap().ending, Ending::Cancelled);
    assert!(!scene.temp.path().join("started").exists());
}

#[test]
fn cancelling_wakes_a_silent_run() {
    let mut scene = scene();
    let spawn = scene.spawn("sh", &["-c", "touch started; exec sleep 100"]);
    let (cancel, started) = (scene.cancel.clone(), scene.temp.path().join("started"));
    let finished = std::thread::scope(|scope| {
        scope.spawn(move || {
            common::wait_until("it starts", || started.exists());
            cancel.cancel();
        });
        scene.run(&spawn).unwrap()
    });
    assert_eq!(finished.ending, Ending::Cancelled);
}

#[test]
fn last_words_after_the_request_to_end_are_heard() {
    let mut scene = scene();
    let finished =
        scene.sh_until_up("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.01; done");
    assert_eq!(finished.ending, Ending::Cancelled);
    assert_eq!(scene.out, "up\nbye\n");
    assert!(finished.drained);
}

#[test]
fn output_without_end_is_counted_and_not_kept() {
    let scene = scene();
    let spawn = scene.spawn("head", &["-c", "30000000", "/dev/zero"]);
    let (mut capture, mut total) = (Capture::new(), 0);
    let finished = launcher()
        .run(&spawn, &scene.limits, &scene.cancel, &mut |stream, bytes| {
            assert_eq!(stream, Stream::Out);
            total += bytes.len();
            capture.push(bytes);
        })
        .unwrap();
    assert_eq!((finished.ending, total), (Ending::Exited(0), 30_000_000));
    assert!(capture.truncated());
    assert_eq!(capture.into_text().len(), Capture::LIMIT);
}

#[test]
fn a_program_without_end_is_stopped_in_full_flow() {
    let mut scene = scene();
    let spawn = scene.spawn("cat", &["/dev/zero"]);
    let mut total = 0;
    let finished = scene.run_with(&spawn, |cancel, text| {
        total += text.len();
        if total > 1_000_000 {
            cancel.cancel();
        }
    });
    assert_eq!(finished.unwrap().ending, Ending::Cancelled);
}

#[test]
fn a_panic_in_the_sink_leaves_nothing() {
    let scene = scene();
    let spawn = scene.spawn("sh", &["-c", "echo x; exec sleep 100"]);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        launcher().run(&spawn, &scene.limits, &scene.cancel, &mut |_, _| panic!("on purpose"))
    }));
    assert!(caught.is_err());
    assert_eq!(common::alive(&scene.mark), Vec::<String>::new());
}
