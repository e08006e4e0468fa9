//! Colours by meaning.

use anstyle::{AnsiColor, Style};

/// What each part of a text report looks like. Colour only repeats what words already say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Styles {
    /// The word `passed`.
    pub passed: Style,
    /// The word `failed`.
    pub failed: Style,
    /// The word `error`: not the agent's fault.
    pub error: Style,
    /// The word `skipped`.
    pub skipped: Style,
    /// The word `warning`.
    pub warning: Style,
    /// What a line is about.
    pub subject: Style,
    /// The way out.
    pub hint: Style,
    /// What most readers do not need.
    pub quiet: Style,
}

impl Styles {
    /// No styles: the text alone.
    pub fn plain() -> Self {
        Self::default()
    }

    /// The 16 colours that every terminal has.
    pub fn coloured() -> Self {
        let bold = |colour: AnsiColor| colour.on_default().bold();
        Self {
            passed: bold(AnsiColor::Green),
            failed: bold(AnsiColor::Red),
            error: bold(AnsiColor::Magenta),
            skipped: bold(AnsiColor::Yellow),
            warning: bold(AnsiColor::Yellow),
            subject: Style::new().bold(),
            hint: AnsiColor::Cyan.on_default(),
            quiet: Style::new().dimmed(),
        }
    }
}
