//! End-to-end tests of the binary.

mod conformance_install;
mod conformance_test;
mod corpus;
mod real_harness;
mod score;
mod score_examples;
mod transcript;
