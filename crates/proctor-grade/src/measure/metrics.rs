//! Metrics by group.

use std::collections::{BTreeMap, BTreeSet};

use proctor_model::measure::{
    FigureInterval, IntervalMethod, METRICS_VERSION, MetricFigure, MetricsGroup, MetricsReport,
};
use proctor_model::run::TrialStatus;

use super::key::{Filter, GroupKey};
use super::metric::{Metric, Seen, number};
use super::pool::{Pool, PooledTrial};
use super::tidy;
use crate::stats::{
    Cluster, Interval, MeanMethod, Z_95, clustered_share, mean_by_cluster, mean_of, pass_at_k,
    pass_hat_k, wilson,
};

/// The figures of the trials in `pool`, which `filters` have narrowed already.
pub fn metrics(
    subject: &str,
    pool: Pool,
    filters: &[Filter],
    keys: &[GroupKey],
    wanted: &[Metric],
) -> MetricsReport {
    let mut groups: BTreeMap<Vec<Option<String>>, Vec<&PooledTrial>> = BTreeMap::new();
    for trial in &pool.trials {
        groups.entry(keys.iter().map(|key| key.of(trial)).collect()).or_default().push(trial);
    }
    let groups = groups.into_iter().map(|(values, trials)| {
        let group = keys.iter().map(ToString::to_string).zip(values).collect();
        of_group(group, &trials, wanted)
    });
    MetricsReport {
        schema_version: METRICS_VERSION,
        subject: subject.to_owned(),
        groups: groups.collect(),
        runs: pool.runs,
        group_by: keys.iter().map(ToString::to_string).collect(),
        filters: filters.iter().map(ToString::to_string).collect(),
        notes: pool.notes,
    }
}

fn of_group(
    group: BTreeMap<String, Option<String>>,
    trials: &[&PooledTrial],
    wanted: &[Metric],
) -> MetricsGroup {
    let graded: Vec<&PooledTrial> =
        trials.iter().copied().filter(|trial| trial.record.status != TrialStatus::Error).collect();
    let prompts: BTreeSet<&str> = graded.iter().map(|trial| prompt(trial)).collect();
    let errors = trials.len() - graded.len();
    MetricsGroup {
        group,
        n: graded.len() as u64,
        errors: errors as u64,
        prompts: prompts.len() as u64,
        metrics: wanted.iter().map(|metric| figure(*metric, &graded)).collect(),
    }
}

fn prompt(trial: &PooledTrial) -> &str {
    &trial.record.coordinates.prompt_id
}

/// What goes together in a set of trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    /// All trials of a prompt: there are several prompts, and one has several trials.
    Prompts,
    /// All of a trial.
    Trials,
}

impl Unit {
    /// Of trials with these prompts.
    pub(super) fn of<'a>(prompts: impl Iterator<Item = &'a str>) -> Self {
        let (mut trials, mut different) = (0, BTreeSet::new());
        for prompt in prompts {
            trials += 1;
            different.insert(prompt);
        }
        if different.len() > 1 && trials > different.len() { Self::Prompts } else { Self::Trials }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Trials => "trials",
        }
    }

    /// Sums up what was seen of trials, of which the prompts stand beside it.
    pub(super) fn clusters<'a>(
        self,
        seen: impl Iterator<Item = (&'a str, f64, u64)>,
    ) -> Vec<Cluster> {
        let mut clusters: BTreeMap<(&str, usize), Cluster> = BTreeMap::new();
        for (index, (prompt, sum, count)) in seen.enumerate().filter(|(_, (.., count))| *count > 0)
        {
            let key = match self {
                Self::Prompts => (prompt, 0),
                Self::Trials => ("", index),
            };
            let cluster = clusters.entry(key).or_default();
            cluster.sum += sum;
            cluster.count += number(count);
        }
        clusters.into_values().collect()
    }
}

fn figure(metric: Metric, graded: &[&PooledTrial]) -> MetricFigure {
    let mut figure = MetricFigure {
        metric: metric.to_string(),
        unit: metric.unit(),
        value: None,
        undefined: None,
        n: 0,
        of: "trials".to_owned(),
        successes: None,
        missing: 0,
        interval: None,
        clustered: None,
    };
    if graded.is_empty() {
        figure.undefined = Some("no trial passed or failed".to_owned());
        return figure;
    }
    match metric {
        Metric::PassAt(k) => tries(k, pass_at_k, graded, &mut figure),
        Metric::PassHat(k) => tries(k, pass_hat_k, graded, &mut figure),
        Metric::TestPassRate | Metric::PassRate => rate(metric, graded, &mut figure),
        _ => mean(metric, graded, &mut figure),
    }
    figure.value = figure.value.map(tidy);
    figure
}

/// What the trials say, with their prompts; fills in how much that is.
fn look<'a>(
    metric: Metric,
    graded: &[&'a PooledTrial],
    figure: &mut MetricFigure,
) -> Vec<(&'a str, f64, u64)> {
    let look = |trial: &&'a PooledTrial| {
        let Seen { sum, count, missing } = metric.of(&trial.record);
        figure.n += count;
        figure.missing += missing;
        (prompt(trial), sum, count)
    };
    graded.iter().map(look).collect()
}

fn rate(metric: Metric, graded: &[&PooledTrial], figure: &mut MetricFigure) {
    if metric == Metric::TestPassRate {
        "tests".clone_into(&mut figure.of);
    }
    let seen = look(metric, graded, figure);
    let unit = Unit::of(graded.iter().map(|trial| prompt(trial)));
    let clusters = unit.clusters(seen.iter().copied());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let successes = seen.iter().map(|(_, sum, _)| *sum as u64).sum();
    let Some(plain) = wilson(successes, figure.n, Z_95) else {
        figure.undefined = Some("no test has a result".to_owned());
        return;
    };
    figure.successes = Some(successes);
    figure.value = mean_of(&clusters);
    let of = figure.of.clone();
    figure.interval = Some(interval(plain, IntervalMethod::Wilson, figure.n, &of));
    if clusters.iter().any(|cluster| cluster.count > 1.0) {
        figure.clustered = clustered_share(&clusters).map(|found| {
            let count = clusters.len() as u64;
            interval(found, IntervalMethod::WilsonClustered, count, unit.as_str())
        });
    }
}

fn mean(metric: Metric, graded: &[&PooledTrial], figure: &mut MetricFigure) {
    let seen = look(metric, graded, figure);
    let unit = Unit::of(seen.iter().filter(|(.., count)| *count > 0).map(|(prompt, ..)| *prompt));
    let clusters = unit.clusters(seen.into_iter());
    figure.value = mean_of(&clusters);
    if figure.value.is_none() {
        figure.undefined = Some("the agent does not report it".to_owned());
        return;
    }
    (figure.interval, figure.undefined) = mean_interval(&clusters, unit.as_str());
}

/// The interval of a mean, or why there is none.
pub(super) fn mean_interval(
    clusters: &[Cluster],
    unit: &str,
) -> (Option<FigureInterval>, Option<String>) {
    match mean_by_cluster(clusters) {
        None => (None, Some(format!("an interval needs two {unit}"))),
        Some((found, method)) => {
            let method = match method {
                MeanMethod::Bootstrap => IntervalMethod::Bootstrap,
                MeanMethod::Student => IntervalMethod::Student,
            };
            (Some(interval(found, method, clusters.len() as u64, unit)), None)
        }
    }
}

/// How tries come out: for each variant from its trials, then the mean over variants.
fn tries(
    k: u64,
    estimate: fn(u64, u64, u64) -> Result<f64, crate::stats::Undefined>,
    graded: &[&PooledTrial],
    figure: &mut MetricFigure,
) {
    let mut variants: BTreeMap<&str, (&str, u64, u64)> = BTreeMap::new();
    for trial in graded {
        let record = &trial.record;
        let (_, n, c) = variants.entry(&record.variant_id).or_insert((prompt(trial), 0, 0));
        *n += 1;
        *c += u64::from(record.status == TrialStatus::Pass);
    }
    figure.n = variants.len() as u64;
    "variants".clone_into(&mut figure.of);
    let mut seen = Vec::new();
    for (variant, (prompt, n, c)) in variants {
        match estimate(n, c, k) {
            Ok(value) => seen.push((prompt, value, 1)),
            Err(reason) => {
                figure.undefined = Some(format!("{variant}: {reason}"));
                return;
            }
        }
    }
    let unit = Unit::of(seen.iter().map(|(prompt, ..)| *prompt));
    let clusters = unit.clusters(seen.into_iter());
    figure.value = mean_of(&clusters);
    let name = match unit {
        Unit::Prompts => "prompts",
        Unit::Trials => "variants",
    };
    (figure.interval, figure.undefined) = mean_interval(&clusters, name);
    let Some(found) = &mut figure.interval else { return };
    if found.low >= found.high {
        let reason = format!("all {name} come to the same, which does not make it certain");
        (figure.interval, figure.undefined) = (None, Some(reason));
        return;
    }
    // Student's distribution does not know that these are shares.
    (found.low, found.high) = (found.low.max(0.0), found.high.min(1.0));
}

pub(super) fn interval(
    found: Interval,
    method: IntervalMethod,
    clusters: u64,
    unit: &str,
) -> FigureInterval {
    FigureInterval {
        low: tidy(found.low),
        high: tidy(found.high),
        method,
        clusters,
        unit: unit.to_owned(),
    }
}
