//! Every statistic beside scipy and statsmodels, and intervals beside what they promise.
//!
//! `tests/data/statistics.py` made the answers of the other side.

use proctor_model::recorded::report::Verdict;

use super::bootstrap::{Draws, bootstrap};
use super::interval::float;
use super::*;

const ANSWERS: &str = include_str!("../../tests/data/statistics.csv");

fn below(draws: &mut Draws, most: u64) -> u64 {
    ((draws.next() >> 32) * most) >> 32
}

/// Within 1e-9, and nothing where the other side has nothing.
fn same(ours: f64, theirs: f64) -> bool {
    (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0) || (ours.is_nan() && theirs.is_nan())
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// The figures of a table with four cells, drawn as in the script.
fn of_table(draws: &mut Draws) -> Vec<f64> {
    let cells: Vec<u64> = (0..4).map(|cell| below(draws, 60) + u64::from(cell != 1)).collect();
    let [a, b, c, d] = cells[..] else { unreachable!("four cells") };
    let mut table = Confusion::default();
    for (count, verdict, label) in [
        (a, Verdict::Pass, Label::Pass),
        (b, Verdict::Pass, Label::Fail),
        (c, Verdict::Fail, Label::Pass),
        (d, Verdict::Fail, Label::Fail),
    ] {
        (0..count).for_each(|_| table.add(verdict, label));
    }
    let kappa = table.kappa().expect("some of each");
    let (passed, total) = (a + b, a + b + c + d);
    let mut figures = vec![sign_test(b, c), mid_p(b, c)];
    figures.extend(ends(wilson(passed, total, Z_95).unwrap()));
    figures.extend(ends(clopper_pearson(passed, total, 0.05).unwrap()));
    figures.extend([kappa.value, kappa.interval.low, kappa.interval.high]);
    figures
}

/// The figures of values in clusters.
fn of_clusters(draws: &mut Draws) -> Vec<f64> {
    let (mut values, mut clusters, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 + below(draws, 6) {
        let count = 1 + below(draws, 4);
        let drawn: Vec<f64> = (0..count).map(|_| float(below(draws, 100))).collect();
        let low = drawn.iter().filter(|value| **value < 50.0).count() as u64;
        clusters.push(Cluster { sum: drawn.iter().sum(), count: float(count) });
        shares.push(Cluster { sum: float(low), count: float(count) });
        values.extend(drawn);
    }
    let mut figures = ends(mean_interval(&values).unwrap().1).to_vec();
    figures.push(clustered_error(&clusters).unwrap());
    figures.extend(ends(student(&clusters).unwrap()));
    figures.extend(ends(bootstrap(&clusters, 0.05, 499).unwrap()));
    figures.extend(ends(clustered_share(&shares).unwrap()));
    figures
}

fn figures(number: u64) -> Vec<f64> {
    let draws = &mut Draws::seeded(number);
    let mut figures = of_table(draws);
    let n = 1 + below(draws, 40);
    let (passed, k) = (below(draws, n + 1), 1 + below(draws, n));
    figures.extend([pass_at_k(n, passed, k).unwrap(), pass_hat_k(n, passed, k).unwrap()]);
    figures.extend(of_clusters(draws));
    let levels: Vec<f64> = (0..5).map(|_| float(1 + below(draws, 1000)) / 5000.0).collect();
    figures.extend(holm(&levels));
    let pairs = 1 + below(draws, 60);
    let first = float(1 + below(draws, 98)) / 100.0;
    let second = float(1 + below(draws, 98)) / 100.0;
    for design in [Design::Paired, Design::Unpaired] {
        figures.push(design.power(pairs, first, second, 0.05));
    }
    figures
}

#[test]
fn a_thousand_tables_as_scipy_and_statsmodels_have_them() {
    let mut rows = 0;
    for (number, line) in (0..).zip(ANSWERS.lines()) {
        let theirs: Vec<f64> = line.split(',').map(|value| value.parse().unwrap()).collect();
        let ours = figures(number);
        assert_eq!(ours.len(), theirs.len());
        for (place, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert!(same(*ours, *theirs), "row {number}, figure {place}: {ours} beside {theirs}");
        }
        rows += 1;
    }
    assert_eq!(rows, 1000);
}

/// How often the interval of Wilson holds the truth: over every outcome of `n` trials.
fn wilson_holds(n: u64, truth: f64) -> f64 {
    let holds = |c: u64| {
        let interval = wilson(c, n, Z_95).unwrap();
        interval.low <= truth && truth <= interval.high
    };
    let likely = |c: u64| special::binomial_cdf(c, n, truth);
    let point = |c: u64| likely(c) - if c > 0 { likely(c - 1) } else { 0.0 };
    (0..=n).filter(|c| holds(*c)).map(point).sum()
}

#[test]
fn wilson_holds_what_it_promises() {
    for n in [10, 30, 100] {
        let truths: Vec<f64> = (5..=95).map(|percent| float(percent) / 100.0).collect();
        let held = truths.iter().map(|truth| wilson_holds(n, *truth)).sum::<f64>();
        let mean = held / float(truths.len() as u64);
        assert!((0.94..0.965).contains(&mean), "n = {n}: {mean}");
    }
}

/// A number between 0 and 1.
fn uniform(draws: &mut Draws) -> f64 {
    float(draws.next() >> 11) / float(1 << 53)
}

fn share_of(sets: u64, holds: impl FnMut(u64) -> bool) -> f64 {
    float((0..sets).map(holds).filter(|held| *held).count() as u64) / float(sets)
}

#[test]
fn the_bootstrap_of_means_holds_what_it_promises() {
    // Waiting times are as skewed as what agents cost; their mean is 1.
    for size in [10, 30] {
        let draws = &mut Draws::seeded(size);
        let held = share_of(300, |_| {
            let values = (0..size).map(|_| -(1.0 - uniform(draws)).ln());
            let clusters = values.map(|sum| Cluster { sum, count: 1.0 }).collect::<Vec<_>>();
            let (interval, method) = mean_by_cluster(&clusters).unwrap();
            assert_eq!(method, MeanMethod::Bootstrap);
            interval.low <= 1.0 && 1.0 <= interval.high
        });
        assert!((0.91..0.975).contains(&held), "n = {size}: {held}");
    }
}

#[test]
fn intervals_by_cluster_hold_what_they_promise_where_others_do_not() {
    // Twenty prompts of very different difficulty, five trials each; half of all trials pass.
    let draws = &mut Draws::seeded(7);
    let (mut naive, mut means) = (0, 0);
    let sets = 2000;
    let inside = |interval: Interval| interval.low <= 0.5 && 0.5 <= interval.high;
    let held = share_of(sets, |_| {
        let clusters: Vec<Cluster> = (0..20)
            .map(|_| {
                let rate = uniform(draws);
                let passed = (0..5).filter(|_| uniform(draws) < rate).count() as u64;
                Cluster { sum: float(passed), count: 5.0 }
            })
            .collect();
        let passed: f64 = clusters.iter().map(|one| one.sum).sum();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let plain = wilson(passed as u64, 100, Z_95).unwrap();
        naive += u64::from(inside(plain));
        means += u64::from(inside(student(&clusters).unwrap()));
        inside(clustered_share(&clusters).unwrap())
    });
    let [naive, means] = [naive, means].map(|count| float(count) / float(sets));
    assert!((0.935..0.97).contains(&held), "{held}");
    assert!((0.935..0.965).contains(&means), "{means}");
    assert!(naive < 0.85, "the control: {naive}");
}

#[test]
fn paired_differences_by_cluster_hold_what_they_promise() {
    // Both sides pass with the same rate, which each prompt turns one way or the other.
    let draws = &mut Draws::seeded(11);
    let mut naive = 0;
    let held = share_of(1000, |_| {
        let mut pairs = Pairs::default();
        let mut clusters = Vec::new();
        for _ in 0..20 {
            let (first, second) = (uniform(draws), uniform(draws));
            let mut cluster = Cluster { sum: 0.0, count: 5.0 };
            for _ in 0..5 {
                let passes = (uniform(draws) < first, uniform(draws) < second);
                let (cell, change) = match passes {
                    (true, true) => (&mut pairs.both, 0.0),
                    (true, false) => (&mut pairs.first, 1.0),
                    (false, true) => (&mut pairs.second, -1.0),
                    (false, false) => (&mut pairs.neither, 0.0),
                };
                *cell += 1;
                cluster.sum += change;
            }
            clusters.push(cluster);
        }
        let (_, plain) = pairs.difference(Z_95).unwrap();
        naive += u64::from(plain.low <= 0.0 && 0.0 <= plain.high);
        let (_, interval) = clustered_difference(&pairs, &clusters).unwrap();
        interval.low <= 0.0 && 0.0 <= interval.high
    });
    assert!((0.93..0.975).contains(&held), "{held}");
    assert!(naive < 870, "the control: {naive}");
}
