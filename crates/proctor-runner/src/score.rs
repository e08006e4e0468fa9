//! Recorded runs: from files, directories, lines and standard input to a report of any length.
//!
//! [`Inputs::gather`] lists what is to be scored, [`score`] scores it. Runs are read, scored and
//! rendered side by side and written in order; what is in memory does not depend on how many there
//! are. Because a report begins with what its runs come to, the runs go to a [`Spool`] first.

mod batch;
mod duplicates;
mod inputs;
mod labels;
mod read;
mod spool;
mod tally;
mod turns;
mod walk;

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use proctor_formats::fixture_run::adapters::Adapter;
use proctor_grade::text::Boundary;
use proctor_model::recorded::report::{RunReport, Summary};

pub use inputs::{InputError, Inputs};
pub use labels::{LabelError, Labels};
pub use spool::Spool;

use batch::Batch;
use duplicates::Duplicates;
use tally::Tally;
use turns::Turns;

/// How runs are scored.
#[derive(Debug)]
pub struct Options {
    /// Which occurrences of a value count.
    pub boundary: Boundary,
    /// How payloads are read; without it runs carry `actual`.
    pub adapter: Option<&'static Adapter>,
    /// The field by which the adapter sorts the rows of `order`.
    pub order_by: Option<String>,
    /// Whether runs are held against what their fixtures foresee.
    pub self_test: bool,
    /// What somebody else says about the runs.
    pub labels: Option<Labels>,
    /// How many runs are scored side by side.
    pub workers: NonZeroUsize,
    /// Where a report waits that does not fit in memory.
    pub temporary: PathBuf,
}

impl Options {
    /// Whether the report is of one run, which was named by itself and is compared with nothing.
    pub fn stands_alone(&self, inputs: &Inputs) -> bool {
        inputs.is_single() && !self.self_test && self.labels.is_none()
    }
}

/// A scored set of runs.
#[derive(Debug)]
pub struct Scored {
    /// Everything but the runs.
    pub summary: Summary,
    /// The rendered runs, one after the other.
    pub runs: Spool,
    /// Whether ids stopped being compared, because there are too many of them.
    pub duplicates_unfinished: bool,
}

/// Why a set of runs could not be scored to its end. Never the fault of a run.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// The rendered runs could not be kept.
    #[error("the report cannot be kept in {path}: {error}; set TMPDIR to a folder with room", path = path.display())]
    Spool {
        /// The folder for temporary files.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Writes one run at the end of a text.
pub type Render<'r> = dyn Fn(&RunReport<'_>, &mut Vec<u8>) + Sync + 'r;

/// Scores every input in the order of the paths, `-` from `stdin`.
pub fn score(
    inputs: Inputs,
    stdin: &mut dyn Read,
    options: &Options,
    render: &Render<'_>,
) -> Result<Scored, ScoreError> {
    let single = options.stands_alone(&inputs);
    let skipped = inputs.skipped();
    let ids = Turns::new(Duplicates::default());
    let written = Turns::new(Written {
        spool: Spool::new(&options.temporary),
        tally: Tally::default(),
        error: None,
    });
    let (sender, receiver) = mpsc::sync_channel::<(u64, Batch)>(options.workers.get());
    let receiver = Mutex::new(receiver);
    let worker = Worker { options, single, render, ids: &ids, written: &written };
    thread::scope(|scope| {
        let handles: Vec<_> =
            (0..options.workers.get()).map(|_| scope.spawn(|| worker.run(&receiver))).collect();
        let mut sequence = 0..;
        batch::feed(inputs.into_entries(), stdin, &mut |batch| {
            let numbered = sequence.next().map(|number| (number, batch));
            !written.is_closed() && numbered.is_some_and(|batch| sender.send(batch).is_ok())
        });
        drop(sender);
        for handle in handles {
            if let Err(panic) = handle.join() {
                resume_unwind(panic);
            }
        }
    });
    let Written { spool, tally, error } = written.into_inner();
    let failed = |error| ScoreError::Spool { path: options.temporary.clone(), error };
    if let Some(error) = error {
        return Err(failed(error));
    }
    Ok(Scored {
        summary: tally.summary(skipped, options),
        runs: spool,
        duplicates_unfinished: ids.into_inner().is_full(),
    })
}

/// What the workers write to, in turn.
struct Written {
    spool: Spool,
    tally: Tally,
    error: Option<io::Error>,
}

#[derive(Clone, Copy)]
struct Worker<'w> {
    options: &'w Options,
    single: bool,
    render: &'w Render<'w>,
    ids: &'w Turns<Duplicates>,
    written: &'w Turns<Written>,
}

impl Worker<'_> {
    /// Takes batches until there are no more. After a panic it goes on taking them, so that whoever
    /// sends them does not wait for ever, and panics at the end.
    fn run(&self, receiver: &Mutex<mpsc::Receiver<(u64, Batch)>>) {
        let mut room = Vec::new();
        let mut panic = None;
        loop {
            let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((number, batch)) = next else { break };
            if self.written.is_closed() {
                continue;
            }
            let done = catch_unwind(AssertUnwindSafe(|| self.batch(number, &batch, &mut room)));
            if let Err(payload) = done {
                // Nobody may wait for the turn that this one will never take.
                self.ids.close();
                self.written.close();
                panic = Some(payload);
            }
        }
        if let Some(payload) = panic {
            resume_unwind(payload);
        }
    }

    fn batch(&self, number: u64, batch: &Batch, room: &mut Vec<u8>) {
        let sources = batch.sources();
        let parsed: Vec<_> = sources.iter().map(read::parse).collect();
        let made: Vec<_> = parsed.iter().map(|run| read::adapt(run, self.options)).collect();
        let mut reports: Vec<RunReport<'_>> = Vec::with_capacity(sources.len());
        for ((source, parsed), made) in sources.iter().zip(&parsed).zip(&made) {
            let mut report = read::report(parsed, made, self.options, room);
            report.path = (!self.single).then(|| source.label().into());
            reports.push(report);
        }
        self.ids.take(number, |ids| reports.iter_mut().for_each(|report| ids.note(report)));
        let mut tally = Tally::default();
        let mut text = Vec::new();
        for report in &reports {
            tally.add(report, self.options);
            (self.render)(report, &mut text);
        }
        let failed = self.written.take(number, |written| {
            // What follows a gap is of no use, and the first error is the one to tell.
            if written.error.is_none() {
                written.tally.merge(&tally);
                written.error = written.spool.append(&text).err();
            }
            written.error.is_some()
        });
        if failed == Some(true) {
            self.ids.close();
            self.written.close();
        }
    }
}

#[cfg(test)]
mod tests;
