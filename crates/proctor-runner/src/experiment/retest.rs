//! Tests of a trial that is over, run again over the workspace that was kept of it. No agent works.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::sync::Arc;

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::Event;
use proctor_model::experiment::When;
use proctor_model::run::{ExitReason, PhaseName, TrialRecord};
use proctor_sandbox::workspace::{Base, Snapshot, Workspace};
use proctor_sandbox::{Room, StageLimits, stage_input};
use serde_json::Value;

use super::desk::Desk;
use super::draft::Draft;
use super::examine::skipped;
use super::room::TestRoom;
use super::trial::{Step, Stop, Trial, broken};
use crate::streams::{EVENTS, FS_DIFF, LOG, RAW};

/// What the agent left, in the folder of its trial.
pub(super) const WORKSPACE: &str = "workspace.tar.zst";
/// What a retest has of the trial that it tests again.
const KEPT: [&str; 7] = [WORKSPACE, EVENTS, RAW, DOCUMENT, LOG, "setup.log", FS_DIFF];
/// What a session was imported from, where that is no stream.
const DOCUMENT: &str = "source.json";
/// The longest event that is read, in bytes.
const LONGEST_EVENT: u64 = 64 << 20;
/// What the variant of a trial consists of, in the same place.
const VARIANT: &str = "resolved-variant.yaml";
/// The longest of these that is read, in bytes.
const LONGEST_VARIANT: u64 = 256 << 20;
/// Events that become rows at once.
const BATCH: usize = 512;

/// A trial that is over.
#[derive(Debug, Clone)]
pub struct Past {
    /// Where it is kept.
    pub folder: Utf8PathBuf,
    /// What it came to.
    pub record: TrialRecord,
    /// What is there of its workspace.
    pub left: Left,
}

/// The workspace that a trial has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    /// It was saved when the agent was done.
    Saved,
    /// The agent worked elsewhere: a folder that somebody gave for it, or none, which is an empty
    /// workspace. One that was saved goes before.
    Given(Option<Utf8PathBuf>),
}

impl Trial<'_> {
    /// Takes over what is known of the agent, and runs the tests.
    pub(super) fn retest(
        &self,
        past: &Past,
        draft: &mut Draft,
        begin: &dyn Fn(&mut Draft, PhaseName),
    ) -> Step {
        begin(draft, PhaseName::Stage);
        take_over(&past.record, &mut draft.record);
        for name in KEPT {
            link(&past.folder.join(name), &self.folder.join(name)).map_err(broken)?;
        }
        let archive = self.folder.join(WORKSPACE);
        let drawer = self.drawer()?;
        // Dropped after the workspace that lies in it.
        let room;
        let after = match &past.left {
            Left::Given(folder) if !archive.is_file() => {
                room = self.room("given")?;
                self.given(folder.as_deref(), &room)?
            }
            _ if !archive.is_file() => {
                let why = past.record.reason.clone();
                let why =
                    why.unwrap_or_else(|| "the workspace of the trial was not kept".to_owned());
                return Err(Stop::End(past.record.exit_reason, why));
            }
            _ => self.saved(&archive)?,
        };
        begin(draft, PhaseName::Sandbox);
        let tests = TestRoom::open(self)?;
        load(&self.folder.join(EVENTS), tests.desk()).map_err(broken)?;
        self.live(past, draft);
        begin(draft, PhaseName::Tests);
        self.examine(&after, &tests, &drawer, draft)?;
        begin(draft, PhaseName::Collect);
        Ok(())
    }

    fn saved(&self, archive: &Utf8Path) -> Step<Arc<Snapshot>> {
        let base = self.base()?;
        let after = Snapshot::load(&base, archive.as_std_path(), self.room("snapshot")?);
        after.map_err(|error| {
            let why = format!("{error}; a retest needs the files that were staged for the agent");
            Stop::End(ExitReason::StagingFailed, why)
        })
    }

    /// The workspace of an agent that worked elsewhere.
    fn given(&self, folder: Option<&Utf8Path>, room: &Room) -> Step<Arc<Snapshot>> {
        let into = room.root().join("base");
        std::fs::create_dir(&into).map_err(broken)?;
        if let Some(folder) = folder {
            let (from, into) = (folder.as_std_path(), into.as_std_path());
            stage_input(from, into, &StageLimits::default())
                .map_err(|error| Stop::End(ExitReason::StagingFailed, error.to_string()))?;
        }
        let base = Base::freeze(into.as_std_path()).map_err(broken)?;
        let workspace = Workspace::new(&base, self.room("snapshot")?);
        Ok(self.open(&self.settings.spec, workspace)?.close()?)
    }

    /// What tests of running programs came to stands, since there is nothing left to look at. That of
    /// a test that has changed is not its own any more.
    fn live(&self, past: &Past, draft: &mut Draft) {
        if !self.has_live_tests() {
            return;
        }
        let (old, new) = (tests_of(&past.folder), tests_of(self.folder));
        for test in self.variant.tests.iter().filter(|test| test.when == When::Live) {
            let name = test.name.as_str();
            let is_same = old.get(name).is_some_and(|old| new.get(name) == Some(old));
            let mut known = past.record.tests.iter();
            let known = known.find(|record| is_same && record.name == name);
            let record = known.cloned().unwrap_or_else(|| {
                skipped(
                    test,
                    "it is new or has changed, and looks at what still runs: nothing does in a retest",
                )
            });
            draft.record.tests.push(record);
        }
    }
}

/// The tests of the variant of a trial by name, with all that makes them what they are.
fn tests_of(folder: &Utf8Path) -> BTreeMap<String, Value> {
    let read = || {
        let file = fs_err::File::open(folder.join(VARIANT)).ok()?;
        let document: Value = serde_json::from_reader(file.take(LONGEST_VARIANT)).ok()?;
        let tests = document.pointer("/common/tests")?.as_array()?.iter();
        Some(
            tests
                .filter_map(|test| Some((test["name"].as_str()?.to_owned(), test.clone())))
                .collect(),
        )
    };
    read().unwrap_or_default()
}

fn take_over(past: &TrialRecord, record: &mut TrialRecord) {
    record.exit_reason = past.exit_reason;
    record.reason.clone_from(&past.reason);
    record.outcome.clone_from(&past.outcome);
    record.usage = past.usage;
    record.tool_calls = past.tool_calls;
    record.tool_calls_failed = past.tool_calls_failed;
    record.isolation.clone_from(&past.isolation);
    record.checks.clone_from(&past.checks);
}

/// The same file under another name where the file system can do that, else a copy. What is not
/// there is left out.
fn link(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs_err::create_dir_all(folder)?;
    }
    match std::fs::hard_link(from, to) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(_) => fs_err::copy(from, to).map(|_| ()),
    }
}

/// Makes events rows again.
fn load(path: &Utf8Path, desk: &Desk) -> io::Result<()> {
    let mut reader = BufReader::new(fs_err::File::open(path)?.into_parts().0);
    let mut batch: Vec<Event> = Vec::new();
    let mut number = 0_u64;
    loop {
        let line = line(&mut reader)?;
        if line.is_empty() {
            return desk.add_events(&batch).map_err(io::Error::other);
        }
        number += 1;
        let event = serde_json::from_slice(&line);
        batch.push(event.map_err(|error| io::Error::other(format!("{path}:{number}: {error}")))?);
        if batch.len() >= BATCH {
            desk.add_events(&batch).map_err(io::Error::other)?;
            batch.clear();
        }
    }
}

fn line(reader: &mut BufReader<File>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    reader.take(LONGEST_EVENT).read_until(b'\n', &mut line)?;
    Ok(line)
}
