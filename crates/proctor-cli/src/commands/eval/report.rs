//! `proctor eval report`.

use camino::{Utf8Path, Utf8PathBuf};
use proctor_formats::eval::{Project, inspect};
use proctor_grade::eval::count_tokens;
use proctor_model::ExitCode;
use proctor_report::eval as report;
use proctor_store::eval::{
    FEEDBACK_FILE, FeedbackLog, LogError, Marks, SkillFacts, UsageLog, advise,
};

use super::common::{self, Place, share};
use crate::args::Output;
use crate::context::Context;
use crate::error::CommandError;

/// Arguments of `proctor eval report`.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  proctor eval report
  proctor eval report --usage-log usage.jsonl --format json

Says of each skill whether to rewrite, prune, review or keep it, and why. Results that your own key
did not sign prove nothing and are left out.")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    /// Log of usage, JSON lines; without it nothing is concluded about use.
    #[arg(long, value_name = "FILE")]
    usage_log: Option<Utf8PathBuf>,
    /// Log of feedback, JSON lines [default: local/feedback.jsonl in the configuration folder].
    #[arg(long, value_name = "FILE")]
    feedback_log: Option<Utf8PathBuf>,
    /// The pass rate, 0 to 1, that a skill must reach.
    #[arg(long, value_name = "RATE", default_value = "0.8", value_parser = share)]
    min_pass_rate: f64,
    /// The same for precision and recall of its firing.
    #[arg(long, value_name = "RATE", default_value = "0.8", value_parser = share)]
    min_trigger: f64,
    /// How to print the recommendations.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    format: Output,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode, CommandError> {
    let project = args.place.project(context)?;
    let results = args.place.load(&project, common::load_key(context).as_ref(), context)?;
    let usage = args.usage_log.as_ref().map(|file| usage(file, context)).transpose()?;
    let feedback = feedback(args, &project, context)?;
    let marks = Marks { min_pass_rate: args.min_pass_rate, min_trigger: args.min_trigger };
    let report = advise(&facts(&project)?, &results, usage.as_ref(), feedback.as_ref(), marks);
    let text = match args.format {
        Output::Text => report::advice_text(&report, &context.printer.styles()),
        Output::Json => report::advice_json(&report),
    };
    context.printer.data(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn facts(project: &Project) -> Result<Vec<SkillFacts>, CommandError> {
    let skills: Vec<_> = project.skills.iter().collect();
    let facts = inspect(project, &skills).into_iter().map(|inspected| {
        let text = fs_err::read(inspected.skill.file().as_std_path())?;
        Ok(SkillFacts {
            id: inspected.skill.id.clone(),
            digest: inspected.digest.map_err(CommandError::usage)?,
            skill_tokens: count_tokens(&String::from_utf8_lossy(&text)),
        })
    });
    facts.collect()
}

fn usage(file: &Utf8Path, context: &Context) -> Result<UsageLog, CommandError> {
    let log = UsageLog::read(&named(file, context)?).map_err(unreadable)?;
    warn(file, log.unreadable_lines, context);
    Ok(log)
}

fn feedback(
    args: &Args,
    project: &Project,
    context: &Context,
) -> Result<Option<FeedbackLog>, CommandError> {
    let file = match &args.feedback_log {
        Some(file) => named(file, context)?,
        None => project.configuration.join(FEEDBACK_FILE),
    };
    if !file.exists() {
        return Ok(None);
    }
    let log = FeedbackLog::read(&file).map_err(unreadable)?;
    warn(&project.shown(&file), log.unreadable_lines, context);
    Ok(Some(log))
}

/// A file that was named has to be there: an empty log would prove that nothing is used.
fn named(file: &Utf8Path, context: &Context) -> Result<Utf8PathBuf, CommandError> {
    let path = context.cwd.join(file);
    if path.is_file() {
        Ok(path)
    } else {
        Err(CommandError::usage(format!("log {file} is not there, or is no file")))
    }
}

fn unreadable(error: LogError) -> CommandError {
    CommandError::usage(error)
}

fn warn(file: &Utf8Path, unreadable: u64, context: &Context) {
    if unreadable > 0 {
        context.printer.warning(&format!("{file}: {unreadable} lines cannot be read"));
    }
}
