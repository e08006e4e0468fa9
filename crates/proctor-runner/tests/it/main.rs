//! Runners of skill evals with real processes: stand-ins, the scripted agent, and the real agent
//! programs with a pretended model.

mod activation;
mod command;
mod flow;
mod grading;
mod judge;
mod native;
mod plugin_eval;
mod real;
mod scene;
