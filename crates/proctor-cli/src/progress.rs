//! Progress on standard error while a run goes on; silent when that is no terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use proctor_runner::conformance::{Event, Progress, TrialPhase};

/// One line that says how far a conformance run is.
pub(crate) struct ConformanceProgress {
    bar: ProgressBar,
    /// The phase of each trial that is under way.
    running: BTreeMap<usize, TrialPhase>,
}

impl ConformanceProgress {
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::no_length();
        bar.set_style(
            ProgressStyle::with_template("{spinner} {pos}/{len} [{elapsed}] {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self { bar, running: BTreeMap::new() }
    }

    pub(crate) fn show(&mut self, progress: &Progress) {
        match progress {
            Progress::Planned(trials) => {
                self.bar.set_length(*trials as u64);
                self.bar.enable_steady_tick(Duration::from_millis(200));
            }
            Progress::Event(Event::Phase { trial, phase }) => {
                self.running.insert(*trial, *phase);
            }
            Progress::Event(Event::Finished { trial, .. }) => {
                self.running.remove(trial);
                self.bar.inc(1);
            }
        }
        let count = |phase| self.running.values().filter(|p| **p == phase).count();
        self.bar.set_message(format!(
            "installing {}, harness at work {}, checking {}",
            count(TrialPhase::Install),
            count(TrialPhase::Harness),
            count(TrialPhase::Checks)
        ));
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
