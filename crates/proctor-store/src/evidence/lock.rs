//! Who has the file of evidence open: many at a time, or one who makes it anew. What they do in it is
//! kept apart by SQLite.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;

use camino::Utf8Path;

/// A lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// Waits until nobody makes the file anew.
    pub(super) fn shared(folder: &Utf8Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(folder.join("evidence.lock"))?;
        supported(file.lock_shared())?;
        Ok(Self { file })
    }

    /// Gives up the lock for one that nobody else shares; `None` when somebody does.
    pub(super) fn alone(self) -> Option<Self> {
        supported(self.file.unlock()).ok()?;
        match self.file.try_lock() {
            Ok(()) => Some(self),
            Err(TryLockError::Error(error)) => supported(Err(error)).ok().map(|()| self),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The same, and waits for the others.
    pub(super) fn alone_at_last(self) -> io::Result<Self> {
        supported(self.file.unlock())?;
        supported(self.file.lock())?;
        Ok(self)
    }

    /// Lets others share it again.
    pub(super) fn for_all(self) -> io::Result<Self> {
        supported(self.file.unlock())?;
        supported(self.file.lock_shared())?;
        Ok(self)
    }
}

/// Some network file systems have no locks.
fn supported(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        other => other,
    }
}
