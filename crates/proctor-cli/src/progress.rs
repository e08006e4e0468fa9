//! Progress on standard error while a run goes on; silent when that is no terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use proctor_model::eval::SkillStatus;
use proctor_runner::conformance::{Event, Progress, TrialPhase};
use proctor_runner::eval::{self, SkillRun, Told};

use crate::printer::Printer;

/// One line that says how far a conformance run is.
pub(crate) struct ConformanceProgress {
    bar: ProgressBar,
    /// The phase of each trial that is under way.
    running: BTreeMap<usize, TrialPhase>,
}

impl ConformanceProgress {
    pub(crate) fn new() -> Self {
        Self { bar: bar(), running: BTreeMap::new() }
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

/// One line that says how far a run of skill evals is, and what runners say above it.
pub(crate) struct EvalProgress {
    bar: ProgressBar,
    printer: Printer,
}

impl EvalProgress {
    /// For a run of so many skills.
    pub(crate) fn new(skills: usize, printer: Printer) -> Self {
        let bar = bar();
        bar.set_length(skills as u64);
        if skills > 0 {
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        Self { bar, printer }
    }

    pub(crate) fn show(&self, event: eval::Event<'_>) {
        match event {
            eval::Event::Started { skill, cases } => {
                self.bar.set_message(shown(&format!("{skill}: {cases} cases")));
            }
            eval::Event::Told { told: Told::Stderr(line), .. } => {
                self.bar.suspend(|| self.printer.note(&line));
            }
            eval::Event::Told { skill, told: Told::Session { case, arm, run } } => {
                let arm = arm.as_str();
                let message = format!("{skill}: {case}, {arm} the skill, run {run}");
                self.bar.set_message(shown(&message));
            }
            eval::Event::Told { told: Told::SessionEnded { .. }, .. } => {}
        }
    }

    pub(crate) fn finished(&self, run: &SkillRun) {
        if run.report.status == SkillStatus::Ran || run.report.status == SkillStatus::Error {
            self.bar.inc(1);
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// Names of folders can hold anything.
fn shown(message: &str) -> String {
    proctor_report::inert(message).replace('\n', "\\n")
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    bar.set_style(
        ProgressStyle::with_template("{spinner} {pos}/{len} [{elapsed}] {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}
