//! The bootstrap of a mean.

use super::cluster::{Cluster, mean_of, student, totals};
use super::interval::{Interval, float};
use super::special::{normal_cdf, normal_quantile, t_quantile};

/// Below so many clusters a bootstrap has too little to draw from.
const FEWEST: usize = 5;

/// How often is drawn, and how much may be drawn in all before it is drawn less often.
const RESAMPLES: usize = 10_000;
const MOST_DRAWS: usize = 50_000_000;
const FEWEST_RESAMPLES: usize = 1000;

/// How an interval for a mean was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeanMethod {
    /// [`bootstrap`].
    Bootstrap,
    /// [`student`], below five clusters.
    Student,
}

/// The interval of 95 % for the mean of all observations, with how it was found; `None` below two
/// clusters.
pub fn mean_by_cluster(clusters: &[Cluster]) -> Option<(Interval, MeanMethod)> {
    if clusters.len() < FEWEST {
        return student(clusters).map(|interval| (interval, MeanMethod::Student));
    }
    let interval = bootstrap(clusters, widened(clusters.len()), resamples(clusters.len()))?;
    Some((interval, MeanMethod::Bootstrap))
}

/// The share outside of a bootstrap interval that is to hold the mean in 95 % of cases: a bootstrap of
/// few is too narrow, as the normal distribution is beside Student's.
///
/// T. C. Hesterberg, "What Teachers Should Know About the Bootstrap: Resampling in the Undergraduate
/// Statistics Curriculum", The American Statistician 69 (2015), 371-386 ("expanded percentile").
fn widened(clusters: usize) -> f64 {
    let n = float(clusters as u64);
    2.0 * normal_cdf(-(n / (n - 1.0)).sqrt() * t_quantile(n - 1.0, 0.05))
}

fn resamples(clusters: usize) -> usize {
    (MOST_DRAWS / clusters).clamp(FEWEST_RESAMPLES, RESAMPLES)
}

/// The bias-corrected and accelerated bootstrap interval for the mean of all observations, in which
/// whole clusters are drawn and half of `outside` is left on each side; `None` below two clusters.
///
/// B. Efron, "Better Bootstrap Confidence Intervals", JASA 82 (1987), 171-185. Clusters are drawn in an
/// order that does not depend on the order in which they stand, from numbers that follow from how many
/// there are and how large they are: the same data give the same interval, and in another unit the
/// same interval in that unit.
pub(super) fn bootstrap(clusters: &[Cluster], outside: f64, resamples: usize) -> Option<Interval> {
    let mean = mean_of(clusters).filter(|_| clusters.len() > 1)?;
    let mut sorted = clusters.to_vec();
    sorted.sort_by(|a, b| a.count.total_cmp(&b.count).then(a.sum.total_cmp(&b.sum)));
    let mut draws = Draws::of(&sorted);
    let mut means: Vec<f64> = (0..resamples).map(|_| draws.mean_of(&sorted)).collect();
    means.sort_by(f64::total_cmp);
    // Sums of the same numbers in another order may differ in their last digit.
    let slack = 1e-12 * means.iter().fold(mean.abs(), |most, one| most.max(one.abs()));
    let below = means.partition_point(|one| *one < mean - slack);
    let up_to = means.partition_point(|one| *one <= mean + slack);
    let drawn = float(resamples as u64);
    let share = float((below + up_to) as u64) / (2.0 * drawn);
    let bias = normal_quantile(share.clamp(0.5 / drawn, 1.0 - 0.5 / drawn));
    let acceleration = acceleration(&sorted);
    let end = |side: f64| {
        let z = bias + normal_quantile(side);
        percentile(&means, normal_cdf(bias + z / (1.0 - acceleration * z)))
    };
    Some(Interval { low: end(outside / 2.0), high: end(1.0 - outside / 2.0) })
}

/// How the spread of the mean changes with the mean, from leaving out one cluster at a time.
fn acceleration(clusters: &[Cluster]) -> f64 {
    let (sum, count) = totals(clusters);
    let without = clusters.iter().map(|one| (sum - one.sum) / (count - one.count));
    let without: Vec<f64> = without.collect();
    let middle = without.iter().sum::<f64>() / float(clusters.len() as u64);
    let (mut cubes, mut squares) = (0.0, 0.0);
    for one in without {
        let away = middle - one;
        squares += away * away;
        cubes += away * away * away;
    }
    if squares > 0.0 { cubes / squares.powf(1.5) / 6.0 } else { 0.0 }
}

/// The value below which a share of the sorted `values` lies, between its neighbours by the straight
/// line: definition 7 of R. J. Hyndman and Y. Fan, "Sample Quantiles in Statistical Packages", The
/// American Statistician 50 (1996), 361-365.
fn percentile(values: &[f64], share: f64) -> f64 {
    let place = share * float((values.len() - 1) as u64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "within the values"
    )]
    let index = (place.floor() as usize).min(values.len() - 1);
    let next = values[(index + 1).min(values.len() - 1)];
    values[index] + (next - values[index]) * (place - place.floor())
}

/// Numbers that look like chance: `SplitMix64` of G. L. Steele, D. Lea and C. H. Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014.
pub(super) struct Draws(u64);

impl Draws {
    #[cfg(test)]
    pub(super) fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// As they follow from the sizes of the clusters.
    fn of(clusters: &[Cluster]) -> Self {
        let mut draws = Self(clusters.len() as u64);
        for cluster in clusters {
            let mixed = draws.next();
            draws = Self(mixed ^ cluster.count.to_bits());
        }
        draws
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The mean of as many clusters as there are, each drawn from all of them.
    fn mean_of(&mut self, clusters: &[Cluster]) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for _ in clusters {
            // The upper half of 64 bits, spread over the clusters, of which there are below 2^32.
            let index = ((self.next() >> 32) * clusters.len() as u64) >> 32;
            let cluster = clusters[index as usize];
            sum += cluster.sum;
            count += cluster.count;
        }
        sum / count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn alone(values: &[f64]) -> Vec<Cluster> {
        values.iter().map(|value| Cluster { sum: *value, count: 1.0 }).collect()
    }

    #[test]
    fn few_clusters_are_students_and_one_is_nothing() {
        assert_eq!(mean_by_cluster(&alone(&[1.0])), None);
        let (interval, method) = mean_by_cluster(&alone(&[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert_eq!(method, MeanMethod::Student);
        assert!(interval.low < 0.5 && interval.high > 4.5);
        let (interval, method) = mean_by_cluster(&alone(&[1.0, 2.0, 3.0, 4.0, 5.0])).unwrap();
        assert_eq!(method, MeanMethod::Bootstrap);
        assert!(interval.low < 1.8 && interval.high > 4.2, "{interval:?}");
    }

    #[test]
    fn what_does_not_vary_has_no_width() {
        let (interval, _) = mean_by_cluster(&alone(&[0.1; 12])).unwrap();
        assert!((interval.low - 0.1).abs() < 1e-12 && (interval.high - 0.1).abs() < 1e-12);
    }

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        // Of the reference implementation with the seed 1234567.
        let mut draws = Draws::seeded(1_234_567);
        let found = [draws.next(), draws.next(), draws.next()];
        assert_eq!(
            found,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn neither_order_nor_unit_matters(
            values in proptest::collection::vec(0.0f64..9.0, 5..20), turn in 0usize..20,
        ) {
            let (interval, _) = mean_by_cluster(&alone(&values)).unwrap();
            let mut turned = values.clone();
            turned.rotate_left(turn % values.len());
            prop_assert_eq!(mean_by_cluster(&alone(&turned)).unwrap().0, interval);
            // Powers of two, so that no digit is lost.
            let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0).collect();
            let (wide, _) = mean_by_cluster(&alone(&scaled)).unwrap();
            prop_assert!((wide.low / 1024.0 - interval.low).abs() < 1e-9);
            prop_assert!((wide.high / 1024.0 - interval.high).abs() < 1e-9);
            let mean = mean_of(&alone(&values)).unwrap();
            prop_assert!(interval.low <= mean && mean <= interval.high);
        }
    }
}
