//! The same things judged twice: what a difference is worth.

use super::interval::{Interval, float, wilson_of};
use super::special::{binomial_cdf, ln_choose};

/// How often two judgements of the same thing came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pairs {
    /// Both are yes.
    pub both: u64,
    /// Only the first is.
    pub first: u64,
    /// Only the second is.
    pub second: u64,
    /// Neither is.
    pub neither: u64,
}

impl Pairs {
    /// All pairs.
    pub fn total(&self) -> u64 {
        self.both + self.first + self.second + self.neither
    }

    /// The share of yes among the first judgements less that among the second, with the interval at
    /// the normal quantile `z`; `None` without pairs.
    ///
    /// The score interval for paired data, method 10 of R. G. Newcombe, "Improved Confidence Intervals
    /// for the Difference between Binomial Proportions Based on Paired Data", Statistics in Medicine
    /// 17 (1998), 2635-2650. It keeps inside -1 to 1, and does not shrink to nothing when all pairs
    /// agree.
    pub fn difference(&self, z: f64) -> Option<(f64, Interval)> {
        self.difference_of(float(self.total()), z)
    }

    /// The same where the pairs are worth only `effective` ones, since some of them go together.
    pub fn difference_of(&self, effective: f64, z: f64) -> Option<(f64, Interval)> {
        let total = float(self.total());
        if self.total() == 0 || effective <= 0.0 {
            return None;
        }
        let cells = [self.both, self.first, self.second, self.neither];
        let shares = cells.map(|cell| float(cell) / total);
        Some((shares[1] - shares[2], newcombe(shares, effective, z)))
    }
}

/// Newcombe's interval for pairs of which these shares are yes in both, in the first only, in the
/// second only, and in neither.
pub(super) fn newcombe(shares: [f64; 4], n: f64, z: f64) -> Interval {
    let [both, only_first, only_second, _] = shares;
    let (first, second) = (both + only_first, both + only_second);
    let (of_first, of_second) = (wilson_of(first, n, z), wilson_of(second, n, z));
    let difference = only_first - only_second;
    let phi = correlation(shares, n);
    let reach = |left: f64, right: f64| {
        // Below 0 only by rounding.
        (left * left - 2.0 * phi * left * right + right * right).max(0.0).sqrt()
    };
    let low = difference - reach(first - of_first.low, of_second.high - second);
    let high = difference + reach(second - of_second.low, of_first.high - first);
    Interval { low: low.max(-1.0), high: high.min(1.0) }
}

/// The correlation of the two judgements, moved towards 0 as the source says.
fn correlation([both, first, second, neither]: [f64; 4], n: f64) -> f64 {
    let margins = (both + first) * (second + neither) * (both + second) * (first + neither);
    if margins <= 0.0 {
        return 0.0;
    }
    let product = both * neither - first * second;
    let corrected = if product > 0.0 { (product - 0.5 / n).max(0.0) } else { product };
    corrected / margins.sqrt()
}

/// How likely a split of `wins` and `losses` at least as uneven is when each is as likely as the
/// other: the exact sign test, two-sided, which over pairs that disagree is the exact test of Q.
/// `McNemar`, "Note on the Sampling Error of the Difference Between Correlated Proportions or
/// Percentages", Psychometrika 12 (1947), 153-157. 1 without either.
pub fn sign_test(wins: u64, losses: u64) -> f64 {
    let total = float(wins) + float(losses);
    // Logarithms: the parts get too small for a number.
    let mut part = -total * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for count in 0..=wins.min(losses) {
        tail += part.exp();
        part += ((total - float(count)) / (float(count) + 1.0)).ln();
    }
    (2.0 * tail).min(1.0)
}

/// [`sign_test`] with half of the likelihood of the very split that was seen: less cautious, since it
/// may reject somewhat more often than it says. To be named where it is used.
///
/// M. W. Fagerland, S. Lydersen and P. Laake, "The `McNemar` Test for Binary Matched-Pairs Data: Mid-p
/// and Asymptotic Are Better than Exact Conditional", BMC Medical Research Methodology 13 (2013), 91.
pub fn mid_p(wins: u64, losses: u64) -> f64 {
    let total = wins + losses;
    if total == 0 {
        return 1.0;
    }
    let seen = (ln_choose(total, wins) - float(total) * std::f64::consts::LN_2).exp();
    let tail = binomial_cdf(wins.min(losses), total, 0.5);
    (2.0 * tail - seen).min(1.0)
}

/// The p-values of several comparisons that are looked at together, each raised so that with all of
/// them there is no more chance of a false alarm than with one.
///
/// S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of
/// Statistics 6 (1979), 65-70.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - rank) as u64;
        least = least.max(float(left) * p_values[index]).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

/// The least number of wins and losses together at which [`sign_test`] comes to at most `level`, with
/// `smaller` of them on the smaller side.
pub fn least_decisive(smaller: u64, level: f64) -> u64 {
    let mut larger = smaller + 1;
    while sign_test(larger, smaller) > level {
        larger += 1;
    }
    smaller + larger
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::interval::Z_95;
    use super::*;

    fn pairs(both: u64, first: u64, second: u64, neither: u64) -> Pairs {
        Pairs { both, first, second, neither }
    }

    /// The first row is an example of Newcombe's paper, the second of M. W. Fagerland, S. Lydersen and
    /// P. Laake, "Recommended tests and confidence intervals for paired binomial proportions",
    /// Statistics in Medicine 33 (2014), 2850-2875.
    #[test]
    fn known_intervals() {
        for (pairs, difference, low, high) in [
            (pairs(36, 12, 2, 0), 0.2, 0.0569, 0.3404),
            (pairs(1, 1, 7, 12), -0.2857, -0.5069, -0.0256),
            (pairs(0, 10, 0, 0), 1.0, 0.6075, 1.0),
            (pairs(5, 0, 0, 5), 0.0, -0.1666, 0.1666),
        ] {
            let (found, interval) = pairs.difference(Z_95).unwrap();
            let near = |left: f64, right: f64| (left - right).abs() < 5e-5;
            assert!(near(found, difference), "{pairs:?}: {found}");
            assert!(near(interval.low, low) && near(interval.high, high), "{interval:?}");
        }
        assert_eq!(Pairs::default().difference(Z_95), None);
    }

    #[test]
    fn known_levels() {
        for (wins, losses, p) in [
            (0, 0, 1.0),
            (1, 0, 1.0),
            (5, 0, 0.0625),
            (6, 0, 0.03125),
            (8, 1, 0.039_062_5),
            (7, 1, 0.070_312_5),
            (3, 3, 1.0),
            (12, 2, 0.012_939_453_125),
        ] {
            assert!((sign_test(wins, losses) - p).abs() < 1e-12, "{wins}:{losses}");
        }
        assert!(sign_test(2000, 1000) < 1e-70 && sign_test(1000, 1000) > 0.9);
        let needed: Vec<u64> = (0..4).map(|smaller| least_decisive(smaller, 0.05)).collect();
        assert_eq!(needed, [6, 9, 12, 15]);
    }

    #[test]
    fn the_middle_p_is_below_the_exact_one() {
        for (wins, losses, p) in [(0, 0, 1.0), (5, 0, 0.031_25), (3, 3, 1.0), (7, 1, 0.039_062_5)] {
            assert!((mid_p(wins, losses) - p).abs() < 1e-12, "{wins}:{losses}");
            assert!(mid_p(wins, losses) <= sign_test(wins, losses));
        }
    }

    #[test]
    fn several_comparisons_need_more() {
        let close = |found: Vec<f64>, known: &[f64]| {
            found.len() == known.len()
                && found.iter().zip(known).all(|(found, known)| (found - known).abs() < 1e-12)
        };
        assert!(close(holm(&[0.01, 0.04, 0.03]), &[0.03, 0.06, 0.06]));
        assert!(close(holm(&[0.9, 0.8]), &[1.0, 1.0]));
        assert!(close(holm(&[0.02]), &[0.02]));
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn holm_raises_keeps_the_order_and_does_not_mind_it(
            values in proptest::collection::vec(0.0f64..=1.0, 1..30), turn in 0usize..30,
        ) {
            let adjusted = holm(&values);
            for (index, value) in values.iter().enumerate() {
                prop_assert!(adjusted[index] >= *value && adjusted[index] <= 1.0);
                for (other, its) in values.iter().enumerate() {
                    prop_assert!(value > its || adjusted[index] <= adjusted[other]);
                }
            }
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            let mut expected = adjusted;
            expected.rotate_left(turn % values.len());
            prop_assert_eq!(holm(&turned), expected);
        }

        #[test]
        fn fewer_effective_pairs_know_less(
            both in 0u64..50, first in 0u64..50, second in 0u64..50, neither in 0u64..50,
            part in 0.05f64..1.0,
        ) {
            prop_assume!(both + first + second + neither > 0);
            let pairs = pairs(both, first, second, neither);
            let (of_all, all) = pairs.difference(Z_95).unwrap();
            let effective = float(pairs.total()) * part;
            let (of_some, some) = pairs.difference_of(effective, Z_95).unwrap();
            prop_assert!((of_all - of_some).abs() < 1e-12);
            prop_assert!(some.high - some.low >= all.high - all.low - 1e-9);
        }

        #[test]
        fn an_interval_holds_its_difference_and_mirrors(
            both in 0u64..50, first in 0u64..50, second in 0u64..50, neither in 0u64..50,
        ) {
            prop_assume!(both + first + second + neither > 0);
            let (difference, interval) = pairs(both, first, second, neither).difference(Z_95).unwrap();
            prop_assert!(-1.0 <= interval.low && interval.low <= difference + 1e-12);
            prop_assert!(difference <= interval.high + 1e-12 && interval.high <= 1.0);
            let (mirrored, other) = pairs(both, second, first, neither).difference(Z_95).unwrap();
            prop_assert!((difference + mirrored).abs() < 1e-12);
            prop_assert!((interval.low + other.high).abs() < 1e-9);
        }

        #[test]
        fn the_least_decisive_number_decides_and_none_below_does(smaller in 0u64..60) {
            let least = least_decisive(smaller, 0.05);
            prop_assert!(sign_test(least - smaller, smaller) <= 0.05);
            prop_assert!(least - smaller == smaller + 1 || sign_test(least - smaller - 1, smaller) > 0.05);
        }
    }
}
