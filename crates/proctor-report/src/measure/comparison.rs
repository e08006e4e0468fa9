//! Comparisons.

use std::fmt::Write as _;

use proctor_model::measure::{
    Cell, CompareVerdict, ComparedMetric, ComparisonReport, Contrast, FigureInterval, MetricUnit,
};

use super::{change, code, counted, safe, value};
use crate::Styles;

/// How many cells of a kind a text names; JSON has all of them.
const SHOWN: usize = 20;

/// For people: each contrast with its pairs and flips, what was not compared, then the conclusion.
pub fn comparison_text(report: &ComparisonReport, styles: &Styles) -> String {
    let mut text = String::new();
    for contrast in &report.contrasts {
        write_contrast(contrast, report.by.as_deref(), styles, &mut text);
    }
    for warning in &report.warnings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}warning{:#}: {}", styles.warning, styles.warning, safe(warning));
    }
    let style = match report.verdict {
        verdict if verdict.holds() => styles.passed,
        CompareVerdict::Incomplete => styles.error,
        _ => styles.failed,
    };
    let _ = writeln!(text, "{}", sentence(report));
    let _ = writeln!(text, "verdict: {style}{}{style:#}", report.verdict);
    text
}

/// The conclusion, which may be long and names variants.
fn sentence(report: &ComparisonReport) -> String {
    crate::one_line(&report.conclusion, 2000)
}

fn title(contrast: &Contrast, by: Option<&str>) -> String {
    match by {
        Some(key) => format!("{key}: {} -> {}", contrast.baseline, contrast.candidate),
        None => contrast.name.clone(),
    }
}

fn write_contrast(one: &Contrast, by: Option<&str>, styles: &Styles, text: &mut String) {
    let (subject, quiet) = (styles.subject, styles.quiet);
    let pairs = &one.pairs;
    let (n, prompts) = (counted(pairs.n, "pairs"), counted(one.prompts, "prompts"));
    let name = safe(&title(one, by));
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{subject}{name}{subject:#}: {n} of {prompts}: {}", one.verdict);
    let _ = writeln!(
        text,
        "  both pass {}, pass -> fail {}, fail -> pass {}, both fail {}",
        pairs.both_passed, pairs.pass_to_fail, pairs.fail_to_pass, pairs.both_failed
    );
    if let Some(line) = difference(one) {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(gate) = one.non_inferiority {
        let shown = if gate.shown { "shown" } else { "not shown" };
        let needed = gate
            .pairs_needed
            .map_or("more than a million pairs".to_owned(), |needed| counted(needed, "pairs"));
        let _ = writeln!(
            text,
            "  margin {:.1} points: {shown} (lower end {:+.1}; equal sides need {needed})",
            gate.margin * 100.0,
            gate.low * 100.0
        );
    }
    for metric in &one.metrics {
        let _ = writeln!(text, "  {:<10}  {}", metric.metric, metric_line(metric));
    }
    for flip in one.flips.iter().take(SHOWN) {
        let style = if flip.to == "pass" { styles.passed } else { styles.failed };
        let tests = if flip.tests.is_empty() {
            String::new()
        } else {
            format!(": {}", safe(&flip.tests.join(", ")))
        };
        let cell = safe(&flip.cell.to_string());
        let _ = writeln!(text, "  {style}{} -> {}{style:#}  {cell}{tests}", flip.from, flip.to);
    }
    if one.flips.len() > SHOWN {
        let _ = writeln!(text, "  {quiet}and {} more{quiet:#}", one.flips.len() - SHOWN);
    }
    for (what, cells) in unpaired(one) {
        let _ = writeln!(text, "  {quiet}{what}: {}{quiet:#}", safe(&names(cells)));
    }
}

/// What was not compared, and why.
fn unpaired(one: &Contrast) -> Vec<(String, &[Cell])> {
    let unpaired = &one.unpaired;
    let kinds = [
        ("in the baseline only", &unpaired.baseline_only),
        ("in the candidate only", &unpaired.candidate_only),
        ("errors in the baseline", &unpaired.baseline_errors),
        ("errors in the candidate", &unpaired.candidate_errors),
    ];
    let some = kinds.into_iter().filter(|(_, cells)| !cells.is_empty());
    some.map(|(what, cells)| (format!("not compared, {what} ({})", cells.len()), &cells[..]))
        .collect()
}

fn names(cells: &[Cell]) -> String {
    let shown: Vec<String> = cells.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = cells.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join("; "))
}

/// The difference of the pass rates with its intervals and p-values.
fn difference(one: &Contrast) -> Option<String> {
    let interval = one.interval.as_ref()?;
    let clustered = one.clustered.as_ref().map(|one| format!("; {}", points(one)));
    let p = match one.p_value {
        None => "no pair differs".to_owned(),
        Some(p) => {
            let adjusted =
                one.adjusted_p.map(|p| format!(", {p:.4} after Holm")).unwrap_or_default();
            format!("exact McNemar p = {p:.4}{adjusted}")
        }
    };
    let change = change(one.difference?, MetricUnit::Share);
    let clustered = clustered.unwrap_or_default();
    Some(format!("pass rate {change}, {}{clustered}; {p}", points(interval)))
}

fn points(interval: &FigureInterval) -> String {
    let over =
        format!("{} over {}", interval.method.as_str(), counted(interval.clusters, &interval.unit));
    format!("{:+.1} to {:+.1} ({over})", interval.low * 100.0, interval.high * 100.0)
}

fn metric_line(metric: &ComparedMetric) -> String {
    let unit = metric.unit;
    let (Some(before), Some(after), Some(difference)) =
        (metric.baseline, metric.candidate, metric.difference)
    else {
        return format!("undefined: {}", metric.undefined.as_deref().unwrap_or_default());
    };
    let interval = match (&metric.interval, &metric.undefined) {
        (Some(one), _) => format!(
            "{} to {} ({} over {})",
            change(one.low, unit),
            change(one.high, unit),
            one.method.as_str(),
            counted(one.clusters, &one.unit)
        ),
        (None, reason) => format!("no interval: {}", reason.as_deref().unwrap_or_default()),
    };
    format!(
        "{} -> {}, {}, {interval}, n = {}",
        value(before, unit),
        value(after, unit),
        change(difference, unit),
        metric.n
    )
}

/// For comments and summaries.
pub fn comparison_markdown(report: &ComparisonReport) -> String {
    let mut text = format!(
        "# {} -> {}\n\n**{}**: {}\n\n",
        code(&report.baseline),
        code(&report.candidate),
        report.verdict,
        // Back ticks in it are ours, names are on one line.
        sentence(report).replace('<', "&lt;").replace('@', "&#64;")
    );
    text.push_str(
        "| Compared | Pairs | Pass -> fail | Fail -> pass | Difference of pass rates | Verdict |\n\
         | --- | ---: | ---: | ---: | --- | --- |\n",
    );
    for one in &report.contrasts {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            code(&title(one, report.by.as_deref())),
            one.pairs.n,
            one.pairs.pass_to_fail,
            one.pairs.fail_to_pass,
            difference(one).unwrap_or_default(),
            one.verdict
        );
    }
    for one in &report.contrasts {
        write_details(one, report.by.as_deref(), &mut text);
    }
    if !report.warnings.is_empty() {
        text.push('\n');
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "- {}", code(warning));
    }
    text
}

fn write_details(one: &Contrast, by: Option<&str>, text: &mut String) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "\n## {}\n", code(&title(one, by)));
    for metric in &one.metrics {
        let _ = writeln!(text, "- `{}`: {}", metric.metric, metric_line(metric));
    }
    for flip in one.flips.iter().take(SHOWN) {
        let tests = flip.tests.iter().map(|test| code(test)).collect::<Vec<_>>().join(", ");
        let tests = if tests.is_empty() { tests } else { format!(": {tests}") };
        let _ = writeln!(
            text,
            "- {} -> {}: {}{tests}",
            flip.from,
            flip.to,
            code(&flip.cell.to_string())
        );
    }
    if one.flips.len() > SHOWN {
        let _ = writeln!(text, "- and {} more", one.flips.len() - SHOWN);
    }
    for (what, cells) in unpaired(one) {
        let _ = writeln!(text, "- {what}: {}", code(&names(cells)));
    }
}
