//! Trials to events: slots, sessions, budgets, cancellation.
//!
//! Each way of testing is a module with a pure `plan` and a `trial` that carries one planned trial
//! out; [`pool`] places trials in slots and [`session`] drives one agent program, for all of them.
//! Nothing here prints: what happens is told through events.

pub mod archive;
pub mod conformance;
pub mod eval;
pub mod experiment;
mod lane;
mod money;
pub mod pool;
pub mod score;
pub mod session;
mod streams;
