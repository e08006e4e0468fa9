//! Rounding: four decimals, half away from zero.

/// From here on a double has no four decimals.
const NO_DECIMALS: f64 = 1e12;

/// The most tokens that are counted: what a signed integer of 64 bits holds, since programs that
/// read our files count with those.
pub(super) const MOST_TOKENS: u64 = i64::MAX as u64;

/// The value with four decimals, half away from zero. Zero has no sign.
pub fn round4(value: f64) -> f64 {
    if value.abs() >= NO_DECIMALS {
        return value;
    }
    // Adding a positive zero takes the sign off a negative one, which would stand in files as `-0`.
    (value * 10_000.0).round() / 10_000.0 + 0.0
}

/// `part` of `whole` with four decimals; `None` of nothing.
pub fn rate(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| round4(float(part) / float(whole)))
}

/// The sum of token counts.
pub(super) fn add_tokens(left: u64, right: u64) -> u64 {
    left.saturating_add(right).min(MOST_TOKENS)
}

/// The sum of amounts, which stays a number that a file can hold.
pub(super) fn add_usd(left: f64, right: f64) -> f64 {
    (left + right).min(f64::MAX)
}

/// A count to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts of cases and tokens are far below 2^53")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_go_away_from_zero() {
        for (value, rounded) in [
            (0.666_66, 0.6667),
            (0.000_05, 0.0001),
            (-0.000_05, -0.0001),
            (0.303_1, 0.3031),
            (1.0, 1.0),
            (-0.25, -0.25),
        ] {
            assert!((round4(value) - rounded).abs() < f64::EPSILON, "{value}");
        }
        assert!(round4(-0.000_01).is_sign_positive());
        assert!(round4(f64::MAX) >= f64::MAX && round4(f64::MAX).is_finite());
    }

    #[test]
    fn nothing_has_no_rate() {
        assert_eq!(rate(0, 0), None);
        assert_eq!(rate(2, 3), Some(0.6667));
        assert_eq!(rate(0, 3), Some(0.0));
    }

    proptest! {
        #[test]
        fn rounding_is_near_and_happens_once(value in -1e6f64..1e6) {
            let rounded = round4(value);
            prop_assert!((rounded - value).abs() <= 0.000_05 + 1e-9);
            prop_assert_eq!(round4(rounded).to_bits(), rounded.to_bits());
        }
    }
}
