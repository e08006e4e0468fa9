//! The test phase: scripts that the agent never saw, over what it left.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::experiment::{Preflight, script_of};
use proctor_model::experiment::{Test, Variant};
use proctor_model::run::{ScriptRole, TestRecord, TestStatus};
use proctor_query::TestOutput;
use proctor_redact::Redactor;
use proctor_sandbox::isolation::Sandbox;
use proctor_sandbox::workspace::Placed;
use proctor_sandbox::{Cancel, Room};

use super::desk::Desk;
use super::log::Log;
use super::script::{self, NoEnd, Script, ScriptEnd};
use super::stage::deliver;

/// What tests need, ready before the agent starts, and out of its sight: their files in a room of
/// their own.
pub(super) struct Drawer<'a> {
    preflight: &'a Preflight,
    room: Room,
}

impl<'a> Drawer<'a> {
    /// Delivers the files of all tests; the error says which one could not be.
    pub(super) fn fill(
        preflight: &'a Preflight,
        variant: &Variant,
        room: Room,
    ) -> Result<Self, String> {
        let drawer = Self { preflight, room };
        for (index, test) in variant.tests.iter().enumerate() {
            for file in &test.files {
                deliver(preflight, variant, file, &drawer.folder(index))?;
            }
        }
        Ok(drawer)
    }

    fn folder(&self, test: usize) -> Utf8PathBuf {
        self.room.root().join(format!("test-{test}"))
    }
}

/// One examination: a sandbox with what the agent left in it.
pub(super) struct Examination<'a> {
    pub(super) sandbox: &'a Sandbox<'a>,
    pub(super) drawer: &'a Drawer<'a>,
    pub(super) desk: &'a Desk,
    /// The environment of every test.
    pub(super) env: &'a BTreeMap<String, String>,
    pub(super) timeout: Duration,
    /// Whether processes of the agent are there.
    pub(super) is_live: bool,
    /// The folder of the trial.
    pub(super) folder: &'a Utf8Path,
    pub(super) redactor: &'a Redactor,
    pub(super) cancel: &'a Cancel,
    pub(super) log: &'a Log<'a>,
}

impl Examination<'_> {
    /// Runs a test, whatever the ones before it came to; `None` when the run was cancelled.
    pub(super) fn run(&self, index: usize, test: &Test) -> Option<TestRecord> {
        let mut placed = Vec::new();
        let record = match self.place(index, test, &mut placed) {
            Err(reason) => {
                let mut record = blank(test, TestStatus::Failed);
                record.reason = Some(reason);
                record
            }
            Ok(()) => match self.script(test) {
                Err(NoEnd::Cancelled) => return None,
                Err(error) => {
                    let mut record = blank(test, TestStatus::Error);
                    record.reason = Some(error.to_string());
                    record
                }
                Ok(end) => {
                    self.log.script(ScriptRole::Test, test.name.as_str(), &end);
                    self.judge(test, end)
                }
            },
        };
        let mut record = self.tidy(&placed, record);
        if let Some(reason) = &mut record.reason {
            *reason = self.redactor.text(reason).into_owned();
        }
        let output = TestOutput {
            name: &record.name,
            status: record.status,
            reason: record.reason.as_deref(),
            exit_code: record.exit_code,
            duration_ms: record.duration_ms,
            stdout: &record.stdout_tail,
            stderr: &record.stderr_tail,
        };
        // Later tests may ask about it; one that does gets the error.
        let _ = self.desk.add_test(&output);
        Some(record)
    }

    /// Puts the files of a test into the workspace.
    fn place(&self, index: usize, test: &Test, placed: &mut Vec<Placed>) -> Result<(), String> {
        let folder = self.drawer.folder(index);
        for file in &test.files {
            let dest = file.dest.as_path();
            let source = folder.join(dest);
            let one = self
                .sandbox
                .place(source.as_std_path(), dest.as_std_path())
                .map_err(|error| format!("file `{}` cannot be unpacked: {error}", file.name))?;
            placed.push(one);
        }
        Ok(())
    }

    fn script(&self, test: &Test) -> Result<ScriptEnd, NoEnd> {
        let tests = self.folder.join("tests");
        fs_err::create_dir_all(&tests)?;
        let script = Script {
            // Preflight has read it, or there would be no run.
            text: script_of(test, self.drawer.preflight).unwrap_or("exit 1"),
            env: self.env,
            deadline: Instant::now() + self.timeout,
            is_watched: self.is_live,
            stdout: &tests.join(format!("{}.stdout.log", test.name)),
            stderr: &tests.join(format!("{}.stderr.log", test.name)),
        };
        // What was asked between tests is nobody's.
        let _ = self.desk.take_asked(self.redactor);
        let end = script::run(&script, self.sandbox, self.cancel, self.redactor);
        for stream in [script.stdout, script.stderr] {
            // What said nothing needs no file.
            if stream.metadata().is_ok_and(|stream| stream.len() == 0) {
                fs_err::remove_file(stream)?;
            }
        }
        end
    }

    fn judge(&self, test: &Test, end: ScriptEnd) -> TestRecord {
        let asked = self.desk.take_asked(self.redactor);
        let status = match (end.exit_code, asked.errors.is_empty()) {
            (0, _) => TestStatus::Passed,
            (_, true) => TestStatus::Failed,
            (_, false) => TestStatus::EvidenceError,
        };
        let seconds = self.timeout.as_secs();
        let reason = match (end.timed_out, status, self.sandbox.violation()) {
            (_, _, Some(violation)) => Some(violation.to_string()),
            (true, ..) => Some(format!("its {seconds} s were up; `--test-timeout` gives it more")),
            (_, TestStatus::Passed, _) if !asked.errors.is_empty() => Some(
                "it passed although questions about evidence had no answer; let them fail the test"
                    .to_owned(),
            ),
            _ => None,
        };
        TestRecord {
            name: test.name.to_string(),
            status,
            exit_code: Some(end.exit_code),
            duration_ms: end.duration_ms,
            reason,
            timed_out: end.timed_out,
            evidence_truncated: asked.is_truncated,
            evidence_errors: asked.errors,
            stdout_tail: end.stdout_tail,
            stderr_tail: end.stderr_tail,
        }
    }

    /// Takes the files of a test out again, so that the next one sees its own alone.
    fn tidy(&self, placed: &[Placed], mut record: TestRecord) -> TestRecord {
        for one in placed.iter().rev() {
            if let Err(error) = self.sandbox.unplace(one) {
                record.status = TestStatus::Error;
                record.reason = Some(format!("its files could not be taken out again: {error}"));
            }
        }
        record
    }
}

/// A test that was not run.
pub(super) fn skipped(test: &Test, reason: &str) -> TestRecord {
    let mut record = blank(test, TestStatus::Skipped);
    record.reason = Some(reason.to_owned());
    record
}

fn blank(test: &Test, status: TestStatus) -> TestRecord {
    TestRecord {
        name: test.name.to_string(),
        status,
        exit_code: None,
        duration_ms: 0,
        reason: None,
        timed_out: false,
        evidence_truncated: false,
        evidence_errors: Vec::new(),
        stdout_tail: String::new(),
        stderr_tail: String::new(),
    }
}
