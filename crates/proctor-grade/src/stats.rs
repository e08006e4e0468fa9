//! Statistics of repeated and labelled runs. Each formula names its source; nothing here draws
//! random numbers, so the same counts give the same figures.

mod agreement;
mod interval;

pub use agreement::{Confusion, Kappa, Label};
pub use interval::{Interval, Z_95, wilson};
