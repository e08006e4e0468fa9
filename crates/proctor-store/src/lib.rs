//! What is kept between runs, and whether it may be believed.

pub mod eval;
pub mod evidence;
pub mod runs;
mod whole;
