//! What people and programs read: renderers of finished runs. Pure functions; no decisions.

mod inert;

pub use inert::inert;
