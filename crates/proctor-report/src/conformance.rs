//! The report of `proctor conformance test`.

mod json;
mod next_step;
mod text;

pub use json::{render_json, schema};
pub use text::render_text;
