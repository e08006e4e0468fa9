//! Fitting the assumptions of estimates to what runs reported.

use std::collections::BTreeMap;

use proctor_model::eval::calibration::{
    Assumptions, Calibration, CalibrationGroup, RunKind, SkippedRecords,
};
use proctor_model::eval::{EstimateRecord, SkillRecord};

use super::prices::{PRICES, PriceOverrides};
use super::round::{float, round4};
use super::spend::Rates;

/// How far the billed price may lie from the listed one before it is proposed: 10 %.
const PRICE_TOLERANCE: f64 = 0.1;

/// Which records count.
#[derive(Debug, Clone, Copy, Default)]
pub struct CalibrationFilter<'a> {
    /// Only this harness.
    pub harness: Option<&'a str>,
    /// Only this model.
    pub model: Option<&'a str>,
    /// A group of fewer records is marked.
    pub min_samples: u64,
}

/// Proposes assumptions from records, each with whether it is believed.
///
/// Per agent run, the share of the harness moves by the median gap between reported and expected
/// tokens in, and the tokens out likewise. The factor of the tool loop is left alone: one record
/// cannot tell it from the share of the harness.
pub fn calibrate<'a>(
    records: impl IntoIterator<Item = (&'a SkillRecord, bool)>,
    filter: &CalibrationFilter<'_>,
) -> Calibration {
    let mut skipped = SkippedRecords::default();
    let mut groups: BTreeMap<(RunKind, &str, &str), Vec<Sample>> = BTreeMap::new();
    for (record, is_believed) in records {
        for (kind, harness, model, estimate) in estimates(record) {
            let is_other = |wanted: Option<&str>, is: &str| wanted.is_some_and(|w| w != is);
            let sample = Sample::of(kind, estimate);
            if !is_believed {
                skipped.unverified += 1;
            } else if is_other(filter.harness, harness) || is_other(filter.model, model) {
                skipped.filtered += 1;
            } else if let Some(sample) = sample {
                groups.entry((kind, harness, model)).or_default().push(sample);
            } else {
                skipped.no_usage += 1;
            }
        }
    }
    // Words sort as the file shows them: `activation` before `cases`.
    let groups = groups.into_iter().map(|((kind, harness, model), samples)| {
        fit(kind, harness, model, &samples, filter.min_samples)
    });
    Calibration { groups: groups.collect(), skipped }
}

/// The estimates that a record holds, with kind, harness and model of their runs.
fn estimates(record: &SkillRecord) -> impl Iterator<Item = (RunKind, &str, &str, &EstimateRecord)> {
    let cases = record
        .estimate
        .iter()
        .map(|estimate| (RunKind::Cases, record.harness.as_str(), record.model.as_str(), estimate));
    let activation = record.activation.iter().filter_map(|activation| {
        let (harness, model) = (activation.harness.as_str(), activation.model.as_str());
        Some((RunKind::Activation, harness, model, activation.estimate.as_ref()?))
    });
    cases.chain(activation)
}

/// What one record says.
struct Sample {
    runs: f64,
    /// Assumed tokens of the harness and tokens out.
    assumed: [f64; 2],
    /// Tokens in and out.
    expected: [f64; 2],
    actual: [f64; 2],
    actual_usd: f64,
    cost_error: Option<f64>,
}

impl Sample {
    /// `None` when the runner reported no tokens.
    fn of(kind: RunKind, record: &EstimateRecord) -> Option<Self> {
        let silent = record.actual_input_tokens == 0 && record.actual_output_tokens == 0;
        if record.agent_runs < 1 || silent {
            return None;
        }
        let params = record.params.unwrap_or_default();
        let output = match kind {
            RunKind::Cases => params.assumed_output_tokens,
            RunKind::Activation => params.activation_output_tokens,
        };
        Some(Self {
            runs: float(record.agent_runs),
            assumed: [params.overhead_tokens, output],
            expected: [record.expected_input_tokens, record.expected_output_tokens].map(float),
            actual: [record.actual_input_tokens, record.actual_output_tokens].map(float),
            actual_usd: record.actual_usd,
            cost_error: record.error.map(f64::abs),
        })
    }

    /// What should have been assumed: the share of the harness at 0, tokens out at 1.
    fn fitting(&self, at: usize) -> f64 {
        let of = |figures: &[f64; 2]| figures.get(at).copied().unwrap_or_default();
        of(&self.assumed) + (of(&self.actual) - of(&self.expected)) / self.runs
    }

    /// Actual over expected tokens, less 1, had `moved` more tokens a run been expected.
    fn token_error(&self, moved: f64) -> Option<f64> {
        let expected = self.expected.iter().sum::<f64>() + self.runs * moved;
        (expected > 0.0).then(|| self.actual.iter().sum::<f64>() / expected - 1.0)
    }

    /// What a million tokens in were billed at, tokens out at the listed price.
    fn input_price(&self, listed: Rates) -> Option<f64> {
        let [input, output] = self.actual;
        let price = (self.actual_usd * 1e6 - output * listed.output) / input;
        (input > 0.0 && price > 0.0).then_some(price)
    }
}

fn fit(
    kind: RunKind,
    harness: &str,
    model: &str,
    samples: &[Sample],
    min_samples: u64,
) -> CalibrationGroup {
    let median_of = |figure: &dyn Fn(&Sample) -> Option<f64>| {
        quantile(samples.iter().filter_map(figure).collect(), 0.5)
    };
    let rounded = |figure: &dyn Fn(&Sample) -> f64| {
        whole(median_of(&|sample| Some(figure(sample))).unwrap_or_default())
    };
    let current = [0, 1].map(|at| rounded(&|s| s.assumed.get(at).copied().unwrap_or_default()));
    let proposed = [0, 1].map(|at| rounded(&|s| s.fitting(at)));
    let moved = |sample: &Sample| {
        proposed.iter().map(|tokens| float(*tokens)).sum::<f64>()
            - sample.assumed.iter().sum::<f64>()
    };
    let cost_errors: Vec<f64> = samples.iter().filter_map(|sample| sample.cost_error).collect();
    let price = PRICES.price(model, PriceOverrides::default());
    let listed = price.known.then_some(price.rates);
    let effective =
        listed.and_then(|listed| median_of(&|sample| sample.input_price(listed))).map(round4);
    let assumptions = |[overhead, output]: [u64; 2], price| Assumptions {
        overhead_tokens: overhead,
        assumed_output_tokens: (kind == RunKind::Cases).then_some(output),
        activation_output_tokens: (kind == RunKind::Activation).then_some(output),
        price_in_per_mtok: price,
    };
    let is_far = |(effective, listed): &(f64, Rates)| {
        (effective - listed.input).abs() > PRICE_TOLERANCE * listed.input
    };
    CalibrationGroup {
        harness: harness.to_owned(),
        model: model.to_owned(),
        kind,
        samples: samples.len() as u64,
        low_confidence: (samples.len() as u64) < min_samples,
        current: assumptions(current, None),
        proposed: assumptions(
            proposed,
            effective.zip(listed).filter(is_far).map(|(effective, _)| effective),
        ),
        token_error_before: round4(median_of(&|sample| sample.token_error(0.0)).unwrap_or(0.0)),
        token_error_after: round4(
            median_of(&|sample| sample.token_error(moved(sample))).unwrap_or(0.0),
        ),
        cost_error_median: round4(quantile(cost_errors.clone(), 0.5).unwrap_or(0.0)),
        cost_error_p90: round4(quantile(cost_errors, 0.9).unwrap_or(0.0)),
        list_price_in_per_mtok: listed.map(|listed| listed.input),
        effective_price_in_per_mtok: effective,
    }
}

/// The quantile `q`, 0 to 1, between the two nearest values by linear interpolation (type 7 of
/// R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", 1996).
fn quantile(mut values: Vec<f64>, q: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let last = values.len().checked_sub(1)?;
    let position = q * float(last as u64);
    let below = usize::try_from(whole(position.floor())).ok()?;
    let low = *values.get(below)?;
    let high = *values.get(below + 1).unwrap_or(&low);
    Some(low + (position - position.floor()) * (high - low))
}

/// The nearest count; 0 for less.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a conversion that saturates is right for counts"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
mod tests {
    use proctor_model::eval::{ActivationRecord, EstimateParams};
    use proctor_model::json::go;
    use proptest::prelude::*;

    use super::*;

    fn estimate(runs: u64, expected: (u64, u64), actual: (u64, u64), usd: f64) -> EstimateRecord {
        EstimateRecord {
            agent_runs: runs,
            expected_input_tokens: expected.0,
            expected_output_tokens: expected.1,
            actual_input_tokens: actual.0,
            actual_output_tokens: actual.1,
            params: Some(EstimateParams::default()),
            actual_usd: usd,
            error: Some(0.5),
            ..EstimateRecord::default()
        }
    }

    fn record(harness: &str, model: &str, estimate: EstimateRecord) -> SkillRecord {
        SkillRecord {
            harness: harness.to_owned(),
            model: model.to_owned(),
            estimate: Some(estimate),
            ..SkillRecord::default()
        }
    }

    fn calibrated(records: &[SkillRecord], filter: CalibrationFilter<'_>) -> Calibration {
        calibrate(records.iter().map(|record| (record, true)), &filter)
    }

    const ANY: CalibrationFilter<'_> =
        CalibrationFilter { harness: None, model: None, min_samples: 3 };

    #[test]
    fn the_overhead_moves_by_the_median_gap() {
        let records = [
            record("claude", "haiku", estimate(10, (21_000, 6000), (241_000, 6000), 0.271)),
            record("claude", "haiku", estimate(10, (21_000, 6000), (251_000, 9000), 0.296)),
            record("claude", "haiku", estimate(5, (10_500, 3000), (120_500, 3000), 0.1355)),
        ];
        let result = calibrated(&records, ANY);
        assert_eq!(
            go::compact(&result).unwrap(),
            concat!(
                r#"{"groups":[{"harness":"claude","model":"haiku","kind":"cases","samples":3,"#,
                r#""low_confidence":false,"current":{"overhead_tokens":2000,"#,
                r#""assumed_output_tokens":600},"proposed":{"overhead_tokens":24000,"#,
                r#""assumed_output_tokens":600},"token_error_before":8.1481,"#,
                r#""token_error_after":0,"cost_error_median":0.5,"cost_error_p90":0.5,"#,
                r#""list_price_in_per_mtok":1,"effective_price_in_per_mtok":1}],"#,
                r#""skipped":{"no_usage":0,"unverified":0,"filtered":0}}"#,
            )
        );
    }

    #[test]
    fn a_billed_price_far_off_the_list_is_proposed() {
        let cheap = record("claude", "haiku", estimate(1, (2000, 600), (24_000, 600), 0.0107));
        let group = &calibrated(&[cheap], ANY).groups[0];
        // (10,700 - 600 x 5) / 24,000
        assert_eq!(group.effective_price_in_per_mtok, Some(0.3208));
        assert_eq!(group.proposed.price_in_per_mtok, Some(0.3208));
        assert!(group.low_confidence);
        // Costs that are all output say nothing of the input.
        let odd = record("claude", "haiku", estimate(1, (2000, 600), (24_000, 600), 0.001));
        assert_eq!(calibrated(&[odd], ANY).groups[0].effective_price_in_per_mtok, None);
        let unlisted = record("claude", "x", estimate(1, (2000, 600), (24_000, 600), 0.0107));
        let group = &calibrated(&[unlisted], ANY).groups[0];
        assert_eq!((group.list_price_in_per_mtok, group.effective_price_in_per_mtok), (None, None));
    }

    #[test]
    fn kinds_harnesses_and_models_are_kept_apart() {
        let activation = ActivationRecord {
            harness: "claude".to_owned(),
            model: "haiku".to_owned(),
            estimate: Some(estimate(10, (20_000, 1500), (240_000, 3070), 0.1)),
            ..ActivationRecord::default()
        };
        let usual = || estimate(1, (2000, 600), (2000, 600), 0.005);
        let records = [
            SkillRecord { activation: Some(activation), ..record("claude", "haiku", usual()) },
            record("claude", "sonnet", usual()),
            record("aider", "haiku", usual()),
        ];
        let result = calibrated(&records, ANY);
        let shown: Vec<String> = result
            .groups
            .iter()
            .map(|group| format!("{} {} {}", group.kind.as_str(), group.harness, group.model))
            .collect();
        let expected = [
            "activation claude haiku",
            "cases aider haiku",
            "cases claude haiku",
            "cases claude sonnet",
        ];
        assert_eq!(shown, expected);
        assert_eq!(result.groups[0].proposed.activation_output_tokens, Some(307));
        assert_eq!(result.groups[0].proposed.assumed_output_tokens, None);
        // Of four with one record each, the first.
        assert_eq!(result.largest(), result.groups.first());
    }

    #[test]
    fn what_cannot_be_used_is_counted_by_its_first_reason() {
        let usual = || estimate(1, (2000, 600), (2000, 600), 0.005);
        let records = [
            (record("claude", "haiku", usual()), true),
            (record("claude", "opus", estimate(1, (1, 1), (0, 0), 0.1)), false),
            (record("claude", "opus", estimate(1, (1, 1), (0, 0), 0.1)), true),
            (record("claude", "haiku", estimate(1, (1, 1), (0, 0), 0.1)), true),
            (record("claude", "haiku", estimate(0, (1, 1), (5, 5), 0.1)), true),
            (SkillRecord::default(), true),
        ];
        let filter = CalibrationFilter { model: Some("haiku"), ..ANY };
        let result = calibrate(records.iter().map(|(record, trust)| (record, *trust)), &filter);
        assert_eq!(result.skipped, SkippedRecords { no_usage: 2, unverified: 1, filtered: 1 });
        assert_eq!(result.groups.len(), 1);
        let none = CalibrationFilter { harness: Some("codex"), ..ANY };
        assert!(
            calibrate(records.iter().map(|(record, _)| (record, true)), &none).groups.is_empty()
        );
    }

    #[test]
    fn nothing_is_proposed_below_zero() {
        let small = record("claude", "haiku", estimate(1, (9000, 600), (100, 10), 0.001));
        assert_eq!(calibrated(&[small], ANY).groups[0].proposed.overhead_tokens, 0);
    }

    #[test]
    fn quantiles_lie_between_the_values() {
        let of = |values: &[f64], q| quantile(values.to_vec(), q);
        assert_eq!(of(&[], 0.5), None);
        assert_eq!(of(&[3.0], 0.9), Some(3.0));
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert!((of(&[1.0, 2.0, 3.0, 4.0], 0.9).unwrap() - 3.7).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_same_again_proposes_what_was_seen(overhead in 0_u64..50_000, output in 0_u64..5000, runs in 1_u64..50) {
            let expected = (runs * 2100, runs * 600);
            let actual = (runs * (overhead + 100), runs * output);
            prop_assume!(actual.0 > 0);
            let records = [record("claude", "haiku", estimate(runs, expected, actual, 0.1))];
            let group = &calibrated(&records, ANY).groups[0];
            prop_assert_eq!(group.proposed.overhead_tokens, overhead);
            prop_assert_eq!(group.proposed.assumed_output_tokens, Some(output));
            prop_assert!(group.token_error_after.abs() < 1e-9);
        }
    }
}
