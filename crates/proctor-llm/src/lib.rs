//! Asking a language model one question, within limits, and getting one answer.
//!
//! Nothing here knows what the questions are about. [`connect`] makes a [`Client`] from settings
//! that allow it; everybody else sees the trait [`Model`], whose calls block.
//!
//! | module | what it knows |
//! |---|---|
//! | `target` | where the settings point, and whether a key may go there |
//! | `dialect` | how a provider words questions and answers |
//! | `wire` | one HTTP request, bounded in time and size |
//! | `guard` | what is spent, and what may still be |
//! | `client` | repeats, and answers that are known already |

mod ask;
mod client;
mod dialect;
mod error;
mod guard;
mod pace;
mod target;
#[cfg(test)]
mod tests;
mod wire;

pub use ask::{Ask, Model, Price, ReplySchema, Said, Tokens};
pub use client::{Client, connect};
pub use error::{AskError, NoClient};
