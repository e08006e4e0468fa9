//! Runners of skill evals with real processes: stand-ins, the scripted agent, and the real agent
//! programs with a pretended model.

mod command;
mod flow;
mod native;
mod plugin_eval;
mod real;
mod scene;
