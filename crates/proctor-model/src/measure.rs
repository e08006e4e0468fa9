//! Figures about trials, as they are printed: metrics by group, comparisons, and what a number of
//! trials can show.

mod comparison;
mod metrics;
mod power;

pub use comparison::{
    COMPARISON_VERSION, Cell, CompareVerdict, ComparedMetric, ComparisonReport, Contrast, Flip,
    NonInferiority, PairTable, Unpaired,
};
pub use metrics::{
    FigureInterval, IntervalMethod, METRICS_VERSION, MetricFigure, MetricUnit, MetricsGroup,
    MetricsReport,
};
pub use power::{GatePower, MarginPower, POWER_VERSION, PowerDesign, PowerReport};
