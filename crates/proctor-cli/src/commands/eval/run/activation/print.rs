//! The documents, printed or written.

use proctor_model::eval::ActivationReport;
use proctor_model::eval::comparison::ComparisonReport;
use proctor_report::eval as report;

use super::super::args::{Args, Format};
use crate::commands::eval::common;
use crate::context::Context;
use crate::error::CommandError;

/// Prints a report, or writes it to the folder that was named, and says so in one line.
pub(super) fn report(
    report: &ActivationReport,
    args: &Args,
    context: &Context,
) -> Result<(), CommandError> {
    let text = match args.format {
        Some(Format::Json) => report::activation_json(report),
        _ => report::activation_markdown(report),
    };
    let summary = report::activation_summary(report);
    put("eval-activation", &text, &summary, args, context)?;
    if common::in_github_actions(context) {
        common::annotate(&report::activation_annotations(report), context);
    }
    Ok(())
}

/// The same for a comparison.
pub(super) fn comparison(
    comparison: &ComparisonReport,
    args: &Args,
    context: &Context,
) -> Result<(), CommandError> {
    let text = match args.format {
        Some(Format::Json) => report::comparison_json(comparison),
        _ => report::comparison_markdown(comparison),
    };
    let summary = report::comparison_summary(comparison);
    put("eval-activation-comparison", &text, &summary, args, context)?;
    if common::in_github_actions(context) {
        common::annotate(&report::comparison_annotations(comparison), context);
    }
    Ok(())
}

fn put(
    name: &str,
    text: &str,
    summary: &str,
    args: &Args,
    context: &Context,
) -> Result<(), CommandError> {
    let Some(folder) = &args.output_dir else { return Ok(context.printer.data(text)?) };
    let ending = args.format.unwrap_or(Format::Markdown).ending();
    let shown = folder.join(format!("{name}.{ending}"));
    common::write_file(&context.cwd.join(&shown), text)?;
    Ok(context.printer.data(&format!("{summary}; report in {shown}\n"))?)
}
