//! The public face of the crate, held against the reference data where it is at hand.

#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod vectors;
