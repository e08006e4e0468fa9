//! `proctor judge calibrate`.

use camino::Utf8PathBuf;
use proctor_formats::eval::find;
use proctor_formats::labels::{self, Labels};
use proctor_grade::eval::grader::{REPLY_TOKENS, compare, grader_name};
use proctor_grade::eval::{JUDGE_OUTPUT_TOKENS, Rates, round4};
use proctor_model::ExitCode;
use proctor_model::judge::{JudgeCost, JudgeReport};
use proctor_report::judge as report;
use proctor_runner::eval::{Calibration, Grader, question_tokens};

use super::FAILED;
use crate::args::Output;
use crate::commands::eval::amount;
use crate::context::Context;
use crate::error::CommandError;
use crate::interrupt;
use crate::judge::Judge;
use crate::progress::JudgeProgress;

/// Arguments of `proctor judge calibrate`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor judge calibrate --labels labels.jsonl --dry-run
  proctor judge calibrate --labels labels.jsonl --allow-llm --repeat 3
  proctor judge calibrate --labels labels.jsonl --allow-llm --min-kappa 0.6 --format json

Labels are JSON Lines, or a list in JSON or YAML, of
  {\"id\", \"rubric\" or \"rubric_items\", \"rubric_min_score\", \"answer\", \"label\"}
where the label is true or false, or a score from 0 to 1. The model is that of [llm] in your own
configuration. Rubrics and answers are sent to it, and nothing else.

Exit codes: 0 every answer was judged; 2 the judge does not reach --min-kappa; 1 it could not be
run, or not to the end: wrong usage, a refusal, a limit, an interrupt; or no answer has a grade.")]
pub(crate) struct Args {
    /// The file of labelled answers.
    #[arg(long, value_name = "FILE")]
    labels: Utf8PathBuf,
    /// How often each answer is judged; from 2 on, how steady the judge is gets measured.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Agree that rubrics and answers are sent to the model of `[llm]`.
    #[arg(long)]
    allow_llm: bool,
    /// Say what it may cost, and send nothing.
    #[arg(long, visible_alias = "estimate")]
    dry_run: bool,
    /// US dollars that may be spent; 0 leaves it to the limits of `[llm]`.
    #[arg(long, value_name = "USD", default_value = "1", value_parser = amount)]
    max_cost: f64,
    /// The least kappa with which the judge passes.
    #[arg(long, value_name = "KAPPA", value_parser = kappa, allow_hyphen_values = true)]
    min_kappa: Option<f64>,
    /// How to print the report.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

fn kappa(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (-1.0..=1.0).contains(&value) => Ok(value),
        _ => Err("expected a number from -1 to 1, such as 0.6".to_owned()),
    }
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let labels = read(args, context)?;
    // Without skills there is no project whose settings could lower limits.
    let project = find(&context.cwd, None).ok();
    let judge = Judge::new(project.as_ref(), &[args.max_cost], context)?;
    let cost = estimate(&labels, &judge, args.repeat, context);
    if args.dry_run {
        let mut report = compare(&labels.answers, &Vec::new(), args.repeat, None);
        report.dry_run = true;
        report.kappa_undefined = None;
        report.answers.total = labels.answers.len() as u64;
        finish(&mut report, &judge, &labels, cost);
        print(&report, args, context)?;
        return Ok(ExitCode::SUCCESS);
    }
    refuse_too_dear(args, &cost)?;
    let client = judge.connect(args.allow_llm, context)?;
    let cancel = interrupt::cancel_on_signal(context.printer)?;
    let progress = JudgeProgress::new(labels.answers.len() as u64 * u64::from(args.repeat));
    let calibration = Calibration {
        grader: Grader { model: &client },
        repeat: args.repeat,
        redactor: &context.redactor,
        cancel: &cancel,
    };
    let judged = calibration.run(&labels.answers, &mut || progress.done());
    progress.finish();
    let mut report = compare(&labels.answers, &judged.gradings, args.repeat, args.min_kappa);
    report.stopped =
        judged.stopped.as_ref().map(|why| context.redactor.text(&why.to_string()).into_owned());
    let spent_usd = round4(calibration.spent_usd());
    finish(&mut report, &judge, &labels, JudgeCost { spent_usd, ..cost });
    print(&report, args, context)?;
    if let (Some(why), Some(said)) = (&judged.stopped, &report.stopped) {
        let error = CommandError::usage(format!("not every answer was judged: {said}"));
        return Err(if why.is_broke() {
            error.hint("figures of a part say little: raise the limit, or label fewer answers")
        } else {
            error
        });
    }
    // With a mark this is a judge that does not reach it.
    if report.answers.graded == 0 && report.gate.is_none() {
        return Err(CommandError::usage("no answer has a grade, so that nothing was measured"));
    }
    let passed = report.gate.is_none_or(|gate| gate.passed);
    Ok(if passed { ExitCode::SUCCESS } else { FAILED })
}

fn read(args: &Args, context: &Context) -> Result<Labels, CommandError> {
    labels::load(&context.cwd.join(&args.labels), &args.labels).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.0.iter().map(ToString::to_string).collect();
        CommandError::usage(format!("the labels are wrong\n  {}", lines.join("\n  ")))
    })
}

/// What the questions may cost.
fn estimate(labels: &Labels, judge: &Judge, repeat: u32, context: &Context) -> JudgeCost {
    let (questions, tokens) = question_tokens(&labels.answers, &context.redactor);
    let repeat = u64::from(repeat);
    let (questions, input_tokens) = (questions * repeat, tokens * repeat);
    let of = |reply_tokens: u64| {
        let price = judge.price?;
        let rates = Rates { input: price.input, output: price.output };
        Some(round4(rates.cost(input_tokens, questions * reply_tokens)))
    };
    JudgeCost {
        questions,
        input_tokens,
        expected_usd: of(JUDGE_OUTPUT_TOKENS),
        high_usd: of(REPLY_TOKENS.into()),
        spent_usd: 0.0,
    }
}

fn refuse_too_dear(args: &Args, cost: &JudgeCost) -> Result<(), CommandError> {
    match cost.expected_usd {
        Some(expected) if args.max_cost > 0.0 && expected > args.max_cost => {
            let message = format!(
                "nothing was sent: the estimate is ${expected:.4}, above the `--max-cost` of ${}",
                args.max_cost
            );
            Err(CommandError::usage(message).hint("label fewer answers, or raise the cap"))
        }
        _ => Ok(()),
    }
}

fn finish(report: &mut JudgeReport, judge: &Judge, labels: &Labels, cost: JudgeCost) {
    report.judge = grader_name(&judge.id);
    report.labels_digest = format!("sha256:{}", labels.digest);
    report.cost = cost;
}

fn print(report: &JudgeReport, args: &Args, context: &Context) -> Result<(), CommandError> {
    let text = match args.format {
        Output::Text => report::text(report, &context.printer.styles()),
        Output::Json => report::json(report),
    };
    Ok(context.printer.data(&text)?)
}
