//! Work side by side whose effects happen in order.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A value that is handed round in the order of numbers, counted from 0. Whoever holds number `n`
/// waits until `n` others have had their turn.
pub(super) struct Turns<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    value: T,
    next: u64,
    closed: bool,
}

impl<T> Turns<T> {
    pub(super) fn new(value: T) -> Self {
        Self { state: Mutex::new(State { value, next: 0, closed: false }), changed: Condvar::new() }
    }

    /// Waits for turn `number` and takes it; nothing happens once the round is closed.
    pub(super) fn take<R>(&self, number: u64, turn: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut state = self.lock();
        while state.next != number && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.closed {
            return None;
        }
        let result = turn(&mut state.value);
        state.next += 1;
        self.changed.notify_all();
        Some(result)
    }

    /// Ends the round: every turn that was not taken is lost.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn into_inner(self) -> T {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).value
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn turns_are_taken_in_order() {
        let turns = Turns::new(Vec::new());
        thread::scope(|scope| {
            for number in (0..32).rev() {
                let turns = &turns;
                scope.spawn(move || turns.take(number, |taken| taken.push(number)));
            }
        });
        assert_eq!(turns.into_inner(), (0..32).collect::<Vec<_>>());
    }

    #[test]
    fn nobody_waits_once_it_is_closed() {
        let turns = Turns::new(0);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| turns.take(1, |value| *value += 1));
            turns.close();
            assert_eq!(waiting.join().unwrap(), None);
        });
        assert!(turns.is_closed());
        assert_eq!(turns.into_inner(), 0);
    }
}
