//! Programs that leave processes behind, by every way known.

mod common;

use std::time::{Duration, Instant};

use proctor_sandbox::{Ending, Finished, SpawnError};

use crate::common::{has, scene};

fn survivors(finished: &Finished) -> Vec<&str> {
    assert!(finished.survivors.iter().all(|survivor| survivor.killed));
    finished.survivors.iter().map(|survivor| survivor.name.as_str()).collect()
}

#[test]
fn a_pipe_holder_in_a_session_of_its_own_costs_the_grace_and_not_the_result() {
    if !has("setsid") {
        return;
    }
    let mut scene = scene();
    let start = Instant::now();
    let finished = scene
        .sh("setsid sh -c ': > up; exec sleep 300' & while [ ! -e up ]; do :; done; echo result");
    assert_eq!(finished.ending, Ending::Exited(0));
    assert_eq!(scene.out, "result\n");
    assert!(!finished.drained);
    assert_eq!(survivors(&finished).len(), 1);
    assert!(start.elapsed() >= Duration::from_millis(250), "the grace was given");
}

#[test]
fn a_daemon_that_holds_nothing_is_found_too() {
    if !has("setsid") {
        return;
    }
    let mut scene = scene();
    let finished = scene.sh("setsid sh -c ': > up; exec sleep 300' </dev/null >/dev/null 2>&1 & \
         while [ ! -e up ]; do :; done; echo result");
    assert_eq!(scene.out, "result\n");
    assert!(finished.drained);
    assert_eq!(survivors(&finished).len(), 1);
}

#[test]
fn a_double_fork_is_found() {
    let mut scene = scene();
    let finished = scene
        .sh("(sh -c ': > up; exec sleep 300' >/dev/null 2>&1 &); while [ ! -e up ]; do :; done");
    assert_eq!(finished.ending, Ending::Exited(0));
    assert_eq!(survivors(&finished).len(), 1);
}

#[test]
fn who_ignores_the_request_to_end_is_killed_after_the_grace() {
    let mut scene = scene();
    scene.limits.term_grace = Duration::from_millis(100);
    let finished = scene.sh_until_up("trap '' TERM; echo up; while :; do sleep 0.05; done");
    assert_eq!(finished.ending, Ending::Cancelled);
    assert!(survivors(&finished).contains(&"sh"));
}

#[test]
fn the_request_to_end_reaches_the_whole_tree() {
    if !has("setsid") {
        return;
    }
    let mut scene = scene();
    let finished = scene.sh_until_up(
        // A trap that does nothing, and not an ignored signal: that would be the child's as well.
        "trap : TERM\n\
         setsid sh -c 'trap \"echo child heard; exit\" TERM; echo up; while :; do sleep 0.01; done'\n\
         echo parent saw it",
    );
    assert_eq!(finished.ending, Ending::Cancelled);
    assert_eq!(scene.out, "up\nchild heard\nparent saw it\n");
    assert!(finished.survivors.is_empty(), "{:?}", finished.survivors);
}

#[test]
fn a_stopped_process_hears_the_request_to_end() {
    let mut scene = scene();
    let spawn = scene.spawn("sh", &["-c", "trap 'echo bye; exit' TERM; echo up; kill -STOP $$"]);
    let finished = scene.run_with(&spawn, |cancel, text| {
        if text.contains("up") {
            cancel.cancel();
        }
    });
    assert!(finished.unwrap().survivors.is_empty());
}

#[test]
fn a_crowd_is_killed() {
    let mut scene = scene();
    scene.limits.term_grace = Duration::from_millis(1);
    let finished = scene.sh_until_up(
        "trap '' TERM\n\
         i=0; while [ $i -lt 100 ]; do (while :; do sleep 300; done) & i=$((i+1)); done\n\
         echo up; wait; sleep 300",
    );
    assert_eq!(finished.ending, Ending::Cancelled);
    assert!(finished.survivors.len() >= 100, "{}", finished.survivors.len());
}

#[test]
fn a_chain_of_processes_each_of_which_starts_the_next_and_ends_is_caught() {
    if !has("setsid") {
        return;
    }
    let mut scene = scene();
    // A moving target: every link lives for a millisecond, in a session of its own.
    std::fs::write(scene.temp.path().join("hop"), "trap '' TERM; setsid sh ./hop & exit 0\n")
        .unwrap();
    let start = Instant::now();
    let finished = scene.sh("sh ./hop; sh ./hop; sh ./hop; echo up");
    assert_eq!(finished.ending, Ending::Exited(0));
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    assert!(finished.survivors.iter().all(|survivor| survivor.killed));
}

#[test]
fn a_program_that_kills_its_launcher_gains_nothing_by_it() {
    let mut scene = scene();
    let spawn = scene.spawn("sh", &["-c", "sleep 300 & kill -KILL $PPID; echo free; sleep 300"]);
    let error = scene.run(&spawn).unwrap_err();
    assert!(matches!(error, SpawnError::LauncherLost { .. }), "{error}");
}

#[test]
fn a_launcher_shrugs_off_what_can_be_shrugged_off() {
    let mut scene = scene();
    let finished =
        scene.sh("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; kill -34 $PPID; exit 5");
    assert_eq!(finished.ending, Ending::Exited(5));
}
