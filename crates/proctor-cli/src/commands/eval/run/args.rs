//! The arguments of `proctor eval run`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::ops::RangeInclusive;
use std::time::Duration;

use camino::Utf8PathBuf;
use clap::ValueEnum;

use super::super::common::{Place, share};

/// Arguments of `proctor eval run`.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
#[command(after_help = "Examples:
  proctor eval run --dry-run
  proctor eval run deploy-staging --ablation
  proctor eval run --runner native --harness codex
  proctor eval run --runner-command ./my-runner.sh --harness codex --tag smoke
  proctor eval run --runner native --grader builtin --allow-llm
  proctor eval run --changed-only --base origin/main --max-cost 5 --format junit --output-dir out
  proctor eval run --mode activation --surface retrieval
  proctor eval run --mode activation --surface native --model haiku --runs auto --max-cost 2
  proctor eval run deploy --mode activation --surface retrieval --description-from new.txt \\
      --against current

Runs spend what the harness spends: `--dry-run` says how much that may be, `--max-cost` refuses to
start above an amount. A skill whose files, cases and runner did not change since a run that your
own key signed is not run again; `--force` runs it nevertheless. Each result is kept as soon as its
skill is finished.

`--mode activation` asks which skill is chosen for each prompt. Its surface `retrieval` is free: a
`--dry-run` of it ranks too, and writes nothing.

Evaluate only skills and cases that you trust: runners and harnesses work as you, with your
credentials.

Exit codes: 0 every selected skill passes; 2 a skill fails, has invalid cases, has no result, or was
skipped over budget; 1 it could not be run: wrong usage, a refused estimate, an interrupt.")]
pub(crate) struct Args {
    /// Skills to run [default: every one].
    #[arg(value_name = "SKILL")]
    pub(super) skills: Vec<String>,
    /// Run only the cases with this tag; repeat for several. The result is not kept.
    #[arg(long = "tag", value_name = "TAG", help_heading = "Selection")]
    pub(super) tags: Vec<String>,
    /// Run only skills that changed against `--base`, by git.
    #[arg(long, help_heading = "Selection")]
    pub(super) changed_only: bool,
    /// The commit that `--changed-only` compares with.
    #[arg(long, value_name = "COMMIT", default_value = "HEAD", help_heading = "Selection")]
    pub(super) base: String,
    /// Run skills whose stored result would hold, too.
    #[arg(long, help_heading = "Selection")]
    pub(super) force: bool,

    /// What is measured.
    #[arg(long, value_name = "MODE", default_value = "cases", help_heading = "Measurement")]
    pub(super) mode: Mode,
    /// What chooses the skill for a prompt; of `--mode activation`, which needs it.
    #[arg(long, value_name = "SURFACE", help_heading = "Measurement")]
    pub(super) surface: Option<SurfaceName>,
    /// Which skills compete for a prompt; of `--mode activation`.
    #[arg(long, value_name = "SCOPE", default_value = "domain", help_heading = "Measurement")]
    pub(super) scope: ScopeName,
    /// Measure one skill with the description in this file instead of its own. The skill stays as it
    /// is, and nothing is kept; of `--mode activation`.
    #[arg(long, value_name = "FILE", help_heading = "Measurement")]
    pub(super) description_from: Option<Utf8PathBuf>,
    /// Compare `--description-from` with the description in this file, on the same prompts; `current`
    /// is the one that the skill has.
    #[arg(long, value_name = "FILE", help_heading = "Measurement")]
    pub(super) against: Option<Utf8PathBuf>,

    /// The agent program, as it is recorded.
    #[arg(long, value_name = "ID", default_value = "claude", help_heading = "Runner")]
    pub(super) harness: String,
    /// What runs the cases: `native` (Proctor itself), `claude-plugin-eval` or `command` [default:
    /// command with `--runner-command`, else claude-plugin-eval for harness claude]. Of
    /// `--surface native`: `claude-native`, `codex-native` or `command` [default: command with
    /// `--runner-command`, else that of the harness].
    #[arg(long, value_name = "NAME", help_heading = "Runner")]
    pub(super) runner: Option<String>,
    /// Shell command that speaks the runner protocol.
    #[arg(long, value_name = "COMMAND", help_heading = "Runner")]
    pub(super) runner_command: Option<String>,
    /// Extra argument for the runner or its harness; repeat for several.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true, help_heading = "Runner")]
    pub(super) runner_arg: Vec<String>,
    /// The program of harness claude.
    #[arg(long, value_name = "PROGRAM", default_value = "claude", help_heading = "Runner")]
    pub(super) claude_bin: String,
    /// The program of harness codex.
    #[arg(long, value_name = "PROGRAM", default_value = "codex", help_heading = "Runner")]
    pub(super) codex_bin: String,
    /// The model; cases can name their own.
    #[arg(long, value_name = "MODEL", help_heading = "Runner")]
    pub(super) model: Option<String>,
    /// The model of the grader of claude-plugin-eval.
    #[arg(long, value_name = "MODEL", help_heading = "Runner")]
    pub(super) judge_model: Option<String>,
    /// Repetitions of each case or prompt; 0 leaves it to the runner, and is 5 for `--surface
    /// native`. There, `auto` runs each prompt up to 5 times and stops once what it comes to can no
    /// longer change.
    #[arg(long, value_name = "N", default_value = "0", value_parser = repetitions, allow_negative_numbers = true, help_heading = "Runner")]
    pub(super) runs: Repetitions,
    /// Run each case without the skill too.
    #[arg(long, help_heading = "Runner")]
    pub(super) ablation: bool,
    /// How many sessions the native runner has side by side [default: 4].
    #[arg(short, long, value_name = "N", value_parser = sessions, allow_negative_numbers = true, help_heading = "Runner")]
    pub(super) jobs: Option<NonZeroUsize>,
    /// Run the commands of `command_exit` assertions; without it they fail.
    #[arg(long, help_heading = "Runner")]
    pub(super) allow_exec: bool,
    /// How long a skill may take, like 90s, 30m or 1h30m; 0 sets no limit.
    #[arg(long, value_name = "TIME", default_value = "30m", value_parser = duration, help_heading = "Runner")]
    pub(super) timeout: Duration,
    /// Who grades rubrics.
    #[arg(long, value_name = "GRADER", default_value = "runner", help_heading = "Runner")]
    pub(super) grader: Grader,
    /// Agree that the built-in grader sends rubrics and answers to the model of `[llm]`.
    #[arg(long, help_heading = "Runner")]
    pub(super) allow_llm: bool,

    /// Say what would run and what it may cost, and run nothing.
    #[arg(long, visible_alias = "estimate", help_heading = "Cost")]
    pub(super) dry_run: bool,
    /// US dollars for the whole run; 0 sets no limit.
    #[arg(long, value_name = "USD", default_value = "0", value_parser = amount, help_heading = "Cost")]
    pub(super) max_cost: f64,
    /// Which figure of the estimate must fit into `--max-cost` [default: expected; high for `--mode
    /// activation`].
    #[arg(long, value_name = "FIGURE", help_heading = "Cost")]
    pub(super) max_cost_mode: Option<Figure>,
    /// US dollars for the built-in grader; 0 leaves it to the limits of `[llm]`.
    #[arg(long, value_name = "USD", default_value = "0.25", value_parser = amount, help_heading = "Cost")]
    pub(super) grader_max_cost: f64,
    /// US dollars a million tokens in; 0 takes the listed price.
    #[arg(long, value_name = "USD", default_value = "0", value_parser = amount, help_heading = "Cost")]
    pub(super) price_in: f64,
    /// US dollars a million tokens out; 0 takes the listed price.
    #[arg(long, value_name = "USD", default_value = "0", value_parser = amount, help_heading = "Cost")]
    pub(super) price_out: f64,

    /// The pass rate, 0 to 1, that a skill must reach [default: `min_pass_rate` of the settings, or
    /// 1; for `--mode activation` 1, whatever the settings say].
    #[arg(long, value_name = "RATE", value_parser = share, help_heading = "Result")]
    pub(super) threshold: Option<f64>,
    /// How to print the report [default: text; markdown for `--mode activation`, which is printed as
    /// markdown or json].
    #[arg(short, long, value_name = "FORMAT", help_heading = "Result")]
    pub(super) format: Option<Format>,
    /// Write the report to eval-report.<txt|json|md|xml> in this folder instead (`--mode activation`:
    /// eval-activation.<json|md>).
    #[arg(long, visible_alias = "out", value_name = "DIR", help_heading = "Result")]
    pub(super) output_dir: Option<Utf8PathBuf>,
    /// The day of the run, as it is recorded [default: the variable
    /// `AI_RULEZ_EVAL_DATE`]; never read from a clock.
    #[arg(long, value_name = "DAY", value_parser = day, help_heading = "Result")]
    pub(super) date: Option<String>,
    /// Leave the results file as it is.
    #[arg(long, help_heading = "Result")]
    pub(super) no_write: bool,
    /// Sign the results file so that others can check it with a public key.
    #[arg(long, value_name = "METHOD", requires = "sign_key", help_heading = "Result")]
    pub(super) sign: Option<Method>,
    /// The private key for `--sign`; `proctor eval keygen` makes one.
    #[arg(long, value_name = "FILE", requires = "sign", help_heading = "Result")]
    pub(super) sign_key: Option<Utf8PathBuf>,
    #[command(flatten, next_help_heading = "Project")]
    pub(super) place: Place,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// Whether skills do their job.
    Cases,
    /// Which skill is chosen.
    Activation,
}

/// What chooses the skill for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SurfaceName {
    /// The built-in ranker, over what skills say of themselves: free and offline.
    Retrieval,
    /// A real agent program with every competing skill installed.
    Native,
}

/// Which skills compete for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ScopeName {
    /// Those of the skill's domain and those of none.
    Domain,
    /// Every skill of the project.
    All,
}

/// How often something is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repetitions {
    /// As often as is usual.
    Usual,
    /// So often.
    Times(NonZeroU32),
    /// Until it is clear what it comes to.
    Auto,
}

/// Who grades rubrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Grader {
    /// The runner, by its own means.
    Runner,
    /// A model that Proctor asks.
    Builtin,
}

/// A figure of an estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Figure {
    /// What is likely.
    Expected,
    /// The upper end.
    High,
}

/// How results are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Method {
    /// Ed25519, in a DSSE envelope beside the results file.
    Ed25519,
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For comments and summaries.
    Markdown,
    /// JUnit XML, for build servers.
    Junit,
}

impl Format {
    /// The ending of its files.
    pub(super) fn ending(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Json => "json",
            Self::Markdown => "md",
            Self::Junit => "xml",
        }
    }
}

/// No time limit: a year, which any clock can add.
const NO_LIMIT: Duration = Duration::from_hours(365 * 24);

pub(crate) fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("expected an amount of US dollars, such as 2.5".to_owned()),
    }
}

fn repetitions(text: &str) -> Result<Repetitions, String> {
    match (text, text.parse::<u32>()) {
        ("auto", _) => Ok(Repetitions::Auto),
        (_, Ok(runs)) => Ok(NonZeroU32::new(runs).map_or(Repetitions::Usual, Repetitions::Times)),
        (_, Err(_)) => Err("expected a number of runs, such as 5, or `auto`".to_owned()),
    }
}

fn sessions(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected how many sessions run side by side, at least 1".to_owned())
}

pub(super) fn day(text: &str) -> Result<String, String> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let is_dash = |at: usize| text.as_bytes().get(at) == Some(&b'-');
    let digits = [0, 1, 2, 3, 5, 6, 8, 9];
    let is_date = text.len() == 10 && digits.into_iter().all(is_digit) && is_dash(4) && is_dash(7);
    let within = |at, range: RangeInclusive<&str>| text.get(at).is_some_and(|n| range.contains(&n));
    if is_date && within(5..7, "01"..="12") && within(8..10, "01"..="31") {
        Ok(text.to_owned())
    } else {
        Err("expected a day such as 2026-10-05".to_owned())
    }
}

/// Numbers with units, like `1h30m`; a number alone counts seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time such as 90s, 30m or 1h30m".to_owned();
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let end = after.find(is_number).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let factor = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 0.001,
            "" if number == text => 1.0,
            _ => return Err(wrong()),
        };
        seconds += number.parse::<f64>().map_err(|_| wrong())? * factor;
        rest = after;
    }
    let duration = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
    match (text.is_empty(), duration.is_zero()) {
        (true, _) => Err(wrong()),
        (false, true) => Ok(NO_LIMIT),
        (false, false) => Ok(duration.min(NO_LIMIT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let seconds = |text: &str| duration(text).map(|d| d.as_secs_f64());
        for (text, expected) in [
            ("90s", 90.0),
            ("30m", 1800.0),
            ("1h30m", 5400.0),
            ("1.5s", 1.5),
            ("250ms", 0.25),
            ("45", 45.0),
            ("0", NO_LIMIT.as_secs_f64()),
            ("0s", NO_LIMIT.as_secs_f64()),
            ("99999999h", NO_LIMIT.as_secs_f64()),
        ] {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "m", "-1s", "1x", "1h30", "1.2.3s", "inf", "NaN", " 1s", "1e400s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn figures_are_finite_and_in_range() {
        for text in ["NaN", "inf", "-0.1", "-inf", "x", ""] {
            assert!(amount(text).is_err() && share(text).is_err(), "{text}");
        }
        assert_eq!((amount("0"), amount("2.5")), (Ok(0.0), Ok(2.5)));
        assert_eq!(share("1"), Ok(1.0));
        assert!(share("1.01").is_err());
    }

    #[test]
    fn runs_are_counted_or_left_to_the_verdict() {
        let times = |runs| NonZeroU32::new(runs).map(Repetitions::Times).unwrap();
        assert_eq!(repetitions("0"), Ok(Repetitions::Usual));
        assert_eq!(repetitions("7"), Ok(times(7)));
        assert_eq!(repetitions("auto"), Ok(Repetitions::Auto));
        for text in ["-1", "", "Auto", "1.5", "4294967296", "auto:3"] {
            assert!(repetitions(text).is_err(), "{text}");
        }
    }

    #[test]
    fn days_are_days() {
        assert!(day("2026-10-05").is_ok());
        for text in ["2026-10-5", "today", "2026/10/05", "2026-10-05T00", "2026-1a-05", ""] {
            assert!(day(text).is_err(), "{text}");
        }
        for text in ["2026-13-05", "2026-00-05", "2026-10-32", "2026-10-00"] {
            assert!(day(text).is_err(), "{text}");
        }
    }
}
