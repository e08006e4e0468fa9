//! Where trials are kept. Who runs them need not know how.

use std::io;

use camino::Utf8PathBuf;
use proctor_model::run::{PlannedTrial, TrialRecord};

/// Keeps trials; threads share it.
pub trait Shelf: Sync {
    /// A folder for a trial that begins now: empty, whatever an earlier attempt has left in it. When
    /// this returns, a later start knows that the trial was begun.
    fn start(&self, trial: &PlannedTrial) -> io::Result<Utf8PathBuf>;

    /// Says that the agent of a trial begins now, and may spend so many US dollars. Only told under a
    /// cap; on the disk when this returns.
    fn set_aside(&self, trial: &PlannedTrial, usd: f64) -> io::Result<()>;

    /// Keeps the record of a trial. When this returns, it is on the disk, and the trial is never run
    /// again.
    fn finish(&self, trial: &PlannedTrial, record: &TrialRecord) -> io::Result<()>;
}
