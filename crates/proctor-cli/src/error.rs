//! Errors that end a command: one place decides exit code and advice.

use std::fmt::Display;

use proctor_model::ExitCode;

use crate::printer::Printer;

/// An error that ends a command, with what to do about it.
#[derive(Debug)]
pub(crate) struct CommandError {
    code: ExitCode,
    message: String,
    hints: Vec<String>,
}

impl CommandError {
    /// Wrong usage, a refusal or an installation error: exit code 2.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { code: ExitCode::USAGE, message: message.to_string(), hints: Vec::new() }
    }

    /// The same error with the exit code that a command gives to its errors.
    #[must_use]
    pub(crate) fn with_code(self, code: ExitCode) -> Self {
        Self { code, ..self }
    }

    /// Adds advice, which is printed last.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What happened, for a report that goes on.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Prints it and gives the exit code.
    pub(crate) fn report(&self, printer: Printer) -> ExitCode {
        printer.error(&self.message, &self.hints);
        self.code
    }
}

/// Files that cannot be read or written, with their path (`fs-err` puts it in the message).
impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        Self::usage(error)
    }
}
