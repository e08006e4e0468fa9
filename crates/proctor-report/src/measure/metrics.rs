//! Metrics by group.

use std::fmt::Write as _;

use proctor_model::measure::{
    FigureInterval, IntervalMethod, MetricFigure, MetricUnit, MetricsGroup, MetricsReport,
};

use super::{code, counted, range, safe, value};
use crate::Styles;

/// For people: a heading a group, a line a metric.
pub fn metrics_text(report: &MetricsReport, styles: &Styles) -> String {
    let mut text = String::new();
    let names = report.groups.iter().flat_map(|group| &group.metrics);
    let width = names.map(|metric| metric.metric.chars().count()).max().unwrap_or(0);
    for group in &report.groups {
        let subject = styles.subject;
        let (name, size) = (name(report, group), size(group));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{subject}{}{subject:#}: {size}", safe(&name));
        for metric in &group.metrics {
            let _ = writeln!(text, "  {:<width$}  {}", metric.metric, line(metric));
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "{}note: {}{:#}", styles.quiet, safe(note), styles.quiet);
    }
    text
}

/// `agent=claude, prompt=cold`, or `all`.
fn name(report: &MetricsReport, group: &MetricsGroup) -> String {
    let value = |key: &String| {
        let value = group.group.get(key).and_then(Option::as_deref).unwrap_or("none");
        format!("{key}={value}")
    };
    let names: Vec<String> = report.group_by.iter().map(value).collect();
    if names.is_empty() { "all".to_owned() } else { names.join(", ") }
}

fn size(group: &MetricsGroup) -> String {
    let errors = match group.errors {
        0 => String::new(),
        errors => format!(", {} left out", counted(errors, "errors")),
    };
    format!("n = {} of {}{errors}", counted(group.n, "trials"), counted(group.prompts, "prompts"))
}

fn line(metric: &MetricFigure) -> String {
    let unit = metric.unit;
    let reason = metric.undefined.as_deref().map(safe);
    let Some(mean) = metric.value else {
        return format!("undefined: {}", reason.unwrap_or_default());
    };
    let mut parts = vec![counts(metric)];
    match (&metric.interval, reason) {
        (Some(interval), _) => parts.insert(0, found(interval, unit)),
        (None, Some(reason)) => parts.push(format!("no interval: {reason}")),
        (None, None) => {}
    }
    if let Some(clustered) = &metric.clustered {
        parts.push(found(clustered, unit));
    }
    format!("{:>10}  {}", value(mean, unit), parts.join("; "))
}

/// `n = 12 trials`, with what is missing.
fn counts(metric: &MetricFigure) -> String {
    let of = match metric.successes {
        Some(successes) => format!("{successes} of {}", counted(metric.n, &metric.of)),
        None => format!("n = {}", counted(metric.n, &metric.of)),
    };
    match metric.missing {
        0 => of,
        missing if metric.of == "tests" => format!("{of}, {missing} without a result"),
        missing => format!("{of}, {missing} do not say"),
    }
}

fn found(interval: &FigureInterval, unit: MetricUnit) -> String {
    let (low, high) = (interval.low, interval.high);
    let method = interval.method.as_str();
    let over = match interval.method {
        IntervalMethod::Wilson | IntervalMethod::Newcombe => String::new(),
        _ => format!(" over {}", counted(interval.clusters, &interval.unit)),
    };
    format!("{} ({method}{over})", range(low, high, unit))
}

/// A table with a row a metric.
pub fn metrics_markdown(report: &MetricsReport) -> String {
    let mut text = format!("# {}\n\n", code(&report.subject));
    text.push_str(
        "| Group | Trials | Errors | Metric | Value | 95 % interval | Made of |\n\
         | --- | ---: | ---: | --- | ---: | --- | --- |\n",
    );
    for group in &report.groups {
        let name = code(&name(report, group));
        for metric in &group.metrics {
            let unit = metric.unit;
            let shown = metric.value.map_or("undefined".to_owned(), |mean| value(mean, unit));
            let intervals: Vec<String> = metric
                .interval
                .iter()
                .chain(&metric.clustered)
                .map(|one| found(one, unit))
                .collect();
            let reason = metric.undefined.as_deref().map(code);
            let interval = if intervals.is_empty() {
                reason.unwrap_or_default()
            } else {
                intervals.join("; ")
            };
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {name} | {} | {} | `{}` | {shown} | {interval} | {} |",
                group.n,
                group.errors,
                metric.metric,
                counts(metric)
            );
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "\n{}", code(note));
    }
    text
}

/// One line a group and metric, for spreadsheets: RFC 4180 with line feeds. Shares are from 0 to 1.
pub fn metrics_csv(report: &MetricsReport) -> String {
    let mut text = String::new();
    let fixed = [
        "trials",
        "errors",
        "prompts",
        "metric",
        "unit",
        "value",
        "low",
        "high",
        "method",
        "clustered_low",
        "clustered_high",
        "clusters",
        "n",
        "of",
        "successes",
        "missing",
        "undefined",
    ];
    row(report.group_by.iter().map(String::as_str).chain(fixed), &mut text);
    for group in &report.groups {
        for metric in &group.metrics {
            let keys = report.group_by.iter();
            let keys = keys.map(|key| group.group.get(key).cloned().flatten().unwrap_or_default());
            let cells: Vec<String> = keys.chain(figure(group, metric)).collect();
            row(cells.iter().map(String::as_str), &mut text);
        }
    }
    text
}

fn figure(group: &MetricsGroup, metric: &MetricFigure) -> [String; 17] {
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let (interval, clustered) = (metric.interval.as_ref(), metric.clustered.as_ref());
    let unit = match metric.unit {
        MetricUnit::Share => "share",
        MetricUnit::Usd => "usd",
        MetricUnit::Seconds => "seconds",
        MetricUnit::Count => "count",
    };
    let clusters = clustered.or(interval).map(|one| one.clusters.to_string());
    [
        group.n.to_string(),
        group.errors.to_string(),
        group.prompts.to_string(),
        metric.metric.clone(),
        unit.to_owned(),
        number(metric.value),
        number(interval.map(|one| one.low)),
        number(interval.map(|one| one.high)),
        interval.map(|one| one.method.as_str().to_owned()).unwrap_or_default(),
        number(clustered.map(|one| one.low)),
        number(clustered.map(|one| one.high)),
        clusters.unwrap_or_default(),
        metric.n.to_string(),
        metric.of.clone(),
        metric.successes.map(|count| count.to_string()).unwrap_or_default(),
        metric.missing.to_string(),
        metric.undefined.clone().unwrap_or_default(),
    ]
}

fn row<'a>(cells: impl Iterator<Item = &'a str>, text: &mut String) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            text.push(',');
        }
        let cell = crate::inert(cell);
        // Spreadsheets take what begins so for a formula.
        let formula = cell.starts_with(['=', '+', '@', '\t']);
        if formula || cell.contains([',', '"', '\n', '\r']) {
            let quote = if formula { "'" } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(text, "\"{quote}{}\"", cell.replace('"', "\"\""));
        } else {
            text.push_str(&cell);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_strangers_neither_split_a_row_nor_become_a_formula() {
        let mut text = String::new();
        row(["a,b", "say \"x\"", "=1+1", "-0.5", "\u{1b}[2J"].into_iter(), &mut text);
        assert_eq!(text, "\"a,b\",\"say \"\"x\"\"\",\"'=1+1\",-0.5,\\u{1b}[2J\n");
    }
}
