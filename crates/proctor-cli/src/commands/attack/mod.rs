//! `proctor attack`.

mod catalogue;
mod field;
mod file;
mod trial;

use std::num::NonZeroUsize;

use proctor_model::attack::{AttackReport, AttackVerdict};
use proctor_model::{ExitCode, Isolation};
use proctor_report::attack as report;
use proctor_runner::pool::{self, Progress};

use self::file::Attack;
use self::trial::{Attempt, Fought, bug};
use super::experiment::engine::{Hall, Kind};
use crate::context::Context;
use crate::error::CommandError;

/// An attack got through.
const BROKEN: ExitCode = ExitCode(1);
/// None got through, and not all of them could be tried.
const UNTRIED: ExitCode = ExitCode(3);

/// Arguments of `proctor attack`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor attack
  proctor attack --list
  proctor attack git-config python-shadow
  proctor attack --sandbox landlock --format json

Each attack is an experiment with the scripted agent, run as `proctor experiment run` would: the
agent tries to forge its verdict, to see a test, or to get out. Each has a control, which shows that
it would have been seen had it got through; without that it does not count as held. Nothing is
spent, no network is needed, and nothing is left behind.

With `--sandbox none` nothing stops an agent: the attacks run as you, on your machine. Those that
would end its processes are left out.

Exit codes: 0 all held; 1 one got through; 2 the command line is wrong; 3 none got through, but not
all could be tried; 130 interrupted.")]
pub(crate) struct Args {
    /// Which attacks; all of them when none is named.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the attacks, and try none.
    #[arg(long)]
    list: bool,
    /// What keeps a trial apart.
    #[arg(long, value_name = "KIND", default_value = "bubblewrap")]
    sandbox: Kind,
    /// The image of containers, which is never pulled; it needs `bash` and `sleep`.
    #[arg(long, value_name = "IMAGE")]
    image: Option<String>,
    /// Let them loose although nothing keeps them apart.
    #[arg(long)]
    allow_unsandboxed: bool,
    /// How many run side by side.
    #[arg(short, long, value_name = "N", default_value = "4")]
    jobs: NonZeroUsize,
    /// How to print the results.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: one JSON document.
    Json,
    /// For build servers.
    Junit,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let attacks = chosen(&args.names)?;
    if args.list {
        let width = attacks.iter().map(|attack| attack.name.len()).max().unwrap_or(0);
        let line = |attack: &Attack| format!("{:width$}  {}\n", attack.name, attack.tries);
        context.printer.data(&attacks.iter().map(line).collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.sandbox == Kind::None && !args.allow_unsandboxed {
        let message = "with `--sandbox none` the attacks run as you, on this machine";
        return Err(CommandError::usage(message)
            .hint("`--allow-unsandboxed` lets them; most of them will get through"));
    }
    if args.image.is_some() != (args.sandbox == Kind::Container) {
        return Err(CommandError::usage("`--image IMAGE` belongs to `--sandbox container`"));
    }
    let hall = Hall::open(context)?;
    let fought = all(&attacks, args, &hall, context);
    if hall.cancel.is_cancelled() {
        context.printer.note("interrupted: nothing is known of what was not tried");
        return Ok(ExitCode::INTERRUPTED);
    }
    let isolation = fought.iter().find_map(|one| one.isolation.clone());
    let report = summary(args, isolation, fought);
    let text = match args.format {
        Format::Text => report::text(&report, &context.printer.styles()),
        Format::Json => report::json(&report),
        Format::Junit => report::junit(&report),
    };
    context.printer.data(&text)?;
    Ok(verdict(&report))
}

fn summary(args: &Args, isolation: Option<Isolation>, fought: Vec<Fought>) -> AttackReport {
    let results = fought.into_iter().map(|one| one.result).collect();
    AttackReport::new(args.sandbox.as_str(), isolation, results)
}

fn verdict(report: &AttackReport) -> ExitCode {
    if report.broken > 0 {
        BROKEN
    } else if report.untried > 0 || report.held == 0 {
        UNTRIED
    } else {
        ExitCode::SUCCESS
    }
}

/// The attacks with these names, in the order of the list.
fn chosen(names: &[String]) -> Result<Vec<Attack>, CommandError> {
    let all =
        catalogue::read().map_err(|wrong| CommandError::usage(wrong).with_code(ExitCode::BUG))?;
    if let Some(unknown) = names.iter().find(|name| all.iter().all(|one| one.name != **name)) {
        let message = format!("there is no attack `{unknown}`");
        return Err(CommandError::usage(message).hint("`proctor attack --list` has them all"));
    }
    let is_wanted =
        |attack: &Attack| names.is_empty() || names.iter().any(|name| name == attack.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

fn all(attacks: &[Attack], args: &Args, hall: &Hall, context: &Context) -> Vec<Fought> {
    let mut fought: Vec<Option<Fought>> = attacks.iter().map(|_| None).collect();
    pool::run(
        attacks.len(),
        args.jobs,
        &hall.cancel,
        |index, _: &dyn Fn(())| {
            let attack = attacks.get(index)?;
            Some(
                Attempt {
                    attack,
                    sandbox: args.sandbox,
                    image: args.image.as_ref(),
                    hall,
                    context,
                }
                .fight(),
            )
        },
        |index, message| attacks.get(index).map(|attack| bug(attack, &message)),
        |progress| {
            if let Progress::Done(index, Some(one)) = progress {
                let word = match one.result.verdict {
                    AttackVerdict::Held => "held",
                    AttackVerdict::Broken => "broken",
                    AttackVerdict::Untried => "untried",
                };
                context.printer.note(&format!("{word} {}", one.result.name));
                if let Some(place) = fought.get_mut(index) {
                    *place = Some(one);
                }
            }
        },
    );
    fought.into_iter().flatten().collect()
}
