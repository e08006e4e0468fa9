//! The only way to the terminal: data on standard output, everything else on standard error.

use std::io::{self, Write as _};

use anstream::{AutoStream, ColorChoice as StreamChoice};
use anstyle::{AnsiColor, Style};
use clap::ColorChoice;
use proctor_report::Styles;

/// Prints results and messages, with colours where they are wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Printer {
    choice: StreamChoice,
}

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HINT: Style = AnsiColor::Cyan.on_default().bold();

impl Printer {
    /// A printer that follows the user's choice; `auto` looks at `NO_COLOR` and the terminal.
    pub(crate) fn new(choice: ColorChoice) -> Self {
        let choice = match choice {
            ColorChoice::Auto => StreamChoice::Auto,
            ColorChoice::Always => StreamChoice::Always,
            ColorChoice::Never => StreamChoice::Never,
        };
        Self { choice }
    }

    /// The styles that standard output takes.
    pub(crate) fn styles(self) -> Styles {
        match AutoStream::new(io::stdout(), self.choice).current_choice() {
            StreamChoice::Never => Styles::plain(),
            _ => Styles::coloured(),
        }
    }

    /// Writes data to standard output as it is.
    ///
    /// A reader that has gone (`| head`) ends the program quietly with the exit code that the
    /// command itself would have had, which the caller passes on.
    pub(crate) fn data(self, text: &str) -> io::Result<()> {
        let mut stream = AutoStream::new(io::stdout().lock(), self.choice);
        written(stream.write_all(text.as_bytes()).and_then(|()| stream.flush()))
    }

    /// Lets `write` write to standard output as it is, whatever its length; otherwise like
    /// [`Printer::data`].
    #[expect(clippy::unused_self, reason = "the only way to the terminal")]
    pub(crate) fn bytes(
        self,
        write: impl FnOnce(&mut io::StdoutLock<'static>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut stream = io::stdout().lock();
        written(write(&mut stream).and_then(|()| stream.flush()))
    }

    /// A line about what is going on.
    pub(crate) fn note(self, message: &str) {
        self.line(Style::new(), "", message);
    }

    /// Something the user should act on.
    pub(crate) fn warning(self, message: &str) {
        self.line(WARNING, "warning: ", message);
    }

    /// What went wrong and what to do.
    pub(crate) fn error(self, message: &str, hints: &[String]) {
        self.line(ERROR, "error: ", message);
        for hint in hints {
            self.line(HINT, "hint: ", hint);
        }
    }

    fn line(self, style: Style, label: &str, message: &str) {
        let mut stream = AutoStream::new(io::stderr().lock(), self.choice);
        // A message that cannot be printed cannot be reported either.
        let _ = writeln!(stream, "{style}{label}{style:#}{}", proctor_report::inert(message));
    }
}

/// A reader that has gone wants no more; any other failure is told with the place.
fn written(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| {
            let message =
                format!("standard output cannot be written, and is not complete: {error}");
            io::Error::new(error.kind(), message)
        }),
    }
}
