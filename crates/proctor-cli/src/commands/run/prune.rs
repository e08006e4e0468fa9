//! `proctor run prune`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use proctor_model::ExitCode;
use proctor_report::experiment::bytes_text;
use proctor_store::runs::{Candidate, Fate, Rule, Runs, StoredRun, fates, size_of};

use super::kind::KindName;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor run prune`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor run prune --keep 20 --dry-run
  proctor run prune --older-than 30d
  proctor run prune --max-size 10GB --kind conformance
  proctor run prune --older-than 7d --workspaces

A run goes when any of the limits says so: it is older, it is not among the latest so many, or it
and those after it take more room. A run that somebody works on never goes, one that is not finished
only with `--unfinished`. A run leaves the list in one step, before its files are removed.

Exit codes: 0 done; 1 a run that was to go could not be removed; 2 no limit was given, or the runs
cannot be read.")]
#[command(group(clap::ArgGroup::new("limit").required(true).multiple(true)
    .args(["keep", "older_than", "max_size"])))]
pub(crate) struct Args {
    /// Keep the latest N runs.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Remove runs that are older, such as 30d, 12h or 2w.
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<Duration>,
    /// Keep the latest runs that together take no more room, such as 500MB or 10GB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_size: Option<u64>,
    /// Look at runs of this kind alone.
    #[arg(long, value_name = "KIND")]
    kind: Option<KindName>,
    /// Remove runs too that are not finished.
    #[arg(long)]
    unfinished: bool,
    /// Remove only the kept workspaces of those runs; everything else stays, but tests cannot be run
    /// again on them.
    #[arg(long)]
    workspaces: bool,
    /// Say what would go, and remove nothing.
    #[arg(long)]
    dry_run: bool,
}

fn age(text: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected a number and m, h, d or w, such as 30d";
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or(EXPECTED)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| EXPECTED)?;
    let minutes = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return Err(EXPECTED.to_owned()),
    };
    let seconds = number.checked_mul(minutes * 60).ok_or("that is too long")?;
    Ok(Duration::from_secs(seconds))
}

fn size(text: &str) -> Result<u64, String> {
    const EXPECTED: &str = "expected a number and B, KB, MB, GB or TB, such as 10GB";
    let split = text.find(|c: char| !c.is_ascii_digit()).ok_or(EXPECTED)?;
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().map_err(|_| EXPECTED)?;
    let power = match unit.to_ascii_uppercase().as_str() {
        "B" => 0,
        "KB" => 1,
        "MB" => 2,
        "GB" => 3,
        "TB" => 4,
        _ => return Err(EXPECTED.to_owned()),
    };
    number.checked_mul(1000_u64.pow(power)).ok_or_else(|| "that is too much".to_owned())
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let runs = Runs::of(&context.cwd);
    if !args.dry_run {
        runs.empty_trash().map_err(CommandError::usage)?;
    }
    let candidates = candidates(&runs, context)?;
    let rule = Rule {
        keep: args.keep,
        older_than: args.older_than,
        max_size: args.max_size,
        kind: args.kind.map(KindName::kind),
        unfinished: args.unfinished,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let (mut count, mut freed, mut is_good) = (0_u64, 0_u64, true);
    for (run, fate) in candidates.iter().zip(fates(&candidates, &rule, now)) {
        let id = &run.run_id;
        match fate {
            Fate::Stays => {}
            Fate::Busy => context.printer.note(&format!("{id} stays: it is being worked on")),
            Fate::Unfinished => context
                .printer
                .note(&format!("{id} stays: it is not finished; `--unfinished` removes it too")),
            Fate::Goes => match remove(args, &runs, run) {
                Ok(bytes) => {
                    (count, freed) = (count + 1, freed.saturating_add(bytes));
                    context.printer.data(&format!("{id}  {}\n", bytes_text(bytes)))?;
                }
                Err(error) => {
                    is_good = false;
                    context.printer.warning(&format!("{id} stays: {error}"));
                }
            },
        }
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    let what = match (args.workspaces, count) {
        (true, 1) => "the workspaces of 1 run".to_owned(),
        (true, count) => format!("the workspaces of {count} runs"),
        (false, 1) => "1 run".to_owned(),
        (false, count) => format!("{count} runs"),
    };
    context.printer.note(&format!("{what} {verb}, {}", bytes_text(freed)));
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The runs that can be read, the latest first.
fn candidates(runs: &Runs, context: &Context) -> Result<Vec<Candidate>, CommandError> {
    let mut candidates = Vec::new();
    for listed in runs.list().map_err(CommandError::usage)? {
        match listed.run {
            Ok(run) => candidates.push(candidate(&run).map_err(CommandError::usage)?),
            // What it is cannot be told, and neither whether it may go.
            Err(why) => context.printer.warning(&format!("{} stays: {why}", listed.name)),
        }
    }
    Ok(candidates)
}

fn candidate(run: &StoredRun) -> Result<Candidate, proctor_store::runs::RunError> {
    Ok(Candidate {
        run_id: run.plan.run_id.clone(),
        kind: run.plan.kind,
        created_at: run.plan.created_at,
        size: size_of(&run.folder)?,
        is_busy: run.worker.is_some(),
        is_finished: run.unfinished().next().is_none(),
    })
}

/// The bytes that are free now, or would be.
fn remove(args: &Args, runs: &Runs, run: &Candidate) -> Result<u64, proctor_store::runs::RunError> {
    match (args.dry_run, args.workspaces) {
        (true, false) => Ok(run.size),
        (true, true) => runs.workspaces_of(&run.run_id),
        (false, false) => runs.remove(&run.run_id),
        (false, true) => runs.drop_workspaces(&run.run_id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_have_units() {
        assert_eq!(age("30d"), Ok(Duration::from_hours(30 * 24)));
        assert_eq!(age("90m"), Ok(Duration::from_mins(90)));
        assert_eq!(size("10GB"), Ok(10_000_000_000));
        assert_eq!(size("5kb"), Ok(5000));
        for bad in ["", "30", "d", "-1d", "1y", "1.5d", "99999999999999999999d"] {
            assert!(age(bad).is_err(), "{bad}");
        }
        for bad in ["", "10", "GB", "1XB", "99999999999999TB"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        assert!(age(&format!("{}w", u64::MAX)).is_err());
    }
}
