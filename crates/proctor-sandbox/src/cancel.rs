//! A word that ends every run at once.

use std::io::{self, PipeReader, PipeWriter, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

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
}

impl Cancel {
    /// A word that has not been given yet. Fails when the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Self(Arc::new(Inner { cancelled: AtomicBool::new(false), reader, writer })))
    }

    /// Gives the word. It cannot be taken back; saying it twice is the same as saying it once.
    pub fn cancel(&self) {
        if !self.0.cancelled.swap(true, Ordering::SeqCst) {
            // One byte into an empty pipe can neither block nor fail while we hold the reader.
            let _ = (&self.0.writer).write(&[1]);
        }
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
}
