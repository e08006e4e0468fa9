//! The functions of analysis that the statistics stand on, to about fourteen digits.
//!
//! DLMF is the NIST Digital Library of Mathematical Functions, <https://dlmf.nist.gov>.

use std::f64::consts::{PI, SQRT_2};

/// The logarithm of the gamma function for `x` above 0: Stirling's series (DLMF 5.11.1), moved up by
/// the recurrence where it is not yet exact.
pub(super) fn ln_gamma(x: f64) -> f64 {
    const FROM: f64 = 16.0;
    let (mut x, mut product) = (x, 1.0);
    while x < FROM {
        product *= x;
        x += 1.0;
    }
    let square = x * x;
    let series = (1.0 / 12.0
        - (1.0 / 360.0
            - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / (1188.0 * square)) / square) / square)
            / square)
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - product.ln()
}

/// The regularised incomplete beta function `I_x(a, b)`, which is the distribution function of the
/// beta distribution: the continued fraction DLMF 8.17.22, by the method of W. J. Lentz, "Generating
/// Bessel Functions in Mie Scattering Calculations Using Continued Fractions", Applied Optics 15
/// (1976), 668-671.
pub(super) fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // On the other side of the mean the fraction of the mirrored function converges.
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - ln_front.exp() * beta_fraction(b, a, 1.0 - x) / b
    }
}

fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    /// It takes about the square root of the greater parameter; more than this is never needed for
    /// counts below 10^8.
    const MOST: u32 = 50_000;
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = lower;
    for step in 1..=MOST {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for part in [even, odd] {
            lower = 1.0 / away(1.0 + part * lower);
            upper = away(1.0 + part / upper);
            change = upper * lower;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// The `x` at which [`beta_cdf`] comes to `p`, by halving: exact to the last digits everywhere.
pub(super) fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    // Enough for a value of 10^-40 to full precision.
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            break;
        }
        if beta_cdf(a, b, middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// How likely a binomial variable of `n` trials at `p` is at most `k`: DLMF 8.17.5 turned round.
pub(super) fn binomial_cdf(k: u64, n: u64, p: f64) -> f64 {
    if k >= n {
        return 1.0;
    }
    let (k, n) = (super::interval::float(k), super::interval::float(n));
    beta_cdf(n - k, k + 1.0, 1.0 - p)
}

/// The logarithm of the number of ways to choose `k` of `n`.
pub(super) fn ln_choose(n: u64, k: u64) -> f64 {
    let [n, k] = [n, k].map(super::interval::float);
    ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
}

/// The complementary error function: its series (DLMF 7.6.2) near 0, then the continued fraction
/// (DLMF 7.9.3).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let square = x * x;
    if x < 2.0 {
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * square / (2.0 * n + 1.0);
            sum += term;
        }
        return 1.0 - 2.0 / PI.sqrt() * (-square).exp() * sum;
    }
    // From the inside out; sixty steps are exact from 2 on.
    let fraction = (1..=60).rev().fold(x, |inner, step| x + f64::from(step) / 2.0 / inner);
    (-square).exp() / (PI.sqrt() * fraction)
}

/// The distribution function of the standard normal distribution.
pub(super) fn normal_cdf(z: f64) -> f64 {
    0.5 * erfc(-z / SQRT_2)
}

/// The `z` at which [`normal_cdf`] comes to `p`, which lies between 0 and 1: the approximation 26.2.23
/// of M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions" (1964), mended by steps of
/// Halley's method. Minus and plus infinity at 0 and 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let t = (-2.0 * p.ln()).sqrt();
    let mut z = (2.515_517 + t * (0.802_853 + t * 0.010_328))
        / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
        - t;
    for _ in 0..4 {
        let density = (-z * z / 2.0).exp() / (2.0 * PI).sqrt();
        let step = (normal_cdf(z) - p) / density;
        if !step.is_finite() {
            break;
        }
        z -= step / (1.0 + z * step / 2.0);
    }
    z
}

/// The quantile of Student's distribution with `degrees` of freedom that leaves `outside` in both
/// tails together: what an interval of `1 - outside` needs.
pub(super) fn t_quantile(degrees: f64, outside: f64) -> f64 {
    // The share of t squared in t squared and the degrees of freedom is beta distributed.
    let share = beta_quantile(0.5, degrees / 2.0, 1.0 - outside);
    (degrees * share / (1.0 - share)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, known: f64) -> bool {
        (found - known).abs() <= 1e-13 * known.abs().max(1.0)
    }

    #[test]
    fn gamma_of_whole_and_half_numbers() {
        for (x, known) in [
            (1.0, 0.0),
            (2.0, 0.0),
            (5.0, 24_f64.ln()),
            (11.0, 3_628_800_f64.ln()),
            (0.5, PI.sqrt().ln()),
            (20.0, 121_645_100_408_832_000_f64.ln()),
        ] {
            assert!(near(ln_gamma(x), known), "{x}: {}", ln_gamma(x));
        }
        assert!(near(ln_choose(52, 5), 2_598_960_f64.ln()));
    }

    #[test]
    fn the_normal_distribution_and_back() {
        for (z, known) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_542_9),
            (-1.959_963_984_540_054, 0.025),
            (-6.0, 9.865_876_450_376_98e-10),
        ] {
            assert!(near(normal_cdf(z), known), "{z}: {}", normal_cdf(z));
            assert!((normal_quantile(known) - z).abs() < 1e-9, "{known}");
        }
        assert!(near(normal_quantile(0.975), 1.959_963_984_540_054));
        assert!(normal_quantile(0.0) < f64::MIN && normal_quantile(1.0) > f64::MAX);
        for step in 1..200 {
            let p = f64::from(step) / 200.0;
            assert!(near(normal_cdf(normal_quantile(p)), p), "{p}");
        }
    }

    #[test]
    fn beta_has_closed_forms() {
        for step in 0..=100 {
            let x = f64::from(step) / 100.0;
            assert!(near(beta_cdf(1.0, 1.0, x), x));
            assert!(near(beta_cdf(3.0, 1.0, x), x.powi(3)));
            assert!(near(beta_cdf(0.5, 0.5, x), 2.0 / PI * x.sqrt().asin()), "{x}");
            assert!(near(beta_cdf(7.0, 4.5, x) + beta_cdf(4.5, 7.0, 1.0 - x), 1.0));
        }
        assert!(near(binomial_cdf(2, 4, 0.5), 11.0 / 16.0));
        assert!(near(binomial_cdf(4, 4, 0.5), 1.0));
        assert!(near(beta_quantile(3.0, 1.0, 0.001), 0.1));
    }

    #[test]
    fn students_quantiles_of_the_tables() {
        for (degrees, known) in [
            (1.0, 12.706_204_736_174_7),
            (2.0, 4.302_652_729_749_464),
            (4.0, 2.776_445_105_197_793),
            (30.0, 2.042_272_456_301_238),
            (1e6, 1.959_966_356_814_106),
        ] {
            let found = t_quantile(degrees, 0.05);
            assert!((found - known).abs() < 1e-9, "{degrees}: {found}");
        }
    }
}
