//! A word that ends every run at once.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Ends every run that was given a clone of it.
///
/// It is a pipe beside a flag, so that a thread that waits in `poll(2)` wakes at once.
#[derive(Debug, Clone)]
pub struct Cancel(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cancelled: AtomicBool,
    // Never read from, so that one byte wakes every waiting thread and keeps waking late ones.
    reader: PipeReader,
    writer: PipeWriter,
    /// Words that are given with this one.
    linked: Mutex<Vec<Weak<Inner>>>,
}

impl Cancel {
    /// A word that has not been given yet. Fails when the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let linked = Mutex::default();
        Ok(Self(Arc::new(Inner { cancelled: AtomicBool::new(false), reader, writer, linked })))
    }

    /// A word that is given with this one, and can be given alone. Fails like [`new`](Self::new).
    pub fn linked(&self) -> io::Result<Self> {
        let word = Self::new()?;
        let mut linked = self.0.linked();
        linked.retain(|other| other.strong_count() > 0);
        linked.push(Arc::downgrade(&word.0));
        drop(linked);
        // Given meanwhile, it did not find the new one in the list.
        if self.is_cancelled() {
            word.cancel();
        }
        Ok(word)
    }

    /// Gives the word. It cannot be taken back; saying it twice is the same as saying it once.
    pub fn cancel(&self) {
        if self.0.cancelled.swap(true, Ordering::SeqCst) {
            return;
        }
        // One byte into an empty pipe can neither block nor fail while we hold the reader.
        let _ = (&self.0.writer).write(&[1]);
        let linked: Vec<Self> =
            self.0.linked().iter().filter_map(Weak::upgrade).map(Self).collect();
        linked.iter().for_each(Self::cancel);
    }

    /// Whether the word was given.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Readable from the moment of [`cancel`](Self::cancel) on.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.reader.as_fd()
    }
}

impl Inner {
    fn linked(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Self>>> {
        // A list of words is whole whatever happened to who held it.
        self.linked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn readable(cancel: &Cancel) -> bool {
        let mut fds = [PollFd::new(cancel.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
    }

    #[test]
    fn every_clone_hears_it_and_goes_on_hearing_it() {
        let cancel = Cancel::new().unwrap();
        let clone = cancel.clone();
        assert!(!clone.is_cancelled() && !readable(&clone));
        cancel.cancel();
        cancel.cancel();
        assert!(clone.is_cancelled() && readable(&clone) && readable(&cancel));
    }
    #[test]
    fn a_linked_word_is_given_with_the_other_and_alone() {
        let all = Cancel::new().unwrap();
        let (one, two) = (all.linked().unwrap(), all.linked().unwrap());
        one.cancel();
        assert!(one.is_cancelled() && !two.is_cancelled() && !all.is_cancelled());
        all.cancel();
        assert!(two.is_cancelled() && readable(&two));
        assert!(all.linked().unwrap().is_cancelled());
    }
}
