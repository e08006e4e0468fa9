//! Gates that too few trials cannot pass.

use std::sync::LazyLock;

use proctor_model::experiment::{Experiment, Rule};
use proctor_model::{Diagnostic, Location, Severity};
use regex::Regex;

use super::key_location;
use crate::tree::{Node, Problems};

/// How two arms are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Independent trials of each arm, Fisher's exact test, two-sided. The clearest outcome of `n`
    /// trials an arm, all against none, has p = 2 / C(2n, n).
    Unpaired,
    /// Trials in pairs, the exact sign test, two-sided. The clearest outcome of `n` pairs, one side
    /// better in all of them, has p = 2 / 2^n.
    SignTest,
}

/// No gate in use asks for more.
const MOST: u32 = 1000;

/// The smallest number of trials an arm (of pairs, for the sign test) with which the clearest
/// possible outcome reaches `p`; `None` when that takes more than a thousand.
pub fn least_trials(p: f64, comparison: Comparison) -> Option<u32> {
    (1..=MOST).find(|n| clearest(*n, comparison) <= p)
}

/// The p-value of the clearest outcome of `n` trials.
fn clearest(n: u32, comparison: Comparison) -> f64 {
    // C(2n, n) is the product of (n + k) / k, and 2^n that of 2.
    let product: f64 = (1..=n)
        .map(|k| match comparison {
            Comparison::Unpaired => f64::from(n + k) / f64::from(k),
            Comparison::SignTest => 2.0,
        })
        .product();
    (2.0 / product).min(1.0)
}

/// A stated level of significance: `p < 0.05`, `p <= .01`.
static LEVEL: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\bp(?:-value)?\s*(?:<|<=|≤|=)\s*(0?\.\d{1,6})\b").ok());

/// A stated number of trials: `5 trials each`, `repeat 3`, `n = 5`.
static TRIALS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(\d{1,4}) (?:trials|repeats|runs|repetitions) (?:each|per)\b|(?:--repeat[ =]|\brepeat |\bn ?= ?)(\d{1,4})\b",
    )
    .ok()
});

/// Looks for a gate in the description.
pub(super) fn check_text(root: &Node, experiment: &Experiment, problems: &mut Problems) {
    let Some(text) = &experiment.description else { return };
    let level = LEVEL.as_ref().and_then(|level| level.captures(text)).and_then(|found| {
        let p = found.get(1)?.as_str().parse::<f64>().ok()?;
        (p > 0.0 && p < 1.0).then_some(p)
    });
    let Some(p) = level else { return };
    let comparison = comparison(text);
    let Some(least) = least_trials(p, comparison) else { return };
    let trials = TRIALS
        .as_ref()
        .and_then(|trials| trials.captures(text))
        .and_then(|found| found.get(1).or_else(|| found.get(2))?.as_str().parse::<u32>().ok());
    let at = key_location(root, "description");
    if let Some(note) = note(at, p, comparison, least, trials) {
        problems.push(note);
    }
}

/// The comparison that a text speaks of.
fn comparison(text: &str) -> Comparison {
    if text.to_ascii_lowercase().contains("sign test") {
        Comparison::SignTest
    } else {
        Comparison::Unpaired
    }
}

fn note(
    at: Location,
    p: f64,
    comparison: Comparison,
    least: u32,
    trials: Option<u32>,
) -> Option<Diagnostic> {
    let (what, best) = match comparison {
        Comparison::Unpaired => ("trials of a variant", "all against none"),
        Comparison::SignTest => ("pairs of trials", "all pairs one way"),
    };
    let message = match trials {
        Some(n) if n >= least => return None,
        Some(n) => format!(
            "the gate p = {p} cannot be passed with {n} {what}: even {best} gives p = {:.3}",
            clearest(n, comparison)
        ),
        None => format!("the gate p = {p} cannot be passed with fewer than {least} {what}"),
    };
    let note = Diagnostic::warning(message).at(at).rule(Rule::UnreachableGate);
    Some(note.hint(format!("run it with `--repeat {least}` or more")))
}

/// What is wrong with `repeat` trials a variant of an experiment that compares several: an error when
/// the experiment states a gate that they cannot pass, a note when they cannot pass the usual one.
pub(in crate::experiment) fn check_repeat(
    experiment: &Experiment,
    variants: usize,
    repeat: u32,
) -> Option<Diagnostic> {
    let text = experiment.description.as_deref().unwrap_or_default();
    let stated = LEVEL
        .as_ref()
        .and_then(|level| level.captures(text))
        .and_then(|found| found.get(1)?.as_str().parse::<f64>().ok());
    let p = stated.unwrap_or(0.05);
    let comparison = comparison(text);
    let least = least_trials(p, comparison)?;
    if variants < 2 {
        return None;
    }
    let mut found = note(Location { line: 1, column: 1 }, p, comparison, least, Some(repeat))?;
    if stated.is_some() {
        found.severity = Severity::Error;
        found = found.rule(Rule::GateCannotPass);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clearest_outcomes_have_the_p_of_the_tables() {
        // Fisher, two-sided: 3/3 against 0/3 is 0.1, 4/4 against 0/4 is 2/70.
        assert!((clearest(3, Comparison::Unpaired) - 0.1).abs() < 1e-12);
        assert!((clearest(4, Comparison::Unpaired) - 2.0 / 70.0).abs() < 1e-12);
        // Sign test: five of five is 0.0625.
        assert!((clearest(5, Comparison::SignTest) - 0.0625).abs() < 1e-12);
        assert_eq!(least_trials(0.05, Comparison::Unpaired), Some(4));
        assert_eq!(least_trials(0.05, Comparison::SignTest), Some(6));
        assert_eq!(least_trials(0.0, Comparison::SignTest), None);
    }
}
