//! .NET regular expressions, for the patterns of fixtures.
//!
//! Fixtures are written for .NET, and a pattern that quietly means something else gives a quietly
//! wrong verdict. No engine for Rust reads this dialect, and none works on UTF-16 code units, where
//! `^.$` does not match an emoji, `\w` is no letter beyond the basic plane and `\b` knows
//! the zero-width joiners. So this is a small backtracking engine of its own: parser, program,
//! matcher, as .NET documents them, with a deadline inside its loop.
//!
//! What is left out is refused by name, never approximated: character class subtraction, balancing
//! groups, conditional groups, the explicit-capture option and right-to-left mode.
//! No option is on at the start. Case is folded as .NET does for the invariant culture: two
//! characters are the same if their simple lowercase is, except that `i` and `I` pair only with
//! each other (so `(?i)k` matches U+212A and `(?i)s` does not match U+017F).

mod ast;
mod blocks;
mod class;
mod escape;
mod matcher;
mod parse;
mod program;
#[cfg(test)]
mod tests;
mod unicode;

use std::time::{Duration, Instant};

use program::Program;

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    program: Program,
}

/// Why a pattern cannot be used. Positions count UTF-16 code units from 0, as .NET's messages do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A valid construct that this engine leaves out.
    #[error("unsupported construct: {construct} at {at}")]
    Unsupported {
        /// Its name in .NET's documentation.
        construct: &'static str,
        /// Where it starts.
        at: usize,
    },
    /// Not a .NET regular expression.
    #[error("invalid pattern: {reason} at {at}")]
    Invalid {
        /// What is wrong.
        reason: String,
        /// Where.
        at: usize,
    },
    /// A pattern beyond the limits of this engine.
    #[error("pattern is too large: {what}, and the limit is {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much is allowed.
        limit: usize,
    },
}

/// Why a search did not come to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unfinished {
    /// The time was up.
    #[error("pattern took longer than {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The alternatives to come back to outgrew their limit.
    #[error("pattern needs more than {0} places to come back to")]
    OutOfMemory(usize),
}

impl Pattern {
    /// Compiles `pattern`.
    pub fn new(pattern: &str) -> Result<Self, PatternError> {
        let units: Vec<u16> = pattern.encode_utf16().collect();
        let parsed = parse::parse(&units)?;
        Ok(Self { program: program::compile(&parsed) })
    }

    /// Where the first match in `text` starts, in code units; `None` without a match. Gives up
    /// after `limit`.
    pub fn find(&self, text: &Text, limit: Duration) -> Result<Option<usize>, Unfinished> {
        matcher::find(&self.program, &text.units, limit, Instant::now())
    }
}

/// A text as .NET sees it: UTF-16 code units.
#[derive(Debug)]
pub struct Text {
    units: Vec<u16>,
}

impl Text {
    /// Converts `text`.
    pub fn new(text: &str) -> Self {
        Self { units: text.encode_utf16().collect() }
    }

    /// The line, from 1, of a position in code units. Lines end with `\n`.
    pub fn line(&self, at: usize) -> usize {
        self.units.iter().take(at).filter(|unit| **unit == u16::from(b'\n')).count() + 1
    }
}
