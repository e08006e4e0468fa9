//! Mistakes in files that people wrote: what, where, and what to do about it.

use std::fmt;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::Rule;

/// How bad a diagnostic is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The file cannot be used.
    Error,
    /// The file can be used, and probably does not do what its author meant.
    Warning,
}

/// A place in a text file; both numbers count from 1, `column` in characters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Location {
    /// Line, from 1.
    pub line: u32,
    /// Column in Unicode scalar values, from 1.
    pub column: u32,
}

/// One mistake: a lowercase sentence fragment without a full stop, its place and the way out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong and what was expected.
    pub message: String,
    /// The file, as the user named it.
    #[schemars(with = "Option<String>")]
    pub file: Option<Utf8PathBuf>,
    /// Where in the file.
    pub location: Option<Location>,
    /// The field, as a path like `checks[1].exit_code`.
    pub field: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// The rule of experiments that was broken; printed by a shape of its own, the finding.
    #[serde(skip)]
    pub rule: Option<Rule>,
}

impl Diagnostic {
    /// An error with no place yet.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            file: None,
            location: None,
            field: None,
            hint: None,
            rule: None,
        }
    }

    /// A warning with no place yet.
    pub fn warning(message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(message) }
    }

    /// Adds the file.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<Utf8PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Adds the place in the file.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.location = Some(location);
        self
    }

    /// Adds the field path.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Adds the rule of experiments that was broken.
    #[must_use]
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = Some(rule);
        self
    }

    /// Adds the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// `file:line:column: field: message (hint: ...)`; parts that are unknown are left out.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
            if let Some(Location { line, column }) = self.location {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " (hint: {hint})")?;
        }
        Ok(())
    }
}

/// All the mistakes of one reading, in the order of the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(pub Vec<Diagnostic>);

impl Diagnostics {
    /// Adds one.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// Whether any of them is an error.
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(|d| d.severity == Severity::Error)
    }

    /// Puts them in the order of file and place; the order of equals is kept.
    pub fn sort(&mut self) {
        self.0.sort_by(|a, b| (&a.file, a.location).cmp(&(&b.file, b.location)));
    }
}

/// One diagnostic a line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            diagnostic.fmt(f)?;
        }
        Ok(())
    }
}

/// The known name nearest to `word`, when it is near enough to be a likely slip.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .map(|name| (name, strsim::jaro_winkler(&word, &name.to_lowercase())))
        .filter(|(_, score)| *score > 0.75)
        // `max_by` keeps the last of equals; compare reversed positions by keeping the first.
        .fold(None, |best: Option<(&str, f64)>, next| match best {
            Some(b) if b.1 >= next.1 => Some(b),
            _ => Some(next),
        })
        .map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_leaves_unknown_parts_out() {
        let plain = Diagnostic::error("unexpected end of file");
        assert_eq!(plain.to_string(), "unexpected end of file");
        let full = plain
            .in_file("a/fixture.json")
            .at(Location { line: 3, column: 7 })
            .field("checks[0].phase")
            .hint("use `result`");
        assert_eq!(
            full.to_string(),
            "a/fixture.json:3:7: checks[0].phase: unexpected end of file (hint: use `result`)"
        );
    }

    #[test]
    fn nearest_finds_slips_and_refuses_strangers() {
        assert_eq!(nearest("optinal", ["phase", "optional", "pattern"]), Some("optional"));
        assert_eq!(nearest("Phase", ["phase", "path"]), Some("phase"));
        assert_eq!(nearest("zzz", ["phase", "path"]), None);
    }

    #[test]
    fn sort_follows_the_text() {
        let at = |line| Diagnostic::error("x").in_file("f").at(Location { line, column: 1 });
        let mut all = Diagnostics(vec![at(9), at(2), at(5)]);
        all.sort();
        let lines: Vec<_> = all.0.iter().map(|d| d.location.unwrap().line).collect();
        assert_eq!(lines, [2, 5, 9]);
    }
}
