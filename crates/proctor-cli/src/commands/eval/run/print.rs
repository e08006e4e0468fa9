//! The report of a run, printed or written.

use proctor_model::eval::EvalReport;
use proctor_report::{Styles, eval as report};

use super::args::{Args, Format};
use crate::commands::eval::common;
use crate::context::Context;
use crate::error::CommandError;

/// Prints the report, or writes it to the folder that was named, and says so in one line.
pub(super) fn report(
    report: &EvalReport,
    threshold: f64,
    args: &Args,
    context: &Context,
) -> Result<(), CommandError> {
    let printer = context.printer;
    let format = args.format.unwrap_or(Format::Text);
    match &args.output_dir {
        None => printer.data(&text(report, threshold, format, &printer.styles()))?,
        Some(folder) => {
            let name = format!("eval-report.{}", format.ending());
            let shown = folder.join(name);
            let text = text(report, threshold, format, &Styles::plain());
            common::write_file(&context.cwd.join(&shown), &text)?;
            printer.data(&format!("{}; report in {shown}\n", report::run_summary(report)))?;
        }
    }
    if common::in_github_actions(context) {
        common::annotate(&report::run_annotations(report), context);
    }
    Ok(())
}

fn text(report: &EvalReport, threshold: f64, format: Format, styles: &Styles) -> String {
    match format {
        Format::Text => report::run_text(report, threshold, styles),
        Format::Json => report::run_json(report),
        Format::Markdown => report::run_markdown(report),
        Format::Junit => report::run_junit(report),
    }
}
