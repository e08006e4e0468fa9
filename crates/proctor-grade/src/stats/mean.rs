//! Intervals for a mean.

use super::interval::{Interval, float};
use super::special::t_quantile;

/// The 95 % interval for the mean of what `values` are drawn from, with the mean; `None` below two
/// values. For differences of pairs it is the paired t interval.
///
/// Student, "The Probable Error of a Mean", Biometrika 6 (1908), 1-25.
pub fn mean_interval(values: &[f64]) -> Option<(f64, Interval)> {
    let count = u64::try_from(values.len()).ok().filter(|count| *count > 1)?;
    let n = float(count);
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let margin = t_quantile(n - 1.0, 0.05) * (squares / (n - 1.0) / n).sqrt();
    Some((mean, Interval { low: mean - margin, high: mean + margin }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intervals() {
        assert_eq!(mean_interval(&[]), None);
        assert_eq!(mean_interval(&[1.0]), None);
        let (mean, interval) = mean_interval(&[0.5; 9]).expect("enough");
        assert_eq!((mean, interval.low, interval.high), (0.5, 0.5, 0.5));
        // By hand: 2.5 and 3.182446 times the root of 5/3 over 4.
        let (mean, interval) = mean_interval(&[1.0, 2.0, 3.0, 4.0]).expect("enough");
        assert!((mean - 2.5).abs() < 1e-12);
        assert!((interval.low - 0.445_739_743).abs() < 1e-9, "{interval:?}");
        assert!((interval.high - 4.554_260_256).abs() < 1e-9, "{interval:?}");
    }
}
