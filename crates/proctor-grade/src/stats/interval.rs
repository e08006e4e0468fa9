//! Intervals for a share.

use super::special::beta_quantile;

/// An interval from `low` to `high`, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The quantile of the standard normal distribution for two-sided intervals of 95 %.
pub const Z_95: f64 = 1.959_963_984_540_054;

/// The score interval for a share of `successes` in `trials`, at the normal quantile `z` (for
/// instance [`Z_95`]); `None` without trials.
///
/// Unlike the textbook interval it keeps inside 0 to 1 and says something useful for few trials
/// and for shares near 0 and 1. E. B. Wilson, "Probable Inference, the Law of Succession, and
/// Statistical Inference", JASA 22 (1927), 209-212.
pub fn wilson(successes: u64, trials: u64, z: f64) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let successes = successes.min(trials);
    let mut interval = wilson_of(float(successes) / float(trials), float(trials), z);
    // At the ends the formula gives 0 and 1, its rounding may not.
    if successes == 0 {
        interval.low = 0.0;
    }
    if successes == trials {
        interval.high = 1.0;
    }
    Some(interval)
}

/// The same for a `share` of `n` trials, where `n` need not be whole.
pub(super) fn wilson_of(share: f64, n: f64, z: f64) -> Interval {
    let z2 = z * z;
    let middle = share + z2 / (2.0 * n);
    let spread = z * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z2 / n;
    let ends = [(middle - spread) / scale, (middle + spread) / scale];
    let [low, high] = ends.map(|end| end.clamp(0.0, 1.0));
    Interval { low, high }
}

/// The exact interval for a share of `successes` in `trials` that leaves at most half of `outside` on
/// each side; `None` without trials. It holds the true share at least as often as it says, and is
/// wider than [`wilson`] for that.
///
/// C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case
/// of the Binomial", Biometrika 26 (1934), 404-413.
pub fn clopper_pearson(successes: u64, trials: u64, outside: f64) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let successes = successes.min(trials);
    let (k, n) = (float(successes), float(trials));
    let side = outside / 2.0;
    let low = if successes == 0 { 0.0 } else { beta_quantile(k, n - k + 1.0, side) };
    let high = if successes == trials { 1.0 } else { beta_quantile(k + 1.0, n - k, 1.0 - side) };
    Some(Interval { low, high })
}

/// A count as a number to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts of runs are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Values of `proportion_confint(method="wilson")` in statsmodels 0.14.
    #[test]
    fn known_values() {
        for (successes, trials, low, high) in [
            (8, 10, 0.490_162, 0.943_318),
            (1, 2, 0.094_531, 0.905_469),
            (0, 4, 0.0, 0.489_891),
            (4, 4, 0.510_109, 1.0),
            (96, 100, 0.901_629, 0.984_337),
            (1, 29, 0.006_113, 0.171_755),
        ] {
            let interval = wilson(successes, trials, Z_95).expect("trials");
            assert!((interval.low - low).abs() < 1e-6, "{successes}/{trials}: {interval:?}");
            assert!((interval.high - high).abs() < 1e-6, "{successes}/{trials}: {interval:?}");
        }
        assert_eq!(wilson(0, 0, Z_95), None);
    }

    proptest! {
        #[test]
        fn holds_the_share_and_is_symmetric(trials in 1u64..10_000, part in 0.0f64..=1.0) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below trials")]
            let successes = (float(trials) * part) as u64;
            let interval = wilson(successes, trials, Z_95).expect("trials");
            let share = float(successes) / float(trials);
            prop_assert!(0.0 <= interval.low && interval.low <= share + 1e-12);
            prop_assert!(share <= interval.high + 1e-12 && interval.high <= 1.0);
            let mirrored = wilson(trials - successes, trials, Z_95).expect("trials");
            prop_assert!((interval.low + mirrored.high - 1.0).abs() < 1e-9);
        }
    }
}
