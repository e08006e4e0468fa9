//! Figures about trials: metrics by group, comparisons of two runs or groups, and what a number of
//! trials can show before it is paid for.
//!
//! A trial that is an error says nothing about the agent: it is counted, and is in no figure.

mod compare;
mod contrast;
mod key;
mod metric;
mod metrics;
mod pool;
mod power;
#[cfg(test)]
mod tests;

pub use compare::{CompareError, Gate, against_values, runs_against};
pub use key::{Filter, GroupKey, UnknownKey};
pub use metric::{Metric, UnknownMetric};
pub use metrics::metrics;
pub use pool::{Pool, PooledTrial};
pub use power::{PowerPlan, power};

/// At most twelve digits: what is beyond them differs from one machine to the next.
fn tidy(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}
