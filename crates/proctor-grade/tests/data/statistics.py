"""Makes statistics.csv beside it: what scipy and statsmodels say about 1,000 random tables.

    python -m venv venv && venv/bin/pip install scipy==1.17.1 statsmodels==0.15.0 numpy==2.4.6
    venv/bin/python statistics.py

The tables are drawn by SplitMix64 from the number of the row, here and in src/stats/vectors.rs alike,
so that only the answers are in the file. `scipy.stats.bootstrap` is given the same draws as ours.
"""

import csv
import pathlib

import numpy as np
import scipy.stats
import statsmodels.api as sm
from scipy.stats import _resampling
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import power_proportions_2indep, proportion_confint

ROWS = 1000
RESAMPLES = 499
MASK = (1 << 64) - 1


class Draws:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = ((self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
        return mixed ^ (mixed >> 31)

    def below(self, most):
        return ((self.next() >> 32) * most) >> 32


def bits(value):
    return int(np.float64(value).view(np.uint64))


def bca(clusters):
    """scipy's BCa interval of a ratio of sums, over the indices that ours draws."""
    clusters = sorted(clusters, key=lambda one: (one[1], one[0]))
    draws = Draws(len(clusters))
    for _, count in clusters:
        draws = Draws(draws.next() ^ bits(count))
    size = len(clusters)
    indices = np.array([[draws.below(size) for _ in range(size)] for _ in range(RESAMPLES)])

    def integers(rng, low, high=None, size=None, **rest):
        return indices

    original = _resampling.rng_integers
    _resampling.rng_integers = integers
    try:
        sums, counts = (np.array(column, dtype=float) for column in zip(*clusters))
        result = scipy.stats.bootstrap(
            (sums, counts),
            lambda s, c, axis=-1: s.sum(axis=axis) / c.sum(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=RESAMPLES,
            method="BCa",
        )
    finally:
        _resampling.rng_integers = original
    return result.confidence_interval


def mcnemar_power(n, gained, lost, level):
    """Every outcome of n pairs, by hand."""
    power = 0.0
    for count in range(n + 1):
        few = np.arange(count + 1)
        p = np.minimum(1, 2 * scipy.stats.binom.cdf(np.minimum(few, count - few), count, 0.5))
        inside = scipy.stats.binom.pmf(few, count, gained / (gained + lost))[p <= level].sum()
        power += scipy.stats.binom.pmf(count, n, gained + lost) * inside
    return power


def row(number):
    draws = Draws(number)
    a, b, c, d = (draws.below(60) + (i != 1) for i in range(4))
    total = a + b + c + d
    exact = mcnemar([[a, b], [c, d]], exact=True).pvalue
    few = min(b, c)
    middle = 1.0
    if b + c:
        tail = 2 * scipy.stats.binom.cdf(few, b + c, 0.5)
        middle = min(1, tail - scipy.stats.binom.pmf(few, b + c, 0.5))
    wilson = proportion_confint(a + b, total, method="wilson")
    exact_interval = proportion_confint(a + b, total, method="beta")
    kappa = cohens_kappa([[a, b], [c, d]])
    # Ours are cut to what kappa can be.
    ends = np.clip([kappa.kappa_low, kappa.kappa_upp], -1, 1)

    n = 1 + draws.below(40)
    passed, k = draws.below(n + 1), 1 + draws.below(n)
    hypergeometric = scipy.stats.hypergeom(n, passed, k)
    at, hat = 1 - hypergeometric.pmf(0), hypergeometric.pmf(k)

    values, labels, clusters, shares = [], [], [], []
    for label in range(5 + draws.below(6)):
        count = 1 + draws.below(4)
        drawn = [float(draws.below(100)) for _ in range(count)]
        values += drawn
        labels += [label] * count
        clusters.append((sum(drawn), float(count)))
        shares.append(sum(value < 50 for value in drawn))
    values = np.array(values)
    student = scipy.stats.ttest_1samp(values, 0).confidence_interval()
    options = {"cov_type": "cluster", "cov_kwds": {"groups": np.array(labels)}, "use_t": True}
    ones = np.ones(len(values))
    fit = sm.OLS(values, ones).fit(**options)
    by_cluster = fit.conf_int()[0]
    interval = bca(clusters)

    outcomes = (values < 50).astype(float)
    share, size, groups = outcomes.mean(), len(values), len(clusters)
    error = sm.OLS(outcomes, ones).fit(**options).bse[0]
    simple = share * (1 - share) / (size - 1)
    design = max(1, error**2 / simple) if simple > 0 else 1
    freedom = scipy.stats.t.ppf(0.975, size - 1) / scipy.stats.t.ppf(0.975, groups - 1)
    effective = size / design * freedom**2
    clustered = proportion_confint(share * effective, effective, method="wilson")

    level = [(1 + draws.below(1000)) / 5000 for _ in range(5)]
    holm = multipletests(level, method="holm")[1]

    pairs = 1 + draws.below(60)
    first, second = ((1 + draws.below(98)) / 100 for _ in range(2))
    gained, lost = second * (1 - first), first * (1 - second)
    paired = mcnemar_power(pairs, gained, lost, 0.05)
    unpaired = power_proportions_2indep(
        second - first, first, pairs, ratio=1, alpha=0.05, return_results=False
    )
    return [
        exact, middle, *wilson, *exact_interval, kappa.kappa, *ends,
        at, hat, *student, fit.bse[0], *by_cluster, *interval, *clustered, *holm, paired, unpaired,
    ]  # fmt: skip


def main():
    path = pathlib.Path(__file__).with_name("statistics.csv")
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for number in range(ROWS):
            writer.writerow(f"{float(value):.11g}" for value in row(number))


if __name__ == "__main__":
    main()
