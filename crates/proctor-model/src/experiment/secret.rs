//! Text that must not leave.

use std::fmt;

/// The value of a resolved variable. It has no `Display` and no `Serialize`, and its `Debug` shows
/// nothing of it, so that no message, log or file can hold it by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    /// Takes a value into custody.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretText(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_it_is_shown() {
        let secret = SecretText::new("hunter2");
        assert_eq!(format!("{secret:?}"), "SecretText(..)");
        assert_eq!(secret.expose(), "hunter2");
    }
}
