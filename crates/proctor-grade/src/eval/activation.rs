//! Activation: which skill was chosen for each prompt, and what that makes of a skill.
//!
//! [`ranked`] and [`fired`] turn what a surface found into [`Figures`], [`Figures::fill`] puts them
//! into the report of the skill, [`confusion`] adds the skills up. [`record`] is what the results
//! file keeps of a measurement, and [`replay`] the way back.

mod compare;
mod figures;
mod keep;
mod status;
#[cfg(test)]
mod tests;

pub use compare::{compare, too_few_to_compare};
pub use figures::{Figures, Subject, confusion, fired, proportion, ranked};
pub use keep::{record, replay};
pub use status::{settled, status};
