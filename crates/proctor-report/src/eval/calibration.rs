//! Proposed assumptions of estimates, as text and as JSON.

use std::fmt::Write as _;

use proctor_model::eval::calibration::{
    Assumptions, Calibration, CalibrationGroup, SkippedRecords,
};
use serde_json::Value;

use super::words;
use crate::Styles;

/// The proposals as text. It ends with a table of settings to copy, of the group with the most
/// records.
pub fn calibration_text(calibration: &Calibration, styles: &Styles) -> String {
    let mut text = String::new();
    for group in &calibration.groups {
        group_text(group, styles, &mut text);
        text.push('\n');
    }
    // Writing to a string cannot fail.
    let SkippedRecords { unverified, filtered, no_usage } = calibration.skipped;
    for (count, why) in [
        (unverified, "unverified: your key did not sign it"),
        (filtered, "of another harness or model"),
        (no_usage, "without token counts"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "left out: {} {why}", runs(count));
        }
    }
    let Some(largest) = calibration.largest() else {
        let _ = writeln!(text, "no recorded run to learn from");
        return text;
    };
    if calibration.skipped != SkippedRecords::default() {
        text.push('\n');
    }
    let _ = writeln!(text, "[lint.evals.estimate]");
    for (key, value) in settings(&largest.proposed) {
        let _ = writeln!(text, "{key} = {value}");
    }
    text
}

fn group_text(group: &CalibrationGroup, styles: &Styles, text: &mut String) {
    let subject = styles.subject;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{subject}{}, harness {}, model {}{subject:#}: {}{}",
        group.kind.as_str(),
        words::line(&group.harness),
        words::line(&group.model),
        runs(group.samples),
        if group.low_confidence { ", which is few: low confidence" } else { "" }
    );
    let (before, after) = (settings(&group.current), settings(&group.proposed));
    for ((key, before), (_, after)) in before.iter().zip(&after) {
        let _ = writeln!(text, "  {key:<24} {before:>6} -> {after}");
    }
    let _ = writeln!(
        text,
        "  {:<24} {:>6} -> {}; recorded cost error median {}, p90 {}",
        "token error (median)",
        signed(group.token_error_before),
        signed(group.token_error_after),
        words::percent(Some(group.cost_error_median)),
        words::percent(Some(group.cost_error_p90))
    );
    if let (Some(listed), Some(billed)) =
        (group.list_price_in_per_mtok, group.effective_price_in_per_mtok)
    {
        let note = if group.proposed.price_in_per_mtok.is_some() { "" } else { ": close enough" };
        let _ = writeln!(
            text,
            "  {:<24} ${listed} listed, ${billed} billed{note}",
            "input price per MTok"
        );
    }
}

/// The assumptions under the names that settings have for them.
fn settings(assumptions: &Assumptions) -> Vec<(&'static str, String)> {
    let Assumptions {
        overhead_tokens,
        assumed_output_tokens,
        activation_output_tokens,
        price_in_per_mtok,
    } = assumptions;
    let text = |value: Option<u64>| value.map(|value| value.to_string());
    [
        ("overhead_tokens", text(Some(*overhead_tokens))),
        ("assumed_output_tokens", text(*assumed_output_tokens)),
        ("activation_output_tokens", text(*activation_output_tokens)),
        ("price_in_per_mtok", price_in_per_mtok.map(|price| price.to_string())),
    ]
    .into_iter()
    .filter_map(|(key, value)| Some((key, value?)))
    .collect()
}

fn signed(share: f64) -> String {
    format!("{:+.0}%", share * 100.0)
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}

/// The proposals as JSON.
pub fn calibration_json(calibration: &Calibration) -> String {
    super::json(calibration)
}

/// JSON Schema (draft 2020-12) of [`calibration_json`].
pub fn calibration_schema() -> Value {
    super::schema::<Calibration>("Report of proctor eval calibrate-estimate")
}
