//! The growing list of what is wrong in one file.

use camino::{Utf8Path, Utf8PathBuf};
use proctor_model::{Diagnostic, Diagnostics, Severity};

/// How many mistakes of one file are listed. The rest is counted, so that a hostile file of a
/// million mistakes costs neither memory nor a screen.
pub const MAX_LISTED: usize = 100;

/// Collects the mistakes of one file.
#[derive(Debug)]
pub struct Problems {
    file: Utf8PathBuf,
    listed: Vec<Diagnostic>,
    unlisted: usize,
    unlisted_errors: bool,
}

impl Problems {
    /// No mistakes so far; `file` is named as the user would name it.
    pub fn new(file: &Utf8Path) -> Self {
        Self { file: file.to_owned(), listed: Vec::new(), unlisted: 0, unlisted_errors: false }
    }

    /// Adds a mistake and puts the file's name to it.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(diagnostic.in_file(&self.file));
        } else {
            self.unlisted += 1;
            self.unlisted_errors |= diagnostic.severity == Severity::Error;
        }
    }

    /// Adds an error, and spends the words on it only when it will be listed: for mistakes that a
    /// hostile file can repeat without end.
    pub fn push_error(&mut self, error: impl FnOnce() -> Diagnostic) {
        if self.listed.len() < MAX_LISTED {
            self.push(error());
        } else {
            self.unlisted += 1;
            self.unlisted_errors = true;
        }
    }

    /// Whether an error was pushed.
    pub fn has_errors(&self) -> bool {
        let errors = self.listed.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        errors || self.unlisted_errors
    }

    /// The mistakes in the order of the text; when there were more than [`MAX_LISTED`], the last
    /// one says how many are not listed.
    pub fn finish(self) -> Diagnostics {
        let mut all = Diagnostics(self.listed);
        all.sort();
        if self.unlisted > 0 {
            let message = format!("{} further mistakes are not listed", self.unlisted);
            let rest = if self.unlisted_errors {
                Diagnostic::error(message)
            } else {
                Diagnostic::warning(message)
            };
            all.push(rest.in_file(self.file));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use proctor_model::Location;

    use super::*;

    #[test]
    fn mistakes_come_in_the_order_of_the_text() {
        let mut problems = Problems::new("f.json".into());
        for line in [3, 1, 2] {
            problems.push(Diagnostic::error(format!("{line}")).at(Location { line, column: 1 }));
        }
        assert_eq!(problems.finish().to_string(), "f.json:1:1: 1\nf.json:2:1: 2\nf.json:3:1: 3");
    }

    #[test]
    fn what_is_not_listed_is_counted_and_keeps_its_severity() {
        let mut problems = Problems::new("f.json".into());
        for _ in 0..MAX_LISTED {
            problems.push(Diagnostic::warning("w"));
        }
        problems.push(Diagnostic::warning("w"));
        problems.push(Diagnostic::error("e"));
        let all = problems.finish();
        assert_eq!(all.0.len(), MAX_LISTED + 1);
        assert!(all.has_errors());
        assert_eq!(all.0.last().unwrap().to_string(), "f.json: 2 further mistakes are not listed");
    }
}
