//! Whole installations.

mod atomic;
mod fresh;
mod hostile;
mod install;
mod mcp;
mod update;
