//! What several trials of one task say about tries to come.

use super::interval::float;

/// Why a figure has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Undefined {
    /// There are fewer trials than the figure is about.
    #[error("n = {n} is less than k = {k}")]
    TooFew {
        /// Trials with a result.
        n: u64,
        /// Tries that the figure is about.
        k: u64,
    },
    /// The figure is about no try at all.
    #[error("k is 0")]
    NoTries,
}

/// How likely at least one of `k` tries passes, from `n` trials of which `c` passed:
/// `1 - C(n-c, k) / C(n, k)`. It has no bias; `1 - (1 - c/n)^k` has one.
///
/// M. Chen and others, "Evaluating Large Language Models Trained on Code" (2021), arXiv 2107.03374.
pub fn pass_at_k(n: u64, c: u64, k: u64) -> Result<f64, Undefined> {
    check(n, k)?;
    Ok(1.0 - chosen(n, n - c.min(n), k))
}

/// How likely all of `k` tries pass, from `n` trials of which `c` passed: `C(c, k) / C(n, k)`. It has
/// no bias; `(c/n)^k` has one.
///
/// S. Yao and others, "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World Domains"
/// (2024), arXiv 2406.12045.
pub fn pass_hat_k(n: u64, c: u64, k: u64) -> Result<f64, Undefined> {
    check(n, k)?;
    Ok(chosen(n, c.min(n), k))
}

fn check(n: u64, k: u64) -> Result<(), Undefined> {
    match (n < k, k) {
        (_, 0) => Err(Undefined::NoTries),
        (true, _) => Err(Undefined::TooFew { n, k }),
        (false, _) => Ok(()),
    }
}

/// `C(part, k) / C(n, k)`: how likely `k` drawn of `n` are all among `part` of them.
fn chosen(n: u64, part: u64, k: u64) -> f64 {
    if part < k {
        return 0.0;
    }
    (0..k).map(|drawn| float(part - drawn) / float(n - drawn)).product()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_values() {
        // What the biased form makes 0.512.
        assert!((pass_hat_k(5, 4, 3).unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(pass_at_k(5, 4, 2), Ok(1.0));
        assert!((pass_at_k(5, 1, 3).unwrap() - 0.6).abs() < 1e-12);
        assert_eq!(pass_hat_k(5, 5, 5), Ok(1.0));
        assert_eq!(pass_hat_k(5, 2, 3), Ok(0.0));
        assert_eq!(pass_at_k(2, 2, 3), Err(Undefined::TooFew { n: 2, k: 3 }));
        assert_eq!(pass_hat_k(0, 0, 1), Err(Undefined::TooFew { n: 0, k: 1 }));
        assert_eq!(pass_at_k(5, 1, 0), Err(Undefined::NoTries));
        assert_eq!(Undefined::TooFew { n: 2, k: 3 }.to_string(), "n = 2 is less than k = 3");
    }

    proptest! {
        #[test]
        fn one_try_is_the_rate_and_more_tries_help_one_and_harm_the_other(
            n in 1u64..200, part in 0.0f64..=1.0, k in 1u64..200,
        ) {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below n")]
            let c = (float(n) * part) as u64;
            let rate = float(c) / float(n);
            prop_assert!((pass_at_k(n, c, 1).unwrap() - rate).abs() < 1e-12);
            prop_assert!((pass_hat_k(n, c, 1).unwrap() - rate).abs() < 1e-12);
            prop_assume!(k < n);
            let (at, hat) = (pass_at_k(n, c, k).unwrap(), pass_hat_k(n, c, k).unwrap());
            prop_assert!(at <= pass_at_k(n, c, k + 1).unwrap() + 1e-12);
            prop_assert!(hat >= pass_hat_k(n, c, k + 1).unwrap() - 1e-12);
            // What fails in all of them is what does not pass in any.
            prop_assert!((at + pass_hat_k(n, n - c, k).unwrap() - 1.0).abs() < 1e-12);
            // The mean over all ways to leave one trial out: no bias.
            let (with, without) = (rate, 1.0 - rate);
            let fewer = |c: u64| pass_hat_k(n - 1, c, k).unwrap();
            let mean = with * if c > 0 { fewer(c - 1) } else { 0.0 } + without * fewer(c.min(n - 1));
            prop_assert!((mean - hat).abs() < 1e-9, "{mean} {hat}");
        }
    }
}
