//! Slots: independent trials side by side, results in the order of the plan.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use proctor_sandbox::Cancel;

/// What a slot says while it works.
#[derive(Debug)]
pub enum Progress<E, T> {
    /// Something happened in the trial with this index.
    Event(usize, E),
    /// The trial with this index is over.
    Done(usize, T),
}

/// Runs `work(index)` for every index below `count` in at most `slots` threads.
///
/// `observe` is called on this thread, in the order in which things happen. A trial that has not
/// started when `cancel` is set is left out. A panic in `work` is a bug of ours and must not take
/// the other trials down: `on_panic` turns its message into a result.
pub fn run<E: Send, T: Send>(
    count: usize,
    slots: NonZeroUsize,
    cancel: &Cancel,
    work: impl Fn(usize, &dyn Fn(E)) -> T + Sync,
    on_panic: impl Fn(usize, String) -> T + Sync,
    mut observe: impl FnMut(Progress<E, T>),
) {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..slots.get().min(count) {
            let sender = sender.clone();
            let (next, work, on_panic) = (&next, &work, &on_panic);
            scope.spawn(move || {
                while !cancel.is_cancelled() {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    // The receiver outlives every sender: it is drained until they are gone.
                    let tell = |event| drop(sender.send(Progress::Event(index, event)));
                    let result = catch_unwind(AssertUnwindSafe(|| work(index, &tell)))
                        .unwrap_or_else(|payload| on_panic(index, panic_message(&*payload)));
                    let _ = sender.send(Progress::Done(index, result));
                }
            });
        }
        drop(sender);
        receiver.into_iter().for_each(&mut observe);
    });
}

fn panic_message(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let owned = || payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(owned).unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(n: usize) -> NonZeroUsize {
        NonZeroUsize::new(n).unwrap()
    }

    fn results(
        count: usize,
        n: usize,
        work: impl Fn(usize) -> usize + Sync,
    ) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        run(
            count,
            slots(n),
            &Cancel::new().unwrap(),
            |index, _tell: &dyn Fn(())| work(index),
            |_, message| message.len(),
            |progress| {
                if let Progress::Done(index, value) = progress {
                    all.push((index, value));
                }
            },
        );
        all.sort_unstable();
        all
    }

    #[test]
    fn every_trial_runs_once() {
        for n in [1, 3, 64] {
            let expected: Vec<_> = (0..20).map(|i| (i, i * i)).collect();
            assert_eq!(results(20, n, |i| i * i), expected);
        }
        assert!(results(0, 4, |i| i).is_empty());
    }

    #[test]
    fn a_panic_is_one_result_and_stops_nothing() {
        let work = |i| {
            assert!(i != 1, "boom");
            i
        };
        assert_eq!(results(3, 2, work), [(0, 0), (1, "boom".len()), (2, 2)]);
    }

    #[test]
    fn nothing_starts_after_cancellation() {
        let cancel = Cancel::new().unwrap();
        let mut done = 0;
        run(
            100,
            slots(1),
            &cancel,
            |index, _tell: &dyn Fn(())| {
                if index == 2 {
                    cancel.cancel();
                }
            },
            |_, _| (),
            |progress| done += usize::from(matches!(progress, Progress::Done(..))),
        );
        assert_eq!(done, 3);
    }
}
