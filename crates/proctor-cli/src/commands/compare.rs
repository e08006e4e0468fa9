//! `proctor compare`.

use camino::Utf8Path;
use clap::ValueEnum;
use proctor_grade::measure::{
    CompareError, Filter, Gate, GroupKey, Pool, against_values, runs_against,
};
use proctor_model::ExitCode;
use proctor_model::measure::ComparisonReport;
use proctor_report::measure as report;

use crate::context::Context;
use crate::error::CommandError;
use crate::trials::trials_or_file;

/// Arguments of `proctor compare`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor compare greetings-01J latest
  proctor compare baseline.json latest --margin 0.05
  proctor compare latest --by agent
  proctor compare latest --by agent=claude --against agent=codex --where prompt=cold
  proctor run view latest --format json > baseline.json

A and B are runs, experiments (all of their runs) or files that `proctor run view --format json`
wrote: B is held against A. With `--by KEY`, the values of a key inside A are compared with the
first one, or with the one that is named.

Trials are compared cell by cell: same coordinates, same repetition. Passed and failed ones by the
exact test of McNemar, cost, time and tokens by a paired bootstrap; several values, or the variants
of two runs, with Holm's correction. Errors and cells without a partner are listed, and are in no
figure. A difference that chance explains ranks nobody. docs/statistics.md has the formulas.

Exit codes: 0 no regression is shown, or with `--margin` none beyond it; 1 a regression, with
`--margin` also that so few trials cannot rule one out, or that fewer than half of the results in A
have one beside them in B; 2 nothing can be compared, or wrong usage.")]
pub(crate) struct Args {
    /// The run, experiment or file that is held against.
    #[arg(value_name = "A")]
    baseline: String,
    /// The run, experiment or file that is held against it.
    #[arg(value_name = "B", required_unless_present = "by", conflicts_with = "by")]
    candidate: Option<String>,
    /// Compare the values of this key inside A with the named one, or the first.
    #[arg(long, value_name = "KEY[=VALUE]", value_parser = by)]
    by: Option<By>,
    /// Only compare this value with it; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", requires = "by")]
    against: Vec<Filter>,
    /// Only trials with this value; several values of one key add up, several keys narrow.
    #[arg(long = "where", value_name = "KEY=VALUE")]
    filters: Vec<Filter>,
    /// How much lower the pass rate may be, as a share: it must be shown that it is not lower by more.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<f64>,
    /// From which p-value on a difference is put down to chance.
    #[arg(long, value_name = "P", default_value = "0.05", value_parser = share)]
    level: f64,
    /// How to print the comparison.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs: one JSON document.
    Json,
    /// For comments and summaries.
    Markdown,
    /// For build servers: JUnit XML.
    Junit,
}

/// A key, and perhaps a value of it.
#[derive(Debug, Clone)]
struct By {
    key: GroupKey,
    value: Option<Filter>,
}

fn by(text: &str) -> Result<By, String> {
    if text.contains('=') {
        let value: Filter = text.parse()?;
        return Ok(By { key: value.key, value: Some(value) });
    }
    let key =
        text.parse().map_err(|error: proctor_grade::measure::UnknownKey| error.to_string())?;
    Ok(By { key, value: None })
}

/// A number between 0 and 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("not a number between 0 and 1, such as 0.05 for 5 %".to_owned()),
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let gate = Gate { level: args.level, margin: args.margin };
    let first = narrowed(&args.baseline, args, context)?;
    let compared = match (&args.by, &args.candidate) {
        (Some(by), _) => {
            check_values(by, &args.against, &first)?;
            let subject = (args.baseline.as_str(), &first);
            against_values(subject, &args.filters, by.key, by.value.clone(), &args.against, gate)
        }
        (None, Some(candidate)) => {
            let second = narrowed(candidate, args, context)?;
            let sides = names(args, candidate, &first, &second);
            runs_against((&sides.0, &first), (&sides.1, &second), &args.filters, gate)
        }
        (None, None) => return Err(CommandError::usage("there is nothing to compare it with")),
    };
    let found = compared.map_err(refused)?;
    context.printer.data(&args.format.render(&found, context))?;
    Ok(if found.verdict.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn narrowed(id: &str, args: &Args, context: &Context) -> Result<Pool, CommandError> {
    let mut pool = trials_or_file(id, context)?;
    pool.narrow(&args.filters)
        .map_err(|problem| CommandError::usage(format!("{id}: {problem}")))?;
    Ok(pool)
}

/// What the sides are called: the run itself where only one is meant, so that `latest` in a report says
/// which that was.
fn names(args: &Args, candidate: &str, first: &Pool, second: &Pool) -> (String, String) {
    let name = |word: &str, pool: &Pool| match &pool.runs[..] {
        [run] if Utf8Path::new(word).extension() != Some("json") => run.clone(),
        _ => word.to_owned(),
    };
    (name(&args.baseline, first), name(candidate, second))
}

fn check_values(by: &By, against: &[Filter], pool: &Pool) -> Result<(), CommandError> {
    if let Some(other) = against.iter().find(|other| other.key != by.key) {
        return Err(CommandError::usage(format!(
            "`--against {other}` is about another key than `--by {}`",
            by.key
        )));
    }
    for value in by.value.iter().chain(against) {
        pool.clone().narrow(std::slice::from_ref(value)).map_err(CommandError::usage)?;
    }
    Ok(())
}

fn refused(error: CompareError) -> CommandError {
    let hint = match &error {
        CompareError::NoPairs { .. } => {
            "a cell has the same coordinates and repetition on both sides"
        }
        CompareError::SeveralInOneCell { .. } => "narrow it with `--where KEY=VALUE`",
        CompareError::NotAWay(_) => "compare by agent, model, prompt, variant, run, ...",
        CompareError::OneValue { .. } => "`proctor run view` has the variants of a run",
    };
    CommandError::usage(error).hint(hint)
}

impl Format {
    fn render(self, found: &ComparisonReport, context: &Context) -> String {
        match self {
            Self::Text => report::comparison_text(found, &context.printer.styles()),
            Self::Json => report::comparison_json(found),
            Self::Markdown => report::comparison_markdown(found),
            Self::Junit => report::comparison_junit(found),
        }
    }
}
