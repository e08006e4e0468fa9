//! How verdicts agree with the labels of somebody who knows.

use proctor_model::recorded::report::Verdict;

use super::interval::{Interval, Z_95, float, wilson};

/// What somebody who knows says about a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Label {
    /// The answer is right.
    Pass,
    /// The answer is wrong.
    Fail,
}

/// How many runs with each label came to each verdict.
///
/// Rates and kappa are about the runs that passed or failed. A run that is `unknown` or `error` was
/// not judged; it is counted ([`Confusion::undecided`]) and is in no rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confusion {
    /// By verdict in the order of [`Verdict::ALL`], then pass and fail.
    counts: [[u64; 2]; 4],
}

impl Confusion {
    /// Counts one more run.
    pub fn add(&mut self, verdict: Verdict, label: Label) {
        *self.cell(verdict, label) += 1;
    }

    /// Adds the runs of another table.
    pub fn merge(&mut self, other: &Self) {
        for verdict in Verdict::ALL {
            for label in [Label::Pass, Label::Fail] {
                *self.cell(verdict, label) += other.of(verdict, label);
            }
        }
    }

    fn cell(&mut self, verdict: Verdict, label: Label) -> &mut u64 {
        let [pass, fail] = match verdict {
            Verdict::Error => &mut self.counts[0],
            Verdict::Fail => &mut self.counts[1],
            Verdict::Unknown => &mut self.counts[2],
            Verdict::Pass => &mut self.counts[3],
        };
        match label {
            Label::Pass => pass,
            Label::Fail => fail,
        }
    }

    /// How many runs with this label came to this verdict.
    pub fn of(&self, verdict: Verdict, label: Label) -> u64 {
        *self.clone().cell(verdict, label)
    }

    /// Runs with this verdict.
    pub fn with_verdict(&self, verdict: Verdict) -> u64 {
        self.of(verdict, Label::Pass) + self.of(verdict, Label::Fail)
    }

    /// Runs that passed or failed.
    pub fn compared(&self) -> u64 {
        self.with_verdict(Verdict::Pass) + self.with_verdict(Verdict::Fail)
    }

    /// Runs that are `unknown` or `error`.
    pub fn undecided(&self) -> u64 {
        self.with_verdict(Verdict::Unknown) + self.with_verdict(Verdict::Error)
    }

    /// Compared runs of which the verdict is the label.
    pub fn agreeing(&self) -> u64 {
        self.of(Verdict::Pass, Label::Pass) + self.of(Verdict::Fail, Label::Fail)
    }

    /// The 95 % interval for the share of agreeing runs; `None` when none was compared.
    pub fn agreement(&self) -> Option<Interval> {
        wilson(self.agreeing(), self.compared(), Z_95)
    }

    /// Cohen's kappa: agreement beyond what chance gives, 1 for full and 0 for no more than chance.
    /// `None` when chance alone gives full agreement (all verdicts and all labels are the same) or
    /// nothing was compared.
    ///
    /// J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological
    /// Measurement 20 (1960), 37-46. The interval is the normal one with the large-sample variance
    /// of J. L. Fleiss, J. Cohen and B. S. Everitt, "Large Sample Standard Errors of Kappa and
    /// Weighted Kappa", Psychological Bulletin 72 (1969), 323-327, cut to -1 and 1. That variance
    /// can be nothing, as for full agreement; the interval then comes from Wilson's of the agreement.
    pub fn kappa(&self) -> Option<Kappa> {
        if self.compared() == 0 || self.chance_is_everything() {
            return None;
        }
        let runs = float(self.compared());
        let shares = [Verdict::Pass, Verdict::Fail].map(|verdict| {
            [Label::Pass, Label::Fail].map(|label| float(self.of(verdict, label)) / runs)
        });
        let of_verdict = shares.map(|[pass, fail]| pass + fail);
        let of_label = [0, 1].map(|label| shares[0][label] + shares[1][label]);
        let by_chance = of_verdict[0] * of_label[0] + of_verdict[1] * of_label[1];
        let value = (shares[0][0] + shares[1][1] - by_chance) / (1.0 - by_chance);
        let rest = 1.0 - value;
        let mut sum = -(value - by_chance * rest).powi(2);
        for verdict in [0, 1] {
            for label in [0, 1] {
                let weight = if verdict == label {
                    1.0 - (of_verdict[verdict] + of_label[verdict]) * rest
                } else {
                    (of_label[verdict] + of_verdict[label]) * rest
                };
                sum += shares[verdict][label] * weight.powi(2);
            }
        }
        let error = (sum.max(0.0) / runs).sqrt() / (1.0 - by_chance);
        // Few or one-sided answers can have no variance at all, which is no certainty: then the
        // interval is that of the agreement, beyond the same chance.
        let beyond = |agreement: f64| (agreement - by_chance) / (1.0 - by_chance);
        let (low, high) = match self.agreement() {
            Some(agreement) if error < 1e-9 => (beyond(agreement.low), beyond(agreement.high)),
            _ => (value - Z_95 * error, value + Z_95 * error),
        };
        let interval = Interval { low: low.max(-1.0), high: high.min(1.0) };
        Some(Kappa { value, interval })
    }

    /// Whether all compared runs are in one cell of agreement, told from counts and not from
    /// rounded shares.
    fn chance_is_everything(&self) -> bool {
        [(Verdict::Pass, Label::Pass), (Verdict::Fail, Label::Fail)]
            .into_iter()
            .any(|(verdict, label)| self.of(verdict, label) == self.compared())
    }
}

/// Cohen's kappa.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kappa {
    /// From -1 to 1.
    pub value: f64,
    /// The 95 % interval.
    pub interval: Interval,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table([pass_pass, pass_fail, fail_pass, fail_fail]: [u64; 4]) -> Confusion {
        let mut table = Confusion::default();
        *table.cell(Verdict::Pass, Label::Pass) = pass_pass;
        *table.cell(Verdict::Pass, Label::Fail) = pass_fail;
        *table.cell(Verdict::Fail, Label::Pass) = fail_pass;
        *table.cell(Verdict::Fail, Label::Fail) = fail_fail;
        table
    }

    #[test]
    fn everything_is_counted() {
        let mut table = table([3, 1, 2, 4]);
        for verdict in [Verdict::Unknown, Verdict::Error] {
            table.add(verdict, Label::Pass);
        }
        assert_eq!((table.compared(), table.agreeing(), table.undecided()), (10, 7, 2));
        let mut twice = table;
        twice.merge(&table);
        assert_eq!((twice.compared(), twice.of(Verdict::Error, Label::Pass)), (20, 2));
    }

    /// Values and intervals of `cohens_kappa` in statsmodels 0.14, which has the same variance.
    #[test]
    fn known_kappas() {
        for (counts, kappa, low, high) in [
            ([20, 5, 10, 15], 0.4, 0.151_092_290, 0.648_907_710),
            ([45, 15, 25, 15], 0.130_434_783, -0.062_938_278, 0.323_807_843),
            ([25, 35, 5, 35], 0.259_259_259, 0.108_028_964, 0.410_489_555),
            ([428, 13, 100, 30], 0.263_461_297, 0.173_179_621, 0.353_742_972),
            ([1, 2, 3, 4], -0.086_956_522, -0.678_603_307, 0.504_690_264),
        ] {
            let found = table(counts).kappa().expect("defined");
            assert!((found.value - kappa).abs() < 1e-9, "{counts:?}: {found:?}");
            assert!((found.interval.low - low).abs() < 1e-9, "{counts:?}: {found:?}");
            assert!((found.interval.high - high).abs() < 1e-9, "{counts:?}: {found:?}");
        }
    }

    /// By hand: Wilson's interval of the agreement, less chance (here one half), over one half.
    #[test]
    fn no_variance_is_no_certainty() {
        for (counts, kappa, low, high) in [
            ([50, 0, 0, 50], 1.0, 0.926_013_004, 1.0),
            ([1, 0, 0, 1], 1.0, -0.315_239_545, 1.0),
            ([1, 1, 0, 0], 0.0, -0.810_937_589, 0.810_937_589),
        ] {
            let found = table(counts).kappa().expect("defined");
            assert!((found.value - kappa).abs() < 1e-9, "{counts:?}: {found:?}");
            assert!((found.interval.low - low).abs() < 1e-8, "{counts:?}: {found:?}");
            assert!((found.interval.high - high).abs() < 1e-8, "{counts:?}: {found:?}");
        }
    }

    #[test]
    fn kappa_is_undefined_without_variety() {
        for counts in [[0, 0, 0, 0], [9, 0, 0, 0], [0, 0, 0, 9]] {
            assert_eq!(table(counts).kappa(), None);
        }
        assert!(table([9, 0, 1, 0]).kappa().is_some());
        assert_eq!(table([0, 0, 0, 0]).agreement(), None);
    }

    proptest! {
        #[test]
        fn kappa_stays_in_its_bounds(counts in prop::array::uniform4(0u64..500)) {
            let table = table(counts);
            if let Some(Kappa { value, interval }) = table.kappa() {
                prop_assert!((-1.0..=1.0).contains(&value));
                prop_assert!(-1.0 <= interval.low && interval.low <= value + 1e-12);
                prop_assert!(value <= interval.high + 1e-12 && interval.high <= 1.0);
            }
        }
    }
}
