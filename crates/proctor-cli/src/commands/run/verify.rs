//! `proctor run verify`.

use std::io::{BufRead as _, BufReader, Read as _};

use camino::Utf8Path;
use proctor_grade::recheck::{EventTally, recheck};
use proctor_model::run::{
    ExitReason, PlannedTrial, Problem, ProblemKind, RunKind, TestRecord, TrialRecord,
    VERIFY_REPORT_VERSION, VerifiedRun, VerifyReport,
};
use proctor_model::{Event, ExitCode, Usage};
use proctor_report::experiment::{verify_json, verify_text};
use proctor_runner::experiment::exit_reason;
use proctor_store::runs::{Runs, StoredRun};

use super::find::find;
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// The longest event that is read, in bytes.
const LONGEST_EVENT: u64 = 64 << 20;

/// Arguments of `proctor run verify`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run verify
  proctor run verify greetings-01J
  proctor run verify --all --format json

Every file of a finished trial is held against the digest that was taken when it was finished, and
the journal against its own chain of digests. Then everything that follows from the evidence is
worked out once more: the status of each test from its exit code, the verdict from tests, checks and
the end of the session, counts of tool calls and tokens from the events. Trials that are not
finished are named, and are no damage. Whoever can write the folder can also write new digests: this
finds mistakes and careless changes, and is no signature.

Exit codes: 0 all of it holds; 1 something does not; 2 there is no such run.")]
pub(crate) struct Args {
    /// The run, or a trial of it.
    #[arg(value_name = "ID", default_value = "latest")]
    id: String,
    /// Every run of the project.
    #[arg(long, conflicts_with = "id")]
    all: bool,
    /// How to print what was found.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let mut runs = Vec::new();
    if args.all {
        for listed in Runs::of(&context.cwd).list().map_err(CommandError::usage)? {
            runs.push(match listed.run {
                Ok(run) => verify(&run, None),
                Err(why) => unreadable(listed.name, why),
            });
        }
    } else {
        let found = find(&args.id, context)?;
        runs.push(verify(&found.run, found.trial.as_ref()));
    }
    let report = VerifyReport { schema_version: VERIFY_REPORT_VERSION, runs };
    let text = match args.format {
        Output::Text => verify_text(&report, &context.printer.styles()),
        Output::Json => verify_json(&report),
    };
    context.printer.data(&text)?;
    let is_good = report.runs.iter().all(|run| run.problems.is_empty());
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn unreadable(run_id: String, why: String) -> VerifiedRun {
    let problem = Problem {
        found: Some(why),
        ..Problem::of_file("group.json or index.jsonl", ProblemKind::Unreadable)
    };
    VerifiedRun {
        run_id,
        kind: None,
        verified: 0,
        unfinished: Vec::new(),
        problems: vec![problem],
        notes: Vec::new(),
    }
}

/// Verifies a run, or one trial of it.
fn verify(run: &StoredRun, only: Option<&PlannedTrial>) -> VerifiedRun {
    let is_meant = |trial: &&PlannedTrial| only.is_none_or(|only| only.id == trial.id);
    let mut found = VerifiedRun {
        run_id: run.plan.run_id.clone(),
        kind: Some(run.plan.kind),
        verified: 0,
        unfinished: run.unfinished().filter(is_meant).map(|trial| trial.id.clone()).collect(),
        problems: Vec::new(),
        notes: Vec::new(),
    };
    if run.worker.is_some() {
        found.notes.push("it is being worked on".to_owned());
    }
    journal(run, &mut found);
    let mut without_digests = 0_u64;
    for trial in run.plan.trials.iter().filter(is_meant) {
        if run.status(trial).is_none() {
            continue;
        }
        found.verified += 1;
        let mut problems = match run.digests(trial) {
            Ok(digests) => {
                without_digests += u64::from(!digests.is_known);
                let dropped = digests.dropped.into_iter();
                found.notes.extend(dropped.map(|file| format!("{}: {file} was pruned", trial.id)));
                digests.problems
            }
            Err(error) => vec![Problem {
                found: Some(error.to_string()),
                ..Problem::of_file("manifest.json", ProblemKind::Unreadable)
            }],
        };
        problems.extend(derive(run, trial));
        let named = |problem| Problem { trial: Some(trial.id.clone()), ..problem };
        found.problems.extend(problems.into_iter().map(named));
    }
    if without_digests > 0 {
        found.notes.push(format!(
            "{without_digests} trials have no digests: an earlier version of Proctor made them"
        ));
    }
    found
}

/// What the journal says of itself.
fn journal(run: &StoredRun, found: &mut VerifiedRun) {
    let chain = run.chain();
    found.problems.extend(chain.breaks.iter().map(|line| Problem {
        field: Some(format!("line {line}")),
        ..Problem::of_file("index.jsonl", ProblemKind::BrokenChain)
    }));
    // While somebody adds trials, the journal is read later than the plan.
    if run.worker.is_none() {
        found.problems.extend(run.unplanned().map(|id| Problem {
            field: Some(format!("trial {id}")),
            found: Some("index.jsonl names it".to_owned()),
            ..Problem::of_file("group.json", ProblemKind::Missing)
        }));
    }
    if chain.is_torn {
        found
            .notes
            .push("the last line of the journal was cut off while it was written".to_owned());
    }
    for trial in run.unjournalled() {
        found.notes.push(format!(
            "{} has a record that the journal does not know: it was not finished, or the journal was \
             cut",
            trial.id
        ));
    }
}

/// What the record of a trial says and its evidence does not.
fn derive(run: &StoredRun, trial: &PlannedTrial) -> Vec<Problem> {
    let unreadable = |file: &str, why: String| Problem {
        found: Some(why),
        ..Problem::of_file(file, ProblemKind::Unreadable)
    };
    let record = match run.record(trial) {
        Ok(Some(record)) => record,
        Ok(None) => return Vec::new(),
        Err(error) => return vec![unreadable("run.json", error.to_string())],
    };
    let folder = run.trial_folder(trial);
    let mut problems = identity(run, trial, &record);
    let tally = match tally(&folder.join("events.jsonl")) {
        Ok(tally) => tally,
        Err(why) => {
            problems.push(unreadable("events.jsonl", why));
            None
        }
    };
    // A retest has the events of another trial's agent, and its counts.
    problems.extend(recheck(run.plan.kind, &record, tally.as_ref()));
    problems.extend(usage(run.plan.kind, &record, &folder));
    if let Some(outcome) = &record.outcome
        && run.plan.kind != RunKind::Imported
        && record.exit_reason != ExitReason::LimitExceeded
    {
        let derived = exit_reason(outcome);
        if derived != record.exit_reason {
            problems.push(differs("exit_reason", &record.exit_reason, &derived));
        }
    }
    for test in &record.tests {
        let file = format!("tests/{}.json", test.name);
        match std::fs::read(folder.join(&file)) {
            // That it is gone is told by its digest; a test that was not reached has none.
            Err(_) => {}
            Ok(bytes) => match serde_json::from_slice::<TestRecord>(&bytes) {
                Err(error) => problems.push(unreadable(&file, error.to_string())),
                Ok(kept) if kept == *test => {}
                Ok(kept) => problems.push(Problem::differs(
                    &file,
                    "status",
                    &kept.status,
                    &format!("{} in run.json, or another member", test.status),
                )),
            },
        }
    }
    problems
}

/// What the agent used, read from its own stream once more. Of experiments and what was imported it is
/// not known which program wrote the stream.
fn usage(kind: RunKind, record: &TrialRecord, folder: &Utf8Path) -> Option<Problem> {
    let kept =
        record.usage.filter(|_| matches!(kind, RunKind::Conformance | RunKind::SkillEval))?;
    let adapter = proctor_harness::find(&record.coordinates.agent)?;
    let stream = std::fs::File::open(folder.join("agent-events.jsonl")).ok()?;
    let derived = match proctor_harness::replay(adapter, stream, &mut |_| {}) {
        Ok(summary) => summary.usage.unwrap_or_default(),
        Err(error) => {
            let found = Some(error.to_string());
            let problem = Problem::of_file("agent-events.jsonl", ProblemKind::Unreadable);
            return Some(Problem { found, ..problem });
        }
    };
    let shown = |usage: Usage| serde_json::to_string(&usage).unwrap_or_default();
    (kept != derived).then(|| differs("usage", &shown(kept), &shown(derived)))
}

fn differs(field: &str, kept: &impl ToString, derived: &impl ToString) -> Problem {
    Problem::differs("run.json", field, kept, derived)
}

/// Whether the record is that of the trial, and says what the journal says.
fn identity(run: &StoredRun, trial: &PlannedTrial, record: &TrialRecord) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let Some(status) = run.status(trial).filter(|status| *status != record.status) {
        problems.push(differs("status", &record.status, &format!("{status} in index.jsonl")));
    }
    for (field, kept, planned) in [
        ("run_group_id", &record.run_group_id, &run.plan.run_id),
        ("variant_id", &record.variant_id, &trial.variant_id),
        ("fingerprint", &record.fingerprint, &trial.fingerprint),
    ] {
        if kept != planned {
            problems.push(differs(field, kept, &format!("{planned} in group.json")));
        }
    }
    if record.repeat_idx != trial.repeat_idx {
        let planned = format!("{} in group.json", trial.repeat_idx);
        problems.push(differs("repeat_idx", &record.repeat_idx, &planned));
    }
    problems
}

/// What the events of a session add up to; `None` when none were kept.
fn tally(path: &Utf8Path) -> Result<Option<EventTally>, String> {
    let file = match std::fs::File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| error.to_string())?,
    };
    let mut reader = BufReader::new(file);
    let (mut tally, mut line) = (EventTally::default(), Vec::new());
    for number in 1_u64.. {
        line.clear();
        let mut limited = (&mut reader).take(LONGEST_EVENT);
        limited.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if line.is_empty() {
            break;
        }
        let event: Event =
            serde_json::from_slice(&line).map_err(|error| format!("line {number}: {error}"))?;
        tally.add(&event);
    }
    Ok(Some(tally))
}
