//! What Proctor's own tests share. Nothing here ships: the crate is only ever a dev-dependency.
//!
//! - [`fake_model`]: a scripted stand-in for the model APIs that agent programs call, on loopback.
//! - [`harness`]: finds the pinned real agent programs and gives each run a sealed home.
//! - [`clickhouse`]: ClickHouse's HTTP interface, with faults, on loopback.
//! - [`context`]: runs the `proctor` binary in a sealed project and makes its output comparable.
//!
//! The functions panic when the surroundings are not what a test needs: a panic is how a test fails.

pub mod clickhouse;
pub mod context;
pub mod fake_model;
pub mod harness;

pub use context::{Run, TestContext};
pub use fake_model::{FakeModel, Fault, Script, Turn};
pub use harness::SealedHome;
