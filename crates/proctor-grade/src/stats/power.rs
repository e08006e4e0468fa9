//! What a number of trials can show, before it is paid for.

use super::interval::{Z_95, float, wilson};
use super::paired::{newcombe, sign_test};
use super::special::{binomial_cdf, ln_choose, normal_cdf, normal_quantile};

/// The most trials of a plan: none in use is larger, and sums over more would take for ever.
pub const MOST_TRIALS: u64 = 1_000_000;

/// Which way a rate changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Upwards.
    Better,
    /// Downwards.
    Worse,
}

impl Direction {
    /// The rate after a change of `effect`, if there is such a rate.
    fn from(self, rate: f64, effect: f64) -> f64 {
        match self {
            Self::Better => (rate + effect).min(1.0),
            Self::Worse => (rate - effect).max(0.0),
        }
    }

    /// The greatest change that there can be.
    fn room(self, rate: f64) -> f64 {
        match self {
            Self::Better => 1.0 - rate,
            Self::Worse => rate,
        }
    }
}

/// How a comparison of two rates is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Design {
    /// The same tasks on both sides, by the exact test of `McNemar`.
    Paired,
    /// As many trials on each side, by the test of two proportions.
    Unpaired,
}

impl Design {
    /// How likely `n` pairs, or trials a side, show that a rate of `first` is not one of `second`.
    /// Pairs are taken to have nothing but their rates in common; where tasks differ in difficulty
    /// pairs show more.
    pub fn power(self, n: u64, first: f64, second: f64, level: f64) -> f64 {
        match self {
            Self::Paired => {
                let (gained, lost) = (second * (1.0 - first), first * (1.0 - second));
                mcnemar_power(n, gained, lost, level)
            }
            Self::Unpaired => proportions_power(n, first, second, level),
        }
    }

    /// The smallest change of a `rate` that `n` pairs, or trials a side, show with a likelihood of
    /// `power`; `None` when not even the greatest does.
    pub fn detectable(
        self,
        n: u64,
        rate: f64,
        direction: Direction,
        level: f64,
        power: f64,
    ) -> Option<f64> {
        let shows = |effect: f64| self.power(n, rate, direction.from(rate, effect), level) >= power;
        let (mut low, mut high) = (0.0, direction.room(rate));
        if !shows(high) {
            return None;
        }
        // Thirty halvings: nine digits.
        for _ in 0..30 {
            let middle = f64::midpoint(low, high);
            *(if shows(middle) { &mut high } else { &mut low }) = middle;
        }
        Some(high)
    }

    /// How many pairs, or trials a side, show the change from `first` to `second` with a likelihood of
    /// `power`, where one fewer does not; `None` above a million.
    pub fn needed(self, first: f64, second: f64, level: f64, power: f64) -> Option<u64> {
        least(|n| self.power(n, first, second, level) >= power)
    }
}

/// The least number for which `holds`, by doubling and halving; `None` above [`MOST_TRIALS`].
fn least(holds: impl Fn(u64) -> bool) -> Option<u64> {
    let mut high = 1;
    while !holds(high) {
        if high >= MOST_TRIALS {
            return None;
        }
        high = (high * 2).min(MOST_TRIALS);
    }
    let mut low = high / 2;
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        *(if holds(middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// How likely the exact, two-sided test of `McNemar` rejects over `n` pairs of which a share of
/// `gained` passes on the second side only and one of `lost` on the first only.
///
/// The sum over all numbers of pairs that differ: S. W. Duffy, "Asymptotic and Exact Power for the
/// `McNemar` Test and its Analogue with R Controls per Case", Biometrics 40 (1984), 1005-1015.
pub fn mcnemar_power(n: u64, gained: f64, lost: f64, level: f64) -> f64 {
    let differ = (gained + lost).min(1.0);
    if differ <= 0.0 {
        return 0.0;
    }
    let (share, size) = (gained / differ, float(n));
    // Beyond ten standard deviations there is nothing that counts.
    let reach = 10.0 * (size * differ * (1.0 - differ)).sqrt() + 10.0;
    let from = whole((size * differ - reach).max(0.0));
    let to = whole((size * differ + reach).min(size));
    let mut critical = Critical::below(from, level);
    (from..=to)
        .map(|count| match critical.at(count) {
            None => 0.0,
            Some(few) => {
                let tails = binomial_cdf(few, count, share) + binomial_cdf(few, count, 1.0 - share);
                binomial(n, count, differ) * tails
            }
        })
        .sum::<f64>()
        .min(1.0)
}

/// The greatest number on the smaller side with which the sign test rejects.
struct Critical {
    level: f64,
    few: Option<u64>,
}

impl Critical {
    /// A number that is right or too small for `count`.
    fn below(count: u64, level: f64) -> Self {
        let middle = float(count) / 2.0;
        let reach = (normal_quantile(1.0 - level / 2.0) + 1.0) * middle.sqrt() + 5.0;
        let few = (middle > reach).then(|| whole(middle - reach));
        Self { level, few }
    }

    /// For `count` changes, asked for in rising order.
    fn at(&mut self, count: u64) -> Option<u64> {
        loop {
            let next = self.few.map_or(0, |few| few + 1);
            if 2 * next >= count || 2.0 * binomial_cdf(next, count, 0.5) > self.level {
                return self.few;
            }
            self.few = Some(next);
        }
    }
}

/// How likely exactly `count` of `n` happen.
fn binomial(n: u64, count: u64, share: f64) -> f64 {
    if share >= 1.0 {
        return if count == n { 1.0 } else { 0.0 };
    }
    let rest = float(n - count);
    (ln_choose(n, count) + float(count) * share.ln() + rest * (-share).ln_1p()).exp()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts of trials")]
fn whole(value: f64) -> u64 {
    value as u64
}

/// How likely the two-sided test of two proportions, with the pooled standard error, rejects with `n`
/// trials a side.
///
/// J. L. Fleiss, B. Levin and M. C. Paik, "Statistical Methods for Rates and Proportions", third
/// edition (2003), 4.2.
pub fn proportions_power(n: u64, first: f64, second: f64, level: f64) -> f64 {
    let variance = |share: f64| share * (1.0 - share);
    let pooled = (2.0 * variance(f64::midpoint(first, second))).sqrt();
    let apart = (variance(first) + variance(second)).sqrt();
    let (difference, critical) =
        ((second - first) * float(n).sqrt(), normal_quantile(1.0 - level / 2.0));
    if apart <= 0.0 {
        // Every trial comes out as its rate says.
        return if difference.abs() > critical * pooled { 1.0 } else { 0.0 };
    }
    let beyond = |sign: f64| normal_cdf((sign * difference - critical * pooled) / apart);
    beyond(1.0) + beyond(-1.0)
}

/// The least number of trials with which the lower end of the Wilson interval of 95 % can reach `rate`:
/// with all of them passed. `None` for a rate of 1 or above, which no number shows.
pub fn least_for_rate(rate: f64) -> Option<u64> {
    least(|n| wilson(n, n, Z_95).is_some_and(|interval| interval.low >= rate))
}

/// The least number of passed trials of `n` with which the lower end of the Wilson interval of 95 %
/// reaches `rate`; `None` when not even all of them do.
pub fn passes_for_rate(n: u64, rate: f64) -> Option<u64> {
    let reaches = |c: u64| wilson(c, n, Z_95).is_some_and(|interval| interval.low >= rate);
    let (mut low, mut high) = (0, n);
    if !reaches(n) {
        return None;
    }
    while low < high {
        let middle = u64::midpoint(low, high);
        if reaches(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Some(low)
}

/// How likely `n` trials pass the gate of [`passes_for_rate`] when each passes with a likelihood of
/// `truth`.
pub fn rate_power(n: u64, rate: f64, truth: f64) -> f64 {
    match passes_for_rate(n, rate) {
        None => 0.0,
        Some(0) => 1.0,
        Some(c) => 1.0 - binomial_cdf(c - 1, n, truth),
    }
}

/// The least number of pairs with which two sides that come out the same in every pair, at a pass rate
/// of `rate`, are shown not to differ by more than `margin`; `None` above a million.
pub fn least_for_margin(rate: f64, margin: f64) -> Option<u64> {
    let same = [rate, 0.0, 0.0, 1.0 - rate];
    least(|n| newcombe(same, float(n), Z_95).low > -margin)
}

/// The p-value of the clearest outcome that `n` pairs can have: all of them change the same way.
pub fn clearest(n: u64) -> f64 {
    sign_test(n, 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn five_pairs_show_nothing_and_six_show_the_greatest_change() {
        assert!(mcnemar_power(5, 1.0, 0.0, 0.05) <= 0.0);
        assert!(mcnemar_power(6, 1.0, 0.0, 0.05) >= 1.0);
        assert_eq!(Design::Paired.detectable(5, 0.0, Direction::Better, 0.05, 0.8), None);
        let least = Design::Paired.detectable(6, 0.0, Direction::Better, 0.05, 0.8).unwrap();
        // All six must change.
        assert!((least - 0.8_f64.powf(1.0 / 6.0)).abs() < 1e-6, "{least}");
        assert!((clearest(5) - 0.0625).abs() < 1e-12);
    }

    #[test]
    fn known_numbers_of_trials() {
        // The number of textbooks for 50 % against 70 %, without the correction for continuity.
        assert_eq!(Design::Unpaired.needed(0.5, 0.7, 0.05, 0.8), Some(93));
        assert_eq!(least_for_rate(0.9), Some(35));
        assert_eq!(least_for_rate(0.5), Some(4));
        assert_eq!(least_for_rate(1.0), None);
        assert_eq!(passes_for_rate(34, 0.9), None);
        assert_eq!(passes_for_rate(35, 0.9), Some(35));
        assert_eq!(passes_for_rate(100, 0.9), Some(96));
        assert!(rate_power(35, 0.9, 0.98) < 0.5 && rate_power(34, 0.9, 1.0) <= 0.0);
        let least = least_for_margin(1.0, 0.05).unwrap();
        assert!(newcombe([1.0, 0.0, 0.0, 0.0], float(least), Z_95).low > -0.05);
        assert!(newcombe([1.0, 0.0, 0.0, 0.0], float(least - 1), Z_95).low <= -0.05);
    }

    #[test]
    fn many_trials_are_no_burden() {
        let needed = Design::Paired.needed(0.5, 0.51, 0.05, 0.8).unwrap();
        assert!((35_000..45_000).contains(&needed), "{needed}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]
        #[test]
        fn more_trials_and_greater_changes_show_more(
            rate in 0.05f64..0.95, n in 10u64..200, effect in 0.01f64..0.4,
        ) {
            for design in [Design::Paired, Design::Unpaired] {
                for direction in [Direction::Better, Direction::Worse] {
                    let power = |n, effect| design.power(n, rate, direction.from(rate, effect), 0.05);
                    prop_assert!((0.0..=1.0 + 1e-12).contains(&power(n, effect)));
                    prop_assert!(power(n * 4, effect) >= power(n, effect) - 0.02);
                    if let Some(least) = design.detectable(n, rate, direction, 0.05, 0.8) {
                        prop_assert!(power(n, least) >= 0.8);
                        prop_assert!(power(n, least * 0.99) < 0.8);
                    }
                }
            }
        }
    }
}
