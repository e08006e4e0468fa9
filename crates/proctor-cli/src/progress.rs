//! Progress on standard error while a run goes on; silent when that is no terminal.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use proctor_model::run::{PhaseName, TrialRecord};
use proctor_runner::conformance::{Event, Progress, TrialPhase};
use proctor_runner::eval::{self, Told};

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
            eval::Event::Grading { skill } => {
                self.bar.set_message(shown(&format!("{skill}: grading")));
            }
        }
    }

    /// Counts a skill at its end; `ran` says whether it was run at all.
    pub(crate) fn finished(&self, ran: bool) {
        if ran {
            self.bar.inc(1);
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// One line that says how many questions a judge was asked.
pub(crate) struct JudgeProgress {
    bar: ProgressBar,
}

impl JudgeProgress {
    /// For so many questions.
    pub(crate) fn new(questions: u64) -> Self {
        let bar = bar();
        bar.set_length(questions);
        bar.set_message("questions");
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    pub(crate) fn done(&self) {
        self.bar.inc(1);
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A line for each trial of an experiment that is under way: its phase, and for how long. What is
/// finished is told above them, and is all that is told where there is no terminal.
pub(crate) struct ExperimentProgress<'a> {
    lines: MultiProgress,
    running: BTreeMap<usize, ProgressBar>,
    names: Vec<&'a str>,
    done: usize,
    printer: Printer,
}

impl<'a> ExperimentProgress<'a> {
    /// For trials with these names.
    pub(crate) fn new(names: Vec<&'a str>, printer: Printer) -> Self {
        let (lines, running) = (MultiProgress::new(), BTreeMap::new());
        Self { lines, running, names, done: 0, printer }
    }

    /// A trial enters a phase.
    pub(crate) fn phase(&mut self, index: usize, phase: PhaseName) {
        let lines = &self.lines;
        let line = self.running.entry(index).or_insert_with(|| {
            let line = lines.add(ProgressBar::new_spinner());
            line.set_style(
                ProgressStyle::with_template("{spinner} [{elapsed}] {msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            line.enable_steady_tick(Duration::from_millis(200));
            line
        });
        let name = self.names.get(index).copied().unwrap_or_default();
        line.set_message(shown(&format!("{name}: {phase}")));
    }

    /// A trial is tried once more.
    pub(crate) fn again(&self, index: usize, reason: &str) {
        let name = self.names.get(index).copied().unwrap_or_default();
        let message = format!("{name} got no sandbox and is tried again: {reason}");
        self.lines.suspend(|| self.printer.warning(&message));
    }

    /// A trial is finished.
    pub(crate) fn finished(&mut self, index: usize, record: &TrialRecord) {
        if let Some(line) = self.running.remove(&index) {
            line.finish_and_clear();
            self.lines.remove(&line);
        }
        self.done += 1;
        let (done, total) = (self.done, self.names.len());
        let message = format!("[{done}/{total}] {} {}", record.status, record.run_id);
        self.lines.suspend(|| self.printer.note(&message));
    }

    /// Nothing is under way any more.
    pub(crate) fn finish(&self) {
        // What cannot be taken away stays.
        let _ = self.lines.clear();
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
