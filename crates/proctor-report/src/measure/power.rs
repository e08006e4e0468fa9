//! What a plan can show.

use std::fmt::Write as _;

use proctor_model::measure::{GatePower, MarginPower, PowerDesign, PowerReport};

use super::counted;
use crate::Styles;

/// For people.
pub fn power_text(report: &PowerReport, styles: &Styles) -> String {
    let mut text = String::new();
    let n = report.n;
    let made = match (report.prompts, report.repeats) {
        (Some(prompts), Some(repeats)) => {
            format!(" ({} x {})", counted(prompts, "prompts"), counted(repeats, "repeats"))
        }
        _ => String::new(),
    };
    let several = match report.comparisons {
        1 => String::new(),
        many => format!(", for each of {many} comparisons"),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} a side{made}; baseline passes {:.0} %, level {:.4}{several}, power {:.0} %",
        counted(n, "trials"),
        report.rate * 100.0,
        report.level,
        report.power * 100.0
    );
    for (name, design) in [
        ("same tasks on both sides (exact McNemar)", &report.paired),
        ("different tasks (two proportions)", &report.unpaired),
    ] {
        let _ = writeln!(text, "  {name}: {}", shows(design));
    }
    let flips = report.least_flips;
    let _ = writeln!(
        text,
        "  a verdict needs at least {flips} pairs that change, all of them the same way"
    );
    if let Some(effect) = report.effect {
        let _ = writeln!(text, "a change of {:.1} points needs {}", effect * 100.0, needs(report));
    }
    let failed = styles.failed;
    if !report.can_decide {
        let _ = writeln!(
            text,
            "{failed}cannot decide{failed:#}: even if all {} change the same way, p is above {:.4}",
            counted(n, "pairs"),
            report.level
        );
    }
    if let Some(gate) = report.gate {
        text.push_str(&gate_text(gate, report, styles));
    }
    if let Some(margin) = report.margin {
        text.push_str(&margin_text(margin, report.n, styles));
    }
    text
}

fn gate_text(gate: GatePower, report: &PowerReport, styles: &Styles) -> String {
    let (n, failed) = (report.n, styles.failed);
    let rate = gate.rate * 100.0;
    match (gate.passes_needed, gate.least_n) {
        (Some(passes), _) => format!(
            "gate {rate:.1} %: {passes} of {n} must pass, which happens {:.1} % of the time at a true \
             rate of {:.0} %\n",
            gate.likelihood * 100.0,
            report.rate * 100.0
        ),
        (None, Some(least)) => format!(
            "{failed}cannot pass{failed:#}: gate {rate:.1} % with {}: even if all pass; it needs at least \
             {least}\n",
            counted(n, "trials")
        ),
        (None, None) => format!(
            "{failed}cannot pass{failed:#}: gate {rate:.1} %: no number of trials shows such a rate\n"
        ),
    }
}

fn margin_text(margin: MarginPower, n: u64, styles: &Styles) -> String {
    let failed = styles.failed;
    let points = margin.margin * 100.0;
    let least = margin.least_n.map_or("more than a million".to_owned(), |n| n.to_string());
    if margin.can_pass {
        format!("margin {points:.1} points: equal sides show it from {least} pairs on\n")
    } else {
        format!(
            "{failed}cannot pass{failed:#}: margin {points:.1} points with {}: equal sides need {least}\n",
            counted(n, "pairs")
        )
    }
}

fn shows(design: &PowerDesign) -> String {
    let points = |effect: Option<f64>, what: &str| match effect {
        Some(effect) => format!("a {what} of {:.1} points or more", effect * 100.0),
        None => format!("no {what}"),
    };
    let (rise, fall) = (design.detectable_rise, design.detectable_fall);
    format!("shows {} and {}", points(rise, "rise"), points(fall, "fall"))
}

fn needs(report: &PowerReport) -> String {
    let number = |needed: Option<u64>, plural: &str| match needed {
        Some(needed) => counted(needed, plural),
        None => format!("more than a million {plural}"),
    };
    let repeats = match (report.prompts, report.paired.needed) {
        (Some(prompts), Some(needed)) if prompts > 0 => {
            format!(" ({} of each prompt)", counted(needed.div_ceil(prompts), "repeats"))
        }
        _ => String::new(),
    };
    format!(
        "{}{repeats}, or {} a side on different tasks",
        number(report.paired.needed, "pairs"),
        number(report.unpaired.needed, "trials")
    )
}
