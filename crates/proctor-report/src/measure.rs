//! Figures about trials: metrics by group, comparisons, what a plan can show.

mod comparison;
mod junit;
mod metrics;
mod power;

use proctor_model::measure::{ComparisonReport, MetricUnit, MetricsReport, PowerReport};
use serde_json::Value;

pub use comparison::{comparison_markdown, comparison_text};
pub use junit::comparison_junit;
pub use metrics::{metrics_csv, metrics_markdown, metrics_text};
pub use power::power_text;

use crate::experiment::{json, schema};
use crate::line::code_span;
use crate::one_line;

/// The longest text of a stranger that is shown, in characters.
const LONGEST: usize = 200;

/// For programs.
pub fn metrics_json(report: &MetricsReport) -> String {
    json(report)
}

/// The shape of [`metrics_json`].
pub fn metrics_schema() -> Value {
    schema::<MetricsReport>("proctor experiment query --format json")
}

/// For programs.
pub fn comparison_json(report: &ComparisonReport) -> String {
    json(report)
}

/// The shape of [`comparison_json`].
pub fn comparison_schema() -> Value {
    schema::<ComparisonReport>("proctor compare --format json")
}

/// For programs.
pub fn power_json(report: &PowerReport) -> String {
    json(report)
}

/// The shape of [`power_json`].
pub fn power_schema() -> Value {
    schema::<PowerReport>("proctor power --format json")
}

/// A value with its unit.
fn value(value: f64, unit: MetricUnit) -> String {
    match unit {
        MetricUnit::Share => format!("{:.1} %", value * 100.0),
        MetricUnit::Usd if value < 0.0 => format!("-${:.4}", -value),
        MetricUnit::Usd => format!("${value:.4}"),
        MetricUnit::Seconds => format!("{value:.2} s"),
        MetricUnit::Count => format!("{value:.1}"),
    }
}

/// The same for a difference: with its sign, and shares in points.
fn change(change: f64, unit: MetricUnit) -> String {
    let sign = if change < 0.0 { "" } else { "+" };
    match unit {
        MetricUnit::Share => format!("{sign}{:.1} points", change * 100.0),
        _ => format!("{sign}{}", value(change, unit)),
    }
}

/// Two values of one unit.
fn range(low: f64, high: f64, unit: MetricUnit) -> String {
    match unit {
        MetricUnit::Share => format!("{:.1} to {:.1} %", low * 100.0, high * 100.0),
        MetricUnit::Seconds => format!("{low:.2} to {high:.2} s"),
        MetricUnit::Usd | MetricUnit::Count => {
            format!("{} to {}", value(low, unit), value(high, unit))
        }
    }
}

/// `1 trial`, `2 trials`.
fn counted(count: u64, plural: &str) -> String {
    let word = if count == 1 { plural.strip_suffix('s').unwrap_or(plural) } else { plural };
    format!("{count} {word}")
}

/// Foreign text on one line.
fn safe(text: &str) -> String {
    one_line(text, LONGEST)
}

/// Foreign text in a cell of a Markdown table.
fn code(text: &str) -> String {
    code_span(&safe(text).replace('|', "\\|"))
}
