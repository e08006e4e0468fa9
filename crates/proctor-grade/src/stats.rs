//! Statistics of repeated, paired and labelled runs. Each formula names its source.
//!
//! The same counts give the same figures, whatever their order: what a bootstrap draws follows from
//! the sizes of the data. `docs/statistics.md` says which of these stands where in a report.

mod agreement;
mod bootstrap;
mod cluster;
mod interval;
mod mean;
mod paired;
mod power;
mod repeated;
mod special;
#[cfg(test)]
mod vectors;

pub use agreement::{Confusion, Kappa, Label};
pub use bootstrap::{MeanMethod, mean_by_cluster};
pub use cluster::{
    Cluster, clustered_difference, clustered_error, clustered_share, mean_of, student,
};
pub use interval::{Interval, Z_95, clopper_pearson, wilson};
pub use mean::mean_interval;
pub use paired::{Pairs, holm, least_decisive, mid_p, sign_test};
pub use power::{
    Design, Direction, MOST_TRIALS, clearest, least_for_margin, least_for_rate, mcnemar_power,
    passes_for_rate, proportions_power, rate_power,
};
pub use repeated::{Undefined, pass_at_k, pass_hat_k};
