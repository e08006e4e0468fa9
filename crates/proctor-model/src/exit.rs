//! Exit codes of the binary. Each way of testing assigns its own meaning to 1, 2 and 3.

/// A process exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExitCode(pub u8);

impl ExitCode {
    /// Everything that was asked for held.
    pub const SUCCESS: Self = Self(0);
    /// A check, harness or fixture failed, or drift was found.
    pub const FAILURE: Self = Self(1);
    /// Wrong usage, a refusal or an installation error.
    pub const USAGE: Self = Self(2);
    /// A bug of ours.
    pub const BUG: Self = Self(101);
    /// Interrupted by the user.
    pub const INTERRUPTED: Self = Self(130);
}
