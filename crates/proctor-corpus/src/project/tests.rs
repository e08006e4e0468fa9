//! Whole installations.
