//! What a run below a launcher costs beyond starting the program itself, at 1 to 256 at once.
//!
//! The figures are processor time, not wall time: this process, its launchers and their programs
//! together, per run. `bare` is `std::process::Command` with both streams read.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nix::sys::resource::{UsageWho, getrusage};
use proctor_sandbox::{Cancel, Ending, Launcher, Limits, Spawn};

fn bare() {
    let mut command = Command::new("/bin/true");
    let output = command.env_clear().stdin(Stdio::null()).output();
    assert!(output.expect("/bin/true starts").status.success());
}

fn launched(cancel: &Cancel) {
    let launcher = Launcher::new(env!("CARGO_BIN_EXE_proctor-launch"));
    let limits = Limits::until(Instant::now() + Duration::from_mins(1));
    let spawn = Spawn::new("/bin/true", "/");
    let finished = launcher.run(&spawn, &limits, cancel, &mut |_, _| {});
    assert_eq!(finished.expect("/bin/true starts").ending, Ending::Exited(0));
}

/// Processor time of this process and of all its children that have ended.
fn processor_time() -> Duration {
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .map(|who| {
            let usage = getrusage(who).expect("getrusage takes both");
            let times = [usage.user_time(), usage.system_time()];
            times.map(|time| {
                Duration::from_secs(u64::try_from(time.tv_sec()).unwrap_or(0))
                    + Duration::from_micros(u64::try_from(time.tv_usec()).unwrap_or(0))
            })
        })
        .as_flattened()
        .iter()
        .sum()
}

/// The processor time of `runs` runs, `parallel` at once.
fn measure(runs: u64, parallel: u64, run: impl Fn() + Sync) -> Duration {
    let before = processor_time();
    thread::scope(|scope| {
        for index in 0..parallel {
            let share = runs / parallel + u64::from(index < runs % parallel);
            let run = &run;
            scope.spawn(move || (0..share).for_each(|_| run()));
        }
    });
    processor_time().saturating_sub(before)
}

fn overhead(criterion: &mut Criterion) {
    let cancel = Cancel::new().expect("a pipe");
    let mut group = criterion.benchmark_group("true");
    group.sample_size(10).measurement_time(Duration::from_secs(5));
    for parallel in [1, 16, 64, 256] {
        group.bench_with_input(BenchmarkId::new("bare", parallel), &parallel, |bencher, n| {
            bencher.iter_custom(|runs| measure(runs, *n, bare));
        });
        group.bench_with_input(BenchmarkId::new("launched", parallel), &parallel, |bencher, n| {
            bencher.iter_custom(|runs| measure(runs, *n, || launched(&cancel)));
        });
    }
    group.finish();
}

criterion_group!(benches, overhead);
criterion_main!(benches);
