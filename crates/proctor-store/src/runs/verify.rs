//! Whether what is kept of a run is what was kept.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::Digest;
use proctor_model::run::{PlannedTrial, Problem, ProblemKind};

use super::RunError;
use super::manifest::{self, MANIFEST, Manifest};
use super::read::{StoredRun, read};

/// What the digests of a finished trial say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digests {
    /// What is not as it was.
    pub problems: Vec<Problem>,
    /// Whether there are digests at all: earlier versions took none.
    pub is_known: bool,
    /// Files that `run prune --workspaces` took away.
    pub dropped: Vec<String>,
}

/// What the journal of a run says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain<'a> {
    /// Lines, from 1, that do not follow the one before them.
    pub breaks: &'a [u64],
    /// Whether any line carries the digest of the one before it: earlier versions wrote none.
    pub is_known: bool,
    /// Whether the last line was cut off in the middle, as by a power failure.
    pub is_torn: bool,
}

impl StoredRun {
    /// What the journal says of itself.
    pub fn chain(&self) -> Chain<'_> {
        let progress = &self.progress;
        let (breaks, is_known) = (progress.breaks.as_slice(), progress.is_chained);
        Chain { breaks, is_known, is_torn: progress.is_torn }
    }

    /// Holds the files of a finished trial against the digests that were taken then.
    ///
    /// # Errors
    ///
    /// [`RunError`] when the folder of the trial cannot be read at all.
    pub fn digests(&self, trial: &PlannedTrial) -> Result<Digests, RunError> {
        let folder = self.trial_folder(trial);
        let mut digests = Digests::default();
        let Some(expected) = self.progress.manifests.get(&trial.id) else { return Ok(digests) };
        digests.is_known = true;
        let Ok(bytes) = read(&folder.join(MANIFEST)) else {
            digests.problems.push(Problem::of_file(MANIFEST, ProblemKind::Missing));
            return Ok(digests);
        };
        let found = format!("sha256:{}", Digest::of(&bytes));
        if found != *expected {
            digests.changed(MANIFEST, expected, found);
            return Ok(digests);
        }
        let listed: Manifest = serde_json::from_slice(&bytes).map_err(|error| {
            RunError::Damaged { path: folder.join(MANIFEST), reason: error.to_string() }
        })?;
        let dropped = self.progress.dropped.get(&trial.id);
        let is_dropped = |path: &str| dropped.is_some_and(|files| files.contains(path));
        let mut left: BTreeSet<String> =
            manifest::files_of(&folder, &trial.path)?.into_iter().collect();
        for file in listed.files {
            let is_there = left.remove(&file.path);
            if is_dropped(&file.path) {
                digests.dropped.push(file.path);
            } else if !is_there {
                digests.problems.push(Problem::of_file(file.path, ProblemKind::Missing));
            } else {
                let found = match manifest::digest_of(&folder.join(&file.path)) {
                    Ok((_, found)) => found,
                    Err(error) => error.to_string(),
                };
                if found != file.digest {
                    digests.changed(&file.path, &file.digest, found);
                }
            }
        }
        for path in left {
            digests.problems.push(Problem::of_file(path, ProblemKind::Added));
        }
        Ok(digests)
    }

    /// Trials that the journal names and the plan does not: a plan only grows, so somebody took them out.
    pub fn unplanned(&self) -> impl Iterator<Item = &str> {
        let planned: BTreeSet<&str> = self.plan.trials.iter().map(|one| one.id.as_str()).collect();
        let journalled = self.progress.trials.keys().map(String::as_str);
        journalled.filter(move |id| !planned.contains(id))
    }

    /// Trials whose folders hold a record although the journal does not say that they are finished:
    /// those that ended between the two, and those that somebody took out of the journal.
    pub fn unjournalled(&self) -> impl Iterator<Item = &PlannedTrial> {
        let record = super::read::RECORD;
        self.unfinished().filter(move |trial| self.trial_folder(trial).join(record).is_file())
    }
}

impl Digests {
    fn changed(&mut self, file: &str, kept: &str, found: String) {
        self.problems.push(Problem {
            kept: Some(kept.to_owned()),
            found: Some(found),
            ..Problem::of_file(file, ProblemKind::Changed)
        });
    }
}

/// Files that were taken away, by trial.
pub(super) type Dropped = BTreeMap<String, BTreeSet<String>>;

#[cfg(test)]
mod tests {
    use std::fs;

    use camino::{Utf8Path, Utf8PathBuf};
    use proctor_model::run::{PlannedTrial, Problem, ProblemKind, RunPlan, TrialRecord};
    use serde_json::json;

    use crate::runs::{Runs, StoredRun};

    struct Kept {
        _folder: tempfile::TempDir,
        runs: Runs,
        run: Utf8PathBuf,
        trial: PlannedTrial,
    }

    /// A run with one finished trial, which has a workspace and another repetition below it.
    fn kept() -> Kept {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::of(Utf8Path::from_path(folder.path()).unwrap());
        let planned = |id: &str, repeat_idx: u32, path: &str| {
            json!({"id": id, "variant_id": "a", "fingerprint": "", "repeat_idx": repeat_idx,
                   "path": path})
        };
        let plan: RunPlan = serde_json::from_value(json!({
            "schema_version": 1, "run_id": "x-01AAAAAAAAAAAAAAAAAAAAAAAA", "kind": "conformance",
            "experiment_id": "x", "created_at": 0, "proctor_version": "0", "options": {},
            "trials": [planned("a::1", 0, "variants/a"), planned("a::2", 1, "variants/a/1")],
        }))
        .unwrap();
        let record: TrialRecord = serde_json::from_value(json!({
            "schema_version": 1, "run_id": "a::1", "run_group_id": "x", "scenario_id": "x",
            "variant_id": "a", "fingerprint": "", "repeat_idx": 0,
            "coordinates": {"agent": "a", "model": null, "effort": null, "prompt_id": "p",
                            "environment": null, "product": null, "extension_id": null},
            "status": "pass", "exit_reason": "end_turn", "started_at": 0, "ended_at": 1,
            "phases": [], "tool_calls": 0, "tool_calls_failed": 0, "tests": [],
        }))
        .unwrap();
        let writer = runs.create(&plan, b"").unwrap();
        let trial = plan.trials[0].clone();
        let place = writer.start(&trial).unwrap();
        place.write("tests/t.stdout.log", b"out").unwrap();
        place.write("workspace.tar.zst", b"12345").unwrap();
        writer.finish(&trial, &record).unwrap();
        writer.start(&plan.trials[1]).unwrap().write("later.txt", b"x").unwrap();
        let run = writer.folder().to_owned();
        Kept { _folder: folder, runs, run, trial }
    }

    impl Kept {
        fn problems(&self) -> Vec<(String, ProblemKind)> {
            let run = StoredRun::open(&self.run).unwrap();
            let problems = run.digests(&self.trial).unwrap().problems.into_iter();
            problems.map(|Problem { file, problem, .. }| (file, problem)).collect()
        }

        fn file(&self, name: &str) -> Utf8PathBuf {
            self.run.join("variants/a").join(name)
        }
    }

    #[test]
    fn every_change_to_a_finished_trial_is_found() {
        let kept = kept();
        assert_eq!(kept.problems(), []);
        fs::write(kept.file("tests/t.stdout.log"), "OUT").unwrap();
        fs::remove_file(kept.file("layout.json")).unwrap();
        fs::write(kept.file("tests/new"), "").unwrap();
        assert_eq!(
            kept.problems(),
            [
                ("layout.json".to_owned(), ProblemKind::Missing),
                ("tests/t.stdout.log".to_owned(), ProblemKind::Changed),
                ("tests/new".to_owned(), ProblemKind::Added),
            ]
        );
        let manifest = fs::read_to_string(kept.file("manifest.json")).unwrap();
        fs::write(kept.file("manifest.json"), manifest.replace("layout.json", "l.json")).unwrap();
        assert_eq!(kept.problems(), [("manifest.json".to_owned(), ProblemKind::Changed)]);
        fs::remove_file(kept.file("manifest.json")).unwrap();
        assert_eq!(kept.problems(), [("manifest.json".to_owned(), ProblemKind::Missing)]);
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_never_followed() {
        let kept = kept();
        let log = kept.file("tests/t.stdout.log");
        let elsewhere = kept.run.join("elsewhere");
        fs::rename(&log, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &log).unwrap();
        assert_eq!(kept.problems(), [("tests/t.stdout.log".to_owned(), ProblemKind::Changed)]);
    }

    #[test]
    fn a_journal_that_was_edited_breaks_its_chain() {
        let kept = kept();
        let path = kept.run.join("index.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        let breaks = |text: &str| {
            fs::write(&path, text).unwrap();
            StoredRun::open(&kept.run).unwrap().chain().breaks.to_vec()
        };
        assert_eq!(breaks(&text), [0_u64; 0]);
        assert_eq!(breaks(&text.replace("\"pass\"", "\"fail\"")), [3]);
        let without_first: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(breaks(&(without_first.join("\n") + "\n")), [1]);
        // What an earlier version wrote may come first, and nothing of it later.
        let old = "{\"event\":\"started\",\"trial\":\"a::9\"}\n";
        assert_eq!(breaks(&format!("{text}{old}")), [4]);
        fs::write(&path, old).unwrap();
        let run = StoredRun::open(&kept.run).unwrap();
        assert!(run.chain().breaks.is_empty() && !run.chain().is_known);
        assert_eq!(run.unjournalled().count(), 1);
    }

    #[test]
    fn dropped_workspaces_are_no_damage_and_removed_runs_are_gone() {
        let kept = kept();
        let id = "x-01AAAAAAAAAAAAAAAAAAAAAAAA";
        assert_eq!(kept.runs.workspaces_of(id).unwrap(), 5);
        assert_eq!(kept.runs.drop_workspaces(id).unwrap(), 5);
        assert!(!kept.file("workspace.tar.zst").exists());
        let run = StoredRun::open(&kept.run).unwrap();
        let digests = run.digests(&kept.trial).unwrap();
        assert_eq!((digests.problems.len(), digests.dropped.len()), (0, 1));
        assert!(run.chain().breaks.is_empty());
        assert_eq!(kept.runs.drop_workspaces(id).unwrap(), 0);
        assert!(kept.runs.remove(id).unwrap() > 100);
        assert!(kept.runs.list().unwrap().is_empty());
        assert!(!kept.run.exists());
        kept.runs.empty_trash().unwrap();
    }
}
