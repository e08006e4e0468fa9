//! Many runs at once. A test binary of its own, as it counts the process's files.

mod common;

use std::fs;
use std::sync::Barrier;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use proctor_sandbox::{Ending, Stream};

use crate::common::{launcher, scene};

fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

#[test]
fn two_hundred_at_once_do_not_touch_each_other_and_leak_no_file() {
    let mut scene = scene();
    scene.limits.deadline += Duration::from_mins(4);
    // Too few for two hundred, so that raising the limit is tried as well.
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, 128, hard).unwrap();
    let launcher = launcher();
    let before = open_files();
    let barrier = Barrier::new(200);
    std::thread::scope(|scope| {
        for number in 0..200 {
            let (scene, barrier, launcher) = (&scene, &barrier, &launcher);
            scope.spawn(move || {
                let code = number % 100;
                let script = format!("cat; ulimit -n; (sleep 300 >/dev/null 2>&1 &); exit {code}");
                let mut spawn = scene.spawn("sh", &["-c", &script]);
                spawn.stdin = Some(number.to_string().into_bytes());
                barrier.wait();
                let mut out = Vec::new();
                let finished = launcher
                    .run(&spawn, &scene.limits, &scene.cancel, &mut |stream, bytes| {
                        assert_eq!(stream, Stream::Out);
                        out.extend_from_slice(bytes);
                    })
                    .unwrap();
                assert_eq!(finished.ending, Ending::Exited(code));
                assert_eq!(String::from_utf8(out).unwrap(), format!("{number}128\n"));
                assert_eq!(finished.survivors.len(), 1);
            });
        }
    });
    assert_eq!(open_files(), before);
    assert_eq!(common::alive(&scene.mark), Vec::<String>::new());
}
