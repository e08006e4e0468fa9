//! Activation on the surface `native`: stand-ins, shell commands that speak the protocol, and the
//! real agent programs with a pretended model.

mod arena;
mod command;
mod native;
mod real;
