//! End-to-end tests of the binary.

mod conformance_install;
mod conformance_test;
mod corpus;
mod eval_import;
mod eval_lint;
mod eval_native;
mod eval_project;
mod eval_run;
mod plugin;
mod real_harness;
mod score;
mod score_examples;
mod transcript;
