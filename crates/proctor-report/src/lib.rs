//! Finished runs for readers: text, JSON and the JSON Schema of it.
//!
//! Renderers are pure functions from the model to text. They decide nothing: every verdict, reason
//! and count is in what they are given. Whatever an agent, a fixture or a harness wrote passes
//! through [`inert()`], so that a report never drives the terminal it is read on.

pub mod attack;
pub mod conformance;
pub mod eval;
pub mod experiment;
mod inert;
pub mod judge;
mod line;
pub mod measure;
pub mod score;
mod styles;
mod xml;

pub use inert::{inert, inert_json};
pub use line::one_line;
pub use styles::Styles;
