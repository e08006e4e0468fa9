//! Means and shares of what comes in clusters: several trials of one prompt, several tests of one
//! trial. Such observations go together, so that many of them say less than as many alone.

use super::interval::{Interval, Z_95, float, wilson_of};
use super::paired::Pairs;
use super::special::t_quantile;

/// What was seen of one cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Cluster {
    /// The sum of its observations.
    pub sum: f64,
    /// How many they are; above 0.
    pub count: f64,
}

/// The mean of all observations; `None` without one.
pub fn mean_of(clusters: &[Cluster]) -> Option<f64> {
    let (sum, count) = totals(clusters);
    (count > 0.0).then(|| sum / count)
}

pub(super) fn totals(clusters: &[Cluster]) -> (f64, f64) {
    clusters.iter().fold((0.0, 0.0), |(sum, count), one| (sum + one.sum, count + one.count))
}

/// The standard error of [`mean_of`] when only the clusters are independent of each other; `None`
/// below two clusters. With one observation a cluster it is the usual standard error of a mean.
///
/// The linearised variance of a ratio with the factor `G / (G - 1)`: K.-Y. Liang and S. L. Zeger,
/// "Longitudinal Data Analysis Using Generalized Linear Models", Biometrika 73 (1986), 13-22. For
/// evaluations: E. Miller, "Adding Error Bars to Evals" (2024), arXiv 2411.00640.
pub fn clustered_error(clusters: &[Cluster]) -> Option<f64> {
    let number = float(clusters.len() as u64);
    let mean = mean_of(clusters).filter(|_| clusters.len() > 1)?;
    let (_, count) = totals(clusters);
    let squares: f64 = clusters.iter().map(|one| (one.sum - mean * one.count).powi(2)).sum();
    Some((number / (number - 1.0) * squares).sqrt() / count)
}

/// The interval of 95 % for [`mean_of`] by Student's distribution with one degree of freedom less than
/// there are clusters; `None` below two clusters.
pub fn student(clusters: &[Cluster]) -> Option<Interval> {
    let (mean, error) = (mean_of(clusters)?, clustered_error(clusters)?);
    let margin = t_quantile(float(clusters.len() as u64) - 1.0, 0.05) * error;
    Some(Interval { low: mean - margin, high: mean + margin })
}

/// How many independent observations are worth as much as these, of which the variance of one is
/// `variance`; at most as many as there are. `None` below two clusters.
///
/// E. L. Korn and B. I. Graubard, "Confidence Intervals for Proportions with Small Expected Number of
/// Positive Counts Estimated from Survey Data", Survey Methodology 24 (1998), 193-201: the number is
/// divided by the design effect, and adjusted for the degrees of freedom that the clusters leave.
/// Where nothing varies, no design effect can be seen and none is assumed.
fn effective(clusters: &[Cluster], variance: f64) -> Option<f64> {
    let error = clustered_error(clusters)?;
    let (_, count) = totals(clusters);
    if count <= 1.0 {
        return None;
    }
    let simple = variance / (count - 1.0);
    let design = if simple > 0.0 { (error * error / simple).max(1.0) } else { 1.0 };
    let freedom =
        t_quantile(count - 1.0, 0.05) / t_quantile(float(clusters.len() as u64) - 1.0, 0.05);
    Some(count / design * freedom * freedom)
}

/// The interval of 95 % for a share when only the clusters are independent: Wilson's over the effective
/// number of observations, which [`Cluster::sum`] of [`Cluster::count`] are successes. `None` below two
/// clusters.
///
/// C. Franco, R. J. A. Little, T. A. Louis and E. V. Slud, "Comparative Study of Confidence Intervals
/// for Proportions in Complex Sample Surveys", Journal of Survey Statistics and Methodology 7 (2019),
/// 334-364.
pub fn clustered_share(clusters: &[Cluster]) -> Option<Interval> {
    let share = mean_of(clusters)?;
    let n = effective(clusters, share * (1.0 - share))?;
    Some(wilson_of(share, n, Z_95))
}

/// The difference of [`Pairs::difference`] with its interval of 95 % when only the clusters are
/// independent: over the effective number of pairs. The sum of a cluster is its pairs in which only the
/// first is yes, less those in which only the second is. `None` below two clusters.
pub fn clustered_difference(pairs: &Pairs, clusters: &[Cluster]) -> Option<(f64, Interval)> {
    let total = float(pairs.total());
    let mean = mean_of(clusters)?;
    let changed = (float(pairs.first) + float(pairs.second)) / total;
    let n = effective(clusters, changed - mean * mean)?;
    pairs.difference_of(n, Z_95)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{mean_interval, wilson};
    use super::*;

    fn alone(values: &[f64]) -> Vec<Cluster> {
        values.iter().map(|value| Cluster { sum: *value, count: 1.0 }).collect()
    }

    #[test]
    fn without_two_clusters_there_is_no_error() {
        let one = [Cluster { sum: 3.0, count: 4.0 }];
        assert_eq!(mean_of(&one), Some(0.75));
        assert_eq!(clustered_error(&one), None);
        assert_eq!(student(&one), None);
        assert_eq!(clustered_share(&one), None);
        assert_eq!(mean_of(&[]), None);
    }

    #[test]
    fn repeats_that_agree_are_worth_one_each() {
        let ten = |sum: f64| Cluster { sum: sum * 10.0, count: 10.0 };
        let by_prompt = clustered_share(&[ten(1.0), ten(0.0), ten(1.0), ten(1.0)]).unwrap();
        let naive = wilson(30, 40, Z_95).unwrap();
        assert!(by_prompt.low < 0.2 && by_prompt.high > 0.97, "{by_prompt:?}");
        assert!(naive.low > 0.59 && naive.high < 0.87);
        // Of ten observations of each cluster, one is as good as all.
        let error = clustered_error(&[ten(1.0), ten(0.0), ten(1.0), ten(1.0)]);
        assert_eq!(error, clustered_error(&alone(&[1.0, 0.0, 1.0, 1.0])));
    }

    proptest! {
        #[test]
        fn clusters_of_one_are_no_clusters(values in proptest::collection::vec(-9.0f64..9.0, 2..40)) {
            let clusters = alone(&values);
            let (mean, known) = mean_interval(&values).unwrap();
            let found = student(&clusters).unwrap();
            prop_assert!((mean_of(&clusters).unwrap() - mean).abs() < 1e-12);
            prop_assert!((found.low - known.low).abs() < 1e-9, "{found:?} {known:?}");
            prop_assert!((found.high - known.high).abs() < 1e-9);
        }

        #[test]
        fn a_share_by_cluster_is_never_surer_than_wilson(
            clusters in proptest::collection::vec((1u32..8, 0u32..8), 2..12),
        ) {
            let clusters: Vec<Cluster> = clusters.iter().map(|(count, sum)| Cluster {
                sum: f64::from(*sum.min(count)), count: f64::from(*count),
            }).collect();
            let (sum, count) = totals(&clusters);
            prop_assume!(count > 1.0);
            let found = clustered_share(&clusters).unwrap();
            let naive = wilson_of(sum / count, count, Z_95);
            prop_assert!(found.high - found.low >= naive.high - naive.low - 1e-12);
            prop_assert!(found.low <= sum / count + 1e-12 && found.high >= sum / count - 1e-12);
        }
    }
}
